"""How is a tree stored, whatever its nodes are? In two arrays, level by level, so that sums over families are fast.

Nodes are numbered level by level from the root; the children of a node (a family) are neighbours in the next level, and
families follow each other in the order of their parents. Every computation on a tree is then a loop over its few
levels: a slice, a sum over families, a repetition for children. A level whose nodes all have the same number of
children is summed by strides, any other level by `np.add.reduceat`. See ``docs/design/tree-noise.md``.

Other modules say what the nodes are: those of `space.boxes.tree.Tree` are boxes of the lattice, and those of
`space.zones.Zones` are zones. A shape is public: it is made before the records are seen, or from released numbers, and
must hold no count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32, read_only
from spatialdp.errors import ParameterError

__all__ = ["TreeShape", "level_sums", "locked", "sums"]

A = TypeVar("A", bound=Array)

# Up to this fan-out, adding strided slices is faster than numpy's sum over a short axis.
_LARGEST_STRIDED = 16


@dataclass(frozen=True, eq=False)
class TreeShape:
    """A rooted tree in level order, whatever its nodes are.

    Attributes
    ----------
    offsets : int64 array
        Depth d, the root being depth 0, holds the nodes ``offsets[d]:offsets[d + 1]``.
    n_children : int32 array
        Number of children of each node; 0 for a leaf. Leaves may occur at any depth.

    Raises
    ------
    ParameterError
        If the arrays do not describe one tree.

    Notes
    -----
    The arrays are read-only views of the arguments, not copies: the largest trees have tens of millions of nodes.

    Examples
    --------
    >>> shape = TreeShape([0, 1, 3, 6], [2, 3, 0, 0, 0, 0])
    >>> shape.n_nodes, shape.n_leaves, shape.height
    (6, 4, 2)
    >>> shape.parent.tolist()
    [-1, 0, 0, 1, 1, 1]
    """

    _arrays: ClassVar[dict[str, type]] = {"offsets": np.int64, "n_children": np.int32}

    offsets: Integers
    n_children: Integers32

    def __post_init__(self) -> None:
        for name, dtype in self._arrays.items():
            object.__setattr__(self, name, read_only(getattr(self, name), dtype))
        self._check_offsets()
        self._check_families()

    @cached_property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.offsets[-1])

    @cached_property
    def height(self) -> int:
        """Number of levels below the root."""
        return self.offsets.size - 2

    @cached_property
    def levels(self) -> tuple[slice, ...]:
        """The nodes of each depth, root first."""
        return tuple(slice(first, stop) for first, stop in pairwise(self.offsets.tolist()))

    @cached_property
    def n_leaves(self) -> int:
        """Number of nodes without children."""
        return int(np.count_nonzero(self.leaves))

    @cached_property
    def leaves(self) -> Booleans:
        """Which nodes have no children."""
        return locked(self.n_children == 0)

    @cached_property
    def depth(self) -> npt.NDArray[np.int8]:
        """Depth of each node; 0 for the root."""
        return locked(np.repeat(np.arange(self.height + 1, dtype=np.int8), np.diff(self.offsets)))

    @cached_property
    def parent(self) -> Integers32:
        """Parent of each node; -1 for the root."""
        parent = np.empty(self.n_nodes, dtype=np.int32)
        parent[0] = -1
        parent[1:] = np.repeat(np.arange(self.n_nodes, dtype=np.int32), self.n_children)
        return locked(parent)

    @cached_property
    def first_child(self) -> Integers32:
        """First child of each inner node; for a leaf, where its children would be."""
        first = np.empty(self.n_nodes, dtype=np.int32)
        first[0] = 1
        np.cumsum(self.n_children[:-1], out=first[1:])
        first[1:] += 1
        return locked(first)

    @cached_property
    def fan_outs(self) -> tuple[int, ...]:
        """For each depth, the number of children that all its nodes have, or 0 if they differ."""
        levels = [self.n_children[level] for level in self.levels]
        return tuple(int(level[0]) if level.min() == level.max() else 0 for level in levels)

    @cached_property
    def inner(self) -> tuple[slice | Integers, ...]:
        """For each depth, the places within it of the nodes that have children; a slice if all of them have."""
        places: list[slice | Integers] = []
        for level, fan_out in zip(self.levels[:-1], self.fan_outs[:-1], strict=True):
            has_children = self.n_children[level] > 0
            places.append(slice(None) if fan_out or has_children.all() else np.flatnonzero(has_children))
        return tuple(places)

    @cached_property
    def family_sizes(self) -> tuple[int | Integers32, ...]:
        """For each depth, the number of children of the nodes that have children: one number if all have the same."""
        depths = zip(self.levels[:-1], self.fan_outs[:-1], self.inner, strict=True)
        return tuple(fan_out or self.n_children[level][inner] for level, fan_out, inner in depths)

    @cached_property
    def _first_places(self) -> tuple[Integers, ...]:
        """For each depth whose families differ in size, where each family begins in the next depth."""
        return tuple(np.asarray(np.cumsum(sizes) - sizes, dtype=np.int64) for sizes in self.family_sizes)

    def level(self, depth: int) -> slice:
        """Return the slice of the nodes of one depth."""
        return self.levels[depth]

    def family_sums(self, depth: int, values: Array, *, empty: float = 0) -> Array:
        """Sum, for every node of one depth, the values of its children.

        Parameters
        ----------
        depth : int
            Depth of the parents.
        values : array
            Last axis: the nodes of the next depth.
        empty : float
            The result for leaves.
        """
        inner, level, totals = self.inner[depth], self.levels[depth], self.inner_sums(depth, values)
        if isinstance(inner, slice):
            return totals
        result = np.full((*values.shape[:-1], level.stop - level.start), empty, dtype=values.dtype)
        result[..., inner] = totals
        return result

    def inner_sums(self, depth: int, values: Array) -> Array:
        """Sum, for every node of one depth that has children, the values of its children (last axis)."""
        if fan_out := self.fan_outs[depth]:
            return _stride_sums(values, fan_out)
        # Leaves are passed over: reduceat would return a neighbour's value for an empty family.
        return np.asarray(np.add.reduceat(values, self._first_places[depth], axis=-1))

    def to_children(self, depth: int, values: Array) -> Array:
        """Repeat the values of one depth's nodes (last axis) for each of their children."""
        return np.repeat(values, self.fan_outs[depth] or self.n_children[self.level(depth)], axis=-1)

    def node_values(self, values: npt.ArrayLike, name: str) -> Array:
        """Return values as an array, checked to have one entry for each node; `name` is for the error message."""
        array = np.asarray(values)
        if array.shape != (self.n_nodes,):
            raise ParameterError(
                f"{name} has shape {array.shape}; the tree has {self.n_nodes} nodes: give one value for each."
            )
        return array

    def leaf_sizes(self, leaves: Integers) -> Floats:
        """Return the sizes of some leaves, by which they share what no measurement divides among them: all alike.

        Parameters
        ----------
        leaves : int array
            Numbers of leaves.
        """
        return np.ones(leaves.size)

    def _check_offsets(self) -> None:
        offsets = self.offsets
        if offsets.ndim != 1 or offsets.size < 2 or offsets[0] != 0 or offsets[1] != 1 or np.any(np.diff(offsets) < 1):
            raise ParameterError(
                f"offsets are {offsets.tolist()}; they must begin with 0 and 1 (the root) and rise with every level."
            )
        if self.n_nodes >= 2**31:
            raise ParameterError(
                f"the tree has {self.n_nodes} nodes; at most 2^31 - 1 can be numbered. Give it less height."
            )

    def _check_families(self) -> None:
        n = self.n_nodes
        if self.n_children.shape != (n,):
            raise ParameterError(
                f"n_children has shape {self.n_children.shape}; offsets announce {n} nodes, so give ({n},)."
            )
        if self.n_children.min() < 0:
            raise ParameterError("n_children has a negative entry; give 0 for a leaf.")
        children = np.add.reduceat(self.n_children, self.offsets[:-1], dtype=np.int64)
        sizes = np.append(np.diff(self.offsets)[1:], 0)
        if bad := np.flatnonzero(children != sizes).tolist():
            raise ParameterError(
                f"the nodes of depth {bad[0]} have {children[bad[0]]} children in all, but the next level "
                f"holds {sizes[bad[0]]} nodes; give n_children and offsets of the same tree."
            )


