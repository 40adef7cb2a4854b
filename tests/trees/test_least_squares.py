"""Least squares on trees against dense linear algebra; variances; non-negative and whole numbers."""

from __future__ import annotations

import ast
import importlib
import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from spatialdp.errors import ParameterError
from spatialdp.trees import adjust
from spatialdp.trees.adjust import non_negative, round_consistent
from spatialdp.trees.least_squares import Fit, three_pass, two_pass
from spatialdp.trees.quadtree import morton_order, quadtree
from spatialdp.trees.tree import Tree, level_sums, sums
from tests.helpers.trees import complete_tree, dense_membership, random_tree
from tests.reference.dense_trees import (
    box_moments,
    closed_form_variance,
    complete_up_variances,
    query_coefficients,
    query_variance,
)

FAN_OUTS = [(2, 5), (3, 4), (4, 3), (9, 2)]
seeds = st.integers(0, 2**32 - 1)


def dense_map(tree: Tree, variances: np.ndarray) -> np.ndarray:
    """The matrix that takes measurements to the estimates of all nodes.

    Weighted least squares; among several minimisers, the one with the least Σ x² / area over the leaves.
    """
    members = dense_membership(tree)
    xlo, ylo, xhi, yhi = tree.boxes[tree.leaves].T.astype(float)
    root_area = np.sqrt((xhi - xlo) * (yhi - ylo) / 2.0**60)
    root_weight = np.where(np.isinf(variances), 0.0, 1 / np.sqrt(variances))
    design = root_weight[:, None] * members * root_area
    return members @ (root_area[:, None] * np.linalg.pinv(design, rcond=1e-11)) * root_weight


def random_variances(rng: np.random.Generator, tree: Tree, *, unmeasured: float = 0.3) -> np.ndarray:
    """Some inner nodes unmeasured, all leaves measured."""
    variances = np.exp(rng.uniform(-2, 3, tree.n_nodes))
    variances[(rng.random(tree.n_nodes) < unmeasured) & ~tree.leaves] = np.inf
    return variances


def per_node(tree: Tree, level_values: np.ndarray) -> np.ndarray:
    return np.asarray(level_values)[tree.depth]


