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
from spatialdp.trees.given_weights import given_variances, given_weights_fit
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
