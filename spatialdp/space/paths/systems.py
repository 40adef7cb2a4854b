"""In which terms is a way told? Cells of a level of the quadtree, moves between them, turns, lengths and extents.

A reference system is a level of the lattice's quadtree: 2^level by 2^level cells, numbered row by row from the south
west. A step leads to one of eight adjacent cells (a move, numbered by its direction, east first and then
counter-clockwise), stays, or jumps over cells. Two moves in a row make a turn of 0 to 4 times 45 degrees. The extent
of a way is the longer side of the box around its positions, as a share of the domain's side. Everything here is public.
See ``docs/design/trajectories.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE, LATTICE_BITS

__all__ = [
    "CLASSES",
    "DIRECTIONS",
    "EXTENTS",
    "JUMP",
    "LONGEST_STEP",
    "MOST_CHANCES",
    "MOST_END_LEVELS",
    "MOST_LEVELS",
    "MOST_STEPS",
    "STAY",
    "TURNS",
    "WHOLE",
    "System",
    "extent_classes",
    "length_classes",
    "length_edges",
    "squares_inside",
    "turns",
]

WHOLE = 2**20  # units that one trajectory has to give in each group of weights
DIRECTIONS = np.array([(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)])
STAY, JUMP = 8, 9  # steps that are no moves
TURNS = 5  # from straight on to back
CLASSES = 6  # of distances between the blocks of both ends: 0 to 4 blocks, and further
MOST_STEPS = 10_000  # of a trajectory
LONGEST_STEP = 10**8  # seconds; the times of the longest trajectory are below 2^63 microseconds
MOST_LEVELS, MOST_END_LEVELS = 8, 5
MOST_CHANCES = 2**26  # chances to arrive, of each cell after each step, that drawing holds for one destination

# Where the classes of extents begin, as one over the share of the domain's side.
EXTENTS = (math.inf, 128, 64, 48, 32, 24, 16, 12, 8, 6, 4, 2)
_EXTENT_EDGES = np.array([math.floor(LATTICE / each) for each in EXTENTS])

_DIRECTION_OF = np.full((3, 3), STAY)
_DIRECTION_OF[tuple((DIRECTIONS + 1).T)] = np.arange(8)


@dataclass(frozen=True)
class System:
    """A reference system: the cells of one level of the quadtree.

    Examples
    --------
    >>> system = System(2)
    >>> system.side, system.n_cells
    (4, 16)
    >>> system.moves(np.array([0, 0, 5, 0]), np.array([1, 0, 0, 2])).tolist()
    [0, 8, 5, 9]
    """

    level: int

    @property
    def side(self) -> int:
        """Cells along a side."""
        return 1 << self.level

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return 1 << 2 * self.level

    @property
    def shift(self) -> int:
        """Binary logarithm of the lattice squares along a side of a cell."""
        return LATTICE_BITS - self.level

    def of(self, columns: Array, rows: Array) -> Integers:
        """Return the number of the cell that each lattice square lies in."""
        wide = (each.astype(np.int64) >> self.shift for each in (columns, rows))
        column, row = wide
        return np.asarray(row * self.side + column)

    def inside(self, domain: Domain) -> Booleans:
        """Return which cells belong to the domain's region, (cells,); all of them if there is none."""
        return np.asarray(domain.grid((self.side, self.side)).mask.ravel())

    def moves(self, first: Integers, second: Integers) -> Integers:
        """Return which move leads from each cell to another one: a direction, `STAY` or `JUMP`."""
        dy, dx = (b - a for a, b in zip(np.divmod(first, self.side), np.divmod(second, self.side), strict=True))
        near = np.maximum(np.abs(dx), np.abs(dy)) <= 1
        return np.asarray(np.where(near, _DIRECTION_OF[np.where(near, dx, 0) + 1, np.where(near, dy, 0) + 1], JUMP))

    def neighbours(self) -> Integers:
        """Return the cell that each move leads to from each cell, (cells, 8); -1 where it would leave the domain."""
        row, column = np.divmod(np.arange(self.n_cells), self.side)
        x, y = column[:, None] + DIRECTIONS[:, 0], row[:, None] + DIRECTIONS[:, 1]
        inside = (x >= 0) & (x < self.side) & (y >= 0) & (y < self.side)
        return np.where(inside, y * self.side + x, -1)

    def distances(self, first: Integers, second: Integers) -> Integers:
        """Return how many moves are needed from each cell to another one."""
        (row, column), (other_row, other_column) = (np.divmod(cells, self.side) for cells in (first, second))
        return np.asarray(np.maximum(np.abs(row - other_row), np.abs(column - other_column)))


def turns(first: Integers, second: Integers) -> Integers:
    """Return by how many times 45 degrees one move differs from the move before, to whichever side.

    Examples
    --------
    >>> turns(np.array([0, 1, 0]), np.array([7, 1, 4])).tolist()
    [1, 0, 4]
    """
    apart = np.abs(first - second)
    return np.asarray(np.minimum(apart, 8 - apart))


def length_edges(longest: int) -> Integers:
    """Return where the classes of lengths begin, in steps, and the end of the last one.

    Examples
    --------
    >>> length_edges(20).tolist()
    [0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 21]
    """
    wider = (round(6 * 1.28**k) for k in range(1, 1 + max(0, round(math.log(max(longest, 6) / 6, 1.28)))))
    edges = {*range(min(6, longest) + 1), *(edge for edge in wider if edge < longest), longest}
    return np.array([*sorted(edges), longest + 1])


def length_classes(steps: Integers, longest: int) -> Integers:
    """Return the class of lengths that each number of steps is in.

    Examples
    --------
    >>> length_classes(np.array([0, 7, 20]), 20).tolist()
    [0, 6, 11]
    """
    return np.asarray(np.searchsorted(length_edges(longest), steps, side="right") - 1)


def extent_classes(starts: Integers, columns: Array, rows: Array) -> Integers:
    """Return the class of extents of each way, whose lattice squares lie next to each other from its start on.

    Examples
    --------
    >>> extent_classes(np.array([0, 2, 3]), np.array([0, 2**29, 5]), np.array([0, 2**26, 5])).tolist()
    [11, 0]
    """
    widest = np.zeros(starts.size - 1, dtype=np.int64)
    if widest.size:
        for places in (columns, rows):
            low, high = (each.reduceat(places, starts[:-1]) for each in (np.minimum, np.maximum))
            widest = np.maximum(widest, high.astype(np.int64) - low)
    return np.asarray(np.searchsorted(_EXTENT_EDGES, widest, side="right") - 1)


def squares_inside(columns: Array, rows: Array, domain: Domain, systems: Sequence[System]) -> Booleans:
    """Return which lattice squares lie in cells of the region in each of some systems; all if there is no region."""
    if domain.region is None:
        return np.ones(columns.shape, dtype=bool)
    inside = [system.inside(domain)[system.of(columns, rows)] for system in systems]
    return np.asarray(np.logical_and.reduce(inside))
