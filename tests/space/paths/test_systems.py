"""Systems of cells, moves and turns: each agrees with plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.space.lattice import LATTICE, cells_of
from spatialdp.space.paths.systems import DIRECTIONS, JUMP, STAY, System, length_edges, turns


@pytest.mark.parametrize("level", [0, 1, 3, 5])
def test_cells_are_those_of_grids(level):
    squares = np.random.default_rng(1).integers(0, LATTICE, (200, 2))
    system = System(level)
    columns, rows = (cells_of(each, system.side) for each in squares.T)
    assert system.of(*squares.T).tolist() == (rows * system.side + columns).tolist()
    assert system.of(squares[:, 0].astype(np.int32), squares[:, 1].astype(np.int32)).max() < system.n_cells


@pytest.mark.parametrize("level", [0, 1, 2])
def test_moves_lead_to_the_neighbours_and_back(level):
    system = System(level)
    neighbours = system.neighbours()
    for cell in range(system.n_cells):
        for move, other in enumerate(neighbours[cell]):
            if other >= 0:
                assert system.moves(np.array([cell]), np.array([other])) == move
                assert neighbours[other, (move + 4) % 8] == cell
        others = np.arange(system.n_cells)
        steps = system.moves(np.full(system.n_cells, cell), others)
        distances = system.distances(np.full(system.n_cells, cell), others)
        assert ((steps == STAY) == (distances == 0)).all()
        assert ((steps == JUMP) == (distances > 1)).all()


def test_turns_are_angles():
    for first in range(8):
        for second in range(8):
            a, b = DIRECTIONS[first], DIRECTIONS[second]
            cosine = a @ b / np.sqrt((a @ a) * (b @ b))
            assert turns(np.array([first]), np.array([second])) == round(
                np.degrees(np.arccos(np.clip(cosine, -1, 1))) / 45
            )


@given(st.integers(1, 10_000))
def test_lengths_have_one_class_each(longest):
    edges = length_edges(longest)
    assert edges[0] == 0
    assert edges[-2:].tolist() == [longest, longest + 1]
    assert (np.diff(edges) > 0).all()
    assert edges.size < 60
