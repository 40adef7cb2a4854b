"""What is measured of a grid of counts: the public half of every mechanism that does not look at the data first.

A structure says which sums of cells are measured, in groups that are paid for one by one; how far one record can move
each group; and how noisy sums become estimates of which every box's variance is known. It is made from public values.
Measuring is exact integer arithmetic; fitting reads released numbers only. Nothing here sees a record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.grid_noise import IndependentNoise, NoiseModel, QuadHaarNoise, SeparableNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.outputs.files.layouts import Estimate
from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.noise.wide import Wide
from spatialdp.space.domain import Grid
from spatialdp.transforms.axis import AxisTransform
from spatialdp.transforms.quad_haar import QuadHaar
from spatialdp.trees.blocks import BlockTree, block_tree
from spatialdp.trees.least_squares import three_pass, two_pass
from spatialdp.trees.tree import Tree, morton_order, sums

__all__ = [
    "AxisPairs",
    "BlockLevels",
    "CellCounts",
    "GridStructure",
    "Laws",
    "QuadtreeLevels",
    "QuadtreeWavelet",
    "Structure",
    "TreeLevels",
    "fitted",
    "forward",
    "inverse",
    "noise_of",
    "step_of",
]


# The noise of each group; None where nothing is spent and so nothing measured.
Laws = Sequence[NoiseLaw | None]


class Structure(ABC):
    """Sums of a grid's cells, in groups that are paid for one by one.

    Attributes
    ----------
    grid : Grid
        The cells whose counts are measured.
    """

    grid: Grid

    @property
    @abstractmethod
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, as the budget shows them, in the order in which they are measured."""

    @abstractmethod
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """How far one record can move the measurements of a group."""

    @abstractmethod
    def measure(self, counts: Integers) -> Iterator[Integers] | Iterator[Wide]:
        """Exact measurements of exact counts (ny, nx), group by group."""

    @abstractmethod
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:
        """Estimates from noisy measurements, which are taken one group at a time; an unmeasured group is zeros."""

    @abstractmethod
    def estimate(self, values: Floats, laws: Laws) -> Estimate:
        """What `fit` gave, with what is known of its noise."""

    @abstractmethod
    def blank(self, laws: Laws) -> Estimate:
        """The estimate of no records without noise, for what it tells of the noise."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """Bytes that counts, measurements and estimates take."""

    def needs(self, group: int) -> bool:
        """Whether nothing can be estimated without this group."""
        return 0 <= group < len(self.groups)


def noise_of(laws: Laws) -> tuple[Floats, Floats]:
    """Variance and kurtosis of each group; infinite variance where nothing is measured."""
    variances = np.array([np.inf if law is None else law.variance for law in laws])
    return variances, np.array([0.0 if law is None else law.kurtosis for law in laws])


def step_of(laws: Laws) -> float:
    """Width of the lattice of the last measured group's noise."""
    return next(law.step for law in reversed(laws) if law)


# --- grids -------------------------------------------------------------------------------------------


class GridStructure(Structure):
    """A structure whose fit gives one estimate for each cell, as (rows, columns)."""

    @abstractmethod
    def noise_model(self, laws: Laws) -> NoiseModel:
        """What is known of the noise in the estimates."""

    def estimate(self, values: Floats, laws: Laws) -> Histogram:
        """Estimates of the cells."""
        return Histogram(self.grid, values, self.noise_model(laws))

    def blank(self, laws: Laws) -> Histogram:
        """Zero in each cell."""
        return self.estimate(np.zeros(self.grid.shape[::-1]), laws)


@dataclass(frozen=True, eq=False)
class CellCounts(GridStructure):
    """The counts of the region's cells, as they are.

    Examples
    --------
    >>> from spatialdp.space.domain import Domain
    >>> cells = CellCounts(Domain((0, 0, 1, 1)).grid((2, 1)))
    >>> cells.groups, [part.tolist() for part in cells.measure(np.array([[3, 4]]))]
    (('counts',), [[3, 4]])
    """

    grid: Grid

    @property
    def groups(self) -> tuple[str, ...]:
        """One."""
        return ("counts",)

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002 - there is one group
        """A record is in one cell."""
        return count_sensitivity(neighbours, self.grid.n_cells)

    def measure(self, counts: Integers) -> Iterator[Integers]:
        """Cell by cell, row by row."""
        return iter([counts[self.grid.mask]])

    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - whatever the noise, there is no choice
        """The noisy counts; nothing outside the region."""
        values = np.zeros(self.grid.shape[::-1])
        (values[self.grid.mask],) = noisy
        return values

    def noise_model(self, laws: Laws) -> NoiseModel:
        """Every cell has its own."""
        (variance,), (kurtosis,) = (moments.tolist() for moments in noise_of(laws))
        return IndependentNoise(self.grid, variance, kurtosis, step_of(laws))

    @property
    def memory(self) -> int:
        """Of arrays of cells."""
        return 4 * 8 * self.grid.mask.size


