"""Evaluations by zones: the truth of each level, both coverages, and what a bound on persons cuts off."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from tests.helpers.zone_releases import zones_of

ZONES = zones_of()
CODES = ["A1a"] * 30 + ["A1b"] * 5 + ["B1a"] * 12 + ["C"] * 20
ALL = ("rmse", "noise_rmse", "uniformity_rmse", "coverage", "noise_coverage", "interval_width")


def table(frame):
    return frame.groupby(["workload", "metric"])["value"].mean()


@pytest.mark.unmeasured
def test_errors_of_levels_are_those_that_the_plan_foresees():
    mechanism = sdp.ZoneTree()
    frame = sdp.evaluate(mechanism, sdp.Codes(CODES), ZONES, None, 1, trials=400, metrics=ALL)
    assert frame["workload"].unique().tolist() == ["all zones", "state", "county", "tract"]
    assert frame["queries"].unique().tolist() == [1, 3, 4, 7]
    assert set(frame["records"]) == {67}
    squares = frame[frame["metric"] == "rmse"].assign(value=lambda f: f["value"] ** 2)
    measured = np.sqrt(squares.groupby("workload")["value"].mean())
    foreseen = mechanism.plan(ZONES, epsilon=1).errors
    for level in ("state", "tract"):
        assert measured[level] == pytest.approx(foreseen[level], rel=0.1)
    values = table(frame)
    assert values["tract", "uniformity_rmse"] == 0
    assert values["tract", "noise_rmse"] == pytest.approx(values["tract", "rmse"])
    for level in ("all zones", "state", "county", "tract"):
        assert values[level, "noise_coverage"] > 0.93
        assert values[level, "coverage"] > 0.93


def test_points_and_codes_have_the_same_truth():
    centres = dict(
        zip(ZONES.codes[ZONES.leaf_nodes], shapely.get_coordinates(shapely.centroid(ZONES.geometry)), strict=True)
    )
    points = sdp.Points(*np.array([centres[code] for code in CODES]).T, crs=ZONES.crs)
    one, other = (
        sdp.evaluate(sdp.ZoneTree(), records, ZONES, "county", [0.5, 2], trials=2)
        for records in (sdp.Codes(CODES), points)
    )
    assert one.equals(other)


@pytest.mark.parametrize("person", [sdp.Person(records=2), sdp.Person(cells=1), sdp.Person(shares=True)], ids=str)
def test_the_truth_knows_no_bound_on_persons(person):
    names = [f"p{number % 10}" for number in range(len(CODES))]
    records = sdp.Codes(CODES, person=names)
    frame = sdp.evaluate(sdp.ZoneTree(), records, ZONES, "tract", 1000, trials=1, person=person, metrics=ALL)
    values = table(frame)["tract"]
    assert set(frame["persons"]) == {10}
    assert set(frame["records"]) == {len(CODES)}
    cut = values["uniformity_rmse"]
    assert cut == 0 if person.bound == "shares" else cut > 0.5
    assert values["rmse"] == pytest.approx(cut, abs=0.1)


def test_processes_change_nothing():
    given = (sdp.ZoneTree(consistent=False), sdp.Codes(CODES), ZONES, ["state", "tract"], 1)
    one, two = (sdp.evaluate(*given, trials=3, processes=number) for number in (1, 2))
    assert one.equals(two)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"workload": "parish"}, "levels of these zones are"),
        ({"workload": []}, "not a list of names of levels"),
        ({"metrics": ["earth_mover"]}, "compares maps of cells"),
        ({"cache": "trials.jsonl"}, "leave it out"),
        ({"mechanisms": sdp.Flat((4, 4))}, "give a spatialdp.Domain"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(change, words):
    given = {"mechanisms": sdp.ZoneTree(), "workload": None} | change
    with pytest.raises(ParameterError, match=words):
        sdp.evaluate(points=sdp.Codes(CODES), domain=ZONES, epsilons=1, trials=1, **given)
