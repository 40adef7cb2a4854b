"""Evaluations of tables: errors that the plan foresees, coverage, what a bound on persons cuts off, alternatives."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.evaluation.frames.tables import table_workloads
from tests.helpers.zone_releases import zones_of

KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
HOURS = sdp.Time("2024-01-01", "2024-02-01", step="12 h", fold="hour of day")
FRAME = sdp.Frame(sdp.Domain((0, 0, 3, 2), crs="EPSG:4326").grid((3, 2)), time=HOURS, kind=KINDS)
ALL = ("rmse", "noise_rmse", "uniformity_rmse", "coverage", "noise_coverage", "interval_width")


def rows(person=None, count=300):
    rng = np.random.default_rng(1)
    hours = np.datetime64("2024-01-01") + rng.integers(0, 31 * 24, count).astype("timedelta64[h]")
    kinds = rng.choice(["burglary", "shoplifting", "assault"], count)
    places = rng.uniform((0, 0), (3, 2), (count, 2))
    return sdp.Rows(sdp.Points(*places.T, person=person), time=hours, kind=kinds)


def means(frame):
    return frame.groupby(["workload", "metric"])["value"].mean()


@pytest.mark.unmeasured
def test_errors_are_those_that_the_plan_foresees_and_intervals_cover():
    mechanism = sdp.Table(budget={"kind": (0, 1, 2)})
    asked = {
        "total": {},
        "groups": {"kind": "groups"},
        "cells": {"box": "cells", "time": HOURS.names[-1], "kind": "categories"},
    }
    frame = sdp.evaluate(mechanism, rows(), FRAME, asked, 1, trials=200, metrics=ALL)
    assert frame["queries"].unique().tolist() == [1, 2, 36]
    assert set(frame["records"]) == {300}
    squares = frame[frame["metric"] == "rmse"].assign(value=lambda f: f["value"] ** 2)
    measured = np.sqrt(squares.groupby("workload")["value"].mean())
    foreseen = mechanism.plan(FRAME, epsilon=1).errors
    assert measured["cells"] == pytest.approx(foreseen[f"cells x {HOURS.names[-1]} x categories"], rel=0.05)
    values = means(frame)
    assert values["cells", "uniformity_rmse"] == 0
    assert values["cells", "noise_rmse"] == pytest.approx(values["cells", "rmse"])
    assert min(values[name, "coverage"] for name in asked) > 0.91
    assert min(values[name, "noise_coverage"] for name in asked) > 0.91


def test_the_truth_is_that_of_the_records():
    given = {"thefts": {"kind": "theft", "box": [(0, 0, 1, 2), (0, 0, 3, 2)]}, "night": {"time": ("00:00", "12:00")}}
    frame = sdp.evaluate(sdp.Table(), rows(), FRAME, given, 1000, trials=1, metrics=["rmse"])
    assert frame["value"].max() == 0
    exact = sdp.Table().release(rows(), FRAME, epsilon=1000)
    workloads = table_workloads(FRAME, given)
    answers = exact.estimate.sums(workloads[0].selections).ravel()
    assert answers.tolist() == exact.answer(**given["thefts"]).tolist()


def test_alternatives_are_compared_also_models_of_tables():
    mechanisms = {"balanced": sdp.Table(), "cells": sdp.Table(budget="cells"), "model": sdp.PrivBayes()}
    frame = sdp.evaluate(mechanisms, rows(), FRAME, None, 0.5, trials=2, metrics=ALL)
    assert set(frame["mechanism"]) == set(mechanisms)
    assert frame["workload"].unique().tolist() == ["total", "box", "time", "kind", "cells"]
    of_model = set(frame[frame["mechanism"] == "model"]["metric"])
    assert of_model == {"rmse"}
    assert frame.attrs["note"].startswith("Private-only")


@pytest.mark.parametrize("person", [sdp.Person(records=2), sdp.Person(cells=2), sdp.Person(shares=True)], ids=str)
def test_the_truth_knows_no_bound_on_persons(person):
    records = rows([f"p{number % 20}" for number in range(300)])
    frame = sdp.evaluate(sdp.Table(), records, FRAME, None, 1000, trials=1, person=person, metrics=ALL)
    values = means(frame)["cells"]
    assert set(frame["persons"]) == {20}
    assert set(frame["records"]) == {300}
    cut = values["uniformity_rmse"]
    assert cut == 0 if person.bound == "shares" else cut > 0.5
    assert values["rmse"] == pytest.approx(cut, abs=0.1)


def test_zones_and_processes():
    frame = sdp.Frame(zones_of(), kind=sdp.Categories(["a", "b"]))
    records = sdp.Rows(sdp.Codes(["A1a"] * 9 + ["B1a"] * 4), kind=["a"] * 13)
    given = (sdp.Table(), records, frame, {"states": {"zone": "state", "kind": ["a", "b"]}}, 1)
    one, two = (sdp.evaluate(*given, trials=2, processes=number) for number in (1, 2))
    assert one.equals(two)
    assert one["queries"].unique().tolist() == [6]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"workload": {"x": {"box": (0, 0, 1.5, 1)}}}, "workload 'x' has a box that cuts cells"),
        ({"workload": {"x": {"colour": "red"}}}, "colour is no axis of this table"),
        ({"workload": {"x": {"kind": []}}}, "workload 'x' has 0 queries"),
        ({"workload": {}}, "no mapping of names to queries"),
        ({"workload": "cells"}, "no mapping of names to queries"),
        ({"metrics": ["earth_mover"]}, "compares maps of cells"),
        ({"cache": "trials.jsonl"}, "leave it out"),
        ({"mechanisms": sdp.Flat((4, 4))}, "give a spatialdp.Domain"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(change, words):
    given = {"mechanisms": sdp.Table(), "workload": None} | change
    with pytest.raises(ParameterError, match=words):
        sdp.evaluate(points=rows(), domain=FRAME, epsilons=1, trials=1, **given)
