"""Which boxes meet the region, and what do the cells in them add up to? Sums over a grid's cells, by covered shares.

Boxes are cut to the rectangle around the region's cells. A box gets the region's share of a cell on the border
(`borders`). Nothing here sees a record: callers bring values for the cells, or count the cells themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.space.coverage import coverages, prefix_sums, weighted_sums
from spatialdp.space.domain import Grid
from spatialdp.space.lattice import LATTICE
from spatialdp.space.regions.border_sums import BorderSums
from spatialdp.space.regions.borders import Border

__all__ = ["CellSums", "Extent"]


@dataclass(frozen=True, eq=False)
class CellSums:
    """For any box, the sum over cells of value x covered share.

    Attributes
    ----------
    grid : Grid
    values : (ny, nx) array
        The values of the grid's cells.
    border : Border or None
        The border cells, of which boxes get the region's shares; None for plain shares of all cells.
    """

    grid: Grid
    values: Array
    border: Border | None

    def of(self, boxes: Integers) -> Floats:
        """Return the sums of lattice boxes."""
        x, y = coverages(self.grid, boxes)
        sums = weighted_sums(self.prefix, x, y, power=1)
        return sums if self.border is None else sums + np.where(x.whole & y.whole, 0.0, self._changes.of(boxes))

    @cached_property
    def prefix(self) -> Floats:
        """Prefix sums of the values."""
        return prefix_sums(self.values)

    @cached_property
    def _changes(self) -> BorderSums:
        assert self.border is not None
        return BorderSums(self.border, self.values)


@dataclass(frozen=True, eq=False)
class Extent:
    """The smallest rectangle of cells that contains all cells of a grid's region.

    Attributes
    ----------
    grid : Grid
    border : Border, optional
        The border cells, of which boxes cover the region's shares; without it, boxes cover plain shares.
    """

    grid: Grid
    border: Border | None = None

    def within(self, boxes: Integers) -> tuple[Integers, Booleans]:
        """Clip boxes to the extent, and tell which of them cover any cell of the region.

        The other boxes are known to be empty. A box that contains every cell of the region is answered as the whole
        grid: transforms measure that total with the least noise.
        """
        mask, whole = self.grid.mask, (0, 0, LATTICE, LATTICE)
        everywhere = mask.all() or not mask.any()
        if everywhere and self.border is None:
            return boxes, np.ones(len(boxes), dtype=bool)
        inside = boxes
        if not everywhere:
            low, high = self._around
            inside = np.clip(boxes, low, high)
            inside[(inside == (*low[:2], *high[2:])).all(axis=1)] = whole
        covered = self.covered(inside)
        if self.border is not None:
            inside = np.where((covered > self.grid.n_cells - 1e-6)[:, None], whole, inside)
        return inside, covered > 1e-9

    def covered(self, boxes: Integers) -> Floats:
        """Return how many of the region's cells lattice boxes cover; cut cells count in part."""
        cells = weighted_sums(self.sums, *coverages(self.grid, boxes), power=1)
        return cells if self._changes is None else cells + self._changes.of(boxes)

    @cached_property
    def sums(self) -> Floats:
        """Prefix sums of the number of cells in the region."""
        return prefix_sums(self.grid.mask)

    @cached_property
    def _changes(self) -> BorderSums | None:
        return None if self.border is None else BorderSums(self.border, self.grid.mask)

    @cached_property
    def cells(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Lowest column and row of the region's cells, and one more than the highest column and row."""
        rows, columns = np.nonzero(self.grid.mask)
        return (int(columns.min()), int(rows.min())), (int(columns.max()) + 1, int(rows.max()) + 1)

    @cached_property
    def _around(self) -> tuple[Integers, Integers]:
        """Lattice lines around the region's cells: the least and the greatest that each side of a box may be."""
        x, y = self.grid.x_lines, self.grid.y_lines
        low, high = ((x[column], y[row]) for column, row in self.cells)
        return np.array(low * 2), np.array(high * 2)
