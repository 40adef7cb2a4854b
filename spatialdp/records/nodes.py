"""Records in the boxes of a growing tree.

The records are held twice, sorted within each node by x and by y. Splitting along x leaves the first order as it is and
parts the second stably, and the other way round, so that no level sorts again. A level is a few array operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Booleans, Integers, Integers32
from spatialdp.space.lattice import LATTICE

__all__ = ["Nodes"]


@dataclass
class Nodes:
    """The nodes of one level, and the records in them in two orders: by x and by y within each node."""

    boxes: Integers
    starts: Integers
    orders: list[tuple[Integers32, Integers32]]

    @classmethod
    def root(cls, x: Integers32, y: Integers32) -> Nodes:
        """All records in one node, the whole domain."""
        boxes = np.array([[0, 0, LATTICE, LATTICE]], dtype=np.int64)
        by_x, by_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
        return cls(boxes, np.array([0, x.size]), [(x[by_x], y[by_x]), (x[by_y], y[by_y])])

    @property
    def counts(self) -> Integers:
        """Number of records in each node: private."""
        return np.diff(self.starts)

    def range(self, axis: int) -> tuple[Integers, Integers]:
        """Lower and upper lattice lines of the nodes along an axis."""
        return self.boxes[:, axis], self.boxes[:, axis + 2]

    def sorted(self, axis: int) -> Integers32:
        """Integers32 of the records along an axis, node after node and sorted within each."""
        return self.orders[axis][axis]

    def split(self, lines: Integers, axis: int) -> tuple[Nodes, Integers]:
        """Divide every node at its line; also the parent of each half. Halves without any width are left out."""
        parent = np.repeat(np.arange(len(self.boxes)), 2)
        boxes = np.repeat(self.boxes, 2, axis=0)
        boxes[0::2, axis + 2] = boxes[1::2, axis] = lines
        wide = boxes[:, axis] < boxes[:, axis + 2]
        of = np.repeat(np.arange(lines.size), self.counts)
        right = [order[axis] >= lines[of] for order in self.orders]
        n_right = np.add.reduceat(np.append(right[axis], False), self.starts[:-1], dtype=np.int64) * (self.counts > 0)
        sizes = np.stack([self.counts - n_right, n_right], axis=1).ravel()
        other = 1 - axis
        orders = list(self.orders)
        orders[other] = _part(self.orders[other], right[other], of, self.starts, n_right)
        starts = np.concatenate([[0], np.cumsum(sizes[wide])])
        return Nodes(boxes[wide], starts, orders), parent[wide]

    def keep(self, wanted: Booleans) -> Nodes:
        """Only some of the nodes and their records."""
        held = np.repeat(wanted, self.counts)
        starts = np.concatenate([[0], np.cumsum(self.counts[wanted])])
        return Nodes(self.boxes[wanted], starts, [(x[held], y[held]) for x, y in self.orders])


def _part(
    order: tuple[Integers32, Integers32], right: Booleans, of: Integers, starts: Integers, n_right: Integers
) -> tuple[Integers32, Integers32]:
    """Within each node the records of the left half before those of the right, both in their old order."""
    before: Integers = np.cumsum(right) - right  # right ones before each record
    before -= before[np.minimum(starts[:-1], max(right.size - 1, 0))][of] if right.size else before
    place = np.arange(right.size) - starts[of]
    n_left = np.diff(starts)[of] - n_right[of]
    target = starts[of] + np.where(right, n_left + before, place - before)
    moved = []
    for values in order:
        parted = np.empty_like(values)
        parted[target] = values
        moved.append(parted)
    return moved[0], moved[1]
