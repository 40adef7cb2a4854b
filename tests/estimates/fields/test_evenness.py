"""Whether blocks may be equally dense: what only noise tells apart is even, and real differences are not."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.fields.coarse import BlockTree
from spatialdp.estimates.fields.evenness import MOST, SURE, even_density, even_leaves
from spatialdp.space.boxes.quadtree import quadtree

SIZES = np.repeat([100.0, 50.0, 200.0, 150.0], 4)


def even_blocks(noise, density=10.0, seed=0):
    variances = np.linspace(0.5, 2, SIZES.size) * noise**2
    return density * SIZES + np.random.default_rng(seed).normal(0, np.sqrt(variances)), variances


def test_the_density_is_that_of_weighted_least_squares():
    """Noise and chance are weighed together, with the chance of a first density."""
    values, variances = even_blocks(30.0)
    density = 0.0
    for _ in range(2):
        deviation = np.sqrt(variances + density * SIZES)
        density = np.linalg.lstsq((SIZES / deviation)[:, None], values / deviation, rcond=None)[0][0]
    assert even_density(values, variances, SIZES)[0] == pytest.approx(density)


def test_leaves_are_the_mean_of_what_noise_and_chance_leave_open():
    """By the normal equations, with a matrix."""
    tree = quadtree(1)
    blocks = np.array([[0, 0, 2, 2], [0, 0, 1, 1], [1, 0, 2, 1], [0, 1, 1, 2], [1, 1, 2, 2]])
    measured, variances = np.array([30.0, 9, 12, 4, 8]), np.array([9.0, 4, 4, 25, 4])
    below = np.vstack([np.ones(4), np.eye(4)])
    matrix = below.T @ (below / variances[:, None]) + np.eye(4) / 7
    expected = np.linalg.solve(matrix, below.T @ (measured / variances) + 1)
    found = even_leaves(BlockTree(tree, blocks, measured, variances), np.ones(4), 7.0)
    assert found == pytest.approx(expected)


@pytest.mark.statistical
def test_blocks_that_only_noise_tells_apart_are_mostly_even():
    shares = [even_density(*even_blocks(30.0, seed=seed), SIZES)[1] for seed in range(300)]
    assert np.mean(shares) > 0.8
    assert np.mean(np.array(shares) == 1) > 0.5


def test_the_share_falls_as_differences_grow():
    variances, signs = np.full(16, 900.0), np.tile([1.0, -1.0], 8)
    shares = []
    for ratio in (0.5, 1, 1.5, MOST, 5):
        values = 1000 + signs * np.sqrt((900.0 + 1000) * ratio * 15 / 16)
        shares.append(even_density(values, variances, np.ones(16))[1])
    assert shares == pytest.approx([1, 1, 0.5, 0, 0], abs=1e-9)


def test_few_records_are_left_to_the_field():
    variances, total = np.full(16, 900.0), SURE * np.sqrt(16 * 900)
    assert even_density(np.full(16, 0.99 * total / 16), variances, np.ones(16))[1] == 0
    assert even_density(np.full(16, 1.01 * total / 16), variances, np.ones(16))[1] == 1


def test_a_single_block_says_nothing():
    assert even_density(np.array([100.0]), np.ones(1), np.ones(1))[1] == 0


def test_even_records_get_an_even_map_and_uneven_ones_do_not():
    cells = np.stack(np.meshgrid(np.arange(64), np.arange(64)), axis=-1).reshape(-1, 2)
    domain, even = sdp.Domain((0, 0, 64, 64)), np.repeat(cells + 0.5, 2, axis=0)
    mechanism = sdp.Adaptive((64, 64))
    flat = [mechanism.release(even, domain, epsilon=0.01, noise=sdp.SeededNoise(seed)).estimate for seed in range(8)]
    assert sum(each._evenness()[1] == 1 for each in flat) >= 4
    assert all(np.ptp(each.values) < 3 for each in flat if each._evenness()[1] == 1)
    half = np.repeat(even[even[:, 0] < 32], 5, axis=0)
    assert np.ptp(mechanism.release(half, domain, epsilon=0.1, noise=sdp.SeededNoise(1)).estimate.values) > 1
