"""Noise laws: calibration and moments."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from spatialdp.errors import BudgetError
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import FINE_STEPS, Law, NoiseLaw, calibrate, spendable
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.privacy.noise.wide import Wide
from tests.helpers.sources import ZeroNoise

ONE = Sensitivity(1, 1)


def pmf_moments(weights, values):
    weights = weights / weights.sum()
    variance = values**2 @ weights
    return variance, values**4 @ weights / variance**2 - 3


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(10), Fraction(1000)])
def test_laplace_moments_equal_the_sums_over_the_law(scale):
    law = NoiseLaw(Law.DISCRETE_LAPLACE, scale)
    values = np.arange(-math.ceil(60 * scale) - 5, math.ceil(60 * scale) + 6, dtype=float)
    expected = pmf_moments(np.exp(-np.abs(values) / float(scale)), values)
    assert (law.variance, law.kurtosis) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(1), Fraction(30), Fraction(10**6)])
def test_gaussian_moments_equal_the_sums_over_the_law(variance):
    law = NoiseLaw(Law.GAUSSIAN, variance)
    reach = math.ceil(20 * math.sqrt(variance)) + 2
    values = np.arange(-reach, reach + 1, dtype=float)
    expected = pmf_moments(np.exp(-(values**2) / (2 * float(variance))), values)
    assert (law.variance, law.kurtosis) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert law.variance <= float(variance) * (1 + 1e-12)


def test_noise_too_small_for_a_double_has_no_variance():
    assert NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(1, 1000)).variance == 0
    assert NoiseLaw(Law.GAUSSIAN, Fraction(1, 10**5)).variance == 0


def test_fine_laplace_is_laplace():
    law = calibrate(Law.LAPLACE, Fraction(1), ONE)
    assert law.parameter == FINE_STEPS
    assert law.variance == pytest.approx(2, rel=1e-6)
    assert law.kurtosis == pytest.approx(3, rel=1e-6)


@pytest.mark.parametrize("law", list(Law))
def test_drawn_noise_has_the_stated_moments(law):
    noise_law = calibrate(law, Fraction(1, 7), ONE)
    draws = noise_law.add_to(np.zeros(200_000, dtype=np.int64), SeededNoise(1))
    # Standard error of a variance: sqrt((kurtosis + 2) / n); five of them.
    tolerance = 5 * math.sqrt((noise_law.kurtosis + 2) / draws.size)
    assert draws.var() == pytest.approx(noise_law.variance, rel=tolerance)
    assert np.array_equal(draws * noise_law.steps, np.round(draws * noise_law.steps))


def test_noise_grows_with_sensitivity_and_falls_with_cost():
    for law in Law:
        base = calibrate(law, Fraction(1), Sensitivity(1, 1)).parameter
        assert calibrate(law, Fraction(1), Sensitivity(2, 2)).parameter == 2 * base
        assert calibrate(law, Fraction(1, 10), Sensitivity(1, 1)).parameter == 10 * base


def test_delta_that_would_be_wasted_is_refused():
    with pytest.raises(BudgetError, match="Leave delta out"):
        spendable(Law.DISCRETE_LAPLACE, Budget(1, 1e-9))


@pytest.mark.parametrize("law", [NoiseLaw(Law.LAPLACE, Fraction(2**50), 1024), NoiseLaw(Law.GAUSSIAN, Fraction(2**90))])
def test_counts_get_wide_noise_where_narrow_noise_would_not_do(law):
    counts = np.array([3, 0, 10**6])
    found, empty = (law.add_to(each, SeededNoise(4)) for each in (counts, 0 * counts))
    assert found - empty == pytest.approx(counts, rel=1e-3)
    assert np.abs(found).max() > 2**30


@pytest.mark.parametrize("law", list(Law))
def test_counts_in_steps_get_the_noise_of_whole_counts(law):
    """Shares in steps of 2^-20: the values and the moments are those of counts, on a lattice as fine as the steps."""
    steps = 2**20
    whole = calibrate(law, Fraction(1, 2), Sensitivity(3, 5))
    shares = calibrate(law, Fraction(1, 2), Sensitivity(3 * steps, 5 * steps**2, steps))
    assert shares.counted == shares.steps == steps
    assert shares.variance == pytest.approx(whole.variance, rel=0.02)
    drawn = shares.add_to(np.array([7 * steps, steps // 2]), SeededNoise(3))
    assert np.abs(drawn - [7, 0.5]).max() < 30 * shares.variance**0.5
    assert shares.add_to(np.array([7 * steps, steps // 2]), ZeroNoise()).tolist() == [7, 0.5]


def test_wide_counts_get_noise_at_once():
    law = NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(5))
    assert law.add_to(Wide.shifted(np.array([5, -5]), 60), ZeroNoise()).tolist() == [5 * 2.0**60, -5 * 2.0**60]


def test_wide_noise_is_added_to_shares_in_steps():
    law = calibrate(Law.LAPLACE, Fraction(1, 2**60), Sensitivity(2**20, 2**40, 2**20))
    assert law.add_to(np.array([3 * 2**20]), ZeroNoise()).tolist() == [3.0]