@dataclass(frozen=True, eq=False)
class AxisPairs(GridStructure):
    """Products of a transform along x and one along y; every pair of an x group and a y group is a group.

    Attributes
    ----------
    grid : Grid
    x, y : AxisTransform
    """

    grid: Grid
    x: AxisTransform
    y: AxisTransform

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Pairs, the y group changing fastest."""
        return tuple(f"coefficients of x group {i}, y group {j}" for i, j in self._pairs)

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """A product over the axes: the largest one in any of the region's cells.

        Replacing a record takes one away and adds another. That is twice the L1 norm; the squared L2 norm doubles, or,
        if the two can enter a measurement with opposite signs, is four times as large. Where all cells look alike it is
        the same as removing a record, which then leaves the domain.
        """
        (i, j), x, y = self._pairs[group], self.x, self.y
        l1, l2_squared = (
            _largest_product(along, across, self.grid.mask)
            for along, across in zip(y.column_norms(j), x.column_norms(i), strict=True)
        )
        if neighbours is Neighbours.ADD_REMOVE or (x.constant[i] and y.constant[j]):
            return Sensitivity(l1, l2_squared)
        signed = (x.signed and not x.constant[i]) or (y.signed and not y.constant[j])
        return Sensitivity(2 * l1, (4 if signed else 2) * l2_squared)

    def measure(self, counts: Integers) -> Iterator[Integers]:
        """Views of one table of coefficients."""
        table = forward(counts, (self.x, self.y))
        return (table[part] for part in self._parts)

    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - the pairs are fitted one by one
        """The inverse, or least squares along each axis."""
        table = np.empty((self.y.n_coefficients, self.x.n_coefficients))
        for part, values in zip(self._parts, noisy, strict=True):
            table[part] = values
        return inverse(table, (self.x, self.y))

    def noise_model(self, laws: Laws) -> NoiseModel:
        """The weight of a measurement in a box is a product over the axes."""
        shape = self.x.n_groups, self.y.n_groups
        return SeparableNoise(self.x, self.y, *(moments.reshape(shape) for moments in noise_of(laws)))

    def mean_squares(self) -> Floats:
        """Mean over all boxes of the sum of squares of each group's weights."""
        return np.outer(_mean_squares(self.x), _mean_squares(self.y)).ravel()

    @property
    def memory(self) -> int:
        """Of tables of coefficients."""
        return 5 * 8 * self.x.n_coefficients * self.y.n_coefficients

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(product(range(self.x.n_groups), range(self.y.n_groups)))

    @property
    def _parts(self) -> list[tuple[slice, slice]]:
        """Rows and columns of each group in the table of coefficients."""
        return [(rows, columns) for columns, rows in product(self.x.groups, self.y.groups)]


def _largest_product(rows: Integers, columns: Integers, mask: Booleans) -> int:
    """Over the cells of a mask, (rows, columns)."""
    if mask.all() or (rows.min() == rows.max() and columns.min() == columns.max()):
        return int(rows.max()) * int(columns.max())
    in_row = np.where(mask, columns, 0).max(axis=1)
    return int((rows.astype(object) * in_row).max())


@lru_cache(maxsize=32)
def _mean_squares(axis: AxisTransform) -> Floats:
    """Kept, as it takes longer than a release."""
    return axis.mean_squares()


def forward(counts: Integers, axes: tuple[AxisTransform, AxisTransform]) -> Integers:
    """(y coefficients, x coefficients) of an array of (rows, columns)."""
    return axes[1].forward(axes[0].forward(counts).T).T


def inverse(coefficients: Floats, axes: tuple[AxisTransform, AxisTransform]) -> Floats:
    """Estimates of the cells (rows, columns) from (y coefficients, x coefficients)."""
    return axes[0].inverse(axes[1].inverse(coefficients.T).T)


@dataclass(frozen=True, eq=False)
class QuadtreeWavelet(GridStructure):
    """The non-standard Haar wavelet: the total, and each kind of difference of each scale of a quadtree."""

    grid: Grid

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The total, then kinds of differences from the coarsest scale on."""
        return tuple(f"coefficients {name}" for name in self._transform.groups)

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """See `QuadHaar.sensitivity`."""
        return self._transform.sensitivity(group, neighbours)

    def measure(self, counts: Integers) -> Iterator[Integers]:
        """Sums and differences."""
        return iter(self._transform.forward(counts))

    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - an inverse knows no weights
        """The inverse."""
        return self._transform.inverse(list(noisy))

    def noise_model(self, laws: Laws) -> NoiseModel:
        """The noise of each group."""
        return QuadHaarNoise(self._transform, *noise_of(laws))

    def mean_squares(self) -> Floats:
        """Mean over all boxes of the sum of squares of each group's weights."""
        return self._transform.mean_squares()

    @property
    def memory(self) -> int:
        """Of arrays of cells."""
        return 6 * 8 * self.grid.mask.size

    @cached_property
    def _transform(self) -> QuadHaar:
        return QuadHaar(*self.grid.shape)


# --- trees -------------------------------------------------------------------------------------------


