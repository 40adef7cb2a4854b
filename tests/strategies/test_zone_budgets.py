"""Budgets of zones: causes against dense algebra, the fixed point, and budgets that are known from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp.privacy.noise.laws import Law
from spatialdp.space.zones.chains import merged
from spatialdp.strategies.levels import BlockQueries, best_budget
from spatialdp.strategies.zone_budgets import ZoneObjective, best_shares, importance_of_levels
from spatialdp.trees.shape import TreeShape
from tests.helpers.trees import complete_tree, random_tree
from tests.reference.dense_trees import dense_map

seeds = st.integers(0, 2**32 - 1)
LAWS = [Law.LAPLACE, Law.GAUSSIAN]


def objective(shape, law, importance=None, scales=None, known=None):
    chains = merged(TreeShape(shape.offsets, shape.n_children))
    if importance is None:
        importance = importance_of_levels(shape, chains.place, chains.shape.n_nodes)
    scales = np.ones(len(chains.spans)) if scales is None else scales
    return chains, ZoneObjective(chains.shape, chains.group, chains.spans, importance, law, scales, known)


def dense(chains, law, importance, scales, shares, known=None):
    """f and the causes of the levels, from the matrix of the fit: Var(x) = K² s."""
    known = np.zeros(chains.shape.n_nodes, dtype=bool) if known is None else known
    costs = np.array([shares[first : last + 1].sum() for first, last in chains.spans])
    with np.errstate(divide="ignore"):
        by_group = np.where(costs > 1e-15, scales / costs ** (1 if law is Law.GAUSSIAN else 2), np.inf)
    s = np.where(known, 1e-12, by_group[chains.group])
    measured = np.where(np.isinf(s) | known, 0, s)
    causes = importance @ dense_map(chains.shape, s) ** 2 * measured
    levels = np.zeros(len(shares))
    for group, (first, last) in enumerate(chains.spans):
        if costs[group] > 1e-15:
            part = causes[chains.group == group].sum() / costs[group]
            levels[first : last + 1] += part * shares[first : last + 1]
    return causes.sum(), levels


@pytest.mark.parametrize("law", LAWS)
@given(seed=seeds)
@settings(max_examples=60, deadline=None)
def test_causes_are_those_of_dense_least_squares(law, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, most=3)
    shares = rng.random(tree.height + 1)
    if tree.height > 1 and rng.random() < 0.4:
        shares[rng.integers(0, tree.height)] = 0
    shares /= shares.sum()
    chains = merged(tree)
    importance = rng.integers(0, 3, chains.shape.n_nodes).astype(float)
    scales = rng.uniform(0.5, 2, len(chains.spans))
    value, causes = objective(tree, law, importance, scales)[1].at(shares)
    expected, levels = dense(chains, law, importance, scales, shares)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert causes == pytest.approx(levels, rel=1e-6, abs=1e-9 * max(expected, 1))
    assert causes.sum() == pytest.approx(value, rel=1e-9, abs=1e-12)  # Σ C = f


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_known_totals_cause_nothing(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, most=3)
    chains = merged(tree)
    if chains.shape.height == 0:
        return
    known = chains.shape.depth == 1
    shares = np.full(tree.height + 1, 1 / (tree.height + 1))
    importance = rng.random(chains.shape.n_nodes)
    scales = np.ones(len(chains.spans))
    value, causes = objective(tree, Law.LAPLACE, importance, scales, known)[1].at(shares)
    expected, levels = dense(chains, Law.LAPLACE, importance, scales, shares, known)
    assert value == pytest.approx(expected, rel=1e-5, abs=1e-9)
    assert causes == pytest.approx(levels, rel=1e-4, abs=1e-6 * max(expected, 1))


@pytest.mark.parametrize("law", LAWS)
@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_a_level_gets_what_it_causes_and_no_rule_is_better(law, seed):
    rng = np.random.default_rng(seed)
    _, zones = objective(random_tree(rng, most=6), law)
    best = np.array(best_shares(zones))
    assert best.sum() == pytest.approx(1, abs=1e-6)
    best /= best.sum()  # they are rounded, and divided in proportion
    value, causes = zones.at(best)
    paid = best > 0
    assert causes[paid] / value == pytest.approx(best[paid], abs=1e-6)
    levels = np.arange(best.size)
    for ratio in (1, 2 ** (1 / 3), 2**0.5, 2):
        other = ratio**levels / (ratio**levels).sum()
        assert value <= zones.at(other)[0] * (1 + 1e-9)
    assert value <= zones.at([0.0] * (best.size - 1) + [1.0])[0] * (1 + 1e-9)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("fan_out", "height"), [(4, 3), (16, 2), (64, 1)])
def test_complete_trees_get_the_budgets_of_hierarchies(law, fan_out, height):
    """`best_budget` knows the mean variance of cells on whole blocks in closed form."""
    tree = complete_tree(fan_out, height)
    side = round(fan_out**0.5)
    _, zones = objective(tree, law, tree.leaves / tree.n_leaves)
    sides = tuple(side**k for k in range(height + 1))
    known = best_budget((side**height,) * 2, sides, law, BlockQueries((1, 1)))
    shares = dict(zip(known.sides, known.shares, strict=True))
    expected = [shares.get(each, 0) for each in sides[::-1]]
    # Where cells alone are best, the closed form with Gaussian noise is still on its way there after 400 steps.
    assert best_shares(zones) == pytest.approx(expected, abs=1e-3 if law is Law.GAUSSIAN else 5e-5)
    assert zones.at(best_shares(zones))[0] <= zones.at(expected)[0] * (1 + 1e-6)


def test_wide_families_get_the_closed_form():
    """With large fan-outs a fit hardly helps: shares are as the cube, or square, root of the importance."""
    tree = complete_tree(300, 2)
    importance = np.where(tree.depth == 0, 1.0, np.where(tree.depth == 1, 8 / 300, 27 / 90000))
    for law, power in ((Law.LAPLACE, 1 / 3), (Law.GAUSSIAN, 1 / 2)):
        best = best_shares(objective(tree, law, importance)[1])
        expected = np.array([1, 8, 27]) ** power
        assert best == pytest.approx(expected / expected.sum(), abs=0.01)


def test_alike_leaves_are_one_but_count_as_many():
    shape = TreeShape([0, 1, 4, 9], [3, 3, 0, 2, 0, 0, 0, 0, 0])
    _, zones = objective(shape, Law.LAPLACE)
    assert zones.shape.n_nodes == 6
    assert zones.copies.tolist() == [1, 1, 1, 1, 3, 2]
    with_each = np.random.default_rng(1).uniform(0.999, 1.001, 9)  # no two leaves are alike
    _, apart = objective(shape, Law.LAPLACE, importance_of_levels(shape, np.arange(9), 9) * with_each)
    assert apart.shape.n_nodes == 9
    assert zones.at([0.2, 0.3, 0.5])[0] == pytest.approx(apart.at([0.2, 0.3, 0.5])[0], rel=2e-3)


def test_levels_that_are_not_worth_it_are_dropped():
    """Middle zones with hardly more than one part each are as good as measured with their parts."""
    families = [30, *[1] * 15, *[2] * 15]
    shape = TreeShape([0, 1, 31, 76], np.concatenate([[30], families[1:], np.zeros(45)]).astype(int))
    best = best_shares(objective(shape, Law.LAPLACE)[1])
    assert best[1] == 0
    assert best[2] > 0.5
