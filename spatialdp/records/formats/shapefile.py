"""How are points read from a Shapefile? From its tables of fixed-width records: .shp by .shx, numbers in .dbf.

Structure is the headers of these files, the fields that the .dbf declares and the CRS in the .prj. The type of shape in
a header is not judged, because writers gather it from the records. A record that is neither a point nor a multi-point
of one part, one that leads out of the file, and one that is marked as deleted count nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.errors import PointsError
from spatialdp.records.formats.base import (
    BATCH,
    Batch,
    Bytes,
    Selection,
    Source,
    Table,
    check_names,
    not_whole,
    without_layers,
)
from spatialdp.records.formats.text import numbers_of, slices
from spatialdp.wording import parameter

__all__ = ["open_shapefile"]

_HEADER = 100  # bytes, of .shp and .shx
_RECORD_HEADER, _POINT, _MULTI_POINT = 8, 20, 56  # bytes, of a record in .shp, and of the shortest points in it
_CODE = 9994
_POINTS, _MULTI_POINTS = (1, 11, 21), (8, 18, 28)  # types: plain, with height and measure, with measure
_BOX = 4 + 32  # bytes of a multi-point before the number of its parts: type and extent
_FIELD = 32  # bytes of the description of a field in .dbf
_NUMBERS = b"NFC"  # types of fields that hold numerals; the last is text
_DELETED = ord("*")


def open_shapefile(source: Source, selection: Selection, stack: ExitStack) -> Table:  # noqa: ARG001 (openers have it)
    """Open a Shapefile: its points, or two fields of numbers in its table."""
    without_layers(source, selection)
    if source.path is None:
        raise PointsError("a Shapefile consists of several files and cannot be read from a stream; give the .shp file.")
    if selection.geometry is not None:
        raise PointsError(
            f"{source.name} is a Shapefile, whose points are in its .shp; leave {parameter('geometry')} out."
        )
    shapes = source.bytes()
    if shapes.size < _HEADER:
        raise not_whole(source)
    code, words = _big(shapes, np.array([0, 24]))
    if code != _CODE or 2 * words > shapes.size:
        raise not_whole(source)
    table = _beside(source.path, ".dbf")
    if selection.columns:
        if table is None:
            raise PointsError(
                f"{source.name} has no .dbf beside it, which holds its columns; add it, or leave {parameter('x')} and "
                f"{parameter('y')} out."
            )
        return Table(None, _field_batches(source, _bytes(table), selection.columns), plain=True)
    index = _beside(source.path, ".shx")
    if index is None:
        raise PointsError(f"{source.name} has no .shx beside it, which says where its records are; copy that file too.")
    deleted = np.zeros(0, dtype=bool) if table is None else _deleted(_bytes(table))
    return Table(_crs(source.path), _shape_batches(source, shapes, _bytes(index), deleted))


def _beside(path: Path, suffix: str) -> Path | None:
    """Return the file of the same name with another suffix, in small or capital letters."""
    names = (path.with_suffix(suffix), path.with_suffix(suffix.upper()))
    return next((name for name in names if name.is_file() and name.stat().st_size), None)


def _bytes(path: Path) -> Bytes:
    return np.memmap(path, dtype=np.uint8, mode="r")


def _crs(path: Path) -> Any:
    """Return the CRS in the .prj, by its number in a register if it is known there; None without a .prj."""
    from pyproj import CRS

    projection = _beside(path, ".prj")
    if projection is None:
        return None
    crs = CRS.from_wkt(projection.read_text(encoding="utf-8", errors="replace"))
    authority = crs.to_authority(min_confidence=90)
    return crs if authority is None else ":".join(authority)


# --- shapes ----------------------------------------------------------------------------------------


def _gathered(data: Bytes, at: Integers, width: int) -> Bytes:
    """Return `width` bytes from each place; places must lie within the data."""
    gathered: Bytes = data[at[:, None] + np.arange(width)]
    return gathered


def _big(data: Bytes, at: Integers) -> Integers:
    return _gathered(data, at, 4).view(">i4")[:, 0].astype(np.int64)


def _little(data: Bytes, at: Integers) -> Integers:
    return _gathered(data, at, 4).view("<i4")[:, 0].astype(np.int64)


def _shape_batches(source: Source, shapes: Bytes, index: Bytes, deleted: Booleans) -> Iterator[Batch]:
    if index.size < _HEADER or (index.size - _HEADER) % 8:
        raise not_whole(source)
    entries = np.asarray(index[_HEADER:]).view(">i4").reshape(-1, 2)
    for start in range(0, len(entries), BATCH):
        places, lengths = entries[start : start + BATCH].astype(np.int64).T * 2  # in words of two bytes
        flags = deleted[start : start + BATCH]
        lengths[: flags.size][flags] = 0
        yield _points(shapes, places, lengths)


def _points(shapes: Bytes, places: Integers, lengths: Integers) -> Batch:
    """Return the coordinates of the records at some places; NaN where there is no point, or not one alone."""
    xy = np.full((places.size, 2), np.nan)
    starts = places + _RECORD_HEADER
    inside = places >= _HEADER
    # A point: type, x and y. A multi-point: type, extent, number of parts, and x and y of each.
    whole = np.flatnonzero(inside & (lengths >= _POINT) & (starts + _POINT <= shapes.size))
    kinds = _little(shapes, starts[whole])
    points = whole[np.isin(kinds, _POINTS)]
    xy[points] = _gathered(shapes, starts[points] + 4, 16).view("<f8")
    several = whole[np.isin(kinds, _MULTI_POINTS)]
    several = several[(lengths[several] >= _MULTI_POINT) & (starts[several] + _MULTI_POINT <= shapes.size)]
    single = several[_little(shapes, starts[several] + _BOX) == 1]
    xy[single] = _gathered(shapes, starts[single] + _BOX + 4, 16).view("<f8")
    return xy[:, 0], xy[:, 1]


# --- the table of attributes -----------------------------------------------------------------------


def _rows(table: Bytes) -> tuple[Bytes, int] | None:
    """Return the rows of a .dbf as (n, width) bytes, and the width of its header; None if it is not whole."""
    if table.size < _FIELD:
        return None
    count = int(table[4:8].view("<u4")[0])
    header, width = (int(value) for value in table[8:12].view("<u2"))
    if header <= _FIELD or not width or header + count * width > table.size:
        return None
    return table[header : header + count * width].reshape(count, width), header


def _deleted(table: Bytes) -> Booleans:
    rows = _rows(table)
    return np.zeros(0, dtype=bool) if rows is None else np.asarray(rows[0][:, 0] == _DELETED)


def _field_batches(source: Source, table: Bytes, columns: tuple[str, str]) -> Iterator[Batch]:
    whole = _rows(table)
    if whole is None:
        raise not_whole(source)
    rows, header = whole
    fields = _fields(np.asarray(table[_FIELD:header]))
    check_names(source, [name for name, *_ in fields], columns)
    places = {name: (kind, start, start + width) for name, kind, start, width in fields}
    for name in columns:
        if places[name][0] not in _NUMBERS:
            raise PointsError(
                f"column {name!r} of {source.name} is of type {chr(places[name][0])!r}; coordinates must be numbers. "
                "Convert it first."
            )
    return _field_values(rows, [places[name][1:] for name in columns])


def _field_values(rows: Bytes, places: list[tuple[int, int]]) -> Iterator[Batch]:
    for start in range(0, len(rows), BATCH):
        block = rows[start : start + BATCH]
        gone = np.asarray(block[:, 0] == _DELETED)
        x, y = (_numerals(block, first, last, gone) for first, last in places)
        yield x, y


def _numerals(block: Bytes, first: int, last: int, gone: Booleans) -> Floats:
    starts = np.arange(len(block)) * block.shape[1]
    values = numbers_of(slices(np.ascontiguousarray(block).reshape(-1), starts + first, starts + last))
    return np.where(gone, np.nan, values)


def _fields(descriptions: Bytes) -> list[tuple[str, int, int, int]]:
    """Return name, type, place within a row and width of each field that a .dbf declares."""
    fields, place = [], 1  # the first byte of a row says whether it is deleted
    for start in range(0, descriptions.size - _FIELD + 1, _FIELD):
        field = descriptions[start : start + _FIELD].tobytes()
        if field[0] == 0x0D:
            break
        name = field[:11].split(b"\0")[0].decode("utf-8", "replace")
        fields.append((name, field[11], place, field[16]))
        place += field[16]
    return fields
