"""Fits with weights that are given: consistent, exact without noise, and as dense algebra says."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given

from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.boxes.walk import family_shares
from spatialdp.space.domain import Domain
from spatialdp.space.regions.borders import RegionArea
from spatialdp.trees.given_weights import given_variances, given_weights_fit, noise_ratios
from spatialdp.trees.least_squares import subtree_variances, two_pass
from spatialdp.trees.shape import sums
from tests.helpers.fits import seeds
from tests.helpers.trees import random_tree
from tests.reference.dense_trees import given_map


def some(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, height=3)
    return rng, tree, rng.random(tree.n_nodes), family_shares(tree, None)


@given(seeds)
def test_estimates_add_up(seed):
    rng, tree, own, shares = some(seed)
    estimates = given_weights_fit(tree, rng.normal(0, 10, tree.n_nodes), own, shares)
    assert sums(tree, estimates[tree.leaves]) == pytest.approx(estimates, abs=1e-9)


@given(seeds)
def test_counts_without_noise_are_kept(seed):
    rng, tree, own, shares = some(seed)
    exact = sums(tree, rng.integers(0, 50, tree.n_leaves)).astype(float)
    assert given_weights_fit(tree, exact, own, shares) == pytest.approx(exact, abs=1e-9)


@given(seeds)
def test_fit_and_variances_are_those_of_the_dense_matrix(seed):
    rng, tree, own, shares = some(seed)
    measured, variances = rng.normal(0, 10, tree.n_nodes), rng.uniform(0.1, 5, tree.n_nodes)
    matrix = given_map(tree, own, shares)
    assert given_weights_fit(tree, measured, own, shares) == pytest.approx(matrix @ measured, abs=1e-9)
    # V of the root is that of its estimate: nothing above the root changes it.
    assert given_variances(tree, variances, own)[0] == pytest.approx(matrix[0] ** 2 @ variances)


def test_the_weights_of_least_squares_give_least_squares():
    rng, tree = np.random.default_rng(3), quadtree(3)
    variances = np.repeat(rng.uniform(0.5, 2, 4), np.diff(tree.offsets))
    noise = subtree_variances(tree, variances)
    own = np.append(
        noise.up_variance[: noise.children_variance.size] / variances[: noise.children_variance.size],
        np.ones(tree.n_nodes - noise.children_variance.size),
    )
    measured = rng.normal(0, 10, tree.n_nodes)
    fitted = given_weights_fit(tree, measured, own, family_shares(tree, None))
    assert fitted == pytest.approx(two_pass(tree, measured, variances).estimates, abs=1e-9)


def test_shares_of_a_family_add_up_to_one_in_a_region_too():
    tree = quadtree(3)
    area = RegionArea.of(Domain((0, 0, 1, 1), region=shapely.Point(0.5, 0.5).buffer(0.45)))
    for shares in (family_shares(tree, None), family_shares(tree, area)):
        assert shares[0] == 1
        assert np.bincount(tree.parent[1:], shares[1:])[:21] == pytest.approx(1)


@given(seeds)
def test_noise_of_counts_that_led_to_nothing_is_what_it_was(seed):
    rng, tree, own, _ = some(seed)
    measured, variances = rng.normal(0, 10, tree.n_nodes), rng.uniform(0.1, 5, tree.n_nodes)
    far = np.full(tree.n_nodes, np.inf)
    assert np.all(noise_ratios(tree, measured, variances, own, -far, far) == 1)
    beyond = np.abs(measured).sum() + 1000
    assert noise_ratios(tree, measured, variances, own, -far, np.full(tree.n_nodes, beyond)) == pytest.approx(1)


@given(seeds)
def test_noise_given_what_a_count_led_to_is_as_measured(seed):
    """Of many counts with the same sum below, which has half of its noise."""
    rng = np.random.default_rng(seed)
    own, noise, noise_below = rng.uniform(0, 0.9), *rng.uniform(0.5, 4, 2)
    tree, below = quadtree(1), rng.normal(0, 3)
    low, high = np.sort(below + rng.normal(0, 2 * np.sqrt(noise + noise_below), 2))
    high = max(high, low + 1)
    variances, weights = np.array([noise, *np.full(4, noise_below / 4)]), np.array([own, 1, 1, 1, 1])
    bounds = (np.array([end, *np.full(4, far)]) for end, far in ((low, -np.inf), (high, np.inf)))
    found = noise_ratios(tree, np.array([0.0, below, 0, 0, 0]), variances, weights, *bounds)[0]
    draws = rng.normal(0, 1, (2, 200_000)) * np.sqrt([[noise], [noise_below / 2]])
    counts = below + draws[0] - draws[1]  # any true count is as likely as any other
    led = draws[0][(counts > low) & (counts < high)]
    if led.size > 5000:
        assert found == pytest.approx(np.mean(led**2) / noise, rel=0.12)


def test_noise_given_what_counts_led_to_is_right_on_average():
    """Counts that led to one thing or to the other, with sums below them that may be anything."""
    rng, tree, size = np.random.default_rng(2), quadtree(1), 4000
    far, ends, weights = np.full(5, np.inf), np.array([5.0, *np.full(4, np.inf)]), np.array([0.4, 1, 1, 1, 1])
    ratios = []
    for truth, noise, below in zip(rng.uniform(-40, 40, size), *rng.normal(0, 2, (2, size)), strict=True):
        bounds = (-far, ends) if truth + noise < 5 else (np.where(np.isinf(ends), -np.inf, ends), far)
        measured = np.array([truth + noise, truth + below, 0, 0, 0])
        ratios.append(noise_ratios(tree, measured, np.array([4.0, 2, 2, 2, 2]), weights, *bounds)[0])
    assert np.mean(ratios) == pytest.approx(1, abs=0.02)
    assert min(ratios) < 0.9 < 1.1 < max(ratios)


def test_bounds_far_from_what_is_below_widen_no_further_than_five_standard_deviations():
    far, measured, weights = np.full(5, np.inf), np.array([1e6, 0, 0, 0, 0]), np.array([0.4, 1, 1, 1, 1])
    lowest = np.array([1e5, *-far[1:]])
    found = noise_ratios(quadtree(1), measured, np.array([4.0, 0, 0, 0, 0]), weights, lowest, far)
    assert found[0] == pytest.approx(26.9, abs=0.1)
    assert noise_ratios(quadtree(1), measured, np.zeros(5), weights, lowest, far)[0] == 1
