"""Releases of which only the records are missing; above all those whose bound on persons is chosen privately."""

from __future__ import annotations

import dataclasses
import json
import traceback
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, FileFormatError, ParameterError, PointsError
from spatialdp.mechanisms.bound_choice import BoundChoice
from spatialdp.mechanisms.prepared import PreparedChoice, PreparedRelease
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.statement import Privacy
from spatialdp.records.points import Points
from tests.helpers.cases import DOMAINS, ONE_OF_EACH, RELATIONS, terms
from tests.helpers.zone_cases import FRAMES as ZONE_FRAMES

UNIT = sdp.Domain((0, 0, 1, 1))
CHOSEN = sdp.Chosen(candidates=(1, 3, 10))
STEP = "choice of the bound"


def crowd(persons=400, most=30, seed=1):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), rng.integers(1, most, persons))
    x, y = rng.random((2, who.size))
    return sdp.Points(x, y, person=who)


@pytest.mark.parametrize("name", ["cells", "records"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_the_choice_and_the_release_cost_the_whole_budget(mechanism, relation, name):
    asked = terms(mechanism, relation) | {"person": sdp.Person(**{name: CHOSEN})}
    release = mechanism.release(crowd(), DOMAINS["two corners"], noise=sdp.SeededNoise(1), **asked)
    statement, plan = release.privacy, mechanism.plan(DOMAINS["two corners"], **asked)
    assert sum(statement.budget.values()) == 1
    assert statement.budget == plan.budget
    assert statement.budget[STEP] == Fraction(1, 20)
    assert statement.person.chosen == CHOSEN
    assert statement.person.most in CHOSEN.candidates
    assert next(iter(statement.budget)) == STEP


def test_gaussian_noise_pays_in_rho():
    mechanism = sdp.Flat((8, 8), law="gaussian")
    prepared = mechanism.prepare(UNIT, epsilon=1, delta=1e-6, person=sdp.Person(cells=CHOSEN))
    whole = rho_for(Budget(1, 1e-6))
    assert sum(prepared.plan.budget.values()) == whole
    assert prepared.plan.budget[STEP] == whole / 20
    epsilon = prepared.design.epsilon
    assert epsilon**2 / 8 <= whole / 20 < (epsilon + Fraction(1, 2**40)) ** 2 / 8


def test_a_chosen_bound_is_released_as_if_it_had_been_given_with_the_rest_of_the_budget():
    mechanism, points = sdp.Quadtree(3), crowd()
    for place, most in enumerate(CHOSEN.candidates):
        with mock.patch.object(BoundChoice, "draw", return_value=place):
            chosen = mechanism.release(
                points, UNIT, epsilon=1, person=sdp.Person(cells=CHOSEN), noise=sdp.SeededNoise(5)
            )
        given = mechanism.release(
            points, UNIT, epsilon=Fraction(19, 20), person=sdp.Person(cells=most), noise=sdp.SeededNoise(5)
        )
        assert np.array_equal(chosen.estimate.values, given.estimate.values)
        assert chosen.privacy.person == sdp.Person(cells=most, chosen=CHOSEN)
        assert f"at most {most} cell" in str(chosen)
        assert "chosen privately" in str(chosen)


@pytest.mark.statistical
def test_bounds_are_drawn_with_the_exact_probabilities_of_their_scores():
    """Counts of 3,000 draws against the exact law; the law with twice the ε is refused."""
    person = sdp.Person(records=sdp.Chosen(candidates=(1, 3, 10, 30), area=1, share=0.5))
    prepared = sdp.Flat((2, 2)).prepare(UNIT, epsilon=Fraction(1, 20), person=person)
    points = crowd(60)
    scores = [float(score) for score in prepared.design.scores(points)]
    draws = np.bincount([prepared.design.draw(points, sdp.SeededNoise((7, i))) for i in range(3000)], minlength=4)

    def distance(times):
        weights = np.exp(np.array(scores) * times * float(prepared.design.epsilon) / 2)
        expected = 3000 * weights / weights.sum()
        return float(((draws - expected) ** 2 / expected).sum())

    assert distance(1) < 31  # chi-square with 3 degrees of freedom, false alarms below 1e-6
    assert distance(2) > 31


def test_many_persons_above_a_bound_make_it_grow():
    person = sdp.Person(records=sdp.Chosen())
    chosen = {
        persons: sdp.Flat((64, 64)).release(crowd(persons), UNIT, epsilon=1, person=person).privacy.person.most
        for persons in (5, 20_000)
    }
    assert chosen[5] < 10 <= chosen[20_000]


# --- everything public comes first -----------------------------------------------------------------


class Unreadable(Points):
    """Points that fail if anybody looks at them."""

    __slots__ = ()

    def _person_cells(self, grid):
        raise AssertionError("a record was read")

    _cells = _positions = _person_cells


SAMPLED = sdp.KdTree(1, sampling=0.5)


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (sdp.KdTree(2), {"epsilon": 1e-9, "person": sdp.Person(records=sdp.Chosen(candidates=(1, 10**9)))}),
        (sdp.Flat((8, 8)), {"epsilon": 1, "delta": 1e-6, "person": sdp.Person(cells=CHOSEN)}),
        (SAMPLED, {"epsilon": 1, "neighbours": "replace", "person": sdp.Person(cells=CHOSEN)}),
    ],
)
def test_what_fails_for_one_candidate_fails_before_records_are_read(mechanism, options):
    points = Unreadable([0.5], [0.5], person=["ann"])
    for ask in (lambda: mechanism.release(points, UNIT, **options), lambda: mechanism.check(UNIT, **options)):
        with pytest.raises(sdp.SpatialDPError):
            ask()


