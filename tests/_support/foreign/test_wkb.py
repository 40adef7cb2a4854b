"""Geometries as bytes: flat polygons and collections of them pass, everything else is refused without being opened."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from spatialdp._support.foreign.wkb import LONGEST_POINT, is_polygonal, point_coordinates

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
def test_other_geometries_are_not_polygonal(geometry):
    assert not is_polygonal(shapely.to_wkb(geometry, include_srid=True))


def test_the_other_byte_order_and_text_are_not_polygonal():
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
    inner = shapely.to_wkb(point, output_dimension=4, flavor="extended", include_srid=True)
    multi = struct.pack("<BIII", 1, 0xE0000004, 4326, 1) + inner
    assert len(multi) == LONGEST_POINT
    assert coordinates([multi, inner]) == [(1, 2)] * 2


# --- points ----------------------------------------------------------------------------------------


def coordinates(values):
    data = np.frombuffer(b"".join(values), dtype=np.uint8)
    lengths = np.array([len(value) for value in values], dtype=np.int64)
    x, y = point_coordinates(data, np.cumsum(lengths) - lengths, lengths)
    return list(zip(x.tolist(), y.tolist(), strict=True))


POINTS = [
    shapely.from_wkt(text) for text in ("POINT (1 2)", "POINT Z (1 2 3)", "POINT M (1 2 3)", "POINT ZM (1 2 3 4)")
]


@pytest.mark.parametrize("flavor", ["iso", "extended"])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("point", POINTS, ids=str)
def test_points_in_every_form_of_wkb_are_read(point, order, flavor):
    plain = shapely.to_wkb(point, output_dimension=4, flavor=flavor, byte_order=order)
    assert coordinates([plain]) == [(1, 2)]
    if flavor == "extended":
        known = shapely.set_srid(point, 2154)
        marked = shapely.to_wkb(known, output_dimension=4, flavor=flavor, byte_order=order, include_srid=True)
        assert len(marked) == len(plain) + 4
        assert coordinates([plain, marked, plain]) == [(1, 2)] * 3


@pytest.mark.parametrize("flavor", ["iso", "extended"])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("point", POINTS, ids=str)
def test_a_multi_point_of_one_part_is_that_part(point, order, flavor):
    form = {"output_dimension": 4, "flavor": flavor, "byte_order": order}
    single = shapely.to_wkb(shapely.multipoints([point]), **form)
    extended = {**form, "flavor": "extended"}
    marked = shapely.to_wkb(shapely.set_srid(shapely.multipoints([point]), 2154), include_srid=True, **extended)
    plain = shapely.to_wkb(point, **form)
    assert coordinates([plain, single, marked, plain]) == [(1, 2)] * 4
    odd = [single[:-1], single + b"\0", single + plain, shapely.to_wkb(shapely.multipoints([point, point]), **form)]
    odd += [single[:cut] for cut in range(len(single))]
    assert np.isnan(coordinates(odd)).all()


def test_multi_points_of_no_part_or_of_something_else_are_not_points():
    point = shapely.to_wkb(shapely.Point(1, 2))
    for count, part in ((0, b""), (0, point), (2, point), (2**32 - 1, point), (1, bytes(21)), (1, b"\2" + point[1:])):
        assert np.isnan(coordinates([struct.pack("<BII", 1, 4, count) + part])).all()
    nested = struct.pack("<BII", 1, 4, 1) * 2 + point
    collected = struct.pack("<BII", 1, 7, 1) + point
    assert np.isnan(coordinates([nested, collected, shapely.to_wkb(shapely.MultiPoint())])).all()


@pytest.mark.parametrize("flags", [0, 0x80000000, 0x40000000, 0x20000000, 0xE0000000])
@pytest.mark.parametrize("kind", [0, *range(2, 18), 1008, 2009, 3010, 1011, 4001, 5001, 0x10000001])
def test_other_geometries_are_not_points(kind, flags):
    for order, sign in ((1, "<"), (0, ">")):
        head = struct.pack(f"{sign}BI", order, kind | flags)
        for body in (bytes(16), struct.pack(f"{sign}I", 1) + bytes(16), bytes(24), bytes(32), bytes(36)):
            assert np.isnan(coordinates([head + body])).all()


def test_bytes_too_few_or_too_many_are_no_point():
    whole = shapely.to_wkb(shapely.Point(1, 2))
    odd = [
        *(whole[:end] for end in range(len(whole))),
        whole + b"\0",
        whole + bytes(8),
        b"\2" + whole[1:],
        b"\xff" * 21,
    ]
    read = coordinates([whole, *odd, whole])
    assert read[0] == read[-1] == (1, 2)
    assert np.isnan(read[1:-1]).all()
    assert np.isnan(coordinates([shapely.to_wkb(shapely.Point())])).all()


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_geos_agrees_wherever_it_reads_a_point(values):
    for value, place in zip(values, coordinates(values) if values else [], strict=True):
        geometry = None if len(value) < 5 or value[1] > 7 else shapely.from_wkb(value, on_invalid="ignore")
        if not np.isnan(place).any():
            assert geometry is not None
            geometry = geometry.geoms[0] if geometry.geom_type == "MultiPoint" else geometry
            assert (geometry.x, geometry.y) == place
