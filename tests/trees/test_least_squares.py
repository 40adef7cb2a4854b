"""Least squares on trees against dense linear algebra, and the variances of what they give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from spatialdp.errors import ParameterError
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.trees.adjust import non_negative, round_consistent
from spatialdp.trees.least_squares import subtree_variances, three_pass, two_pass
from spatialdp.trees.shape import level_sums, sums
from spatialdp.trees.tree_noise import TreeNoise
from tests.helpers.fits import FAN_OUTS, assert_adds_up, per_node, random_fit, random_variances, seeds
from tests.helpers.trees import complete_tree, random_tree
from tests.reference.dense_trees import complete_up_variances, dense_map, query_variance


@pytest.mark.parametrize(("fan_out", "height"), FAN_OUTS)
def test_three_pass_equals_two_pass_equals_dense_least_squares(fan_out, height):
    rng = np.random.default_rng(fan_out)
    tree = complete_tree(fan_out, height)
    for _ in range(5):
        variances = np.exp(rng.uniform(-2, 3, height + 1))
        measured = rng.normal(0, 100, tree.n_nodes)
        levels = [measured[tree.level(d)] for d in range(height + 1)]
        three = np.concatenate(three_pass(levels, 1 / variances, fan_out))
        two = two_pass(tree, measured, variances).estimates
        dense = dense_map(tree, per_node(tree, variances)) @ measured
        np.testing.assert_allclose(two, dense, atol=1e-9)
        np.testing.assert_allclose(three, dense, atol=1e-9)
        assert_adds_up(tree, three)


@pytest.mark.parametrize(("fan_out", "height"), FAN_OUTS)
def test_a_wrong_weight_gives_another_estimate(fan_out, height):
    """The oracle can tell: level order reversed, or standard deviations for variances."""
    rng = np.random.default_rng(fan_out)
    tree = complete_tree(fan_out, height)
    variances = np.geomspace(1, 50, height + 1)
    measured = rng.normal(0, 100, tree.n_nodes)
    levels = [measured[tree.level(d)] for d in range(height + 1)]
    dense = dense_map(tree, per_node(tree, variances)) @ measured
    for wrong in (variances[::-1], np.sqrt(variances), np.append(variances[:-1], 1.1 * variances[-1])):
        assert np.abs(np.concatenate(three_pass(levels, 1 / wrong, fan_out)) - dense).max() > 1e-3
        assert np.abs(two_pass(tree, measured, wrong).estimates - dense).max() > 1e-3


@pytest.mark.parametrize(("fan_out", "height"), FAN_OUTS)
def test_unmeasured_levels_are_not_read(fan_out, height):
    rng = np.random.default_rng(fan_out)
    tree = complete_tree(fan_out, height)
    variances = np.ones(height + 1)
    variances[[0, height - 1]] = np.inf
    measured = rng.normal(0, 100, tree.n_nodes)
    measured[np.isinf(per_node(tree, variances))] = np.nan
    levels = [measured[tree.level(d)] for d in range(height + 1)]
    two = two_pass(tree, measured, variances).estimates
    np.testing.assert_allclose(np.concatenate(three_pass(levels, 1 / variances, fan_out)), two, atol=1e-9)
    np.testing.assert_allclose(dense_map(tree, per_node(tree, variances)) @ np.nan_to_num(measured), two, atol=1e-9)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_irregular_trees_equal_dense_least_squares(seed):
    """Leaves at any depth, single children, unmeasured inner nodes, a variance for each node."""
    _, tree, measured, fit = random_fit(seed)
    np.testing.assert_allclose(fit.estimates, dense_map(tree, fit.variances) @ measured, atol=1e-7)
    assert_adds_up(tree, fit.estimates)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_unmeasured_leaves_share_the_excess_by_area(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, height=3)
    variances = random_variances(rng, tree)
    variances[tree.leaves & (rng.random(tree.n_nodes) < 0.4)] = np.inf
    variances[0] = 2.0
    measured = rng.normal(0, 10, tree.n_nodes)
    fit = two_pass(tree, measured, variances)
    np.testing.assert_allclose(fit.estimates, dense_map(tree, variances) @ measured, atol=1e-6)
    assert_adds_up(tree, fit.estimates)


def test_unmeasured_leaves_of_unequal_area():
    boxes = [[0, 0, 8, 2], [0, 0, 2, 2], [2, 0, 8, 2]]
    tree = Tree([0, 1, 3], [2, 0, 0], boxes)
    assert two_pass(tree, [8.0, 0, 0], [1.0, np.inf]).estimates.tolist() == [8.0, 2.0, 6.0]


def test_leaf_without_measured_ancestor_is_an_error():
    tree = quadtree(1)
    with pytest.raises(ParameterError, match="neither is any node above"):
        two_pass(tree, np.zeros(5), [np.inf, 1, 1, 1, np.inf])
    two_pass(tree, np.zeros(5), [np.inf, 1, 1, 1, 1])


def test_wrong_numbers_are_errors():
    tree = quadtree(1)
    for bad in (np.nan, np.inf):
        with pytest.raises(ParameterError, match="not finite"):
            two_pass(tree, [1, 1, bad, 1, 1], [1.0, 1.0])
    for variances in ([1.0, -1.0], [1.0, np.nan], [1.0, 1.0, 1.0]):
        with pytest.raises(ParameterError, match="variances"):
            two_pass(tree, np.zeros(5), variances)
    with pytest.raises(ParameterError, match="measured has shape"):
        two_pass(tree, np.zeros(4), [1.0, 1.0])
    with pytest.raises(ParameterError, match="sizes"):
        three_pass([[1.0], [1.0, 2.0]], [1, 1], 4)
    for weights in ([1.0, 0.0], [-1.0, 1.0], [np.inf, 1.0], [np.nan, 1.0]):
        with pytest.raises(ParameterError, match="weights"):
            three_pass([[1.0], [1.0, 2.0]], weights, 2)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_exactly_known_nodes_are_the_limit_of_small_variances(seed):
    """Non-contradictory exact values keep their values; the rest is least squares given them."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    truth = sums(tree, rng.normal(0, 10, tree.n_leaves))
    variances = random_variances(rng, tree)
    exact = rng.random(tree.n_nodes) < 0.2
    measured = np.where(exact, truth, truth + rng.normal(0, 3, tree.n_nodes))
    estimates = two_pass(tree, measured, np.where(exact, 0.0, variances)).estimates
    limit = two_pass(tree, measured, np.where(exact, 1e-11, variances)).estimates
    np.testing.assert_allclose(estimates, limit, atol=1e-5)
    np.testing.assert_allclose(estimates[exact], truth[exact], atol=1e-9)
    assert_adds_up(tree, estimates)


