"""How likely are moves, and how do moves depend on the move before? From released weights of cells, moves and turns.

What is expected of a move between two cells grows with the weights of both; noisy weights of moves say how far that is
right (`likely`). Turns by 0 to 180 degrees are counted for all cells together. A chain without memory turns as well,
since the moves that are there differ from cell to cell; so the factors by which a turn makes a move likelier are fitted
until the chain, with them, turns as the trajectories do. Factors of rare turns are drawn towards 1.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.estimates.trajectories.likely import likely
from spatialdp.space.paths.systems import TURNS, turns

__all__ = ["likely_moves", "turn_factors"]

_ROUNDS = 8
_LEAST = 1e-3  # of the largest factor
_DRAWN = 0.01  # of all turns, added to those seen and to those expected
_KINDS = np.array([0, 2, 1, 2, 0, 2, 1, 2])  # of directions: east and west, north and south, diagonal
_TURN = turns(np.arange(8)[:, None], np.arange(8))


def likely_moves(cells: Floats, noisy: Floats, scale: float, following: Integers, possible: Booleans) -> Floats:
    """Return the weight that each possible move from each cell is likely to have, (cells, 8).

    Parameters
    ----------
    cells : (cells,) array
        Weights of cells, not negative.
    noisy : (cells, 8) array
        Noisy weights of moves.
    scale : float
        Of the noise in each.
    following : (cells, 8) integer array
        Where each move leads to.
    possible : (cells, 8) bool array
    """
    expected = np.sqrt(cells[:, None] * cells[following]) * possible
    for kind in range(3):
        alike = kind == _KINDS
        total = max(float(noisy[:, alike][possible[:, alike]].sum()), scale)
        expected[:, alike] *= total / max(float(expected[:, alike].sum()), 1e-12)
    moves = np.zeros(noisy.shape)
    moves[possible] = likely(expected[possible], noisy[possible], scale)
    return moves


def turn_factors(moves: Floats, following: Integers, habits: Floats) -> Floats:
    """Return by which factor a turn of each kind, from straight on to back, makes a move likelier; at most 1.

    Parameters
    ----------
    moves : (cells, 8) array
        Weights of moves.
    following : (cells, 8) integer array
    habits : (5,) array
        Noisy weights of turns.
    """
    arriving = np.zeros(moves.shape)
    direction = np.broadcast_to(np.arange(8), moves.shape)
    np.add.at(arriving, (following.ravel(), direction.ravel()), moves.ravel())
    leaving = moves.sum(axis=1)
    passed = np.flatnonzero((leaving > 0) & (arriving.sum(axis=1) > 0))
    arriving, chances = arriving[passed], moves[passed] / leaving[passed, None]
    factors, seen = np.ones(TURNS), np.maximum(habits, 0.0)
    seen = seen / max(seen.sum(), 1e-300) + _DRAWN
    for _ in range(_ROUNDS if passed.size else 0):
        weights = factors[_TURN]  # by the move before, and the move
        sums = chances @ weights.T
        pairs = weights * ((arriving / np.where(sums > 0, sums, 1.0)).T @ chances)
        turned = np.bincount(_TURN.ravel(), pairs.ravel(), TURNS)
        factors = factors * seen / (turned / max(turned.sum(), 1e-300) + _DRAWN)
        factors = np.maximum(factors / factors.max(), _LEAST)
    return factors