def assert_adds_up(tree: Tree, values: np.ndarray, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(values, sums(tree, values[tree.leaves]), rtol=1e-12, atol=atol)


def random_fit(seed: int) -> tuple[np.random.Generator, Tree, np.ndarray, Fit]:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    measured = rng.normal(0, 10, tree.n_nodes)
    return rng, tree, measured, two_pass(tree, measured, random_variances(rng, tree))


# --- Least squares ---


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


# --- Variances ---


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


def test_up_variances_refuse_an_unmeasured_lowest_level():
    for bad in ([1.0, np.inf], [], [-1.0, 1.0], [np.nan, 1.0]):
        with pytest.raises(ParameterError, match="variances are"):
            complete_up_variances(bad, 4)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_box_variance_equals_dense_quadratic_form(seed):
    rng, tree, _, fit = random_fit(seed)
    coverage = rng.random((4, tree.n_leaves))
    coverage[0] = 1
    rows = coverage @ dense_map(tree, fit.variances)[tree.leaves]
    expected = rows**2 @ np.where(np.isinf(fit.variances), 0, fit.variances)
    found = query_variance(tree, fit, coverage)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_allclose(found[0], fit.up_variance[0], rtol=1e-9)
    np.testing.assert_allclose(query_variance(tree, fit, coverage[1]), found[1])


@given(seeds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_coefficients_are_the_estimator(seed, unmeasured_leaves):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, height=3)
    variances = random_variances(rng, tree)
    variances[0] = rng.choice([0.0, 2.0])
    if unmeasured_leaves:
        variances[tree.leaves & (rng.random(tree.n_nodes) < 0.4)] = np.inf
    measured = rng.normal(0, 10, tree.n_nodes)
    fit = two_pass(tree, measured, variances)
    coverage = rng.random((3, tree.n_leaves))
    coefficients = query_coefficients(tree, fit, coverage)
    assert np.all(coefficients[:, np.isinf(variances)] == 0)
    np.testing.assert_allclose(coefficients @ measured, coverage @ fit.estimates[tree.leaves], atol=1e-9)
    finite = np.where(np.isinf(variances), 0, variances)
    np.testing.assert_allclose(query_variance(tree, fit, coverage), coefficients**2 @ finite, rtol=1e-9, atol=1e-12)


def test_kurtosis_of_one_and_of_many_measurements():
    tree = quadtree(1)
    fit = two_pass(tree, np.zeros(5), [np.inf, 2.0])
    variance, kurtosis = box_moments(tree, fit, [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], 3.0)
    np.testing.assert_allclose(variance, [2, 8, 0])
    np.testing.assert_allclose(kurtosis, [3, 3 / 4, 0])
    np.testing.assert_allclose(box_moments(tree, fit, np.ones(4))[1], 0)


def test_kurtosis_by_level_and_by_node_agree():
    tree = quadtree(2)
    fit = two_pass(tree, np.zeros(21), [1.0, 2.0, 3.0])
    coverage = np.random.default_rng(0).random((5, 16))
    by_level = np.array([3.0, 0.0, 5.0])
    expected = query_coefficients(tree, fit, coverage) ** 4 @ per_node(tree, by_level * np.array([1.0, 4.0, 9.0]))
    for kurtosis in (by_level, per_node(tree, by_level)):
        variance, found = box_moments(tree, fit, coverage, kurtosis)
        np.testing.assert_allclose(found * variance**2, expected)


def test_simulated_variance_and_kurtosis_match():
    """400 000 Laplace draws; 3 % of the variance is 6 standard errors, so a false alarm has odds below 1e-8."""
    rng = np.random.default_rng(11)
    tree = quadtree(1)
    scale = np.array([0.5, 1.0])
    fit = two_pass(tree, np.zeros(5), 2 * scale**2)
    coverage = np.array([1.0, 0.5, 0.0, 0.0])
    variance, kurtosis = box_moments(tree, fit, coverage, 3.0)
    noise = rng.laplace(size=(400_000, 5)) * per_node(tree, scale)
    answers = noise @ two_pass_matrix(tree, fit.variances).T[:, tree.leaves] @ coverage
    assert answers.var() == pytest.approx(variance, rel=0.03)
    assert (answers**4).mean() / answers.var() ** 2 - 3 == pytest.approx(kurtosis, abs=0.3)


def two_pass_matrix(tree: Tree, variances: np.ndarray) -> np.ndarray:
    columns = [two_pass(tree, unit, variances).estimates for unit in np.eye(tree.n_nodes)]
    return np.stack(columns, axis=1)


def test_leaf_coverage_of_the_wrong_length_is_an_error():
    tree = quadtree(1)
    fit = two_pass(tree, np.zeros(5), [1.0, 1.0])
    with pytest.raises(ParameterError, match="leaf_coverage"):
        query_variance(tree, fit, np.ones(5))


def interval_squares(low: float, high: float, base: int, height: int) -> np.ndarray:
    """|u_l|² for depths 0 .. height of an interval in units of leaf cells."""
    edges = np.arange(base**height + 1)
    coverage = np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, 1)
    return np.array([(coverage.reshape(base**d, -1).mean(axis=1) ** 2).sum() for d in range(height + 1)])


def quadtree_coverage(x: tuple[float, float], y: tuple[float, float], height: int) -> np.ndarray:
    edges = np.arange(2**height + 1)
    along = [np.clip(np.minimum(edges[1:], b) - np.maximum(edges[:-1], a), 0, 1) for a, b in (x, y)]
    return np.outer(along[1], along[0]).ravel()[morton_order(height)]


