"""Scales and rasters of a map: upper ends of colour scales, boxes as pixels, the shape of a degree.

Everything comes from a release, which is public.
"""

from __future__ import annotations

import math

import numpy as np

from spatialdp._support.arrays import Floats, Integers, Integers32
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE, cells_of, edge_lines

__all__ = ["PIXELS", "aspect", "box_raster", "highest", "on_grid", "pixels"]

# Boxes that follow no grid are painted on so many pixels along the longer side: finer than a page shows them.
PIXELS = 1536


def highest(values: Floats, areas: Floats) -> float:
    """Upper end of a colour scale, from released values: what 99.5 % of the map's area stays below."""
    if not values.size:
        return 1.0
    if areas.min() == areas.max():  # no need to sort
        place = min(int(np.ceil(0.995 * values.size)) - 1, values.size - 1)
        high = float(np.partition(values, place)[place])
    else:
        order = np.argsort(values)
        below = np.cumsum(areas[order])
        high = float(values[order[np.searchsorted(below, 0.995 * below[-1])]])
    return high if high > 0 else 1.0


def box_raster(boxes: Integers, shape: tuple[int, int]) -> Integers32:
    """Which of some disjoint lattice boxes holds the centre of each pixel, (rows, columns); -1 for none.

    Every box puts its number on its four corners, with alternating signs; running sums along both axes then fill it.

    Examples
    --------
    >>> half, whole = LATTICE // 2, LATTICE
    >>> box_raster(np.array([[0, 0, half, whole], [half, half, whole, whole]]), (4, 2)).tolist()
    [[0, 0, -1, -1], [0, 0, 1, 1]]
    """
    nx, ny = shape
    west, south, east, north = (_first_pixels(boxes[:, i], count) for i, count in enumerate((nx, ny, nx, ny)))
    if np.all(east - west == 1) and np.all(north - south == 1):
        single = np.full((ny, nx), -1, dtype=np.int32)
        single[south, west] = np.arange(len(boxes))
        return single
    numbers = np.arange(1.0, len(boxes) + 1)
    painted = np.zeros((ny + 1) * (nx + 1))
    for rows, columns, sign in ((south, west, 1), (north, east, 1), (south, east, -1), (north, west, -1)):
        painted += np.bincount(rows * (nx + 1) + columns, sign * numbers, minlength=painted.size)
    filled = painted.reshape(ny + 1, nx + 1).cumsum(axis=0).cumsum(axis=1)[:ny, :nx]
    return filled.astype(np.int32) - 1


def _first_pixels(lines: Integers, count: int) -> Integers:
    """The first of `count` pixels whose centre is not below lattice lines."""
    return np.asarray(-((LATTICE - 2 * count * lines) // (2 * LATTICE)))


def on_grid(boxes: Integers, shape: tuple[int, int]) -> bool:
    """Whether all edges of boxes are edges of the domain's grid of this shape."""
    for axis, count in enumerate(shape):
        edges = boxes[:, axis::2]
        lines = edge_lines(count)
        cells = cells_of(np.minimum(edges, LATTICE - 1), count)
        if not np.all((lines[cells] == edges) | (edges == LATTICE)):
            return False
    return True


def aspect(domain: Domain) -> float:
    """Height of a unit of y over width of a unit of x: degrees of longitude shrink with latitude."""
    if not crs_.geographic(domain.crs):
        return 1.0
    middle = (domain.bounds[1] + domain.bounds[3]) / 2
    return 1 / max(0.1, math.cos(math.radians(middle)))


def pixels(domain: Domain) -> tuple[int, int]:
    """Columns and rows of square pixels for boxes that follow no grid."""
    width, height = domain.size
    longest = max(width, height)
    nx, ny = (max(1, round(PIXELS * side / longest)) for side in (width, height))
    return nx, ny
