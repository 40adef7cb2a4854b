"""Published methods on records in a town."""

from __future__ import annotations

import numpy as np

import spatialdp as sdp
from spatialdp.evaluation.peers import AdaptiveGrid, PrivTree, UniformGrid

UNIT = sdp.Domain((0, 0, 1, 1))
TOWN = np.clip(np.random.default_rng(0).normal((0.3, 0.6), 0.05, (20_000, 2)), 0, 1)
SHAPE = (128, 128)
TREES = [UniformGrid(SHAPE), AdaptiveGrid(SHAPE), PrivTree(SHAPE)]


def released(mechanism, epsilon=1.0, seed=1, xy=TOWN):
    return mechanism.release(xy, UNIT, epsilon=epsilon, noise=sdp.SeededNoise(seed))
