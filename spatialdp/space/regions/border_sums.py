"""How do the cells on the region's border change the sum over a box? Prefix sums over pieces of cells tell.

A box gets the share |box ∩ region ∩ cell| / |region ∩ cell| of a border cell, not |box ∩ cell| / |cell|: see `borders`.
The lines of the grid and of the raster that the region is drawn on cut cells into pieces. Within a piece the difference
of both shares is the same for each unit of area. So the sum of value x difference over all border cells is an integral
over the box, and prefix sums over the pieces give it at the box's four corners, however many cells its edges run
through. Sums of powers of shares are no such integrals; `Border.summed` lists the cells for these. Nothing here sees a
record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp.space.coverage import add_up, knot_sums
from spatialdp.space.domain import RASTER_SHIFT
from spatialdp.space.lattice import LATTICE, cells_of
from spatialdp.space.regions.borders import Border, plain_areas

__all__ = ["BorderSums"]

_LARGEST = 2**22  # pieces in a table, 32 MiB; for long and thin grids with more of them cells are listed


@dataclass(frozen=True, eq=False)
class BorderSums:
    """For any box, the sum over border cells of value x (covered share - plain share).

    Attributes
    ----------
    border : Border
    values : (ny, nx) array
        The values of the grid's cells.
    """

    border: Border
    values: Array

    def of(self, boxes: Integers) -> Floats:
        """Return the sums of lattice boxes."""
        pieces = _pieces_of(self.border)
        if pieces is None:
            listed = self.border.summed(boxes, lambda cuts: cuts.change() * self.values.take(cuts.cell))
            return np.asarray(listed[0])
        x, y = (pieces.axes[axis].knots(boxes[:, axis], boxes[:, axis + 2]) for axis in (0, 1))
        return knot_sums(self._sums, x, y)

    @cached_property
    def _sums(self) -> Floats:
        pieces = _pieces_of(self.border)
        assert pieces is not None
        x, y = pieces.axes
        sums = np.zeros((y.cells.size + 1, x.cells.size + 1))
        np.multiply(self.values[:, x.cells][y.cells], pieces.changes, out=sums[1:, 1:])
        add_up(sums[1:, 1:])
        return sums


@dataclass(frozen=True, eq=False)
class _Axis:
    """The lines of the grid and of the raster along one axis.

    Attributes
    ----------
    lines : int array
        All of them in ascending order, each once; pieces lie between them.
    cells, pixels : int arrays
        The grid's cell and the raster's cell that each piece lies in.
    common : int array
        For each cell, how many lines from the second up to the cell's own lower line are lines of both.
    """

    lines: Integers
    cells: Integers
    pixels: Integers
    common: Integers

    @classmethod
    def of(cls, cell_lines: Integers, pixel_lines: Integers) -> _Axis:
        lines = np.union1d(cell_lines, pixel_lines)
        cells, pixels = (np.searchsorted(some, lines[:-1], side="right") - 1 for some in (cell_lines, pixel_lines))
        return cls(lines, cells, pixels, np.cumsum(np.isin(cell_lines[:-1], pixel_lines)) - 1)

    def knots(self, low: Integers, high: Integers) -> tuple[Integers, Floats]:
        """Return the lines before and after both ends of intervals, and the weights that interpolate between them."""
        knots, weights = [], []
        for places, sign in ((low, -1.0), (high, 1.0)):
            before = self._piece(places)
            start = self.lines.take(before)
            share = sign * (places - start) / (self.lines.take(before + 1) - start)
            knots += [before, before + 1]
            weights += [sign - share, share]
        return np.array(knots), np.array(weights)

    def _piece(self, places: Integers) -> Integers:
        """The piece that each lattice line lies in: as many lines lie below it, of the grid and of the raster."""
        within = np.minimum(places, LATTICE - 1)
        cell = cells_of(within, self.common.size)
        return np.asarray(cell + (within >> RASTER_SHIFT) - self.common.take(cell))


@dataclass(frozen=True, eq=False)
class _Pieces:
    """The pieces that the lines of the grid and of the raster cut each other into.

    Attributes
    ----------
    axes : pair of _Axis
        Along x and along y.
    changes : (rows, columns) float array
        The share of its cell's count that a piece gets with the region's shares, less that with plain shares.
    """

    axes: tuple[_Axis, _Axis]
    changes: Floats


@lru_cache(maxsize=1)
def _pieces_of(border: Border) -> _Pieces | None:
    """Return the pieces of a grid's cells; None if there are too many."""
    grid, raster = border.grid, border.area.raster
    x, y = _Axis.of(grid.x_lines, raster.x_lines), _Axis.of(grid.y_lines, raster.y_lines)
    if x.lines.size * y.lines.size > _LARGEST:
        return None
    plain, covered = np.zeros((2, *grid.mask.shape))
    boxes = border.cell_boxes(border.cells)
    np.put(plain, border.cells, 1 / plain_areas(boxes))
    np.put(covered, border.cells, 1 / border.area.areas(boxes))
    at = np.ix_(y.cells, x.cells)
    changes = covered[at]  # in place from here on: pieces may be millions
    changes *= raster.mask[np.ix_(y.pixels, x.pixels)]
    changes -= plain[at]
    changes *= np.diff(y.lines)[:, None] / 2**RASTER_SHIFT
    changes *= np.diff(x.lines) / 2**RASTER_SHIFT
    return _Pieces((x, y), changes)
