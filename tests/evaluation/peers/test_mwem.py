"""MWEM: exact choices, what it spends, and a map that approaches what it measured."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.evaluation.peers import MWEM, mwem
from spatialdp.evaluation.peers.blocks import BlockCounter, count_law
from spatialdp.evaluation.peers.mwem import blocks_of, drawn_place, reweigh, rounds_for, scores_of
from tests.helpers.peers import TOWN, UNIT, released

SIDE = 6
GRID = UNIT.grid((SIDE, SIDE))
EVERY = np.array(
    [(a, b, c, d) for a in range(SIDE) for b in range(SIDE) for c in range(a + 1, SIDE + 1) for d in range(b + 1, 7)]
)


def test_one_record_changes_no_score_by_more_than_one():
    """By brute force over all boxes of the grid and all places of one more record, for uneven maps."""
    rng = np.random.default_rng(1)
    records = rng.random((40, 2))
    for _ in range(5):
        weights = rng.gamma(0.3, 3.0, (SIDE, SIDE))
        scores = [
            scores_of(BlockCounter.of(sdp.Points(xy), GRID).exact(EVERY), weights, EVERY)
            for xy in (records, *(np.vstack([records, [[x, y]]]) for x in GRID.x_edges[:-1] for y in GRID.y_edges[:-1]))
        ]
        moved = max(np.abs(more - scores[0]).max() for more in scores[1:])
        assert moved == 1


@pytest.mark.parametrize("records", ["paid", "public"])
@pytest.mark.parametrize("rounds", [None, 3])
def test_what_is_spent_adds_up_to_epsilon(monkeypatch, records, rounds):
    spent = {"counts": [], "choices": []}

    def law(cost):
        spent["counts"].append(cost)
        return count_law(cost)

    def choice(scores, epsilon, noise):
        spent["choices"].append(epsilon)
        return drawn_place(scores, epsilon, noise)

    monkeypatch.setattr(mwem, "count_law", law)
    monkeypatch.setattr(mwem, "drawn_place", choice)
    released(MWEM((16, 16), records, candidates=300, rounds=rounds), Fraction(1, 20))
    number = len(spent["choices"])
    assert number == (rounds or pytest.approx(math.sqrt(1000) / 4, abs=1))
    paid = Fraction(1, 20) * Fraction(1, 20) if records == "paid" else 0  # of n, which `ByRecords` measures
    assert paid + sum(spent["choices"]) + number * spent["counts"][0] == Fraction(1, 20)
    assert len(spent["counts"]) == 1  # one law for all rounds


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(3), Fraction(100)])
@pytest.mark.statistical
def test_choices_have_the_probabilities_of_the_exponential_mechanism(epsilon):
    """χ² over all places, far beyond one band; false-alarm rate below 1e-6, and half of ε is rejected."""
    scores, draws = np.array([0, 3, 3, 7, 12, 12, 12, 30]), 40_000
    noise = sdp.SeededNoise(7)
    counts = np.bincount([drawn_place(scores, epsilon, noise) for _ in range(draws)], minlength=scores.size)

    def distance(rate):
        weights = np.exp(rate * (scores - scores.max()))
        expected = draws * weights / weights.sum()
        likely = expected > 5
        assert not counts[expected < 1e-9].any()
        return np.sum((counts - expected)[likely] ** 2 / expected[likely]), likely.sum()

    found, cells = distance(float(epsilon) / 2)
    assert found < 60
    if cells > 1:
        assert distance(float(epsilon) / 4)[0] > 200


def test_equal_scores_are_equally_likely_and_the_best_wins_at_large_budgets():
    noise = sdp.SeededNoise(1)
    drawn = {drawn_place(np.array([5, 9, 9, 1]), Fraction(900), noise) for _ in range(40)}
    assert drawn == {1, 2}


def test_rounds_follow_n_epsilon():
    assert [rounds_for(n, Fraction(1, 10)) for n in (1, 640, 64_000)] == [2, 2, 20]


def test_reweighing_meets_what_was_measured():
    weights = np.ones((4, 4))
    boxes, measured = [np.array([0, 0, 2, 4]), np.array([0, 0, 4, 1])], [12.0, 10.0]
    for _ in range(10):
        reweigh(weights, boxes, measured, 16.0)
    assert weights.sum() == pytest.approx(16)
    assert weights[:, :2].sum() == pytest.approx(12, abs=0.1)
    assert weights[:1].sum() == pytest.approx(10, abs=0.1)


def test_absurd_measurements_stay_finite():
    weights = np.ones((2, 2))
    reweigh(weights, [np.array([0, 0, 1, 1]), np.array([1, 1, 2, 2])], [1e9, -1e9], 1.0)
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1)


def test_more_budget_means_a_better_map():
    queries = sdp.workload.random_boxes(UNIT, 300, shape=(32, 32)).boxes
    truth = sdp.Flat((32, 32)).release(TOWN, UNIT, epsilon=1000, noise=sdp.SeededNoise(1)).answer(queries)
    errors = [
        np.abs(released(MWEM((32, 32), candidates=3000), epsilon).answer(queries) - truth).mean()
        for epsilon in (0.001, 0.01, 1)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_no_records_are_published_like_any_others():
    release = released(MWEM((8, 8), candidates=50), 0.1, xy=np.empty((0, 2)))
    assert release.total >= 0
    assert release.estimate.biased


def test_cells_outside_the_region_stay_empty():
    import shapely

    domain = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.5, 1), region_cells="centres")
    release = MWEM((8, 8), candidates=100).release(TOWN, domain, epsilon=0.1, noise=sdp.SeededNoise(1))
    assert not release.estimate.values[:, 4:].any()


def test_given_boxes_are_the_candidates():
    boxes = [(0, 0, 0.5, 1), (0.26, 0.26, 0.74, 0.74), (0.1, 0.1, 0.11, 0.2)]
    design = MWEM((4, 4), candidates=boxes).prepare(UNIT, epsilon=1).design
    assert design.candidates.tolist() == [[0, 0, 2, 4], [1, 1, 3, 3]]
    assert len(MWEM((4, 4), candidates=70).prepare(UNIT, epsilon=1).design.candidates) == 70


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"candidates": 0}, "candidates is 0; it must be a whole number from 1 to 100000"),
        ({"candidates": np.zeros((100_001, 4))}, "candidates are 100001 boxes; give at most 100000"),
        ({"candidates": [(0, 0, 1)]}, "boxes have shape"),
        ({"rounds": 0}, "rounds is 0"),
        ({"records": "known"}, "records is 'known'"),
    ],
)
def test_nonsense_is_refused(parameters, words):
    with pytest.raises(ParameterError, match=words):
        MWEM((4, 4), **parameters)


def test_boxes_without_cells_are_refused():
    with pytest.raises(ParameterError, match="boxes that hold no cell of 4 x 4"):
        blocks_of(UNIT.grid((4, 4)), np.array([[0.1, 0.1, 0.11, 0.9]]))
