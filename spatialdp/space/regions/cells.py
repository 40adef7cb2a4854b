"""Which cells of a grid belong to a public region? Those that touch it, or those whose centre lies in it.

By the rule "touching", a cell belongs if a place of the region, its border included, lies in the cell. No record in the
region is then dropped, whatever the size of the cells. Cells are half-open, as everywhere: a cell that meets the region
in its upper or right edge alone does not belong, because a record on that edge lies in the next cell. By the rule
"centres", a cell belongs if its centre lies in the region; records of the region in other cells count nowhere.

"Touching" works on the lattice. Every edge of the region is followed through the rows of the grid, and marks the cells
that it runs through. A cell without an edge lies inside or outside as a whole, and the number of edges to the west of
it says which. Corners are snapped as records are. Between its corners an edge is taken to be a little thick, far more
than rounding can move it and far less than a lattice interval. So rounding may add a cell that the region all but
touches, and never drops one. The work is proportional to the number of rows that edges run through. Nothing here sees a
record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, expand_ranges
from spatialdp._support.options import Option
from spatialdp.space.lattice import LATTICE, Axis, cells_of, edge_lines

__all__ = ["RegionCells", "cells_touching", "cells_with_centre"]

_PIECES = 2**20  # pieces of edges followed together
_BAND = 2**24  # cells whose marks are added up together
_THICKNESS = 2.0**-46  # of an edge, as a share of its largest coordinate: rounding moves it by less


class RegionCells(Option):
    """Which cells belong to a region: those that touch it, or those whose centre lies in it."""

    TOUCHING = "touching"
    CENTRES = "centres"


def cells_with_centre(region: Any, axes: tuple[Axis, Axis], shape: tuple[int, int]) -> Booleans:
    """Return which cells of a grid have their centre in the region, as an (ny, nx) array."""
    import shapely

    shapely.prepare(region)
    x, y = (axis.edges(count) for axis, count in zip(axes, shape, strict=True))
    centres = (x[:-1] + x[1:]) / 2, (y[:-1] + y[1:]) / 2
    mask: Booleans = shapely.contains_xy(region, centres[0][None, :], centres[1][:, None])
    return mask


def cells_touching(region: Any, axes: tuple[Axis, Axis], shape: tuple[int, int]) -> Booleans:
    """Return which cells of a grid a place of the region, its border included, lies in, as an (ny, nx) array."""
    nx, ny = shape
    edges = _edges(region, axes)
    # Going east along a row: how many more edges run through a cell than through the cell before, and how many edges
    # have been crossed. The latter may overflow, because only its last bit matters.
    running = np.zeros((ny, nx + 1), dtype=np.int32)
    crossed = np.zeros((ny, nx + 1), dtype=np.int8)
    rows = _rows(edges, ny)
    groups = np.cumsum(rows[1] - rows[0]) // _PIECES
    for group in np.split(np.arange(groups.size), np.flatnonzero(np.diff(groups)) + 1):
        edge, row = expand_ranges(rows[0][group], rows[1][group])
        _mark(running, crossed, edges[..., group[edge]], row, shape)
    mask = np.empty((ny, nx), dtype=bool)
    band = max(1, _BAND // nx)
    for start in range(0, ny, band):
        part = slice(start, start + band)
        border = np.cumsum(running[part, :-1], axis=1, dtype=np.int32) > 0
        mask[part] = border | (np.cumsum(crossed[part, :-1], axis=1, dtype=np.int8) & 1).astype(bool)
    return mask


def _edges(region: Any, axes: tuple[Axis, Axis]) -> Floats:
    """Return the edges of a region in lattice intervals: (lower and upper end, x and y, edges).

    Edges above, below or east of the domain are left out: none of them is met on the way east to a cell.
    """
    import shapely

    points, ring = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(region)), return_index=True)
    places = np.stack([axis.places(points[:, i]) for i, axis in enumerate(axes)])
    begin, end = (places[:, part][:, ring[1:] == ring[:-1]] for part in (slice(-1), slice(1, None)))
    edges = np.where(begin[1] <= end[1], np.stack([begin, end]), np.stack([end, begin]))
    near = (edges[0, 1] <= LATTICE) & (edges[1, 1] >= 0) & (edges[:, 0].min(axis=0) <= LATTICE)
    return edges[..., near]


def _rows(edges: Floats, ny: int) -> tuple[Integers, Integers]:
    """Return the first row that each edge runs through, and one more than the last."""
    return _cells(edges[0, 1], ny), _cells(edges[1, 1], ny) + 1


def _cells(places: Floats, count: int) -> Integers:
    """Return the cell, of `count` cells along an axis, that each place lies in; places outside are clipped."""
    return cells_of(np.clip(places, 0, LATTICE - 1).astype(np.int64), count)


def _mark(running: Array, crossed: Array, edges: Floats, row: Integers, shape: tuple[int, int]) -> None:
    """Enter pieces of edges, each in one row: the columns that a piece runs through, and where it is crossed."""
    nx, ny = shape
    lines = edge_lines(ny)
    (low, high), y = edges[:, 0], (edges[0, 1], edges[1, 1])
    west, east = np.minimum(low, high), np.maximum(low, high)
    slack = _THICKNESS * np.maximum(np.abs(edges).max(axis=(0, 1)), LATTICE)

    def x_at(place: Floats) -> Floats:
        """Where each edge has this y; its whole width counts as one place if it has no height."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(y[1] > y[0], (place - y[0]) / (y[1] - y[0]), 0.0)
        return np.asarray(np.clip(low + (high - low) * np.clip(share, 0.0, 1.0), west, east))

    ends = x_at(np.maximum(y[0], lines[row] - slack)), x_at(np.minimum(y[1], lines[row + 1] + slack))
    level = y[1] == y[0]
    first = np.where(level, west, np.maximum(np.minimum(*ends) - slack, west))
    last = np.where(level, east, np.minimum(np.maximum(*ends) + slack, east))
    seen = (last >= 0) & (first <= LATTICE)
    np.add.at(running, (row[seen], _cells(first[seen], nx)), 1)
    np.add.at(running, (row[seen], _cells(last[seen], nx) + 1), -1)
    # A cell without an edge lies on one side of each edge: it is enough to look along the middle of its row.
    middle = (lines[row] + lines[row + 1]) / 2
    x = x_at(middle)
    counted = (y[0] <= middle) & (middle < y[1]) & (x <= LATTICE)
    column = np.where(x[counted] < 0, 0, _cells(x[counted], nx) + 1)
    np.add.at(crossed, (row[counted], column), 1)
