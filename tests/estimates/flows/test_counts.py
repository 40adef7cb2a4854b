"""Flows: what sums of pairs and margins are, what they are about, and that intervals cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.space.frames.selection import select
from tests.helpers.flow_cases import FlowSetting

RNG = np.random.default_rng(4)
PAIRS = np.repeat(RNG.integers(0, 144, 30), RNG.integers(1, 60, 30))


def estimate(case="flows", epsilon=1000, seed=1):
    setting = FlowSetting(case, "zones", "add-remove")
    terms = setting.terms | {"epsilon": epsilon}
    return setting.mechanism.release(
        setting.records(PAIRS), setting.domain, noise=sdp.SeededNoise(seed), **terms
    ).estimate


def table():
    return np.bincount(PAIRS, minlength=144).reshape(12, 12)


QUERIES = [None, "A", ["A", "C1", "B", "F2y"], ("A1x", "B")]


def wanted(space, query):
    """The places of each set of a query, written out."""
    sets = [None] if query is None else query if isinstance(query, list) else [query]
    labels = space.labels()
    codes = [labels if each is None else each if isinstance(each, tuple) else (each,) for each in sets]
    return [[place for place, label in enumerate(labels) if any(label.startswith(c) for c in code)] for code in codes]


@pytest.mark.parametrize("destination", QUERIES)
@pytest.mark.parametrize("origin", QUERIES)
@pytest.mark.parametrize("case", ["flows", "flows, listed"])
def test_sums_are_those_of_the_table(case, origin, destination):
    """Nearly without noise; of listed pairs all with trips are there."""
    made = estimate(case)
    space = made.frame.space
    sets = [None if query is None else select(space, query) for query in (origin, destination)]
    answers = made.answers(*sets)
    expected = [[table()[np.ix_(a, b)].sum() for b in wanted(space, destination)] for a in wanted(space, origin)]
    assert answers.values == pytest.approx(np.array(expected), abs=0.5)
    assert answers.values.shape == answers.variance.shape == answers.kurtosis.shape
    assert answers.ends(0.95).shape == (*answers.values.shape, 2)


def test_a_table_of_all_pairs_adds_up_and_a_list_need_not():
    whole, listed = estimate(epsilon=0.1), estimate("flows, listed", epsilon=0.1)
    assert whole.consistent
    assert whole.values.reshape(12, 12).sum(axis=1) == pytest.approx(whole.origins)
    assert whole.total == pytest.approx(whole.values.sum())
    assert not listed.consistent
    assert listed.total == pytest.approx((listed.origins.sum() + listed.destinations.sum()) / 2)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("case", "origin", "destination"),
    [
        ("flows", "A", "C1"),
        ("flows", "A", None),
        ("flows", None, None),
        ("flows, margins", "A1x", "B"),
        ("flows, margins", None, "C1"),
        ("flows, listed", "A", None),
        ("flows, listed", None, None),
    ],
)
def test_errors_have_the_variance_that_is_stated_and_intervals_cover(case, origin, destination):
    """400 releases with fixed seeds: the mean square is within 5 standard errors; half the variance is rejected."""
    errors, covered = [], 0
    setting = FlowSetting(case, "zones", "add-remove")
    prepared, trips = setting.mechanism.prepare(setting.domain, **setting.terms), setting.records(PAIRS)
    for seed in range(400):
        made = prepared.release(trips, noise=sdp.SeededNoise(seed)).estimate
        sets = [None if query is None else select(made.frame.space, query) for query in (origin, destination)]
        answers = made.answers(*sets)
        truth = table()[np.ix_(*(wanted(made.frame.space, query)[0] for query in (origin, destination)))].sum()
        errors.append(answers.values.item() - truth)
        low, high = answers.ends(0.9).ravel()
        covered += low <= truth <= high
    stated = answers.variance.item()
    spread = np.std(np.square(errors)) / 20
    assert abs(np.mean(np.square(errors)) - stated) < 5 * spread
    assert abs(np.mean(np.square(errors)) - stated / 2) > 5 * spread
    assert covered / 400 > 0.9 - 5 * np.sqrt(0.09 / 400)


@pytest.mark.statistical
def test_listed_counts_are_unbiased_given_the_list_and_those_of_the_slides_are_not():
    """A pair at the threshold: fresh counts average out; the counts by which it was listed are too high."""
    means = {}
    for case in ("flows, listed", "flows, slides"):
        setting = FlowSetting(case, "zones", "add-remove")
        prepared = setting.mechanism.prepare(setting.domain, **setting.terms)
        count = prepared.design.filter.threshold
        trips, errors = setting.records([7] * count), []
        for seed in range(600):
            made = prepared.release(trips, noise=sdp.SeededNoise(seed)).estimate
            errors += (made.values[made.numbers == 7] - count).tolist()
        means[case] = np.mean(errors) / (np.std(errors) / np.sqrt(len(errors)))
    assert abs(means["flows, listed"]) < 5 < means["flows, slides"]


def test_changes_are_marked_as_biased():
    made = estimate(epsilon=0.1)
    assert made.non_negative().values.min() >= 0
    assert np.array_equal(made.rounded().values, np.rint(made.values))
    assert made.non_negative().biased
    assert made.rounded().biased
    assert estimate("flows, slides").biased
    assert not made.biased


def test_questions_about_maps_are_refused_in_words():
    made = estimate()
    for question in (made.answer, made.moments, made.allowance, made.leaf_boxes):
        with pytest.raises(ReleaseError, match="flows are between places"):
            question(np.zeros((1, 4)))


def test_an_empty_list_answers_zero():
    made = replace(estimate("flows, listed"), numbers=np.zeros(0, dtype=int), values=np.zeros(0))
    answers = made.answers(select(made.frame.space, ["A", "B"]), select(made.frame.space, "C1"))
    assert not answers.values.any()
    assert not answers.ends(0.95).any()


def test_boxes_that_cut_cells_count_in_part():
    trips = sdp.Trips([[0.1, 0.1]] * 80, [[0.9, 0.9]] * 80)
    release = sdp.Flows().release(trips, sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=1000)
    assert release.answer(origin=(0, 0, 0.25, 0.5)) == pytest.approx(40, abs=0.5)
    assert release.answer(origin=(0, 0, 0.25, 0.5), destination=(0.5, 0.5, 1, 0.75)) == pytest.approx(20, abs=0.5)
    listed = sdp.Flows("listed").release(trips, sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=1000)
    assert listed.answer(origin=(0, 0, 0.25, 0.5), destination=(0.5, 0.5, 1, 0.75)) == pytest.approx(20, abs=0.5)
    assert listed.answer(destination=(0.5, 0.5, 1, 0.75)) == pytest.approx(40, abs=0.5)
