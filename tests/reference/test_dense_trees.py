"""The dense reference itself: against matrices, closed forms, simulation and published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp.errors import ParameterError
from spatialdp.space.boxes.quadtree import morton_order, quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.trees.least_squares import two_pass
from tests.helpers.fits import per_node, random_fit, random_variances, seeds
from tests.helpers.trees import random_tree
from tests.reference.dense_trees import (
    box_moments,
    closed_form_variance,
    complete_up_variances,
    dense_map,
    query_coefficients,
    query_variance,
)


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
