"""Allowances of every kind of estimate."""

from __future__ import annotations

import numpy as np

import spatialdp as sdp
from spatialdp.estimates.unevenness.allowance import Allowance

UNIT = sdp.Domain((0, 0, 1, 1))


def test_only_trees_of_unequal_leaves_shift_answers():
    xy = np.random.default_rng(1).random((5000, 2)) ** 3
    boxes = UNIT.boxes([(0.1, 0.1, 0.63, 0.55), (0, 0, 0.3, 0.9)])
    for mechanism, shifts in ((sdp.Flat((16, 16)), False), (sdp.Quadtree(4), False), (sdp.KdTree(4), True)):
        estimate = mechanism.release(xy, UNIT, epsilon=10).estimate
        assert estimate.extrapolates is shifts
        assert np.any(estimate.allowance(boxes).shift) == shifts


def test_an_allowance_does_not_shift_unless_told():
    assert Allowance(np.ones(3)).shift == 0
