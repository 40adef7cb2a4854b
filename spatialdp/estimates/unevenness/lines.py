"""Do records lie on lines along the axes that are finer than the cells? Streets of many cities do.

A long edge of a box then cuts off all of a line or none of it, in all of the cells that it cuts, and coarse counts do
not show it. What they show is this: long strips of cells, one cell wide, hold now one line more and now one less, and
strips of two cells make up for it. Records that are spread alike at all scales differ no more between narrow strips
than between wide ones. Windows of four strips side by side tell the two apart.

Everything here is computed from released numbers and public variances, so it costs nothing. The formulas are in
``docs/design/unevenness.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.unevenness.blocks import CellCounts, some_places, strip

__all__ = ["line_spreads", "strip_lengths"]

_LONGEST = 64  # cells, of a strip
_SHORTEST = 4  # cells; shorter rows of records are no lines
_WITHIN = 25.0  # spread within a cell over that between strips, for lines about one cell apart
_CLEAR = 0.01  # excess of narrow strips over wide ones, which has to be larger than its standard error
_HIDDEN = 0.2  # spread allowed for where noise or few records would hide any lines
_PARTS = ((0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (2, 4), (0, 4))  # of a window, first strip and the one after the last

# Axis across which strips are neighbours, and their length in cells.
_Kind = tuple[int, int]


def strip_lengths(counts: CellCounts, axis: int) -> list[int]:
    """Lengths of strips along the edges across `axis`, in cells: 1, 2, 4, ..."""
    longest = max(1, min(_LONGEST, counts.shape[1 - axis] // 4))
    return [2**i for i in range(longest.bit_length())]


def line_spreads(
    counts: CellCounts, lengths: tuple[Sequence[int], Sequence[int]], grew: float, unseen: float = _HIDDEN
) -> list[Floats]:
    """What share of all its records' variance a cell may have within, because of lines as long as an edge.

    Parameters
    ----------
    counts : CellCounts
    lengths : pair of sequences
        Lengths of edges in cells, of constant x and of constant y.
    grew : float
        By how much heterogeneity grows from one scale to the next finer one, at least 1; so much is not due to lines.
    unseen : float
        What to say of lengths for which no window lies in the region.

    Returns
    -------
    pair of arrays
        A number between 0 and 1 for each length.
    """
    kinds = [(axis, length) for axis in (0, 1) for length in lengths[axis] if length >= _SHORTEST]
    windows = _windows(counts, kinds)
    spreads = {kind: windows[kind].spread(grew) if kind in windows else unseen for kind in kinds}
    return [np.array([spreads.get((axis, length), 0.0) for length in lengths[axis]]) for axis in (0, 1)]


@dataclass(frozen=True, eq=False)
class _Windows:
    """Counts of four strips side by side, in many places, and the mean variances of noise.

    Attributes
    ----------
    strips : (4, m) array
    narrow, wide, total : float
        Variance of the noise in both differences of two strips, in that of both pairs, and in the sum of all four.
    """

    strips: Floats
    narrow: float
    wide: float
    total: float

    @classmethod
    def of(cls, strips: Floats, variances: Floats) -> _Windows:
        """From the counts and the variances of all `_PARTS` of some windows, (7, samples)."""
        one, two, three, four, first, last, total = variances.mean(axis=1).tolist()
        narrow = max(0.0, 2 * (one + two + three + four) - first - last)
        return cls(strips, narrow, max(0.0, 2 * (first + last) - total), total)

    def spread(self, grew: float) -> float:
        """The spread that lines have within a cell; a fixed one as far as they would be hidden."""
        one, two, three, four = self.strips
        total = one + two + three + four
        narrow = (one - two) ** 2 + (three - four) ** 2 - self.narrow - total
        wide = (one + two - three - four) ** 2 - self.wide - total
        excess, square = 2 * narrow - grew * wide, total**2 - self.total - total
        size = float(square.sum())
        if size <= 0:
            return _HIDDEN
        ratio = float(excess.sum()) / size
        alone = float(square @ square) / size**2  # one over the number of windows, if all hold as many records
        error = _error(excess - ratio * square) / size / max(1 - alone, 0.5) ** 0.5
        noise = self._noise(total, grew) / size
        # Two windows that share their full strips do not differ, and say nothing.
        lines = _WITHIN * _share(error) * max(_per_line(ratio - noise), 0.0) if alone < 0.5 else 0.0
        return float(min(1.0, lines + _HIDDEN * (1 - _share(noise))))

    def _noise(self, total: Floats, grew: float) -> float:
        """Standard error of the excess where records are spread evenly, from noise and from few records."""
        mean = max(float(total.mean()), 0.0)
        narrow, wide = self.narrow + mean, grew * (self.wide + mean)
        return float(1.4 * (2.5 * total.size * (2 * narrow**2 + wide**2)) ** 0.5)


def _error(residuals: Floats) -> float:
    """Standard error of a sum over windows; 1.4, because neighbouring windows share strips."""
    return float(1.4 * (residuals @ residuals) ** 0.5)


def _per_line(excess: float) -> float:
    """Lines differ between strips of two cells by a quarter of what they differ between strips of one."""
    return 4 / 3 * excess


def _share(error: float) -> float:
    """What an excess with some standard error counts for: much if the error is smaller than that of clear lines."""
    return _CLEAR**2 / (_CLEAR**2 + _per_line(error) ** 2)


def _windows(counts: CellCounts, kinds: Sequence[_Kind]) -> Mapping[_Kind, _Windows]:
    """Windows of strips of several kinds; kinds without any window in the region are left out."""
    found = {kind: some for kind in kinds if (some := _strips(counts, *kind))[0].size}
    if not found:
        return {}
    # The noise of all boxes is asked for at once: on a tree that is one walk.
    ends = np.cumsum([len(boxes) for _, boxes in found.values()])[:-1]
    variances = np.split(counts.variance(np.concatenate([boxes for _, boxes in found.values()])), ends)
    return {
        kind: _Windows.of(strips, some.reshape(len(_PARTS), -1))
        for (kind, (strips, _)), some in zip(found.items(), variances, strict=True)
    }


def _strips(counts: CellCounts, axis: int, length: int) -> tuple[Floats, Integers]:
    """Counts of windows that start at each second strip, (4, m), and the boxes of the parts of some of them."""
    blocks = counts.blocks(*strip(length, axis)[:2])
    values, whole = (array if axis == 0 else array.T for array in (blocks.counts, blocks.whole(length)))
    starts = np.arange(0, max(values.shape[1] - 3, 0), 2)
    inside = np.all([whole[:, starts + i] for i in range(4)], axis=0)
    strips: Floats = np.stack([values[:, starts + i][inside] for i in range(4)])
    rows, places = some_places(inside)
    boxes = [_box(starts[places], rows * length, part, length, axis) for part in _PARTS]
    return strips, np.concatenate(boxes)


def _box(across: Integers, along: Integers, part: tuple[int, int], length: int, axis: int) -> Integers:
    """First column, first row, column and row after the last, of a part of some windows."""
    x = across + part[0], across + part[1]
    y = along, along + length
    (west, east), (south, north) = (x, y) if axis == 0 else (y, x)
    return np.stack([west, south, east, north], axis=1)
