"""Weights of trajectories agree with loops over their tokens, and never exceed one unit."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.records.rows.path_weights import (
    cell_weights,
    end_counts,
    extent_counts,
    habit_weights,
    learnable,
    length_counts,
    move_weights,
)
from spatialdp.records.rows.tracks import Paths
from spatialdp.space.domain import Domain
from spatialdp.space.frames.frame import Frame
from spatialdp.space.paths.systems import STAY, TURNS, WHOLE, System, turns

BLOCKS, CELLS = System(1), System(3)
PLACES = Frame(Domain((0, 0, 8, 8)).grid((2, 2)))
many_walks = st.lists(st.lists(st.integers(0, 63), min_size=1, max_size=30), max_size=6)


def paths_through(walks):
    cells = np.array([cell for walk in walks for cell in walk], dtype=np.int64)
    row, column = np.divmod(cells, 8)
    return Paths(
        np.concatenate([[0], np.cumsum([len(walk) for walk in walks])]).astype(np.int64), column << 27, row << 27
    )


@given(many_walks)
def test_weights_are_those_of_loops(walks):
    paths = paths_through(walks)
    cells, moves, habits = Counter(), Counter(), Counter()
    for walk in walks:
        cells.update({cell: times * (WHOLE // len(walk)) for cell, times in Counter(walk).items()})
        steps = CELLS.moves(np.array(walk[:-1], dtype=int), np.array(walk[1:], dtype=int))
        made = [(cell, move) for cell, move in zip(walk, steps, strict=False) if move < STAY]
        for cell, move in made:
            moves[cell * 8 + int(move)] += WHOLE // len(made)
        for first, second in itertools.pairwise(made):
            habits[int(turns(first[1], second[1]))] += WHOLE // 2 // (len(made) - 1)
        for step in steps:
            habits[TURNS + int(step != STAY)] += WHOLE // 2 // len(steps)
    assert cell_weights(paths, CELLS).tolist() == [cells[cell] for cell in range(64)]
    assert move_weights(paths, CELLS).ravel().tolist() == [moves[place] for place in range(512)]
    assert habit_weights(paths, CELLS).tolist() == [habits[kind] for kind in range(TURNS + 2)]


@given(st.lists(st.integers(0, 63), min_size=1, max_size=400))
def test_one_trajectory_adds_one_unit_at_most_whatever_its_length(walk):
    paths = paths_through([walk])
    for weights in (cell_weights, move_weights, habit_weights):
        for level in (0, 2, 3):
            added = weights(paths, System(level))
            assert added.min() >= 0
            assert added.sum() <= WHOLE
    for counts in (length_counts(paths, BLOCKS, 400), extent_counts(paths, 400), end_counts(paths, BLOCKS, PLACES)):
        assert counts.sum() == counts.max() == 1


@given(many_walks, st.lists(st.integers(0, 63), min_size=1, max_size=30), st.integers(0, 2 * WHOLE))
def test_what_is_learnable_grows_by_one_unit_at_most(walks, more, threshold):
    before, after = (learnable(move_weights(paths_through(each), CELLS), threshold) for each in (walks, [*walks, more]))
    assert 0 <= after - before <= WHOLE


def test_ends_and_lengths_are_counted():
    paths = paths_through([[0, 7, 63], [0], [63, 62], [63, 62]])
    ends = end_counts(paths, BLOCKS, PLACES)
    assert np.flatnonzero(ends).tolist() == [0, 3, 15]
    assert ends[[0, 3, 15]].tolist() == [1, 1, 2]
    table = length_counts(paths, BLOCKS, 9).reshape(6, -1)
    assert table[0, :2].tolist() == [1, 2]
    assert table[1, 2] == 1
    assert table.sum() == 4


def test_extents_are_the_longer_sides_of_boxes():
    """A cell is an eighth of the domain: 0, one, and seven cells are in the classes from 0, 1/8 and 1/2 on."""
    table = extent_counts(paths_through([[0], [5, 5], [0, 9, 0], [0, 8], [0, 56], [63, 7]]), 9).reshape(12, -1)
    assert table.sum(axis=1).nonzero()[0].tolist() == [0, 8, 11]
    assert table.sum(axis=1)[[0, 8, 11]].tolist() == [2, 2, 2]
    assert table[0, :2].tolist() == [1, 1]
