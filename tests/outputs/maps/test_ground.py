"""Lengths and areas on the ground, against the geodesic ones."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from pyproj import CRS, Geod, Transformer

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.outputs.maps.ground import has_areas, metres_per_unit, square_kilometres
from spatialdp.space.lattice import LATTICE

DOMAINS = {
    "degrees": sdp.Domain((-10, 40, 20, 62), crs="EPSG:4326"),
    "world": sdp.Domain((-180, -90, 180, 90), crs="EPSG:4326"),
    "grads": sdp.Domain((-5, 48, 5, 56), crs="EPSG:4807"),  # a hundredth of a right angle
    "UTM": sdp.Domain((300_000, 5_000_000, 700_000, 5_200_000), crs="EPSG:32633"),
    "feet": sdp.Domain((2_100_000, 200_000, 2_300_000, 400_000), crs="EPSG:2274"),
    "Mercator": sdp.Domain((1_000_000, 8_300_000, 1_100_000, 8_450_000), crs="EPSG:3857"),
    "across the antimeridian": sdp.Domain((1_000_000, 4_700_000, 2_500_000, 6_200_000), crs="EPSG:2193"),
}


def geodesic(domain, box):
    """The area of a box with many corners, on the ellipsoid."""
    crs = CRS.from_user_input(domain.crs)
    outline = shapely.segmentize(shapely.box(*box), min(domain.size) / 200)
    degrees = Transformer.from_crs(crs, crs.geodetic_crs, always_xy=True)
    longitude, latitude = degrees.transform(*shapely.get_coordinates(outline).T)
    unit = np.degrees(crs.geodetic_crs.axis_info[0].unit_conversion_factor)
    ellipsoid = crs.geodetic_crs.get_geod()
    assert isinstance(ellipsoid, Geod)
    return abs(ellipsoid.polygon_area_perimeter(longitude * unit, latitude * unit)[0]) / 1e6


@pytest.mark.parametrize("name", DOMAINS)
def test_areas_are_those_on_the_ellipsoid(name):
    domain = DOMAINS[name]
    grid = domain.grid((7, 5))
    x, y, (column, row) = grid.x_edges, grid.y_edges, np.divmod(np.arange(35), 5)
    boxes = np.stack([x[column], y[row], x[column + 1], y[row + 1]], axis=1)
    expected = [geodesic(domain, box) for box in boxes]
    assert square_kilometres(domain, domain.boxes(boxes)) == pytest.approx(expected, rel=0.004)


def test_the_parts_add_up_to_the_whole():
    domain = DOMAINS["degrees"]
    half = LATTICE // 2
    whole, west, east = square_kilometres(
        domain, np.array([[0, 0, LATTICE, LATTICE], [0, 0, half, LATTICE], [half, 0, LATTICE, LATTICE]])
    )
    assert whole == pytest.approx(west + east)
    earth = DOMAINS["world"]
    assert square_kilometres(earth, np.array([[0, 0, LATTICE, LATTICE]])) == pytest.approx(510_065_622, rel=1e-3)


def test_no_areas_without_a_crs():
    domain = sdp.Domain((0, 0, 1, 1))
    assert not has_areas(domain)
    assert metres_per_unit(domain) is None
    with pytest.raises(ParameterError, match=r"per='km2' was given.*make the release with a CRS"):
        square_kilometres(domain, np.array([[0, 0, LATTICE, LATTICE]]))
