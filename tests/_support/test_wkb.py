"""Geometries as bytes: flat polygons and collections of them pass, everything else is refused without being opened."""

from __future__ import annotations

import struct

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from spatialdp._support.wkb import LONGEST_POINT, is_polygonal

SQUARE = shapely.box(0, 0, 1, 1)
RING = shapely.box(0, 0, 3, 3).difference(shapely.box(1, 1, 2, 2))


@pytest.mark.parametrize(
    "geometry",
    [
        SQUARE,
        RING,
        shapely.Polygon(),
        shapely.MultiPolygon(),
        shapely.MultiPolygon([SQUARE]),
        shapely.union_all([RING]),
    ],
    ids=str,
)
def test_polygons_as_shapely_writes_them_pass(geometry):
    assert is_polygonal(shapely.to_wkb(geometry))


@pytest.mark.parametrize(
    "geometry",
    [
        shapely.Point(0, 0),
        shapely.LineString([(0, 0), (1, 1)]),
        shapely.MultiPoint([(0, 0)]),
        shapely.GeometryCollection([SQUARE]),
        shapely.force_3d(SQUARE),
        shapely.set_srid(SQUARE, 4326),
    ],
    ids=str,
)
def test_other_geometries_do_not(geometry):
    assert not is_polygonal(shapely.to_wkb(geometry, include_srid=True))


def test_the_other_byte_order_and_text_do_not():
    assert not is_polygonal(shapely.to_wkb(SQUARE, byte_order=0))
    assert not is_polygonal(shapely.to_wkt(SQUARE).encode())


@pytest.mark.parametrize("geometry", [SQUARE, RING, shapely.MultiPolygon([SQUARE, shapely.box(5, 5, 6, 6)])], ids=str)
def test_bytes_too_few_or_too_many_are_noticed(geometry):
    whole = shapely.to_wkb(geometry)
    assert not any(is_polygonal(whole[:end]) for end in range(len(whole)))
    assert not is_polygonal(whole + b"\0")


def test_collections_within_collections_are_refused_however_deep():
    deep = struct.pack("<BII", 1, 6, 1) * 100_000 + shapely.to_wkb(SQUARE)
    assert not is_polygonal(deep)


@given(st.binary(max_size=200))
def test_any_bytes_get_an_answer(data):
    assert is_polygonal(data) in (True, False)


def test_the_longest_point_has_four_coordinates_and_an_srid():
    point = shapely.set_srid(shapely.from_wkt("POINT ZM (1 2 3 4)"), 4326)
    assert len(shapely.to_wkb(point, output_dimension=4, flavor="extended", include_srid=True)) == LONGEST_POINT
