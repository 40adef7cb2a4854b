"""Exact answers: how many records lie in each of many boxes or polygons.

Boxes are half-open and on the lattice, as everywhere. The records are kept as a wavelet matrix: sorted by column, with
their rows replaced by ranks, and partitioned stably by one bit of the rank after the other, the highest first. How many
of the first i records have a rank below r then takes one lookup for each bit, for all queries at once. Building the
matrix takes n log n steps and a query log n (``docs/design/truth.md``).

Records may have weights, which are added up in place of numbers: parts of persons, for releases that count persons.

Everything here is the truth and thus private: it is for evaluation, and no mechanism may use it.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Array, Integers, Integers32, Objects
from spatialdp.records.points import Points, lattice_points
from spatialdp.space.domain import Domain

__all__ = ["Counter", "count_polygons", "weigh_polygons"]


_BLOCK = 2**14  # boxes at a time: the work arrays stay in the processor's cache


class Counter:
    """Counts the records in lattice boxes, exactly.

    Parameters
    ----------
    columns, rows : integer arrays
        Lattice squares of the records, as `lattice_points` returns them.
    weights : array, optional
        What each record counts; 1 by default. Sums of weights that are not whole are exact up to rounding.

    Examples
    --------
    >>> Counter(np.array([0, 5, 5]), np.array([0, 1, 2])).count(np.array([[0, 0, 6, 2], [5, 1, 5, 9]]))
    array([2, 0])
    >>> weights = np.array([0.5, 0.25, 0.25])
    >>> Counter(np.array([0, 5, 5]), np.array([0, 1, 2]), weights).count(np.array([[0, 0, 6, 2], [5, 1, 5, 9]]))
    array([0.75, 0.  ])
    """

    def __init__(self, columns: Array, rows: Array, weights: Array | None = None) -> None:
        self.n_records = columns.size
        by_row = np.argsort(rows)
        ranks = np.empty(rows.size, dtype=np.int32)
        ranks[by_row] = np.arange(rows.size, dtype=np.int32)
        by_column = np.argsort(columns)
        self._columns, self._rows, ranks = columns[by_column], rows[by_row], ranks[by_column]
        self._levels: list[tuple[int, Integers32, Array]] = []
        weights = None if weights is None else weights[by_column]
        for bit in reversed(range(int(ranks.size).bit_length())):
            ones = (ranks >> bit & 1).astype(bool)
            zeros = np.zeros(ranks.size + 1, dtype=np.int32)
            np.cumsum(~ones, out=zeros[1:])
            # Sums of the weights of the records that the bit sends to the front; without weights, their numbers.
            sums = zeros if weights is None else np.concatenate([[0], np.cumsum(np.where(ones, 0, weights))])
            self._levels.append((bit, zeros, sums))
            ranks = np.concatenate([np.compress(~ones, ranks), np.compress(ones, ranks)])
            if weights is not None:
                weights = np.concatenate([np.compress(~ones, weights), np.compress(ones, weights)])

    @classmethod
    def of(cls, points: Points, domain: Domain) -> Counter:
        """Make the counter of the records in a domain and its region."""
        return cls(*lattice_points(points, domain))

    def count(self, boxes: Integers) -> Array:
        """Return the number of records, or the sum of their weights, in each half-open lattice box (x0, y0, x1, y1)."""
        x0, y0, x1, y1 = (
            np.searchsorted(positions, boxes[:, side].astype(positions.dtype)).astype(np.int32)
            for side, positions in enumerate((self._columns, self._rows) * 2)
        )
        counts: Array = np.empty(boxes.shape[0], dtype=np.float64 if self._is_weighted else np.int64)
        for start in range(0, counts.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            counts[block] = self._below(x0[block], x1[block], y1[block])
            counts[block] -= self._below(x0[block], x1[block], y0[block])
        return counts

    @property
    def _is_weighted(self) -> bool:
        return any(sums is not zeros for _, zeros, sums in self._levels)

    def _below(self, start: Integers32, stop: Integers32, rank: Integers32) -> Array:
        """Return how many of the records from place `start` to `stop` have a rank below `rank`; or their weights."""
        below: Array = np.zeros(rank.size, dtype=np.float64 if self._is_weighted else np.int32)
        for bit, zeros, sums in self._levels:
            one = (rank >> bit & 1).astype(bool)
            first, last = zeros.take(start), zeros.take(stop)
            added = last - first if sums is zeros else sums.take(stop) - sums.take(start)
            below += np.where(one, added, 0)
            start = np.where(one, zeros[-1] + start - first, first)
            stop = np.where(one, zeros[-1] + stop - last, last)
        return below


def count_polygons(points: Points, domain: Domain, polygons: Objects) -> Integers:
    """Return the exact number of records in each polygon.

    A record is taken to lie at the centre of its lattice square, where hardly any outline passes. So polygons that tile
    the domain share no record and lose none, and a box given as a polygon counts as a half-open box, up to 2^-30 of the
    domain's side.
    """
    counts: Integers = weigh_polygons(*lattice_points(points, domain), None, domain, polygons).astype(np.int64)
    return counts


def weigh_polygons(
    columns: Integers32, rows: Integers32, weights: Array | None, domain: Domain, polygons: Objects
) -> Array:
    """Return the sum of the weights of the records in each polygon, or their number; see `count_polygons`."""
    import shapely

    squares = zip(domain.axes, (columns, rows), strict=True)
    x, y = (axis.low + (each + 0.5) * axis.spacing for axis, each in squares)
    tree = shapely.STRtree(shapely.points(x, y))
    polygon, record = tree.query(polygons, predicate="contains")
    return np.bincount(polygon, None if weights is None else weights[record], minlength=len(polygons))
