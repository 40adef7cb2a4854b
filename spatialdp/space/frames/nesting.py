"""How do cells in a row become a tree? By numbers that say, for each level, to which part of it every cell belongs.

Cells with equal numbers at one level must lie next to each other: hours are grouped by day and days by week. A root
above all cells is always there, whether it is measured or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from spatialdp._support.arrays import Booleans, Integers
from spatialdp.trees.shape import TreeShape

__all__ = ["level_nodes", "nested"]


def nested(levels: Sequence[Integers], size: int) -> TreeShape:
    """Return the tree over `size` cells whose inner levels group neighbours with equal numbers; the root is added.

    Parameters
    ----------
    levels : sequence of (size,) arrays
        From the coarsest to the finest, without the cells themselves. A part ends wherever one of a coarser level ends.
    size : int

    Examples
    --------
    >>> tree = nested([np.array([0, 0, 0, 1, 1])], 5)
    >>> tree.offsets.tolist(), tree.n_children.tolist()
    ([0, 1, 3, 8], [2, 3, 2, 0, 0, 0, 0, 0])
    """
    starts = [np.arange(size) == 0]
    for level in levels:
        starts.append(starts[-1] | _changes(np.asarray(level)))
    starts.append(np.ones(size, dtype=bool))
    counts = [_children(one, other) for one, other in pairwise(starts)]
    n_nodes = [int(each.sum()) for each in starts]
    offsets = np.concatenate([[0], np.cumsum(n_nodes)])
    return TreeShape(offsets, np.concatenate([*counts, np.zeros(size, dtype=np.int64)]).astype(np.int32))


def level_nodes(shape: TreeShape, depth: int) -> Integers:
    """Return the nodes that divide a tree at a depth: those of the depth, and the leaves above it.

    Examples
    --------
    >>> level_nodes(TreeShape([0, 1, 3, 5], [2, 0, 2, 0, 0]), 2).tolist()
    [1, 3, 4]
    """
    return np.flatnonzero((shape.depth == depth) | (shape.leaves & (shape.depth < depth)))


def _changes(numbers: Integers) -> Booleans:
    return np.concatenate([[True], numbers[1:] != numbers[:-1]])


def _children(parents: Booleans, children: Booleans) -> Integers:
    """Return the number of children of each parent, given where parents and children begin."""
    return np.add.reduceat(children.astype(np.int64), np.flatnonzero(parents))