def sums(tree: TreeShape, leaf_values: npt.ArrayLike) -> Array:
    """Return the totals of all nodes, given the values of the leaves.

    Parameters
    ----------
    tree : TreeShape
    leaf_values : array
        Last axis: the leaves in the order of their numbers. Integers are added exactly, as int64.

    Returns
    -------
    array
        Last axis: the nodes.

    Examples
    --------
    >>> sums(TreeShape([0, 1, 5], [4, 0, 0, 0, 0]), [1, 2, 3, 4]).tolist()
    [10, 1, 2, 3, 4]
    """
    values = _summable(leaf_values)
    if values.shape[-1:] != (tree.n_leaves,):
        raise ParameterError(
            f"leaf_values has shape {values.shape}; the tree has {tree.n_leaves} leaves: give one value for each."
        )
    totals = np.zeros((*values.shape[:-1], tree.n_nodes), dtype=values.dtype)
    if np.all(tree.n_children[: tree.offsets[-2]]):
        totals[..., tree.level(tree.height)] = values
    else:
        totals[..., tree.leaves] = values
    for d in reversed(range(tree.height)):
        totals[..., tree.level(d)] += tree.family_sums(d, totals[..., tree.level(d + 1)])
    return totals


def level_sums(leaf_values: npt.ArrayLike, fan_outs: Sequence[int]) -> list[Array]:
    """Return the totals of each level of a complete tree, root first.

    Parameters
    ----------
    leaf_values : array
        Last axis: the leaves in the order of the tree. Integers are added exactly, as int64.
    fan_outs : sequence of int
        Number of children of the nodes of each level above the leaves, root first.

    Examples
    --------
    >>> [level.tolist() for level in level_sums([1, 2, 3, 4], [2, 2])]
    [[10], [3, 7], [1, 2, 3, 4]]
    """
    levels = [_summable(leaf_values)]
    for fan_out in reversed(fan_outs):
        if levels[-1].shape[-1] % fan_out:
            raise ParameterError(
                f"fan_outs are {list(fan_outs)} and there are {levels[0].shape[-1]} leaves; "
                "the number of leaves must be a multiple of the product of the fan-outs."
            )
        levels.append(_stride_sums(levels[-1], fan_out))
    return levels[::-1]


def locked(array: A) -> A:
    """Return a new array that nobody else has, made read-only."""
    array.setflags(write=False)
    return array


def _summable(values: npt.ArrayLike) -> Array:
    array = np.asarray(values)
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)


def _stride_sums(values: Array, fan_out: int) -> Array:
    """Return the sums of every `fan_out` successive values along the last axis."""
    if fan_out > _LARGEST_STRIDED:
        return np.asarray(values.reshape(*values.shape[:-1], -1, fan_out).sum(axis=-1))
    total: Array = values[..., 0::fan_out].copy()
    for j in range(1, fan_out):
        total += values[..., j::fan_out]
    return total
