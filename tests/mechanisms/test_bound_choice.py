"""The private choice of a bound: its scores move by at most one, and its rule finds where a larger bound costs more."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.mechanisms.bound_choice import BoundChoice, between, crossing_scores, handicaps, thresholds
from spatialdp.privacy.unit import Bound
from spatialdp.records.persons.identifiers import persons_of
from tests.audit.mutants import Mutant, planted
from tests.audit.person_bugs import score_by_records
from tests.audit.persons import worst_choice_of_a_bound

GRID = sdp.Domain((0, 0, 1, 1)).grid((4, 1))
CANDIDATES = (1, 2, 4)
# All persons with up to two records in each of three cells; the first one has none.
KINDS = list(product(range(3), repeat=3))


def choice(bound, goals=(2, 1)):
    return BoundChoice(GRID, bound, Fraction(1), between(CANDIDATES), goals, (0, 3, 6))


def points_of(*kinds):
    """Persons with so many records in each cell, and some records of nobody and outside."""
    x = [place for kind in kinds for column, number in enumerate(kind) for place in [column / 4 + 0.1] * number]
    who = [f"person {i}" for i, kind in enumerate(kinds) for _ in range(sum(kind))]
    strays = [0.1, 0.2, -3.0, np.nan]
    return sdp.Points([*x, *strays], [0.5] * (len(x) + 4), person=persons_of([*who, None, None, "far", "far"]))


@pytest.mark.parametrize("bound", [Bound.RECORDS, Bound.CELLS])
def test_one_person_moves_no_score_by_more_than_one(bound):
    """All persons with up to two records in each of three cells, added to two others or replaced by any other one."""
    others = ((2, 0, 1), (1, 0, 0))
    for goals in ((2, 1), (0, 0), (1, 3)):
        scores = np.array([choice(bound, goals).scores(points_of(*others, kind)) for kind in KINDS]).astype(float)
        without = np.array(choice(bound, goals).scores(points_of(*others))).astype(float)
        assert np.abs(scores - without).max() == 1  # added or removed; 1 is attained
        assert np.abs(scores[:, None] - scores).max() == 1  # replaced


def test_sensitivity_does_not_hold_for_records_that_are_cut_off():
    with planted(Mutant("", "", score_by_records, lambda: None)):
        scores = [choice(Bound.RECORDS).scores(points_of(kind)) for kind in ((2, 2, 2), (0, 0, 0))]
        assert max(abs(a - b) for a, b in zip(*scores, strict=True)) > 1
        assert worst_choice_of_a_bound(Bound.RECORDS, "add-remove", (1, 1), most=2) > 1.1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6), st.data())
def test_scores_move_no_more_than_the_numbers_of_persons(pairs, data):
    above, goals = zip(*pairs, strict=True)
    moved = [number + data.draw(st.integers(-1, 1)) for number in above]
    before, after = crossing_scores(above, goals), crossing_scores(moved, goals)
    assert len(before) == len(above) + 1
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8), st.integers(1, 1000))
def test_the_best_score_is_where_numbers_cross_the_threshold(numbers, goal):
    above = sorted(numbers, reverse=True)
    crossing = sum(number > goal for number in above)
    scores = crossing_scores(above, [goal] * len(above))
    assert scores[crossing] == max(scores) >= 0


def test_falling_thresholds_do_not_favour_bounds_that_nobody_reaches():
    """For Gaussian noise thresholds fall; close to zero they are close to the number of persons above any bound."""
    scores = crossing_scores([40, 10, 1, 0], [400, 200, 50, 1])
    assert int(np.argmax(scores)) == 0
    assert scores[-1] == -360


def test_scores_are_exact():
    assert all(isinstance(score, Fraction) for score in choice(Bound.CELLS).scores(points_of((1, 1, 1))))


@pytest.mark.parametrize(("candidates", "middles"), [((1, 2), (1,)), ((2, 3, 1000), (2, 54)), ((10, 11), (10,))])
def test_middles_lie_between_candidates(candidates, middles):
    assert between(candidates) == middles


def test_thresholds_are_the_noise_that_a_step_adds():
    """For one cell of K, they are half of √2 K / ε, the number at which bias and noise are in balance."""
    cells = 4096
    deviations = [np.sqrt(2) * most / 0.5 for most in CANDIDATES]
    goals = thresholds(CANDIDATES, deviations, Fraction(1, cells))
    assert goals == (int(np.sqrt(2) * cells / 0.5 / 2),) * 2
    assert thresholds((1, 2), (3.0, 2.0), Fraction(1)) == (0,)


def test_handicaps_divide_the_odds_by_the_root_of_the_bound():
    epsilon = Fraction(1, 1000)
    odds = [np.exp(float(epsilon / 2) * each) for each in handicaps((2, 8, 50), epsilon)]
    assert odds == pytest.approx([1, 2, 5], rel=1e-3)


def test_every_set_of_few_persons_is_scored_from_numbers_above_the_middles():
    for kinds in combinations_with_replacement([(0, 0, 0), (2, 0, 0), (1, 1, 1)], 2):
        cells = [sum(map(bool, kind)) for kind in kinds]
        above = [sum(each > middle for each in cells) for middle in between(CANDIDATES)]
        expected = [a - b for a, b in zip(crossing_scores(above, (2, 1)), (0, 3, 6), strict=True)]
        assert choice(Bound.CELLS).scores(points_of(*kinds)) == expected
