"""Persons are the texts of their identifiers, whatever column they come from."""

from __future__ import annotations

import datetime
import enum
import uuid
from collections import deque
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.errors import PointsError
from spatialdp.records.persons.identifiers import joined, persons_of, texts_of

ONE = uuid.UUID("0123ABCD-89ab-cdef-0123-456789ABCDEF")


def texts(values):
    """The persons as Python texts; also checks that there is one entry for each record, of one of two types."""
    persons = persons_of(values)
    assert isinstance(persons, pa.Array)
    assert persons.type in (pa.int64(), pa.large_string())
    assert len(persons) == len(values)
    return texts_of(persons).to_pylist()


NUMBERS = [
    np.array([1, -2, 3]),
    np.array([1, -2, 3], dtype=np.int8),
    np.array([1, -2, 3], dtype=">i4"),
    np.array([1, 0, -2, 0, 3, 0])[::2],
    np.array([1, -2, 3], dtype=object),
    np.array(["1", "-2", "3"]),
    [1, -2, 3],
    ["1", -2, "3"],
    (1, -2, 3),
    deque([1, -2, 3]),
    pd.Series([1, -2, 3], index=[7, 7, 7]),
    pd.Series([1, -2, 3], dtype="int8"),
    pd.Series([1, -2, 3], dtype="Int64"),
    pd.Series([1, -2, 3], dtype="Float64"),
    pd.Series([1, -2, 3], dtype="category"),
    pd.Series([1.0, -2.0, 3.0]),
    pd.Series([1.0, -2.0, 3.0], dtype="category"),
    pd.Series([1.0, -2.0, 3.0], dtype=object),
    pd.Series([1, -2, 3], dtype=complex),
    pd.Series(["1", "-2", "3"]),
    pd.Series(["1", "-2", "3"], dtype=object),
    pd.Series(["1", "-2", "3"], dtype="string[python]"),
    pd.Series(["1", "-2", "3"], dtype="string[pyarrow]"),
    pd.Series([1, -2, 3], dtype="int32[pyarrow]"),
    pd.Series([1, -2, 3], dtype="double[pyarrow]"),
    pd.Series([1, -2, 3], dtype=pd.SparseDtype(int)),
    pd.Series([1, -2, 3]).array,
    pd.Index([1, -2, 3]),
    pd.Categorical([1, -2, 3]),
    pa.array([1, -2, 3]),
    pa.array([0, 1, -2, 3, 4])[1:4],
    pa.array([1, -2, 3], pa.int16()),
    pa.chunked_array([[1], [], [-2, 3]]),
    pa.array(["1", "-2", "3"]),
    pa.array(["1", "-2", "3"], pa.large_string()),
    pa.array(["1", "-2", "3"], pa.string_view()),
    pa.array(["1", "-2", "3"]).dictionary_encode(),
    pa.chunked_array([pa.array(["1"]).dictionary_encode(), pa.array(["-2", "3"]).dictionary_encode()]),
    pa.array([1, -2, 3]).dictionary_encode(),
    pa.array([Decimal(1), Decimal(-2), Decimal(3)], pa.decimal128(20, 0)),
    pa.array([Decimal(1), Decimal(-2), Decimal(3)], pa.decimal128(20, 7)),
    pa.RunEndEncodedArray.from_arrays([1, 2, 3], [1, -2, 3]),
]


@pytest.mark.parametrize("values", NUMBERS, ids=lambda values: f"{type(values).__name__}")
def test_the_same_persons_in_any_form_are_the_same(values):
    assert texts(values) == ["1", "-2", "3"]


