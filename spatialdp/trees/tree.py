"""Hierarchies of lattice boxes, kept as a handful of arrays.

Nodes are numbered level by level from the root; the children of a node are neighbours in the next level, and
families follow each other in the order of their parents. Whatever is computed on a tree is then a loop over
its few levels: a slice, a sum over families, a repetition for children. A level whose nodes all have
the same number of children is handled by strides, any other one by `np.add.reduceat`.

Everything here is public. A tree is made before the records are seen, or from released numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array, Booleans, Integers, Integers32
from spatialdp.errors import DomainError, ParameterError
from spatialdp.space.domain import LARGEST_GRID
from spatialdp.space.lattice import LATTICE

__all__ = ["Tree", "level_sums", "morton_order", "sums"]

Boxes = Integers32

# Up to this fan-out, adding strided slices is faster than numpy's sum over a short axis.
_LARGEST_STRIDED = 16

# So many boxes are divided at a time that they stay in the processor's cache.
_BLOCK = 2**13


@dataclass(frozen=True, eq=False)
class Tree:
    """A rooted tree of boxes in level order.

    Attributes
    ----------
    offsets : int64 array
        Depth d, the root being depth 0, holds the nodes ``offsets[d]:offsets[d + 1]``.
    n_children : int32 array
        Of each node; 0 for a leaf. Leaves may occur at any depth.
    boxes : (n, 4) int32 array
        Half-open lattice boxes (xlo, ylo, xhi, yhi). Children partition their parent's box, except
        for parts outside the public region, which are known to be empty.

    Raises
    ------
    ParameterError
        If the arrays do not describe one tree.

    Notes
    -----
    The arrays are read-only views of what was given, not copies: the largest trees have tens of millions of nodes.

    Examples
    --------
    >>> tree = Tree.quadtree(2)
    >>> tree.n_nodes, tree.n_leaves, tree.height
    (21, 16, 2)
    >>> tree.parent[:6].tolist()
    [-1, 0, 0, 0, 0, 1]
    """

    offsets: Integers
    n_children: Integers32
    boxes: Boxes

    def __post_init__(self) -> None:
        for name, dtype in (("offsets", np.int64), ("n_children", np.int32), ("boxes", np.int32)):
            object.__setattr__(self, name, _read_only(getattr(self, name), dtype))
        self._check_offsets()
        self._check_families()

    @classmethod
    def quadtree(cls, height: int, *, mask: npt.ArrayLike | None = None) -> Tree:
        """The quadtree with 2^height x 2^height leaf cells, every level in Morton order.

        Parameters
        ----------
        height : int
            Number of levels below the root, at most 14.
        mask : (2^height, 2^height) bool array, optional
            Allowed leaf cells [row, column], row 0 in the south. Nodes without an allowed cell are left out.

        Notes
        -----
        Child 2 * (north) + (east) of a node comes at that place among its siblings.

        Examples
        --------
        >>> Tree.quadtree(1).boxes[1:3].tolist()
        [[0, 0, 536870912, 536870912], [536870912, 0, 1073741824, 536870912]]
        >>> Tree.quadtree(1, mask=[[True, False], [False, False]]).n_nodes
        2
        """
        _check_height(height)
        present = None if mask is None else _present_nodes(height, np.asarray(mask, dtype=bool))
        sizes = [4**d if present is None else int(present[d].sum()) for d in range(height + 1)]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return cls(offsets, _quad_children(offsets, present), _quad_boxes(offsets, present))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.offsets[-1])

    @property
    def height(self) -> int:
        """Number of levels below the root."""
        return self.offsets.size - 2

    @cached_property
    def n_leaves(self) -> int:
        """Number of nodes without children."""
        return int(np.count_nonzero(self.leaves))

    @cached_property
    def leaves(self) -> Booleans:
        """Which nodes have no children."""
        return _read_only(self.n_children == 0, np.bool_)

    @cached_property
    def depth(self) -> npt.NDArray[np.int8]:
        """Depth of each node; 0 for the root."""
        return _read_only(np.repeat(np.arange(self.height + 1, dtype=np.int8), np.diff(self.offsets)), np.int8)

    @cached_property
    def parent(self) -> Integers32:
        """Parent of each node; -1 for the root."""
        parent = np.empty(self.n_nodes, dtype=np.int32)
        parent[0] = -1
        parent[1:] = np.repeat(np.arange(self.n_nodes, dtype=np.int32), self.n_children)
        return _read_only(parent, np.int32)

    @cached_property
    def first_child(self) -> Integers32:
        """First child of each inner node; for a leaf, where its children would be."""
        first = np.empty(self.n_nodes, dtype=np.int32)
        first[0] = 1
        np.cumsum(self.n_children[:-1], out=first[1:])
        first[1:] += 1
        return _read_only(first, np.int32)

    @cached_property
    def fan_outs(self) -> tuple[int, ...]:
        """For each depth the number of children, if all its nodes have the same, and otherwise 0."""
        levels = (self.n_children[self.level(d)] for d in range(self.height + 1))
        return tuple(int(level[0]) if level.min() == level.max() else 0 for level in levels)

    def level(self, depth: int) -> slice:
        """The nodes of one depth."""
        return slice(int(self.offsets[depth]), int(self.offsets[depth + 1]))

    def family_sums(self, depth: int, values: Array, *, empty: float = 0) -> Array:
        """Sum, for every node of one depth, the values of its children.

        Parameters
        ----------
        depth : int
            Of the parents.
        values : array
            Last axis: the nodes of the next depth.
        empty : float
            The result for leaves.
        """
        if fan_out := self.fan_outs[depth]:
            return _stride_sums(values, fan_out)
        n_children = self.n_children[self.level(depth)]
        inner = np.flatnonzero(n_children)
        ends = np.cumsum(n_children[inner])
        result = np.full((*values.shape[:-1], n_children.size), empty, dtype=values.dtype)
        # Leaves are passed over: reduceat would return a neighbour's value for an empty family.
        result[..., inner] = np.add.reduceat(values, ends - n_children[inner], axis=-1)
        return result

    def to_children(self, depth: int, values: Array) -> Array:
        """Repeat the values of one depth's nodes (last axis) for each of their children."""
        return np.repeat(values, self.fan_outs[depth] or self.n_children[self.level(depth)], axis=-1)

    def prune(self, keep: npt.ArrayLike) -> tuple[Tree, Integers]:
        """Drop all descendants of some nodes, which become leaves.

        Parameters
        ----------
        keep : bool array
            Which nodes may keep their children.

        Returns
        -------
        tree : Tree
        index : int64 array
            The old number of each surviving node.

        Examples
        --------
        >>> tree, index = Tree.quadtree(2).prune(np.arange(21) < 2)
        >>> tree.n_nodes, index[-1].item()
        (9, 8)
        """
        keep = self.one_each(keep, "keep").astype(bool)
        alive = np.ones(self.n_nodes, dtype=bool)
        for d in range(self.height):
            alive[self.level(d + 1)] = self.to_children(d, alive[self.level(d)] & keep[self.level(d)])
        index = np.flatnonzero(alive)
        offsets = np.unique(np.searchsorted(index, self.offsets))
        return Tree(offsets, np.where(keep[index], self.n_children[index], 0), self.boxes[index]), index

    def one_each(self, values: npt.ArrayLike, name: str) -> Array:
        """The values as an array, checked to be one for each node; `name` is for the error message."""
        array = np.asarray(values)
        if array.shape != (self.n_nodes,):
            raise ParameterError(
                f"{name} has shape {array.shape}; the tree has {self.n_nodes} nodes: give one value for each."
            )
        return array

    def _check_offsets(self) -> None:
        offsets = self.offsets
        if offsets.ndim != 1 or offsets.size < 2 or offsets[0] != 0 or offsets[1] != 1 or np.any(np.diff(offsets) < 1):
            raise ParameterError(
                f"offsets are {offsets.tolist()}; they must be 0, 1 (the root) and then increase with every level."
            )
        if self.n_nodes >= 2**31:
            raise ParameterError(f"the tree has {self.n_nodes} nodes; at most 2^31 - 1 can be numbered. Make it lower.")

    def _check_families(self) -> None:
        n = self.n_nodes
        if self.n_children.shape != (n,) or self.boxes.shape != (n, 4):
            raise ParameterError(
                f"n_children has shape {self.n_children.shape} and boxes {self.boxes.shape}; "
                f"offsets announce {n} nodes, so give ({n},) and ({n}, 4)."
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


def sums(tree: Tree, leaf_values: npt.ArrayLike) -> Array:
    """Totals of all nodes, from the values of the leaves.

    Parameters
    ----------
    tree : Tree
    leaf_values : array
        Last axis: the leaves in the order of their numbers. Integers are added exactly, as int64.

    Returns
    -------
    array
        Last axis: the nodes.

    Examples
    --------
    >>> sums(Tree.quadtree(1), [1, 2, 3, 4]).tolist()
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
    """Totals of a complete tree's levels, root first.

    Parameters
    ----------
    leaf_values : array
        In the order of the tree; integers are added exactly, as int64.
    fan_outs : sequence of int
        Of the levels above the leaves, root first.

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


def morton_order(height: int) -> Array:
    """Cells of a (2^height, 2^height) row-major array in the order of the quadtree's leaves.

    Returns
    -------
    int32 array (int64 above height 15)
        ``array.ravel()[morton_order(height)]`` lists the leaves' values.

    Examples
    --------
    >>> morton_order(2).tolist()
    [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
    """
    width = 2**height
    order = np.zeros(1, dtype=np.int32 if height <= 15 else np.int64)
    for side in (2**d for d in range(height)):
        corners = np.array([0, side, side * width, side * (width + 1)], dtype=order.dtype)
        order = np.add.outer(corners, order).ravel()
    return order


def _read_only(values: npt.ArrayLike, dtype: npt.DTypeLike) -> Array:
    view = np.asarray(values, dtype=dtype).view()
    view.setflags(write=False)
    return view


def _summable(values: npt.ArrayLike) -> Array:
    array = np.asarray(values)
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)


