"""Plans: what is known before a record is read, as a table and as JSON."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
import shapely

import spatialdp as sdp

DOMAIN = sdp.Domain((0, 0, 1, 1))


@pytest.mark.parametrize("mechanism", [sdp.Quadtree(3), sdp.KdTree(2), sdp.Hierarchy((8, 8)), sdp.Fourier((8, 8))])
def test_a_plan_prints_as_a_table(mechanism):
    plan = mechanism.plan(DOMAIN, epsilon=Fraction(1, 3))
    lines = str(plan).splitlines()
    assert lines[0] == f"method    {mechanism.name}"
    assert lines[1] == f"cells     {plan.cells}"
    assert len({line.index(text) for line, (name, text) in zip(lines, plan.rows(), strict=True) if name}) == 1
    assert all(any(step in line for line in lines) for step in plan.budget)
    assert "cost      ε = 1/3" in lines


def test_details_are_aligned():
    lines = str(sdp.Quadtree(3).plan(DOMAIN, epsilon=1)).splitlines()
    assert len({line.index("counts at depth") for line in lines if "counts at depth" in line}) == 1
    assert len({len(line.rsplit("  ", 1)[0]) for line in lines if "of the domain" in line}) == 1


def test_gaussian_noise_costs_zcdp():
    assert "cost      ρ (zCDP) = " in str(sdp.Flat((4, 4), law="gaussian").plan(DOMAIN, epsilon=1, delta=1e-9))


def test_limits_are_in_the_table():
    plan = sdp.Fourier((8, 8)).plan(DOMAIN, epsilon=1)
    ((name, limit),) = plan.limits.items()
    assert f"limit     {name}: {limit:,}" in str(plan)


@pytest.mark.parametrize("mechanism", [sdp.Quadtree(3), sdp.KdTree(2)])
def test_json_has_numbers_and_exact_ones(mechanism):
    plan = mechanism.plan(DOMAIN, epsilon=Fraction(1, 3))
    told = json.loads(json.dumps(plan.to_json()))
    assert told["cost"] == pytest.approx(1 / 3)
    assert told["cost_exact"] == "1/3"
    assert told["budget"] == {step: float(cost) for step, cost in plan.budget.items()}
    assert {step: Fraction(cost) for step, cost in told["budget_exact"].items()} == plan.budget
    assert told["errors"] == plan.errors


def test_the_share_of_the_region_that_its_cells_miss():
    triangle = shapely.Polygon([(0, 0), (2, 0), (0, 2)])
    for mechanism in (sdp.Flat((2, 2)), sdp.Quadtree(1), sdp.Uniform((2, 2)), sdp.KdTree(2)):
        touching, centres = (
            mechanism.plan(sdp.Domain.around(triangle, region_cells=rule), epsilon=1)
            for rule in ("touching", "centres")
        )
        assert touching.missed == 0
        assert "0 % of its area is missed" in str(touching)
        assert centres.missed == pytest.approx(0.5 if mechanism.name != "kd-tree" else 1 / 1024, rel=1e-6)
    assert "50.00 % of its area lies in no cell" in str(sdp.Flat((2, 2)).plan(centres_of(triangle), epsilon=1))
    plain = sdp.Flat((2, 2)).plan(sdp.Domain((0, 0, 2, 2)), epsilon=1)
    assert plain.missed is None
    assert "region" not in str(plain)
    assert plain.to_json()["missed"] is None


def test_new_zealand_by_centres_loses_a_fifth_of_its_area():
    """Records live on coasts, so that far more of them are lost than of the area."""
    region = sdp.datasets.new_zealand()
    by_centres = sdp.Domain.around(region, crs="EPSG:4326", region_cells="centres")
    plans = [sdp.Flat((side, side)).plan(by_centres, epsilon=1).missed for side in (64, 128)]
    assert 0.03 < plans[1] < plans[0] < 0.3
    assert sdp.Flat((64, 64)).plan(sdp.Domain.around(region, crs="EPSG:4326"), epsilon=1).missed == 0


def centres_of(region):
    return sdp.Domain.around(region, region_cells="centres")


def test_notebooks_show_the_rows_of_the_plan():
    plan = sdp.Flat(shape=(64, 64)).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1)
    text = plan._repr_html_()
    assert text.count("<tr>") == len(plan.rows())
    assert "4,096" in text
    assert "the whole domain" in text


@pytest.mark.parametrize("person", [sdp.Person(records=20), sdp.Person(cells=20), sdp.Person(shares=True)], ids=str)
def test_a_plan_says_what_is_bounded(person):
    domain = sdp.Domain((0, 0, 1, 1))
    plan = sdp.Flat((8, 8)).plan(domain, epsilon=1, person=person)
    rows = dict(plan.rows())
    assert rows["person"] == person.in_words().replace("was counted", "is counted")
    assert f"root mean square, in {person.counted})" in rows["error"]
    assert plan.to_json()["person"] == person.to_json()
    plain = sdp.Flat((8, 8)).plan(domain, epsilon=1)
    assert plan.standard_deviation == pytest.approx(person.most * plain.standard_deviation, rel=0.06)
    assert "person" not in {**dict(plain.rows()), **plain.to_json()}


def test_the_plan_of_a_kd_tree_says_how_persons_are_bounded():
    plan = sdp.KdTree(2).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1, person=sdp.Person(records=3))
    assert dict(plan.rows())["person"] == "each person is counted with at most 3 records"
