"""Exact answers: how many records lie in each of many boxes or polygons.

Boxes are half-open and on the lattice, as everywhere. The records are kept as a wavelet matrix: sorted by column, with
their rows replaced by ranks, and partitioned stably by one bit of the rank after the other, the highest first. How many
of the first i records have a rank below r then takes one lookup for each bit, for all queries at once. Building the
matrix takes n log n steps and a query log n (``docs/design/truth.md``).

Everything here is the truth and thus private: it is for evaluation, and no mechanism may use it.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Array, Integers, Integers32, Objects
from spatialdp.records.points import Points, lattice_points
from spatialdp.space.domain import Domain

__all__ = ["Counter", "count_polygons"]


_BLOCK = 2**14  # boxes at a time: the work arrays stay in the processor's cache


class Counter:
    """Counts the records in lattice boxes, exactly.

    Parameters
    ----------
    columns, rows : integer arrays
        Lattice squares of the records, as `lattice_points` returns them.

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
        """Make the counter of the records in a domain and its region."""
        return cls(*lattice_points(points, domain))

    def count(self, boxes: Integers) -> Integers:
        """Return the number of records in each half-open lattice box (x0, y0, x1, y1)."""
        x0, y0, x1, y1 = (
            np.searchsorted(positions, boxes[:, side].astype(positions.dtype)).astype(np.int32)
            for side, positions in enumerate((self._columns, self._rows) * 2)
        )
        counts = np.empty(boxes.shape[0], dtype=np.int64)
        for start in range(0, counts.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            counts[block] = self._below(x0[block], x1[block], y1[block])
            counts[block] -= self._below(x0[block], x1[block], y0[block])
        return counts

    def _below(self, start: Integers32, stop: Integers32, rank: Integers32) -> Integers32:
        """Return how many of the records from place `start` to `stop` have a rank below `rank`."""
        below = np.zeros(rank.size, dtype=np.int32)
        for bit, zeros in self._levels:
            one = (rank >> bit & 1).astype(bool)
            first, last = zeros.take(start), zeros.take(stop)
            below += np.where(one, last - first, 0)
            start = np.where(one, zeros[-1] + start - first, first)
            stop = np.where(one, zeros[-1] + stop - last, last)
        return below


def count_polygons(points: Points, domain: Domain, polygons: Objects) -> Integers:
    """Return the exact number of records in each polygon.

    A record is taken to lie at the centre of its lattice square, where hardly any outline passes. So polygons that tile
    the domain share no record and lose none, and a box given as a polygon counts as a half-open box, up to 2^-30 of the
    domain's side.
    """
    import shapely

    lattice = lattice_points(points, domain)
    x, y = (axis.low + (squares + 0.5) * axis.spacing for axis, squares in zip(domain.axes, lattice, strict=True))
    tree = shapely.STRtree(shapely.points(x, y))
    polygon, _ = tree.query(polygons, predicate="contains")
    counts: Integers = np.bincount(polygon, minlength=len(polygons)).astype(np.int64)
    return counts
