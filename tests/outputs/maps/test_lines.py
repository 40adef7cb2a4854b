"""Public lines over a map: read, reprojected, simplified and cut. Whole pictures are tested in test_decorations.py."""

from __future__ import annotations

import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, FileFormatError, ParameterError
from spatialdp.outputs.maps.lines import boundary_shapes, cut_lines

DOMAIN = sdp.Domain((0, 0, 8, 6), crs="EPSG:4326")


def test_boundaries_come_in_the_domains_crs(tmp_path):
    square = geopandas.GeoDataFrame(geometry=[shapely.box(1, 1, 2, 2), None], crs="EPSG:4326")
    square.to_crs("EPSG:3857").to_file(tmp_path / "square.gpkg")
    for given in (square, square.geometry, square.geometry[0], square.to_crs(3857), tmp_path / "square.gpkg"):
        (shape,) = boundary_shapes(given, DOMAIN)
        assert shape.bounds == pytest.approx((1, 1, 2, 2), abs=1e-6)


def test_boundaries_of_the_whole_world_are_drawn_on_a_local_map():
    """Parts far away have no place in a local CRS; they are left out. Edges are curves where the CRS bends them."""
    domain = sdp.Domain((200_000, 5_000_000, 800_000, 5_600_000), crs="EPSG:32632")
    world = geopandas.GeoSeries([shapely.box(-180, -90, 180, 48), shapely.box(100, -80, 170, 80)], crs="EPSG:4326")
    lines = cut_lines(boundary_shapes(world, domain), domain, tolerance=1)
    (line,) = lines
    assert np.isfinite(line).all()
    assert len(line) > 20  # the parallel of 48 degrees is an arc
    assert np.ptp(line[:, 0]) == pytest.approx(600_000)
    assert 5_300_000 < line[:, 1].min() < line[:, 1].max() < 5_340_000


def test_boundaries_far_from_the_domain_are_no_lines():
    far = geopandas.GeoSeries([shapely.box(100, -80, 170, 80)], crs="EPSG:4326")
    domain = sdp.Domain((200_000, 5_000_000, 800_000, 5_600_000), crs="EPSG:32632")
    assert cut_lines(boundary_shapes(far, domain), domain, tolerance=1) == []


@pytest.mark.parametrize("wrong", [shapely.Point(1, 1), [], "nowhere.gpkg", 5])
def test_what_is_no_polygon_or_line_is_refused(wrong):
    with pytest.raises((ParameterError, FileFormatError), match=r"polygons or lines|cannot be"):
        boundary_shapes(wrong, DOMAIN)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:3857"])
def test_coordinates_that_are_no_numbers_are_refused(number, crs):
    with np.errstate(invalid="ignore"):
        shapes = geopandas.GeoSeries([shapely.box(1, 1, 2, 2), shapely.Polygon([(0, 0), (1, number), (1, 1)])], crs=crs)
    with pytest.raises(ParameterError, match="not finite"):
        boundary_shapes(shapes, DOMAIN)


def test_boundaries_without_crs_are_refused_where_the_domain_has_one():
    with pytest.raises(CRSMismatchError, match="boundaries have none"):
        boundary_shapes(geopandas.GeoSeries([shapely.box(1, 1, 2, 2)]), DOMAIN)


def test_lines_are_cut_to_the_domain_and_its_margin():
    across = np.array([shapely.LineString([(-5, 3), (20, 3)])])
    assert cut_lines(across, DOMAIN, tolerance=0.01)[0].tolist() == [[0, 3], [8, 3]]
    assert cut_lines(across, DOMAIN, tolerance=0.01, margin=1)[0].tolist() == [[-1, 3], [9, 3]]
    assert cut_lines(np.array([shapely.box(20, 20, 21, 21)]), DOMAIN, tolerance=0.01) == []


def test_edges_of_the_domain_are_no_lines():
    """A polygon that is larger than the domain has no outline in it, and a part of one has no edge along the cut."""
    assert cut_lines(np.array([shapely.box(-5, -5, 20, 20)]), DOMAIN, tolerance=0.01) == []
    (line,) = cut_lines(np.array([shapely.box(-5, -5, 4, 20)]), DOMAIN, tolerance=0.01)
    assert set(line[:, 0]) == {4.0}


def test_collections_and_holes_are_outlined():
    ring = shapely.box(1, 1, 7, 5) - shapely.box(2, 2, 3, 3)
    shapes = np.array([shapely.GeometryCollection([ring, shapely.LineString([(0, 0), (8, 6)])])])
    lines = cut_lines(shapes, DOMAIN, tolerance=0.01)
    assert sorted(len(line) for line in lines) == [2, 5, 5]


def test_details_below_the_tolerance_are_left_out():
    wavy = shapely.LineString(np.column_stack([np.linspace(0, 8, 4000), 3 + 0.001 * np.sin(np.arange(4000))]))
    (line,) = cut_lines(np.array([wavy]), DOMAIN, tolerance=0.01)
    assert len(line) == 2