def test_a_share_that_leaves_nothing_to_the_choice_is_refused():
    person = sdp.Person(cells=sdp.Chosen(share=Fraction(1, 10**40)))
    with pytest.raises(BudgetError, match="leaves the choice of the bound next to nothing; raise it"):
        sdp.Flat((2, 2), law="gaussian").check(UNIT, epsilon=1, delta=1e-6, person=person)


def test_points_without_persons_are_refused_before_anything_is_drawn():
    class Silent(sdp.SeededNoise):
        def random_bytes(self, count):
            raise AssertionError("noise was drawn")

    with pytest.raises(PointsError, match="person"):
        sdp.Flat((2, 2)).release([[0.5, 0.5]], UNIT, epsilon=1, person=sdp.Person(cells=CHOSEN), noise=Silent(1))


def test_seeded_choices_are_marked():
    release = sdp.Flat((2, 2)).release(
        crowd(5), UNIT, epsilon=1, person=sdp.Person(cells=CHOSEN), noise=sdp.SeededNoise(1)
    )
    assert not release.privacy.private


# --- plans -----------------------------------------------------------------------------------------


def test_the_plan_has_the_errors_of_all_candidates():
    person, mechanism = sdp.Person(cells=CHOSEN), sdp.Flat((16, 16))
    plan = mechanism.plan(UNIT, epsilon=1, person=person)
    assert list(plan.candidates) == [1, 3, 10]
    for most, each in plan.candidates.items():
        given = mechanism.plan(UNIT, epsilon=Fraction(19, 20), person=sdp.Person(cells=most))
        assert each.errors == given.errors
        assert each.standard_deviation == given.standard_deviation
    assert plan.errors == {}
    assert plan.person == person
    assert "a number of cells that is chosen privately" in str(plan)
    assert "at most" not in str(plan)
    assert plan.standard_deviation == plan.candidates[10].standard_deviation
    assert json.loads(json.dumps(plan.to_json()))["candidates"]["3"]["errors"] == plan.candidates[3].errors
    text = str(plan)
    assert "choice of the bound" in text
    assert "depends on the bound" in text
    assert f"{plan.candidates[3].errors['10 %']:,.4g}" in text


def test_plans_of_trees_that_follow_the_records_say_that_errors_depend_on_them():
    plan = sdp.KdTree(2).plan(UNIT, epsilon=1, person=sdp.Person(cells=CHOSEN))
    assert "depends on the records" in str(plan)
    assert " to " in dict(plan.rows())["noise"]


def test_expected_errors_need_a_bound():
    prepared = sdp.Flat((4, 4)).prepare(UNIT, epsilon=1, person=sdp.Person(cells=CHOSEN))
    assert isinstance(prepared, PreparedChoice)
    assert not prepared.is_foreseeable
    with pytest.raises(ParameterError, match=r"depends on the bound.*give a bound such as Person\(cells=50\)"):
        prepared.expected_error((0, 0, 1, 1))


