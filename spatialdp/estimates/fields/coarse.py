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

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32
from spatialdp.estimates.fields.gaussian import Counts
from spatialdp.estimates.fields.halvings import uncut_lines
from spatialdp.estimates.fields.raster import LeafRaster, filled
from spatialdp.space.boxes.subdivision import Subdivision
from spatialdp.space.boxes.tree import Tree
from spatialdp.trees.least_squares import subtree_variances, two_pass

__all__ = ["BlockTree", "best_below", "coarse_counts", "coarse_lines", "refined"]

Blocks = Integers | Integers32  # (n, 4): first column and row, and those after the last

MOST_CELLS = 2**19  # of a grid whose field is solved on its own cells
FEWER_CELLS = 2**18  # on which the fields of larger grids are solved, at most


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
    blocks: Blocks
    measured: Floats
    variances: Floats

    def counts(self, sizes: Floats, lines: tuple[Integers, Integers]) -> Counts:
        """The counts with their least-squares fit, on cells of some sizes between some lines."""
        widths, heights = (np.diff(each).astype(np.float64) for each in lines)
        raster = LeafRaster(self.blocks[self.tree.leaves], sizes, widths, heights)
        return Counts(self.tree, raster, self.measured, self.variances, *self.fitted_leaves())

    def fitted_leaves(self) -> tuple[Floats, Floats]:
        """Least-squares estimates of the leaves, and the variances of their noise."""
        fit, leaves = two_pass(self.tree, self.measured, self.variances), self.tree.leaves
        return fit.estimates[leaves], fit.estimate_variances()[leaves]


def coarse_lines(shape: tuple[int, int]) -> tuple[Integers, Integers]:
    """Lines along x and along y between the cells on which the field of a grid is solved.

    Grids of up to 2^19 cells are solved as they are. Of larger ones, at most 2^18 coarse cells are made, by halving all
    blocks as often as blocks of the tree are halved along x and along y, so that they cut no block of the tree.

    Examples
    --------
    >>> [each.size - 1 for each in coarse_lines((700, 500))], [each.size - 1 for each in coarse_lines((1400, 750))]
    ([700, 500], [512, 256])
    """
    if shape[0] * shape[1] <= MOST_CELLS:
        return np.arange(shape[0] + 1), np.arange(shape[1] + 1)
    return [(x, y) for x, y in uncut_lines(shape) if (x.size - 1) * (y.size - 1) <= FEWER_CELLS][-1]


def coarse_counts(nodes: BlockTree, division: Subdivision, lines: tuple[Integers, Integers]) -> Counts:
    """Join the counts of all blocks within a coarse cell into one.

    Parameters
    ----------
    nodes : BlockTree
    division : Subdivision
        Knows which fine cells lie in the region.
    lines : pair of int arrays
        Lines between coarse cells, along x and along y.
    """
    x, y = lines
    if (x.size - 1, y.size - 1) == division.grid.shape:
        return nodes.counts(division.grid.mask.astype(np.float64), lines)
    sides = *np.meshgrid(x[:-1], y[:-1]), *np.meshgrid(x[1:], y[1:])
    sizes = division.cells(np.stack(sides, axis=-1).reshape(-1, 4)).reshape(y.size - 1, x.size - 1)
    return _joined(nodes, division, lines).counts(sizes.astype(np.float64), lines)


def refined(field: Floats, nodes: BlockTree, division: Subdivision, lines: tuple[Integers, Integers]) -> Floats:
    """Share the counts of coarse cells among fine cells, (ny, nx).

    Parameters
    ----------
    field : (coarse rows, coarse columns) array
        The count of each coarse cell.
    nodes : BlockTree
        The tree of blocks of fine cells.
    division : Subdivision
        Knows which fine cells lie in the region.
    lines : pair of int arrays
        Lines between coarse cells, along x and along y.

    Notes
    -----
    The fine cells of a leaf that lie in one coarse cell get the same count, so they are handled together.
    """
    leaves = nodes.blocks[nodes.tree.leaves]
    leaf, coarse, pieces = _pieces(leaves, lines)
    cells, area = division.cells(pieces), np.maximum(division.cells(leaves), 1)
    even, freedom = ((each / area)[leaf] for each in nodes.fitted_leaves())
    sums, freedoms = (np.bincount(coarse, each * cells, minlength=field.size) for each in (even, freedom))
    free = freedoms > 0
    missing = np.where(free, field.ravel() - sums, 0.0) / np.where(free, freedoms, 1.0)
    nx, ny = division.grid.shape
    result = filled(pieces, even + freedom * missing[coarse], (ny, nx))
    if division.in_region is not None:
        result *= division.in_region
    return result


def _pieces(leaves: Blocks, lines: tuple[Integers, Integers]) -> tuple[Integers, Integers, Blocks]:
    """Cut leaves at the lines between coarse cells; return the leaf, the coarse cell and the block of each piece."""
    x, y = lines
    west, south, east, north = _coarse_around(leaves, lines)
    numbers, coarse = (east - west) * (north - south), south * (x.size - 1) + west
    uncut, cut = np.flatnonzero(numbers == 1), np.flatnonzero(numbers > 1)
    which = np.repeat(cut, numbers[cut])
    place = np.arange(which.size) - np.repeat(np.cumsum(numbers[cut]) - numbers[cut], numbers[cut])
    row, column = np.divmod(place, (east - west)[which])
    column += west[which]
    row += south[which]
    corners = np.stack([x[column], y[row]], axis=1), np.stack([x[column + 1], y[row + 1]], axis=1)
    low, high = np.maximum(leaves[which, :2], corners[0]), np.minimum(leaves[which, 2:], corners[1])
    more = np.concatenate([low, high], axis=1).astype(leaves.dtype)
    return (
        np.concatenate([uncut, which]),
        np.concatenate([coarse.take(uncut), row * (x.size - 1) + column]),
        np.concatenate([leaves.take(uncut, axis=0), more]),
    )


