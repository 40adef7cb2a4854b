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
from spatialdp.records.formats.base import forgetful
from spatialdp.records.persons.bounding import bounded_among
from spatialdp.records.persons.identifiers import joined
from spatialdp.space.domain import Grid
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.lattice import LATTICE, Axis, cells_of

if TYPE_CHECKING:
    import pyarrow as pa

    from spatialdp.privacy.unit import Person
    from spatialdp.records.points import Points

__all__ = [
    "FINE_SIDE",
    "Tally",
    "can_occupy",
    "cell_numbers",
    "count_cells",
    "count_records",
    "lattice_cell_numbers",
    "occupied_cells",
]

FINE_SIDE = 4096  # columns and rows of the public grid that trees without a grid of their own are grown from

_CHUNK = 2**15  # records at a time: the work arrays stay in the processor's cache
_FEWEST_WAITING, _MOST_WAITING = 2**18, 2**21  # cell numbers that are gathered before they are counted
_EXACT = 2**23  # lattice positions times fewer cells than this are whole numbers that doubles hold exactly


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
    tally = Tally(nx * ny + 1)  # the last entry collects the records outside the bounds
    for cells in points._cells(grid):
        tally.add(cells)
    cell_counts: Integers = tally.counts()[:-1].reshape(ny, nx)
    if not grid.mask.all():
        cell_counts[~grid.mask] = 0
    return cell_counts


def can_occupy(points: Points, grid: FineGrid) -> bool:
    """Whether `occupied_cells` can count these points: those in an engine are counted on plain grids alone."""
    return points._has_positions or grid.plain is not None


@forgetful
def occupied_cells(points: Points, grid: FineGrid, person: Person | None = None) -> tuple[Integers, Integers]:
    """Return the numbers of the cells of the region with records, in order, and their exact counts.

    Counts are those of `count_cells`. The cells may be any of 2^60, and are found by sorting the records' cells: time
    and memory follow the number of records.
    """
    if not points._has_positions:
        assert grid.plain is not None, "checked by `can_occupy`"
        counts = points._counts(grid.plain, person).ravel()
        occupied = np.flatnonzero(counts)
        return occupied, counts[occupied]
    if person is not None:
        return bounded_among(*_persons_and_cells(points, grid), person)
    parts = [grid.of_squares(columns, rows) for columns, rows in points._positions(grid.domain)]
    cells = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    del parts  # the same numbers once more
    cells.sort()
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    occupied, counts = cells[starts], np.diff(starts, append=cells.size)
    inside = grid.inside(occupied)
    return occupied[inside], counts[inside]


def _persons_and_cells(points: Points, grid: FineGrid) -> tuple[pa.Array, Integers]:
    """Return the persons and the cells of the records in the region."""
    import pyarrow as pa

    persons, cells = [], [np.empty(0, dtype=np.int64)]
    for block in points._squares(grid.domain):
        assert block.persons is not None, "checked by as_points"
        numbers = grid.of_squares(block.columns, block.rows)
        inside = (block.columns >= 0) & grid.inside(np.maximum(numbers, 0))
        persons.append(block.persons.filter(pa.array(inside)))
        cells.append(numbers[inside])
    return joined(persons), np.concatenate(cells)


class Tally:
    """Counts how often each number occurs, in blocks of about twice as many numbers as there are cells.

    Adding up two arrays of all cells takes as long as counting that many records, so small blocks wait for others.
    """

    def __init__(self, size: int) -> None:
        self._counts = np.zeros(size, dtype=np.int64)
        self._waiting = np.empty(min(max(2 * size, _FEWEST_WAITING), _MOST_WAITING), dtype=np.int64)
        self._filled = 0

    def add(self, numbers: Integers) -> None:
        """Count some numbers; the array may be overwritten afterwards."""
        if self._filled + numbers.size > self._waiting.size:
            self._count(self._waiting[: self._filled])
            self._filled = 0
        if numbers.size > self._waiting.size:
            self._count(numbers)
            return
        self._waiting[self._filled : self._filled + numbers.size] = numbers
        self._filled += numbers.size

    def counts(self) -> Integers:
        """Return how often each number was added."""
        self._count(self._waiting[: self._filled])
        self._filled = 0
        return self._counts

    def _count(self, numbers: Integers) -> None:
        if self._counts.size <= 2 * _MOST_WAITING:
            self._counts += np.bincount(numbers, minlength=self._counts.size)
        else:
            np.add.at(self._counts, numbers, 1)


def cell_numbers(blocks: Iterable[tuple[Array, Array]], grid: Grid) -> Iterator[Integers]:
    """Yield the cell numbers of coordinates, row * nx + column, block by block; nx * ny for those outside the bounds.

    The same array is used for many blocks: read it before the next one.
    """
    snapper, cells = _CellSnapper(grid), np.empty(_CHUNK, dtype=np.int64)
    for x, y in blocks:
        if x.shape[0] > cells.size:
            cells = np.empty(x.shape[0], dtype=np.int64)
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
    """Computes the cell numbers of chunks of records, in work arrays that are allocated once.

    Cells are computed in doubles, which processors handle several at a time, unless an axis has so many cells that the
    doubles would not be exact.
    """

    def __init__(self, grid: Grid) -> None:
        x, y = grid.domain.axes
        self._axes = (x, x.spacing), (y, y.spacing)
        self._shape = grid.shape
        self._work = np.empty(_CHUNK)
        # A grid has at most 2^28 cells, so that their numbers have 32 bits. What is outside is overwritten.
        self._columns, self._rows = np.empty(_CHUNK, dtype=np.int32), np.empty(_CHUNK, dtype=np.int32)
        self._inside, self._flag = np.empty(_CHUNK, dtype=bool), np.empty(_CHUNK, dtype=bool)

    def cells(self, x: Array, y: Array, out: Integers) -> None:
        """Write row * nx + column of each record, or nx * ny if it is outside the bounds."""
        nx, ny = self._shape
        columns, rows, inside = self._columns[: out.size], self._rows[: out.size], self._inside[: out.size]
        inside[:] = True
        # NaN and overflow must pass silently: a warning would tell that such a record exists.
        with np.errstate(all="ignore"):
            self._axis_cells(x, *self._axes[0], nx, columns, inside)
            self._axis_cells(y, *self._axes[1], ny, rows, inside)
            rows *= nx
            rows += columns
        np.putmask(rows, np.logical_not(inside, out=inside), nx * ny)
        out[:] = rows

    def _axis_cells(
        self, values: Array, axis: Axis, spacing: float, count: int, out: Integers32, inside: Booleans
    ) -> None:
        work, flag = self._work[: out.size], self._flag[: out.size]
        doubles = values.astype(np.float64, copy=False)
        inside &= np.greater_equal(doubles, axis.low, out=flag)
        inside &= np.less_equal(doubles, axis.high, out=flag)
        np.subtract(doubles, axis.low, out=work)
        work /= spacing
        np.minimum(work, LATTICE - 1, out=work)
        if count >= _EXACT:
            np.copyto(out, cells_of(work.astype(np.int64), count), casting="unsafe")
            return
        # The formula of `cells_of`, with both numbers divided by a power of two, which is exact.
        np.floor(work, out=work)
        work *= count / LATTICE
        work += (count - 1) / LATTICE
        np.copyto(out, work, casting="unsafe")
