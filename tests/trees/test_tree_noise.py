"""The noise of trees: of all nodes at once, of walked boxes and in closed form, against boxes and dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from spatialdp.estimates.histogram import Histogram
from spatialdp.space.boxes.quadtree import morton_order, quadtree
from spatialdp.space.boxes.walk import walk
from spatialdp.space.coverage import block_powers
from spatialdp.space.lattice import LATTICE
from spatialdp.trees.tree_noise import TreeNoise
from tests.helpers.boxes import coverage
from tests.helpers.cases import LARGE
from tests.helpers.fits import random_variances, seeds
from tests.helpers.releases import REGION, release_of
from tests.helpers.trees import dense_membership, random_tree
from tests.reference.dense_trees import box_moments


@pytest.mark.parametrize("region", [None, REGION], ids=["everywhere", "region"])
@pytest.mark.parametrize("name", LARGE)
def test_moments_of_inner_nodes_are_those_of_their_boxes(name, region):
    estimate = release_of(name, region).estimate.unbiased
    if isinstance(estimate, Histogram):
        return
    nodes = np.arange(estimate.tree.n_nodes)[:: max(1, estimate.tree.n_nodes // 300)]
    wanted = estimate.moments(estimate.tree.boxes[nodes].astype(np.int64))
    for found, each in zip(estimate.node_moments(nodes), wanted, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-9, atol=1e-12)


def random_noise(seed, height=4):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, height=height)
    return rng, TreeNoise(tree, random_variances(rng, tree), rng.uniform(0, 3, tree.n_nodes))


@given(seeds)
@settings(max_examples=40)
def test_fitted_nodes_have_the_noise_of_the_dense_algebra(seed):
    _, noise = random_noise(seed)
    variance, kurtosis = box_moments(noise.tree, noise.subtree, dense_membership(noise.tree), noise.kurtosis)
    second, fourth = noise.fitted_nodes()
    np.testing.assert_allclose(second, variance, rtol=1e-9)
    np.testing.assert_allclose(fourth, kurtosis * variance**2, rtol=1e-7)


@given(seeds)
@settings(max_examples=40)
def test_raw_nodes_have_their_own_noise_or_that_of_the_nodes_below(seed):
    _, noise = random_noise(seed)
    tree, measured = noise.tree, np.isfinite(noise.variances)
    second, fourth = noise.raw_nodes()
    for node in range(tree.n_nodes):
        taken = [node]
        while not measured[taken].all():  # unmeasured nodes are replaced by their children
            taken = [each for one in taken for each in ([one] if measured[one] else np.flatnonzero(tree.parent == one))]
        assert second[node] == pytest.approx(noise.variances[taken].sum())
        assert fourth[node] == pytest.approx((noise.kurtosis * noise.variances**2)[taken].sum())


@given(seeds)
@settings(max_examples=40)
def test_walked_boxes_have_the_noise_of_the_dense_algebra(seed):
    rng, noise = random_noise(seed)
    tree = noise.tree
    boxes = np.sort(rng.integers(0, LATTICE + 1, (6, 2, 2)), axis=1).reshape(-1, 4)
    variance, kurtosis = box_moments(tree, noise.subtree, coverage(tree.boxes[tree.leaves], boxes), noise.kurtosis)
    second, fourth = noise.fitted_walk(list(walk(tree, boxes)), None, len(boxes))
    np.testing.assert_allclose(second, variance, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(fourth, kurtosis * variance**2, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("unmeasured", [[], [0], [0, 2]])
def test_levels_of_complete_trees_weigh_as_their_nodes_do(unmeasured):
    tree, variances = quadtree(4), np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    variances[unmeasured] = np.inf
    noise = TreeNoise(tree, variances, np.full(5, 3.0))
    np.testing.assert_allclose(noise.level_weights()[tree.depth], noise.own_weight)


@pytest.mark.parametrize("unmeasured", [[], [0], [0, 2]])
def test_the_closed_form_is_exact_for_variances_and_a_bound_for_fourth_cumulants(unmeasured):
    height, rng = 4, np.random.default_rng(7)
    tree, variances = quadtree(height), np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    variances[unmeasured] = np.inf
    noise = TreeNoise(tree, variances, np.full(height + 1, 3.0))
    ends = np.sort(rng.uniform(0, 2**height, (20, 2, 2)), axis=2)  # of x and of y, in cells
    area = np.prod(ends[..., 1] - ends[..., 0], axis=1)
    sides = [2 ** (height - depth) for depth in range(height + 1)]
    squares = [np.prod([block_powers(*(ends[:, axis] / side).T, 2) for axis in (0, 1)], axis=0) for side in sides]
    second, fourth = noise.complete(area, squares, [(side, side) for side in sides])
    cells = np.arange(2**height)
    x, y = (
        np.clip(np.minimum(end[:, 1:], cells + 1) - np.maximum(end[:, :1], cells), 0, 1) for end in ends.swapaxes(0, 1)
    )
    shares = np.einsum("mi,mj->mij", y, x).reshape(20, -1)[:, morton_order(height)]
    variance, kurtosis = box_moments(tree, noise.subtree, shares, noise.kurtosis)
    np.testing.assert_allclose(second, variance, rtol=1e-9)
    assert (fourth >= kurtosis * variance**2 * (1 - 1e-9)).all()
