"""The model of trajectories: pruning keeps totals, and a known Markov chain is found again without noise."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.trajectories.model import pruned
from spatialdp.space.paths.systems import System
from tests.helpers.trajectory_cases import DOMAIN, tracks_of

SYSTEM = System(3)


def known_chain(rng):
    """A random chain on 8 x 8 cells: to one of the neighbours, or stay with probability 0.3."""
    following = SYSTEM.neighbours()
    chances = rng.gamma(1.0, size=(64, 8)) * (following >= 0)
    chances *= 0.7 / chances.sum(axis=1, keepdims=True)
    return np.hstack([following, np.arange(64)[:, None]]), np.column_stack([chances, np.full(64, 0.3)])


def walks_of(following, chances, rng, count, steps):
    """Walks of the chain, from anywhere."""
    cells = np.empty((count, steps + 1), dtype=int)
    cells[:, 0] = rng.integers(0, 64, count)
    ends = chances.cumsum(axis=1)
    for step in range(steps):
        here = cells[:, step]
        move = (ends[here] <= rng.random(count)[:, None] * ends[here, -1:]).sum(axis=1)
        cells[:, step + 1] = following[here, move]
    return cells


def test_a_known_markov_chain_is_found_again_without_noise():
    rng = np.random.default_rng(2)
    following, chances = known_chain(rng)
    tracks = tracks_of(walks_of(following, chances, rng, 4000, 20).tolist())
    mechanism = sdp.Trajectories(longest=20, ends=1, systems=(3,))
    model = mechanism.release(tracks, DOMAIN, epsilon=1000, noise=sdp.SeededNoise(1)).estimate
    assert np.abs(model.chain.chances - chances).max() < 0.1
    assert np.abs(model.chain.chances - chances).mean() < 0.008
    shuffled = rng.permutation(chances)
    assert np.abs(model.chain.chances - shuffled).mean() > 0.03
    assert np.abs(model.chain.turning[:8, :8].mean(axis=1) - 1).max() < 1e-9
    assert model.total == pytest.approx(4000, abs=3)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_pruning_keeps_the_total_and_leaves_nothing_negative(level):
    system = System(level)
    noisy = np.random.default_rng(4).normal(0.5, 3, system.n_cells)
    kept = pruned(noisy, system)
    assert kept.min() >= 0
    assert kept.sum() == pytest.approx(max(noisy.sum(), 0))
    assert pruned(np.abs(noisy), system) == pytest.approx(np.abs(noisy))
    assert not pruned(-np.abs(noisy), system).any()


@pytest.mark.parametrize("epsilon", [0.001, 1, 1000])
def test_chances_are_probabilities_whatever_the_noise(epsilon):
    tracks = tracks_of([[0, 1, 2, 10], [63], [5, 5, 5]] * 20)
    for seed in range(4):
        model = (
            sdp.Trajectories(longest=5, ends=1, systems=(1, 3))
            .release(tracks, DOMAIN, epsilon=epsilon, noise=sdp.SeededNoise(seed))
            .estimate
        )
        chain = model.chain
        assert (chain.chances >= 0).all()
        assert chain.chances.sum(axis=1) == pytest.approx(1)
        assert (chain.following >= 0).all()
        assert (chain.following < model.system.n_cells).all()
        assert model.lengths.lengths_of_kinds.sum(axis=1) == pytest.approx(1)
        assert model.extents.kinds_of_lengths.sum(axis=0) == pytest.approx(1)
        assert (model.extents.kinds_of_lengths > 0).all()


def test_pairs_too_far_for_the_longest_way_are_left_out():
    tracks = tracks_of([[0, 63]] * 50 + [[0, 1]] * 50)
    mechanism = sdp.Trajectories(longest=2, ends=3, systems=(3,))
    model = mechanism.release(tracks, DOMAIN, epsilon=1000, noise=sdp.SeededNoise(1)).estimate
    origins, destinations, least, flows = model.reachable
    assert flows[(origins == 0) & (destinations == 1)] == pytest.approx(50, abs=0.1)
    assert not ((origins == 0) & (destinations == 63)).any()
    assert model.blocks.distances(origins, destinations).max() == least.max() == 2
    assert flows.sum() == pytest.approx(50, abs=1)
