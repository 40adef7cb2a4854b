"""How are points read from FlatGeobuf? Its header says what it holds; each feature is a small table of offsets.

A feature is a buffer in which every value is reached by an offset. The offsets of many features are followed at once,
and one that leads out of its feature makes that feature count nowhere. Structure is the header (the CRS, the size of
the index) and where each feature begins and ends. The type of geometry in the header is not judged, because writers
gather it from the records; it says what a feature is that names no type of its own.

A person is a property in a column that the header lists: text byte by byte, or a whole number, also one in a column of
doubles, which geopandas makes of all whole numbers for one that is missing. Other columns are refused by their type.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Booleans, Integers
from spatialdp.errors import PointsError
from spatialdp.records.formats.base import (
    BATCH,
    Batch,
    Bytes,
    Coordinates,
    Selection,
    Source,
    Table,
    check_person_name,
    not_whole,
    without_columns,
    without_layers,
)
from spatialdp.records.formats.text import persons_of_doubles, persons_of_text
from spatialdp.records.persons.identifiers import persons_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_flatgeobuf"]

_MAGIC = b"fgb\x03fgb"
_START = 8  # bytes of magic
_NODE = 40  # bytes of a node of the index: four doubles and an offset
_POINTS = (1, 4)  # types: point and multi-point, which both have a list of coordinates alone
# Places of the fields that are needed, in the order of the schema.
_HEADER_TYPE, _HEADER_COLUMNS, _HEADER_COUNT, _HEADER_NODES, _HEADER_CRS = 2, 7, 8, 9, 10
_COLUMN_NAME, _COLUMN_TYPE = 0, 1
_CRS_ORGANISATION, _CRS_CODE, _CRS_WKT = 0, 1, 4
_FEATURE_GEOMETRY, _FEATURE_PROPERTIES, _FEATURE_COLUMNS = 0, 1, 2
_GEOMETRY_XY, _GEOMETRY_TYPE = 1, 6
_DEFAULT_NODES = 16
# Types of columns by their number: how numbers are stored. Text, JSON, dates and bytes have a length before them.
_NUMBERS = ("<i1", "<u1", "<u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
_NAMES = (
    *("Byte", "UByte", "Bool", "Short", "UShort", "Int", "UInt", "Long", "ULong", "Float", "Double"),
    *("String", "Json", "DateTime", "Binary"),
)
_WIDTHS = np.array([np.dtype(form).itemsize for form in _NUMBERS])
_STRING = _NAMES.index("String")
_NO_PERSONS = ("Bool", "Json", "DateTime", "Binary")


def open_flatgeobuf(source: Source, selection: Selection, stack: ExitStack) -> Table:  # noqa: ARG001 (openers have it)
    """Open a FlatGeobuf file."""
    without_columns(source, selection, "FlatGeobuf")
    without_layers(source, selection)
    data = source.bytes()
    if data[: len(_MAGIC)].tobytes() != _MAGIC or data.size < _START + 4:
        raise not_whole(source)
    size = int(data[_START : _START + 4].view("<u4")[0])
    if _START + 4 + size > data.size:
        raise not_whole(source)
    header = _Header(data[_START + 4 : _START + 4 + size].tobytes())
    kind = header.scalar(_HEADER_TYPE, "<B", 0)
    column = None if selection.person is None else _Column.of(source, header.columns(), selection.person)
    starts = _starts(source, data, _START + 4 + size, header)
    return Table(header.crs(), (_batch(data, part, kind, column) for part in starts))


class _Header:
    """The header's values; reading beyond its end raises, and so refuses the file."""

    def __init__(self, content: bytes, table: int | None = None) -> None:
        self._content = content
        self._table = struct.unpack_from("<I", content, 0)[0] if table is None else table

    def place(self, field: int) -> int:
        """Return where the value of a field is; 0 if it is left out."""
        vtable = self._table - struct.unpack_from("<i", self._content, self._table)[0]
        if 4 + 2 * field >= struct.unpack_from("<H", self._content, vtable)[0]:
            return 0
        offset: int = struct.unpack_from("<H", self._content, vtable + 4 + 2 * field)[0]
        return self._table + offset if offset else 0

    def scalar(self, field: int, form: str, default: int) -> int:
        place = self.place(field)
        return int(struct.unpack_from(form, self._content, place)[0]) if place else default

    def text(self, field: int) -> str | None:
        place = self.place(field)
        if not place:
            return None
        place += struct.unpack_from("<I", self._content, place)[0]
        length = struct.unpack_from("<I", self._content, place)[0]
        return self._content[place + 4 : place + 4 + length].decode("utf-8")

    def columns(self) -> list[tuple[str, int]]:
        """Return the name and the type of each column."""
        place = self.place(_HEADER_COLUMNS)
        if not place:
            return []
        place += struct.unpack_from("<I", self._content, place)[0]
        (count,) = struct.unpack_from("<I", self._content, place)
        tables = [place + 4 * number for number in range(1, count + 1)]
        tables = [table + struct.unpack_from("<I", self._content, table)[0] for table in tables]
        columns = [_Header(self._content, table) for table in tables]
        return [(str(column.text(_COLUMN_NAME)), column.scalar(_COLUMN_TYPE, "<B", 0)) for column in columns]

    def index(self) -> tuple[int, int]:
        """Return the numbers of nodes and of leaves of the index, a tree with the features as leaves; 0 without one."""
        count = self.scalar(_HEADER_COUNT, "<Q", 0)
        width = self.scalar(_HEADER_NODES, "<H", _DEFAULT_NODES)
        if not count or width < 2:
            return 0, 0
        level = -(-count // width)
        nodes = count + level  # even a single leaf has a root
        while level > 1:
            level = -(-level // width)
            nodes += level
        return nodes, count

    def crs(self) -> str | None:
        """Return the CRS as its number in a register, or as WKT; None if the header names none."""
        place = self.place(_HEADER_CRS)
        if not place:
            return None
        crs = _Header(self._content, place + struct.unpack_from("<I", self._content, place)[0])
        code = crs.scalar(_CRS_CODE, "<i", 0)
        return f"{crs.text(_CRS_ORGANISATION) or 'EPSG'}:{code}" if code else crs.text(_CRS_WKT) or None


def _starts(source: Source, data: Bytes, place: int, header: _Header) -> Iterator[Integers]:
    """Yield where features begin, many at a time: by the index behind the header, or else by each one's length.

    A file that is too short for its index is refused at once, and one that does not hold a feature when that is read.
    """
    nodes, leaves = header.index()
    first = place + nodes * _NODE
    if first > data.size:
        raise not_whole(source)
    if not leaves:
        return _chain(source, data, first)
    return _indexed(source, data, first, leaves)


def _indexed(source: Source, data: Bytes, first: int, leaves: int) -> Iterator[Integers]:
    index = data[first - leaves * _NODE : first].reshape(leaves, _NODE)
    for begin in range(0, leaves, BATCH):
        starts = first + np.ascontiguousarray(index[begin : begin + BATCH, 32:]).view("<i8")[:, 0]
        if ((starts < first) | (starts + 4 > data.size)).any() or (starts + 4 + _sizes(data, starts) > data.size).any():
            raise not_whole(source)
        yield starts


def _chain(source: Source, data: Bytes, at: int) -> Iterator[Integers]:
    """Yield where features begin in a file without an index: each behind the one before, a step for each."""
    content, starts = data.data, []
    length_at = struct.Struct("<I").unpack_from
    while at + 4 <= data.size:
        starts.append(at)
        at += 4 + length_at(content, at)[0]
        if at > data.size:
            break
        if len(starts) == BATCH:
            yield np.array(starts, dtype=np.int64)
            starts = []
    if at != data.size:
        raise not_whole(source)
    yield np.array(starts, dtype=np.int64)


def _sizes(data: Bytes, starts: Integers) -> Integers:
    sizes: Integers = data[starts[:, None] + np.arange(4)].view("<u4")[:, 0].astype(np.int64)
    return sizes


@dataclass(frozen=True)
class _Buffers:
    """Many features at once. Places are in the file, and 0 is a place that was not found."""

    data: Bytes
    starts: Integers
    stops: Integers

    def read(self, at: Integers, form: str) -> Integers:
        """Return the value at a place in each feature; 0 if the place is 0 or leads out of the feature."""
        width = np.dtype(form).itemsize
        inside = self.holds(at, width)
        values = np.zeros(at.size, dtype=np.int64)
        values[inside] = self.data[at[inside][:, None] + np.arange(width)].view(form)[:, 0]
        return values

    def holds(self, at: Integers, width: int | Integers) -> Booleans:
        return np.asarray((at >= self.starts) & (at + width <= self.stops))

    def follow(self, at: Integers) -> Integers:
        """Return the place that an offset leads to; 0 if there is none."""
        offset = self.read(at, "<u4")
        return np.where(offset > 0, at + offset, 0)

    def field(self, table: Integers, field: int) -> Integers:
        """Return the place of a field in a table; 0 if it is left out."""
        vtable = table - self.read(table, "<i4")
        present = self.read(vtable, "<u2") > 4 + 2 * field
        offset = np.where(present, self.read(vtable + 4 + 2 * field, "<u2"), 0)
        return np.where((table > 0) & (offset > 0), table + offset, 0)


def _batch(data: Bytes, starts: Integers, declared: int, column: _Column | None) -> Batch:
    buffers = _Buffers(data, starts + 4, starts + 4 + _sizes(data, starts))
    features = buffers.follow(starts + 4)
    return Batch(*_points(buffers, features, declared), None if column is None else column.persons(buffers, features))


def _points(buffers: _Buffers, features: Integers, declared: int) -> Coordinates:
    """Return the coordinates of features; NaN for one that is not one point. Without a type, it is of the declared."""
    geometry = buffers.follow(buffers.field(features, _FEATURE_GEOMETRY))
    kind = buffers.read(buffers.field(geometry, _GEOMETRY_TYPE), "<u1")
    vector = buffers.follow(buffers.field(geometry, _GEOMETRY_XY))
    point = np.isin(np.where(kind == 0, declared, kind), _POINTS)
    point &= (buffers.read(vector, "<u4") == 2) & buffers.holds(vector + 4, 16)  # its length, then two doubles
    xy = np.full((features.size, 2), np.nan)
    xy[point] = buffers.data[vector[point][:, None] + 4 + np.arange(16)].view("<f8")
    return xy[:, 0], xy[:, 1]


# --- properties ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """The column of persons: its number, its type, and the types of all columns."""

    number: int
    kind: int
    kinds: Integers

    @staticmethod
    def of(source: Source, columns: list[tuple[str, int]], name: str) -> _Column:
        names = [each for each, _ in columns]
        check_person_name(source, names, name)
        number = names.index(name)
        kind = columns[number][1]
        if kind >= len(_NAMES) or _NAMES[kind] in _NO_PERSONS:
            called = _NAMES[kind] if kind < len(_NAMES) else str(kind)
            raise PointsError(
                f"column {name!r} of {source.name} is of type {called}; persons must be whole numbers or text. "
                "Convert it first."
            )
        return _Column(number, kind, np.array([kind for _, kind in columns]))

    def persons(self, buffers: _Buffers, features: Integers) -> pa.Array:
        """Return the persons of features; null for one that has none, or whose properties cannot be followed."""
        import pyarrow as pa

        at = self._places(buffers, features)
        if self.kind == _STRING:
            length = np.where(buffers.holds(at, 4), buffers.read(at, "<u4"), -1)
            whole = (length >= 0) & buffers.holds(at, 4 + length)
            begin = np.where(whole, at + 4, 0)
            return persons_of_text(_gathered(buffers.data, begin, np.where(whole, length, 0), whole))
        form = _NUMBERS[self.kind]
        width = np.dtype(form).itemsize
        whole = buffers.holds(at, width)
        values = buffers.data[np.where(whole, at, 0)[:, None] + np.arange(width)].view(form)[:, 0]
        if form in ("<f4", "<f8"):
            return persons_of_doubles(np.where(whole, values.astype(np.float64), np.nan))
        return persons_of(pa.array(values, mask=~whole))

    def _places(self, buffers: _Buffers, features: Integers) -> Integers:
        """Return where the value of the column is in each feature; 0 if it has none.

        Properties are a column's number and a value, one behind the other. Each step goes one further in all features.
        """
        vector = buffers.follow(buffers.field(features, _FEATURE_PROPERTIES))
        size = buffers.read(vector, "<u4")
        at, end = vector + 4, np.minimum(vector + 4 + size, buffers.stops)
        own_columns = buffers.field(features, _FEATURE_COLUMNS) > 0  # which say what its numbers mean: not ours
        active = (vector > 0) & ~own_columns
        found = np.zeros(features.size, dtype=np.int64)
        for _ in range(self.kinds.size):
            active &= at + 2 <= end
            number = buffers.read(np.where(active, at, 0), "<u2")
            found[active & (number == self.number)] = at[active & (number == self.number)] + 2
            active &= (number != self.number) & (number < self.kinds.size)
            kind = self.kinds[np.minimum(number, self.kinds.size - 1)]
            long = buffers.read(np.where(active, at + 2, 0), "<u4") + 4
            at = at + 2 + np.where(kind < _WIDTHS.size, _WIDTHS[np.minimum(kind, _WIDTHS.size - 1)], long)
        return found


def _gathered(data: Bytes, starts: Integers, lengths: Integers, valid: Booleans) -> pa.Array:
    """Return parts of the file as a column of bytes, in any order; null where a part is not valid."""
    import pyarrow as pa
    import pyarrow.compute as pc

    edges = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    content = data[np.repeat(starts - edges[:-1], lengths) + np.arange(edges[-1])]
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(np.ascontiguousarray(content))]
    parts = pa.LargeBinaryArray.from_buffers(pa.large_binary(), starts.size, buffers)
    return pc.if_else(pa.array(valid), parts, None)
