"""Geometries in bytes (WKB): points are read here, and areas are checked before they are handed to GEOS.

GEOS follows collections within collections until the stack is full, and a crash cannot be caught; and it refuses all
geometries for one of a kind that it does not know. So GEOS never sees a record: `point_coordinates` recognises points
by their type and length. It also recognises multi-points of one part: if one record has several parts, programs write
all points as multi-points. Public areas must pass `is_polygonal`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Floats, Integers

__all__ = ["LONGEST_POINT", "is_polygonal", "point_coordinates"]

_HEAD, _SRID, _COUNT, _DOUBLE = 5, 4, 4, 8  # bytes: order and type; number of the CRS; number of parts; a coordinate
# A multi-point of one part, both with the number of a CRS, and x, y, z and m.
LONGEST_POINT = _HEAD + _SRID + _COUNT + _HEAD + _SRID + 4 * _DOUBLE
_SHORTEST_POINT = _HEAD + 2 * _DOUBLE
_POINT, _POLYGON, _MULTI_POINT, _MULTI_POLYGON = 1, 3, 4, 6
_HAS_Z, _HAS_M, _HAS_SRID = 0x8000_0000, 0x4000_0000, 0x2000_0000  # flags of extended WKB
_BLOCK = 2**15  # records at a time: the work arrays stay in the processor's cache


def point_coordinates(data: npt.NDArray[np.uint8], starts: Integers, lengths: Integers) -> tuple[Floats, Floats]:
    """Return x and y of points in WKB, many at a time; NaN for bytes that are not exactly one point.

    Both byte orders are read, the types of ISO WKB (1, 1001, 2001, 3001) and the flags of extended WKB, with or without
    an SRID, which is ignored. A multi-point (4, 1004, ...) of one part is that part. An empty point has NaN for
    coordinates.

    Parameters
    ----------
    data : array of bytes
        What all geometries lie in.
    starts, lengths : integer arrays
        Where each geometry begins, and how many bytes it has; a geometry must lie within the data.

    Examples
    --------
    >>> import shapely
    >>> wkb = shapely.to_wkb(shapely.Point(1, 2)) + shapely.to_wkb(shapely.box(0, 0, 1, 1))
    >>> point_coordinates(np.frombuffer(wkb, dtype=np.uint8), np.array([0, 21]), np.array([21, 93]))
    (array([ 1., nan]), array([ 2., nan]))
    """
    xy = np.full((starts.size, 2), np.nan)
    for first in range(0, starts.size, _BLOCK):
        block = slice(first, first + _BLOCK)
        _read_block(data, starts[block], lengths[block], xy[block])
    return xy[:, 0], xy[:, 1]


def _read_block(data: npt.NDArray[np.uint8], starts: Integers, lengths: Integers, out: Floats) -> None:
    rows = np.flatnonzero((lengths >= _SHORTEST_POINT) & (lengths <= LONGEST_POINT))
    starts, lengths = starts[rows], lengths[rows]
    heads = _Heads.read(data, starts)
    part = _only_part(data, starts, lengths, heads)
    if part.any():
        skipped = np.where(part, heads.before + _COUNT, 0)
        starts, lengths = starts + skipped, lengths - skipped
        heads = _Heads.read(data, starts)
    is_point = (heads.kind == _POINT) & (lengths == heads.before + _DOUBLE * heads.dimensions)
    coordinates = data[(starts + heads.before)[is_point][:, None] + np.arange(2 * _DOUBLE)]
    big = heads.big[is_point]
    values = coordinates.view("<f8")
    values[big] = coordinates[big].view(">f8")
    out[rows[is_point]] = values


@dataclass(frozen=True)
class _Heads:
    """How geometries begin: type, number of coordinates of a place, bytes before the contents, and order of bytes."""

    kind: Integers  # 0 if it is not known
    dimensions: Integers
    before: Integers
    big: Booleans

    @staticmethod
    def read(data: npt.NDArray[np.uint8], starts: Integers) -> _Heads:
        order = data[starts]  # 0: the most significant byte comes first; 1: the least
        kind = _numbers(data, starts + 1, order == 0)
        flags, code = kind & 0xE000_0000, kind & 0x1FFF_FFFF
        iso = code // 1000  # 1: with z, 2: with m, 3: with both
        has_z = ((flags & _HAS_Z) != 0) | (iso == 1) | (iso == 3)
        has_m = ((flags & _HAS_M) != 0) | (iso == 2) | (iso == 3)
        known = (order <= 1) & (iso <= 3)
        before = _HEAD + _SRID * ((flags & _HAS_SRID) != 0)
        return _Heads(np.where(known, code % 1000, 0), 2 + has_z.astype(np.int64) + has_m, before, order == 0)


def _numbers(data: npt.NDArray[np.uint8], at: Integers, big: Booleans) -> Integers:
    """Return the unsigned number of four bytes at each place."""
    content = data[at[:, None] + np.arange(4)]
    return np.asarray(np.where(big, content.view(">u4")[:, 0], content.view("<u4")[:, 0]), dtype=np.int64)


def _only_part(data: npt.NDArray[np.uint8], starts: Integers, lengths: Integers, heads: _Heads) -> Booleans:
    """Whether each geometry is a multi-point of one part."""
    long_enough = lengths >= heads.before + _COUNT + _SHORTEST_POINT
    single = (heads.kind == _MULTI_POINT) & long_enough
    single[single] = _numbers(data, (starts + heads.before)[single], heads.big[single]) == 1
    return np.asarray(single)


def is_polygonal(wkb: bytes) -> bool:
    """Whether bytes are one two-dimensional polygon or multipolygon, in the form that `shapely.to_wkb` writes.

    A multipolygon may consist of polygons alone, and the bytes must end where the geometry does.

    Examples
    --------
    >>> import shapely
    >>> is_polygonal(shapely.to_wkb(shapely.box(0, 0, 1, 1)))
    True
    >>> is_polygonal(shapely.to_wkb(shapely.Point(0, 0)))
    False
    """
    try:
        kind, offset = _kind(wkb, 0)
        if kind == _POLYGON:
            return _end_of_polygon(wkb, 0) == len(wkb)
        (count,) = struct.unpack_from("<I", wkb, offset)
        offset += 4
        for _ in range(count if kind == _MULTI_POLYGON else 0):
            offset = _end_of_polygon(wkb, offset)
        return kind == _MULTI_POLYGON and offset == len(wkb)
    except (struct.error, ValueError):
        return False


def _kind(wkb: bytes, offset: int) -> tuple[int, int]:
    """Return the type of the geometry that begins at an offset, and the offset of its contents."""
    order, kind = struct.unpack_from("<BI", wkb, offset)
    if order != 1:
        raise ValueError("not little-endian")
    return kind, offset + 5


def _end_of_polygon(wkb: bytes, offset: int) -> int:
    kind, offset = _kind(wkb, offset)
    if kind != _POLYGON:
        raise ValueError("not a polygon")
    (rings,) = struct.unpack_from("<I", wkb, offset)
    offset += 4
    for _ in range(rings):
        (points,) = struct.unpack_from("<I", wkb, offset)
        offset += 4 + 16 * points
    return offset
