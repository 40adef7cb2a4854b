"""Exact answers: how many records lie in each of many boxes or polygons. The truth, so private.

Boxes are half-open and on the lattice, as everywhere. The records are sorted by column, and their rows, replaced by
ranks, are parted bit by bit (a wavelet matrix): level after level stably by one bit, highest first, and the number of
zero bits before each place is kept. How many of the first i records have a rank below r is then one lookup a level, for
all questions at once. Building it takes n log n steps, each question log n.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Array, Integers, Integers32, Objects
from spatialdp.records.points import Points, lattice_points
from spatialdp.space.domain import Domain

__all__ = ["Counter", "count_polygons"]


_BLOCK = 2**14  # boxes at a time: the work arrays stay in cache


class Counter:
    """Exact counts of lattice boxes.

    Parameters
    ----------
    columns, rows : integer arrays
        Lattice squares of the records, as `lattice_points` gives them.

    Examples
    --------
    >>> Counter(np.array([0, 5, 5]), np.array([0, 1, 2])).count(np.array([[0, 0, 6, 2], [5, 1, 5, 9]]))
    array([2, 0])
    """

    def __init__(self, columns: Array, rows: Array) -> None:
        self.n_records = columns.size
        by_row = np.argsort(rows)
        ranks = np.empty(rows.size, dtype=np.int32)
        ranks[by_row] = np.arange(rows.size, dtype=np.int32)
        by_column = np.argsort(columns)
        self._columns, self._rows, ranks = columns[by_column], rows[by_row], ranks[by_column]
        self._levels = []
        for bit in reversed(range(int(ranks.size).bit_length())):
            ones = (ranks >> bit & 1).astype(bool)
            zeros = np.zeros(ranks.size + 1, dtype=np.int32)
            np.cumsum(~ones, out=zeros[1:])
            self._levels.append((bit, zeros))
            ranks = np.concatenate([np.compress(~ones, ranks), np.compress(ones, ranks)])

    @classmethod
    def of(cls, points: Points, domain: Domain) -> Counter:
        """The records of a domain and its region."""
        return cls(*lattice_points(points, domain))

    def count(self, boxes: Integers) -> Integers:
        """Records in half-open lattice boxes (x0, y0, x1, y1)."""
        x0, y0, x1, y1 = (
            np.searchsorted(held, boxes[:, side].astype(held.dtype)).astype(np.int32)
            for side, held in enumerate((self._columns, self._rows) * 2)
        )
        counts = np.empty(boxes.shape[0], dtype=np.int64)
        for start in range(0, counts.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            counts[block] = self._below(x0[block], x1[block], y1[block])
            counts[block] -= self._below(x0[block], x1[block], y0[block])
        return counts

    def _below(self, start: Integers32, stop: Integers32, rank: Integers32) -> Integers32:
        """How many of the records from place `start` to `stop` have a rank below `rank`."""
        found = np.zeros(rank.size, dtype=np.int32)
        for bit, zeros in self._levels:
            one = (rank >> bit & 1).astype(bool)
            first, last = zeros.take(start), zeros.take(stop)
            found += np.where(one, last - first, 0)
            start = np.where(one, zeros[-1] + start - first, first)
            stop = np.where(one, zeros[-1] + stop - last, last)
        return found


def count_polygons(points: Points, domain: Domain, polygons: Objects) -> Integers:
    """Exact counts of the records in polygons.

    A record stands at the centre of its lattice square, where hardly any outline passes: polygons that tile the domain
    share no record and lose none, and boxes count as half-open ones, up to 2^-30 of the domain's side.
    """
    import shapely

    lattice = lattice_points(points, domain)
    x, y = (axis.low + (at + 0.5) * axis.spacing for axis, at in zip(domain.axes, lattice, strict=True))
    tree = shapely.STRtree(shapely.points(x, y))
    found, _ = tree.query(polygons, predicate="contains")
    counts: Integers = np.bincount(found, minlength=len(polygons)).astype(np.int64)
    return counts
