"""How blocks of grid cells are halved again and again, along the longer side, down to single cells.

A block is a rectangle of cells: columns x0 up to x1, rows y0 up to y1. It is halved across its longer side, rows first
if both are equal. In a region, halves without a cell of the region are left out, and a block whose cells of the region
all lie in one half shrinks to that half first, so that halving never returns the same cells. All of this is public: it
depends on the grid and its region alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers, Integers32
from spatialdp.space.domain import Grid

__all__ = ["Subdivision", "add_up_rows", "block_sums", "summed_areas"]

Blocks = Integers | Integers32  # (n, 4): first column and row, and those after the last
B = TypeVar("B", Integers, Integers32)

_BLOCKS = 2**14  # whose sums are looked up at a time: work arrays stay in the processor's cache
_LONG_ROW = 512  # from this length on, rows of an array are worth a call of numpy each


@dataclass(frozen=True, eq=False)
class Subdivision:
    """Halves blocks of a grid's cells.

    Attributes
    ----------
    grid : Grid
    """

    grid: Grid

    @property
    def whole(self) -> Integers:
        """The block of all cells, (1, 4)."""
        nx, ny = self.grid.shape
        return np.array([[0, 0, nx, ny]])

    def halvings(self, blocks: Blocks) -> Integers:
        """How many times each block can be halved until only single cells are left.

        Examples
        --------
        >>> from spatialdp.space.domain import Domain
        >>> Subdivision(Domain((0, 0, 1, 1)).grid((8, 8))).halvings(np.array([[0, 0, 8, 8], [0, 0, 3, 1]])).tolist()
        [6, 2]
        """
        return np.asarray(_halvings(blocks[:, 2] - blocks[:, 0]) + _halvings(blocks[:, 3] - blocks[:, 1]))

    def cells(self, blocks: Blocks) -> Integers:
        """How many of the region's cells lie in each block."""
        if self._sums is None:
            return np.asarray((blocks[:, 2] - blocks[:, 0]) * (blocks[:, 3] - blocks[:, 1]))
        return block_sums(self._sums, blocks)

    def halve(self, blocks: B, times: Array) -> tuple[B, Integers]:
        """Halve each block so many times; return the parts, block after block, and which block each part is of.

        A single cell stays as it is.
        """
        parts, owner, left = blocks, np.arange(len(blocks)), np.asarray(times)
        while left.any():
            parts = self._shrunk(parts, left > 0)
            split = (left > 0) & ((parts[:, 2] - parts[:, 0] > 1) | (parts[:, 3] - parts[:, 1] > 1))
            order = np.repeat(np.arange(len(parts)), np.where(split, 2, 1))
            parts = _halves(parts, split, order)
            if self._sums is not None:
                kept = self.cells(parts) > 0
                parts, order = parts[kept], order[kept]
            owner, left = owner[order], np.maximum(left - 1, 0)[order]
        return parts, owner

    def _shrunk(self, blocks: B, chosen: Booleans) -> B:
        """Replace each chosen block by one of its halves as long as the other half is outside the region."""
        if self._sums is None:
            return blocks
        blocks, places = blocks.copy(), np.flatnonzero(chosen)
        while places.size:
            inside, count = blocks[places], self.cells(blocks[places])
            lower, upper = (_half(inside, np.full(places.size, side)) for side in (False, True))
            can_be_halved = self.halvings(inside) > 0
            only_lower = can_be_halved & (self.cells(lower) == count)
            only_upper = can_be_halved & (self.cells(upper) == count)
            blocks[places] = np.where(only_lower[:, None], lower, np.where(only_upper[:, None], upper, inside))
            places = places[only_lower | only_upper]
        return blocks

    @cached_property
    def in_region(self) -> Booleans | None:
        """Which cells are in the region, (ny, nx); None if all are."""
        return None if self.grid.mask.all() else self.grid.mask

    @cached_property
    def _sums(self) -> Integers | None:
        """Summed areas of the region's cells; None if all cells are in the region."""
        return None if self.in_region is None else summed_areas(self.in_region)


def summed_areas(values: Array) -> Integers:
    """Sums of whole numbers over all cells south-west of each corner of a grid, (ny + 1, nx + 1), exactly."""
    sums = np.empty((values.shape[0] + 1, values.shape[1] + 1), dtype=np.int64)
    sums[0] = sums[:, 0] = 0
    np.cumsum(values, axis=1, out=sums[1:, 1:])
    add_up_rows(sums)
    return sums


def add_up_rows(values: Array) -> None:
    """Add to each row of an array all rows before it, in place, as cumsum does."""
    if values.shape[1] < _LONG_ROW:
        np.cumsum(values, axis=0, out=values)
        return
    for row, before in zip(values[1:], values, strict=False):  # much faster than cumsum, which goes down the columns
        row += before


def block_sums(sums: Integers, blocks: Blocks) -> Integers:
    """Sums over blocks of cells, from summed areas."""
    flat, row, result = sums.ravel(), sums.shape[1], np.empty(len(blocks), dtype=sums.dtype)
    for start in range(0, len(blocks), _BLOCKS):
        x0, y0, x1, y1 = blocks[start : start + _BLOCKS].T.astype(np.int64)
        south, north, total = y0 * row, y1 * row, result[start : start + _BLOCKS]
        total[:] = flat.take(north + x1)
        total -= flat.take(south + x1)
        total -= flat.take(north + x0)
        total += flat.take(south + x0)
    return result


def _halvings(length: Integers) -> Integers:
    """How many halvings leave parts of length 1."""
    return np.asarray(np.frexp(length - 0.5)[1], dtype=np.int64)


def _halves(blocks: B, split: Booleans, order: Integers) -> B:
    """Blocks in an order that names each block to be split twice, and any other one once; split ones become halves."""
    halves, whole = blocks.take(order, axis=0), np.flatnonzero(split)
    x0, y0, x1, y1 = blocks.take(whole, axis=0).T
    wide = x1 - x0 > y1 - y0
    middle = np.where(wide, x0 + x1, y0 + y1) // 2
    # The first half ends in the middle, at its third or fourth number, and the second half begins there.
    end, numbers = 4 * (whole + np.arange(whole.size)) + np.where(wide, 2, 3), halves.reshape(-1)
    numbers[end] = numbers[end + 2] = middle
    return halves


def _half(blocks: B, second: Booleans) -> B:
    """The first or the second half of each block across its longer side."""
    halves = blocks.copy()
    axis = np.where(blocks[:, 2] - blocks[:, 0] > blocks[:, 3] - blocks[:, 1], 0, 1)
    every = np.arange(len(blocks))
    middle = (blocks[every, axis] + blocks[every, axis + 2]) // 2
    halves[every, np.where(second, axis, axis + 2)] = middle
    return halves
