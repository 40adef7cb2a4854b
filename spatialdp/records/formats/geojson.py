"""How are points read from GeoJSON? By brackets and quotes alone, so that each feature stands for itself.

GeoJSON has no schema: a library that reads it looks at the features to find out what the file is, and one feature can
have it refused, renamed or taken for another CRS. So the file is divided here, by its brackets, commas and quotes,
into the members of the outermost object and the elements of ``features``. Each element counts as one point if it has a
``geometry`` of ``type`` ``Point`` with ``coordinates`` of two or more numbers, or ``MultiPoint`` with one such list,
and else nowhere; whatever else is in it is never looked at. Structure is: brackets that balance, one list ``features``,
and a ``crs`` beside it (in files older than RFC 7946). Members of JSON-FG mean nothing here: its ``geometry`` is in
longitude and latitude as well.

The file is scanned in blocks. Tokens are kept down to the level of a geometry's members: 1 the outermost object, 2 the
list of features, 3 a feature, 4 a geometry. An element is what lies between two commas of level 2.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Integers
from spatialdp.errors import PointsError
from spatialdp.records.formats.base import (
    Batch,
    Bytes,
    Selection,
    Source,
    Table,
    not_whole,
    without_columns,
    without_layers,
)
from spatialdp.records.formats.text import NUMERAL, pairs_of, slices

__all__ = ["open_geojson"]

_BLOCK = 2**22  # bytes scanned at a time
_HEAD = 2**12  # bytes in which a value must begin
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


def open_geojson(source: Source, selection: Selection, stack: ExitStack) -> Table:  # noqa: ARG001 (openers have it)
    """Open a GeoJSON file: a collection of features."""
    without_columns(source, selection, "GeoJSON")
    without_layers(source, selection)
    data = source.bytes()
    if data[:3].tobytes() == _MARK:
        data = data[3:]
    outline: list[_Tokens] = []
    batches = list(_batches(source, data, outline))  # what the file declares may stand behind its features
    return Table(_declared_crs(source, data, _Tokens.joined(*outline)), batches)


def _batches(source: Source, data: Bytes, outline: list[_Tokens]) -> Iterator[Batch]:
    """Yield the points of each piece of the file, and gather the tokens of the outermost level."""
    in_features = False
    for piece in _pieces(source, data):
        keys = np.flatnonzero((piece.kind == _COLON) & (piece.level == _FILE))
        listed = _are(data, piece, keys, b"features")
        member = np.searchsorted(keys, np.arange(piece.at.size), side="right")  # 0 before the first key
        inside = np.concatenate([[in_features], listed])[member]
        outline.append(piece[piece.level == _FILE])
        in_features = bool(inside[-1]) if inside.size else in_features
        yield _points(data, piece[inside & (piece.level > _FILE)])


# --- tokens ----------------------------------------------------------------------------------------


def _pieces(source: Source, data: Bytes) -> Iterator[_Tokens]:
    """Yield the tokens of whole elements and whole members, many at a time."""
    rest = _Tokens(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.int64))
    waiting = [rest]
    for tokens in _scan(source, data):
        ends = np.flatnonzero((tokens.kind == _COMMA) & (tokens.level <= _FEATURES))
        if not ends.size:  # a long record: it is put together once, when its end is there
            waiting.append(tokens)
            continue
        cut = int(ends[-1]) + 1
        yield _Tokens.joined(*waiting, tokens[:cut])
        waiting = [tokens[cut:]]
    yield _Tokens.joined(*waiting)


def _scan(source: Source, data: Bytes) -> Iterator[_Tokens]:
    """Yield the tokens of a file, block by block; refuse one whose brackets or quotes do not balance."""
    depth, quoted, start = 0, 0, 0
    while start < data.size:
        stop = min(start + _BLOCK, data.size)
        while stop < data.size and data[stop - 1] == ord("\\"):  # what it escapes belongs to the same block
            stop += 1
        kinds = _KINDS[data[start:stop]]
        at = np.flatnonzero(kinds)
        at, kind = _unescaped(at, kinds[at])
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
        start = stop
    if depth or quoted:
        raise not_whole(source)


def _unescaped(at: Integers, kind: npt.NDArray[np.uint8]) -> tuple[Integers, npt.NDArray[np.uint8]]:
    """Return the tokens without backslashes and without the quotes that those escape."""
    escape = kind == _ESCAPE
    if not escape.any():
        return at, kind
    adjacent = np.diff(at, prepend=-2) == 1
    after_escape = adjacent & np.concatenate([[False], escape[:-1]])
    first = np.maximum.accumulate(np.where(escape & ~after_escape, at, 0))
    odd = escape & ((at - first) % 2 == 0)  # the last of an odd number of backslashes in a row
    escaped = adjacent & np.concatenate([[False], odd[:-1]])
    keep = ~escape & ~((kind == _QUOTE) & escaped)
    return at[keep], kind[keep]


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


def _points(data: Bytes, tokens: _Tokens) -> Batch:
    """Return the points of elements that lie in the list of features; NaN for a geometry that is not a point."""
    element = np.cumsum((tokens.level == _FEATURES) & (tokens.kind == _COMMA))
    feature = tokens.level == _FEATURE
    members = tokens[feature]
    colons = _members(data, members, element[feature], b"geometry")
    plain = np.isin(members.kind[colons + 1], (_COMMA, _CLOSE))  # not a string
    starts, stops = members.at[colons[plain]] + 1, members.at[colons[plain] + 1]
    xy = np.full((2, starts.size), np.nan)
    if not starts.size:
        return xy[0], xy[1]

    inner = tokens[tokens.level == _GEOMETRY]
    geometry = np.searchsorted(starts, inner.at, side="right") - 1
    within = (geometry >= 0) & (inner.at < stops[geometry])
    inner, geometry = inner[within], geometry[within]
    kinds = _members(data, inner, geometry, b"type")
    kinds = kinds[(inner.kind[kinds + 1] == _QUOTE) & (kinds + 2 < inner.at.size)]
    places = _members(data, inner, geometry, b"coordinates")
    for name, pattern in _COORDINATES.items():
        named = np.zeros(starts.size, dtype=bool)
        named[geometry[kinds]] = _equal(data, inner.at[kinds + 1] + 1, inner.at[kinds + 2], name)
        chosen = places[named[geometry[places]]]
        text = slices(data, inner.at[chosen] + 1, inner.at[chosen + 1])
        xy[:, geometry[chosen]] = pairs_of(text, pattern)
    return xy[0], xy[1]


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
