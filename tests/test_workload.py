"""Workloads stay inside the domain, have the sizes that were asked for, and repeat."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp import workload
from spatialdp.errors import CRSMismatchError, FileFormatError, ParameterError

DOMAIN = sdp.Domain((-10, 40, 50, 66), crs="EPSG:4326")

MAKERS = {
    "random": lambda domain, seed: workload.random_boxes(domain, 300, seed=seed),
    "whole cells": lambda domain, seed: workload.random_boxes(domain, 300, seed=seed, shape=(7, 5)),
    "sized": lambda domain, seed: workload.sized_boxes(domain, domain.size[0] / 4, domain.size[1], 300, seed=seed),
    "area": lambda domain, seed: workload.area_boxes(domain, [0.001, 1], 300, seed=seed)[0],
    "slabs": lambda domain, seed: workload.slabs(domain, "y", 300, seed=seed),
    "wide slabs": lambda domain, seed: workload.slabs(domain, "x", 300, width=domain.size[0] / 3, seed=seed),
}
FIXED = {
    "squares": lambda domain: workload.squares(domain, min(domain.size) / 3),
    "cells": lambda domain: workload.all_cells(domain, (7, 5)),
    "prefixes": lambda domain: workload.prefix_boxes(domain, (7, 5)),
}


@given(
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
    st.floats(1e-2, 1e6),
    st.floats(1e-2, 1e6),
    st.sampled_from(sorted(MAKERS | FIXED)),
)
def test_boxes_lie_in_the_domain(xmin, ymin, width, height, kind):
    domain = sdp.Domain((xmin, ymin, xmin + width, ymin + height))
    boxes = (MAKERS[kind](domain, 3) if kind in MAKERS else FIXED[kind](domain)).boxes
    slack = 1e-9 * max(1, abs(xmin), abs(ymin), width, height)
    assert np.all(boxes[:, :2] <= boxes[:, 2:])
    assert np.all(boxes[:, :2] >= np.array(domain.bounds[:2]) - slack)
    assert np.all(boxes[:, 2:] <= np.array(domain.bounds[2:]) + slack)


@pytest.mark.parametrize("kind", MAKERS)
def test_same_seed_same_queries(kind):
    first, second, other = (MAKERS[kind](DOMAIN, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.boxes, second.boxes)
    assert not np.array_equal(first.boxes, other.boxes)
    assert first.digest() == second.digest() != other.digest()
    assert not first.boxes.flags.writeable


def test_workloads_of_one_seed_are_not_the_same_draws():
    x = workload.random_boxes(DOMAIN, 100).boxes[:, 0]
    y = workload.slabs(DOMAIN, "x", 100).boxes[:, 0]
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.5


def test_boxes_have_the_sizes_asked_for():
    boxes = workload.sized_boxes(DOMAIN, 15, 0.2, 50)
    assert boxes.boxes[:, 2:] - boxes.boxes[:, :2] == pytest.approx(np.tile([15, 0.2], (50, 1)))
    assert boxes.size == pytest.approx(15 * 0.2 / (60 * 26))
    for part in workload.area_boxes(DOMAIN, count=20):
        areas = np.prod(part.boxes[:, 2:] - part.boxes[:, :2], axis=1) / (60 * 26)
        assert areas == pytest.approx(np.full(20, part.size))
    assert len(workload.area_boxes(DOMAIN)) == 8
    slab = workload.slabs(DOMAIN, "y", 10, width=2)
    assert np.all(slab.boxes[:, [0, 2]] == [-10, 50])
    assert slab.boxes[:, 3] - slab.boxes[:, 1] == pytest.approx(np.full(10, 2))
    square = workload.squares(DOMAIN, 3, anchors=4)
    assert len(square) == 16
    assert square.boxes[:, 2:] - square.boxes[:, :2] == pytest.approx(np.full((16, 2), 3))


def test_random_boxes_are_uniform():
    """Two uniform corners: the mean width is a third of the side, whole cells are all equally likely."""
    boxes = workload.random_boxes(sdp.Domain((0, 0, 1, 1)), 20_000).boxes
    assert (boxes[:, 2:] - boxes[:, :2]).mean(axis=0) == pytest.approx([1 / 3, 1 / 3], abs=0.01)
    cells = workload.random_boxes(sdp.Domain((0, 0, 3, 3)), 60_000, shape=(3, 3)).boxes
    _, counts = np.unique(cells, axis=0, return_counts=True)
    assert counts.size == 36
    assert counts == pytest.approx(np.full(36, 60_000 / 36), rel=0.15)  # 6 standard deviations


def test_cells_are_those_of_the_region():
    domain = sdp.Domain((0, 0, 4, 4), region=shapely.box(0, 0, 2, 4), region_cells="centres")
    assert len(workload.all_cells(domain, (4, 4))) == 8
    assert len(workload.prefix_boxes(domain, (4, 4))) == 16


def test_boxes_come_from_files_and_frames(tmp_path):
    frame = pd.DataFrame({"xmin": [0, 1], "ymin": [41, 42], "xmax": [5, 6], "ymax": [50, 51]})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    frame.to_parquet(tmp_path / "mine.parquet")
    shapes = geopandas.GeoSeries(shapely.box(*frame.to_numpy().T), crs="EPSG:4326")
    geopandas.GeoDataFrame(geometry=shapes).to_file(tmp_path / "mine.gpkg")
    geopandas.GeoDataFrame(geometry=shapes).to_parquet(tmp_path / "geo.parquet")
    for source in (
        frame,
        shapes,
        *(tmp_path / name for name in ("mine.csv", "mine.parquet", "mine.gpkg", "geo.parquet")),
    ):
        assert workload.read_boxes(source, DOMAIN).boxes.tolist() == frame.to_numpy().tolist()
    assert workload.read_boxes(tmp_path / "mine.csv", DOMAIN).name == "mine"
    with pytest.raises(CRSMismatchError):
        workload.read_boxes(shapes.to_crs("EPSG:3857"), DOMAIN)
    with pytest.raises(ParameterError, match="neither columns"):
        workload.read_boxes(frame.rename(columns={"xmin": "left"}), DOMAIN)
    with pytest.raises(FileFormatError, match="cannot be opened"):
        workload.read_boxes(tmp_path / "none.csv", DOMAIN)


def test_polygons_are_checked(tmp_path):
    shapes = geopandas.GeoSeries([shapely.Point(0, 45).buffer(1)], crs="EPSG:4326")
    assert len(workload.polygons(shapes, DOMAIN)) == 1
    again = workload.polygons(shapes.to_crs("EPSG:3857"), DOMAIN)
    assert shapely.area(again.polygons) == pytest.approx(shapely.area(shapes), rel=1e-4)
    with pytest.raises(ParameterError, match="Polygon"):
        workload.polygons(geopandas.GeoSeries([shapely.Point(0, 45)], crs="EPSG:4326"), DOMAIN)
    with pytest.raises(ParameterError, match="no geometries"):
        workload.polygons(pd.DataFrame({"x": [1]}), DOMAIN)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: workload.random_boxes(DOMAIN, 0), "count is 0"),
        (lambda: workload.sized_boxes(DOMAIN, 61, 1), "do not fit"),
        (lambda: workload.sized_boxes(DOMAIN, -1, 1), "positive"),
        (lambda: workload.area_boxes(DOMAIN, [0.0]), "above 0"),
        (lambda: workload.squares(DOMAIN, 30), "give a smaller"),
        (lambda: workload.squares(DOMAIN, 3, anchors=[1, 2, 3]), "anchors"),
        (lambda: workload.slabs(DOMAIN, "z"), "axis is 'z'"),
        (lambda: workload.slabs(DOMAIN, "x", width=99), "give a smaller"),
        (lambda: sdp.Workload("none", boxes=np.empty((0, 4))), "no queries"),
        (lambda: sdp.Workload("both"), "either boxes or polygons"),
        (lambda: sdp.Workload("flat", boxes=[1, 2, 3]), "shape"),
    ],
)
def test_nonsense_is_refused(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_planning_takes_a_workload():
    boxes = workload.random_boxes(DOMAIN, 50)
    ours, theirs = (sdp.recommend(DOMAIN, 1, queries, shape=(32, 32)) for queries in (boxes, boxes.boxes))
    assert ours == theirs
    disc = sdp.Workload("disc", polygons=[shapely.Point(0, 45).buffer(1)])
    with pytest.raises(ParameterError, match="boxes only"):
        sdp.recommend(DOMAIN, 1, disc)
