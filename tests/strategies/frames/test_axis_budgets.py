"""Balanced shares are where each level gets what it causes, and never worse than even ones or cells alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from spatialdp.strategies.frames.axis_budgets import _REMEMBERED, _balanced, balanced_shares, mean_variance
from spatialdp.transforms.tree_axis import TreeAxis
from spatialdp.trees.shape import TreeShape
from tests.helpers.tables import random_shape


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_balanced_shares_are_a_fixed_point_and_no_worse_than_others(seed, power):
    shape = random_shape(np.random.default_rng(seed), most=9)
    levels = shape.height + 1
    counted = (True,) * levels
    shares = balanced_shares(shape, counted, power)
    wanted = np.ones(levels, dtype=bool)
    best = mean_variance(TreeAxis(shape, shares, power), wanted)
    for other in ((Fraction(1, levels),) * levels, (Fraction(0),) * (levels - 1) + (Fraction(1),)):
        assert best <= mean_variance(TreeAxis(shape, other, power), wanted) * (1 + 1e-6)
    rng = np.random.default_rng(seed)
    for _ in range(30):
        moved = np.abs(np.array([float(share) for share in shares]) * (1 + 0.05 * rng.normal(size=levels)))
        whole = np.maximum(np.rint(moved * 2**20), 1).astype(int)
        nearby = tuple(Fraction(int(each), int(whole.sum())) for each in whole)
        assert best <= mean_variance(TreeAxis(shape, nearby, power), wanted) * (1 + 1e-3)


def test_levels_that_do_not_pay_are_dropped():
    chain = random_shape(np.random.default_rng(1), height=1, most=3)
    shares = balanced_shares(chain, (False, True), 2)
    assert shares == (0, 1)


def test_large_fan_outs_have_about_even_shares():
    shape = TreeShape([0, 1, 51, 2551], [50, *[50] * 50, *[0] * 2500])
    shares = [float(share) for share in balanced_shares(shape, (True, True, True), 2)]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.02)
    assert sum(balanced_shares(shape, (True, True, True), 1)) == 1


@pytest.mark.parametrize("leaves", [3, _REMEMBERED])
def test_small_axes_are_remembered_and_large_ones_have_the_same_shares(leaves):
    shape, counted = TreeShape([0, 1, 1 + leaves], [leaves, *[0] * leaves]), (True, True)
    shares = balanced_shares(shape, counted, 2)
    assert shares == _balanced(shape, counted, 2, None)
    copy = TreeShape(shape.offsets.copy(), shape.n_children.copy())
    assert (balanced_shares(copy, counted, 2) is shares) is (leaves < _REMEMBERED)


def test_other_levels_noise_or_spans_have_shares_of_their_own():
    shape = TreeShape([0, 1, 21, 421], [20, *[20] * 20, *[0] * 400])
    spans = np.array([[0] + [2] * 20 + [3] * 400, [1] + [2] * 20 + [3] * 400])  # the root stands for two levels
    asked = [((True, True, True), 2, None), ((True, False, True), 2, None), ((True, True, True), 1, None)]
    asked += [((True, True, True, True), 2, spans)]
    found = [balanced_shares(shape, *each) for each in asked]
    assert len(set(found)) == len(asked)
    assert found == [_balanced(shape, *each) for each in asked]
