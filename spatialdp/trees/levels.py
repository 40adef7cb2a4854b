"""How is a number for each node kept, if whole levels have the same? By level: one number, or one for each node.

Variances depend on the level and hardly ever on the node. Where all nodes of a level have the same number, neither
millions of copies of it are stored nor is each of them worked with, and the largest level is the lowest one. A number
is an array without axes, so that arithmetic is written once for both.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp.trees.shape import TreeShape

__all__ = ["ByLevel", "at_places", "by_level", "joined"]

ByLevel = tuple[Floats, ...]


def by_level(tree: TreeShape, values: Floats) -> ByLevel:
    """Return numbers by level, given one for each level or one for each node.

    Examples
    --------
    >>> [level.tolist() for level in by_level(TreeShape([0, 1, 3], [2, 0, 0]), np.array([4.0, 1.0, 1.0]))]
    [4.0, 1.0]
    >>> [level.tolist() for level in by_level(TreeShape([0, 1, 3], [2, 0, 0]), np.array([4.0, 1.0, 2.0]))]
    [4.0, [1.0, 2.0]]
    """
    if values.size != tree.n_nodes:
        return tuple(np.asarray(value) for value in values)
    levels = (values[level] for level in tree.levels)
    return tuple(np.asarray(level[0]) if np.all(level == level[0]) else level for level in levels)


def joined(tree: TreeShape, levels: ByLevel) -> Floats:
    """Return one number for each node.

    Examples
    --------
    >>> joined(TreeShape([0, 1, 3], [2, 0, 0]), (np.array(4.0), np.array([1.0, 2.0]))).tolist()
    [4.0, 1.0, 2.0]
    """
    values = np.empty(tree.n_nodes)
    for level, numbers in zip(tree.levels, levels, strict=True):
        values[level] = numbers
    return values


def at_places(level: Array, places: slice | Integers) -> Array:
    """Return the numbers of some nodes of a level; the one number, if all nodes of the level have the same.

    Examples
    --------
    >>> at_places(np.array([1.0, 2.0]), np.array([1])).tolist(), at_places(np.array(3.0), np.array([1])).tolist()
    ([2.0], 3.0)
    """
    return level[places] if level.ndim else level
