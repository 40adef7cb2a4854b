"""Noisy counts of blocks of a grid's cells, and the trees and answers that are made of them.

Noise is ours: exact discrete Laplace. The methods that divide a grid into blocks are in `grids` and `privtree`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.raster import LeafRaster
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.space.boxes.subdivision import block_sums, summed_areas
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.domain import Grid
from spatialdp.trees.least_squares import two_pass

__all__ = ["BlockCounter", "BlockCounts", "assembled", "count_law", "divided", "leaves_only"]


@dataclass(frozen=True, eq=False)
class BlockCounts(Decomposition):
    """Counts of blocks of a grid's cells, spread evenly within blocks, as all three papers do.

    Answers come from sums over cells: blocks of a flat tree are too many to walk through.

    Attributes
    ----------
    grid : Grid
        The finest grid.
    """

    grid: Grid | None = None

    @property
    @override
    def extrapolates(self) -> bool:
        """Answers are not corrected by what the nodes above a block tell: the papers do not."""
        return False

    @override
    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes."""
        return np.asarray(self.answers(boxes, [self.values])[0])

    @override
    def answers(self, boxes: Integers, values: Sequence[Array]) -> Floats:
        """Answers to lattice boxes from several sets of node values, (sets, boxes)."""
        leaves = self.tree.leaves
        cells = [self._raster.even(counts[leaves]) * self._raster.sizes for counts in values]
        return np.stack([self._cells(counts).answer(boxes) for counts in cells])

    @cached_property
    def _raster(self) -> LeafRaster:
        assert self.grid is not None
        lines = (self.grid.x_lines, self.grid.y_lines) * 2
        boxes = self.tree.boxes[self.tree.leaves]
        blocks = np.stack([np.searchsorted(lines[side], boxes[:, side]) for side in range(4)], axis=1)
        nx, ny = self.grid.shape
        return LeafRaster(blocks, self.grid.mask.astype(np.float64), np.ones(nx), np.ones(ny))

    def _cells(self, counts: Floats) -> Histogram:
        assert self.grid is not None
        return Histogram(self.grid, counts, IndependentNoise(self.grid, 0.0, 0.0, 0.0))


@dataclass(frozen=True, eq=False)
class BlockCounter:
    """Exact counts of blocks; private."""

    sums: Integers

    @classmethod
    def of(cls, points: Points, grid: Grid) -> BlockCounter:
        """Count the cells of a grid, once."""
        return cls(summed_areas(count_cells(points, grid)))

    def exact(self, blocks: Integers) -> Integers:
        """Exact counts."""
        return block_sums(self.sums, blocks)

    def __call__(self, blocks: Integers, law: NoiseLaw, noise: Noise) -> Floats:
        """Counts with noise."""
        return law.add_to(self.exact(blocks), noise)

    @property
    def n(self) -> int:
        """The exact number of records; private."""
        return int(self.sums[-1, -1])


def count_law(cost: Fraction) -> NoiseLaw:
    """The noise of counts of which one record changes one by 1, for a cost of ε."""
    return calibrate(Law.DISCRETE_LAPLACE, cost, Sensitivity(l1=1, l2_squared=1))


def divided(blocks: Integers, sides: Integers) -> tuple[Integers, Integers]:
    """Divide each block into sides x sides parts along cell edges, at most into single cells; and each part's block."""
    columns, rows = (np.minimum(sides, blocks[:, axis + 2] - blocks[:, axis]) for axis in (0, 1))
    owner = np.repeat(np.arange(len(blocks)), columns * rows)
    place = np.arange(owner.size) - np.repeat(np.cumsum(columns * rows) - columns * rows, columns * rows)
    row, column = np.divmod(place, columns[owner])
    edge: Callable[[Any, int, Array], Array] = lambda number, axis, count: (  # noqa: E731
        blocks[owner, axis]
        + np.rint(number * (blocks[owner, axis + 2] - blocks[owner, axis]) / count[owner]).astype(np.int64)
    )
    parts = [edge(column, 0, columns), edge(row, 1, rows), edge(column + 1, 0, columns), edge(row + 1, 1, rows)]
    return np.stack(parts, axis=1), owner


def _tree(grid: Grid, levels: list[Integers], owners: list[Integers]) -> Tree:
    offsets = np.concatenate([[0], np.cumsum([len(level) for level in levels])])
    below = [np.bincount(owner, minlength=len(level)) for level, owner in zip(levels, owners[1:], strict=False)]
    n_children = np.concatenate([*below, np.zeros(len(levels[-1]), dtype=np.int64)])
    return Tree(offsets, n_children, grid.lattice_boxes(np.concatenate(levels)).astype(np.int32))


def assembled(
    grid: Grid, levels: list[Integers], owners: list[Integers], values: list[Floats], laws: list[NoiseLaw]
) -> BlockCounts:
    """The least-squares fit of levels below a root that was not counted."""
    tree = _tree(grid, [np.array([[0, 0, *grid.shape]]), *levels], [np.zeros(1, dtype=np.int64), *owners])
    variances = np.array([np.inf, *(law.variance for law in laws)])
    kurtosis = np.array([0.0, *(law.kurtosis for law in laws)])
    fit = two_pass(tree, np.concatenate([np.zeros(1), *values]), variances)
    return BlockCounts(grid.domain, tree, fit.estimates, variances, kurtosis, 1.0, consistent=True, grid=grid)


def leaves_only(
    grid: Grid, levels: list[Integers], owners: list[Integers], values: list[Floats], law: NoiseLaw
) -> BlockCounts:
    """The estimates of a tree whose leaves alone were counted."""
    tree = _tree(grid, levels, owners)
    variances = np.where(tree.leaves, law.variance, np.inf)
    fit = two_pass(tree, np.concatenate(values), variances)
    kurtosis = np.full(tree.n_nodes, law.kurtosis)
    return BlockCounts(grid.domain, tree, fit.estimates, variances, kurtosis, 1.0, consistent=True, grid=grid)
