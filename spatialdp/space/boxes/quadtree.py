"""The quadtree over a grid of 2^height x 2^height cells, complete or restricted to a region.

Every level is in Morton order, so that the children of a node are neighbours; `morton_order` puts the cells of a grid
into the order of the leaves. A quadtree is public: records play no part in it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array, Booleans, Integers, Integers32
from spatialdp.errors import DomainError, ParameterError
from spatialdp.space.boxes.tree import LatticeBoxes, Tree
from spatialdp.space.domain import LARGEST_GRID
from spatialdp.space.lattice import LATTICE
from spatialdp.wording import parameter

__all__ = ["morton_order", "quadtree"]

# Boxes that are divided at a time: they stay in the processor's cache.
_BLOCK = 2**13


def quadtree(height: int, *, mask: npt.ArrayLike | None = None) -> Tree:
    """Make the quadtree with 2^height x 2^height leaf cells, every level in Morton order.

    Parameters
    ----------
    height : int
        Number of levels below the root, at most 14.
    mask : (2^height, 2^height) bool array, optional
        Allowed leaf cells [row, column], row 0 in the south. Nodes without an allowed cell are left out.

    Notes
    -----
    Siblings come in the order south-west, south-east, north-west, north-east.

    Examples
    --------
    >>> quadtree(1).boxes[1:3].tolist()
    [[0, 0, 536870912, 536870912], [536870912, 0, 1073741824, 536870912]]
    >>> quadtree(1, mask=[[True, False], [False, False]]).n_nodes
    2
    """
    _check_height(height)
    present = None if mask is None else _present_nodes(height, np.asarray(mask, dtype=bool))
    sizes = [4**d if present is None else int(present[d].sum()) for d in range(height + 1)]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Tree(offsets, _quad_children(offsets, present), _quad_boxes(offsets, present))


def morton_order(height: int) -> Array:
    """Return the cells of a (2^height, 2^height) row-major array in the order of the quadtree's leaves.

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


def _check_height(height: int) -> None:
    highest = (LARGEST_GRID.bit_length() - 1) // 2
    if isinstance(height, bool) or not isinstance(height, int | np.integer) or not 0 <= height <= highest:
        raise ParameterError(f"{parameter('height')} is {height!r}; it must be a whole number from 0 to {highest}.")


def _present_nodes(height: int, mask: Booleans) -> list[Booleans]:
    """Return, for each level of the complete quadtree, which nodes contain an allowed cell."""
    side = 2**height
    if mask.shape != (side, side):
        raise ParameterError(f"mask has shape {mask.shape}; a quadtree of height {height} needs ({side}, {side}).")
    if not mask.any():
        raise DomainError(
            "the mask allows no cell, but at least one is needed; give a larger region or smaller leaf cells."
        )
    levels = [mask.ravel()[morton_order(height)]]
    for _ in range(height):
        levels.append(np.asarray(levels[-1].reshape(-1, 4).any(axis=1)))
    return levels[::-1]


def _quad_children(offsets: Integers, present: list[Booleans] | None) -> Integers32:
    n_children = np.zeros(int(offsets[-1]), dtype=np.int32)
    if present is None:
        n_children[: offsets[-2]] = 4
        return n_children
    for d, (nodes, children) in enumerate(pairwise(present)):
        n_children[offsets[d] : offsets[d + 1]] = children.reshape(-1, 4)[nodes].sum(axis=1)
    return n_children


def _quad_boxes(offsets: Integers, present: list[Booleans] | None) -> LatticeBoxes:
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


def _quarter(parents: LatticeBoxes, out: LatticeBoxes) -> None:
    """Write the four quarters of every box to `out`: south-west, south-east, north-west, north-east."""
    half = (parents[0, 2] - parents[0, 0]) // 2
    steps = half * np.array([0, 0, 1, 1, 1, 0, 2, 1, 0, 1, 1, 2, 1, 1, 2, 2], dtype=np.int32)
    families = out.reshape(-1, 16)
    for start in range(0, len(parents), _BLOCK):
        block = slice(start, start + _BLOCK)
        np.add(np.tile(parents[block, :2], 8), steps, out=families[block])
