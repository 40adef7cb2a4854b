"""`spatialdp query`, `plan` and `info` know flows: answers by their ends, plans without trips, and what is listed."""

from __future__ import annotations

import io
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import spatialdp as sdp
from tests.helpers.commands import run
from tests.helpers.flow_cases import FlowSetting


@pytest.fixture(params=["zones", "region"])
def saved(request, tmp_path):
    """Listed flows between zones, or between the cells of a grid: the release, its file, and two places by name."""
    setting, pairs = FlowSetting("flows, listed", request.param, "add-remove"), [3] * 300 + [17] * 90 + [33] * 200
    release = setting.mechanism.release(setting.records(pairs), setting.domain, epsilon=1)
    release.save(tmp_path / "flows.parquet")
    if request.param == "zones":
        return release, tmp_path / "flows.parquet", ["A1", "C"]
    xmin, ymin, xmax, ymax = release.domain.bounds
    places = [release.domain.bounds, (xmin, ymin, 0.4 * xmin + 0.6 * xmax, 0.7 * ymin + 0.3 * ymax)]
    return release, tmp_path / "flows.parquet", places


def typed(place):
    return place if isinstance(place, str) else ",".join(f"{side:.15g}" for side in place)


def asked(path, *words):
    told = run("query", path, *words)
    return pd.read_csv(io.StringIO(told.stdout)), told.stderr


def test_both_ends_are_answered_pair_by_pair(saved):
    release, path, places = saved
    ends = [word for name in ("--origin", "--destination") for place in places for word in (name, typed(place))]
    rows, told = asked(path, *ends, "--level=0.9")
    assert rows["origin"].tolist() == [typed(place) for place in places for _ in places]
    assert rows["destination"].tolist() == [typed(place) for _ in places for place in places]
    assert rows["estimate"].tolist() == pytest.approx(release.answer(origin=places, destination=places).ravel())
    ends = release.interval(origin=places, destination=places, level=0.9).reshape(-1, 2)
    assert rows[["lower", "upper"]].to_numpy() == pytest.approx(ends)
    assert "Answers that name both ends are about listed pairs" in told
    assert ("a box cuts cells" in told) is (not isinstance(places[0], str))


@pytest.mark.parametrize("end", ["origin", "destination"])
def test_one_end_is_answered_by_the_margin(saved, end):
    release, path, places = saved
    rows, told = asked(path, f"--{end}", typed(places[0]))
    assert list(rows.columns) == [end, "estimate", "lower", "upper"]
    assert rows["estimate"].tolist() == pytest.approx(np.atleast_1d(release.answer(**{end: places[0]})))
    assert "listed pairs" not in told


def test_codes_are_answered_together_or_one_by_one(tmp_path):
    setting = FlowSetting("flows", "zones", "add-remove")
    release = setting.mechanism.release(setting.records([3] * 300), setting.domain, epsilon=1)
    release.save(tmp_path / "flows.parquet")
    apart, _ = asked(tmp_path / "flows.parquet", "--origin=A1,B")
    assert apart["origin"].tolist() == ["A1", "B"]
    together, _ = asked(tmp_path / "flows.parquet", "--origin=A1,B", "--together")
    assert together["origin"].tolist() == ["A1,B"]
    assert together["estimate"].tolist() == pytest.approx([release.answer(origin=("A1", "B"))])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--bbox=0,0,1,1",), "ask with --origin, --destination or both"),
        (("--codes=A1",), "ask with --origin, --destination or both"),
        (("--origin=nowhere",), "nowhere"),
        (("--origin=A1", "--bbox=0,0,1,1"), "exactly one"),
        ((), "exactly one"),
    ],
)
def test_what_flows_do_not_answer_is_refused(words, message, tmp_path):
    setting = FlowSetting("flows", "zones", "add-remove")
    setting.mechanism.release(setting.records([3]), setting.domain, epsilon=1).save(tmp_path / "flows.parquet")
    assert message in run("query", tmp_path / "flows.parquet", *words, code=2).stderr