def test_free_total_is_kept():
    tree = quadtree(3)
    rng = np.random.default_rng(1)
    measured = rng.normal(0, 10, tree.n_nodes)
    fit = two_pass(tree, measured, [0.0, 1.0, 2.0, 3.0])
    assert fit.estimates[0] == measured[0]
    assert query_variance(tree, fit, np.ones(64)) == pytest.approx(0, abs=1e-15)
    assert_adds_up(tree, fit.estimates)


def test_upper_one_of_contradictory_exact_values_wins():
    fit = two_pass(quadtree(1), [8.0, 1, 1, 1, 1], [0.0, 0.0])
    assert fit.estimates.tolist() == [8.0, 2.0, 2.0, 2.0, 2.0]


def test_single_child_and_parent_merge_by_inverse_variance():
    tree = Tree([0, 1, 2], [1, 0], [[0, 0, 2, 2]] * 2)
    fit = two_pass(tree, [10.0, 4.0], [1.0, 2.0])
    np.testing.assert_allclose(fit.estimates, [8.0, 8.0])
    assert query_variance(tree, fit, [1.0]) == pytest.approx(2 / 3)


def test_a_lone_root_is_its_measurement():
    tree = quadtree(0)
    fit = two_pass(tree, [3.0], [2.0])
    assert fit.estimates.tolist() == [3.0]
    assert query_variance(tree, fit, [[0.5]]).tolist() == [0.5]
    assert non_negative(tree, [-3.0], [2.0]).tolist() == [0.0]
    assert round_consistent(tree, [2.5]).tolist() == [2]


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_fit_is_idempotent_linear_and_unbiased(seed):
    rng, tree, measured, fit = random_fit(seed)
    again = two_pass(tree, fit.estimates, fit.variances).estimates
    np.testing.assert_allclose(again, fit.estimates, atol=1e-9)
    other = rng.normal(0, 10, tree.n_nodes)
    both = two_pass(tree, 2 * measured - 3 * other, fit.variances).estimates
    np.testing.assert_allclose(both, 2 * fit.estimates - 3 * two_pass(tree, other, fit.variances).estimates, atol=1e-8)
    truth = sums(tree, rng.normal(0, 10, tree.n_leaves))
    np.testing.assert_allclose(two_pass(tree, truth, fit.variances).estimates, truth, atol=1e-9)


def test_masked_quadtree_equals_dense_least_squares():
    rng = np.random.default_rng(5)
    tree = quadtree(3, mask=rng.random((8, 8)) < 0.4)
    measured = rng.normal(0, 10, tree.n_nodes)
    fit = two_pass(tree, measured, [4.0, 3.0, 2.0, 1.0])
    dense = dense_map(tree, per_node(tree, [4.0, 3.0, 2.0, 1.0])) @ measured
    np.testing.assert_allclose(fit.estimates, dense, atol=1e-9)