def _stride_sums(values: Array, fan_out: int) -> Array:
    """Sums of every `fan_out` successive values along the last axis."""
    if fan_out > _LARGEST_STRIDED:
        return np.asarray(values.reshape(*values.shape[:-1], -1, fan_out).sum(axis=-1))
    total: Array = values[..., 0::fan_out].copy()
    for j in range(1, fan_out):
        total += values[..., j::fan_out]
    return total


def _check_height(height: int) -> None:
    highest = (LARGEST_GRID.bit_length() - 1) // 2
    if isinstance(height, bool) or not isinstance(height, int | np.integer) or not 0 <= height <= highest:
        raise ParameterError(f"height is {height!r}; it must be a whole number from 0 to {highest}.")


def _present_nodes(height: int, mask: Booleans) -> list[Booleans]:
    """For each level of the complete quadtree: which nodes have an allowed cell."""
    side = 2**height
    if mask.shape != (side, side):
        raise ParameterError(f"mask has shape {mask.shape}; a quadtree of height {height} needs ({side}, {side}).")
    if not mask.any():
        raise DomainError("the mask allows no cell; give a region that contains the centre of at least one leaf cell.")
    levels = [mask.ravel()[morton_order(height)]]
    for _ in range(height):
        levels.append(np.asarray(levels[-1].reshape(-1, 4).any(axis=1)))
    return levels[::-1]


