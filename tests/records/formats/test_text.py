"""Numerals and points in text: what is one is read exactly, all else is NaN, whatever bytes it has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.records.formats.text import numbers_of, points_of_wkt, slices


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numerals_of_doubles_are_read_exactly(number):
    assert numbers_of(pa.array([repr(number)]))[0] == number
    x, y = points_of_wkt(pa.array([f"POINT ({number!r} {-number!r})"]))
    assert (x[0], y[0]) == (number, -number)


@pytest.mark.parametrize(
    "text",
    ["", " ", "nan", "inf", "0x1", "1_0", "1e", "e1", ".", "+", "1 2", "1,5", "½", "０", "1\x00", "True", "1" * 5000],
)
def test_what_is_no_numeral_is_nan(text):
    assert np.isnan(numbers_of(pa.array([text, None]))).all()


def test_numerals_that_no_double_holds_are_infinite_or_zero():
    assert numbers_of(pa.array(["1e400", "-" + "7" * 400, "1e-400", "+1.5", "\t1.\n", ".5"])).tolist() == [
        np.inf,
        -np.inf,
        0,
        1.5,
        1,
        0.5,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "POINT(1 2)",
        " point ( 1 2 ) ",
        "POINT Z (1 2 3)",
        "POINTZ(1 2 3)",
        "POINT M (1 2 nan)",
        "POINT ZM (1 2 3 4)",
        "SRID=4326;POINT(1 2)",
        "POINT (1e0 +2.0)",
        "MULTIPOINT (1 2)",
        "MULTIPOINT ((1 2))",
        "SRID=4326;multipoint z( ( 1 2 3 ) ) ",
        "MULTIPOINT ZM (1 2 3 4)",
    ],
)
def test_points_in_wkt_are_read(text):
    assert [values.tolist() for values in points_of_wkt(pa.array([text]))] == [[1], [2]]


@pytest.mark.parametrize(
    "text",
    [
        "POINT EMPTY",
        "POINT (1)",
        "POINT (1,2)",
        "POINT (1 2 3 4 5)",
        "POINT (1 2) x",
        "MULTIPOINT (1 2, 3 4)",
        "MULTIPOINT ((1 2), (3 4))",
        "MULTIPOINT ((1 2), EMPTY)",
        "MULTIPOINT (((1 2)))",
        "MULTIPOINT ((1 2)",
        "MULTIPOINT EMPTY",
        "POINT ((1 2))",
        "POINT (x 2)",
        "POINT (1 2",
        "",
    ],
)
def test_what_is_no_point_is_nan(text):
    assert np.isnan(points_of_wkt(pa.array([text, None]))).all()


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5))
def test_any_bytes_get_an_answer(values):
    assert numbers_of(pa.array(values, pa.binary())).size == len(values)
    assert points_of_wkt(pa.array(values, pa.large_binary()))[0].size == len(values)


def test_text_that_is_not_utf8_is_a_record_like_any_other():
    column = pa.array([b"0.5", b"\xff0.5"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 2, column.buffers())
    assert numbers_of(text)[0] == 0.5


def test_slices_are_parts_in_order():
    data = np.frombuffer(b"abcdef", dtype=np.uint8)
    none = np.empty(0, dtype=np.int64)
    assert slices(data, none, none).to_pylist() == []
    assert slices(data, np.array([0, 2, 6]), np.array([2, 2, 6])).to_pylist() == [b"ab", b"", b""]
