"""How does a grid of estimates answer any box or polygon? By prefix sums over the cells that it covers.

A box takes whole cells and shares of the cells that it cuts; records are assumed to be evenly spread
within the part of a cell that lies in the region (`space.regions.borders`). What lies outside the region is
known to be empty (``docs/design/boxes.md``). The noise of an answer comes from a noise model
(`grid_noise`). This module reads no record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.estimates.base import Unsmoothed, moments_of
from spatialdp.estimates.grid_noise import NoiseModel
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.estimates.unevenness.blocks import CellCounts
from spatialdp.estimates.unevenness.grid import GridUnevenness
from spatialdp.space.coverage import Coverage, coverages, prefix_sums
from spatialdp.space.domain import Grid
from spatialdp.space.lattice import LATTICE
from spatialdp.space.polygons import Polygons, Runs, scan
from spatialdp.space.regions.borders import Border
from spatialdp.space.regions.extent import CellSums, Extent
from spatialdp.trees.adjust import NonNegative

__all__ = ["Histogram"]


@dataclass(frozen=True, eq=False)
class Histogram(Unsmoothed):
    """Estimated counts of the cells of a grid; an `Estimate`.

    Attributes
    ----------
    grid : Grid
    values : (ny, nx) float array
        Estimated counts; read-only. Outside the region they are 0, or noise that makes boxes more
        accurate.
    noise : NoiseModel
        The noise of the estimates.
    biased : bool
        Whether the errors of the estimates no longer average out.
    """

    kind: ClassVar[str] = "grid"
    consistent: ClassVar[bool] = True  # a box is the sum of its cells
    extrapolates: ClassVar[bool] = False  # all cells are equal

    grid: Grid
    values: Floats
    noise: NoiseModel
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
        """Estimated number of records."""
        return float(self.values.sum())

    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes; records are assumed to be evenly spread within a cell."""
        inside, meets_region = self._extent.within(boxes)
        return np.where(meets_region, self._sums.of(inside), 0.0)

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each answer."""
        inside, meets_region = self._extent.within(boxes)
        if self.border is None:
            cumulants = self.noise.cumulants(*self.coverages(inside))
        else:
            cumulants = self.noise.border_cumulants(self.border, inside)
        second, fourth = (np.where(meets_region, cumulant, 0.0) for cumulant in cumulants)
        return moments_of(second, fourth)

    def allowance(self, boxes: Integers) -> Allowance:
        """What uneven spread within cut cells adds to the error of each answer."""
        inside, meets_region = self._extent.within(boxes)
        if self.noise.by_total:
            return self._allowance_of_shares(self._extent.covered(inside))
        x, y = self.coverages(inside)
        if bool((x.whole & y.whole).all()):  # no cell is cut; what is known of unevenness takes long on large grids
            return Allowance(np.zeros(len(boxes)))
        at_border = self.unevenness.border_changes(self.border, inside)
        return Allowance(np.where(meets_region, self.unevenness.boxes(x, y, at_border), 0.0))

    def polygon_allowance(self, polygons: Polygons) -> Allowance:
        """What uneven spread within cut cells adds to the error of each polygon's answer."""
        variance = np.zeros(polygons.size)
        for part, runs, meets_region in self._scanned(polygons):
            if self.noise.by_total:
                variance[part] = self._allowance_of_shares(runs.sums(self._extent.sums)).variance
            else:
                variance[part] = np.where(meets_region, self.unevenness.polygons(runs), 0.0)
        return Allowance(variance)

    def leaf_allowance(self) -> Allowance:
        """What uneven spread adds to the errors of single cells: nothing, unless only the total was measured."""
        if self.noise.by_total:
            return self._allowance_of_shares(np.ones(self.n_cells))
        return Allowance(np.zeros(self.n_cells))

    def _allowance_of_shares(self, cells: Floats) -> Allowance:
        """The allowance where only the total was measured: records may lie anywhere in the region."""
        share = np.clip(cells / self.n_cells, 0.0, 1.0)
        return Allowance((max(self.total, 0.0) ** 2 + self.noise_of_total) * share * (1 - share))

    @property
    def noise_of_total(self) -> float:
        """Variance of the noise in the total."""
        return float(self.moments(np.array([[0, 0, LATTICE, LATTICE]]))[0][0])

    @cached_property
    def unevenness(self) -> GridUnevenness:
        """What the released cells say about the spread of records within cells."""
        return GridUnevenness.of(CellCounts(self.values, self.grid.mask, self._block_variances))

    def _block_variances(self, blocks: Integers) -> Floats:
        return self.moments(self.grid.lattice_boxes(blocks))[0]

    def leaf_moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each of the region's cells, row by row."""
        second, fourth = (part[self.grid.mask] for part in self.noise.cell_cumulants(*self._every_cell))
        return moments_of(second, fourth)

    def answer_polygons(self, polygons: Polygons) -> Floats:
        """Estimated counts of polygons; records are assumed to be evenly spread within a cell."""
        answers = np.zeros(polygons.size)
        for part, runs, meets_region in self._scanned(polygons):
            answers[part] = np.where(meets_region, runs.sums(self._sums.prefix), 0.0)
        return answers

    def polygon_moments(self, polygons: Polygons) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each polygon's answer."""
        second, fourth = np.zeros((2, polygons.size))
        for part, runs, meets_region in self._scanned(polygons):
            cumulants = self.noise.polygon_cumulants(runs)
            second[part], fourth[part] = (np.where(meets_region, cumulant, 0.0) for cumulant in cumulants)
        return moments_of(second, fourth)

    @cached_property
    def border(self) -> Border | None:
        """The cells that lie in the region in part; None if all boxes get plain shares, as noise is fitted to them."""
        return None if self.noise.fitted else Border.of(self.grid)

    def _scanned(self, polygons: Polygons) -> Iterator[tuple[slice, Runs, Booleans | bool]]:
        """Polygons cut to the rectangle around the region's cells, and which of them meet the region, in chunks."""
        mask = self.grid.mask
        everywhere = bool(mask.all() or not mask.any())
        for part, runs in scan(polygons, self.grid) if self.border is None else self.border.scan(polygons):
            if everywhere:
                yield part, runs, True
            else:
                (left, bottom), (right, top) = self._extent.cells
                inside, covered = runs.within((left, bottom), (right, top)), runs.sums(self._extent.sums)
                yield part, inside.whole(covered > self.n_cells - 1e-6, self.grid.shape), covered > 1e-9

    @property
    def step(self) -> float:
        """Width of the lattice on which the noise of the measurements lies; 0 if it is as good as continuous."""
        return self.noise.step

    @property
    def leaf_steps(self) -> bool:
        """Whether the noise of each cell's estimate is a whole multiple of `step`."""
        return self.noise.by_cell

    def in_steps(self, boxes: Integers) -> Booleans:
        """Whether the noise of each answer is a whole multiple of `step`: of whole cells, each measured by itself."""
        x, y = self.coverages(self._extent.within(boxes)[0])
        return self.noise.by_cell & x.whole & y.whole

    def polygons_in_steps(self, polygons: Polygons) -> Booleans:
        """Whether the noise of each polygon's answer is a whole multiple of `step`."""
        whole = np.zeros(polygons.size, dtype=bool)
        for part, runs, _ in self._scanned(polygons) if self.noise.by_cell else ():
            whole[part] = runs.cut_cells == 0
        return whole

    def uniformity(self, boxes: Integers) -> Floats:
        """About how far each answer can be off because records are not evenly spread within the cells that a box cuts.

        The bound is the sum over cut cells of the (noisy) estimate times the larger of the covered and
        the uncovered share.
        """
        x, y = self.coverages(boxes)
        result = np.zeros(boxes.shape[0])
        for i in range(3):
            for j in range(3):
                counts = _rectangle(self._positive_sums, y.knots[i : i + 2], x.knots[j : j + 2])
                result += _worst(y.parts[i] * x.parts[j]) * counts
        if self.border is not None:
            positive = np.maximum(self.values, 0.0)
            result += self.border.summed(
                boxes, lambda cuts: (_worst(cuts.covered) - _worst(cuts.plain)) * positive.take(cuts.cell)
            )[0]
        return result

    def non_negative(self, method: NonNegative = NonNegative.FAMILIES) -> Histogram:  # noqa: ARG002 - both are the same
        """A histogram with negative counts set to 0, which is the non-negative least-squares fit; biased."""
        return replace(self, values=np.maximum(self.values, 0.0), biased=True)

    def rounded(self) -> Histogram:
        """A histogram of whole counts, each the nearest to the estimate; biased."""
        return replace(self, values=np.rint(self.values), biased=True)

    def leaf_boxes(self, numbers: Integers | slice = slice(None)) -> Integers:
        """Lattice boxes of all of the region's cells, row by row, or of some cells by their numbers."""
        rows, columns = np.divmod(np.flatnonzero(self.grid.mask)[numbers], self.grid.shape[0])
        return self.grid.lattice_boxes(np.stack([columns, rows, columns + 1, rows + 1], axis=1))

    def leaf_values(self) -> Floats:
        """Estimated counts of the region's cells, row by row."""
        return self.values[self.grid.mask]

    def coverages(self, boxes: Integers) -> tuple[Coverage, Coverage]:
        """How much of the columns and of the rows each lattice box covers."""
        return coverages(self.grid, boxes)

    @property
    def _every_cell(self) -> tuple[Coverage, Coverage]:
        """The coverage of each column and of each row by itself."""
        x, y = self.grid.x_lines, self.grid.y_lines
        return Coverage.of(x[:-1], x[1:], x), Coverage.of(y[:-1], y[1:], y)

    @cached_property
    def _extent(self) -> Extent:
        return Extent(self.grid, self.border)

    @cached_property
    def _sums(self) -> CellSums:
        return CellSums(self.grid, self.values, self.border)

    @cached_property
    def _positive_sums(self) -> Floats:
        return prefix_sums(np.maximum(self.values, 0.0))


def _worst(share: Floats) -> Floats:
    """The larger of the covered and the uncovered share of cells that are covered in part; 0 for others."""
    return np.where((share > 0) & (share < 1), np.maximum(share, 1 - share), 0.0)


def _rectangle(sums: Floats, rows: Integers, columns: Integers) -> Floats:
    """Sum of the cells between two rows and two columns of grid corners."""
    (south, north), (west, east) = rows * sums.shape[1], columns
    at = sums.take
    result: Floats = at(north + east) - at(north + west) - at(south + east) + at(south + west)
    return result
