"""Hierarchies of square blocks of cells on any grid, as trees.

Level by level the grid is covered by blocks of so many by so many cells, each level's blocks made of whole blocks of
the next finer one; the last block of a row or column ends with the grid. There are no cells beyond the grid, and blocks
without a cell of the region are left out. Nothing here sees a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers, Integers32
from spatialdp.space.domain import Grid
from spatialdp.trees.tree import Tree

__all__ = ["BlockTree", "block_tree", "levels_of"]


# A node of more children than this gets unmeasured nodes between, so that boxes find their way quickly.
_MOST_CHILDREN = 32


@dataclass(frozen=True, eq=False)
class BlockTree:
    """A tree of blocks over the cells of a grid.

    Attributes
    ----------
    tree : Tree
        Root first; the leaves, all of the greatest depth, are the region's cells.
    sides : tuple of int
        Side of each depth's blocks in cells, root first.
    cells : int array
        Place of each leaf in the grid's row-major array.
    """

    tree: Tree
    sides: tuple[int, ...]
    cells: Integers


def levels_of(sides: Sequence[int], shape: tuple[int, int]) -> tuple[int, ...]:
    """Sides of a tree's blocks, root first, from the measured ones, cells first.

    The root is one block that holds the whole grid. Where there would be too many blocks below it, levels are put
    between that are not measured and change nothing.

    Examples
    --------
    >>> levels_of((1, 8, 32), (256, 200))
    (256, 32, 8, 1)
    >>> levels_of((1,), (1000, 1))
    (1024, 32, 1)
    """
    largest = max(shape)
    kept = [side for side in sides if side < largest] or [1]
    while -(-largest // kept[-1]) > _MOST_CHILDREN:
        kept.append(kept[-1] * _MOST_CHILDREN)
    if kept[-1] < largest:
        kept.append(-(-largest // kept[-1]) * kept[-1])
    return tuple(kept[::-1])


def block_tree(grid: Grid, sides: Sequence[int]) -> BlockTree:
    """The tree of a grid's blocks.

    Parameters
    ----------
    grid : Grid
    sides : sequence of int
        Side of each depth's blocks in cells, root first: the first at least as long as the grid, the last 1, each a
        multiple of the next.

    Examples
    --------
    >>> from spatialdp.space.domain import Domain
    >>> found = block_tree(Domain((0, 0, 1, 1)).grid((3, 2)), (4, 2, 1))
    >>> found.tree.n_children.tolist(), found.cells.tolist()
    ([2, 4, 2, 0, 0, 0, 0, 0, 0], [0, 1, 3, 4, 2, 5])
    """
    orders = _orders(grid, sides)
    present = _present(grid, sides)
    kept = [order[there.ravel()[order]] for order, there in zip(orders, present, strict=True)]
    n_children = [
        _block_sums(finer.astype(np.int32), coarse // fine).ravel()[nodes]
        for (coarse, fine), finer, nodes in zip(pairwise(sides), present[1:], kept, strict=False)
    ]
    n_children.append(np.zeros(kept[-1].size, dtype=np.int32))
    boxes = [_boxes(grid, side, nodes) for side, nodes in zip(sides, kept, strict=True)]
    offsets = np.concatenate([[0], np.cumsum([nodes.size for nodes in kept])])
    tree = Tree(offsets, np.concatenate(n_children), np.concatenate(boxes))
    return BlockTree(tree, tuple(sides), kept[-1])


def _counts(grid: Grid, side: int) -> tuple[int, int]:
    """Rows and columns of blocks."""
    nx, ny = grid.shape
    return -(-ny // side), -(-nx // side)


def _orders(grid: Grid, sides: Sequence[int]) -> list[Integers]:
    """For each depth the row-major places of its blocks, family by family; regions play no part yet."""
    orders = [np.zeros(1, dtype=np.int64)]
    for coarse, fine in pairwise(sides):
        rows, columns = _counts(grid, fine)
        orders.append(_order(orders[-1], (rows, columns), coarse // fine))
    return orders


def _order(parents: Integers, counts: tuple[int, int], ratio: int) -> Integers:
    """Places of the blocks of one depth, given the order of the blocks `ratio` times as long.

    A block comes after all families of earlier parents, and after the earlier rows and columns of its own family.
    """
    (rows, tall), (columns, wide) = (_families(count, ratio) for count in counts)
    sizes = np.multiply.outer(tall, wide).ravel()[parents]
    first = np.empty(parents.size, dtype=np.int64)
    first[parents] = np.cumsum(sizes) - sizes
    start = first.reshape(tall.size, wide.size)[np.ix_(rows.parent, columns.parent)]
    position = start + rows.place[:, None] * wide[columns.parent] + columns.place
    order = np.empty(position.size, dtype=np.int64)
    order[position.ravel()] = np.arange(position.size)
    return order


@dataclass(frozen=True, eq=False)
class _Line:
    """Along one axis: each block's parent, and its place among the parent's blocks."""

    parent: Integers
    place: Integers


def _families(count: int, ratio: int) -> tuple[_Line, Integers]:
    """Parents and places of an axis' blocks, and how many each parent has."""
    parent, place = np.divmod(np.arange(count), ratio)
    return _Line(parent, place), np.bincount(parent)


def _present(grid: Grid, sides: Sequence[int]) -> list[Booleans]:
    """For each depth which blocks have a cell in the region, as (rows, columns)."""
    levels: list[Booleans] = [grid.mask]
    for coarse, fine in reversed(list(pairwise(sides))):
        levels.append(_block_sums(levels[-1].astype(np.int32), coarse // fine) > 0)
    return levels[::-1]


def _block_sums(values: Array, ratio: int) -> Array:
    """Sums over blocks of ratio x ratio entries; the last ones may be smaller."""
    for axis in (0, 1):
        values = np.add.reduceat(values, np.arange(0, values.shape[axis], ratio), axis=axis)
    return values


def _boxes(grid: Grid, side: int, blocks: Integers) -> Integers32:
    """Lattice boxes of blocks."""
    row, column = np.divmod(blocks, _counts(grid, side)[1])
    sides = []
    for lines, place in ((grid.x_lines, column), (grid.y_lines, row)):
        edges = lines[np.minimum(np.arange(0, lines.size - 1 + side, side), lines.size - 1)].astype(np.int32)
        sides.append((edges[:-1][place], edges[1:][place]))
    (xlo, xhi), (ylo, yhi) = sides
    return np.stack([xlo, ylo, xhi, yhi], axis=1)
