"""Estimates on a grid, and how any box is answered from them.

The coverage of an axis by a box is a vector with at most three distinct stretches: the partly
covered first cell, the whole cells between, the partly covered last one. A sum over cells of
(value x coverage along x x coverage along y) therefore needs the 2D prefix sums at 4 x 4 knots, whatever
the size of the box. The same knots with squared coverages give the noise variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spatialdp.domain import LATTICE, Grid, cells_of

__all__ = ["Coverage", "Histogram", "prefix_sums"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coverage:
    """How much of each cell of one axis every box covers.

    Attributes
    ----------
    knots : (4, m) int array
        Cell edges where the coverage changes.
    parts : (3, m) float array
        Coverage of the cells between successive knots.
    """

    knots: Integers
    parts: Floats

    @classmethod
    def of(cls, low: Integers, high: Integers, lines: Integers) -> Coverage:
        """Coverage of cells with edges at `lines` by the lattice intervals [low, high)."""
        first, from_ = _cell_and_fraction(low, lines)
        last, to = _cell_and_fraction(high, lines)
        same = first == last
        # Within one cell only the first stretch is not empty.
        knots = np.stack([first, first + 1, np.maximum(last, first + 1), last + 1])
        between = np.where(last > first + 1, 1.0, 0.0)
        parts = np.stack([np.where(same, to, 1.0) - from_, between, np.where(same, 0.0, to)])
        return cls(knots, parts)

    def weights(self, power: int) -> Floats:
        """Weights of the prefix sums at the knots that add up to Σ value x coverage^power."""
        first, middle, last = self.parts**power
        return np.stack([-first, first - middle, middle - last, last])


def _cell_and_fraction(lines_at: Integers, lines: Integers) -> tuple[Integers, Floats]:
    count = lines.size - 1
    cell = cells_of(np.minimum(lines_at, LATTICE - 1), count)
    start = lines[cell]
    return cell, (lines_at - start) / (lines[cell + 1] - start)


def prefix_sums(values: npt.NDArray[np.generic]) -> Floats:
    """(ny + 1, nx + 1) sums of all cells south-west of each grid corner."""
    sums = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    np.cumsum(values, axis=0, out=sums[1:, 1:])
    np.cumsum(sums[1:, 1:], axis=1, out=sums[1:, 1:])
    return sums


@dataclass(frozen=True, eq=False)
class Histogram:
    """Independent noisy estimates of the cells of a grid.

    Attributes
    ----------
    grid : Grid
    values : (ny, nx) float array
        Estimated counts, 0 outside the region; read-only.
    variance, kurtosis, step : float
        Of the noise in each cell of the region.
    biased : bool
        Whether the estimates were altered so that their errors no longer average out.
    """

    kind: ClassVar[str] = "grid"

    grid: Grid
    values: Floats
    variance: float
    kurtosis: float
    step: float
    biased: bool = False

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @property
    def n_cells(self) -> int:
        """Number of cells in the region."""
        return self.grid.n_cells

    @property
    def total(self) -> float:
        """Sum of all estimates."""
        return float(self.values.sum())

    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes, records taken as evenly spread within a cell."""
        return _weighted(self._value_sums, *self._coverages(boxes), power=1)

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each answer."""
        x, y = self._coverages(boxes)
        squares = np.maximum(_weighted(self._mask_sums, x, y, power=2), 0.0)
        fourths = np.maximum(_weighted(self._mask_sums, x, y, power=4), 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            kurtosis = self.kurtosis * fourths / squares**2
        return self.variance * squares, np.where(squares > 0, kurtosis, 0.0)

    def uniformity(self, boxes: Integers) -> Floats:
        """How far an answer can be off because records are not evenly spread within the cells it cuts.

        The sum, over cut cells, of the estimate times the larger of the covered and the uncovered share.
        """
        x, y = self._coverages(boxes)
        result = np.zeros(boxes.shape[0])
        for i in range(3):
            for j in range(3):
                share = y.parts[i] * x.parts[j]
                cut = (share > 0) & (share < 1)
                held = _rectangle(self._positive_sums, y.knots[i : i + 2], x.knots[j : j + 2])
                result += np.where(cut, np.maximum(share, 1 - share) * held, 0.0)
        return result

    def non_negative(self, _method: object = None) -> Histogram:
        """Estimates cut off at zero, which is their non-negative least-squares fit; biased."""
        return replace(self, values=np.maximum(self.values, 0.0), biased=True)

    def rounded(self) -> Histogram:
        """Estimates rounded to whole numbers."""
        return replace(self, values=np.rint(self.values), biased=True)

    def leaf_boxes(self) -> Integers:
        """Lattice boxes of the region's cells, row by row."""
        rows, columns = np.nonzero(self.grid.mask)
        x, y = self.grid.x_lines, self.grid.y_lines
        return np.stack([x[columns], y[rows], x[columns + 1], y[rows + 1]], axis=1)

    def _coverages(self, boxes: Integers) -> tuple[Coverage, Coverage]:
        x = Coverage.of(boxes[:, 0], boxes[:, 2], self.grid.x_lines)
        y = Coverage.of(boxes[:, 1], boxes[:, 3], self.grid.y_lines)
        return x, y

    @cached_property
    def _value_sums(self) -> Floats:
        return prefix_sums(self.values)

    @cached_property
    def _positive_sums(self) -> Floats:
        return prefix_sums(np.maximum(self.values, 0.0))

    @cached_property
    def _mask_sums(self) -> Floats:
        return prefix_sums(self.grid.mask)


def _weighted(sums: Floats, x: Coverage, y: Coverage, power: int) -> Floats:
    result = np.zeros(x.knots.shape[1])
    for row, row_weight in zip(y.knots * sums.shape[1], y.weights(power), strict=True):
        along = np.zeros_like(result)
        for column, weight in zip(x.knots, x.weights(power), strict=True):
            along += weight * sums.take(row + column)
        result += row_weight * along
    return result


def _rectangle(sums: Floats, rows: Integers, columns: Integers) -> Floats:
    """Sum of the cells between two rows and two columns of grid corners."""
    (south, north), (west, east) = rows * sums.shape[1], columns
    taken = sums.take
    result: Floats = taken(north + east) - taken(north + west) - taken(south + east) + taken(south + west)
    return result