class TreeLevels(Structure):
    """Counts of the nodes of each depth, root first, of a public tree whose leaves are the region's cells.

    Attributes
    ----------
    consistent : bool
        Whether the fit makes every parent the sum of its children.
    """

    consistent: bool

    @property
    @abstractmethod
    def tree(self) -> Tree:
        """The tree."""

    @abstractmethod
    def leaf_counts(self, counts: Integers) -> Integers:
        """Counts of the leaves in the tree's order."""

    @property
    def leaf_shape(self) -> tuple[int, int] | None:
        """Shape of the grid of leaves, if the tree does not tell by itself."""
        return None

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """A record is in one node of each depth."""
        level = self.tree.level(group)
        return count_sensitivity(neighbours, level.stop - level.start)

    def node_counts(self, counts: Integers) -> Integers:
        """Exact counts of all nodes."""
        found: Integers = sums(self.tree, self.leaf_counts(counts))
        return found

    def measure(self, counts: Integers) -> Iterator[Integers]:
        """Views of the counts of all nodes."""
        nodes = self.node_counts(counts)
        return (nodes[self.tree.level(depth)] for depth in range(self.tree.height + 1))

    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:
        """Least squares, if asked for."""
        values = np.concatenate(list(noisy))
        return fitted(self.tree, values, noise_of(laws)[0]) if self.consistent else values

    def estimate(self, values: Floats, laws: Laws) -> Decomposition:
        """Estimates of all nodes."""
        return Decomposition(
            self.grid.domain,
            self.tree,
            values,
            *noise_of(laws),
            step=0.0 if self.consistent else step_of(laws),
            consistent=self.consistent,
            shape=self.leaf_shape,
        )

    def blank(self, laws: Laws) -> Decomposition:
        """Zero in each node."""
        return self.estimate(np.zeros(self.tree.n_nodes), laws)

    def needs(self, group: int) -> bool:
        """Only the leaves must be measured."""
        return group == self.tree.height

    @property
    def memory(self) -> int:
        """Of arrays of nodes."""
        return 60 * self.tree.n_nodes


def fitted(tree: Tree, values: Floats, variances: Floats) -> Floats:
    """Consistent estimates of all nodes, from noisy counts and one variance for each node or each level."""
    by_level = variances.size == tree.height + 1
    fan_outs = set(tree.fan_outs[:-1])
    if by_level and len(fan_outs) == 1 and 0 not in fan_outs and np.all(variances > 0):
        levels = [values[tree.level(depth)] for depth in range(tree.height + 1)]
        return np.concatenate(three_pass(levels, (1 / variances).tolist(), fan_outs.pop()))
    return two_pass(tree, values, variances).estimates


@dataclass(frozen=True, eq=False)
class QuadtreeLevels(TreeLevels):
    """The levels of the quadtree over a grid of 2^h x 2^h cells."""

    grid: Grid
    consistent: bool = True

    @property
    def tree(self) -> Tree:
        """The quadtree of the region, or the complete one."""
        return _quadtree(self.grid if self.grid.domain.region is not None else None, self._height)

    @property
    def groups(self) -> tuple[str, ...]:
        """Depths."""
        return tuple(f"counts at depth {depth}" for depth in range(self._height + 1))

    def leaf_counts(self, counts: Integers) -> Integers:
        """Morton's order, without the cells outside the region."""
        order = morton_order(self._height)
        leaves: Integers = counts.ravel()[order]
        return leaves if self.tree.n_leaves == leaves.size else leaves[self.grid.mask.ravel()[order]]

    @property
    def _height(self) -> int:
        return self.grid.shape[0].bit_length() - 1


@lru_cache(maxsize=2)
def _quadtree(grid: Grid | None, height: int) -> Tree:
    """Kept between releases."""
    return Tree.quadtree(height, mask=None if grid is None else grid.mask)


@dataclass(frozen=True, eq=False)
class BlockLevels(TreeLevels):
    """The levels of a hierarchy of square blocks.

    Attributes
    ----------
    grid : Grid
    sides : tuple of int
        Side of each depth's blocks in cells, root first, as `blocks.levels_of` gives them.
    """

    grid: Grid
    sides: tuple[int, ...]
    consistent: bool = True

    @property
    def tree(self) -> Tree:
        """The blocks with cells in the region."""
        return self._blocks.tree

    @property
    def groups(self) -> tuple[str, ...]:
        """Sizes of blocks; the cells come last."""
        blocks = [f"counts of {side} x {side} cells" for side in self.sides[1:-1]]
        return (*["count of all records", *blocks][: len(self.sides) - 1], "counts of cells")

    @property
    def leaf_shape(self) -> tuple[int, int]:
        """That of the grid."""
        return self.grid.shape

    def leaf_counts(self, counts: Integers) -> Integers:
        """Family by family."""
        leaves: Integers = counts.ravel()[self._blocks.cells]
        return leaves

    @property
    def memory(self) -> int:
        """Of arrays of nodes and of cells."""
        return super().memory + 24 * self.grid.mask.size

    @property
    def _blocks(self) -> BlockTree:
        return _block_tree(self.grid, self.sides)


@lru_cache(maxsize=2)
def _block_tree(grid: Grid, sides: tuple[int, ...]) -> BlockTree:
    """Kept between releases."""
    return block_tree(grid, sides)