def test_closed_form_equals_general_box_variance():
    height, rng = 4, np.random.default_rng(9)
    tree = quadtree(height)
    variances = np.array([np.inf, 3.0, 1.0, 2.0, 0.5])
    fit = two_pass(tree, np.zeros(tree.n_nodes), variances)
    sides = np.sort(rng.uniform(0, 2**height, (20, 2, 2)), axis=-1)
    general = query_variance(tree, fit, np.stack([quadtree_coverage(x, y, height) for x, y in sides]))
    squares = np.stack([interval_squares(*x, 2, height) * interval_squares(*y, 2, height) for x, y in sides])
    up = complete_up_variances(variances, 4)
    np.testing.assert_allclose(closed_form_variance(up, squares, 4), general, rtol=1e-9)
    assert closed_form_variance(up, squares[0], 4) == pytest.approx(general[0])
    assert np.abs(closed_form_variance(up[::-1], squares, 4) / general - 1).max() > 0.1


def mean_squares_of_all_intervals(height: int) -> np.ndarray:
    """Mean |u_l|² over all non-empty intervals between the edges of 2^height cells, root first."""
    n = 2**height
    edges = np.arange(n + 1)
    low, high = (pair[np.triu_indices(n + 1, 1)] for pair in np.meshgrid(edges, edges, indexing="ij"))
    return np.array([mean_squares(low / 2 ** (height - d), high / 2 ** (height - d)) for d in range(height + 1)])


def mean_squares(low: np.ndarray, high: np.ndarray) -> float:
    """Mean of the sum of squared block coverages: whole blocks and two fractional ends."""
    first, last = np.ceil(low), np.floor(high)
    apart = (last - first) + (first - low) ** 2 + (high - last) ** 2
    return float(np.where(first > last, (high - low) ** 2, apart).mean())


def mean_box_variance(shares: np.ndarray) -> float:
    """Over all boxes of a 256 x 256 grid, quadtree, Laplace noise, ε = 1 divided by these shares, root first."""
    up = complete_up_variances(2 / (shares / shares.sum()) ** 2, 4)
    return float(closed_form_variance(up, mean_squares_of_all_intervals(8) ** 2, 4))


def test_interval_squares_by_counting():
    height = 3
    every = [interval_squares(a, b, 2, height) for a in range(8) for b in range(a + 1, 9)]
    np.testing.assert_allclose(mean_squares_of_all_intervals(height), np.mean(every, axis=0))


def test_published_mean_box_variances_are_reproduced():
    depth = np.arange(9)
    assert mean_box_variance(np.ones(9)) == pytest.approx(21_046, rel=0.01)
    assert mean_box_variance(2 ** (depth / 3)) == pytest.approx(6_652, rel=0.01)
    assert mean_box_variance(2 ** (-depth / 3)) > 21_046


# --- Non-negative ---


