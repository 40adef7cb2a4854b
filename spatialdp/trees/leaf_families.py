"""Boxes against a tree whose leaves are the cells of a grid, without visiting a leaf.

The walk ends one level above the leaves. Where a box cuts a node there, the sums over the node's cells of the covered
shares' powers are prefix sums over the grid; that is all the noise's moments need, since cells are measured alike. A
family of 256 cells then costs as much as one node. Nothing here sees a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.space.coverage import Coverage, prefix_sums
from spatialdp.space.domain import Grid
from spatialdp.trees.tree import Tree
from spatialdp.trees.walk import Pairs, walk

__all__ = ["Families", "Opened"]


@dataclass(frozen=True, eq=False)
class Opened:
    """Nodes above the leaves of which a box takes a part.

    Attributes
    ----------
    pairs : bool array
        Which of the last depth's pairs they are.
    boxes : (m, 4) int array
        The part of the box within each node.
    powers : (4, m) array
        Sums over the node's cells of the first to fourth power of the covered share.
    """

    pairs: Booleans
    boxes: Integers
    powers: Floats


@dataclass(frozen=True, eq=False)
class Families:
    """A tree without its leaves, and the grid that the leaves are cells of.

    Attributes
    ----------
    upper : Tree
    grid : Grid
    cells : (ny + 1, nx + 1) array
        Prefix sums of the number of leaves.
    """

    upper: Tree
    grid: Grid
    cells: Floats

    @classmethod
    def of(cls, tree: Tree, grid: Grid, leaves: Array) -> Families:
        """From a tree, its grid, and which cells are leaves, (ny, nx)."""
        n_children = np.array(tree.n_children[: tree.offsets[-2]])
        n_children[tree.level(tree.height - 1)] = 0
        upper = Tree(tree.offsets[:-1], n_children, tree.boxes[: tree.offsets[-2]])
        return cls(upper, grid, prefix_sums(leaves))

    def walk(self, boxes: Integers, descend: Booleans | None = None) -> Iterator[tuple[Pairs, Opened | None]]:
        """Go down to the level above the leaves; there the opened nodes come with the pairs, marked as divided."""
        above = None if descend is None else descend[: self.upper.n_nodes]
        for depth, pairs in enumerate(walk(self.upper, boxes, above)):
            if depth < self.upper.height:
                yield pairs, None
                continue
            inside = (pairs.coverage > 0) & (pairs.coverage < 1)
            if above is not None:
                inside |= above[pairs.node] & (pairs.coverage == 1)
            yield replace(pairs, divided=inside), self._open(pairs, inside, boxes)

    def _open(self, pairs: Pairs, inside: Booleans, boxes: Integers) -> Opened:
        node, box = self.upper.boxes[pairs.node[inside]].astype(np.int64), boxes[pairs.box[inside]]
        part = np.concatenate([np.maximum(node[:, :2], box[:, :2]), np.minimum(node[:, 2:], box[:, 2:])], axis=1)
        x = Coverage.of(part[:, 0], part[:, 2], self.grid.x_lines)
        y = Coverage.of(part[:, 1], part[:, 3], self.grid.y_lines)
        return Opened(inside, part, _power_sums(self.cells, x, y))


def _power_sums(cells: Floats, x: Coverage, y: Coverage) -> Floats:
    """Σ coverage, its square, cube and fourth power over cells; the cells of each stretch are counted exactly."""
    powers = np.zeros((4, x.start.size))
    counts = [[cells.take(row + column) for column in x.knots] for row in y.knots * cells.shape[1]]
    for i, j in product(range(3), repeat=2):
        held = counts[i + 1][j + 1] - counts[i + 1][j] - counts[i][j + 1] + counts[i][j]
        share = y.parts[i] * x.parts[j]
        powers += held * np.stack([share, share**2, share**3, share**4])
    return powers