def test_given_bounds_are_prepared_as_before():
    prepared = sdp.Flat((4, 4)).prepare(UNIT, epsilon=1, person=sdp.Person(cells=5))
    assert type(prepared) is PreparedRelease
    assert prepared.plan.candidates == {}
    assert "candidates" not in prepared.plan.to_json()


def test_areas_decide_on_thresholds():
    """Boxes of one cell need a smaller bound than the whole domain: more persons must gain from a larger one.

    A box as large as a cell lies in up to four cells, which makes its standard deviation two thirds of a cell's.
    """
    goals = [
        sdp.Flat((16, 16)).prepare(UNIT, epsilon=1, person=sdp.Person(cells=sdp.Chosen(area=area))).design.thresholds
        for area in (Fraction(1, 256), Fraction(1, 100), 1)
    ]
    assert goals[0][3] > goals[1][3] > goals[2][3]
    assert goals[0][3] == pytest.approx(2 / 3 * np.sqrt(2) * 256 / 0.95 / 2, rel=0.01)
    assert goals[2][3] == pytest.approx(np.sqrt(2 * 256) / 0.95 / 2, abs=1)  # rounded down


@pytest.mark.parametrize("mechanism", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_every_mechanism_has_thresholds_that_grow_with_the_noise(mechanism):
    goals = [
        mechanism.prepare(
            UNIT, **terms(mechanism, "add-remove", epsilon), person=sdp.Person(records=sdp.Chosen())
        ).design.thresholds
        for epsilon in (Fraction(1, 10), Fraction(1, 100))
    ]
    assert all(5 * first <= second <= 15 * (first + 1) for first, second in zip(*goals, strict=True))


# --- statements ------------------------------------------------------------------------------------


def statement():
    person = sdp.Person(cells=CHOSEN)
    return sdp.Flat((2, 2)).release(crowd(5), UNIT, epsilon=1, person=person, noise=sdp.SeededNoise(1)).privacy


def test_statements_with_a_chosen_bound_come_back_from_json():
    made = statement()
    assert Privacy.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert "a number that was chosen privately" in dataclasses.replace(made, private=True).in_words()
    assert "spent on choice of the bound" in made._repr_html_()


@pytest.mark.parametrize(
    "change",
    [
        {"person": {"cells": 3}},  # paid for, but not said
        {"person": {"cells": 4, "chosen": CHOSEN.to_json()}},  # not a candidate
        {"person": {"cells": CHOSEN.to_json()}},  # still open
        {"budget": {"counts": 0.95}, "budget_exact": {"counts": "19/20"}},  # said, but not paid for
        {"person": {"cells": 3, "chosen": True}},
    ],
)
def test_statements_that_contradict_themselves_about_the_choice_are_refused(change):
    with pytest.raises(FileFormatError):
        Privacy.from_json(statement().to_json() | change)


def test_files_keep_the_choice(tmp_path):
    release = sdp.Quadtree(2).release(crowd(9), UNIT, epsilon=1, person=sdp.Person(records=CHOSEN))
    release.save(tmp_path / "map.parquet")
    assert sdp.load(tmp_path / "map.parquet").privacy == release.privacy


class _Exhausted(Noise):
    """Runs out of memory as numpy does, whose message has the shape of an array of records."""

    def random_bytes(self, count):
        raise MemoryError("Unable to allocate an array with shape (7351,)")


@pytest.mark.parametrize(
    "mechanism",
    [sdp.KdTree(height=3), sdp.Adaptive(shape=(64, 64)), sdp.Flat(shape=(4, 4)), sdp.Table(), sdp.ZoneTree()],
    ids=lambda each: each.name,
)
def test_no_error_brings_records_exact_counts_or_their_number_along(mechanism):
    frames = {sdp.Frame: sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2))), sdp.Zones: ZONE_FRAMES["one zone"]}
    domain = frames.get(mechanism.frame, sdp.Domain((0, 0, 1, 1)))
    with pytest.raises(MemoryError, match="not enough memory") as caught:
        mechanism.release(np.full((7351, 2), 0.5), domain, epsilon=1, noise=_Exhausted())
    inner = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)][-1]
    assert inner.f_code.co_name == "forget"
    assert not {"args", "points", "records", "counts"} & set(inner.f_locals)
