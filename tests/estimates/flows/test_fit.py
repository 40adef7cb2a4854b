"""The fit of flows: against dense least squares, and its noise against weights that are written out."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.estimates.flows.fit import CountNoise, fitted, product_moments
from spatialdp.space.frames.selection import Selection

SIZES = [1, 2, 5]
RATIOS = [0.03, 1.0, 40.0]


def design(m, ratio):
    """Measurements of an (m, m) table, rows first, each divided by its standard deviation."""
    table = np.eye(m * m).reshape(m * m, m, m)
    rows, columns = table.sum(axis=2).T / np.sqrt(ratio), table.sum(axis=1).T / np.sqrt(ratio)
    return np.vstack([np.eye(m * m), rows, columns])


def sets(m, rng, count=4):
    """Random sets of places, some of them covered in part, and all places."""
    chosen = [np.flatnonzero(rng.random(m) < 0.5) for _ in range(count)] + [np.arange(m)]
    shares = np.concatenate([rng.random(each.size) if i % 2 else np.ones(each.size) for i, each in enumerate(chosen)])
    starts = np.cumsum([0, *(each.size for each in chosen)])[:-1]
    return Selection(m, starts, np.concatenate(chosen), shares)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("m", SIZES)
def test_the_fit_is_that_of_dense_least_squares(m, ratio):
    rng = np.random.default_rng(m)
    pairs, origins, destinations = rng.normal(size=(m, m)), rng.normal(size=m), rng.normal(size=m)
    measured = np.concatenate([pairs.ravel(), origins / np.sqrt(ratio), destinations / np.sqrt(ratio)])
    expected = np.linalg.lstsq(design(m, ratio), measured, rcond=None)[0]
    assert fitted(pairs, origins, destinations, ratio).ravel() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("m", SIZES)
def test_moments_are_those_of_the_weights(m, ratio):
    """Each answer is linear in the noisy counts: its cumulants are sums of powers of weights."""
    rng = np.random.default_rng(10 + m)
    pair, margin = CountNoise(2.0, 3.5, 1.0), CountNoise(2.0 * ratio, 0.7, 1.0)
    origins, destinations = sets(m, rng), sets(m, rng)
    matrix = design(m, ratio)
    scales = np.concatenate([np.ones(m * m), np.full(2 * m, 1 / np.sqrt(ratio))])
    weights = np.linalg.pinv(matrix) * scales  # of the counts themselves
    variance, kurtosis = product_moments(origins, destinations, pair, margin)
    for i, a in enumerate(origins.rows(0, origins.count)):
        for j, b in enumerate(destinations.rows(0, destinations.count)):
            own = np.outer(a, b).ravel() @ weights
            parts = [(own[: m * m], pair), (own[m * m :], margin)]
            second, fourth = (sum((w**k).sum() * c(law) for w, law in parts) for k, c in CUMULANTS)
            assert variance[i, j] == pytest.approx(second, rel=1e-9, abs=1e-12)
            assert kurtosis[i, j] * variance[i, j] ** 2 == pytest.approx(fourth, rel=1e-7, abs=1e-12)


CUMULANTS = ((2, lambda law: law.variance), (4, lambda law: law.fourth))
