"""The table of a map: one row for each cell, with its exact edges, its estimate and its interval."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.outputs.files.rows import COLUMNS, cell_numbers, described, map_rows
from tests.helpers.cases import LARGE, in_turn, is_unbiased
from tests.helpers.releases import REGION, release_of

WIDE = sdp.Domain((-124.7, 24.5, -66.9, 49.4), crs="EPSG:4326")


@pytest.mark.parametrize(("name", "region"), in_turn(LARGE, (None, REGION)))
def test_every_row_has_its_estimate_and_interval(name, region):
    release = release_of(name, region)
    rows = map_rows(release)
    assert rows.columns["estimate"] == pytest.approx(release.answer(rows.boxes), abs=1e-6)
    assert len(rows.boxes) == release.estimate.n_cells
    if not is_unbiased(LARGE[name]):
        assert not {"lower", "upper", "sd"} & set(rows.columns)
        assert "do not average out" in described(release.estimate)["intervals"]
        return
    assert list(rows.columns)[-4:] == list(COLUMNS) == list(described(release.estimate))
    ends = np.stack([rows.columns["lower"], rows.columns["upper"]], axis=1)
    assert ends == pytest.approx(release.interval(rows.boxes), rel=1e-9, abs=1e-6)
    variance = release.estimate.moments(release.domain.boxes(rows.boxes))[0]
    assert rows.columns["sd"] == pytest.approx(np.sqrt(variance), rel=1e-6)


@pytest.mark.parametrize(
    "mechanism", [sdp.Flat((37, 29)), sdp.Hierarchy((37, 29)), sdp.Hierarchy((11, 7), branching="hb"), sdp.Quadtree(5)]
)
def test_edges_are_exactly_those_of_the_grid(mechanism):
    """Lattice lines are up to 0.6 mm from the edges of cells whose number is no power of two."""
    release = mechanism.release([[-100.0, 40.0]], WIDE, epsilon=1)
    rows = map_rows(release)
    grid = WIDE.grid((32, 32) if mechanism.name == "quadtree" else mechanism.shape)
    column, row = rows.columns["column"], rows.columns["row"]
    assert sorted(zip(row.tolist(), column.tolist(), strict=True)) == list(np.ndindex(*grid.shape[::-1]))
    x, y = grid.x_edges, grid.y_edges
    assert np.array_equal(rows.boxes, np.stack([x[column], y[row], x[column + 1], y[row + 1]], axis=1))


def test_the_polygons_of_the_complete_file_have_these_edges_too(tmp_path):
    import geopandas

    release = sdp.Hierarchy((37, 29)).release([[-100.0, 40.0]], WIDE, epsilon=1)
    release.save(tmp_path / "release.parquet")
    frame = geopandas.read_parquet(tmp_path / "release.parquet")
    leaves = frame[frame["children"] == 0].geometry.bounds.to_numpy()
    assert np.array_equal(leaves, map_rows(release).boxes)
    grid = WIDE.grid((37, 29))
    assert set(frame.geometry.bounds["minx"]) <= set(grid.x_edges)
    assert set(frame.geometry.bounds["maxy"]) <= set(grid.y_edges)


@pytest.mark.parametrize("name", ["flat", "hierarchy", "quadtree"])
def test_leaves_on_a_grid_become_a_raster(name):
    release = release_of(name, REGION)
    cells = cell_numbers(release.estimate)
    raster = cells.raster(release.estimate.leaf_values())
    rows, columns = cells.rows_and_columns
    assert np.array_equal(raster[rows, columns], release.estimate.leaf_values())
    assert np.isnan(raster).sum() == raster.size - release.estimate.n_cells


@pytest.mark.parametrize("name", ["kd", "quadtree, pruned"])
def test_leaves_of_different_sizes_have_a_depth_and_no_place_on_a_grid(name):
    release = release_of(name)
    assert cell_numbers(release.estimate) is None
    assert list(map_rows(release).columns)[:2] == ["depth", "estimate"]
