"""What releases are compared with: the truth for each bound on persons, and what a bound keeps of it."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp import workload
from spatialdp.evaluation.truth import TrueCounts, grid_of_truth
from spatialdp.privacy.unit import Person
from tests.helpers.evaluations import BOXES, DOMAIN

RNG = np.random.default_rng(9)
N = 600
WHO = (RNG.zipf(1.6, N) % 60).tolist()
XY = np.clip(RNG.normal(0.5, 0.2, (60, 2))[WHO] + RNG.normal(0, 0.05, (N, 2)), 0, 0.999)
POINTS = sdp.Points(XY, person=WHO)
BOUNDS = [Person(records=5), Person(cells=5), Person(shares=True)]
every_bound = pytest.mark.parametrize("person", BOUNDS, ids=str)
WHOLE = (0, 0, 1, 1)


def by_hand(person, shape=(8, 8)):
    """The number of records, of presences or of persons."""
    cells = np.floor(XY * shape).astype(int)
    return {
        "records": N,
        "cells": len({(w, *c) for w, c in zip(WHO, cells.tolist(), strict=True)}),
        "shares": len(set(WHO)),
    }[str(person.bound)]


@every_bound
def test_the_truth_is_what_no_bound_cuts_off(person):
    counts = TrueCounts.of(POINTS, DOMAIN, person, (8, 8))
    assert counts.total == pytest.approx(by_hand(person))
    assert (counts.n_records, counts.n_persons) == (N, len(set(WHO)))
    both = counts.counter.count(DOMAIN.boxes([(0, 0, 0.37, 1), (0.37, 0, 1, 1)]))
    assert both.sum() == pytest.approx(counts.total)


@every_bound
@pytest.mark.parametrize("mechanism", [sdp.Flat((8, 8)), sdp.KdTree(2)], ids=["flat", "kd-tree"])
def test_what_is_kept_is_what_a_release_without_noise_counts(mechanism, person):
    kept = TrueCounts.kept(POINTS, DOMAIN, person, mechanism)
    release = mechanism.release(POINTS, DOMAIN, epsilon=500, person=person, noise=sdp.SeededNoise(1))
    assert kept.total == pytest.approx(release.total, abs=1)
    unbounded = TrueCounts.of(POINTS, DOMAIN, person, grid_of_truth(mechanism, DOMAIN, person)).total
    assert (kept.total < unbounded - 5) == (not person.shares)


def test_truths_differ_by_grid_with_a_bound_on_cells_alone():
    for person in (None, Person(records=3), Person(shares=True)):
        assert grid_of_truth(sdp.Flat((8, 8)), DOMAIN, person) is None
    shapes = [
        grid_of_truth(each, DOMAIN, Person(cells=3)) for each in (sdp.Flat((8, 4)), sdp.Quadtree(3), sdp.KdTree(2))
    ]
    assert shapes == [(8, 4), (8, 8), (4096, 4096)]


@every_bound
def test_polygons_count_what_boxes_count(person):
    counts = TrueCounts.of(POINTS, DOMAIN, person, (8, 8))
    box = (0.2, 0.3, 0.7, 0.9)
    polygons = workload.polygons(geopandas.GeoSeries([shapely.box(*box)]), DOMAIN)
    assert counts.answers(polygons) == pytest.approx(counts.counter.count(DOMAIN.boxes([box])))


METRICS = ["rmse", "uniformity_rmse", "noise_rmse"]
MECHANISMS = {
    "flat": sdp.Flat((8, 8)),
    "quadtree": sdp.Quadtree(3),
    "kd": sdp.KdTree(2),
    "adaptive": sdp.Adaptive((8, 8)),
    "stop": sdp.Quadtree(3, stop=3),
}


@pytest.fixture(scope="module")
def frames():
    """Evaluations with each bound."""
    options = {"trials": 3, "metrics": METRICS}
    return {person: sdp.evaluate(MECHANISMS, POINTS, DOMAIN, BOXES, 2, person=person, **options) for person in BOUNDS}


@every_bound
def test_errors_are_those_of_releases_against_the_truth(frames, person):
    import ast

    frame = frames[person]
    truth = TrueCounts.of(POINTS, DOMAIN, person, (8, 8)).answers(BOXES)
    row = frame[(frame["mechanism"] == "quadtree") & (frame["metric"] == "rmse")].iloc[0]
    noise = sdp.SeededNoise(ast.literal_eval(row["seed"]))
    release = sdp.Quadtree(3).release(POINTS, DOMAIN, epsilon=2, person=person, noise=noise)
    assert row["value"] == pytest.approx(np.sqrt(np.mean((release.answer(BOXES.boxes) - truth) ** 2)))
    assert set(frame["unit"]) == {"person"}
    assert set(frame["bound"]) == {person.in_short()}
    assert set(frame["persons"]) == {len(set(WHO))}
    assert set(frame["records"]) == {N}
    assert "what the bound on persons cuts off" in frame.attrs["note"]


def test_what_the_bound_cuts_off_is_an_error_without_noise(frames):
    """A bound of five records cuts off most of the heavy persons; shares cut off nothing."""
    for name in MECHANISMS:
        means = {
            person: frame[frame["mechanism"] == name].groupby("metric")["value"].mean()
            for person, frame in frames.items()
        }
        cut = means[Person(records=5)]
        assert cut["uniformity_rmse"] > 50 > 2 * cut["noise_rmse"]
        assert means[Person(shares=True)]["uniformity_rmse"] < 6


def test_parts_are_made_of_whole_persons(monkeypatch):
    held = []
    from spatialdp.evaluation import evaluate as module

    real = module.evaluate
    monkeypatch.setattr(
        module, "evaluate", lambda m, part, *rest, **options: held.append(part) or real(m, part, *rest, **options)
    )
    frame = sdp.evaluate_subsamples(
        sdp.Flat((8, 8)), POINTS, DOMAIN, BOXES, 1, 1, records=[5, 20], person=Person(cells=3), metrics=["rmse"]
    )
    of = pd.Series(WHO).value_counts()
    for part, count in zip(held, (5, 20), strict=True):
        names = pd.Series(part._parts_persons[0].to_pylist()).value_counts()
        assert len(names) == count
        assert all(of[int(name)] == number for name, number in names.items())
    assert set(held[0]._parts_persons[0].to_pylist()) < set(held[1]._parts_persons[0].to_pylist())
    assert sorted(frame["persons"].unique()) == [5, 20]
    with pytest.raises(sdp.SpatialDPError, match="number of persons"):
        sdp.evaluate_subsamples(sdp.Flat((8, 8)), POINTS, DOMAIN, BOXES, 1, 1, records=[10**6], person=Person(cells=3))


def test_caches_belong_to_a_bound_and_to_persons(tmp_path):
    given = {"trials": 1, "metrics": ["rmse"], "cache": tmp_path / "trials.jsonl"}
    first = sdp.evaluate(sdp.Flat((8, 8)), POINTS, DOMAIN, BOXES, 1, person=Person(cells=3), **given)
    again = sdp.evaluate(sdp.Flat((8, 8)), POINTS, DOMAIN, BOXES, 1, person=Person(cells=3), **given)
    assert first["value"].tolist() == again["value"].tolist()
    others = sdp.Points(XY, person=[number + 1 for number in WHO])
    for points, person in ((POINTS, Person(cells=4)), (others, Person(cells=3))):
        with pytest.raises(sdp.SpatialDPError, match="other records, queries or settings"):
            sdp.evaluate(sdp.Flat((8, 8)), points, DOMAIN, BOXES, 1, person=person, **given)
