"""How is a field solved on a large grid? On coarser cells, into which counts of smaller blocks are joined.

Blocks are halved at the same lines everywhere, so coarse cells between some of these lines are unions of small blocks,
and large blocks are unions of coarse cells. All that was measured within a coarse cell becomes one count of it, the
best one. Afterwards the field's count of a coarse cell is shared among its fine cells as least squares shares it.
Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.estimates.fields.gaussian import Counts
from spatialdp.estimates.fields.raster import LeafRaster
from spatialdp.estimates.tree_noise import TreeNoise
from spatialdp.trees.least_squares import two_pass
from spatialdp.trees.subdivision import block_sums, summed_areas
from spatialdp.trees.tree import Tree

__all__ = ["BlockTree", "coarse_counts", "coarse_lines", "refined"]


@dataclass(frozen=True, eq=False)
class BlockTree:
    """A tree of blocks of cells with a noisy count for each node.

    Attributes
    ----------
    tree : Tree
    blocks : (nodes, 4) int array
    measured, variances : (nodes,) arrays
    """

    tree: Tree
    blocks: Integers
    measured: Floats
    variances: Floats

    def counts(self, sizes: Floats, lines: tuple[Integers, Integers]) -> Counts:
        """The counts with their least-squares fit, on cells of some sizes between some lines."""
        leaves, noise = self.tree.leaves, TreeNoise(self.tree, self.variances, np.zeros(self.tree.n_nodes))
        fitted = two_pass(self.tree, self.measured, self.variances).estimates
        raster = LeafRaster(self.blocks[leaves], sizes, *(np.diff(each).astype(np.float64) for each in lines))
        return Counts(self.tree, raster, self.measured, self.variances, fitted[leaves], noise.fitted_nodes()[0][leaves])


def coarse_lines(length: int, longest: int) -> Integers:
    """The lines at which halving `length` cells leaves intervals of at most `longest` cells.

    Examples
    --------
    >>> coarse_lines(10, 3).tolist()
    [0, 2, 5, 7, 10]
    """
    lines = np.array([0, length])
    while np.diff(lines).max() > longest:
        middles = (lines[1:] + lines[:-1]) // 2
        lines = np.unique(np.concatenate([lines, middles]))
    return lines


def coarse_counts(nodes: BlockTree, inside: Booleans, lines: tuple[Integers, Integers]) -> Counts:
    """Join the counts of all blocks within a coarse cell into one.

    Parameters
    ----------
    nodes : BlockTree
    inside : (ny, nx) bool array
        Which fine cells lie in the region.
    lines : pair of int arrays
        Lines between coarse cells, along x and along y.
    """
    x, y = lines
    sizes = np.add.reduceat(np.add.reduceat(inside, y[:-1], axis=0, dtype=np.float64), x[:-1], axis=1)
    if x.size - 1 == inside.shape[1] and y.size - 1 == inside.shape[0]:
        return nodes.counts(sizes, lines)
    return _joined(nodes, summed_areas(inside), lines).counts(sizes, lines)


def refined(field: Floats, fine: Counts, lines: tuple[Integers, Integers]) -> Floats:
    """Share the counts of coarse cells among fine cells.

    Parameters
    ----------
    field : (coarse rows, coarse columns) array
        The count of each coarse cell.
    fine : Counts
        The counts on fine cells.
    lines : pair of int arrays
        Lines between coarse cells, along x and along y.
    """
    x, y = lines
    column, row = (np.repeat(np.arange(each.size - 1), np.diff(each)) for each in (x, y))
    raster = fine.raster
    even = raster.even(fine.fitted) * raster.sizes
    freedom = raster.even(fine.fitted_variances) * raster.sizes
    sums, freedoms = (
        np.add.reduceat(np.add.reduceat(each, y[:-1], axis=0), x[:-1], axis=1) for each in (even, freedom)
    )
    missing = np.where(freedoms > 0, field - sums, 0.0) / np.where(freedoms > 0, freedoms, 1.0)
    return np.asarray(even + freedom * missing[np.ix_(row, column)])


def _joined(nodes: BlockTree, cells: Integers, lines: tuple[Integers, Integers]) -> BlockTree:
    """The tree of coarse cells and of the blocks that are unions of them; `cells` are summed areas of the region's."""
    tree, parent = nodes.tree, nodes.tree.parent
    best, variances = _best_below(nodes)
    coarse, is_union, in_one = _coarse_blocks(nodes.blocks, cells, lines)
    small = ~is_union
    small[0] = False
    first_small = small & ~np.append(True, small[parent[1:]])
    # A node ends where small children would straddle coarse cells; halving along the longer side makes that rare.
    ends = np.zeros(tree.n_nodes, dtype=bool)
    ends[parent[first_small & ~in_one]] = True
    measured, noise = np.where(ends, best, nodes.measured), np.where(ends, variances, nodes.variances)
    levels = [_Coarse(np.zeros(1, dtype=np.int64), coarse[:1], measured[:1], noise[:1])]
    alive = np.zeros(
        1, dtype=np.int64
    )  # nodes of the last level that are in the new tree, in its order; -1 for joined ones
    for depth in range(tree.height):
        children = np.arange(tree.n_nodes)[tree.level(depth + 1)]
        place = np.full(tree.n_nodes, -1)
        place[alive[alive >= 0]] = np.flatnonzero(alive >= 0)
        divided = (place[parent[children]] >= 0) & ~ends[parent[children]]
        whole, part = children[divided & ~small[children]], children[divided & first_small[children]]
        joined = _join(part, place[parent[part]], coarse[part], best[part], variances[part])
        owner = np.concatenate([place[parent[whole]], joined.owner])
        if not owner.size:
            break
        order = np.argsort(owner, kind="stable")
        level = _Coarse(
            owner[order],
            np.concatenate([coarse[whole], joined.blocks])[order],
            np.concatenate([measured[whole], joined.values])[order],
            np.concatenate([noise[whole], joined.variances])[order],
        )
        alive = np.concatenate([whole, np.full(joined.owner.size, -1)])[order]
        levels.append(level)
    return _assembled(levels)


