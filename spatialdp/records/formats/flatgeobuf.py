"""How are points read from FlatGeobuf? Its header says what it holds; each feature is a small table of offsets.

A feature is a buffer in which every value is reached by an offset. The offsets of many features are followed at once,
and one that leads out of its feature makes that feature count nowhere. Structure is the header (the CRS, the size of
the index) and where each feature begins and ends. The type of geometry in the header is not judged, because writers
gather it from the records; it says what a feature is that names no type of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Booleans, Integers
from spatialdp.records.formats.base import (
    BATCH,
    Batch,
    Bytes,
    Selection,
    Source,
    Table,
    not_whole,
    without_columns,
    without_layers,
)

__all__ = ["open_flatgeobuf"]

_MAGIC = b"fgb\x03fgb"
_START = 8  # bytes of magic
_NODE = 40  # bytes of a node of the index: four doubles and an offset
_POINTS = (1, 4)  # types: point and multi-point, which both have a list of coordinates alone
# Places of the fields that are needed, in the order of the schema.
_HEADER_TYPE, _HEADER_COUNT, _HEADER_NODES, _HEADER_CRS = 2, 8, 9, 10
_CRS_ORGANISATION, _CRS_CODE, _CRS_WKT = 0, 1, 4
_FEATURE_GEOMETRY, _GEOMETRY_XY, _GEOMETRY_TYPE = 0, 1, 6
_DEFAULT_NODES = 16


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
    starts = _starts(source, data, _START + 4 + size, header)
    return Table(header.crs(), _batches(data, starts, kind))


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


def _starts(source: Source, data: Bytes, place: int, header: _Header) -> Integers:
    """Return where each feature begins: from the index behind the header, or else from each feature's length."""
    nodes, leaves = header.index()
    first = place + nodes * _NODE
    if first > data.size:
        raise not_whole(source)
    if not leaves:
        return _chain(source, data, first)
    index = data[first - leaves * _NODE : first].reshape(leaves, _NODE)
    starts = first + np.ascontiguousarray(index[:, 32:]).view("<i8")[:, 0]
    if ((starts < first) | (starts + 4 > data.size)).any() or (starts + 4 + _sizes(data, starts) > data.size).any():
        raise not_whole(source)
    return starts


def _chain(source: Source, data: Bytes, at: int) -> Integers:
    """Return where each feature begins in a file without an index: behind the one before, a step for each."""
    content, starts = data.data, []
    length_at = struct.Struct("<I").unpack_from
    while at + 4 <= data.size:
        starts.append(at)
        at += 4 + length_at(content, at)[0]
    if at != data.size:
        raise not_whole(source)
    return np.array(starts, dtype=np.int64)


def _sizes(data: Bytes, starts: Integers) -> Integers:
    sizes: Integers = data[starts[:, None] + np.arange(4)].view("<u4")[:, 0].astype(np.int64)
    return sizes


def _batches(data: Bytes, starts: Integers, declared: int) -> Iterator[Batch]:
    for begin in range(0, starts.size, BATCH):
        yield _points(data, starts[begin : begin + BATCH], declared)


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

    def holds(self, at: Integers, width: int) -> Booleans:
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


def _points(data: Bytes, starts: Integers, declared: int) -> Batch:
    """Return the coordinates of features; NaN for one that is not one point. Without a type, it is of the declared."""
    buffers = _Buffers(data, starts + 4, starts + 4 + _sizes(data, starts))
    geometry = buffers.follow(buffers.field(buffers.follow(starts + 4), _FEATURE_GEOMETRY))
    kind = buffers.read(buffers.field(geometry, _GEOMETRY_TYPE), "<u1")
    vector = buffers.follow(buffers.field(geometry, _GEOMETRY_XY))
    point = np.isin(np.where(kind == 0, declared, kind), _POINTS)
    point &= (buffers.read(vector, "<u4") == 2) & buffers.holds(vector + 4, 16)  # its length, then two doubles
    xy = np.full((starts.size, 2), np.nan)
    xy[point] = data[vector[point][:, None] + 4 + np.arange(16)].view("<f8")
    return xy[:, 0], xy[:, 1]
