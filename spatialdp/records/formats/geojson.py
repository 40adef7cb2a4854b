"""How are points read from GeoJSON? By brackets and quotes alone, so that each feature stands for itself.

GeoJSON has no schema: a library that reads it looks at the features to find out what the file is, and one feature can
have it refused, renamed or taken for another CRS. So the file is divided here, by its brackets, commas and quotes,
into the members of the outermost object and the elements of ``features``. Each element counts as one point if it has a
``geometry`` of ``type`` ``Point`` with ``coordinates`` of two or more numbers, or ``MultiPoint`` with one such list,
and else nowhere; whatever else is in it is never looked at. Structure is: brackets that balance, one list ``features``,
and a ``crs`` beside it (in files older than RFC 7946). Members of JSON-FG mean nothing here: its ``geometry`` is in
longitude and latitude as well.

A person is the member of ``properties`` with the given name: text byte by byte once its escapes are read, or a whole
number. As 5.0 stands for 5 in JSON, and geopandas writes it so for all if one is missing, it is the person 5. A list,
an object, a truth value, another number and null are no persons. No feature needs to have that member, so a misspelt
name is not noticed: **then no record counts, and no message says so.**

The file is scanned in blocks, twice: for the structure, which may stand behind the features, and for the records.
Tokens are kept down to the level of a geometry's members: 1 the outermost object, 2 the list of features, 3 a feature,
4 a geometry or a list of properties. An element is what lies between two commas of level 2.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Integers
from spatialdp.errors import PointsError
from spatialdp.records.formats.base import (
    Batch,
    Bytes,
    Coordinates,
    Selection,
    Source,
    Table,
    not_whole,
    without_columns,
    without_layers,
)
from spatialdp.records.formats.text import NUMERAL, pairs_of, persons_of_numerals, persons_of_text, slices

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_geojson"]

_BLOCK = 2**22  # bytes scanned at a time
_HEAD = 2**12  # bytes in which a value must begin
_MOST_TOKENS = 2**20  # of an element: one with more is no point, so that no record takes much memory
_LONGITUDE_LATITUDE = "OGC:CRS84"
_MARK = b"\xef\xbb\xbf"  # with which some programs begin a file in UTF-8
_QUOTE, _ESCAPE, _OPEN, _CLOSE, _COLON, _COMMA, _END_QUOTE = range(1, 8)
_FILE, _FEATURES, _FEATURE, _GEOMETRY = range(1, 5)  # levels
_PLACE = rf"\[\s*(?P<x>{NUMERAL})\s*,\s*(?P<y>{NUMERAL})\s*(?:,[^\[\]{{}}]*)?\]"
_COORDINATES = {b"Point": rf"^\s*{_PLACE}\s*$", b"MultiPoint": rf"^\s*\[\s*{_PLACE}\s*\]\s*$"}

_KINDS = np.zeros(256, dtype=np.uint8)
for _characters, _kind in (
    (b'"', _QUOTE),
    (b"\\", _ESCAPE),
    (b"{[", _OPEN),
    (b"}]", _CLOSE),
    (b":", _COLON),
    (b",", _COMMA),
):
    _KINDS[list(_characters)] = _kind


@dataclass(frozen=True)
class _Tokens:
    """Brackets, colons, commas and quotes outside of strings: places in the file, kinds, and levels of nesting."""

    at: Integers
    kind: npt.NDArray[np.uint8]
    level: Integers

    def __getitem__(self, rows: Any) -> _Tokens:
        return _Tokens(self.at[rows], self.kind[rows], self.level[rows])

    @staticmethod
    def joined(*parts: _Tokens) -> _Tokens:
        return _Tokens(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("at", "kind", "level")))


_NO_TOKENS = _Tokens(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.int64))


def open_geojson(source: Source, selection: Selection, stack: ExitStack) -> Table:  # noqa: ARG001 (openers have it)
    """Open a GeoJSON file: a collection of features."""
    without_columns(source, selection, "GeoJSON")
    without_layers(source, selection)
    data = source.bytes()
    if data[:3].tobytes() == _MARK:
        data = data[3:]
    batches = _batches(source, data, selection.person)
    return Table(None, batches, scan=lambda: _declared_crs(source, data, _outline(source, data)))


def _outline(source: Source, data: Bytes) -> _Tokens:
    """Return the tokens of the outermost level."""
    return _Tokens.joined(_NO_TOKENS, *(tokens[tokens.level == _FILE] for tokens in _scan(source, data)))


def _batches(source: Source, data: Bytes, person: str | None) -> Iterator[Batch]:
    """Yield the records of each piece of the file."""
    in_features = False
    for piece in _pieces(source, data):
        keys = np.flatnonzero((piece.kind == _COLON) & (piece.level == _FILE))
        listed = _are(data, piece, keys, b"features")
        member = np.searchsorted(keys, np.arange(piece.at.size), side="right")  # 0 before the first key
        inside = np.concatenate([[in_features], listed])[member]
        in_features = bool(inside[-1]) if inside.size else in_features
        yield _records(data, piece[inside & (piece.level > _FILE)], person)


# --- tokens ----------------------------------------------------------------------------------------


def _pieces(source: Source, data: Bytes) -> Iterator[_Tokens]:
    """Yield the tokens of whole elements and whole members, many at a time; of a long element only the outer ones."""
    waiting, inner = [_NO_TOKENS], 0  # tokens of the record that is not complete, and how many lie within it
    for tokens in _scan(source, data):
        ends = np.flatnonzero((tokens.kind == _COMMA) & (tokens.level <= _FEATURES))
        first = int(ends[0]) if ends.size else tokens.at.size
        inner += int(np.count_nonzero(tokens.level[:first] > _FEATURES))
        if inner > _MOST_TOKENS:
            waiting = [part[part.level <= _FEATURES] for part in (*waiting, tokens[:first])]
        else:
            waiting.append(tokens[:first])
        if ends.size:  # a long record is put together once, when its end is there
            cut = int(ends[-1]) + 1
            yield _Tokens.joined(*waiting, tokens[first:cut])
            waiting, inner = [tokens[cut:]], int(np.count_nonzero(tokens.level[cut:] > _FEATURES))
    yield _Tokens.joined(*waiting)


def _scan(source: Source, data: Bytes) -> Iterator[_Tokens]:
    """Yield the tokens of a file, block by block; refuse one whose brackets or quotes do not balance."""
    depth, quoted, escaped = 0, 0, False
    for start in range(0, data.size, _BLOCK):
        kinds = _KINDS[data[start : start + _BLOCK]]
        if escaped and kinds[0] in (_QUOTE, _ESCAPE):
            kinds[0] = 0
        at = np.flatnonzero(kinds)
        at, kind, last = _unescaped(at, kinds[at])
        escaped = last == kinds.size - 1
        quote = kind == _QUOTE
        within = (np.cumsum(quote) + quoted) & 1  # odd from an opening quote to the character before the closing one
        kind[quote & (within == 0)] = _END_QUOTE
        outside = quote | (within == 0)
        quoted = int(within[-1]) if within.size else quoted
        at, kind = at[outside] + start, kind[outside]
        after = depth + np.cumsum((kind == _OPEN).astype(np.int64) - (kind == _CLOSE))
        if after.size and after.min() < 0:
            raise not_whole(source)
        depth = int(after[-1]) if after.size else depth
        level = after + (kind == _CLOSE)  # a bracket has the level of what it encloses
        yield _Tokens(at, kind, level)[level <= _GEOMETRY]
    if depth or quoted:
        raise not_whole(source)


def _unescaped(at: Integers, kind: npt.NDArray[np.uint8]) -> tuple[Integers, npt.NDArray[np.uint8], int]:
    """Return the tokens without backslashes and without the quotes that those escape, and the last place of an escape.

    That place is -1 if nothing is escaped.
    """
    escape = kind == _ESCAPE
    if not escape.any():
        return at, kind, -1
    adjacent = np.diff(at, prepend=-2) == 1
    after_escape = adjacent & np.concatenate([[False], escape[:-1]])
    first = np.maximum.accumulate(np.where(escape & ~after_escape, at, 0))
    odd = escape & ((at - first) % 2 == 0)  # the last of an odd number of backslashes in a row
    escaped = adjacent & np.concatenate([[False], odd[:-1]])
    keep = ~escape & ~((kind == _QUOTE) & escaped)
    return at[keep], kind[keep], int(at[odd].max(initial=-1))


# --- members ---------------------------------------------------------------------------------------


def _are(data: Bytes, tokens: _Tokens, colons: Integers, name: bytes) -> Booleans:
    """Whether the string before each colon is a name."""
    same = colons >= 2
    first, last = colons - 2, colons - 1
    same &= (tokens.kind[first] == _QUOTE) & (tokens.kind[last] == _END_QUOTE)
    return same & _equal(data, tokens.at[first] + 1, tokens.at[last], name)


def _equal(data: Bytes, starts: Integers, stops: Integers, text: bytes) -> Booleans:
    same = stops - starts == len(text)
    letters = data[starts[same][:, None] + np.arange(len(text))]
    same[same] = (letters == np.frombuffer(text, dtype=np.uint8)).all(axis=1)
    return np.asarray(same, dtype=bool)


def _members(data: Bytes, tokens: _Tokens, owner: Integers, name: bytes) -> Integers:
    """Return the places of the colons behind a name, among tokens of one level; the last one of each owner."""
    colons = np.flatnonzero(tokens.kind == _COLON)
    colons = colons[_are(data, tokens, colons, name) & (colons + 1 < tokens.at.size)]
    last = np.append(owner[colons][1:] != owner[colons][:-1], True)[: colons.size]
    found: Integers = colons[last]
    return found


def _records(data: Bytes, tokens: _Tokens, person: str | None) -> Batch:
    """Return the elements of the list of features that have a geometry; NaN for one that is not a point."""
    element = np.cumsum((tokens.level == _FEATURES) & (tokens.kind == _COMMA))
    within = tokens.level > _FEATURES
    short = np.bincount(element, within) <= _MOST_TOKENS
    if not short.all():
        tokens, element = tokens[short[element]], element[short[element]]
    feature = tokens.level == _FEATURE
    members, owner = tokens[feature], element[feature]
    colons = _members(data, members, owner, b"geometry")
    colons = colons[np.isin(members.kind[colons + 1], (_COMMA, _CLOSE))]  # not a string
    inner = tokens[tokens.level == _GEOMETRY]
    points = _points(data, inner, _Spans.behind(members, colons))
    if person is None:
        return Batch(*points)
    lists = _members(data, members, owner, b"properties")
    lists = lists[np.isin(members.kind[lists + 1], (_COMMA, _CLOSE))]
    row = np.searchsorted(owner[colons], owner[lists])  # of each list of properties: its place among the geometries
    known = np.isin(owner[lists], owner[colons])
    values = _persons(data, inner, _Spans.behind(members, lists[known]), person)
    places = np.full(colons.size, -1)
    places[row[known]] = np.arange(known.sum())
    return Batch(*points, _values_at(values, places))


@dataclass(frozen=True)
class _Spans:
    """Where values of members begin and end, in order."""

    starts: Integers
    stops: Integers

    @staticmethod
    def behind(tokens: _Tokens, colons: Integers) -> _Spans:
        return _Spans(tokens.at[colons] + 1, tokens.at[colons + 1])

    def holding(self, tokens: _Tokens) -> tuple[_Tokens, Integers]:
        """Return the tokens that lie in one of the values, and the number of that value for each."""
        span = np.searchsorted(self.starts, tokens.at, side="right") - 1
        within = span >= 0
        within[within] = tokens.at[within] < self.stops[span[within]]
        return tokens[within], span[within]


def _points(data: Bytes, inner: _Tokens, geometries: _Spans) -> Coordinates:
    """Return the coordinates of geometries; NaN for one that is not a point."""
    xy = np.full((2, geometries.starts.size), np.nan)
    inner, geometry = geometries.holding(inner)
    kinds = _members(data, inner, geometry, b"type")
    kinds = kinds[(inner.kind[kinds + 1] == _QUOTE) & (kinds + 2 < inner.at.size)]
    places = _members(data, inner, geometry, b"coordinates")
    for name, pattern in _COORDINATES.items():
        named = np.zeros(geometries.starts.size, dtype=bool)
        named[geometry[kinds]] = _equal(data, inner.at[kinds + 1] + 1, inner.at[kinds + 2], name)
        chosen = places[named[geometry[places]]]
        text = slices(data, inner.at[chosen] + 1, inner.at[chosen + 1])
        xy[:, geometry[chosen]] = pairs_of(text, pattern)
    return xy[0], xy[1]


def _persons(data: Bytes, inner: _Tokens, properties: _Spans, name: str) -> pa.Array:
    """Return the persons that lists of properties name; null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    inner, owner = properties.holding(inner)
    # A name may be written with or without escapes.
    spellings = {json.dumps(name, ensure_ascii=escaped)[1:-1].encode() for escaped in (True, False)}
    colons = np.sort(np.concatenate([_members(data, inner, owner, spelling) for spelling in spellings]))
    colons = colons[np.append(owner[colons][1:] != owner[colons][:-1], True)[: colons.size]]
    quoted = (inner.kind[colons + 1] == _QUOTE) & (colons + 2 < inner.at.size)
    begin = inner.at[np.where(quoted, colons + 1, colons)] + 1
    end = inner.at[np.where(quoted, np.minimum(colons + 2, inner.at.size - 1), colons + 1)]
    content = slices(data, begin, end)
    places = np.full(properties.starts.size, -1)
    places[owner[colons]] = np.arange(colons.size)
    text, number = persons_of_text(_without_escapes(content)), persons_of_numerals(content)
    return _values_at(pc.if_else(pa.array(quoted), text, number), places)


