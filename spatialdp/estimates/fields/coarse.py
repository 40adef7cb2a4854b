"""How is a field solved on a large grid? On coarser cells, into which counts of smaller blocks are joined.

Blocks are halved at the same lines everywhere, so coarse cells between some of these lines are unions of small blocks,
and large blocks are unions of coarse cells. All that was measured within a coarse cell becomes one count of it, the
best one. Afterwards the field's count of a coarse cell is shared among its fine cells as least squares shares it.
Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32
from spatialdp.estimates.fields.gaussian import Counts
from spatialdp.estimates.fields.raster import LeafRaster, painted
from spatialdp.space.boxes.subdivision import Subdivision
from spatialdp.space.boxes.tree import Tree
from spatialdp.trees.least_squares import two_pass
from spatialdp.trees.tree_noise import TreeNoise

__all__ = ["BlockTree", "best_below", "coarse_counts", "coarse_lines", "refined"]

Blocks = Integers | Integers32  # (n, 4): first column and row, and those after the last

MOST_CELLS = 2**19  # of a grid whose field is solved on its own cells
FEWER_CELLS = 2**18  # on which the fields of larger grids are solved, at most
_ROWS = 64  # rows of cells that are filled at a time


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
        fitted = two_pass(self.tree, self.measured, self.variances).estimates
        return fitted[self.tree.leaves], self.noise.fitted_variances()[self.tree.leaves]

    @cached_property
    def noise(self) -> TreeNoise:
        """The noise of the counts."""
        return TreeNoise(self.tree, self.variances, np.zeros(self.tree.n_nodes))


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
    times = (0, 0)
    while (more := _next_halvings(shape, times)) is not None and 2 ** sum(more) <= FEWER_CELLS:
        times = more
    return _halved(shape[0], times[0]), _halved(shape[1], times[1])


def _next_halvings(shape: tuple[int, int], times: tuple[int, int]) -> tuple[int, int] | None:
    """After how many halvings along x and y all blocks of a grid have been halved once more, or once along each axis.

    Blocks are halved across the longer side, and their sides differ by up to one cell. None if some blocks would be
    halved along x and others along y, or if some are too small.
    """
    sides = [{length >> halvings, -(-length >> halvings)} for length, halvings in zip(shape, times, strict=True)]
    blocks = list(product(*sides))
    axes = {_longer(*block) for block in blocks}
    if len(axes) > 1 and not all(_halved_along_both(*block) for block in blocks):
        return None
    more = times[0] + (0 in axes), times[1] + (1 in axes)
    return more if all(min(sides[axis]) > 1 for axis in axes) else None


def _longer(width: int, height: int) -> int:
    """The axis along which `Subdivision` halves a block: y if both sides are equal."""
    return 0 if width > height else 1


def _halved_along_both(width: int, height: int) -> bool:
    """Whether both halves of a block are halved along the other axis."""
    if _longer(width, height) == 0:
        return all(_longer(half, height) == 1 for half in (width // 2, width - width // 2))
    return all(_longer(width, half) == 0 for half in (height // 2, height - height // 2))


def _halved(length: int, times: int) -> Integers:
    """The lines at which a number of cells is halved so many times.

    Examples
    --------
    >>> _halved(10, 2).tolist()
    [0, 2, 5, 7, 10]
    """
    lines = np.array([0, length])
    for _ in range(times):
        lines = np.unique(np.concatenate([lines, (lines[1:] + lines[:-1]) // 2]))
    return lines


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
    values = np.append(even + freedom * missing[coarse], 0.0)
    nx, ny = division.grid.shape
    result, number = np.empty((ny, nx)), painted(pieces, (ny, nx))
    for start in range(0, ny, _ROWS):  # a few rows at a time, so that no array of all cells is made in between
        values.take(number[start : start + _ROWS], out=result[start : start + _ROWS], mode="clip")
    if division.in_region is not None:
        result *= division.in_region
    return result


def _pieces(leaves: Blocks, lines: tuple[Integers, Integers]) -> tuple[Integers, Integers, Blocks]:
    """Cut leaves at the lines between coarse cells; return the leaf, the coarse cell and the block of each piece."""
    around = _coarse_around(leaves, lines)
    numbers = np.prod(around[:, 2:] - around[:, :2], axis=1)
    uncut, cut = np.flatnonzero(numbers == 1), np.flatnonzero(numbers > 1)
    which = np.repeat(cut, numbers[cut])
    place = np.arange(which.size) - np.repeat(np.cumsum(numbers[cut]) - numbers[cut], numbers[cut])
    row, column = np.divmod(place, (around[:, 2] - around[:, 0])[which])
    column += around[which, 0]
    row += around[which, 1]
    x, y = lines
    corners = np.stack([x[column], y[row]], axis=1), np.stack([x[column + 1], y[row + 1]], axis=1)
    low, high = np.maximum(leaves[which, :2], corners[0]), np.minimum(leaves[which, 2:], corners[1])
    coarse = np.concatenate([around[uncut, 1] * (x.size - 1) + around[uncut, 0], row * (x.size - 1) + column])
    pieces = np.concatenate([leaves[uncut], np.concatenate([low, high], axis=1).astype(leaves.dtype)])
    return np.concatenate([uncut, which]), coarse, pieces


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
    # Nodes of the last level that are in the new tree, in its order; -1 for joined ones.
    alive = np.zeros(1, dtype=np.int64)
    for depth in range(tree.height):
        children = np.arange(tree.n_nodes)[tree.level(depth + 1)]
        place = np.full(tree.n_nodes, -1)
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
    values, own = nodes.measured.copy(), nodes.noise.own_weight
    for depth in reversed(range(nodes.tree.height)):
        level = nodes.tree.level(depth)
        below = nodes.tree.family_sums(depth, values[nodes.tree.level(depth + 1)])
        values[level] = own[level] * values[level] + (1 - own[level]) * below
    return values, nodes.noise.up_variance


def _coarse_blocks(
    blocks: Blocks, division: Subdivision, lines: tuple[Integers, Integers]
) -> tuple[Integers, Booleans, Booleans]:
    """The coarse cells around each block, whether it has all of the region's cells there, and whether it is in one."""
    coarse, around = _coarse_around(blocks, lines), np.empty(blocks.shape, dtype=np.int64)
    for side in range(4):
        around[:, side] = lines[side % 2].take(coarse[:, side])
    is_union = division.cells(around) == division.cells(blocks)
    sides = coarse[:, 2:] - coarse[:, :2]
    return coarse, is_union, (sides[:, 0] == 1) & (sides[:, 1] == 1)


def _coarse_around(blocks: Blocks, lines: tuple[Integers, Integers]) -> Integers:
    """The smallest block of coarse cells around each block of fine cells."""
    around = np.empty(blocks.shape, dtype=np.int64)
    for side in range(4):
        axis = lines[side % 2]
        fine = np.arange(axis[-1] + 1)
        of_line = np.searchsorted(axis, fine) if side >= 2 else np.searchsorted(axis, fine, "right") - 1
        around[:, side] = of_line.take(blocks[:, side])
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