MISSING = [
    [1, None, 3],
    [1, np.nan, "3"],
    [1, pd.NA, 3],
    [1, pd.NaT, 3],
    np.ma.MaskedArray([1, 2, 3], [False, True, False]),
    np.ma.MaskedArray(["1", "2", "3"], [False, True, False]),
    np.array([1, None, 3], dtype=object),
    pd.Series([1, None, 3]),
    pd.Series([1, None, 3], dtype="Int64"),
    pd.Series([1, None, 3], dtype="Float64"),
    pd.Series([1, None, 3], dtype="category"),
    pd.Series(["1", None, "3"], dtype="category"),
    pd.Series(["1", None, "3"]),
    pd.Series(["1", None, "3"], dtype=object),
    pd.Series(["1", None, "3"], dtype="string[python]"),
    pd.Series([1, None, 3], dtype="int64[pyarrow]"),
    pd.Series([1, None, 3], dtype="double[pyarrow]"),
    pa.array([1, None, 3]),
    pa.array(["1", None, "3"]).dictionary_encode(),
    pa.array([1, None, 3], pa.uint64()),
]


@pytest.mark.parametrize("values", MISSING, ids=lambda values: f"{type(values).__name__}")
def test_a_missing_value_is_a_record_without_a_person(values):
    assert texts(values) == ["1", None, "3"]


class Colour(enum.IntEnum):
    RED = 7


class Loud(str):
    def __str__(self):
        raise ValueError(repr(self))


ODD = [
    [4],
    (),
    {},
    b"ann",
    2.5,
    float("inf"),
    float(2**53),
    np.float32(0.5),
    True,
    np.True_,
    1j,
    "half \ud800",
    Decimal("1.5"),
    Decimal("NaN"),
    Decimal("1e400"),
    datetime.date(2024, 1, 1),
    np.datetime64("2024-01-01"),
    object(),
    np.array([1, 2]),
    np.array(5),
    pd.Series([1, 2]),
    None,
    np.nan,
    pd.NA,
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("others", [[1, 2], ["ann", ""], [2**70, -1], [ONE, 5.0]], ids=repr)
def test_an_odd_record_counts_nowhere_and_changes_nothing_for_the_others(odd, others):
    alone = texts(others)
    values = np.fromiter([*others, odd], dtype=object, count=len(others) + 1)
    assert texts([*others, odd]) == [*alone, None]
    assert texts(values) == [*alone, None]
    assert texts(pd.Series(values, dtype=object)) == [*alone, None]


def test_text_that_arrow_cannot_hold_counts_nowhere_in_pandas_and_numpy():
    assert texts(pd.Series(["ann", "half \ud800"], dtype="string[python]")) == ["ann", None]
    assert texts(np.array(["ann", "half \ud800"])) == ["ann", None]


@pytest.mark.parametrize("odd", [2.5, 3j, None, "x", 2**63, 2**70, True, pd.Timestamp(0)], ids=repr)
@pytest.mark.parametrize("others", [[1, 2], [1.0, 2.0]])
def test_the_types_that_pandas_chooses_by_the_records_change_nothing(odd, others):
    assert texts(pd.Series([*others, odd]))[:2] == ["1", "2"]
    assert texts(pd.DataFrame({"person": [*others, odd]})["person"])[:2] == ["1", "2"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        (" ann", " ann"),
        ("Zoë", "Zoë"),
        ("05", "05"),
        (-0.0, "0"),
        (2**63, str(2**63)),
        (-(2**63), str(-(2**63))),
        (2**64, str(2**64)),
        (-(10**30), "-1" + "0" * 30),
        (10**5000, "1" + "0" * 5000),
        (ONE, "0123abcd-89ab-cdef-0123-456789abcdef"),
        (np.uint64(2**64 - 1), str(2**64 - 1)),
        (np.str_("ann"), "ann"),
        (Loud("ann"), "ann"),
        (Colour.RED, "7"),
        (Decimal("5.00"), "5"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_identifier_has_its_text(value, text):
    assert texts([value]) == [text]
    assert texts([value, "other", None]) == [text, "other", None]


@pytest.mark.parametrize(
    "values",
    [np.array([2**63, 5], dtype=np.uint64), pa.array([2**63, 5], pa.uint64()), pd.Series([2**63, 5], dtype="UInt64")],
)
def test_large_unsigned_numbers_are_decimal_text(values):
    assert texts(values) == [str(2**63), "5"]


def test_uuids_of_arrow_are_those_of_python():
    column = pa.array([ONE.bytes, None, bytes(16), bytes(range(240, 256))], pa.binary(16))
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), column)
    expected = [str(ONE), None, str(uuid.UUID(int=0)), str(uuid.UUID(bytes=bytes(range(240, 256))))]
    assert texts(uuids) == expected
    assert texts(uuids[1:]) == expected[1:]
    assert texts(pa.chunked_array([uuids[:1], uuids[1:]])) == expected
    assert texts(uuids[:0]) == []


class Foreign:
    """A column of another library, which offers one way into Arrow."""

    def __init__(self, column, way):
        self._column = column
        setattr(type(self), way, lambda self, requested_schema=None: getattr(self._column, way)(requested_schema))

    def __len__(self):
        return len(self._column)


def test_columns_of_other_libraries_come_in_through_arrow():
    array = type("ForeignArray", (Foreign,), {})(pa.array([1, None, 3]), "__arrow_c_array__")
    chunks = type("ForeignChunks", (Foreign,), {})(pa.chunked_array([[1, None], [3]]), "__arrow_c_stream__")
    assert texts(array) == texts(chunks) == ["1", None, "3"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.array([1.0]), "float64"),
        (np.array([True]), "bool"),
        (np.array([b"ann"]), "bytes_"),
        (np.array(["2024-01-01"], dtype="M8[D]"), "datetime64"),
        (np.zeros(1, dtype=[("a", int)]), "void"),
        (np.array([1j]), "complex128"),
        (np.ma.MaskedArray([1.0], [True]), "float64"),
        (pa.array([1.0]), "double"),
        (pa.array([True]), "bool"),
        (pa.array([b"0123456789abcdef"], pa.binary(16)), r"fixed_size_binary\[16\]"),
        (pa.array([1.0]).dictionary_encode(), "dictionary"),
        (pa.chunked_array([], pa.float32()), "float"),
        ({"ann"}, "set"),
        (5, "int"),
        (iter([1]), "list_iterator"),
    ],
)
def test_other_declared_types_are_refused_in_three_parts(values, kind):
    with pytest.raises(PointsError, match=rf"^person is of type {kind}.*; persons must be .* Convert it"):
        persons_of(values)
    with pytest.raises(PointsError, match=r"^column 'id' of trips is of type"):
        persons_of(values, "column 'id' of trips")


