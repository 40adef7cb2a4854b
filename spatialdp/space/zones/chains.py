"""Which zones are the same area on several levels? Chains of only children, and leaves above the lowest level.

A zone with one child has the same records as that child; two measurements of it are one number that is paid for twice.
So a chain is one node of the merged tree, and so is a leaf with the levels below it that it does not reach. Such a node
spans several levels, and whoever measures it may spend the shares of all of them at once. See
``docs/design/zones.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Integers, expand_ranges, read_only
from spatialdp._support.tree_shape import TreeShape, sums

__all__ = ["Chains", "first_leaves", "merged"]


@dataclass(frozen=True, eq=False)
class Chains:
    """A tree without only children, and where the nodes of the declared tree are in it.

    Attributes
    ----------
    shape : TreeShape
        The merged tree: every node is a leaf or has at least two children.
    place : int64 array
        The merged node of each declared node.
    first, last : int64 arrays
        The declared levels that each merged node spans, both included. A leaf spans down to the lowest level.
    """

    shape: TreeShape
    place: Integers
    first: Integers
    last: Integers

    def __post_init__(self) -> None:
        for name in ("place", "first", "last"):
            object.__setattr__(self, name, read_only(getattr(self, name), np.int64))

    @cached_property
    def spans(self) -> Integers:
        """The first and last level of every group of nodes that span the same levels, root first, (groups, 2)."""
        return np.stack(np.divmod(np.flatnonzero(np.bincount(self._keys)), self._n_levels), axis=1)

    @cached_property
    def group(self) -> Integers:
        """The group of each merged node: its row in `spans`."""
        number = np.cumsum(np.bincount(self._keys) > 0) - 1
        return read_only(number[self._keys], np.int64)

    @property
    def _n_levels(self) -> int:
        return int(self.last.max()) + 1

    @property
    def _keys(self) -> Integers:
        """One number for each pair of a first and a last level, in the order of the pairs."""
        return self.first * self._n_levels + self.last


def merged(shape: TreeShape) -> Chains:
    """Merge each chain of only children into one node.

    Examples
    --------
    >>> chains = merged(TreeShape([0, 1, 3, 6], [2, 1, 2, 0, 0, 0]))
    >>> chains.shape.n_nodes, chains.place.tolist()
    (5, [0, 1, 2, 1, 3, 4])
    >>> chains.first.tolist(), chains.last.tolist()
    ([0, 1, 1, 2, 2], [0, 2, 1, 2, 2])
    """
    depth = shape.depth.astype(np.int64)
    if not np.any(shape.n_children == 1):
        return Chains(shape, np.arange(shape.n_nodes), depth, np.where(shape.leaves, shape.height, depth))
    lowest = _lowest_of_chains(shape)
    levels = _heads(shape, lowest)
    heads = np.concatenate(levels)
    tails = lowest[heads]
    offsets = np.concatenate([[0], np.cumsum([level.size for level in levels])])
    last = np.where(shape.leaves[tails], shape.height, depth[tails])
    return Chains(TreeShape(offsets, shape.n_children[tails]), _places(shape, heads), depth[heads], last)


def _lowest_of_chains(shape: TreeShape) -> Integers:
    """Return, for each node, the first node at or below it that does not have exactly one child."""
    lowest = np.arange(shape.n_nodes)
    for d in reversed(range(shape.height)):
        above = np.flatnonzero(shape.n_children[shape.level(d)] == 1) + shape.offsets[d]
        lowest[above] = lowest[shape.first_child[above]]
    return lowest


def _heads(shape: TreeShape, lowest: Integers) -> list[Integers]:
    """Return the highest node of each chain, for each depth of the merged tree, family by family."""
    levels = [np.zeros(1, dtype=np.int64)]
    while True:
        tails = lowest[levels[-1]]
        first = shape.first_child[tails]
        below = expand_ranges(first, first + shape.n_children[tails])[1]
        if not below.size:
            return levels
        levels.append(below)


def _places(shape: TreeShape, heads: Integers) -> Integers:
    """Return the merged node of each declared node."""
    place = np.full(shape.n_nodes, -1, dtype=np.int64)
    place[heads] = np.arange(heads.size)
    for d in range(1, shape.height + 1):
        only = np.flatnonzero(place[shape.level(d)] < 0) + shape.offsets[d]
        place[only] = place[shape.parent[only]]
    return place


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