def dense_non_negative(tree: Tree, measured: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Estimates of all nodes by scipy's solver, from the raw measurements."""
    members, measurable = dense_membership(tree), np.isfinite(variances)
    root_weight = 1 / np.sqrt(variances[measurable])
    leaves, _ = nnls(root_weight[:, None] * members[measurable], root_weight * measured[measurable], maxiter=10_000)
    return members @ leaves


def objective(values: np.ndarray, target: np.ndarray, variances: np.ndarray) -> float:
    """Σ (x - y)² / s."""
    return float(np.sum((values - target) ** 2 / variances))


def leaf_gradient(tree: Tree, values: np.ndarray, estimates: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Half the derivative of the objective by each leaf."""
    gradient = (values - estimates) / variances
    for d in range(tree.height):
        gradient[tree.level(d + 1)] += tree.to_children(d, gradient[tree.level(d)])
    return gradient[tree.leaves]


def assert_optimal(tree: Tree, values: np.ndarray, estimates: np.ndarray, variances: np.ndarray) -> None:
    """Feasible, and the conditions of Karush, Kuhn and Tucker."""
    assert values.min() >= 0
    np.testing.assert_array_equal(values, sums(tree, values[tree.leaves]))
    gradient = leaf_gradient(tree, values, estimates, variances)
    scale = leaf_gradient(tree, np.abs(values), -np.abs(estimates), variances)
    assert np.all(gradient >= -1e-12 * scale)
    positive = values[tree.leaves] > 0
    assert np.all(np.abs(gradient[positive]) <= 1e-12 * scale[positive])


def family_by_family(tree: Tree, fit: Fit) -> np.ndarray:
    """The top-down projection: each family as close to its estimates as its parent's value allows."""
    values = np.maximum(fit.estimates, 0)
    for node in np.flatnonzero(tree.n_children):
        family = tree.first_child[node] + np.arange(tree.n_children[node])
        free = np.ones(family.size, dtype=bool)
        while True:
            members = family[free]
            excess = values[node] - fit.estimates[members].sum()
            trial = fit.estimates[members] + excess * fit.shares[members] / fit.shares[members].sum()
            if trial.min() >= -1e-12:
                break
            free[free] = trial >= 0
        values[family] = 0
        values[members] = np.maximum(trial, 0)
    return values


def clustered(tree: Tree, rng: np.random.Generator, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Most leaves empty, a few full; noise of two-sided geometric type. Returns measurements and variances."""
    counts = np.where(rng.random(tree.n_leaves) < 0.05, rng.geometric(0.01, tree.n_leaves), 0)
    ratio = np.exp(-shares / shares.sum())[tree.depth]
    noise = rng.geometric(1 - ratio) - rng.geometric(1 - ratio)
    return sums(tree, counts) + noise, 2 * ratio / (1 - ratio) ** 2


@given(seeds, st.sampled_from([-3.0, 0.0, 3.0]))
@settings(max_examples=150, deadline=None)
def test_non_negative_equals_dense_solver_on_irregular_trees(seed, mean):
    """Leaves at any depth, single children, unmeasured inner nodes; the oracle sees the raw measurements only."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    measured, variances = rng.normal(mean, 10, tree.n_nodes), random_variances(rng, tree)
    estimates = two_pass(tree, measured, variances).estimates
    found = non_negative(tree, estimates, variances)
    np.testing.assert_allclose(found, dense_non_negative(tree, measured, variances), atol=1e-9)
    assert_optimal(tree, found, estimates, variances)


@pytest.mark.parametrize(("fan_out", "height"), FAN_OUTS)
@pytest.mark.parametrize("unmeasured", [[], [0], [1]])
def test_non_negative_equals_dense_solver_on_complete_trees(fan_out, height, unmeasured):
    rng = np.random.default_rng(fan_out)
    tree = complete_tree(fan_out, height)
    for _ in range(10):
        variances = np.exp(rng.uniform(-2, 3, height + 1))
        variances[unmeasured] = np.inf
        measured = rng.normal(0, 10, tree.n_nodes)
        found = non_negative(tree, two_pass(tree, measured, variances).estimates, variances)
        np.testing.assert_allclose(found, dense_non_negative(tree, measured, per_node(tree, variances)), atol=1e-10)


def test_wrong_variants_are_not_the_non_negative_fit():
    """The oracle can tell: leaves cut off at zero, one round only, other variances, spread for variances."""
    rng = np.random.default_rng(8)
    tree = quadtree(3)
    variances = per_node(tree, np.geomspace(1, 50, 4))
    truth = sums(tree, rng.integers(0, 20, 64) * (rng.random(64) < 0.4))
    measured = rng.normal(truth, np.sqrt(variances))
    fit = two_pass(tree, measured, variances)
    dense = dense_non_negative(tree, measured, variances)
    fixed = tree.leaves & (fit.estimates < 0)
    once = two_pass(tree, np.where(fixed, 0, fit.estimates), np.where(fixed, 0, variances)).estimates
    wrong = {
        "cut off": sums(tree, np.maximum(fit.estimates[tree.leaves], 0)),
        "one round": sums(tree, np.maximum(once[tree.leaves], 0)),
        "deviations": non_negative(tree, fit.estimates, np.sqrt(variances)),
        "spread": non_negative(tree, fit.estimates, fit.shares),
        "leaves only": non_negative(tree, fit.estimates, np.where(tree.leaves, variances, np.inf)),
        "family by family": family_by_family(tree, fit),
    }
    np.testing.assert_allclose(non_negative(tree, fit.estimates, variances), dense, atol=1e-10)
    for name, values in wrong.items():
        assert np.abs(values - dense).max() > 0.05, name
        assert objective(values, measured, variances) > objective(dense, measured, variances) + 1e-4, name
        with pytest.raises(AssertionError):
            assert_optimal(tree, sums(tree, values[tree.leaves]), fit.estimates, variances)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_no_other_consistent_values_are_closer(seed):
    """Neither the family-by-family projection nor random neighbours."""
    rng, tree, measured, fit = random_fit(seed)
    found = non_negative(tree, fit.estimates, fit.variances)
    least = objective(found, measured, fit.variances)
    assert objective(family_by_family(tree, fit), measured, fit.variances) >= least * (1 - 1e-12)
    for scale in (1e-3, 1.0):
        leaves = np.maximum(found[tree.leaves] + rng.normal(0, scale, tree.n_leaves), 0)
        assert objective(sums(tree, leaves), measured, fit.variances) >= least * (1 - 1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("unmeasured", [[], [0, 3, 6]])
def test_non_negative_is_optimal_on_larger_trees(masked, unmeasured, monkeypatch):
    rng = np.random.default_rng(6)
    tree = quadtree(7, mask=rng.random((128, 128)) < 0.7 if masked else None)
    measured, variances = clustered(tree, rng, 2 ** (np.arange(8) / 3))
    variances[np.isin(tree.depth, unmeasured)] = np.inf
    estimates = two_pass(tree, measured, variances).estimates
    rounds = count_rounds(monkeypatch)
    found = non_negative(tree, estimates, variances)
    assert 2 <= len(rounds) <= 12
    assert np.mean(found[tree.leaves] == 0) > 0.5
    assert_optimal(tree, found, estimates, variances)


def count_rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that gets an entry with every round of `non_negative`."""
    rounds = []
    monkeypatch.setattr(adjust, "two_pass", lambda *args: rounds.append(1) or two_pass(*args))
    return rounds


def test_one_leaf_fixed_in_each_round(monkeypatch):
    """The slowest case: each round leaves one leaf just negative. All but two of them go, one by one."""
    n = 9
    leaves, shifts = [-1.0], [0.0]
    while len(leaves) < n - 2:
        shifts.append(sum(leaves) / (n - len(leaves)))
        leaves.append(-(shifts[-2] + 3 * shifts[-1]) / 4)
    estimates = np.array([*leaves, 3.0, 4.0])
    tree = complete_tree(n, 1)
    rounds = count_rounds(monkeypatch)
    found = non_negative(tree, sums(tree, estimates), [0.0, 1.0])
    assert len(rounds) == n - 2
    expected = np.zeros(n)
    expected[-2:] = np.array([3, 4]) + sum(leaves) / 2
    np.testing.assert_allclose(found, sums(tree, expected), atol=1e-12)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_non_negative_keeps_what_is_fine_and_is_idempotent(seed):
    rng, tree, _, fit = random_fit(seed)
    good = sums(tree, rng.integers(0, 3, tree.n_leaves) * 1.7)
    np.testing.assert_array_equal(non_negative(tree, good, fit.variances), good)
    found = non_negative(tree, fit.estimates, fit.variances)
    np.testing.assert_array_equal(non_negative(tree, found, fit.variances), found)
    blurred = good * (1 + rng.uniform(-1e-14, 1e-14, tree.n_nodes))
    np.testing.assert_array_equal(non_negative(tree, blurred, fit.variances)[tree.leaves], blurred[tree.leaves])


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_non_negative_scales_with_its_input(seed):
    """No absolute tolerance: powers of two change no digit."""
    _, tree, _, fit = random_fit(seed)
    found = non_negative(tree, fit.estimates, fit.variances)
    for scale in (2.0**-60, 2.0**60):
        scaled = non_negative(tree, fit.estimates * scale, fit.variances * scale**2)
        np.testing.assert_array_equal(scaled, found * scale)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_non_negative_keeps_exactly_known_counts(seed):
    """The limit of small variances."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    truth = sums(tree, rng.integers(0, 4, tree.n_leaves) * (rng.random(tree.n_leaves) < 0.5) * 1.3)
    known = rng.random(tree.n_nodes) < 0.2
    variances = np.where(known, 0.0, random_variances(rng, tree))
    measured = np.where(known, truth, truth + rng.normal(0, 3, tree.n_nodes))
    estimates = two_pass(tree, measured, variances).estimates
    found = non_negative(tree, estimates, variances)
    assert found.min() >= 0
    np.testing.assert_array_equal(found, sums(tree, found[tree.leaves]))
    np.testing.assert_allclose(found[known], truth[known], atol=1e-9)
    limit = dense_non_negative(tree, estimates, np.where(known, 1e-9, variances))
    np.testing.assert_allclose(found, limit, atol=1e-5)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_non_negative_with_unmeasured_leaves(seed):
    """The limit of large variances, in proportion to the areas."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, height=3)
    variances = random_variances(rng, tree)
    unmeasured = tree.leaves & (rng.random(tree.n_nodes) < 0.4)
    variances[unmeasured] = np.inf
    variances[0] = 2.0
    measured = rng.normal(0, 10, tree.n_nodes)
    estimates = two_pass(tree, measured, variances).estimates
    found = non_negative(tree, estimates, variances)
    assert_optimal(tree, found, estimates, variances)
    xlo, ylo, xhi, yhi = tree.boxes.T.astype(float)
    area = (xhi - xlo) * (yhi - ylo)
    limit = non_negative(tree, estimates, np.where(unmeasured, 1e10 * area / area.min(), variances))
    np.testing.assert_allclose(found, limit, atol=1e-6)


def test_a_known_total_is_shared_by_what_remains_positive():
    tree = quadtree(1)
    found = non_negative(tree, [8.0, -2, 1, 3, 6], [0, 1, 1, 1, 10])
    np.testing.assert_allclose(found, [8, 0, 1 - 1 / 6, 3 - 1 / 6, 6 - 10 / 6])
    np.testing.assert_allclose(non_negative(tree, [5.0, 4, -2, 2, 1], [0, 0, 1, 1, 1]), [5, 4, 0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(non_negative(tree, [4.0, 4, -2, 2, 0], [0, 0, 1, 1, 1]), [4, 4, 0, 0, 0], atol=1e-12)
    assert not non_negative(tree, [0.0, 1, -2, 2, -1], [0.0, 1.0]).round(12).any()


def test_contradictory_known_counts_are_an_error():
    tree = quadtree(1)
    for estimates, variances in (
        ([3.0, 4, -1, 0, 0], [0, 0, 1, 1, 1]),
        ([3.0, -1, 4, 0, 0], [1, 0, 1, 1, 1]),
        ([-1.0, -1, 0, 0, 0], [0.0, 1.0]),
    ):
        with pytest.raises(ParameterError, match="known exactly"):
            non_negative(tree, estimates, variances)
    np.testing.assert_allclose(non_negative(tree, [3.0, 4, -1, 0, 0], [1, 0, 1, 1, 1]), [4, 4, 0, 0, 0], atol=1e-12)


def test_negative_everywhere_gives_zeros():
    tree = quadtree(2)
    estimates = sums(tree, -np.random.default_rng(0).random(16))
    assert not non_negative(tree, estimates, [1.0, 2.0, 3.0]).any()


def test_rounding_errors_do_not_matter():
    """Leaves of -1e-17, and a negative parent of zeros, become zero."""
    tree = quadtree(2)
    estimates = sums(tree, np.arange(16.0))
    estimates[5] = -1e-17
    found = non_negative(tree, estimates, [1.0, 1.0, 1.0])
    np.testing.assert_allclose(found, estimates, atol=1e-15)
    assert found.min() == 0
    estimates = np.zeros(21)
    estimates[[1, 20]] = -1e-17, 1.0
    estimates[[0, 4]] = 1.0
    np.testing.assert_array_equal(non_negative(tree, estimates, [1.0, 1.0, 1.0]), np.maximum(estimates, 0))


def test_estimates_that_cancelled_add_up():
    """Large measurements, estimates of zero: what is left are rounding errors, not a contradiction."""
    tree = Tree([0, 1, 2], [1, 0], [[0, 0, 2, 2]] * 2)
    assert non_negative(tree, [0.0, 4e-16], [0.0, 3.0]).tolist() == [4e-16, 4e-16]
    assert non_negative(tree, [0.0, -4e-16], [0.0, 3.0]).tolist() == [0.0, 0.0]


def test_non_negative_refuses_wrong_numbers():
    tree = quadtree(1)
    with pytest.raises(ParameterError, match="finite"):
        non_negative(tree, [np.nan] * 5, [1.0, 1.0])
    with pytest.raises(ParameterError, match="add up: node 0"):
        non_negative(tree, [5.0, 1, 1, 1, 1], [1.0, 1.0])
    for bad in ([1.0, -1.0], [1.0, np.nan], [1.0, 1.0, 1.0]):
        with pytest.raises(ParameterError, match="variances"):
            non_negative(tree, [4.0, 1, 1, 1, 1], bad)
    with pytest.raises(ParameterError, match="neither is any node above"):
        non_negative(tree, [2.0, -1, 1, 1, 1], [np.inf, 1, 1, 1, np.inf])


# --- Whole numbers ---


@given(seeds, st.sampled_from([0.3, 3.0, 1e6]))
@settings(max_examples=80, deadline=None)
def test_rounding_adds_up_and_stays_within_one(seed, scale):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    leaves = rng.normal(0, scale, tree.n_leaves)
    whole = rng.random(tree.n_leaves) < 0.3
    estimates = sums(tree, np.where(whole, np.rint(leaves), leaves))
    found = round_consistent(tree, estimates)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, sums(tree, found[tree.leaves]))
    assert np.abs(found - estimates).max() < 1 + 1e-6
    assert found[0] == np.rint(estimates[0])
    already = sums(tree, np.rint(leaves))
    np.testing.assert_array_equal(round_consistent(tree, already), already)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_rounding_a_non_negative_fit_is_non_negative(seed):
    _, tree, _, fit = random_fit(seed)
    found = round_consistent(tree, non_negative(tree, fit.estimates, fit.variances))
    assert found.min() >= 0
    np.testing.assert_array_equal(found, sums(tree, found[tree.leaves]))


def test_rounding_on_quadtree_and_on_irregular_tree_agree():
    """Both ways of ranking siblings: a full quadtree, and the same with one family cut off."""
    tree = quadtree(3)
    estimates = sums(tree, np.random.default_rng(4).normal(2, 2, 64))
    pruned, index = tree.prune(np.arange(tree.n_nodes) != 20)
    np.testing.assert_array_equal(round_consistent(pruned, estimates[index]), round_consistent(tree, estimates)[index])


def test_rounding_gives_to_the_largest_remainders_first_among_equals():
    tree = quadtree(1)
    assert round_consistent(tree, [3.0, 0.9, 0.8, 0.7, 0.6]).tolist() == [3, 1, 1, 1, 0]
    assert round_consistent(tree, [2.0, 0.5, 0.5, 0.5, 0.5]).tolist() == [2, 1, 1, 0, 0]
    assert round_consistent(tree, [-2.0, -0.5, -0.5, -0.5, -0.5]).tolist() == [-2, 0, 0, -1, -1]


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_rounding_errors_of_a_fit_do_not_move_whole_estimates(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    whole = sums(tree, rng.integers(-3, 4, tree.n_leaves))
    blurred = whole + rng.uniform(-1e-9, 1e-9, tree.n_nodes)
    np.testing.assert_array_equal(round_consistent(tree, blurred), whole)


def test_rounding_of_inconsistent_estimates_adds_up():
    found = round_consistent(quadtree(1), [10.0, 0.2, 0.2, 0.2, 0.2])
    assert found.tolist() == [10, 3, 3, 2, 2]
    with pytest.raises(ParameterError, match="2\\^53"):
        round_consistent(quadtree(1), [np.nan] * 5)


# --- Walls ---


@pytest.mark.parametrize("module", ["tree", "least_squares", "adjust"])
def test_modules_do_not_import_points(module):
    source = inspect.getsource(importlib.import_module(f"spatialdp.trees.{module}"))
    statements = ast.walk(ast.parse(source))
    imports = [ast.unparse(node) for node in statements if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imports
    assert not any("points" in line for line in imports)
