"""Private medians of one node, alone or many times; small data sets and their neighbours."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.medians import Median, medians

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
CASES = {
    "plain": ([1, 3, 4, 9, 11], 0, 14),
    "ties": ([2, 2, 2, 7, 7], 0, 10),
    "empty": ([], 3, 9),
    "one record": ([4], 0, 8),
    "all equal": ([5] * 6, 0, 9),
    "all at the lower end": ([0] * 4, 0, 6),
    "all at the upper end": ([5] * 4, 0, 6),
    "negative range": ([-8, -3], -9, -1),
}


def one(values, low, high, noise, epsilon=Fraction(1), neighbours=ADD_REMOVE, method=Median.EXPONENTIAL):
    values = np.sort(np.asarray(values, dtype=np.int64))
    return int(
        medians(
            values, [0, values.size], [low], [high], method=method, epsilon=epsilon, neighbours=neighbours, noise=noise
        )[0]
    )


def many(values, low, high, times, noise, **options):
    """The same node `times` times in one call."""
    values = np.sort(np.asarray(values, dtype=np.int64))
    starts = np.arange(times + 1) * values.size
    return medians(np.tile(values, times), starts, np.full(times, low), np.full(times, high), noise=noise, **options)


def random_data(rng, most=7, width=12):
    """Values, with many ties now and then, and a range."""
    high = int(rng.integers(2, width))
    values = rng.integers(0, high, rng.integers(0, most))
    return ([int(values[0])] * len(values) if len(values) and rng.random() < 0.3 else values.tolist()), high


def removed(values, rng):
    values = list(values)
    values.pop(rng.integers(len(values)))
    return values


def neighbouring(rng, relation):
    """Two neighbouring data sets of one node [0, high)."""
    values, high = random_data(rng)
    values = [*values, int(rng.choice([0, high - 1, rng.integers(high)]))]
    other = removed(values, rng)
    if relation is REPLACE:
        other = [*other, int(rng.choice([0, high - 1]))]
    return values, other, high