def _quad_children(offsets: Integers, present: list[Booleans] | None) -> Integers32:
    n_children = np.zeros(int(offsets[-1]), dtype=np.int32)
    if present is None:
        n_children[: offsets[-2]] = 4
        return n_children
    for d, (nodes, below) in enumerate(pairwise(present)):
        n_children[offsets[d] : offsets[d + 1]] = below.reshape(-1, 4)[nodes].sum(axis=1)
    return n_children


def _quad_boxes(offsets: Integers, present: list[Booleans] | None) -> Boxes:
    boxes = np.empty((int(offsets[-1]), 4), dtype=np.int32)
    boxes[0] = (0, 0, LATTICE, LATTICE)
    for d in range(offsets.size - 2):
        parents, children = (boxes[offsets[i] : offsets[i + 1]] for i in (d, d + 1))
        if present is None:
            _quarter(parents, children)
        else:
            quarters = np.empty((4 * len(parents), 4), dtype=np.int32)
            _quarter(parents, quarters)
            children[:] = quarters[present[d + 1].reshape(-1, 4)[present[d]].ravel()]
    return boxes


def _quarter(parents: Boxes, out: Boxes) -> None:
    """Write the four quarters of every box, south-west, south-east, north-west, north-east."""
    half = (parents[0, 2] - parents[0, 0]) // 2
    steps = half * np.array([0, 0, 1, 1, 1, 0, 2, 1, 0, 1, 1, 2, 1, 1, 2, 2], dtype=np.int32)
    families = out.reshape(-1, 16)
    for start in range(0, len(parents), _BLOCK):
        block = slice(start, start + _BLOCK)
        np.add(np.tile(parents[block, :2], 8), steps, out=families[block])
