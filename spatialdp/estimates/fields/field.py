"""How does an adaptive tree give its most accurate answers? By a field on the cells of its grid: `Field`.

The same noisy counts are read in two ways. The field smooths them, which makes answers more accurate and biases them by
a little. The unbiased reading of the tree is behind every interval, and behind the total. Both come from released
numbers, so neither costs anything, and this module reads no record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, read_only
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.coarse import BlockTree, best_below, coarse_counts, coarse_lines, refined
from spatialdp.estimates.fields.evenness import even_density, even_leaves
from spatialdp.estimates.fields.gaussian import away_from_zero, gaussian_field, pilot
from spatialdp.estimates.fields.likelihood import with_laplace_noise
from spatialdp.estimates.fields.raster import LeafRaster
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.space.boxes.subdivision import Subdivision
from spatialdp.space.domain import Grid
from spatialdp.space.lattice import cells_of
from spatialdp.space.polygons import Polygons
from spatialdp.space.regions.borders import RegionArea
from spatialdp.trees.adjust import NonNegative

__all__ = ["LARGEST_FIELD", "Field"]

LARGEST_FIELD = 2**24  # cells, such as 4096 x 4096
_LEAST_VARIANCE = 1e-6  # counts that are certain are taken as nearly so, for the solver
LAPLACE_KURTOSIS = 3.0  # excess; that of discrete noise is larger, that of Gaussian noise is 0


@dataclass(frozen=True, eq=False)
class Field:
    """Estimated counts of the cells of a grid, from noisy counts of blocks of cells; an `Estimate`.

    Attributes
    ----------
    grid : Grid
    basis : Decomposition
        The unbiased reading: intervals and the total come from it. Its leaves are blocks of the grid's cells.
    measured : (nodes,) float array
        The noisy counts of the tree's nodes.
    clipped, whole : bool
        Whether negative counts were removed, and whether counts are whole numbers, in the tree and so in its cells.
    """

    kind: ClassVar[str] = "field"
    consistent: ClassVar[bool] = True  # a box is the sum of its cells
    extrapolates: ClassVar[bool] = False

    grid: Grid
    basis: Decomposition
    measured: Floats
    clipped: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "measured", read_only(self.measured, np.float64))

    @property
    def biased(self) -> bool:
        """Whether there are no intervals, because counts were made non-negative or whole."""
        return self.basis.biased

    @property
    def unbiased(self) -> Decomposition:
        """The estimate that intervals are made of."""
        return self.basis

    @property
    def finest(self) -> Histogram:
        """The cells as a histogram; it answers boxes but knows no noise."""
        return self._cells

    @property
    def step(self) -> float:
        """Width of the lattice on which the noise of the measurements lies."""
        return self.basis.step

    @property
    def leaf_steps(self) -> bool:
        """Whether the noise of each leaf's estimate is a whole multiple of `step`."""
        return self.basis.leaf_steps

    @property
    def n_cells(self) -> int:
        """Number of leaves."""
        return self.basis.n_cells

    @property
    def total(self) -> float:
        """Estimated number of records, without bias."""
        return self.basis.total

    @cached_property
    def values(self) -> Floats:
        """Estimated counts of the cells, (ny, nx); 0 outside the region."""
        field = self._field()
        if self.clipped:
            field = self._scaled(np.maximum(field, 0.0))
        return read_only(self._rounded(field) if self.whole else field, np.float64)

    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes; records are assumed to be evenly spread within a cell."""
        return self._cells.answer(boxes)

    def answer_polygons(self, polygons: Polygons) -> Floats:
        """Estimated counts of polygons; records are assumed to be evenly spread within a cell."""
        return self._cells.answer_polygons(polygons)

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each unbiased answer."""
        return self.basis.moments(boxes)

    def polygon_moments(self, polygons: Polygons) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each polygon's unbiased answer."""
        return self.basis.polygon_moments(polygons)

    def in_steps(self, boxes: Integers) -> Booleans:
        """Whether the noise of each answer is a whole multiple of `step`."""
        return self.basis.in_steps(boxes)

    def polygons_in_steps(self, polygons: Polygons) -> Booleans:
        """Whether the noise of each polygon's answer is a whole multiple of `step`."""
        return self.basis.polygons_in_steps(polygons)

    def allowance(self, boxes: Integers) -> Allowance:
        """What uneven spread within cut leaves adds to the error of each unbiased answer."""
        return self.basis.allowance(boxes)

    def polygon_allowance(self, polygons: Polygons) -> Allowance:
        """What uneven spread within cut leaves adds to the error of each polygon's unbiased answer."""
        return self.basis.polygon_allowance(polygons)

    def leaf_allowance(self) -> Allowance:
        """What uneven spread adds to the errors of whole leaves: nothing."""
        return self.basis.leaf_allowance()

    def uniformity(self, boxes: Integers) -> Floats:
        """About how far unbiased answers can be off because records are not evenly spread within cut leaves."""
        return self.basis.uniformity(boxes)

    def leaf_boxes(self, numbers: Integers | slice = slice(None)) -> Integers:
        """Lattice boxes of all leaves, or of some leaves by their numbers."""
        return self.basis.leaf_boxes(numbers)

    def leaf_values(self) -> Floats:
        """The field's count of each leaf, in the tree's order."""
        return np.bincount(self.leaf_of_cell.ravel(), self.values.ravel(), minlength=self.n_cells + 1)[:-1].astype(
            np.float64
        )

    def leaf_moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each leaf's unbiased estimate."""
        return self.basis.leaf_moments()

    def cell_moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in the unbiased estimate of each of the region's cells, row by row.

        A cell's unbiased estimate is its share of the leaf's.
        """
        variance, kurtosis = self.leaf_moments()
        leaf = self.leaf_of_cell[self.grid.mask]
        return self.cell_shares**2 * variance[leaf], kurtosis[leaf]

    def cell_groups(self) -> tuple[Integers, Integers]:
        """One cell out of each group whose unbiased estimates and noise are the same, and the group of each cell.

        Cells of one leaf are alike, except at the border of the region. Cells are those of the region, row by row.
        """
        leaf, share = self.leaf_of_cell[self.grid.mask], np.rint(self.cell_shares * 2**32).astype(np.int64)
        order = np.lexsort((share, leaf))
        begins = np.ones(order.size, dtype=bool)
        begins[1:] = (np.diff(leaf[order]) != 0) | (np.abs(np.diff(share[order])) > 2**12)
        group = np.empty(order.size, dtype=np.int64)
        group[order] = np.cumsum(begins) - 1
        return order[begins], group

    @cached_property
    def cell_shares(self) -> Floats:
        """Share of its leaf's area in the region that each of the region's cells has, row by row."""
        leaf, area = self.leaf_of_cell[self.grid.mask], RegionArea.of(self.grid.domain)
        rows, columns = np.nonzero(self.grid.mask)
        boxes = self.grid.lattice_boxes(np.stack([columns, rows, columns + 1, rows + 1], axis=1))
        if area is not None:
            return area.shares(boxes, self.leaf_boxes()[leaf])
        sides, around = boxes[:, 2:] - boxes[:, :2], self.leaf_boxes()
        leaf_sides = (around[:, 2:] - around[:, :2])[leaf]
        return np.asarray(np.prod(sides / leaf_sides, axis=1))

    def non_negative(self, method: NonNegative) -> Field:
        """A field without negative counts; biased."""
        return replace(self, basis=self.basis.non_negative(method), clipped=True, whole=False)

    def rounded(self) -> Field:
        """A field of whole counts; biased."""
        return replace(self, basis=self.basis.rounded(), whole=True)

    @cached_property
    def leaf_of_cell(self) -> Integers:
        """The leaf of each cell, (ny, nx); the number of leaves outside the region."""
        return self._leaves.leaf

    @cached_property
    def _cells(self) -> Histogram:
        return Histogram(self.grid, self.values, IndependentNoise(self.grid, 0.0, 0.0, 0.0), biased=True)

    @cached_property
    def _nodes(self) -> BlockTree:
        """The tree with its nodes as blocks of cells, and counts with what stands for their noise in least squares."""
        tree, boxes = self.basis.tree, self.basis.tree.boxes
        blocks = np.empty(boxes.shape, dtype=np.int32)
        for side in range(4):
            blocks[:, side] = cells_of(boxes[:, side].astype(np.int64), self.grid.shape[side % 2])
        measured, variances = self.measured, np.maximum(self.basis.variances, _LEAST_VARIANCE)
        if np.all(self.basis.kurtosis > LAPLACE_KURTOSIS / 2):
            measured, variances = with_laplace_noise(tree, measured, variances)
        return BlockTree(tree, blocks, measured, variances)

    @cached_property
    def _leaves(self) -> LeafRaster:
        nx, ny = self.grid.shape
        blocks, sizes = self._nodes.blocks[self.basis.tree.leaves], self.grid.mask.astype(np.float64)
        return LeafRaster(blocks, sizes, np.ones(nx), np.ones(ny))

    def _field(self) -> Floats:
        """The field's count of each cell, as far as records are not spread evenly."""
        density, even = self._evenness()
        smooth = self._smooth() if even < 1 else np.zeros(self.grid.shape[::-1])
        if even > 0:
            leaves = self._leaves
            smooth += even * (leaves.even(even_leaves(self._nodes, leaves.areas, density)) * leaves.sizes - smooth)
        return smooth

    def _smooth(self) -> Floats:
        """The field's count of each cell."""
        lines, division = coarse_lines(self.grid.shape), Subdivision(self.grid)
        counts = coarse_counts(self._nodes, division, lines)
        noise = float(np.sqrt(np.maximum(self.basis.variances, _LEAST_VARIANCE).min()))
        records = float(np.cumsum(counts.fitted)[-1])  # added up in one order on every machine
        share = away_from_zero(records, noise)
        field = gaussian_field(counts, pilot(counts), share) * counts.raster.sizes
        return field if field.shape == self.grid.shape[::-1] else refined(field, self._nodes, division, lines)

    def _evenness(self) -> tuple[float, float]:
        """The density of cells if all are equally dense, and how much that counts, judged by the first blocks."""
        first = self.basis.tree.level(1)
        values, variances = best_below(self._nodes)
        sizes = Subdivision(self.grid).cells(self._nodes.blocks[first]).astype(np.float64)
        return even_density(values[first], variances[first], sizes)

    def _scaled(self, cells: Floats) -> Floats:
        """Scale each leaf's cells to the count of the leaf in the tree; leaves without any count are spread evenly."""
        leaves, counts = self._leaves, self.basis.leaf_values()
        sums = leaves.sums(cells)
        scale = np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), 0.0)
        return np.where(leaves.at_cells(sums) > 0, cells * leaves.at_cells(scale), leaves.even(counts))

    def _rounded(self, cells: Floats) -> Floats:
        """Round each leaf's cells to whole numbers that add up to the leaf's count in the tree, which is whole."""
        leaves, counts = self._leaves, self.basis.leaf_values()
        # Cells are taken leaf by leaf, row by row; each gets what the rounded sum grows by.
        exact = cells + leaves.even(counts - leaves.sums(cells))
        order = np.argsort(leaves.leaf.ravel(), kind="stable")[: int(self.grid.mask.sum())]
        leaf, running = leaves.leaf.ravel()[order], np.cumsum(exact.ravel()[order])
        starts = np.searchsorted(leaf, np.arange(self.n_cells))
        before = np.append(0.0, running)[starts]
        within = np.rint(running - before[leaf])
        ends = np.append(starts[1:], leaf.size) - 1
        within[ends] = counts
        rounded = np.zeros(cells.size)
        rounded[order] = np.diff(within, prepend=0.0)
        rounded[order[starts]] = within[starts]
        return rounded.reshape(cells.shape)
