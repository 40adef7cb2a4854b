"""Trees of square blocks of cells, on a grid of any shape.

Each level divides the grid into blocks of side x side cells, and a block consists of whole blocks of the next finer
level. The last blocks of a row or column end with the grid: there are no cells beyond it. Blocks without a cell of the
region are left out. Which levels are worth measuring is decided elsewhere (`strategies.levels`). Nothing here sees a
record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers, Integers32
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.domain import Grid

__all__ = ["BlockTree", "block_tree", "levels_of"]

# If more blocks than this lay in a row below the root, unmeasured levels are put between, so that walks stay short.
_MOST_CHILDREN = 32


@dataclass(frozen=True, eq=False)
class BlockTree:
    """A tree of blocks over the cells of a grid.

    Attributes
    ----------
    tree : Tree
        The tree; its leaves, all at the greatest depth, are the cells of the region.
    sides : tuple of int
        Side of the blocks of each depth, in cells, root first.
    cells : int array
        Position of each leaf in the grid's row-major array of cells.
    """

    tree: Tree
    sides: tuple[int, ...]
    cells: Integers


def levels_of(sides: Sequence[int], shape: tuple[int, int]) -> tuple[int, ...]:
    """Return the sides of the blocks of a tree's levels, root first, given the measured sides, smallest first.

    The root is one block that contains the whole grid. If it would have too many blocks below it, unmeasured levels are
    put between, which do not change the estimates.

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
    """Make the tree of a grid's blocks.

    Parameters
    ----------
    grid : Grid
    sides : sequence of int
        Side of the blocks of each depth, in cells, root first: the first at least the grid's longer side, the last 1,
        each a multiple of the next.

    Examples
    --------
    >>> from spatialdp.space.domain import Domain
    >>> blocks = block_tree(Domain((0, 0, 1, 1)).grid((3, 2)), (4, 2, 1))
    >>> blocks.tree.n_children.tolist(), blocks.cells.tolist()
    ([2, 4, 2, 0, 0, 0, 0, 0, 0], [0, 1, 3, 4, 2, 5])
    """
    orders = _orders(grid, sides)
    present = _present(grid, sides)
    kept = [order[is_present.ravel()[order]] for order, is_present in zip(orders, present, strict=True)]
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
    """Return the numbers of rows and columns of blocks."""
    nx, ny = grid.shape
    return -(-ny // side), -(-nx // side)


def _orders(grid: Grid, sides: Sequence[int]) -> list[Integers]:
    """Return, for each depth, the row-major positions of all its blocks, family by family, the region ignored."""
    orders = [np.zeros(1, dtype=np.int64)]
    for coarse, fine in pairwise(sides):
        rows, columns = _counts(grid, fine)
        orders.append(_order(orders[-1], (rows, columns), coarse // fine))
    return orders


def _order(parents: Integers, counts: tuple[int, int], ratio: int) -> Integers:
    """Return the order of the blocks of one depth, given the order of their parents, `ratio` blocks long.

    A block comes after all families of earlier parents, and within its family row by row.
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
    """For the blocks along one axis: the parent of each block, and its place among the parent's blocks."""

    parent: Integers
    place: Integers


def _families(count: int, ratio: int) -> tuple[_Line, Integers]:
    """Return parents and places of the blocks along an axis, and the number of blocks of each parent."""
    parent, place = np.divmod(np.arange(count), ratio)
    return _Line(parent, place), np.bincount(parent)


def _present(grid: Grid, sides: Sequence[int]) -> list[Booleans]:
    """Return, for each depth, which blocks have a cell in the region, as an array (rows, columns)."""
    levels: list[Booleans] = [grid.mask]
    for coarse, fine in reversed(list(pairwise(sides))):
        levels.append(_block_sums(levels[-1].astype(np.int32), coarse // fine) > 0)
    return levels[::-1]


def _block_sums(values: Array, ratio: int) -> Array:
    """Return sums over blocks of ratio x ratio entries; the last blocks of a row or column may be smaller."""
    for axis in (0, 1):
        values = np.add.reduceat(values, np.arange(0, values.shape[axis], ratio), axis=axis)
    return values


def _boxes(grid: Grid, side: int, blocks: Integers) -> Integers32:
    """Return the lattice boxes of blocks, given their row-major positions."""
    row, column = np.divmod(blocks, _counts(grid, side)[1])
    sides = []
    for lines, place in ((grid.x_lines, column), (grid.y_lines, row)):
        edges = lines[np.minimum(np.arange(0, lines.size - 1 + side, side), lines.size - 1)].astype(np.int32)
        sides.append((edges[:-1][place], edges[1:][place]))
    (xlo, xhi), (ylo, yhi) = sides
    return np.stack([xlo, ylo, xhi, yhi], axis=1)
