"""Geometries in bytes (WKB): which of them may be handed to GEOS.

GEOS follows collections within collections until the stack is full, and a crash cannot be caught. So bytes are checked
here first, without GEOS: points may be at most `LONGEST_POINT` long, and areas must pass `is_polygonal`.
"""

from __future__ import annotations

import struct

__all__ = ["LONGEST_POINT", "is_polygonal"]

# Bytes: 5 of type, 4 of SRID, 8 for each of x, y, z and m. Too few for deep nesting.
LONGEST_POINT = 41
_POLYGON, _MULTI_POLYGON = 3, 6


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
