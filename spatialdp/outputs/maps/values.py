"""Which numbers does a map need before it is drawn? Ends of colour scales, boxes as pixels, proportions of the domain.

All functions work on released values or public parameters; none may be called with records.
"""

from __future__ import annotations

import math

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers, Integers32
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE, cells_of, edge_lines

__all__ = ["PIXELS", "aspect", "box_raster", "corners", "highest", "on_grid", "pixels"]

# Boxes that follow no grid are painted on this many pixels along the longer side: finer than a printed page shows.
PIXELS = 1536

_SMALLEST = 1e-150  # an estimate below this is no count, and a scale that ends there would overflow


def highest(values: Floats, areas: Floats) -> float:
    """Return the upper end of a colour scale, from released values: 99.5 % of the map's area has no higher value."""
    if not values.size:
        return 1.0
    if areas.min() == areas.max():  # equal areas: a partition is enough and faster than sorting
        place = min(int(np.ceil(0.995 * values.size)) - 1, values.size - 1)
        high = float(np.partition(values, place)[place])
    else:
        order = np.argsort(values)
        below = np.cumsum(areas[order])
        high = float(values[order[np.searchsorted(below, 0.995 * below[-1])]])
    return high if high > _SMALLEST else 1.0


def box_raster(boxes: Integers, shape: tuple[int, int]) -> Integers32:
    """Return, for each pixel, the number of the lattice box that holds its centre, (rows, columns); -1 for none.

    The boxes must not overlap. Every box adds its number at its four corners, with alternating signs; running sums
    along both axes then fill the box.

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
    """Return, for each lattice line, the first of `count` pixels whose centre is not below the line."""
    return np.asarray(-((LATTICE - 2 * count * lines) // (2 * LATTICE)))


def corners(boxes: Array, domain: Domain) -> Floats:
    """Return the corners of lattice boxes in domain coordinates, (n, 4, 2)."""
    x0, y0, x1, y1 = (axis.coordinates(boxes[:, i]) for i, axis in enumerate((*domain.axes, *domain.axes)))
    return np.stack([np.stack(corner, axis=1) for corner in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))], axis=1)


def on_grid(boxes: Integers, shape: tuple[int, int]) -> bool:
    """Whether all edges of the boxes lie on lines of the domain's grid of this shape."""
    for axis, count in enumerate(shape):
        edges = boxes[:, axis::2]
        lines = edge_lines(count)
        cells = cells_of(np.minimum(edges, LATTICE - 1), count)
        if not np.all((lines[cells] == edges) | (edges == LATTICE)):
            return False
    return True


def aspect(domain: Domain) -> float:
    """Return how much longer a unit of y is than a unit of x: 1 except for degrees, where longitude shrinks."""
    if not crs_.geographic(domain.crs):
        return 1.0
    middle = (domain.bounds[1] + domain.bounds[3]) / 2
    return 1 / max(0.1, math.cos(math.radians(middle)))


def pixels(domain: Domain) -> tuple[int, int]:
    """Return the columns and rows of square pixels on which boxes that follow no grid are painted."""
    width, height = domain.size
    longest = max(width, height)
    nx, ny = (max(1, round(PIXELS * side / longest)) for side in (width, height))
    return nx, ny
