"""How are the nodes of a public tree measured? By counts of each level, made consistent by least squares.

Leaves are cells of the grid, and a level is a group. The fit is `trees.least_squares`
(``docs/design/tree-noise.md``). This module sees counts, never records, and draws no noise.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity
from spatialdp.privacy.unit import Bound, Person
from spatialdp.space.boxes.blocks import BlockTree, block_tree
from spatialdp.space.boxes.quadtree import morton_order, quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.domain import Grid
from spatialdp.structures.base import Laws, Structure, fullest, noise_of, step_of
from spatialdp.trees.least_squares import three_pass, two_pass
from spatialdp.trees.shape import sums

__all__ = ["BlockLevels", "QuadtreeLevels", "TreeLevels", "fitted"]

_MOST_UNLIKE = 1e6  # ratio of variances up to which `three_pass` is as exact as needed: it loses so much of 16 digits


class TreeLevels(Structure):
    """Counts of the nodes of each depth, root first, of a public tree whose leaves are the region's cells.

    A record is in one node of each depth.

    Attributes
    ----------
    consistent : bool
        Whether the fit makes every parent the sum of its children.
    """

    consistent: bool

    @property
    @abstractmethod
    def tree(self) -> Tree:
        """The tree whose nodes are counted."""

    @abstractmethod
    def leaf_counts(self, counts: Integers) -> Integers:
        """Counts of the leaves in the tree's order, from the counts of the grid's cells."""

    @property
    def leaf_shape(self) -> tuple[int, int] | None:
        """Shape of the grid whose cells are the leaves; None for quadtrees, where it follows from the height."""
        return None

    @override
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        level = self.tree.levels[group]
        alone, several = _node_sensitivities(neighbours)
        return alone if level.stop - level.start == 1 else several

    @override
    def once_each(self, group: int, neighbours: Neighbours, most: int) -> int:
        # Nodes with all of their cells move most. Two persons move different nodes, if there is more than one.
        cells = self._cells_of_nodes(group)
        moved = fullest(cells, most)
        return moved if neighbours is Neighbours.ADD_REMOVE or cells.size == 1 else 2 * moved

    def path_sensitivity(self, group: int, neighbours: Neighbours, person: Person | None) -> Sensitivity:
        """How far one person can move a group of a tree that released counts may end early.

        Let a person be counted once in each of L cells, k of them in node v, which has s cells, and let v cost ρ. If
        squared noise is calibrated to L min(L, s), v costs this person ρ k² / (L min(L, s)) <= ρ k / L. The sum over
        all nodes is the mean, over the person's cells, of what the nodes above the cell cost: the budget of a path,
        whichever nodes end. (`once_each` is smaller, but holds only for all nodes of a level at the same cost.)
        """
        declared = self.person_sensitivity(group, neighbours, person)
        if person is None or person.bound is not Bound.CELLS:
            return declared
        cells = self._cells_of_nodes(group)
        most = min(person.most, self.grid.n_cells)
        one = self.sensitivity(group, neighbours).l2_squared
        return replace(declared, l2_squared=one * most * min(most, int(cells.max())))

    def _cells_of_nodes(self, group: int) -> Integers:
        """Number of the region's cells in each node of a depth."""
        cells: Integers = sums(self.tree, np.ones(self.tree.n_leaves, dtype=np.int64))[self.tree.level(group)]
        return cells

    def node_counts(self, counts: Integers) -> Integers:
        """Exact counts of all nodes, from the counts of the grid's cells."""
        nodes: Integers = sums(self.tree, self.leaf_counts(counts))
        return nodes

    @override
    def measure(self, counts: Integers) -> Iterator[Integers]:
        nodes = self.node_counts(counts)
        return iter([nodes[level] for level in self.tree.levels])  # views

    @override
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:
        values = np.concatenate(list(noisy))
        return fitted(self.tree, values, noise_of(laws)[0]) if self.consistent else values

    @override
    def estimate(self, values: Floats, laws: Laws) -> Decomposition:
        return Decomposition(
            self.grid.domain,
            self.tree,
            values,
            *noise_of(laws),
            step=step_of(laws),
            consistent=self.consistent,
            shape=self.leaf_shape,
        )

    @override
    def blank(self, laws: Laws) -> Decomposition:
        return self.estimate(np.zeros(self.tree.n_nodes), laws)

    @override
    def needs(self, group: int) -> bool:
        # Only the leaves must be measured; the other levels make them more accurate.
        return group == self.tree.height

    @property
    @override
    def memory(self) -> int:
        return 60 * self.tree.n_nodes


