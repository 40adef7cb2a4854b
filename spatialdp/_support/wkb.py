"""Geometries as bytes, looked at before GEOS is: it follows geometries within geometries until the stack is full."""

from __future__ import annotations

import struct

__all__ = ["LONGEST_POINT", "is_polygonal"]

# Bytes: 5 of type, 4 of SRID, 8 for each of x, y, z and m. Too few for much to be nested in them.
LONGEST_POINT = 41
_POLYGON, _MULTI_POLYGON = 3, 6


def is_polygonal(wkb: bytes) -> bool:
    """Whether bytes are a flat polygon, or a collection of such and of nothing else, as `shapely.to_wkb` writes them.

    Examples
    --------
    >>> import shapely
    >>> is_polygonal(shapely.to_wkb(shapely.box(0, 0, 1, 1)))
    True
    >>> is_polygonal(shapely.to_wkb(shapely.Point(0, 0)))
    False
    """
    try:
        kind, at = _kind(wkb, 0)
        if kind == _POLYGON:
            return _end_of_polygon(wkb, 0) == len(wkb)
        (count,) = struct.unpack_from("<I", wkb, at)
        at += 4
        for _ in range(count if kind == _MULTI_POLYGON else 0):
            at = _end_of_polygon(wkb, at)
        return kind == _MULTI_POLYGON and at == len(wkb)
    except (struct.error, ValueError):
        return False


def _kind(wkb: bytes, at: int) -> tuple[int, int]:
    """Of the geometry that begins here, and where its contents begin."""
    order, kind = struct.unpack_from("<BI", wkb, at)
    if order != 1:
        raise ValueError("not as we write it")
    return kind, at + 5


def _end_of_polygon(wkb: bytes, at: int) -> int:
    kind, inside = _kind(wkb, at)
    if kind != _POLYGON:
        raise ValueError("not a polygon")
    (rings,) = struct.unpack_from("<I", wkb, inside)
    at = inside + 4
    for _ in range(rings):
        (points,) = struct.unpack_from("<I", wkb, at)
        at += 4 + 16 * points
    return at
