"""What is said beforehand is what comes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.planning import all_boxes
from spatialdp.privacy.noise.source import SeededNoise
from tests.helpers.cases import LARGE, has_several_counts, in_turn, is_foreseeable, select, terms
from tests.helpers.sources import ZeroNoise

DOMAIN = sdp.Domain((-10, 40, 10, 60))
REGION = sdp.Domain((-10, 40, 10, 60), region=shapely.box(-10, 40, 5, 55))
XY = np.random.default_rng(1).uniform((-10, 40), (10, 60), (500, 2))

# Of one number alone, 60 releases tell too little about the error.
FORESEEABLE = select(LARGE, is_foreseeable, has_several_counts)


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "domain"), in_turn(FORESEEABLE, (DOMAIN, REGION)))
def test_expected_error_is_the_error_of_releases(name, domain):
    mechanism, boxes = FORESEEABLE[name], all_boxes(domain, 200)
    given = terms(mechanism, "add-remove", 0.5)
    expected = mechanism.expected_error(domain, boxes, **given)
    truth = mechanism.release(XY, domain, noise=ZeroNoise(), **given).answer(boxes)
    squares = [
        np.mean((mechanism.release(XY, domain, noise=SeededNoise(s), **given).answer(boxes) - truth) ** 2)
        for s in range(60)
    ]
    # Boxes of one release share noise, so the spread is taken between releases: five standard errors, fixed seeds.
    tolerance = 5 * np.std(squares) / math.sqrt(len(squares))
    assert np.mean(squares) == pytest.approx(expected**2, abs=tolerance)
    assert tolerance < expected**2  # and so an error of twice the size would be seen


@pytest.mark.parametrize("name", FORESEEABLE)
def test_plan_tells_errors_of_small_large_and_whole_boxes(name):
    mechanism = FORESEEABLE[name]
    errors = mechanism.plan(DOMAIN, **terms(mechanism, "add-remove")).errors
    assert list(errors) == ["1 %", "10 %", "whole"]
    assert all(0 < error < math.inf for error in errors.values())
    halved = mechanism.plan(DOMAIN, **terms(mechanism, "add-remove", 2)).errors
    assert all(halved[size] < errors[size] for size in errors)


def test_what_depends_on_records_is_not_told():
    for mechanism in (sdp.KdTree(3), sdp.Quadtree(3, stop=10), sdp.Quadtree(3, prune=10)):
        assert mechanism.plan(DOMAIN, epsilon=1).errors == {}
        with pytest.raises(ParameterError, match="depends on the records"):
            mechanism.expected_error(DOMAIN, all_boxes(DOMAIN), epsilon=1)


def test_boxes_are_spread_over_the_domain():
    boxes = all_boxes(DOMAIN, 10_000)
    assert (boxes[:, :2] <= boxes[:, 2:]).all()
    assert boxes[:, 0].min() >= -10
    assert boxes[:, 3].max() <= 60
    shares = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) / 400
    assert shares.mean() == pytest.approx(1 / 9, rel=0.03)


def test_recommendation_depends_on_the_queries():
    ranked = sdp.recommend(DOMAIN, 1, shape=(256, 256))
    assert [r.error for r in ranked] == sorted(r.error for r in ranked)
    edges = np.linspace(-10, 10, 65)
    cells = np.stack([edges[:-1], np.full(64, 40), edges[1:], np.full(64, 40 + 20 / 64)], axis=1)
    assert sdp.recommend(DOMAIN, 1, cells, shape=(64, 64))[0].mechanism == sdp.Flat((64, 64))
    assert isinstance(ranked[0].mechanism, sdp.Tailored)
    with_delta = sdp.recommend(DOMAIN, 1, shape=(256, 256), delta=1e-9)
    assert len(with_delta) > len(ranked)


@pytest.mark.parametrize("name", ["flat", "quadtree", "wavelet", "flat, gaussian"])
def test_epsilon_for_an_accuracy(name):
    mechanism, boxes = FORESEEABLE[name], all_boxes(DOMAIN)
    delta = terms(mechanism, "add-remove")["delta"]
    epsilon = sdp.epsilon_for(mechanism, DOMAIN, error=40, delta=delta)
    assert mechanism.expected_error(DOMAIN, boxes, epsilon=epsilon, delta=delta) <= 40
    assert mechanism.expected_error(DOMAIN, boxes, epsilon=round(epsilon * 0.98, 6), delta=delta) > 40


def test_odd_wishes_are_refused_or_met():
    for bad in ({"shape": (4, 4, 4)}, {"shape": 5}, {"workload": np.zeros((0, 4))}, {"workload": "boxes"}):
        with pytest.raises(ParameterError):
            sdp.recommend(DOMAIN, 1, **bad)
    with pytest.raises(ParameterError, match="Domain"):
        sdp.recommend((0, 0, 1, 1), 1)
    assert sdp.recommend(DOMAIN, 1, shape=np.array([8, 8]))
    assert sdp.recommend(DOMAIN, 1, shape=(8192, 4))
    assert sdp.epsilon_for(sdp.Tailored((32, 32), law="laplace"), DOMAIN, error=1e6) < 0.01
    for mechanism, error in ((sdp.Flat, 1), (sdp.Flat((4, 4)), "a"), (sdp.Flat((4, 4)), math.inf)):
        with pytest.raises(ParameterError):
            sdp.epsilon_for(mechanism, DOMAIN, error=error)


@pytest.mark.parametrize(
    "mechanism", [sdp.Tailored((64, 64)), sdp.Wavelet((64, 64)), sdp.Hierarchy((64, 64)), sdp.Flat((64, 64))]
)
def test_what_is_known_to_be_empty_is_answered_with_nothing(mechanism):
    half = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.5, 1), region_cells="centres")
    release = mechanism.release([[0.2, 0.2]], half, epsilon=1)
    assert release.answer((0.6, 0.1, 0.9, 0.9)) == pytest.approx(0, abs=1e-9)
    assert release.interval((0.6, 0.1, 0.9, 0.9)) == pytest.approx([0, 0], abs=1e-9)
    assert release.answer((0, 0, 1, 1)) == pytest.approx(release.answer((0, 0, 0.5, 1)))
    whole, around = ([(0, 0, 1, 1)], [(0, 0, 0.5, 1)])
    assert mechanism.expected_error(half, whole, epsilon=1) == pytest.approx(
        mechanism.expected_error(half, around, epsilon=1)
    )


def test_accuracies_that_can_not_be_had_are_refused():
    for error in (0, -1, math.nan):
        with pytest.raises(ParameterError, match="positive"):
            sdp.epsilon_for(sdp.Flat((4, 4)), DOMAIN, error=error)
    with pytest.raises(ParameterError, match="no epsilon"):
        sdp.epsilon_for(sdp.Wavelet((64, 64)), DOMAIN, error=1e-12)


def test_a_delta_that_does_not_fit_the_law_is_named_and_not_mistaken_for_a_large_error():
    with pytest.raises(BudgetError, match="purely epsilon-private"):
        sdp.epsilon_for(sdp.Flat((4, 4)), DOMAIN, error=10, delta=1e-6)
    with pytest.raises(BudgetError, match="needs a positive delta"):
        sdp.epsilon_for(sdp.Flat((4, 4), law="gaussian"), DOMAIN, error=10)


def test_an_accuracy_can_be_any_real_number_but_no_truth_value():
    found = {sdp.epsilon_for(sdp.Flat((4, 4)), DOMAIN, error=error) for error in (3, np.int64(3), np.float32(3))}
    assert len(found) == 1
    with pytest.raises(ParameterError, match="positive number"):
        sdp.epsilon_for(sdp.Flat((4, 4)), DOMAIN, error=True)
