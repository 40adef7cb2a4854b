"""Which cells belong to a region: every cell that a place of the region lies in, or every cell whose centre does."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp import Domain, Points
from spatialdp.records.counting import count_cells
from spatialdp.records.points import lattice_points
from spatialdp.space.regions import cells

SHAPES = [(1, 1), (7, 3), (10, 10), (64, 64), (33, 100)]


def star(rng, corners, centre=(0.5, 0.5), size=0.5):
    """A polygon with random corners around a centre."""
    angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
    radii = size * rng.uniform(0.1, 1, corners)
    points = np.stack([centre[0] + radii * np.cos(angles), centre[1] + radii * np.sin(angles)], axis=1)
    return shapely.make_valid(shapely.Polygon(points)).buffer(0)


def some_regions():
    """Stars, islands, a ring with a hole, slivers, and shapes along the lines of a grid, some beyond the bounds."""
    rng = np.random.default_rng(11)
    yield from (star(rng, corners) for corners in (3, 5, 12, 60))
    yield shapely.union_all([star(rng, 6, rng.uniform(0, 1, 2), 0.05) for _ in range(40)])
    yield shapely.Point(0.5, 0.5).buffer(0.4) - shapely.Point(0.5, 0.5).buffer(0.3)
    yield shapely.LineString([(0.1, 0.2), (0.9, 0.8)]).buffer(1e-9)
    yield shapely.LineString([(0.3, 0.1), (0.3, 0.9), (0.8, 0.9)]).buffer(1e-12)
    yield shapely.Polygon([(0.2, 0.2), (0.8, 0.2), (0.8, 0.2 + 1e-13), (0.2, 0.7)])
    yield shapely.box(0.2, 0.3, 0.7, 0.9)
    yield shapely.Polygon([(-50, -40), (60, 0.4), (0.3, 70)])
    yield star(rng, 9, (0.6, 0.6), 0.7)


def places_in(region, count=400):
    """Corners, places on the border and places inside, all of them in the region as GEOS judges."""
    rng = np.random.default_rng(5)
    xmin, ymin, xmax, ymax = region.bounds
    inside = rng.uniform((xmin, ymin), (xmax, ymax), (count, 2))
    border = shapely.get_coordinates(
        shapely.line_interpolate_point(region.boundary, rng.uniform(0, 1, count), normalized=True)
    )
    inner = shapely.get_coordinates(region.representative_point())
    places = np.vstack([inside, border, shapely.get_coordinates(region), inner])
    return places[shapely.intersects_xy(region, places[:, 0], places[:, 1])]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bounds", [(0, 0, 1, 1), (-0.1, 0.05, 1.3, 0.95), (0.1, 0.1, 0.7, 0.8)])
def test_every_record_in_the_region_lies_in_a_cell_of_the_region(shape, bounds):
    for region in some_regions():
        places = places_in(region)
        x, y = places.T
        within = (x >= bounds[0]) & (x <= bounds[2]) & (y >= bounds[1]) & (y <= bounds[3])
        domain = Domain(bounds, region=region)
        assert count_cells(Points(places), domain.grid(shape)).sum() == within.sum()
        assert lattice_points(Points(places), domain)[0].size == within.sum()  # trees that follow no grid


@pytest.mark.parametrize("shape", SHAPES)
def test_cells_are_those_that_geos_finds_to_touch(shape):
    for region in some_regions():
        grid = Domain((0, 0, 1, 1), region=region).grid(shape)
        x, y = grid.x_edges, grid.y_edges
        cells = shapely.box(*np.broadcast_arrays(x[None, :-1], y[:-1, None], x[None, 1:], y[1:, None]))
        wide, narrow = (shapely.buffer(cells, size, join_style="mitre") for size in (1e-8, -1e-8))
        assert not (grid.mask & ~shapely.intersects(region, wide)).any()  # none that lies apart
        assert not (~grid.mask & shapely.intersects(region, narrow)).any()  # all that overlap


def test_a_region_along_cell_edges_has_the_cells_in_which_its_border_lies():
    """A record on the upper or right border of the region lies in the next cell, on the far edges in the last one."""
    grid = Domain((0, 0, 10, 10), region=shapely.box(2, 2, 6, 10)).grid((10, 10))
    rows, columns = np.nonzero(grid.mask)
    assert set(columns) == {2, 3, 4, 5, 6}
    assert set(rows) == set(range(2, 10))
    assert grid.n_cells == 40
    assert Domain((0, 0, 10, 10), region=shapely.box(2, 2, 6, 10), region_cells="centres").grid((10, 10)).n_cells == 32


def test_a_hole_without_cells_is_left_out():
    ring = shapely.box(0, 0, 10, 10) - shapely.box(2.5, 2.5, 7.5, 7.5)
    mask = Domain((0, 0, 10, 10), region=ring).grid((10, 10)).mask
    assert not mask[3:7, 3:7].any()
    assert mask.sum() == 100 - 16


def test_a_region_that_touches_the_bounds_in_one_place_has_a_cell():
    for corner in ((4, 4), (0, 0), (0, 4), (4, 0)):
        away = tuple(9 if side else -9 for side in corner)
        spike = shapely.Polygon([corner, (away[0], corner[1]), (corner[0], away[1])])
        grid = Domain((0, 0, 4, 4), region=spike).grid((4, 4))
        assert grid.n_cells >= 1
        assert count_cells(Points([corner]), grid).sum() == 1


def test_large_regions_are_followed_in_parts(monkeypatch):
    region = star(np.random.default_rng(3), 300)
    whole = Domain((0, 0, 1, 1), region=region).grid((200, 300)).mask
    monkeypatch.setattr(cells, "_PIECES", 50)
    monkeypatch.setattr(cells, "_BAND", 1000)
    axes = Domain((0, 0, 1, 1)).axes
    assert np.array_equal(cells.cells_touching(region, axes, (200, 300)), whole)


def test_centres_lose_a_city_on_the_coast_and_touching_cells_lose_nobody():
    """At 64 x 64 no cell of New Zealand has its centre on Auckland's isthmus."""
    region = sdp.datasets.new_zealand()
    inside = _inside(sdp.datasets.auckland_intersections(), region)
    lost = {}
    for rule in ("touching", "centres"):
        for side in (64, 256):
            grid = Domain.around(region, crs="EPSG:4326", region_cells=rule).grid((side, side))
            lost[rule, side] = 1 - count_cells(inside, grid).sum() / inside._x.size
    assert lost["touching", 64] == lost["touching", 256] == 0
    assert lost["centres", 64] > 0.9
    assert lost["centres", 256] > 0.05


def test_places_spread_over_a_country_are_all_kept():
    region = sdp.datasets.new_zealand()
    places = np.random.default_rng(2).uniform(region.bounds[:2], region.bounds[2:], (20_000, 2))
    places = places[shapely.contains_xy(region, places[:, 0], places[:, 1])]
    for side in (64, 128):
        assert count_cells(Points(places), Domain.around(region).grid((side, side))).sum() == len(places)
        centres = Domain.around(region, region_cells="centres").grid((side, side))
        assert count_cells(Points(places), centres).sum() < len(places)


def _inside(points, region):
    chosen = shapely.contains_xy(region, points._x, points._y)
    return Points(points._x[chosen], points._y[chosen], crs=points.crs)
