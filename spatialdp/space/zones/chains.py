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

from spatialdp._support.arrays import Array, Integers, Integers8, Integers16, Integers32, expand_ranges, read_only
from spatialdp.trees.shape import TreeShape, sums

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

    @property
    def nodes(self) -> Integers:
        """Their numbers."""
        each = [np.arange(part.start, part.stop) if isinstance(part, slice) else part for part in self.parts]
        return np.concatenate(each)

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
    first, last : int8 arrays
        The declared levels that each merged node spans, both included. A leaf spans down to the lowest level.
    """

    shape: TreeShape
    place: Integers
    first: Integers8
    last: Integers8

    def __post_init__(self) -> None:
        for name, dtype in (("place", np.int64), ("first", np.int8), ("last", np.int8)):
            object.__setattr__(self, name, read_only(getattr(self, name), dtype))

    @cached_property
    def spans(self) -> Integers:
        """The first and last level of every group of nodes that span the same levels, root first, (groups, 2)."""
        return np.stack(np.divmod(np.flatnonzero(np.bincount(self._keys)), self._n_levels), axis=1)

    @cached_property
    def group(self) -> Integers16:
        """The group of each merged node: its row in `spans`."""
        number = np.cumsum(np.bincount(self._keys) > 0) - 1
        return read_only(number.astype(np.int16)[self._keys], np.int16)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The nodes of every group."""
        parts: list[list[slice | Integers]] = [[] for _ in self.spans]
        for depth, only in enumerate(self.group_of_level):
            level = self.shape.level(depth)
            found = [(only, level)] if only >= 0 else _by_group(self.group[level], level.start)
            for group, nodes in found:
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
    def _keys(self) -> Integers16:
        """One number for each pair of a first and a last level, in the order of the pairs."""
        return self.first.astype(np.int16) * self._n_levels + self.last


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
    if not np.any(shape.n_children == 1):
        last = np.where(shape.leaves, np.int8(shape.height), shape.depth)
        return Chains(shape, np.arange(shape.n_nodes), shape.depth, last)
    levels = list(_levels(shape, _lowest_of_chains(shape)))
    heads, n_children, first, last = (np.concatenate(each) for each in zip(*levels, strict=True))
    offsets = np.concatenate([[0], np.cumsum([level[0].size for level in levels])])
    return Chains(TreeShape(offsets, n_children), _places(shape, heads), first, last)


def _size(part: slice | Integers) -> int:
    return int(part.stop - part.start) if isinstance(part, slice) else part.size


def _by_group(group: Array, start: int) -> Iterator[tuple[int, slice | Integers]]:
    """Yield each group of a level with its nodes; the first node of the level is `start`."""
    sizes = np.bincount(group)
    order = np.argsort(group, kind="stable") + start
    stop = 0
    for number in np.flatnonzero(sizes).tolist():
        nodes = order[stop : stop + int(sizes[number])]
        stop += nodes.size
        first, last = int(nodes[0]), int(nodes[-1])
        yield number, slice(first, last + 1) if last - first == nodes.size - 1 else nodes


def _lowest_of_chains(shape: TreeShape) -> Integers:
    """Return, for each node, the first node at or below it that does not have exactly one child."""
    lowest = np.arange(shape.n_nodes)
    for d in reversed(range(shape.height)):
        above = np.flatnonzero(shape.n_children[shape.level(d)] == 1) + shape.offsets[d]
        lowest[above] = lowest[shape.first_child[above]]
    return lowest


def _levels(shape: TreeShape, lowest: Integers) -> Iterator[tuple[Integers, Integers32, Integers8, Integers8]]:
    """Yield, for each depth of the merged tree, the highest nodes of chains, their numbers of children, and spans."""
    heads, height = np.zeros(1, dtype=np.int64), shape.height
    while True:
        if heads.min() >= shape.offsets[height]:  # most nodes are on the lowest level, and there is nothing to look up
            spanned = np.full(heads.size, height, dtype=np.int8)
            yield heads, np.zeros(heads.size, dtype=np.int32), spanned, spanned
            return
        tails = lowest[heads]
        n_children = shape.n_children[tails]
        inner = np.flatnonzero(n_children)
        last = np.full(heads.size, height, dtype=np.int8)
        last[inner] = shape.depth[tails[inner]]
        yield heads, n_children, shape.depth[heads], last
        if not inner.size:
            return
        heads = _children(shape.first_child[tails[inner]], n_children[inner])


def _children(first: Array, n_children: Array) -> Integers:
    """Return the numbers of all children, given each family's first one and size; most families are neighbours."""
    begins = np.flatnonzero(np.append(True, first[1:] != first[:-1] + n_children[:-1]))
    starts = first[begins]
    return expand_ranges(starts, starts + np.add.reduceat(n_children, begins, dtype=np.int64))[1]


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
