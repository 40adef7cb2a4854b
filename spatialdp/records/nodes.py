"""Which records lie in which node of a tree that grows level by level.

The records are stored twice: sorted within each node by x, and sorted within each node by y. Splitting nodes along x
keeps the order by x and partitions the order by y stably, and the other way round, so that only the root is sorted. A
level takes a few array operations. Records may also be counts of public squares, each standing at one place with a
weight. Everything but the boxes is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spatialdp._support.arrays import Booleans, Integers, Integers32
from spatialdp.space.lattice import LATTICE

__all__ = ["Nodes", "Records", "one_by_one"]

# Lattice positions x and y of records, or x, y and weights of places that several records share.
Records = tuple[Integers32, Integers32] | tuple[Integers32, Integers32, Integers]


def one_by_one(records: Records) -> Records:
    """Return records without weights: each as often as its weight says."""
    if len(records) == 2:
        return records
    x, y, weights = records
    return np.repeat(x, weights), np.repeat(y, weights)


@dataclass
class Nodes:
    """The nodes of one level, and their records in two orders: by x and by y within each node.

    Attributes
    ----------
    boxes : (n, 4) int array
        Lattice box (xlo, ylo, xhi, yhi) of each node.
    starts : int array
        Where the records of each node begin in both orders, and at the end their number: n + 1 entries.
    orders : list of two tuples of arrays
        All records, x and y and, if they have any, weights, node after node: sorted within each node by x, and the
        same sorted by y.
    """

    boxes: Integers
    starts: Integers
    orders: list[tuple[Any, ...]]

    @classmethod
    def root(cls, *records: Any) -> Nodes:
        """Put all records (x, y and, if they have any, weights) into one node, which is the whole domain."""
        boxes = np.array([[0, 0, LATTICE, LATTICE]], dtype=np.int64)
        orders = [np.argsort(along, kind="stable") for along in records[:2]]
        return cls(boxes, np.array([0, records[0].size]), [tuple(each[order] for each in records) for order in orders])

    @property
    def counts(self) -> Integers:
        """Sum of the weights of the records in each node, or their number if they have none; private."""
        weights = self.weights(0)
        return self._sizes if weights is None else np.diff(np.concatenate([[0], np.cumsum(weights)])[self.starts])

    @property
    def _sizes(self) -> Integers:
        """Number of records in each node, whatever their weights."""
        return np.diff(self.starts)

    def range(self, axis: int) -> tuple[Integers, Integers]:
        """Return the lower and upper lattice lines of all nodes along an axis."""
        return self.boxes[:, axis], self.boxes[:, axis + 2]

    def sorted(self, axis: int) -> Integers32:
        """Return the lattice positions of the records along an axis, node after node and sorted within each node."""
        sorted_positions: Integers32 = self.orders[axis][axis]
        return sorted_positions

    def weights(self, axis: int) -> Integers | None:
        """Return the weights of the records in the order of `sorted`; None if each counts 1."""
        return self.orders[axis][2] if len(self.orders[axis]) == 3 else None

    def split(self, lines: Integers, axis: int) -> tuple[Nodes, Integers]:
        """Split every node at its line; return the halves as nodes, and the parent of each half.

        Halves without any width are left out.
        """
        # The two halves of each node follow each other: left (or lower), right (or upper).
        parent = np.repeat(np.arange(len(self.boxes)), 2)
        boxes = np.repeat(self.boxes, 2, axis=0)
        boxes[0::2, axis + 2] = boxes[1::2, axis] = lines
        wide = boxes[:, axis] < boxes[:, axis + 2]
        node = np.repeat(np.arange(lines.size), self._sizes)  # of each record
        right = [order[axis] >= lines[node] for order in self.orders]
        # reduceat returns a neighbour's value for a node without records; that is set to 0.
        n_right = np.add.reduceat(np.append(right[axis], False), self.starts[:-1], dtype=np.int64) * (self._sizes > 0)
        sizes = np.stack([self._sizes - n_right, n_right], axis=1).ravel()
        other = 1 - axis
        orders = list(self.orders)
        orders[other] = _partition(self.orders[other], right[other], node, self.starts, n_right)
        starts = np.concatenate([[0], np.cumsum(sizes[wide])])
        return Nodes(boxes[wide], starts, orders), parent[wide]

    def keep(self, chosen: Booleans) -> Nodes:
        """Return the chosen nodes with their records; the other nodes and their records are dropped."""
        kept = np.repeat(chosen, self._sizes)  # for each record whether its node is chosen
        starts = np.concatenate([[0], np.cumsum(self._sizes[chosen])])
        return Nodes(self.boxes[chosen], starts, [tuple(each[kept] for each in order) for order in self.orders])


def _partition(
    order: tuple[Any, ...], right: Booleans, node: Integers, starts: Integers, n_right: Integers
) -> tuple[Any, ...]:
    """Put, within each node, the records of the left half before those of the right half, both in their old order."""
    # How many records of the right half come before each record, first in all nodes and then in its own node alone.
    before: Integers = np.cumsum(right) - right
    before -= before[np.minimum(starts[:-1], max(right.size - 1, 0))][node] if right.size else before
    place = np.arange(right.size) - starts[node]
    n_left = np.diff(starts)[node] - n_right[node]
    target = starts[node] + np.where(right, n_left + before, place - before)
    moved = []
    for values in order:
        partitioned = np.empty_like(values)
        partitioned[target] = values
        moved.append(partitioned)
    return tuple(moved)
