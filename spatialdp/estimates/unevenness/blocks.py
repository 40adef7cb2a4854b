"""How do released counts of neighbouring blocks of cells differ? Sums of blocks, pairs of them, and their noise.

`unevenness.grid` and `unevenness.lines` learn from such pairs how records are spread. This module reads no record: all
numbers come from a release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, even_points
from spatialdp.space.coverage import prefix_sums

__all__ = ["Blocks", "CellCounts", "Kind", "Neighbours", "neighbours", "some_places", "strip"]

_RESIDUES = 8  # places are taken from all remainders of rows and columns by this number
_SAMPLED = _RESIDUES**2  # places at which noise is averaged
_TRIES = 16 * _SAMPLED  # places that are tried, because some are not allowed
_SPREAD = even_points(_TRIES, 2)
_REMAINDERS = np.stack([np.arange(_TRIES) // _RESIDUES % _RESIDUES, np.arange(_TRIES) % _RESIDUES], axis=1)


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Released counts of cells, and the noise of any block of them.

    Attributes
    ----------
    values : (ny, nx) array
    mask : (ny, nx) bool array
        Cells in the region.
    variance : callable
        Variance of the noise in the sums of blocks, given as (m, 4) arrays of first column, first row,
        column and row after the last.
    """

    values: Floats
    mask: Booleans
    variance: Callable[[Integers], Floats]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of columns and rows."""
        return self.values.shape[1], self.values.shape[0]

    def blocks(self, width: int, height: int) -> Blocks:
        """Cut the grid into blocks of cells; those at the far edges may be smaller."""
        edges = tuple(
            np.minimum(np.arange(0, size + side, side), size)
            for size, side in zip(self.shape, (width, height), strict=True)
        )
        return Blocks(edges[0], edges[1], _block_sums(self._sums, *edges), _block_sums(self._cells, *edges))

    @cached_property
    def _sums(self) -> Floats:
        return prefix_sums(self.values)

    @cached_property
    def _cells(self) -> Floats:
        return prefix_sums(self.mask)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of cells: column and row edges, sums of the released counts, and numbers of cells in the region."""

    x: Integers
    y: Integers
    counts: Floats
    cells: Floats

    def boxes(self, rows: Integers, columns: Integers) -> Integers:
        """First column, first row, column and row after the last, of some blocks."""
        return np.stack([self.x[columns], self.y[rows], self.x[columns + 1], self.y[rows + 1]], axis=1)

    def whole(self, size: int) -> Booleans:
        """Which blocks have all of their `size` cells in the region."""
        return np.asarray(self.cells == size)


def _block_sums(sums: Floats, x: Integers, y: Integers) -> Floats:
    return np.diff(np.diff(sums[np.ix_(y, x)], axis=0), axis=1)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Pairs of adjacent whole blocks along one axis: differences, sums, and the mean variances of both."""

    difference: Floats
    total: Floats
    difference_variance: float
    total_variance: float


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of adjacent whole blocks, and the boxes of some of them: of the first blocks, the second ones and both."""

    difference: Floats
    total: Floats
    boxes: Integers

    def with_variances(self, variances: Floats) -> Neighbours:
        """The pairs, with the variances of the boxes' noise."""
        one, other, both = variances.reshape(3, -1)
        total = float(both.mean())
        return Neighbours(self.difference, self.total, max(0.0, 2 * float((one + other).mean()) - total), total)


# Width and height of blocks, in cells, and the axis along which they are neighbours.
Kind = tuple[int, int, int]


def some_places(allowed: Booleans) -> tuple[Integers, Integers]:
    """Rows and columns of some of the allowed places, the same ones each time, to average over all of them.

    In trees and wavelets noise depends on whether neighbours share a parent, and so on the remainders of rows and
    columns by 2, 4, 8, ... So all remainders by 8 occur together equally often, as far as places are allowed.
    """
    groups = -(-np.array(allowed.shape) // _RESIDUES)
    places = (_SPREAD * groups).astype(np.int64) * _RESIDUES + _REMAINDERS
    places = places[(places < allowed.shape).all(axis=1)]
    rows, columns = places[allowed[places[:, 0], places[:, 1]]][:_SAMPLED].T
    if rows.size:
        return rows, columns
    every = np.nonzero(allowed)  # few and far between
    few = np.unique(np.linspace(0, max(every[0].size - 1, 0), min(_SAMPLED, every[0].size)).astype(np.int64))
    return every[0][few], every[1][few]


def neighbours(counts: CellCounts, kinds: Iterable[Kind]) -> dict[Kind, Neighbours]:
    """All pairs of blocks of some kinds that tell something; kinds without any pair are left out."""
    found = {kind: pairs for kind in dict.fromkeys(kinds) if (pairs := _pairs(counts, *kind)) is not None}
    if not found:
        return {}
    # The noise of all boxes is asked for at once: on a tree that is one walk instead of dozens.
    boxes = [pairs.boxes for pairs in found.values()]
    ends = np.cumsum([len(some) for some in boxes])[:-1]
    variances = np.split(counts.variance(np.concatenate(boxes)), ends)
    return {kind: pairs.with_variances(some) for (kind, pairs), some in zip(found.items(), variances, strict=True)}


def strip(length: int, axis: int, width: int = 1) -> Kind:
    """Strips of some cells' length and width, along edges across `axis`."""
    return (width, length, axis) if axis == 0 else (length, width, axis)


def _pairs(counts: CellCounts, width: int, height: int, axis: int) -> _Pairs | None:
    """Pairs of blocks that are next to each other along x (axis 0) or y (axis 1); None if there are none."""
    blocks = counts.blocks(width, height)
    whole = blocks.whole(width * height)
    first, second = _shifted(axis)
    inside = whole[first] & whole[second]
    if not inside.any():
        return None
    one, other = blocks.counts[first][inside], blocks.counts[second][inside]
    rows, columns = some_places(inside)
    here = blocks.boxes(rows, columns)
    there = blocks.boxes(rows + axis, columns + 1 - axis)
    both = np.concatenate([here[:, :2], there[:, 2:]], axis=1)
    return _Pairs(one - other, one + other, np.concatenate([here, there, both]))


def _shifted(axis: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    front, back, every = slice(None, -1), slice(1, None), slice(None)
    return ((every, front), (every, back)) if axis == 0 else ((front, every), (back, every))
