"""Which zones are the same area on several levels? Chains of only children, and leaves above the lowest level.

A zone with one child has the same records as that child; two measurements of it are one number that is paid for twice.
So a chain is one node of the merged tree, and so is a leaf with the levels below it that it does not reach. Such a node
spans several levels, and whoever measures it may spend the shares of all of them at once. See
``docs/design/zones.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Array, Integers, expand_ranges, read_only
from spatialdp._support.tree_shape import TreeShape, sums

__all__ = ["Chains", "Group", "first_leaves", "merged"]


@dataclass(frozen=True, eq=False)
class Group:
    """The nodes of a group, in the order of their numbers.

    Attributes
    ----------
    parts : tuple of slices and int64 arrays
        The nodes of each level: a slice where they are neighbours, as those of the lowest level mostly are. Slices are
        read and written several times faster than lists of millions of nodes.

    Examples
    --------
    >>> group = Group((slice(1, 3), np.array([4, 6])))
    >>> group.size, group.of(np.arange(10)).tolist()
    (4, [1, 2, 4, 6])
    """

    parts: tuple[slice | Integers, ...]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return sum(_size(part) for part in self.parts)

    def of(self, values: Array) -> Array:
        """Return the values of the nodes, out of those of all nodes; not always a copy."""
        each = [values[part] for part in self.parts]
        return each[0] if len(each) == 1 else np.concatenate(each)

    def put(self, values: Array, numbers: Array) -> None:
        """Write the numbers of the nodes into the values of all nodes."""
        start = 0
        for part in self.parts:
            values[part] = numbers[start : start + _size(part)]
            start += _size(part)

    def fill(self, values: Array, number: float) -> None:
        """Write one number into the values of all these nodes."""
        for part in self.parts:
            values[part] = number


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

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The nodes of every group."""
        parts: list[list[slice | Integers]] = [[] for _ in self.spans]
        for depth in range(self.shape.height + 1):
            level = self.shape.level(depth)
            for group, nodes in _by_group(self.group[level], level.start):
                parts[group].append(nodes)
        return tuple(Group(tuple(each)) for each in parts)

    @cached_property
    def group_of_level(self) -> tuple[int, ...]:
        """For each depth, the group that all its nodes are in, or -1 if they are in several."""
        levels = (self.group[self.shape.level(depth)] for depth in range(self.shape.height + 1))
        return tuple(int(level[0]) if level.min() == level.max() else -1 for level in levels)

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


def _size(part: slice | Integers) -> int:
    return int(part.stop - part.start) if isinstance(part, slice) else part.size


def _by_group(group: Integers, start: int) -> Iterator[tuple[int, slice | Integers]]:
    """Yield each group of a level with its nodes; the first node of the level is `start`."""
    sizes = np.bincount(group)
    order = None if np.count_nonzero(sizes) == 1 else np.argsort(group.astype(np.int16), kind="stable") + start
    stop = 0
    for number in np.flatnonzero(sizes).tolist():
        first, stop = stop, stop + int(sizes[number])
        if order is None or order[stop - 1] - order[first] == sizes[number] - 1:
            begin = start if order is None else int(order[first])
            yield number, slice(begin, begin + int(sizes[number]))
        else:
            yield number, order[first:stop]


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
