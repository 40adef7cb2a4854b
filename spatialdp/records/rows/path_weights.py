"""How much of each trajectory is in a cell, a move or a pair of ends? Exact whole weights, at most one unit for each.

A trajectory has one unit to give in each group, 2^20 steps (`WHOLE`), and divides it evenly over its tokens: over its
positions, or its moves. Each token gets the unit divided by the number of tokens, rounded down. So whatever the length
of a trajectory, the weights that it adds to a group are not negative and add up to at most one unit. Pairs of ends,
lengths and extents are plain counts. All weights are private.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp.records.rows.tracks import Paths
from spatialdp.space.frames.frame import Frame
from spatialdp.space.paths.systems import (
    CLASSES,
    EXTENTS,
    JUMP,
    STAY,
    TURNS,
    WHOLE,
    System,
    extent_classes,
    length_classes,
    length_edges,
    turns,
)

__all__ = [
    "cell_weights",
    "end_counts",
    "extent_counts",
    "habit_weights",
    "learnable",
    "length_counts",
    "move_weights",
]


def end_counts(paths: Paths, blocks: System, frame: Frame) -> Integers:
    """Return how many trajectories have each pair of ends, origin x places + destination, of the blocks of a frame."""
    origins, destinations = (frame.space.leaf_of_cell[ends].astype(np.int64) for ends in _ends(paths, blocks))
    places = frame.space.size
    return np.bincount(origins * places + destinations, minlength=places**2).astype(np.int64)


def length_counts(paths: Paths, blocks: System, longest: int) -> Integers:
    """Return how many trajectories have ends at each class of distances, and each class of lengths."""
    return _by_length(np.minimum(blocks.distances(*_ends(paths, blocks)), CLASSES - 1), CLASSES, paths, longest)


def extent_counts(paths: Paths, longest: int) -> Integers:
    """Return how many trajectories have each class of extents, and each class of lengths."""
    return _by_length(extent_classes(paths.starts, paths.columns, paths.rows), len(EXTENTS), paths, longest)


def cell_weights(paths: Paths, system: System) -> Integers:
    """Return the weight of each cell: a trajectory divides its unit over its positions."""
    weights = np.zeros(system.n_cells, dtype=np.int64)
    np.add.at(weights, system.of(paths.columns, paths.rows), (WHOLE // np.maximum(paths.sizes, 1))[paths.owners])
    return weights


def move_weights(paths: Paths, system: System) -> Integers:
    """Return the weight of each move from each cell, (cells, 8): a trajectory divides its unit over its moves."""
    owners, cells, steps = _steps(paths, system)
    moved = steps < STAY
    weights = np.zeros(system.n_cells * 8, dtype=np.int64)
    np.add.at(weights, cells[moved] * 8 + steps[moved], _shares(owners[moved], paths, WHOLE))
    return weights.reshape(-1, 8)


def learnable(moves: Integers, threshold: int) -> int:
    """Return how much of the weight of moves lies above the threshold of its move; changes no more than the weights."""
    return int(np.maximum(moves - threshold, 0).sum())


def habit_weights(paths: Paths, system: System) -> Integers:
    """Return the weights of turns by 0 to 180 degrees, of stays, and of all other steps.

    A trajectory gives half a unit to its turns, and half a unit to its steps.
    """
    owners, _, steps = _steps(paths, system)
    weights = np.zeros(TURNS + 2, dtype=np.int64)
    np.add.at(weights, TURNS + (steps != STAY), _shares(owners, paths, WHOLE // 2))
    moved = steps < STAY
    owners, moves = owners[moved], steps[moved]
    same = owners[1:] == owners[:-1]
    turned = turns(moves[:-1], moves[1:])[same]
    np.add.at(weights, turned, _shares(owners[1:][same], paths, WHOLE // 2))
    return weights


def _by_length(kinds: Integers, count: int, paths: Paths, longest: int) -> Integers:
    """Return how many trajectories are of each kind and length, one kind after the other."""
    width = length_edges(longest).size - 1
    numbers = kinds * width + length_classes(paths.sizes - 1, longest)
    return np.bincount(numbers, minlength=count * width).astype(np.int64)


def _ends(paths: Paths, blocks: System) -> tuple[Integers, Integers]:
    """Return the blocks in which the trajectories begin and end."""
    cells = blocks.of(paths.columns, paths.rows)
    return cells[paths.starts[:-1]], cells[paths.starts[1:] - 1]


def _steps(paths: Paths, system: System) -> tuple[Integers, Integers, Integers]:
    """Return the trajectory of each step, the cell that it leaves, and its move, `STAY` or `JUMP`."""
    cells, owners = system.of(paths.columns, paths.rows), paths.owners
    within = np.flatnonzero(owners[1:] == owners[:-1])
    steps = system.moves(cells[within], cells[within + 1])
    assert steps.max(initial=0) <= JUMP
    return owners[within], cells[within], steps


def _shares(owners: Integers, paths: Paths, unit: int) -> Integers:
    """Return the weight of each token: the unit over the number of tokens of its trajectory, rounded down."""
    return np.asarray((unit // np.maximum(np.bincount(owners, minlength=paths.sizes.size), 1))[owners])