def test_ends_are_refused_where_they_make_no_sense(tmp_path):
    grid = sdp.Domain((0, 0, 1, 1)).grid((2, 2))
    sdp.Flows().release(sdp.Trips([[0.1, 0.1]], [[0.9, 0.9]]), grid, epsilon=1).save(tmp_path / "flows.parquet")
    told = run("query", tmp_path / "flows.parquet", "--origin=0,0,1", code=2).stderr
    assert "4 numbers XMIN,YMIN,XMAX,YMAX are required" in told
    sdp.Flat((2, 2)).release([[0.1, 0.1]], grid.domain, epsilon=1).save(tmp_path / "map.parquet")
    assert "no" not in run("query", tmp_path / "map.parquet", "--bbox=0,0,1,1").stderr
    told = run("query", tmp_path / "map.parquet", "--origin=0,0,1,1", code=2).stderr
    assert "of places and not of flows" in told


# --- plans -----------------------------------------------------------------------------------------------

PLACES = ("--bounds=0,0,1,1", "--shape=40,30", "--epsilon=1")


@pytest.mark.parametrize(
    ("words", "mechanism", "terms"),
    [
        ((), sdp.Flows(), {}),
        (("--pairs=listed", "--false=3", "--margins=1/3"), sdp.Flows("listed", false=3, margins=Fraction(1, 3)), {}),
        (("--pairs=listed", "--person=cells=4"), sdp.Flows("listed"), {"person": sdp.Person(cells=4)}),
        (("--neighbours=replace",), sdp.Flows(), {"neighbours": "replace"}),
    ],
    ids=["all", "listed", "persons", "replace"],
)
def test_plan_of_flows_is_that_of_the_library(words, mechanism, terms):
    plan = mechanism.plan(sdp.Domain((0, 0, 1, 1)).grid((40, 30)), epsilon=1, **terms)
    assert json.loads(run("plan", *PLACES, "--method=flows", *words, "--json").stdout) == plan.to_json()
    assert run("plan", *PLACES, "--method=flows", *words).stdout == f"{plan}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plan", "--bounds=0,0,1,1", "--epsilon=1", "--method=flows"), "neither of --shape and --cell-size"),
        (("plan", *PLACES, "--method=flows", "--blocks=2"), "not of flows"),
        (("plan", *PLACES, "--method=flows", "--categories=a,b"), "further axes"),
        (("release", "none.csv", *PLACES, "--method=flows", "-o", "none.parquet"), "use `spatialdp flows`"),
        (("epsilon-for", "--method=flows", "--bounds=0,0,1,1", "--shape=4,4"), "use `spatialdp flows`"),
    ],
)
def test_methods_for_points_and_for_trips_are_not_mixed_up(words, message):
    assert message in run(*words, code=2).stderr


# --- facts -----------------------------------------------------------------------------------------------


def test_facts_of_flows_are_told(saved):
    release, path, _ = saved
    facts = json.loads(run("info", path, "--json").stdout)
    assert (facts["places"], facts["cells"], facts["listed"]) == (
        release.estimate.places,
        release.estimate.n_cells,
        True,
    )
    assert facts["threshold"] == release.estimate.listing.threshold
    told = run("info", path).stdout
    assert f"places     {release.estimate.places}" in told
    assert "Listed are pairs whose noisy count was at least" in told


def test_facts_of_flows_between_codes_are_told(tmp_path):
    zones = sdp.Zones.from_codes(["a1", "a2", "b1"], None, {"letter": 1, "code": 2})
    trips = sdp.Trips(sdp.Codes(["a1"] * 50), sdp.Codes(["b1"] * 50))
    sdp.Flows().release(trips, zones, epsilon=1).save(tmp_path / "flows.parquet")
    assert "pairs      9, all of them" in run("info", tmp_path / "flows.parquet").stdout
    assert json.loads(run("info", tmp_path / "flows.parquet", "--json").stdout)["places"] == 3
