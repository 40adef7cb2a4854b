"""The map of a table at one time, of one category: the table's own answers and their own noise, exactly."""

from __future__ import annotations

import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.estimates import decomposition
from spatialdp.estimates.intervals import half_width
from spatialdp.estimates.tables.slices import map_of
from spatialdp.space.frames.selection import parts_of

REGION = shapely.Polygon([(0, 0), (5, 0), (5, 3), (2, 3), (0, 1)])
DOMAIN = sdp.Domain((0, 0, 5, 3), crs="EPSG:4326")
IN_REGION = sdp.Domain((0, 0, 5, 3), crs="EPSG:4326", region=REGION)
SQUARES = [shapely.box(x, y, x + 1, y + 1) for x in range(4) for y in range(2)]
ZONES = sdp.Zones(
    geopandas.GeoDataFrame(
        {"state": [*"AAAABBBC"], "county": ["A1", "A2", "A3", "A4", "B1", "B2", "B3", "C1"]},
        geometry=SQUARES,
        crs="EPSG:4326",
    ),
    levels=["state", "county"],
)
TIME = sdp.Time("2024-01-01", "2024-01-15", step="1 d", levels=("week",))
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
FRAMES = {
    "cells": sdp.Frame(DOMAIN.grid((5, 3)), time=TIME, kind=KINDS),
    "cells of a region": sdp.Frame(IN_REGION.grid((5, 3)), time=TIME, kind=KINDS),
    "blocks": sdp.Frame(DOMAIN.grid((5, 3)), blocks=(4, 2), time=TIME, kind=KINDS),
    "blocks of a region": sdp.Frame(IN_REGION.grid((10, 6)), blocks=(4,), time=TIME, kind=KINDS),
    "zones": sdp.Frame(ZONES, time=TIME, kind=KINDS),
}
QUERIES = [{}, {"kind": "theft"}, {"time": ("2024-01-01", "2024-01-08"), "kind": ("burglary", "assault")}]
BUDGETS = {
    name: {frame.space_name: (1, *range(1, len(frame.space.names))), "time": (0, 1, 2), "kind": (1, 0, 1)}
    for name, frame in FRAMES.items()
}
FLAT = [name for name in FRAMES if name.startswith("cells")]
BUDGETS |= {name: {"time": (0, 1, 2), "kind": (1, 0, 1)} for name in FLAT}


# A box that cuts cells on the border of a region gets other shares of them in a map.
WHOLE = [name for name in FRAMES if "region" not in name]


def table_of(name, law="discrete-laplace", **terms):
    mechanism = sdp.Table(budget=BUDGETS[name], law=law)
    terms = {"epsilon": 4, "noise": sdp.SeededNoise(2)} | terms
    return mechanism.release(sdp.Rows([], time=[], kind=[]), FRAMES[name], **terms)


def slice_of(release, queries):
    return map_of(release.estimate, release.frame.select(queries)[:-1])


@pytest.mark.parametrize("queries", QUERIES)
@pytest.mark.parametrize(
    ("law", "terms"), [("discrete-laplace", {"epsilon": 40}), ("gaussian", {"epsilon": 4, "delta": 1e-6})]
)
@pytest.mark.parametrize("name", WHOLE)
def test_boxes_and_zones_have_the_tables_answers_and_its_noise(name, law, terms, queries):
    """Also where discrete noise is far from the variances that the weights are best for: at a large ε."""
    release = table_of(name, law=law, **terms)
    estimate, table, frame = slice_of(release, queries), release.estimate, release.frame
    if name == "zones":
        sums = estimate.of_nodes(np.arange(ZONES.shape.n_nodes))
        asked = [frame.select(queries | {"zone": [code]}) for code in ZONES.codes.tolist()]
        values, moments = sums.values, (sums.variance, sums.kurtosis)
    else:
        boxes = [(0, 0, 5, 3), (0, 0, 1, 1), (2, 1, 5, 3), (0.5, 0.25, 3.5, 2.75), (4, 2, 5, 3)]
        asked = [frame.select(queries | {"box": [box]}) for box in boxes]
        values, moments = estimate.answer(DOMAIN.boxes(boxes)), estimate.moments(DOMAIN.boxes(boxes))
    np.testing.assert_allclose(values, [table.sums(each).item() for each in asked], atol=1e-8)
    for part in range(2):
        np.testing.assert_allclose(
            moments[part], [table.moments_of_sums(each)[part].item() for each in asked], rtol=1e-9
        )


@pytest.mark.parametrize("queries", QUERIES)
@pytest.mark.parametrize("name", [name for name in FRAMES if name != "zones"])
def test_cells_have_the_tables_answers_and_its_noise(name, queries):
    release = table_of(name)
    estimate, space = slice_of(release, queries), release.frame.space
    boxes = estimate.leaf_boxes()
    column, row = (np.rint(boxes[:, i] / 2**30 * n).astype(int) for i, n in enumerate(space.grid.shape))
    places = space.leaf_of_cell[row * space.grid.shape[0] + column]
    assert sorted(places) == list(range(space.size))
    asked = (*release.frame.select(queries)[:-1], parts_of(space, "cells"))
    np.testing.assert_allclose(estimate.leaf_values(), release.estimate.sums(asked).ravel()[places], atol=1e-8)
    variance, kurtosis = release.estimate.moments_of_sums(asked)
    np.testing.assert_allclose(estimate.leaf_moments()[0], variance.ravel()[places])
    np.testing.assert_allclose(estimate.leaf_moments()[1], kurtosis.ravel()[places])


def test_the_closed_form_of_large_trees_is_not_taken_for_weights_that_are_given(monkeypatch):
    release = table_of("blocks", epsilon=40)
    boxes = DOMAIN.boxes([(0.5, 0.25, 3.5, 2.75), (2, 1, 5, 3)])
    wanted = slice_of(release, {"kind": "theft"}).moments(boxes)
    monkeypatch.setattr(decomposition, "_CLOSED_FORM", 1)
    np.testing.assert_array_equal(slice_of(release, {"kind": "theft"}).moments(boxes), wanted)


def test_whole_steps_only_where_each_cell_is_one_measurement():
    frame = sdp.Frame(DOMAIN.grid((5, 3)), kind=sdp.Categories(["a", "b"]))
    rows = sdp.Rows([], kind=[])
    single = slice_of(sdp.Table().release(rows, frame, epsilon=1), {})
    assert single.leaf_steps
    weighted = slice_of(sdp.Table(budget={"kind": (1, 1)}).release(rows, frame, epsilon=1), {"kind": "a"})
    assert not weighted.leaf_steps
    table = sdp.Table(budget={"kind": (1, 1)}).release(rows, frame, epsilon=1)
    low, high = table.interval(box=(0, 0, 1, 1), kind="a", about="noise")
    estimate = slice_of(table, {"kind": "a"})
    half = half_width(*estimate.leaf_moments(), estimate.step, 0.95, whole=estimate.leaf_steps)[0]
    assert (high - low) / 2 == pytest.approx(half)


def test_biased_tables_have_biased_maps_that_still_add_up():
    release = table_of("zones").non_negative()
    estimate = slice_of(release, {"kind": "theft"})
    assert estimate.biased
    assert (estimate.values >= 0).all()
    assert estimate.total == pytest.approx(release.answer(kind="theft"))
