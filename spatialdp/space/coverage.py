"""How much of each cell a box covers, and sums over cells that are weighted by this coverage.

Along one axis the coverage has at most three stretches: the partly covered first cell, the whole cells between, the
partly covered last cell. A sum over cells of value x (coverage along x) x (coverage along y) therefore needs prefix
sums at 4 x 4 knots, whatever the size of the box. The same knots with powers of the coverage give the moments of the
noise in an answer. The derivation is in ``docs/design/boxes.md``. Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.space.domain import Grid
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.lattice import LATTICE, cells_of

__all__ = [
    "Coverage",
    "add_up",
    "block_powers",
    "coverages",
    "fine_coverages",
    "knot_sums",
    "prefix_sums",
    "weighted_sums",
    "whole_cells",
]

_WIDE = 64  # columns of a grid whose rows are added one by one


@dataclass(frozen=True, eq=False)
class Coverage:
    """How much of each cell of one axis is covered, for many boxes.

    Attributes
    ----------
    knots : (4, m) int array
        Cell edges where the coverage changes.
    parts : (3, m) float array
        Coverage of the cells between successive knots.
    start, stop : (m,) float arrays
        Where each box begins and ends, in units of cells.
    """

    knots: Integers
    parts: Floats
    start: Floats
    stop: Floats

    @classmethod
    def of(cls, low: Integers, high: Integers, lines: Integers) -> Coverage:
        """Compute the coverage, by lattice intervals [low, high), of the cells with edges at `lines`."""
        return cls.between(*_cell_and_fraction(low, lines), *_cell_and_fraction(high, lines))

    @classmethod
    def between(cls, first: Integers, from_: Floats, last: Integers, to: Floats) -> Coverage:
        """Compute the coverage by intervals from a share `from_` of the first cell to a share `to` of the last one."""
        same = first == last
        # Within one cell only the first stretch is not empty.
        knots = np.array([first, first + 1, np.maximum(last, first + 1), last + 1])
        between = np.where(last > first + 1, 1.0, 0.0)
        parts = np.array([np.where(same, to, 1.0) - from_, between, np.where(same, 0.0, to)])
        return cls(knots, parts, first + from_, last + to)

    @property
    def whole(self) -> Booleans:
        """Whether each box covers no cell in part."""
        return np.asarray(((self.parts == 0) | (self.parts == 1)).all(axis=0))

    def weights(self, power: int) -> Floats:
        """Return the weights with which the prefix sums at the four knots add up to Σ value x coverage^power."""
        first, middle, last = self.parts**power
        return np.array([-first, first - middle, middle - last, last])

    def squares(self, side: int) -> Floats:
        """Return Σ (mean coverage)² over the blocks of `side` cells."""
        return block_powers(self.start / side, self.stop / side, 2)


def block_powers(start: Floats, stop: Floats, power: int) -> Floats:
    """Return Σ (covered share)^power over the unit intervals [0, 1), [1, 2), ..., for intervals [start, stop)."""
    first, last = np.floor(start), np.floor(stop)
    apart = (first + 1 - start) ** power + (last - first - 1) + (stop - last) ** power
    return np.where(first == last, (stop - start) ** power, apart)


def _cell_and_fraction(places: Integers, lines: Integers) -> tuple[Integers, Floats]:
    """Return the cell that each lattice line lies in, and the share of the cell below that line."""
    count = lines.size - 1
    cell = cells_of(np.minimum(places, LATTICE - 1), count)
    start = lines[cell]
    return cell, (places - start) / (lines[cell + 1] - start)


def prefix_sums(values: npt.NDArray[np.generic]) -> Floats:
    """Return, for each corner of the grid, the sum over all cells south-west of it: (ny + 1, nx + 1)."""
    sums = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    sums[1:, 1:] = values
    add_up(sums[1:, 1:])
    return sums


def add_up(values: Floats) -> None:
    """Replace each cell's value by the sum of those that are neither north nor east of it."""
    if values.shape[1] < _WIDE:
        np.cumsum(values, axis=0, out=values)
    else:  # numpy goes column by column, which takes four times as long
        for below, row in pairwise(values):
            row += below
    np.cumsum(values, axis=1, out=values)


def weighted_sums(sums: Floats, x: Coverage, y: Coverage, power: int) -> Floats:
    """Return Σ value x (coverage along x)^power x (coverage along y)^power over cells, from the values' prefix sums."""
    return knot_sums(sums, (x.knots, x.weights(power)), (y.knots, y.weights(power)))


def knot_sums(sums: Floats, x: tuple[Integers, Floats], y: tuple[Integers, Floats]) -> Floats:
    """Return, for each box, the sum of prefix sums at its 4 x 4 knots, times weights along x and along y.

    Parameters
    ----------
    sums : (ny + 1, nx + 1) array
        Prefix sums of the cells' values.
    x, y : pairs of (4, m) arrays
        The knots of each box along the axis, and their weights.
    """
    (columns, column_weights), (rows, row_weights) = x, y
    result = np.zeros(columns.shape[1])
    for row, row_weight in zip(rows * sums.shape[1], row_weights, strict=True):
        along = np.zeros(result.size)
        for column, weight in zip(columns, column_weights, strict=True):
            along += weight * sums.take(row + column)
        result += row_weight * along
    return result


def coverages(grid: Grid, boxes: Integers) -> tuple[Coverage, Coverage]:
    """Return how much of a grid's columns, and of its rows, each lattice box covers."""
    x = Coverage.of(boxes[:, 0], boxes[:, 2], grid.x_lines)
    y = Coverage.of(boxes[:, 1], boxes[:, 3], grid.y_lines)
    return x, y


def whole_cells(grid: Grid, boxes: Integers) -> Booleans:
    """Return whether each lattice box is made of whole cells of a grid, so that it cuts none."""
    x, y = coverages(grid, boxes)
    return x.whole & y.whole


def fine_coverages(grid: FineGrid, boxes: Integers) -> tuple[Coverage, Coverage]:
    """Return the same for a grid that has no arrays of its lines."""
    x, y = (
        Coverage.between(*grid.cells_and_shares(boxes[:, axis], axis), *grid.cells_and_shares(boxes[:, axis + 2], axis))
        for axis in range(2)
    )
    return x, y