def _joined(nodes: BlockTree, division: Subdivision, lines: tuple[Integers, Integers]) -> BlockTree:
    """The tree of coarse cells and of the blocks that are unions of them."""
    tree, parent = nodes.tree, nodes.tree.parent
    best, variances = best_below(nodes)
    coarse, is_union, in_one = _coarse_blocks(nodes.blocks, division, lines)
    small = ~is_union
    small[0] = False
    first_small = small & ~np.append(True, small[parent[1:]])
    # A node ends where small children would straddle coarse cells; `coarse_lines` makes that rare.
    ends = np.zeros(tree.n_nodes, dtype=bool)
    ends[parent[first_small & ~in_one]] = True
    measured, noise = np.where(ends, best, nodes.measured), np.where(ends, variances, nodes.variances)
    levels = [_Coarse(np.zeros(1, dtype=np.int64), coarse[:1], measured[:1], noise[:1])]
    # Nodes of the last level that are in the new tree, in its order; -1 for joined ones. And where each node is there.
    alive, place = np.zeros(1, dtype=np.int64), np.full(tree.n_nodes, -1)
    for depth in range(tree.height):
        children = np.arange(*tree.offsets[depth + 1 : depth + 3])
        place[alive[alive >= 0]] = np.flatnonzero(alive >= 0)
        divided = (place[parent[children]] >= 0) & ~ends[parent[children]]
        whole, part = children[divided & ~small[children]], children[divided & first_small[children]]
        joined = _join(place[parent[part]], coarse[part], best[part], variances[part])
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


def best_below(nodes: BlockTree) -> tuple[Floats, Floats]:
    """Best estimate and variance of each node, from the counts at and below it."""
    tree, noise, values = nodes.tree, subtree_variances(nodes.tree, nodes.variances), nodes.measured.copy()
    for depth in reversed(range(tree.height)):
        level, inner, own = values[tree.level(depth)], tree.inner[depth], noise.weights[depth]
        level[inner] = own * level[inner] + (1 - own) * tree.inner_sums(depth, values[tree.level(depth + 1)])
    return values, noise.up_variance


def _coarse_blocks(
    blocks: Blocks, division: Subdivision, lines: tuple[Integers, Integers]
) -> tuple[Integers, Booleans, Booleans]:
    """The coarse cells around each block, whether it has all of the region's cells there, and whether it is in one."""
    x0, y0, x1, y1 = coarse = _coarse_around(blocks, lines)
    around = [lines[side % 2].take(each) for side, each in enumerate(coarse)]
    if division.in_region is None:
        is_union = np.logical_and.reduce([each == blocks[:, side] for side, each in enumerate(around)])
    else:
        is_union = division.cells(np.stack(around, axis=1)) == division.cells(blocks)
    return np.stack(coarse, axis=1), is_union, (x1 - x0 == 1) & (y1 - y0 == 1)


def _coarse_around(blocks: Blocks, lines: tuple[Integers, Integers]) -> list[Integers]:
    """First column and row, and those after the last, of the smallest block of coarse cells around each fine block."""
    around = []
    for side in range(4):
        axis = lines[side % 2]
        fine = np.arange(axis[-1] + 1)
        of_line = np.searchsorted(axis, fine) if side >= 2 else np.searchsorted(axis, fine, "right") - 1
        around.append(of_line.take(blocks[:, side]))
    return around


def _join(owner: Integers, blocks: Integers, values: Floats, variances: Floats) -> _Coarse:
    """Join the small children of a node that lie in the same coarse cell, which has no children of other nodes."""
    if not owner.size:
        return _Coarse(owner, blocks, values, variances)
    rows = int(blocks[:, 3].max())
    cell = blocks[:, 0] * rows + blocks[:, 1]
    cells = np.flatnonzero(np.bincount(cell))
    owners = np.empty(cells[-1] + 1, dtype=np.int64)
    owners[cell] = owner
    corner = np.stack(np.divmod(cells, rows), axis=1)
    sums: list[Array] = [np.bincount(cell, each)[cells] for each in (values, variances)]
    return _Coarse(owners[cells], np.concatenate([corner, corner + 1], axis=1), *sums)


def _assembled(levels: list[_Coarse]) -> BlockTree:
    offsets = np.concatenate([[0], np.cumsum([level.owner.size for level in levels])])
    counts = [np.bincount(below.owner, minlength=level.owner.size) for level, below in pairwise(levels)]
    n_children = np.concatenate([*counts, np.zeros(levels[-1].owner.size, dtype=np.int64)])
    blocks, values, variances = (
        np.concatenate([getattr(level, name) for level in levels]) for name in ("blocks", "values", "variances")
    )
    return BlockTree(Tree(offsets, n_children, blocks), blocks, values, variances)
