"""Moves and turns: exact without noise, and a chain with the factors turns as often as it should."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.estimates.trajectories.turning import likely_moves, turn_factors
from spatialdp.space.paths.systems import System, turns

SYSTEM = System(3)
FOLLOWING = SYSTEM.neighbours()
POSSIBLE = FOLLOWING >= 0
HERE = np.where(POSSIBLE, FOLLOWING, np.arange(64)[:, None])
TURN = turns(np.arange(8)[:, None], np.arange(8))


def some_moves(seed=1):
    return np.random.default_rng(seed).gamma(0.7, 5, (64, 8)) * POSSIBLE


def turned(moves, factors):
    """How much of the chain with the factors turns by each kind, by a plain loop over moves."""
    seen = np.zeros(5)
    for cell, first in zip(*np.nonzero(moves), strict=True):
        then = HERE[cell, first]
        chances = moves[then] * factors[TURN[first]]
        if chances.sum() > 0:
            np.add.at(seen, TURN[first], moves[cell, first] * chances / chances.sum())
    return seen / seen.sum()


@pytest.mark.parametrize("wanted", [[0.2, 0.2, 0.2, 0.2, 0.2], [0.5, 0.1, 0.25, 0.05, 0.1], [0.1, 0.1, 0.2, 0.2, 0.4]])
def test_a_chain_with_the_factors_turns_as_it_should(wanted):
    moves = some_moves()
    factors = turn_factors(moves, HERE, 300 * np.array(wanted))
    assert factors.max() == 1
    assert turned(moves, factors) == pytest.approx(np.array(wanted), abs=0.01)
    assert np.abs(turned(moves, np.ones(5)) - wanted).max() > 0.05


def test_turns_as_without_memory_need_no_factors():
    moves = some_moves()
    assert turn_factors(moves, HERE, 500 * turned(moves, np.ones(5))) == pytest.approx(np.ones(5), abs=0.01)


@pytest.mark.parametrize("habits", [[0, 0, 0, 0, 0], [-5, -5, -5, -5, -5], [1e45, 0, 0, 0, -1e45]])
def test_factors_are_numbers_whatever_is_released(habits):
    for moves in (some_moves(), np.zeros((64, 8))):
        factors = turn_factors(moves, HERE, np.array(habits, dtype=float))
        assert np.isfinite(factors).all()
        assert 0 < factors.min() <= factors.max() == 1


def test_moves_are_as_released_without_noise_and_nothing_where_impossible():
    moves, cells = some_moves(), np.random.default_rng(2).gamma(1, 10, 64)
    noisy = np.where(POSSIBLE, moves, 99.0)
    found = likely_moves(cells, noisy, 1e-4, HERE, POSSIBLE)
    assert found == pytest.approx(moves, abs=0.01)
    assert not found[~POSSIBLE].any()


def test_noisy_moves_come_nearer_by_the_weights_of_cells():
    rng = np.random.default_rng(3)
    cells = rng.gamma(1, 10, 64)
    moves = np.sqrt(cells[:, None] * cells[HERE]) * rng.gamma(5, 0.2, (64, 8)) * POSSIBLE
    noisy = moves + rng.laplace(0, 6, (64, 8))
    found = likely_moves(cells, noisy, 6.0, HERE, POSSIBLE)
    threshold = np.where(noisy >= 12, noisy, 0.0) * POSSIBLE
    assert np.abs(found - moves).sum() < 0.6 * np.abs(threshold - moves).sum()
