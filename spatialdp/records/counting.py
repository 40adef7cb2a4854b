"""How many records lie in each cell of a grid, counted exactly, a block of records at a time.

A record is snapped to the lattice, and its cell follows in integer arithmetic, as in `space.lattice`; the same two
formulas are written out here on reused work arrays, for speed (``docs/design/lattice.md``). Records outside the bounds
or not finite count nowhere. Nothing here may warn or raise because of a value: a warning would tell that the record
exists. The counts are private.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers, Integers32
from spatialdp.space.domain import Grid
from spatialdp.space.lattice import LATTICE, LATTICE_BITS, Axis, cells_of

if TYPE_CHECKING:
    from spatialdp.privacy.unit import Person
    from spatialdp.records.points import Points

__all__ = ["FINE_SIDE", "cell_numbers", "count_cells", "count_records", "lattice_cell_numbers"]

FINE_SIDE = 4096  # columns and rows of the public grid that trees without a grid of their own are grown from

_CHUNK = 2**15  # records at a time: the work arrays stay in the processor's cache
_MANY_CELLS = 2**19  # from so many cells on, records are added one by one: arrays of all cells take longer than a block


def count_cells(points: Points, grid: Grid, person: Person | None = None) -> Integers:
    """Return the exact counts of the cells, as an (ny, nx) array; zero outside the region.

    Without a bound on persons, these are numbers of records, which are read once, in blocks: beyond the input, memory
    holds a few megabytes and the counts. With a bound they are what is kept of each person's records: numbers of
    records, numbers of persons, or shares in steps of 1 / `Person.steps`.
    """
    return points._counts(grid, person)


def count_records(points: Points, grid: Grid) -> Integers:
    """Return the exact number of records in each cell, block by block, as `count_cells` does without persons."""
    nx, ny = grid.shape
    counts = np.zeros(nx * ny + 1, dtype=np.int64)  # the last entry collects the records outside the bounds
    for cells in points._cells(grid):
        if counts.size < _MANY_CELLS:
            counts += np.bincount(cells, minlength=counts.size)
        else:
            np.add.at(counts, cells, 1)
    cell_counts: Integers = counts[:-1].reshape(ny, nx)
    if not grid.mask.all():
        cell_counts[~grid.mask] = 0
    return cell_counts


def cell_numbers(blocks: Iterable[tuple[Array, Array]], grid: Grid, most: int) -> Iterator[Integers]:
    """Yield the cell numbers of coordinates, row * nx + column, block by block; nx * ny for those outside the bounds.

    Blocks have at most `most` records. The same array is used for each block: read it before the next one.
    """
    snapper, cells = _CellSnapper(grid), np.empty(most, dtype=np.int64)
    for x, y in blocks:
        part = cells[: x.shape[0]]
        for start in range(0, part.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            snapper.cells(x[chunk], y[chunk], out=part[chunk])
        yield part


def lattice_cell_numbers(blocks: Iterable[tuple[Integers32, Integers32]], grid: Grid) -> Iterator[Integers]:
    """Yield the cell numbers of lattice columns and rows, all of them within the bounds, block by block."""
    nx, ny = grid.shape
    for columns, rows in blocks:
        cells = np.empty(columns.size, dtype=np.int64)
        for start in range(0, cells.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            x, y = columns[chunk].astype(np.int64), rows[chunk].astype(np.int64)
            np.add(cells_of(y, ny) * nx, cells_of(x, nx), out=cells[chunk])
        yield cells


class _CellSnapper:
    """Computes the cell numbers of chunks of records, in work arrays that are allocated once."""

    def __init__(self, grid: Grid) -> None:
        self._axes = grid.domain.axes
        self._shape = grid.shape
        self._work = np.empty(_CHUNK)
        self._column = np.empty(_CHUNK, dtype=np.int64)
        self._inside, self._flag = np.empty(_CHUNK, dtype=bool), np.empty(_CHUNK, dtype=bool)

    def cells(self, x: Array, y: Array, out: Integers) -> None:
        """Write row * nx + column of each record, or nx * ny if it is outside the bounds."""
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
        # NaN and overflow must pass silently: a warning would tell that such a record exists.
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
