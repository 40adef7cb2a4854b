"""Whether blocks may be equally dense: what only noise tells apart is even, and real differences are not."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.fields.evenness import MOST, SURE, even_density

SIZES = np.repeat([100.0, 50.0, 200.0, 150.0], 4)


def even_blocks(noise, density=10.0, seed=0):
    variances = np.linspace(0.5, 2, SIZES.size) * noise**2
    return density * SIZES + np.random.default_rng(seed).normal(0, np.sqrt(variances)), variances


def test_the_density_is_that_of_weighted_least_squares():
    values, variances = even_blocks(30.0)
    scaled = SIZES / np.sqrt(variances)
    fitted = np.linalg.lstsq(scaled[:, None], values / np.sqrt(variances), rcond=None)[0]
    assert even_density(values, variances, SIZES)[0] == pytest.approx(fitted[0])


@pytest.mark.statistical
def test_blocks_that_only_noise_tells_apart_are_mostly_even():
    shares = [even_density(*even_blocks(30.0, seed=seed), SIZES)[1] for seed in range(300)]
    assert np.mean(shares) > 0.8
    assert np.mean(np.array(shares) == 1) > 0.5


def test_the_share_falls_as_differences_grow():
    variances = np.full(16, 900.0)
    signs = np.tile([1.0, -1.0], 8)
    shares = []
    for ratio in (0.5, 1, 1.5, MOST, 5):
        values = 1000 + signs * np.sqrt(900.0 * ratio * 15 / 16)
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
    assert sum(np.ptp(each.values) < 1e-9 for each in flat) >= 4
    half = np.repeat(even[even[:, 0] < 32], 5, axis=0)
    assert np.ptp(mechanism.release(half, domain, epsilon=0.1, noise=sdp.SeededNoise(1)).estimate.values) > 1