@pytest.mark.parametrize("values", [np.array([[1, 2]]), np.array(5), pd.DataFrame({"a": [1]}), np.array([["a"]])])
def test_other_shapes_are_refused(values):
    with pytest.raises(PointsError, match="not one-dimensional; give one identifier for each record"):
        persons_of(values)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([True, False]),
        pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"])),
        pd.Series(pd.period_range("2024-01", periods=2)),
        pd.Series([True, None], dtype="boolean"),
        pd.Series([b"a", b"b"]),
        pa.nulls(2),
        pd.Series([None, None]),
    ],
    ids=lambda values: str(getattr(values, "dtype", None)),
)
def test_no_column_of_pandas_is_refused_nor_one_of_nulls(values):
    assert texts(values) == [None, None]


@pytest.mark.parametrize("values", [[], np.array([], dtype=object), pd.Series([]), pa.chunked_array([], pa.string())])
def test_no_records_are_no_persons(values):
    assert texts(values) == []


def test_parts_of_two_types_are_joined_as_texts():
    parts = [persons_of([1, 2]), persons_of(["1", None]), persons_of([None, 7])]
    assert joined(parts).to_pylist() == ["1", "2", "1", None, None, "7"]
    assert joined(parts[:1]).type == pa.int64()
    assert len(joined([])) == 0


elements = st.one_of(st.integers(), st.text(), st.floats(), st.none(), st.uuids(), st.binary(), st.lists(st.integers()))


@given(st.lists(elements), st.lists(elements))
def test_each_element_has_the_same_person_in_any_company(some, others):
    assert texts(some) + texts(others) == texts([*some, *others])
    assert texts(np.fromiter(some, dtype=object, count=len(some))) == texts(some)
    assert texts(pd.Series(some, dtype=object)) == texts(some)
