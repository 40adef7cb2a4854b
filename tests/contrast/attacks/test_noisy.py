"""Adversaries against private counts stay within the bounds, and the best of them is as good as computed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from spatialdp import SeededNoise, contrast


@pytest.mark.parametrize(
    ("epsilon", "presence", "value", "bound_presence", "bound_value"),
    [(0.1, 0.525, 0.537, 0.550, 0.599), (1, 0.731, 0.822, 0.881, 0.982)],
)
def test_two_releases_as_the_design_measured_them(epsilon, presence, value, bound_presence, bound_value):
    found = contrast.known_others(epsilon, releases=2)
    assert found == pytest.approx((presence, value), abs=6e-4)
    limits = contrast.bounds(epsilon, releases=2)
    assert (limits.presence_right, limits.value_right) == pytest.approx((bound_presence, bound_value), abs=6e-4)


@pytest.mark.parametrize("releases", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2])
def test_the_best_adversary_is_within_the_bounds(epsilon, releases):
    presence, value = contrast.known_others(epsilon, releases)
    limits = contrast.bounds(epsilon, releases)
    assert 0.5 < presence <= limits.presence_right + 1e-12
    assert presence <= value <= limits.value_right
    assert 2 * presence - 1 <= limits.advantage + 1e-12


def test_replacing_a_record_halves_the_distance_of_values():
    limits = contrast.bounds(Fraction(1, 2), releases=3, neighbours="replace")
    assert limits.value_odds == limits.presence_odds == pytest.approx(math.exp(1.5))
    assert contrast.bounds(Fraction(1, 2), releases=3).value_odds == pytest.approx(math.exp(3))


def test_huge_budgets_bound_nothing():
    limits = contrast.bounds(1000, releases=10)
    assert limits.presence_odds == math.inf
    assert limits.value_right == limits.advantage == 1.0


def drawn(epsilon, releases, trials, seed):
    """How often the likelier of two worlds is the true one: a record has value a or value b, all else is known."""
    noise = SeededNoise(seed).laplace(1 / Fraction(epsilon), (trials, releases, 2))
    counts = noise + np.array([1, 0])  # the record is in the first cell
    odds = (np.abs(counts - [0, 1]) - np.abs(counts - [1, 0])).sum(axis=(1, 2))
    return np.where(odds == 0, 0.5, odds > 0).mean()


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_the_best_adversary_guesses_as_often_as_computed(epsilon):
    trials = 40_000
    found, (_, expected) = drawn(epsilon, 2, trials, 5), contrast.known_others(epsilon, 2)
    error = (expected * (1 - expected) / trials) ** 0.5
    assert abs(found - expected) < 5 * error
    assert found <= contrast.bounds(epsilon, 2).value_right
    other = contrast.known_others(1.2 * epsilon + 0.05, 2)[1]
    assert abs(found - other) > 5 * error  # noise of another scale is noticed


def test_odds_of_any_output_are_within_the_bound():
    """All pairs of counts of two cells in two releases, near zero; the law of discrete Laplace noise is exact."""
    epsilon, releases = 0.7, 2
    support = np.arange(-8, 9)

    def logarithms(shift):
        return -epsilon * np.abs(support - shift)

    one = (logarithms(1)[:, None] + logarithms(0)).ravel()
    other = (logarithms(0)[:, None] + logarithms(1)).ravel()
    largest = releases * np.abs(one - other).max()
    assert largest == pytest.approx(math.log(contrast.bounds(epsilon, releases).value_odds))


def test_guesses_add_up_over_releases():
    counts = np.array([[[2.0, 1.0], [0.0, 1.0]], [[0.0, 3.0], [0.0, 1.0]]])
    assert contrast.guesses_from_counts(counts).tolist() == [[0, 1], [1, 1]]
