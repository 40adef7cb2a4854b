"""A grid of up to 2^60 cells, which is never laid out: cells are numbers, and arrays hold those that matter.

A `Grid` has arrays for all of its columns, rows and cells. A `FineGrid` computes what it is asked about single cells,
so that it can be as fine as the lattice itself. Cell (column, row) has the number row · nx + column, which has 60 bits.
Which cell a lattice square is in, and where cells begin, follow the rules of `lattice`.

A region is taken as a raster where a grid has more cells than a mask should have: a cell belongs to it if any of its
lattice squares lies in a raster cell that belongs to the region ("touching"), or if its middle square does ("centres").
If cells lie in blocks, a cell belongs to the region if its block does, by the rule of plain grids. Everything here is
public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp._support.checks import positive_pair, whole_pair
from spatialdp.space.domain import LARGEST_GRID, RASTER_SHIFT, RASTER_SIDE, Domain, Grid
from spatialdp.space.lattice import LATTICE, cell_lines, cells_of
from spatialdp.space.regions.cells import RegionCells

__all__ = ["FineGrid"]

_MASKED = 2**22  # cells up to which a region is known cell by cell


@dataclass(frozen=True)
class FineGrid:
    """The cells of a domain: nx columns by ny rows, row 0 in the south, up to 2^30 of each.

    Attributes
    ----------
    domain : Domain
    shape : (nx, ny)
    blocks : (nx, ny), optional
        Numbers of columns and rows of blocks of cells, which divide those of the cells. Blocks that belong to the
        region do so with all of their cells.

    Examples
    --------
    >>> grid = FineGrid(Domain((0, 0, 1, 1)), (2**30, 2**30))
    >>> grid.n_cells == 2**60
    True
    >>> numbers = grid.numbers(np.array([0, 5]), np.array([0, 1]))
    >>> numbers.tolist() == [0, 2**30 + 5]
    True
    >>> [each.tolist() for each in grid.columns_and_rows(numbers)]
    [[0, 5], [0, 1]]
    """

    domain: Domain
    shape: tuple[int, int]
    blocks: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", whole_pair(self.shape, "shape"))

    @classmethod
    def of(
        cls,
        domain: Domain,
        shape: Sequence[int] | None = None,
        cell_size: float | Sequence[float] | None = None,
    ) -> FineGrid:
        """Divide a domain into cells by their number or by their size, as `Domain.grid` does.

        Examples
        --------
        >>> FineGrid.of(Domain((0, 0, 10, 5)), cell_size=2.5e-6).shape
        (4000000, 2000000)
        """
        if shape is not None:
            return cls(domain, whole_pair(shape, "shape"))
        return cls(domain, domain.shape_of(positive_pair(cell_size, "cell_size")))

    @property
    def n_numbers(self) -> int:
        """Number of cells in the region and outside of it: cells have the numbers below this."""
        return self.shape[0] * self.shape[1]

    @property
    def plain(self) -> Grid | None:
        """The same cells as a grid that is laid out, if there is one with the same region."""
        if self.blocks is not None and self.domain.region is not None:
            return None
        most = _MASKED if self.domain.region is not None else LARGEST_GRID
        return Grid(self.domain, self.shape) if self.n_numbers <= most else None

    @cached_property
    def n_cells(self) -> int:
        """Number of cells in the region."""
        if self.domain.region is None:
            return self.n_numbers
        if self.blocks is not None:
            return int(np.count_nonzero(self._block_mask)) * (self.n_numbers // math.prod(self.blocks))
        if self._mask is not None:
            return int(np.count_nonzero(self._mask))
        columns, rows = (self._runs(axis) for axis in range(2))
        return int(columns[1] @ self._meets(*np.ix_(columns[0], rows[0])) @ rows[1])

    def numbers(self, columns: Array, rows: Array) -> Integers:
        """Return the numbers of cells given by column and row."""
        return np.asarray(rows, dtype=np.int64) * self.shape[0] + columns

    def columns_and_rows(self, numbers: Integers) -> tuple[Integers, Integers]:
        """Return the columns and rows of cells given by number."""
        rows, columns = np.divmod(numbers, self.shape[0])
        return columns, rows

    def of_squares(self, columns: Array, rows: Array) -> Integers:
        """Return the number of the cell that each lattice square lies in."""
        nx, ny = self.shape
        cells = cells_of(rows.astype(np.int64), ny)
        cells *= nx
        cells += cells_of(columns.astype(np.int64), nx)
        return cells

    def inside(self, numbers: Integers) -> Booleans:
        """Return which cells, given by number, belong to the region."""
        if self.domain.region is None:
            return np.ones(numbers.size, dtype=bool)
        if self.blocks is not None:
            columns, rows = self.blocks_of(*self.columns_and_rows(numbers))
            return np.asarray(self._block_mask[rows, columns])
        if self._mask is not None:
            return np.asarray(self._mask.take(numbers))
        return self._meets(*self.columns_and_rows(numbers))

    def blocks_of(self, columns: Integers, rows: Integers) -> tuple[Integers, Integers]:
        """Return the column and row of the block that each cell is in; only if there are blocks.

        Examples
        --------
        >>> grid = FineGrid(Domain((0, 0, 1, 1)), (8, 6), blocks=(2, 3))
        >>> grid.blocks_of(np.array([3, 4]), np.array([5, 1]))
        (array([0, 1]), array([2, 0]))
        """
        assert self.blocks is not None, "a grid without blocks"
        across, up = (cells // blocks for cells, blocks in zip(self.shape, self.blocks, strict=True))
        return columns // across, rows // up

    def lattice_boxes(self, columns: Integers, rows: Integers) -> Integers:
        """Return the lattice box (x0, y0, x1, y1) of each cell, (n, 4)."""
        (west, east), (south, north) = (
            (cell_lines(cells, count), cell_lines(cells + 1, count))
            for cells, count in zip((columns, rows), self.shape, strict=True)
        )
        return np.stack([west, south, east, north], axis=1)

    def boxes(self, columns: Integers, rows: Integers) -> Floats:
        """Return the coordinates of each cell's edges (xmin, ymin, xmax, ymax), (n, 4)."""
        (x, y), (nx, ny) = self.domain.axes, self.shape
        west, east = (x.edges_of(columns + step, nx) for step in (0, 1))
        south, north = (y.edges_of(rows + step, ny) for step in (0, 1))
        return np.stack([west, south, east, north], axis=1)

    def cells_and_shares(self, lines: Integers, axis: int) -> tuple[Integers, Floats]:
        """Return the column (or row) that each lattice line lies in, and the share of the cell below that line."""
        count = self.shape[axis]
        cells = cells_of(np.minimum(lines, LATTICE - 1), count)
        start = cell_lines(cells, count)
        return cells, (lines - start) / (cell_lines(cells + 1, count) - start)

    @property
    def _block_mask(self) -> Booleans:
        """Which blocks belong to the region, (rows, columns)."""
        assert self.blocks is not None, "a grid without blocks"
        return Grid(self.domain, self.blocks).mask

    @cached_property
    def _mask(self) -> Booleans | None:
        """Which cells belong to the region, if they are few enough."""
        return Grid(self.domain, self.shape).mask if self.n_numbers <= _MASKED else None

    def _raster_cells(self, cells: Integers, axis: int) -> tuple[Integers, Integers]:
        """Return the first and the last raster column (or row) that decide about each column (or row) of cells."""
        count = self.shape[axis]
        low, high = cell_lines(cells, count), cell_lines(cells + 1, count)
        if self.domain.region_cells is RegionCells.CENTRES:
            low = high = (low + high) // 2
        else:
            high = high - 1
        return low >> RASTER_SHIFT, high >> RASTER_SHIFT

    def _raster_cell(self, axis: int, end: int, cells: Integers) -> Integers:
        return self._raster_cells(cells, axis)[end]

    def _meets(self, columns: Integers, rows: Integers) -> Booleans:
        """Return whether the raster rectangle of each cell has a cell of the region; arrays that broadcast."""
        (left, right), (bottom, top) = self._raster_cells(columns, 0), self._raster_cells(rows, 1)
        sums = self._raster_sums
        filled = sums[top + 1, right + 1] - sums[bottom, right + 1] - sums[top + 1, left] + sums[bottom, left]
        return np.asarray(filled > 0)

    @cached_property
    def _raster_sums(self) -> Integers:
        """Prefix sums of the raster cells that belong to the region."""
        raster = self.domain.region_raster
        assert raster is not None
        sums = np.zeros((RASTER_SIDE + 1, RASTER_SIDE + 1), dtype=np.int64)
        sums[1:, 1:] = raster.cumsum(axis=0).cumsum(axis=1)
        return sums

    def _runs(self, axis: int) -> tuple[Integers, Integers]:
        """Return the first column (or row) of each run that the raster treats alike, and how many each run has."""
        count, targets = self.shape[axis], np.arange(1, RASTER_SIDE)
        changes = [_first(partial(self._raster_cell, axis, end), targets, count) for end in (0, 1)]
        starts = np.unique(np.concatenate([[0], *changes]))
        starts = starts[starts < count]
        return starts, np.diff(starts, append=count)


def _first(growing: Callable[[Integers], Integers], targets: Integers, count: int) -> Integers:
    """Return the first cell at which a growing function of cells reaches each target; `count` if none does."""
    low, high = np.zeros(targets.size, dtype=np.int64), np.full(targets.size, count, dtype=np.int64)
    for _ in range(math.ceil(math.log2(count)) + 1 if count > 1 else 1):
        middle = (low + high) // 2
        reached = growing(np.minimum(middle, count - 1)) >= targets
        high = np.where(reached, np.minimum(middle, high), high)
        low = np.where(reached | (middle >= count), low, middle + 1)
    return high
