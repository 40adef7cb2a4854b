"""Flows: which pairs are published, what is planned, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError, PointsError
from tests.helpers.flow_cases import FlowSetting

GRID = sdp.Domain((0, 0, 1, 1)).grid((8, 8))
TRIPS = sdp.Trips([[0.1, 0.1]] * 70 + [[0.3, 0.6]] * 5, [[0.9, 0.9]] * 75)


def test_all_pairs_are_published_where_they_fit_and_listed_otherwise():
    assert sdp.Flows().release(TRIPS, GRID, epsilon=1).estimate.n_cells == 64**2
    assert sdp.Flows("listed").release(TRIPS, GRID, epsilon=1).estimate.n_cells < 100
    large = GRID.domain.grid((64, 50))
    assert sdp.Flows().plan(large, epsilon=1).listing is not None
    with pytest.raises(ParameterError, match="3,200 places have 10,240,000 pairs, and at most 10,000,000 are all"):
        sdp.Flows("all").plan(large, epsilon=1)


def test_flows_above_the_threshold_are_found_among_very_many_pairs():
    """2^40 pairs: time and memory follow the trips."""
    release = sdp.Flows().release(TRIPS, GRID.domain.grid((1024, 1024)), epsilon=1)
    assert release.estimate.listing.threshold > 30
    found = release.to_frame().sort_values("flow")["flow"].iloc[-1]
    assert found == pytest.approx(70, abs=60)
    assert release.estimate.n_cells < 60


def test_the_plan_says_which_flows_will_be_seen():
    plan = sdp.Flows("listed").plan(GRID, epsilon=1)
    design = sdp.Flows("listed").prepare(GRID, epsilon=1).design
    visible = design.smallest_visible
    assert design.chance_of(visible) >= 0.95 > design.chance_of(visible - 1)
    assert plan.listing.chances[visible] >= 0.95
    assert plan.listing.false <= 1
    assert "pairs     4,096" in str(plan)
    assert "origin or destination" in str(plan)
    assert sdp.Flows("all").prepare(GRID, epsilon=1).design.smallest_visible == 1


@pytest.mark.parametrize("case", ["flows", "flows, margins", "flows, listed"])
def test_planned_errors_are_those_of_releases(case):
    setting = FlowSetting(case, "region", "add-remove")
    plan = setting.mechanism.plan(setting.domain, epsilon=0.3)
    release = setting.mechanism.release(setting.records([3] * 500), setting.domain, epsilon=0.3)
    answers = release.estimate.pair_answers()
    assert plan.errors["pair"] == pytest.approx(np.sqrt(answers.variance[0]))
    assert plan.errors["pair"] == plan.standard_deviation
    assert plan.errors["all trips"] == pytest.approx(np.sqrt(release.estimate.answers(None, None).variance.item()))


def test_shares_of_persons_are_counted_in_steps():
    trips = sdp.Trips([[0.1, 0.1]] * 80, [[0.9, 0.9]] * 80, person=np.repeat(np.arange(40), 2).tolist())
    for pairs in ("all", "listed"):
        release = sdp.Flows(pairs).release(trips, GRID, epsilon=200, person=sdp.Person(shares=True))
        assert release.total == pytest.approx(40, abs=4)
        assert release.answer(origin=(0, 0, 0.25, 0.25), destination=(0.75, 0.75, 1, 1)) == pytest.approx(40, abs=4)
    design = sdp.Flows("listed").prepare(GRID, epsilon=1, person=sdp.Person(shares=True)).design
    assert 5 < design.listing.threshold < 40
    assert 5 < design.smallest_visible < 60


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"pairs": "some"}, "pairs is 'some'"),
        ({"false": 0}, "false is 0; it is how many pairs"),
        ({"false": 1e9}, "must lie between 1e-12 and"),
        ({"remeasure": 1}, "remeasure is 1; it is the share of the pairs' budget"),
        ({"margins": 0}, "margins is 0; it is the share of the budget"),
        ({"margins": 1}, "must lie between 0 and 1"),
    ],
)
def test_nonsense_is_refused(parameters, words):
    with pytest.raises(ParameterError, match=words):
        sdp.Flows(**parameters)


@pytest.mark.parametrize("places", [sdp.Domain((0, 0, 1, 1)), None, sdp.Frame(GRID, kind=sdp.Categories(["a", "b"]))])
def test_places_are_zones_or_a_grid(places):
    with pytest.raises(ParameterError, match="as their places; give zones or a grid"):
        sdp.Flows().check(places, epsilon=1)
    sdp.Flows().check(sdp.Frame(GRID), epsilon=1)


def test_what_does_not_fit_is_refused_before_anything_is_spent():
    with pytest.raises(PointsError, match="flows need two places"):
        sdp.Flows().release([[0.1, 0.2]], GRID, epsilon=1)
    with pytest.raises(ParameterError, match="asks for a bound that is chosen privately"):
        sdp.Flows().check(GRID, epsilon=1, person=sdp.Person(records=sdp.Chosen()))
    with pytest.raises(BudgetError, match="purely epsilon-private"):
        sdp.Flows().check(GRID, epsilon=1, delta=1e-6)
