"""How are points read from a Shapefile? From its tables of fixed-width records: .shp by .shx, numbers in .dbf.

Structure is the headers of these files, the fields that the .dbf declares and the CRS in the .prj. The type of shape in
a header is not judged, because writers gather it from the records. A record that is neither a point nor a multi-point
of one part, one that leads out of the file, and one that is marked as deleted count nowhere.

A person is the text of a field of text, without the blanks that fill it up, or the whole number in a field of numbers,
whatever its decimals: geopandas writes fractions of zeros for one number that is missing. An empty field is no person,
because a .dbf cannot tell it from a missing one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.errors import PointsError
from spatialdp.records.formats.base import (
    BATCH,
    Batch,
    Bytes,
    Coordinates,
    Selection,
    Source,
    Table,
    check_names,
    check_person_name,
    not_whole,
    without_layers,
)
from spatialdp.records.formats.text import numbers_of, persons_of_numerals, persons_of_text, slices
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_shapefile"]

_HEADER = 100  # bytes, of .shp and .shx
_RECORD_HEADER, _POINT, _MULTI_POINT = 8, 20, 56  # bytes, of a record in .shp, and of the shortest points in it
_CODE = 9994
_POINTS, _MULTI_POINTS = (1, 11, 21), (8, 18, 28)  # types: plain, with height and measure, with measure
_BOX = 4 + 32  # bytes of a multi-point before the number of its parts: type and extent
_FIELD = 32  # bytes of the description of a field in .dbf
_NUMBERS, _CHARACTERS = b"NF", b"C"  # types of fields
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
    table = _table(source, selection)
    person = None if table is None or selection.person is None else table.person(source, selection.person)
    if selection.columns and table is not None:
        x, y = (table.coordinate(source, name) for name in selection.columns)
        return Table(None, _field_batches(table, x, y, person), plain=True)
    index = _beside(source.path, ".shx")
    if index is None:
        raise PointsError(f"{source.name} has no .shx beside it, which says where its records are; copy that file too.")
    entries = _entries(source, _bytes(index))
    return Table(_crs(source.path), _shape_batches(shapes, entries, table, person))


def _beside(path: Path, suffix: str) -> Path | None:
    """Return the file of the same name with another suffix, in small or capital letters."""
    names = (path.with_suffix(suffix), path.with_suffix(suffix.upper()))
    return next((name for name in names if name.is_file() and name.stat().st_size), None)


def _bytes(path: Path) -> Bytes:
    return np.memmap(path, dtype=np.uint8, mode="r")


def _crs(path: Path) -> Any:
    """Return the CRS in the .prj, by its number in a register if it is known there; None without a .prj."""
    projection = _beside(path, ".prj")
    return None if projection is None else _known(projection.read_text(encoding="utf-8", errors="replace"))


@lru_cache(maxsize=16)
def _known(wkt: str) -> Any:
    """Return a CRS, or its number in a register, which takes milliseconds to find."""
    from pyproj import CRS

    crs = CRS.from_wkt(wkt)
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


def _entries(source: Source, index: Bytes) -> Integers:
    """Return the places and lengths of shapes that a .shx lists, (n, 2), in words of two bytes."""
    if index.size < _HEADER or (index.size - _HEADER) % 8:
        raise not_whole(source)
    entries: Integers = np.asarray(index[_HEADER:]).view(">i4").reshape(-1, 2)
    return entries


def _shape_batches(shapes: Bytes, entries: Integers, table: _Rows | None, person: _Field | None) -> Iterator[Batch]:
    for start in range(0, len(entries), BATCH):
        places, lengths = entries[start : start + BATCH].astype(np.int64).T * 2
        rows = np.empty((0, 1), dtype=np.uint8) if table is None else table.rows[start : start + lengths.size]
        lengths[: len(rows)][rows[: lengths.size, 0] == _DELETED] = 0
        yield Batch(*_points(shapes, places, lengths), None if person is None else person.persons(rows, lengths.size))


def _points(shapes: Bytes, places: Integers, lengths: Integers) -> Coordinates:
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


class _Field(NamedTuple):
    """One field of a .dbf: its type, and where it lies within a row."""

    kind: int
    first: int
    last: int

    def text(self, rows: Bytes) -> pa.Array:
        """Return the bytes of the field in some rows."""
        starts = np.arange(len(rows)) * rows.shape[1]
        return slices(np.ascontiguousarray(rows).reshape(-1), starts + self.first, starts + self.last)

    def numbers(self, rows: Bytes) -> Floats:
        return np.where(rows[:, 0] == _DELETED, np.nan, numbers_of(self.text(rows)))

    def persons(self, rows: Bytes, count: int) -> pa.Array:
        """Return the persons of `count` records, of which the last ones may have no row."""
        import pyarrow as pa
        import pyarrow.compute as pc

        text = self.text(rows)
        if self.kind in _CHARACTERS:
            text = pc.replace_substring_regex(text, r"[ \x00]+$", "")
            persons = persons_of_text(pc.if_else(pc.equal(pc.binary_length(text), 0), None, text))
        else:
            persons = persons_of_numerals(text)
        return pa.concat_arrays([persons, pa.nulls(count - len(persons), persons.type)])


class _Rows(NamedTuple):
    """The table in a .dbf: its rows as (n, width) bytes, and its fields by name, which may occur twice."""

    rows: Bytes
    fields: list[tuple[str, _Field]]

    def coordinate(self, source: Source, name: str) -> _Field:
        check_names(source, [each for each, _ in self.fields], [name])
        return self._checked(source, name, "coordinates must be numbers")

    def person(self, source: Source, name: str) -> _Field:
        check_person_name(source, [each for each, _ in self.fields], name)
        return self._checked(source, name, "persons must be whole numbers or text")

    def _checked(self, source: Source, name: str, required: str) -> _Field:
        """Return the field of a name, whose type must be one of numbers or text."""
        field = dict(self.fields)[name]
        if field.kind not in _NUMBERS + _CHARACTERS:
            raise PointsError(
                f"column {name!r} of {source.name} is of type {chr(field.kind)!r}; {required}. Convert it first."
            )
        return field


def _table(source: Source, selection: Selection) -> _Rows | None:
    """Return the table in the .dbf; it may be missing or damaged, unless columns of it were asked for."""
    path = _beside(source.path or Path(), ".dbf")
    needed = selection.columns is not None or selection.person is not None
    if path is None and needed:
        columns = f"{parameter('x')} and {parameter('y')}" if selection.columns else either("person", "--person-column")
        raise PointsError(
            f"{source.name} has no .dbf beside it, which holds its columns; add it, or leave {columns} out."
        )
    table = None if path is None else _rows(_bytes(path))
    if table is None and needed:
        raise not_whole(source)
    return table


def _rows(table: Bytes) -> _Rows | None:
    """Return the table that a .dbf holds; None if it is not whole."""
    if table.size < _FIELD:
        return None
    count = int(table[4:8].view("<u4")[0])
    header, width = (int(value) for value in table[8:12].view("<u2"))
    if header <= _FIELD or not width or header + count * width > table.size:
        return None
    rows = table[header : header + count * width].reshape(count, width)
    return _Rows(rows, _fields(np.asarray(table[_FIELD:header]), width))


def _field_batches(table: _Rows, x: _Field, y: _Field, person: _Field | None) -> Iterator[Batch]:
    for start in range(0, len(table.rows), BATCH):
        rows = table.rows[start : start + BATCH]
        yield Batch(x.numbers(rows), y.numbers(rows), None if person is None else person.persons(rows, len(rows)))


def _fields(descriptions: Bytes, width: int) -> list[tuple[str, _Field]]:
    """Return the fields that a .dbf declares; the header says how wide they and whole rows are."""
    fields, place = [], 1  # the first byte of a row says whether it is deleted
    for start in range(0, descriptions.size - _FIELD + 1, _FIELD):
        field = descriptions[start : start + _FIELD].tobytes()
        if field[0] == 0x0D:
            break
        name = field[:11].split(b"\0")[0].decode("utf-8", "replace")
        fields.append((name, _Field(field[11], min(place, width), min(place + field[16], width))))
        place += field[16]
    return fields
