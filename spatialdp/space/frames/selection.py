"""Which cells of an axis does each part of a public query mean? A `Selection`: many sets of cells, in one list.

A query names what it wants along each axis: nothing (all), one thing, or a list of things that are answered one by
one. Sets of cells follow each other in one array, so that sums over all of them are one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, expand_ranges
from spatialdp.errors import ParameterError
from spatialdp.trees.shape import TreeShape
from spatialdp.wording import quoted

__all__ = ["FrameAxis", "Selection", "as_asked", "depth_first", "everything", "of_nodes", "parts_of", "select"]


class FrameAxis(Protocol):
    """What every axis of a frame knows: its cells, the tree above them, names, and what a query means."""

    @property
    def size(self) -> int:
        """Number of cells: the leaves of `shape`, in the order of their numbers."""

    @property
    def shape(self) -> TreeShape:
        """The tree over the cells."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels, the root first."""

    @property
    def counted(self) -> tuple[bool, ...]:
        """Which levels may be measured."""

    def labels(self) -> list[str]:
        """Names of the cells, in order."""

    def part_labels(self, level: str) -> list[str]:
        """Names of the parts of a level, in order."""

    def parts(self, level: str) -> Integers:
        """Nodes of the tree that the parts of a level are, in the order of their names."""

    def pick(self, query: Any) -> Any:
        """The cells that one part of a query means: their numbers, or numbers and covered shares."""


_ROUNDING = 1e-9  # tolerance for the share of a whole cell, which should be 1


@dataclass(frozen=True, eq=False)
class Selection:
    """Sets of cells of one axis.

    Attributes
    ----------
    size : int
        Number of cells of the axis.
    starts : (m,) array
        Where each set begins in `cells`.
    cells : (n,) array
        The cells of all sets, one set after the other.
    shares : (n,) array, optional
        How much of each cell is covered; None if all cells are whole.
    single : bool
        Whether the query named one set, and no list.
    nodes : (m,) array, optional
        The nodes of the axis' tree that the sets are, if all of them are nodes.
    """

    size: int
    starts: Integers
    cells: Integers
    shares: Floats | None = None
    single: bool = False
    nodes: Integers | None = None

    @property
    def count(self) -> int:
        """Number of sets."""
        return self.starts.size

    @cached_property
    def sizes(self) -> Integers:
        """Number of cells of each set."""
        return np.diff(self.starts, append=self.cells.size)

    @cached_property
    def is_every_cell(self) -> bool:
        """Whether the sets are the cells themselves, in order."""
        return (
            self.shares is None
            and self.cells.size == self.starts.size == self.size
            and bool(np.array_equal(self.cells, np.arange(self.size)))
        )

    def sums(self, values: Array) -> Array:
        """Return the sums of values over the sets, along the last axis.

        Examples
        --------
        >>> Selection(4, np.array([0, 1]), np.array([3, 0, 1])).sums(np.array([1.0, 2, 4, 8])).tolist()
        [8.0, 3.0]
        """
        if self.is_every_cell:
            return values
        if self.shares is None and self.count == 1 and self.cells.size == self.size:
            return np.asarray(values.sum(axis=-1, keepdims=True))
        taken = values[..., self.cells]
        if self.shares is not None:
            taken = taken * self.shares
        filled = np.flatnonzero(self.sizes)
        sums = np.zeros((*values.shape[:-1], self.count), dtype=taken.dtype)
        if filled.size:  # reduceat would return a neighbour for a set without cells
            sums[..., filled] = np.add.reduceat(taken, self.starts[filled], axis=-1)
        return sums

    @cached_property
    def cut(self) -> Booleans:
        """Whether each set holds shares of cells."""
        if self.shares is None:
            return np.zeros(self.count, dtype=bool)
        owner = np.repeat(np.arange(self.count), self.sizes)
        return np.bincount(owner, ~self._whole, self.count) > 0

    @property
    def touched(self) -> Selection:
        """The same sets with all cells that they cut, as whole cells."""
        return self if self.shares is None else replace(self, shares=None)

    @property
    def inside(self) -> Selection:
        """The same sets without the cells that they cut.

        Examples
        --------
        >>> half = Selection(4, np.array([0]), np.array([1, 2]), np.array([0.5, 1.0]))
        >>> half.inside.cells.tolist(), half.touched.cells.tolist(), half.cut.tolist()
        ([2], [1, 2], [True])
        """
        if self.shares is None:
            return self
        before = np.concatenate([[0], np.cumsum(self._whole)])[self.starts]
        return replace(self, starts=before.astype(np.int64), cells=self.cells[self._whole], shares=None)

    @property
    def _whole(self) -> Booleans:
        """Whether each cell is covered as a whole, up to the rounding of edges."""
        assert self.shares is not None
        return np.asarray(self.shares > 1 - _ROUNDING)

    def rows(self, first: int, last: int) -> Floats:
        """Return the covered share of each cell in some of the sets, dense: (sets, cells)."""
        stop = self.starts[last] if last < self.count else self.cells.size
        places = slice(int(self.starts[first]), int(stop))
        owner = np.repeat(np.arange(last - first), self.sizes[first:last])
        dense = np.zeros((last - first, self.size))
        dense[owner, self.cells[places]] = 1.0 if self.shares is None else self.shares[places]
        return dense


