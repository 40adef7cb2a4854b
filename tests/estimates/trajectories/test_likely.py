"""Likely counts: exact without noise, drawn to what is expected with noise, and better than noisy counts on average."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace, norm

from spatialdp.estimates.trajectories import likely as module
from spatialdp.estimates.trajectories.likely import BELL, LAPLACE, likely


def _times(law):
    return lambda x: x * law.pdf(x)


@pytest.mark.parametrize(("shape", "law"), [(LAPLACE, laplace), (BELL, norm)])
def test_shapes_are_those_of_their_laws(shape, law):
    for value in (-3.0, -0.4, 0.0, 1.7):
        assert shape.below(np.array([value]))[0] == pytest.approx(law.cdf(value))
        mean = (
            quad(lambda x: x * law.pdf(x), -60, min(value, 0))[0] + quad(lambda x: x * law.pdf(x), 0, max(value, 0))[0]
        )
        assert shape.mean_below(np.array([value]))[0] == pytest.approx(mean, abs=1e-7)


@pytest.mark.parametrize(("shape", "law"), [(LAPLACE, laplace), (BELL, norm)])
def test_classes_agree_with_integrals(shape, law):
    chances, means = module._classes(np.array([10.0]), np.array([7.0]), 2.0, shape)
    low, high = 10 * module._RATIOS[20], 10 * module._RATIOS[21]
    chance = quad(lambda x: law.pdf((7 - x) / 2) / 2, low, high)[0]
    mean = quad(lambda x: x * law.pdf((7 - x) / 2) / 2, low, high)[0] / chance
    assert chances[0, 20] == pytest.approx(chance / (high - low) * 2)
    assert means[0, 20] == pytest.approx(mean)


def test_without_noise_counts_are_as_they_came_out():
    rng = np.random.default_rng(1)
    counts = rng.gamma(0.5, 20, 300)
    assert likely(rng.gamma(1, 10, 300), counts, 1e-4) == pytest.approx(counts, abs=1e-2)


@pytest.mark.parametrize("spread", [0.1, 1.0, 20.0])
def test_likely_counts_are_nearer_than_noisy_and_than_expected_ones(spread):
    """Ratios that hardly vary, that vary, and expectations of which every second is wrong altogether."""
    rng = np.random.default_rng(2)
    expected = rng.gamma(1, 10, 4000)
    ratios = rng.gamma(1 / spread, spread, 4000) if spread < 20 else rng.integers(0, 2, 4000) * 2.0
    counts = expected * ratios
    noisy = counts + rng.laplace(0, 5, 4000)
    found = likely(expected, noisy, 5.0)
    assert found.min() >= 0
    loss = [np.mean((each - counts) ** 2) for each in (found, np.maximum(noisy, 0), expected)]
    assert loss[0] < 0.9 * min(loss[1:]) or loss[0] < 1.3 * loss[2] < 0.2 * loss[1]


def test_a_large_count_that_nobody_expected_is_believed():
    expected, noisy = np.full(200, 0.01), np.random.default_rng(3).laplace(0, 2, 200)
    noisy[7] = 300.0
    found = likely(expected, noisy, 2.0)
    assert found[7] == pytest.approx(300, abs=5)
    assert np.delete(found, 7).max() < 3


def test_many_counts_are_done_in_parts(monkeypatch):
    rng = np.random.default_rng(4)
    expected, noisy = rng.gamma(1, 10, 500), rng.gamma(1, 10, 500)
    whole = likely(expected, noisy, 3.0)
    monkeypatch.setattr(module, "_AT_ONCE", 7)
    assert likely(expected, noisy, 3.0) == pytest.approx(whole)
    monkeypatch.setattr(module, "_FITTED_ON", 100)
    assert likely(expected, noisy, 3.0).shape == (500,)
    assert likely(np.zeros(0), np.zeros(0), 1.0).size == 0


@pytest.mark.parametrize("value", [-1e45, 0.0, 1e45])
def test_absurd_numbers_give_finite_counts(value):
    found = likely(np.array([1.0, 0.0, 1e45]), np.full(3, value), 1.0)
    assert np.isfinite(found).all()
    assert found.min() >= 0
