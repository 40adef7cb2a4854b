"""Records in the cells of a grid, counted exactly, a block of records at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers, Integers32
from spatialdp.space.domain import Grid
from spatialdp.space.lattice import LATTICE, LATTICE_BITS, Axis, cells_of

if TYPE_CHECKING:
    from spatialdp.records.points import Points

__all__ = ["cell_numbers", "count_cells", "lattice_cell_numbers"]

_CHUNK = 2**15  # records at a time through the arithmetic: the work arrays stay in cache


def count_cells(points: Points, grid: Grid) -> Integers:
    """Exact counts, (ny, nx), of the records in each cell; zero outside the region.

    One pass, in blocks: memory beyond the input is a few megabytes and the counts.
    """
    nx, ny = grid.shape
    counts = np.zeros(nx * ny + 1, dtype=np.int64)  # the last one collects what counts nowhere
    for cells in points._cells(grid):
        counts += np.bincount(cells, minlength=counts.size)
    inside: Integers = counts[:-1].reshape(ny, nx)
    inside[~grid.mask] = 0
    return inside


def cell_numbers(blocks: Iterable[tuple[Array, Array]], grid: Grid, most: int) -> Iterator[Integers]:
    """Cell numbers of coordinates, row * nx + column, block by block; nx * ny for those outside the bounds.

    Blocks have at most `most` records. A block of numbers is overwritten by the next one.
    """
    snapper, cells = _CellSnapper(grid), np.empty(most, dtype=np.int64)
    for x, y in blocks:
        part = cells[: x.shape[0]]
        for start in range(0, part.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            snapper.cells(x[chunk], y[chunk], out=part[chunk])
        yield part


def lattice_cell_numbers(blocks: Iterable[tuple[Integers32, Integers32]], grid: Grid) -> Iterator[Integers]:
    """Cell numbers of lattice columns and rows, all of them within the bounds, block by block."""
    nx, ny = grid.shape
    for columns, rows in blocks:
        cells = np.empty(columns.size, dtype=np.int64)
        for start in range(0, cells.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            x, y = columns[chunk].astype(np.int64), rows[chunk].astype(np.int64)
            np.add(cells_of(y, ny) * nx, cells_of(x, nx), out=cells[chunk])
        yield cells


class _CellSnapper:
    """Cell numbers of chunks of records, with the work arrays allocated once."""

    def __init__(self, grid: Grid) -> None:
        self._axes = grid.domain.axes
        self._shape = grid.shape
        self._work = np.empty(_CHUNK)
        self._column = np.empty(_CHUNK, dtype=np.int64)
        self._inside, self._flag = np.empty(_CHUNK, dtype=bool), np.empty(_CHUNK, dtype=bool)

    def cells(self, x: Array, y: Array, out: Integers) -> None:
        """Write row * nx + column of each record, or nx * ny if it is outside."""
        nx, ny = self._shape
        size = out.size
        column, inside = self._column[:size], self._inside[:size]
        inside[:] = True
        self._axis_cells(x, self._axes[0], nx, column, inside)
        self._axis_cells(y, self._axes[1], ny, out, inside)
        out *= nx
        out += column
        np.putmask(out, np.logical_not(inside, out=inside), nx * ny)

    def _axis_cells(self, values: Array, axis: Axis, count: int, out: Integers, inside: Booleans) -> None:
        work, flag = self._work[: out.size], self._flag[: out.size]
        # Not-a-number and overflow are values like any other here: a warning would tell on a record.
        with np.errstate(all="ignore"):
            work[:] = values
            inside &= np.greater_equal(work, axis.low, out=flag)
            inside &= np.less_equal(work, axis.high, out=flag)
            work -= axis.low
            work /= axis.spacing
            np.minimum(work, LATTICE - 1, out=work)
            np.copyto(out, work, casting="unsafe")
            out *= count
            out += count - 1
            out >>= LATTICE_BITS