def everything(axis: FrameAxis) -> Selection:
    """Return the selection of one set with all cells of an axis."""
    return Selection(axis.size, np.zeros(1, dtype=np.int64), np.arange(axis.size), single=True)


def select(axis: FrameAxis, query: Any) -> Selection:
    """Return what a query means along an axis: all cells for None, several sets for a list."""
    if query is None:
        return everything(axis)
    several = isinstance(query, list)
    codes = query if several else [query]
    if hasattr(axis, "nodes_of") and codes and all(isinstance(code, str) for code in codes):
        return of_nodes(axis.shape, axis.nodes_of(codes), single=not several)
    picked = [axis.pick(each) for each in codes]
    pairs = [each if isinstance(each, tuple) else (each, None) for each in picked]
    sizes = [cells.size for cells, _ in pairs]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) if sizes else np.zeros(0, dtype=np.int64)
    cells = np.concatenate([np.zeros(0, dtype=np.int64), *(cells for cells, _ in pairs)])
    return Selection(axis.size, starts, cells, _joined([shares for _, shares in pairs]), single=not several)


def _joined(shares: list[Floats | None]) -> Floats | None:
    given = [each for each in shares if each is not None]
    if not given:
        return None
    joined = np.concatenate(given)
    return None if np.all(joined == 1.0) else joined


def parts_of(axis: FrameAxis, level: str) -> Selection:
    """Return the sets of cells of all parts of a level, such as the counties of the axis of zones, in order."""
    if level not in axis.names:
        raise ParameterError(
            f"{quoted(level)} is no level of this axis; give one of {', '.join(map(repr, axis.names))}."
        )
    return of_nodes(axis.shape, axis.parts(level))


def of_nodes(shape: TreeShape, nodes: Integers, *, single: bool = False) -> Selection:
    """Return the sets of cells below some nodes of a tree, or the cells themselves.

    Examples
    --------
    >>> tree = TreeShape([0, 1, 3, 6], [2, 1, 2, 0, 0, 0])
    >>> of_nodes(tree, np.array([2, 3])).cells.tolist()
    [1, 2, 0]
    """
    first, count, cells = depth_first(shape)
    owner, places = expand_ranges(first[nodes], first[nodes] + count[nodes])
    starts = np.searchsorted(owner, np.arange(nodes.size))
    return Selection(shape.n_leaves, starts, cells[places], single=single, nodes=nodes)


def depth_first(shape: TreeShape) -> tuple[Integers, Integers, Integers]:
    """Return the leaves in depth-first order, and for each node where its own begin there, and how many they are.

    Returns
    -------
    first, count : (nodes,) arrays
    cells : (leaves,) array
        Leaves by their place among all leaves.
    """
    count = shape.leaves.astype(np.int64)
    for depth in reversed(range(shape.height)):
        count[shape.level(depth)] += shape.family_sums(depth, count[shape.level(depth + 1)])
    first = np.zeros(shape.n_nodes, dtype=np.int64)
    for depth in range(shape.height):
        level, children = shape.level(depth), shape.level(depth + 1)
        # What lies before each child in its level, less what lies before its parent's first child.
        before = np.cumsum(count[children]) - count[children]
        inner = count[level] * ~shape.leaves[level]
        first[children] = before + shape.to_children(depth, first[level] - (np.cumsum(inner) - inner))
    cells = np.empty(shape.n_leaves, dtype=np.int64)
    cells[first[shape.leaves]] = np.arange(shape.n_leaves)
    return first, count, cells


def as_asked(values: Floats, selections: Sequence[Selection]) -> Any:
    """Return values of products of sets with one dimension for each list of the query, space first.

    Dimensions of `values` beyond those of the selections come last.
    """
    values = np.moveaxis(values, len(selections) - 1, 0)
    single = (selections[-1].single, *(each.single for each in selections[:-1]))
    sizes = [size for size, one in zip(values.shape, single, strict=False) if not one]
    values = values.reshape((*sizes, *values.shape[len(single) :]))
    return float(values) if values.ndim == 0 else values