def fitted(tree: Tree, values: Floats, variances: Floats) -> Floats:
    """Consistent estimates of all nodes, from noisy counts and one variance for each node or each level.

    Complete trees with one variance for each level take `three_pass`, all others `two_pass`. The former adds counts
    that are divided by their variances, so variances must be of similar size: those of a very large ε are not.
    """
    by_level = variances.size == tree.height + 1
    fan_outs = set(tree.fan_outs[:-1])
    similar = variances[np.isfinite(variances)].max() < _MOST_UNLIKE * variances.min()
    if by_level and similar and len(fan_outs) == 1 and 0 not in fan_outs:
        levels = [values[level] for level in tree.levels]
        return np.concatenate(three_pass(levels, (1 / variances).tolist(), fan_outs.pop()))
    return two_pass(tree, values, variances).estimates


@dataclass(frozen=True, eq=False)
class QuadtreeLevels(TreeLevels):
    """The levels of the quadtree over a grid of 2^h x 2^h cells."""

    grid: Grid
    consistent: bool = True

    @property
    @override
    def tree(self) -> Tree:
        # Without a region all grids of one height share the complete quadtree.
        return _quadtree(self.grid if self.grid.domain.region is not None else None, self._height)

    @property
    @override
    def groups(self) -> tuple[str, ...]:
        return tuple(f"counts at depth {depth}" for depth in range(self._height + 1))

    @override
    def leaf_counts(self, counts: Integers) -> Integers:
        # In Morton's order, without the cells outside the region.
        order = morton_order(self._height)
        leaves: Integers = counts.ravel()[order]
        return leaves if self.tree.n_leaves == leaves.size else leaves[self.grid.mask.ravel()[order]]

    @property
    def _height(self) -> int:
        return self.grid.shape[0].bit_length() - 1


@cache
def _node_sensitivities(neighbours: Neighbours) -> tuple[Sensitivity, Sensitivity]:
    """How far one record can move the counts of a level of one node, and those of a level of several nodes."""
    return count_sensitivity(neighbours, 1), count_sensitivity(neighbours, 2)


@lru_cache(maxsize=2)
def _quadtree(grid: Grid | None, height: int) -> Tree:
    """The quadtree of a grid's region, or the complete one; cached, because building it takes longer than a release."""
    return quadtree(height, mask=None if grid is None else grid.mask)


@dataclass(frozen=True, eq=False)
class BlockLevels(TreeLevels):
    """The levels of a hierarchy of square blocks.

    Attributes
    ----------
    grid : Grid
    sides : tuple of int
        Side of each depth's blocks in cells, root first, as `space.boxes.blocks.levels_of` gives them.
    """

    grid: Grid
    sides: tuple[int, ...]
    consistent: bool = True

    @property
    @override
    def tree(self) -> Tree:
        return self._blocks.tree

    @property
    @override
    def groups(self) -> tuple[str, ...]:
        blocks = [f"counts of {side} x {side} cells" for side in self.sides[1:-1]]
        return (*["count of all records", *blocks][: len(self.sides) - 1], "counts of cells")

    @property
    @override
    def leaf_shape(self) -> tuple[int, int]:
        return self.grid.shape

    @override
    def leaf_counts(self, counts: Integers) -> Integers:
        leaves: Integers = counts.ravel()[self._blocks.cells]
        return leaves

    @property
    @override
    def memory(self) -> int:
        return super().memory + 24 * self.grid.mask.size

    @property
    def _blocks(self) -> BlockTree:
        return _block_tree(self.grid, self.sides)


@lru_cache(maxsize=2)
def _block_tree(grid: Grid, sides: tuple[int, ...]) -> BlockTree:
    """The hierarchy of blocks of a grid; cached, because building it takes longer than a release."""
    return block_tree(grid, sides)