@dataclass(frozen=True, eq=False)
class _Coarse:
    """Nodes of one level of the new tree, and the place of each one's parent in the level above."""

    owner: Integers
    blocks: Integers
    values: Floats
    variances: Floats


def _best_below(nodes: BlockTree) -> tuple[Floats, Floats]:
    """Best estimate and variance of each node, from the counts at and below it."""
    noise = TreeNoise(nodes.tree, nodes.variances, np.zeros(nodes.tree.n_nodes))
    values, own = nodes.measured.copy(), noise.own_weight
    for depth in reversed(range(nodes.tree.height)):
        level = nodes.tree.level(depth)
        below = nodes.tree.family_sums(depth, values[nodes.tree.level(depth + 1)])
        values[level] = own[level] * values[level] + (1 - own[level]) * below
    return values, noise.up_variance


def _coarse_blocks(
    blocks: Integers, cells: Integers, lines: tuple[Integers, Integers]
) -> tuple[Integers, Booleans, Booleans]:
    """The coarse cells around each block, whether it has all of the region's cells there, and whether it is in one."""
    sides, around = [], []
    for side in range(4):
        axis, place = lines[side % 2], blocks[:, side]
        above = np.searchsorted(axis, place)
        sides.append(above if side >= 2 else above - (axis[above] != place))
        around.append(axis[sides[-1]])
    coarse = np.stack(sides, axis=1)
    is_union = block_sums(cells, np.stack(around, axis=1)) == block_sums(cells, blocks)
    return coarse, is_union, np.all(coarse[:, 2:] - coarse[:, :2] == 1, axis=1)


def _join(part: Integers, owner: Integers, blocks: Integers, values: Floats, variances: Floats) -> _Coarse:
    """Join the small children of a node that lie in the same coarse cell."""
    if not part.size:
        return _Coarse(owner, blocks, values, variances)
    keys = np.column_stack([owner, blocks[:, :2]])
    distinct, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.ravel()
    corner = distinct[:, 1:]
    sums: list[Array] = [np.bincount(group, each) for each in (values, variances)]
    return _Coarse(distinct[:, 0], np.concatenate([corner, corner + 1], axis=1), *sums)


def _assembled(levels: list[_Coarse]) -> BlockTree:
    offsets = np.concatenate([[0], np.cumsum([level.owner.size for level in levels])])
    counts = [np.bincount(below.owner, minlength=level.owner.size) for level, below in pairwise(levels)]
    n_children = np.concatenate([*counts, np.zeros(levels[-1].owner.size, dtype=np.int64)])
    blocks, values, variances = (
        np.concatenate([getattr(level, name) for level in levels]) for name in ("blocks", "values", "variances")
    )
    return BlockTree(Tree(offsets, n_children, blocks), blocks, values, variances)
