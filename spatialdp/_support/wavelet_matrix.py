"""How many places lie in each of many boxes, or what do their weights add up to? A wavelet matrix tells it fast.

Boxes are half-open. The places are sorted by column, with their rows replaced by ranks, and partitioned stably by one
bit of the rank after the other, the highest first. How many of the first i places have a rank below r then takes one
lookup for each bit, for all boxes at once. Building the matrix takes n log n steps and a question log n
(``docs/design/truth.md``). It knows nothing of what the places are.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Array, Integers, Integers32

__all__ = ["WaveletMatrix"]

_BLOCK = 2**14  # boxes at a time: the work arrays stay in the processor's cache


class WaveletMatrix:
    """Counts places in boxes, exactly.

    Parameters
    ----------
    columns, rows : integer arrays
        The places.
    weights : array, optional
        What each place counts; 1 by default. Sums of weights that are not whole are exact up to rounding.

    Examples
    --------
    >>> WaveletMatrix(np.array([0, 5, 5]), np.array([0, 1, 2])).count(np.array([[0, 0, 6, 2], [5, 1, 5, 9]]))
    array([2, 0])
    >>> weights = np.array([0.5, 0.25, 0.25])
    >>> WaveletMatrix(np.array([0, 5, 5]), np.array([0, 1, 2]), weights).count(np.array([[0, 0, 6, 2], [5, 1, 5, 9]]))
    array([0.75, 0.  ])
    """

    def __init__(self, columns: Array, rows: Array, weights: Array | None = None) -> None:
        self.n_places = columns.size
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
            # Sums of the weights of the places that the bit sends to the front; without weights, their numbers.
            sums = zeros if weights is None else np.concatenate([[0], np.cumsum(np.where(ones, 0, weights))])
            self._levels.append((bit, zeros, sums))
            ranks = np.concatenate([np.compress(~ones, ranks), np.compress(ones, ranks)])
            if weights is not None:
                weights = np.concatenate([np.compress(~ones, weights), np.compress(ones, weights)])

    def count(self, boxes: Integers) -> Array:
        """Return the number of places, or the sum of their weights, in each half-open box (x0, y0, x1, y1)."""
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
        """Return how many of the places from `start` to `stop` have a rank below `rank`; or their weights."""
        below: Array = np.zeros(rank.size, dtype=np.float64 if self._is_weighted else np.int32)
        for bit, zeros, sums in self._levels:
            one = (rank >> bit & 1).astype(bool)
            first, last = zeros.take(start), zeros.take(stop)
            added = last - first if sums is zeros else sums.take(stop) - sums.take(start)
            below += np.where(one, added, 0)
            start = np.where(one, zeros[-1] + start - first, first)
            stop = np.where(one, zeros[-1] + stop - last, last)
        return below