def test_variances_by_level_and_by_node_agree():
    tree = quadtree(3)
    measured = np.random.default_rng(2).normal(0, 10, tree.n_nodes)
    level = np.array([1.0, np.inf, 2.0, 3.0])
    by_level, by_node = two_pass(tree, measured, level), two_pass(tree, measured, per_node(tree, level))
    for name in ("estimates", "up_variance", "children_variance"):
        np.testing.assert_array_equal(getattr(by_level, name), getattr(by_node, name))


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_weights_and_shares_are_those_of_the_formulas(seed):
    """w = V / s, and a child's share is V / VS."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    noise = subtree_variances(tree, rng.uniform(0.5, 4.0, tree.n_nodes))
    for d, (inner, weights, shares) in enumerate(zip(tree.inner, noise.weights, noise.child_shares, strict=True)):
        level, children = tree.levels[d], tree.levels[d + 1]
        np.testing.assert_allclose(weights, (noise.up_variance / noise.variances)[level][inner])
        below = tree.to_children(d, noise.children_variance[level])
        np.testing.assert_allclose(np.broadcast_to(shares, below.shape), noise.up_variance[children] / below)


def test_inputs_are_neither_changed_nor_frozen():
    tree = quadtree(2)
    measured, variances = np.ones(21), np.ones(21)
    fit = two_pass(tree, measured, variances)
    three_pass([measured[:1], measured[1:5]], [1.0, 1.0], 4)
    estimates = np.array(fit.estimates)
    estimates[[0, 1, 5]] -= 2
    before = estimates.copy()
    assert non_negative(tree, estimates, variances).min() == 0
    np.testing.assert_array_equal(estimates, before)
    assert np.all(measured == 1)
    assert np.all(variances == 1)
    measured[0] = variances[0] = 2
    with pytest.raises(ValueError, match="read-only"):
        fit.estimates[0] = 0


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_pruning_keeps_consistency(seed):
    rng, tree, _, fit = random_fit(seed)
    pruned, index = tree.prune(rng.random(tree.n_nodes) < 0.7)
    assert_adds_up(pruned, fit.estimates[index])


@pytest.mark.parametrize(("fan_out", "height"), FAN_OUTS)
def test_up_variances_have_the_closed_form(fan_out, height):
    """V_l = f^l / E_l with E_l = Σ_{j≤l} f^j / s_j, levels counted from the leaves."""
    variances = np.exp(np.random.default_rng(fan_out).uniform(-2, 3, height + 1))
    sizes = fan_out ** np.arange(height + 1.0)
    expected = (sizes / np.cumsum(sizes / variances[::-1]))[::-1]
    found = complete_up_variances(variances, fan_out)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    tree = complete_tree(fan_out, height)
    fit = two_pass(tree, np.zeros(tree.n_nodes), variances)
    np.testing.assert_allclose(fit.up_variance, per_node(tree, found), rtol=1e-12)
    np.testing.assert_allclose(
        fit.children_variance, fan_out * per_node(tree, np.append(found[1:], 0))[: tree.offsets[-2]]
    )


@pytest.mark.parametrize(("fan_out", "height"), FAN_OUTS)
def test_uniform_budget_reproduces_hay_weights(fan_out, height):
    """z_v = ((k^l - k^(l-1)) y + (k^(l-1) - 1) Σ z_c) / (k^l - 1), a leaf having l = 1."""
    levels = np.arange(height + 1.0)[::-1]
    found = complete_up_variances(np.ones(height + 1), fan_out)
    np.testing.assert_allclose(found, fan_out**levels * (fan_out - 1) / (fan_out ** (levels + 1) - 1))
    rng = np.random.default_rng(3)
    measured = [rng.normal(0, 9, fan_out**d) for d in range(height + 1)]
    z = measured[-1]
    for level in range(2, height + 2):
        k = float(fan_out)
        own, below = k**level - k ** (level - 1), k ** (level - 1) - 1
        z = (own * measured[height + 1 - level] + below * level_sums(z, [fan_out])[0]) / (k**level - 1)
    assert three_pass(measured, np.ones(height + 1), fan_out)[0][0] == pytest.approx(z[0], rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_variances_of_estimates_are_those_of_the_tree_noise(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    variances = rng.uniform(0.5, 50, tree.n_nodes)
    fit = two_pass(tree, rng.normal(size=tree.n_nodes), variances)
    expected = TreeNoise(tree, variances, np.zeros(tree.n_nodes)).fitted_variances()
    np.testing.assert_allclose(fit.estimate_variances(), expected, rtol=1e-9)
    by_level = two_pass(tree, np.zeros(tree.n_nodes), np.full(tree.height + 1, 2.0))
    alike = TreeNoise(tree, np.full(tree.n_nodes, 2.0), np.zeros(tree.n_nodes)).fitted_variances()
    np.testing.assert_allclose(by_level.estimate_variances(), alike, rtol=1e-9)
