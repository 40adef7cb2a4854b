"""Domains, grids and regions: what is accepted, what is refused, which cells belong."""

from __future__ import annotations

import math

import geopandas
import numpy as np
import pytest
import shapely

from spatialdp import Domain, Points
from spatialdp.errors import CRSMismatchError, DomainError, ParameterError
from spatialdp.records.counting import count_cells
from spatialdp.space.domain import LARGEST_GRID, most_cells


@pytest.mark.parametrize(
    "bounds",
    [
        (0, 0, 0, 1),
        (1, 0, 0, 1),
        (170, -10, -170, 10),
        (0, 0, math.nan, 1),
        (0, 0, math.inf, 1),
        (-1e308, 0, 1e308, 1),
        (0, 0, 1e70, 1),
        (0, 0, 1e-70, 1e-70),
        (0, 0, 1e-300, 1),
        (0, 0, 1),
        (0, 0, 10**400, 1),
        "abcd",
        "0123",
        None,
    ],
)
def test_bounds_that_are_no_rectangle_are_refused(bounds):
    with pytest.raises(DomainError, match="bounds"):
        Domain(bounds)


def test_antimeridian_error_says_what_to_do():
    with pytest.raises(DomainError, match="antimeridian"):
        Domain((170, -10, -170, 10))


@pytest.mark.parametrize("shape", [(0, 1), (1, -1), (1.5, 2), (True, 2), (2**15, 2**15), "ab", (1, 2, 3)])
def test_shapes_that_make_no_grid_are_refused(shape):
    with pytest.raises(ParameterError, match="shape"):
        Domain((0, 0, 1, 1)).grid(shape)


def test_grid_by_cell_size():
    domain = Domain((0, 0, 20, 10))
    assert domain.grid(cell_size=0.1).shape == (200, 100)
    assert domain.grid(cell_size=(4, 5)).shape == (5, 2)
    with pytest.raises(DomainError, match="fitted"):
        domain.grid(cell_size=3)
    assert domain.fitted(3.0).bounds == (0, 0, 21, 12)
    assert domain.fitted(3.0).grid(cell_size=3.0).shape == (7, 4)
    assert domain.fitted(100.0).bounds == (0, 0, 100, 100)
    assert Domain((0, 0, 0.3, 0.7)).fitted(0.1).grid(cell_size=0.1).shape == (3, 7)  # no column for a rounding error
    with pytest.raises(DomainError, match="not both"):
        domain.grid((2, 2), cell_size=1)
    with pytest.raises(DomainError, match="either"):
        domain.grid()
    for bad in (0, -1, math.nan, math.inf):
        with pytest.raises(ParameterError, match="positive"):
            domain.grid(cell_size=bad)


