"""Drawn trajectories follow the model: ends, lengths, moves to adjacent cells, and the law of the chain."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.estimates.trajectories import walk
from spatialdp.estimates.trajectories.walk import draw_ways
from spatialdp.space.paths.systems import JUMP, System
from tests.estimates.trajectories.test_model import known_chain, walks_of
from tests.helpers.trajectory_cases import DOMAIN, tracks_of


def model_of(walks, longest=20, ends=1, systems=(3,), epsilon=1000, seed=1):
    mechanism = sdp.Trajectories(longest=longest, ends=ends, systems=systems)
    return mechanism.release(tracks_of(walks), DOMAIN, epsilon=epsilon, noise=sdp.SeededNoise(seed)).estimate


@pytest.mark.parametrize("epsilon", [0.05, 1, 1000])
@pytest.mark.parametrize("systems", [(3,), (2, 3), (6,)])
def test_ways_go_from_cell_to_adjacent_cell_between_likely_ends(systems, epsilon):
    walks = [[0, 1, 2, 10, 19, 28], [63, 62, 62], [5]] * 300
    model = model_of(walks, systems=systems, epsilon=epsilon, longest=64)
    if not model.reachable[3].size:
        pytest.skip("nothing is likely")
    ways = draw_ways(model, 400, sdp.SeededNoise(3))
    assert ways.cells.min() >= 0
    assert ways.cells.max() < model.system.n_cells
    assert np.diff(ways.starts).min() >= 1
    assert np.diff(ways.starts).max() <= model.longest + 1
    within = np.ones(ways.cells.size - 1, dtype=bool)
    within[ways.starts[1:-1] - 1] = False
    assert (model.system.moves(ways.cells[:-1], ways.cells[1:])[within] != JUMP).all()
    block = model.block_of
    pairs = block[ways.cells[ways.starts[:-1]]] * model.blocks.n_cells + block[ways.cells[ways.starts[1:] - 1]]
    assert set(pairs.tolist()) <= set((model.reachable[0] * model.blocks.n_cells + model.reachable[1]).tolist())


@pytest.mark.statistical
def test_drawn_ways_have_the_law_of_a_known_chain():
    """Moves of true and of drawn walks from each cell agree; starts within a block follow visits."""
    rng = np.random.default_rng(2)
    following, chances = known_chain(rng)
    walks = walks_of(following, chances, rng, 8000, 12)
    ways = draw_ways(model_of(walks.tolist(), longest=12), 8000, sdp.SeededNoise(3))
    drawn = ways.cells.reshape(-1, 13)
    tables = [
        np.bincount((each[:, :-1] * 64 + each[:, 1:]).ravel(), minlength=64 * 64) / each[:, 1:].size
        for each in (walks, drawn)
    ]
    assert np.abs(tables[0] - tables[1]).sum() < 0.25
    other = walks_of(*known_chain(np.random.default_rng(9)), rng, 8000, 12)
    table = np.bincount((other[:, :-1] * 64 + other[:, 1:]).ravel(), minlength=64 * 64) / other[:, 1:].size
    assert np.abs(tables[0] - table).sum() > 0.5


def test_many_destinations_are_done_in_parts(monkeypatch):
    walks = [[0, 1, 2, 10, 19, 28], [63, 62, 62], [5], [40, 41]] * 300
    model = model_of(walks, ends=2, longest=8)
    monkeypatch.setattr(walk, "_MOST_CHANCES", 1)
    monkeypatch.setattr(walk, "_AT_ONCE", 9)
    ways = draw_ways(model, 100, sdp.SeededNoise(3))
    assert ways.starts.size == 101
    assert System(3).n_cells > ways.cells.max()


def test_what_is_too_unlikely_for_a_double_still_stays_inside():
    """On so long ways all chances to arrive vanish, unless they are kept relative; cells stay cells."""
    walks = [[0] * 3, [63] * 3] * 500
    model = model_of(walks, ends=0, longest=600, systems=(5,))
    model.chain.chances[:, :8] *= 1e-200
    ways = draw_ways(model, 30, sdp.SeededNoise(3))
    assert 0 <= ways.cells.min() <= ways.cells.max() < model.system.n_cells


def test_nothing_likely_is_said_in_words():
    models = [model_of([], epsilon=1, seed=seed) for seed in range(9)]
    empty = [model for model in models if model.total <= 0]
    assert empty
    for model in empty:
        assert draw_ways(model, 0, sdp.SeededNoise(1)).cells.size == 0
        with pytest.raises(ReleaseError, match="no pair of ends"):
            draw_ways(model, 1, sdp.SeededNoise(1))
