"""Odds: never rounded down, and those that the definition of (ε, δ) allows."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.privacy.odds import chance, factor, percent

EPSILONS = st.fractions(Fraction(1, 10**9), 100, max_denominator=10**9)
DELTAS = st.fractions(0, Fraction(99, 100), max_denominator=10**9)


def precise(epsilon, delta=Fraction(0)):
    """The same from decimals of 120 digits."""
    with localcontext(Context(prec=120)):
        power = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        return Fraction((power + Decimal(delta.numerator) / Decimal(delta.denominator)) / (1 + power))


@given(EPSILONS, DELTAS)
def test_chances_are_bounds_and_tight(epsilon, delta):
    exact, found = precise(epsilon, delta), chance(epsilon, delta)
    slack = Fraction(1, 10**100)  # of the decimals
    assert exact - slack <= found <= exact + Fraction(1, 10**50)


@given(EPSILONS, DELTAS)
def test_percentages_are_never_rounded_down_nor_up_by_more_than_a_digit(epsilon, delta):
    shown = percent(epsilon, delta)
    number = Fraction(shown.removesuffix(" %"))
    digits = len(shown.removesuffix(" %").partition(".")[2])
    assert number >= 100 * chance(epsilon, delta)
    assert number == 100 or number < 100 * chance(epsilon, delta) + Fraction(1, 10**digits)


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [
        ("0.1", "52.5 %"),
        ("1", "73.2 %"),
        ("3", "95.3 %"),
        ("7", "99.91 %"),
        ("20", "100 %"),
        ("1999", "100 %"),
        ("1e9", "100 %"),
    ],
)
def test_percentages_of_well_known_promises(epsilon, shown):
    assert percent(Fraction(epsilon)) == shown


def test_a_percentage_that_would_be_just_above_a_digit_goes_up():
    """A rounded double of e^ε / (1 + e^ε) would say 60.0 %."""
    epsilon = Fraction(math.log(1.5)) + Fraction(1, 10**17)  # the chance is 0.6 and 10^-17 more
    assert precise(epsilon) > Fraction(6, 10)
    assert percent(epsilon) == "60.1 %"


@given(st.fractions(Fraction(1, 100), 5, max_denominator=1000), st.fractions(0, Fraction(1, 2), max_denominator=1000))
def test_no_pair_of_laws_that_is_private_allows_a_better_guess(epsilon, delta):
    """The worst case of (ε, δ): with probability δ the outcome tells, else it is randomized response."""
    power = Fraction(math.exp(epsilon))
    right = delta + (1 - delta) * power / (1 + power)  # the law of the outcomes, and of a guess by the likelier one
    assert right <= chance(epsilon, delta) + Fraction(1, 10**12)
    assert right >= chance(epsilon, delta) - Fraction(1, 10**12)


@given(EPSILONS)
def test_factors_are_never_rounded_down(epsilon):
    shown = Fraction(factor(epsilon).replace(",", ""))
    with localcontext(Context(prec=80)):
        assert shown >= Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [("0.5", "1.649"), ("10", "22,026.466"), ("14", "1.21e+06"), ("25", "7.21e+10"), ("1000", "1.98e+434")],
)
def test_factors_of_any_size_are_short(epsilon, shown):
    assert factor(Fraction(epsilon)) == shown
