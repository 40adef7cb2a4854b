"""Between which blocks do trajectories go? Noisy counts of pairs of ends, and what the chain of moves makes likely.

Most pairs of ends have fewer trajectories than their noise can tell. But cells tell where trajectories are, and moves,
followed for as many steps as trajectories have, tell where from each place they may arrive. So every pair has an
expectation: origins and destinations are likely to be as frequent as their weight of cells and their noisy sums say,
and pairs are as the chain joins them. Noisy counts of pairs say how far that is right (`likely`). This reads released
numbers alone.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.trajectories.likely import BELL, likely

__all__ = ["arrivals", "likely_flows"]

_ROUNDS = 6
_LEAST = 1e-6  # of all trajectories, between ends that the chain does not join
_AT_ONCE = 2**24  # chances of cells that are held at a time


def arrivals(
    following: Integers, chances: Floats, attraction: Floats, place_of: Integers, places: int, lengths: Floats
) -> Floats:
    """Return the share of the ways from each place that end in each place, (places, places).

    Parameters
    ----------
    following, chances : (cells, 9) arrays
        The chain: the cell that each move leads to, and its probability.
    attraction : (cells,) array
        How likely a way begins in a cell, within its place.
    place_of : (cells,) integer array
        The place that each cell lies in.
    places : int
    lengths : array
        The distribution of steps, from 0 on.

    Examples
    --------
    >>> following, chances = np.array([[1, 0], [1, 1]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> arrivals(following, chances, np.ones(2), np.array([0, 1]), 2, np.array([0.5, 0.5])).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    from scipy.sparse import csr_array

    cells = attraction.size
    rows = np.repeat(np.arange(cells), following.shape[1])
    onwards = csr_array((chances.ravel(), (following.ravel(), rows)), shape=(cells, cells))
    ends = csr_array((np.ones(cells), (place_of, np.arange(cells))), shape=(places, cells))
    weights = np.bincount(place_of, attraction, places)[place_of]
    begin = attraction / np.where(weights > 0, weights, 1.0)
    shares = np.empty((places, places))
    last = int(np.flatnonzero(lengths)[-1]) if lengths.any() else 0
    at_once = max(1, _AT_ONCE // cells)
    for low in range(0, places, at_once):
        origins = np.arange(low, min(low + at_once, places))
        now = np.where(place_of[:, None] == origins, begin[:, None], 0.0)
        ended = lengths[0] * now
        for steps in range(1, last + 1):
            now = onwards @ now
            ended += lengths[steps] * now
        shares[origins] = (ends @ ended).T
    return shares


def likely_flows(noisy: Floats, variance: float, total: float, weights: Floats, joined: Floats) -> Floats:
    """Return how many trajectories are likely to go from each place to each other, (places, places).

    Parameters
    ----------
    noisy : (places, places) array
        Noisy counts of pairs.
    variance : float
        Of the noise in each.
    total : float
        Trajectories in all.
    weights : (places,) array
        How much of the trajectories is in each place.
    joined : (places, places) array
        The share of the ways from each place that end in each.

    Examples
    --------
    >>> flows = likely_flows(np.array([[9.0, 1.0], [0.0, 9.0]]), 1e-6, 19.0, np.ones(2), np.eye(2))
    >>> flows.round().tolist()
    [[9.0, 1.0], [0.0, 9.0]]
    """
    if total <= 0 or not weights.sum() > 0:
        return np.zeros(noisy.shape)
    spread = np.sqrt(noisy.shape[0] * variance)
    margins = [likely(total * weights / weights.sum(), noisy.sum(axis=axis), spread, BELL) for axis in (1, 0)]
    expected = margins[0][:, None] * joined + _LEAST * total / noisy.size
    for _ in range(_ROUNDS):
        expected *= (margins[0] / np.maximum(expected.sum(axis=1), 1e-300))[:, None]
        expected *= margins[1] / np.maximum(expected.sum(axis=0), 1e-300)
    expected *= total / max(expected.sum(), 1e-300)
    return likely(expected.ravel(), noisy.ravel(), np.sqrt(variance / 2)).reshape(noisy.shape)
