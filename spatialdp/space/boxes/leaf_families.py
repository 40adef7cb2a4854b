"""Boxes on a tree whose leaves are the cells of a grid, answered without visiting a leaf.

The walk ends one level above the leaves. If a box cuts a node there, the sums over the node's cells of powers of the
covered share are taken from prefix sums over the grid. The moments of the noise need nothing else, because all cells of
a family are measured with the same noise. A family of 256 cells then costs as much as one node. The derivation is in
``docs/design/tree-noise.md``. Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.boxes.walk import walk
from spatialdp.space.coverage import Coverage, prefix_sums
from spatialdp.space.domain import Grid
from spatialdp.trees.pairs import OpenedNodes, Pairs

__all__ = ["Families"]


@dataclass(frozen=True, eq=False)
class Families:
    """A tree without its leaves, and the grid that has the leaves as cells.

    Attributes
    ----------
    upper : Tree
        The tree without its last level.
    grid : Grid
    cells : (ny + 1, nx + 1) array
        Prefix sums of the number of leaves.
    """

    upper: Tree
    grid: Grid
    cells: Floats

    @classmethod
    def of(cls, tree: Tree, grid: Grid, leaves: Array) -> Families:
        """Make the families of a tree, given the grid of its leaves and which cells, (ny, nx), are leaves."""
        n_children = np.array(tree.n_children[: tree.offsets[-2]])
        n_children[tree.level(tree.height - 1)] = 0
        upper = Tree(tree.offsets[:-1], n_children, tree.boxes[: tree.offsets[-2]])
        return cls(upper, grid, prefix_sums(leaves))

    def walk(self, boxes: Integers, descend: Booleans | None = None) -> tuple[list[Pairs], OpenedNodes | None]:
        """Go down to the level above the leaves; return the pairs of each depth, and the nodes opened at the last one.

        Pairs of opened nodes are marked as divided. No nodes are opened if the walk ends further up.
        """
        descend_upper = None if descend is None else descend[: self.upper.n_nodes]
        levels = walk(self.upper, boxes, descend_upper)
        if len(levels) <= self.upper.height:
            return levels, None
        last = levels[-1]
        opened = (last.coverage > 0) & (last.coverage < 1)
        if descend_upper is not None:
            opened |= descend_upper[last.node] & (last.coverage == 1)
        return [*levels[:-1], replace(last, divided=opened)], self._open(last, opened, boxes)

    def _open(self, pairs: Pairs, opened: Booleans, boxes: Integers) -> OpenedNodes:
        node, box = self.upper.boxes[pairs.node[opened]].astype(np.int64), boxes[pairs.box[opened]]
        part = np.concatenate([np.maximum(node[:, :2], box[:, :2]), np.minimum(node[:, 2:], box[:, 2:])], axis=1)
        x = Coverage.of(part[:, 0], part[:, 2], self.grid.x_lines)
        y = Coverage.of(part[:, 1], part[:, 3], self.grid.y_lines)
        return OpenedNodes(opened, part, _power_sums(self.cells, x, y))


def _power_sums(cells: Floats, x: Coverage, y: Coverage) -> Floats:
    """Return the sums over cells of the coverage and its square, cube and fourth power.

    The coverage is constant on each of 3 x 3 rectangles of cells, and their leaves are counted exactly.
    """
    powers = np.zeros((4, x.start.size))
    counts = [[cells.take(row + column) for column in x.knots] for row in y.knots * cells.shape[1]]
    for i, j in product(range(3), repeat=2):
        leaves = counts[i + 1][j + 1] - counts[i + 1][j] - counts[i][j + 1] + counts[i][j]
        share = y.parts[i] * x.parts[j]
        powers += leaves * np.stack([share, share**2, share**3, share**4])
    return powers
