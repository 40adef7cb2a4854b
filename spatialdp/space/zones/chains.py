"""Which zones are the same area on several levels? Chains of only children, and leaves above the lowest level.

A zone with one child has the same records as that child; two measurements of it are one number that is paid for twice.
So a chain is one node of the merged tree, and so is a leaf with the levels below it that it does not reach. Such a node
spans several levels, and whoever measures it may spend the shares of all of them at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.tree_shape import TreeShape, sums

__all__ = ["Chains", "first_leaves", "merged"]


@dataclass(frozen=True, eq=False)
class Chains:
    """A tree without only children, and where the nodes of the declared tree are in it.

    Attributes
    ----------
    shape : TreeShape
        The merged tree: every node is a leaf or has two children at least.
    place : integer array
        The merged node of each declared node.
    first, last : integer arrays
        The declared levels that each merged node spans, both included. A leaf spans down to the lowest level.
    """

    shape: TreeShape
    place: Integers
    first: Integers
    last: Integers


def merged(shape: TreeShape) -> Chains:
    """Merge chains of only children into one node each.

    Examples
    --------
    >>> chains = merged(TreeShape([0, 1, 3, 6], [2, 1, 2, 0, 0, 0]))
    >>> chains.shape.n_nodes, chains.place.tolist()
    (5, [0, 1, 2, 1, 3, 4])
    >>> chains.first.tolist(), chains.last.tolist()
    ([0, 1, 1, 2, 2], [0, 2, 1, 2, 2])
    """
    parent = shape.parent.astype(np.int64)
    only = np.zeros(shape.n_nodes, dtype=bool)
    only[1:] = shape.n_children[parent[1:]] == 1
    head, depth = np.arange(shape.n_nodes), np.zeros(shape.n_nodes, dtype=np.int64)
    for level in map(shape.level, range(1, shape.height + 1)):
        above = parent[level]
        head[level] = np.where(only[level], head[above], head[level])
        depth[level] = depth[above] + ~only[level]  # among heads alone
    heads = np.flatnonzero(~only)
    heads = heads[np.lexsort((first_leaves(shape)[heads], depth[heads]))]
    number = np.empty(shape.n_nodes, dtype=np.int64)
    number[heads] = np.arange(heads.size)
    place = number[head]
    tails = np.flatnonzero(shape.n_children != 1)  # the lowest node of each chain
    n_children, last = np.empty(heads.size, dtype=np.int64), np.empty(heads.size, dtype=np.int64)
    n_children[place[tails]] = shape.n_children[tails]
    last[place[tails]] = np.where(shape.leaves[tails], shape.height, shape.depth[tails])
    offsets = np.searchsorted(depth[heads], np.arange(depth[heads].max() + 2))
    return Chains(TreeShape(offsets, n_children), place, shape.depth[heads].astype(np.int64), last)


def first_leaves(shape: TreeShape) -> Integers:
    """Return the number of leaves to the left of each node, in the order in which children stand below their parents.

    Zones of which neither contains the other have no leaf in common, so this number orders them as families follow.

    Examples
    --------
    >>> first_leaves(TreeShape([0, 1, 3, 6], [2, 1, 2, 0, 0, 0])).tolist()
    [0, 0, 1, 0, 1, 2]
    """
    sizes = sums(shape, np.ones(shape.n_leaves, dtype=np.int64))
    left = np.zeros(shape.n_nodes, dtype=np.int64)
    for depth in range(shape.height):
        above, below = shape.level(depth), shape.level(depth + 1)
        before = np.cumsum(sizes[below]) - sizes[below]  # of all families of the level
        inner = np.flatnonzero(shape.n_children[above])
        first = shape.first_child[above][inner] - below.start
        left[below] = before + np.repeat(left[above][inner] - before[first], shape.n_children[above][inner])
    return left
