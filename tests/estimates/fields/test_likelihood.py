"""Laplace noise in least squares: moments equal quadrature, and stray counts lose weight."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

import spatialdp as sdp
from spatialdp.estimates.fields.likelihood import laplace_moments, with_laplace_noise
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.trees.least_squares import two_pass

BOX = np.array([[0, 0, 4, 4]], dtype=np.int32)


@pytest.mark.parametrize(
    ("centre", "variance", "measured", "rate"),
    [(1, 4, 3, 0.7), (0, 1, 0, 1), (-2, 0.5, 5, 2), (10, 9, -4, 0.1), (3, 1e-4, 3.1, 5), (0, 100, 1, 3)],
)
def test_moments_equal_quadrature(centre, variance, measured, rate):
    deviation = np.sqrt(variance)

    def density(x, power=0):
        exponent = -((x - centre) ** 2) / (2 * variance) - rate * abs(x - measured) + rate * abs(centre - measured)
        return (x - centre) ** power * np.exp(exponent)

    low, high = min(centre - 12 * deviation, measured), max(centre + 12 * deviation, measured)
    places = sorted({centre, measured, centre - rate * variance, centre + rate * variance})
    mass, first, second = (
        integrate.quad(density, low, high, args=(power,), points=places, limit=500)[0] for power in range(3)
    )
    mean, spread = laplace_moments(*(np.array([float(each)]) for each in (centre, variance, measured, rate)))
    assert mean[0] == pytest.approx(centre + first / mass, abs=1e-6 * deviation)
    assert spread[0] == pytest.approx(second / mass - (first / mass) ** 2, rel=1e-6)


def test_moments_are_finite_far_out():
    values = [np.array([each]) for each in (1e9, 1e-6, -1e9, 1e3)]
    assert all(np.isfinite(each).all() for each in laplace_moments(*values))


def repeated(times):
    """A tree of one box that is counted several times."""
    return Tree(np.arange(times + 1), np.append(np.ones(times - 1, dtype=int), 0), BOX.repeat(times, 0))


def test_counts_that_agree_gain_and_stray_counts_lose():
    variances = np.full(5, 2.0)
    _, agreeing = with_laplace_noise(repeated(5), np.full(5, 10.0), variances)
    assert np.all(agreeing < variances)
    _, stray = with_laplace_noise(repeated(5), np.array([10.0, 10, 10, 10, 90]), variances)
    assert stray[4] > 10 * stray[1]


def test_a_lone_count_is_left_alone():
    counts, variances = with_laplace_noise(quadtree(0), np.array([7.0]), np.array([3.0]))
    assert (counts[0], variances[0]) == pytest.approx((7.0, 3.0))


def test_it_is_nearer_to_the_truth_than_least_squares():
    """Twelve counts of the same number: the mean squared error of their mean is 8/12, the best possible about half."""
    rng, tree = np.random.default_rng(1), repeated(12)
    variances, errors = np.full(12, 8.0), np.zeros(2)
    for _ in range(400):
        noisy = rng.laplace(0, 2, 12)
        readings = two_pass(tree, noisy, variances), two_pass(tree, *with_laplace_noise(tree, noisy, variances))
        errors += [fit.estimates[0] ** 2 / 400 for fit in readings]
    assert errors[0] == pytest.approx(8 / 12, rel=0.2)
    assert errors[1] < 0.85 * errors[0]


def test_gaussian_counts_are_read_as_they_are():
    points, domain = np.random.default_rng(1).random((500, 2)), sdp.Domain((0, 0, 1, 1))
    mechanism = sdp.Adaptive((16, 16), law="gaussian")
    estimate = mechanism.release(points, domain, epsilon=1, delta=1e-6, noise=sdp.SeededNoise(1)).estimate
    assert np.array_equal(estimate._nodes.measured, estimate.measured)
    laplace = sdp.Adaptive((16, 16)).release(points, domain, epsilon=1, noise=sdp.SeededNoise(1)).estimate
    assert not np.array_equal(laplace._nodes.measured, laplace.measured)