class TestRegion:
    triangle = shapely.Polygon([(0, 0), (4, 0), (0, 4)])

    def test_cells_belong_if_they_touch(self):
        grid = Domain((0, 0, 4, 4), region=self.triangle).grid((4, 4))
        places = [[0.5, 0.5], [3.5, 3.5], [3.4, 0.2], [2, 2]]  # the last one lies on the border
        assert grid.n_cells == 13
        assert count_cells(Points(places), grid).sum() == 3

    def test_cells_may_belong_by_their_centres(self):
        grid = Domain((0, 0, 4, 4), region=self.triangle, region_cells="centres").grid((4, 4))
        expected = [[shapely.contains_xy(self.triangle, x + 0.5, y + 0.5) for x in range(4)] for y in range(4)]
        assert np.array_equal(grid.mask, expected)
        assert grid.n_cells == np.sum(expected) == 6

    def test_fitted_keeps_the_rule(self):
        by_centres = Domain((0, 0, 4, 4), region=self.triangle, region_cells="centres").fitted(3.0)
        assert by_centres.bounds == (0, 0, 3, 3)
        assert by_centres.region_cells == "centres"
        with pytest.raises(DomainError, match="too large"):
            by_centres.fitted(100.0)
        assert Domain((0, 0, 4, 4), region=self.triangle).fitted(3.0).bounds == (0, 0, 6, 6)

    def test_the_rule_is_part_of_the_domain(self):
        touching, centres = (Domain.around(self.triangle, region_cells=rule) for rule in ("touching", "CENTRES"))
        assert touching == Domain.around(self.triangle)
        assert touching != centres
        assert hash(touching) != hash(centres)
        assert touching.grid((4, 4)).n_cells != centres.grid((4, 4)).n_cells
        assert touching.region_raster.sum() > centres.region_raster.sum()
        with pytest.raises(DomainError, match="no region"):
            Domain((0, 0, 1, 1), region_cells="centres")
        with pytest.raises(ParameterError, match="'touching', 'centres'"):
            Domain.around(self.triangle, region_cells="corners")

    def test_records_in_cells_outside_count_nowhere(self):
        grid = Domain((0, 0, 4, 4), region=self.triangle, region_cells="centres").grid((4, 4))
        counts = count_cells(Points([[0.5, 0.5], [3.5, 3.5], [3.4, 0.2]]), grid)
        assert counts.sum() == 1
        assert not counts[~grid.mask].any()

    def test_geodataframes_are_merged_and_their_crs_checked(self):
        halves = geopandas.GeoDataFrame(geometry=[shapely.box(0, 0, 1, 2), shapely.box(1, 0, 2, 2)], crs="EPSG:4326")
        domain = Domain.around(halves, crs="EPSG:4326")
        assert domain.bounds == (0, 0, 2, 2)
        assert Domain.around(halves) == domain
        with pytest.raises(DomainError, match="set_geometry"):
            Domain.around(geopandas.GeoDataFrame({"a": [1]}))
        assert Domain((0, 0, 2, 2), "EPSG:4326", halves.geometry).grid((2, 2)).n_cells == 4
        with pytest.raises(CRSMismatchError, match="set_crs"):
            Domain((0, 0, 2, 2), "EPSG:4326", halves.set_crs(None, allow_override=True))
        with pytest.raises(CRSMismatchError, match="has none"):
            Domain((0, 0, 2, 2), region=halves)

    def test_regions_in_another_crs_are_reprojected(self):
        """A parallel is curved in an equal-area projection: its middle lies further south than its ends."""
        states = geopandas.GeoSeries([shapely.box(-120, 30, -70, 45)], crs="EPSG:4326")
        domain = Domain.around(states, crs="EPSG:5070")
        assert domain.crs == "EPSG:5070"
        assert shapely.get_num_coordinates(domain.region) > 100
        middle = states.set_axis([0]).intersection(shapely.box(-96, 44.9, -95, 45)).to_crs("EPSG:5070")[0].centroid
        assert domain.region.buffer(1e4).contains(middle)
        assert Domain(domain.bounds, "EPSG:5070", states) == domain
        back = Domain((-130, 20, -60, 50), "EPSG:4326", geopandas.GeoSeries([domain.region], crs="EPSG:5070"))
        assert back.region.bounds == pytest.approx((-120, 30, -70, 45), abs=1e-3)

    def test_regions_that_are_no_area_are_refused(self):
        for bad in (shapely.Point(1, 1), shapely.Polygon(), "box", 3):
            with pytest.raises(DomainError, match="region"):
                Domain((0, 0, 4, 4), region=bad)
        bow_tie = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
        with pytest.raises(DomainError, match="make_valid"):
            Domain((0, 0, 4, 4), region=bow_tie)
        with pytest.raises(DomainError, match="outside the bounds"):
            Domain((10, 10, 14, 14), region=self.triangle)


@pytest.mark.parametrize(
    "bad", [(0, 0, 1), [(0, 0, 1)], (1, 0, 0, 1), (0, math.nan, 1, 1), np.zeros((2, 2, 4)), shapely.box(0, 0, 1, 1)]
)
def test_boxes_that_are_no_boxes_are_refused(bad):
    with pytest.raises(ParameterError, match="box"):
        Domain((0, 0, 1, 1)).boxes(bad)


def test_grids_may_be_sparse_but_not_empty():
    """Small grids and those of islands in an ocean keep the limit."""
    assert most_cells(0) == most_cells(2**14) == 2**22
    assert most_cells(2**20) == LARGEST_GRID
    for side in (2048, 4096, 16384):
        assert side * side <= most_cells(side * side // 200)
