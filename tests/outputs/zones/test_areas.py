"""Polygons of zones by level: leaves as they are, unions above, and the pixels that they cover."""

from __future__ import annotations

import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.outputs.zones.areas import ZoneAreas, depth_of, require_domain, unions
from tests.helpers.zone_releases import zones_of

LEVELS = ("all zones", "state", "county", "tract")


@pytest.mark.parametrize("level", LEVELS)
def test_zones_of_a_level_cover_everything_once(level):
    zones = zones_of()
    areas = ZoneAreas.of(zones, level)
    assert areas.level == level
    whole = shapely.union_all(zones.geometry)
    assert shapely.area(areas.geometry).sum() == pytest.approx(whole.area)
    assert shapely.union_all(areas.geometry).equals(whole)
    assert areas.sizes.sum() == pytest.approx(1.0)
    assert areas.square_kilometres.sum() == pytest.approx(ZoneAreas.of(zones, 0).square_kilometres[0])
    assert np.array_equal(areas.boxes, zones.domain.boxes(shapely.bounds(areas.geometry)))


def test_leaves_above_a_level_stand_for_themselves():
    zones = zones_of()
    areas = ZoneAreas.of(zones, "tract")
    assert zones.codes[areas.nodes].tolist() == ["C", "A1a", "A1b", "A1c", "A2a", "B1a", "B1b"]
    assert all(one.equals(other) for one, other in zip(areas.geometry, zones.geometry, strict=True))
    assert zones.codes[ZoneAreas.of(zones, "county").nodes].tolist() == ["C", "A1", "A2", "B1"]


@pytest.mark.parametrize("level", LEVELS)
def test_nodes_know_the_zone_that_they_lie_in(level):
    zones = zones_of()
    areas, shape = ZoneAreas.of(zones, level), zones.shape
    for node in range(shape.n_nodes):
        above = node
        while above >= 0 and above not in areas.nodes:
            above = shape.parent[above]
        assert areas.of_nodes[node] == (-1 if above < 0 else areas.nodes.tolist().index(above))


@pytest.mark.parametrize("level", LEVELS)
def test_pixels_are_located_as_records_are(level):
    zones = zones_of()
    areas = ZoneAreas.of(zones, level)
    numbers = areas.numbers((44, 4))
    assert numbers.shape == (4, 44)
    xmin, ymin, xmax, ymax = zones.domain.bounds
    x = xmin + (np.arange(44) + 0.5) / 44 * (xmax - xmin)
    y = ymin + (np.arange(4) + 0.5) / 4 * (ymax - ymin)
    places = shapely.points(*np.meshgrid(x, y))
    for number, area in enumerate(areas.geometry):
        assert np.array_equal(numbers == number, shapely.contains(area, places))


def test_a_pixel_in_no_zone_has_no_number():
    frame = geopandas.GeoDataFrame({"zone": ["a", "b"]}, geometry=[shapely.box(0, 0, 1, 3), shapely.box(2, 0, 3, 3)])
    assert ZoneAreas.of(sdp.Zones(frame, levels=["zone"]), "zone").numbers((3, 1)).tolist() == [[0, -1, 1]]


def test_rings_are_closed_lines_around_zones():
    rings = ZoneAreas.of(zones_of(), "state").rings()
    assert len(rings) == 3
    assert all(np.array_equal(ring[0], ring[-1]) for ring in rings)


def test_square_kilometres_are_those_of_the_ellipsoid():
    frame = geopandas.GeoDataFrame({"zone": ["a"]}, geometry=[shapely.box(0, 59, 2, 61)], crs="EPSG:4326")
    areas = ZoneAreas.of(sdp.Zones(frame, levels=["zone"]), "zone")
    assert areas.square_kilometres[0] == pytest.approx(24866, rel=1e-3)


def test_levels_are_found_by_name_or_number():
    zones = zones_of()
    assert [depth_of(zones, level) for level in ("county", 1, None)] == [2, 1, 3]
    with pytest.raises(ParameterError, match="the levels of these zones are"):
        depth_of(zones, "parish")
    with pytest.raises(ParameterError, match="level"):
        depth_of(zones, 4)


def test_codes_without_polygons_have_no_place():
    with pytest.raises(ReleaseError, match="codes without polygons"):
        require_domain(zones_of(geometry=False))


def test_groups_may_be_in_any_order():
    together = unions(shapely.box(np.arange(4), 0, np.arange(1, 5), 1), np.array([1, 0, 1, 0]), 2)
    assert [area.area for area in together] == [2.0, 2.0]
    assert together[0].geom_type == "MultiPolygon"
