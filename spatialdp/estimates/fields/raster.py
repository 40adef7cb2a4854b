"""Which leaf of a tree each cell of a grid lies in, and how counts of leaves become densities of cells.

Leaves are blocks of cells. Some cells lie in no leaf: they are outside the region. Cells may differ in size, if they
are unions of smaller cells. Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32
from spatialdp.space.boxes.subdivision import add_up_rows

__all__ = ["LeafRaster", "Windows", "filled", "painted"]

_ROWS = 16  # of cells that are filled at a time


@dataclass(frozen=True, eq=False)
class LeafRaster:
    """The leaves of a tree, painted on cells.

    Attributes
    ----------
    blocks : (leaves, 4) int array
        First column and row of each leaf, and one more than its last column and row.
    sizes : (ny, nx) float array
        The size of each cell's part of the region, in any unit; 0 outside the region.
    widths, heights : (nx,) and (ny,) arrays
        Width of each column and height of each row.
    """

    blocks: Integers | Integers32
    sizes: Floats
    widths: Floats
    heights: Floats

    @cached_property
    def leaf(self) -> Integers:
        """The leaf of each cell, (ny, nx); the number of leaves where there is none."""
        leaf = painted(self.blocks, self.sizes.shape).astype(np.int64)
        leaf[self.sizes == 0] = len(self.blocks)
        return leaf

    @property
    def inside(self) -> Booleans:
        """Which cells lie in a leaf."""
        return np.asarray(self.leaf < len(self.blocks))

    @cached_property
    def areas(self) -> Floats:
        """The size of each leaf: the sum of its cells' sizes."""
        return self.sums(np.ones(self.sizes.shape))

    @property
    def sides(self) -> tuple[Integers, Integers]:
        """Width and height, in cells, of the leaf of each cell; 1 where there is none."""
        widths, heights = (np.append(self.blocks[:, axis + 2] - self.blocks[:, axis], 1) for axis in (0, 1))
        return widths.take(self.leaf), heights.take(self.leaf)

    def sums(self, densities: Array) -> Floats:
        """For each leaf, the sum of density x size over its cells."""
        weights = (densities * self.sizes).ravel()
        return np.bincount(self.leaf.ravel(), weights, minlength=len(self.blocks) + 1)[:-1].astype(np.float64)

    def at_cells(self, values: Array) -> Floats:
        """For each cell, the value of its leaf; 0 where there is none."""
        return np.append(values, 0.0).take(self.leaf)

    def even(self, counts: Array) -> Floats:
        """The density of each cell, if each leaf's count is spread evenly over the leaf."""
        return self.at_cells(counts / np.maximum(self.areas, 1e-300))


def painted(blocks: Integers | Integers32, shape: tuple[int, int]) -> Integers32:
    """The number of the block that each cell of an (ny, nx) grid lies in; the number of blocks where there is none.

    Examples
    --------
    >>> painted(np.array([[0, 0, 2, 1], [2, 0, 3, 2]]), (2, 3)).tolist()
    [[0, 0, 1], [2, 2, 1]]
    """
    ny, nx = shape
    x0, y0, x1, y1 = blocks.T
    # Blocks are painted by changes at their corners. Numbers count down from that of no block, which is 0 so far.
    changes, number = np.zeros((ny + 1, nx + 1), dtype=np.int32), np.arange(-len(blocks), 0, dtype=np.int32)
    for y, x, change in ((y0, x0, number), (y1, x1, number), (y0, x1, -number), (y1, x0, -number)):
        np.add.at(changes.ravel(), y * (nx + 1) + x, change)
    np.cumsum(changes, axis=1, out=changes)
    add_up_rows(changes)
    changes += len(blocks)
    return changes[:-1, :-1]


def filled(blocks: Integers | Integers32, values: Floats, shape: tuple[int, int]) -> Floats:
    """The value of the block that each cell of an (ny, nx) grid lies in; 0 where there is none.

    Numbers of blocks are painted as in `painted`, where the result will be: a large grid needs no other array.

    Examples
    --------
    >>> filled(np.array([[0, 0, 2, 1], [2, 0, 3, 2]]), np.array([0.5, 7.0]), (2, 3)).tolist()
    [[0.5, 0.5, 7.0], [0.0, 0.0, 7.0]]
    """
    ny, nx = shape
    # Changes after the end of a row are at the beginning of the next one, and those below the last row do not matter.
    room = np.zeros((ny + 1) * nx + 1)
    changes, number = room.view(np.int64), np.arange(1, len(blocks) + 1)
    x0, y0, x1, y1 = (blocks[:, side].astype(np.int64) for side in range(4))
    for y, x, change in ((y0, x0, number), (y1, x1, number), (y0, x1, -number), (y1, x0, -number)):
        np.add.at(changes, y * nx + x, change)
    np.cumsum(changes[: ny * nx], out=changes[: ny * nx])
    result, numbers = room[: ny * nx].reshape(ny, nx), changes[: ny * nx].reshape(ny, nx)
    add_up_rows(numbers)
    of_number = np.append(0.0, values)
    for start in range(0, ny, _ROWS):
        some = slice(start, start + _ROWS)
        of_number.take(numbers[some].copy(), out=result[some], mode="clip")
    return result


class Windows:
    """A window of about so many columns and rows around each cell of a grid, cut off at the grid's edges.

    Windows have an odd number of columns and rows, so that the cell is in the middle.
    """

    def __init__(self, width: Integers, height: Integers) -> None:
        ny, nx = width.shape
        columns, rows = np.arange(nx)[None, :], np.arange(ny)[:, None]
        width, height = width // 2, height // 2
        west, east = np.maximum(columns - width, 0), np.minimum(columns + width + 1, nx)
        south, north = np.maximum(rows - height, 0) * (nx + 1), np.minimum(rows + height + 1, ny) * (nx + 1)
        self._plus, self._minus = (north + east, south + west), (south + east, north + west)

    def sums(self, values: Array) -> Floats:
        """For each cell, the sum of the values in its window."""
        ny, nx = values.shape
        sums = np.zeros((ny + 1, nx + 1))
        np.cumsum(values, axis=0, out=sums[1:, 1:])
        np.cumsum(sums[1:, 1:], axis=1, out=sums[1:, 1:])
        north_east, south_west = (sums.take(each) for each in self._plus)
        south_east, north_west = (sums.take(each) for each in self._minus)
        north_east -= south_east
        north_east -= north_west
        north_east += south_west
        return np.asarray(north_east)