def _values_at(values: pa.Array, places: Integers) -> pa.Array:
    """Return the values at some places, and null for a place of -1."""
    import pyarrow as pa

    return values.take(pa.array(places, mask=places < 0))


def _without_escapes(strings: pa.Array) -> pa.Array:
    """Return the bytes of JSON's strings with their escapes read; null for one whose escapes mean nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    escaped = pc.match_substring(strings, "\\")
    values = strings.filter(escaped).to_numpy(zero_copy_only=False)
    return pc.replace_with_mask(strings, escaped, pa.array(_READ_ESCAPES(values), pa.large_binary()))


def _read_escapes(string: bytes) -> bytes | None:
    try:
        return str.encode(json.loads(f'"{string.decode("utf-8")}"', strict=False), "utf-8")
    except Exception:  # its message may quote a record
        return None


_READ_ESCAPES = np.frompyfunc(_read_escapes, 1, 1)


# --- what the file declares ------------------------------------------------------------------------


def _declared_crs(source: Source, data: Bytes, outline: _Tokens) -> Any:
    """Check that the file is one object with one list of features, and return the CRS that it declares."""
    lists = _values(data, outline, b"features") if _is_one_object(data, outline) else []
    if len(lists) != 1 or data[slice(*lists[0])][:_HEAD].tobytes().lstrip()[:1] != b"[":
        # One message, however many objects there are: in a file with a feature on each line, each is a record.
        raise PointsError(
            f"{source.name} is not a GeoJSON FeatureCollection: it must be one object with one list of features. "
            "Convert it first."
        )
    declared = _values(data, outline, b"crs")
    return _crs_name(json.loads(data[slice(*declared[-1])].tobytes())) if declared else _LONGITUDE_LATITUDE


def _is_one_object(data: Bytes, outline: _Tokens) -> bool:
    brackets = np.flatnonzero((outline.kind == _OPEN) | (outline.kind == _CLOSE))
    if not outline.at.size or brackets.tolist() != [0, outline.at.size - 1]:
        return False
    first, last = int(outline.at[0]), int(outline.at[-1])
    around = data[:first].tobytes() + data[last + 1 :].tobytes()
    return bool(data[first] == ord("{")) and not around.strip()


def _values(data: Bytes, outline: _Tokens, name: bytes) -> list[tuple[int, int]]:
    """Return where the values of the outermost members of a name begin and end."""
    colons = np.flatnonzero(outline.kind == _COLON)
    ends = np.flatnonzero(np.isin(outline.kind, (_COMMA, _CLOSE)))
    colons = colons[_are(data, outline, colons, name)]
    stops = ends[np.searchsorted(ends, colons)]
    return list(zip((outline.at[colons] + 1).tolist(), outline.at[stops].tolist(), strict=True))


def _crs_name(declared: Any) -> str | None:
    """Return the name in a ``crs`` member; links are not followed, and null means that no CRS is known."""
    try:
        return str(declared["properties"]["name"])
    except (KeyError, TypeError):
        return None
