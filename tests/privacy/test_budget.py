"""Budgets are exact, and absurd ones are refused."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.errors import BudgetError
from spatialdp.privacy.budget import Budget, divide, exact
from tests.helpers.sources import ZeroNoise

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=100)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1, Fraction(1)),
        (1e-3, Fraction(1, 1000)),
        (Decimal("0.3"), Fraction(3, 10)),
        (Fraction(2, 3), Fraction(2, 3)),
        (np.float64(0.7), Fraction(7, 10)),
        (np.int64(2), Fraction(2)),
        (np.int8(1), Fraction(1)),
    ],
)
def test_numbers_are_read_as_typed(typed, meant):
    assert Budget(typed).epsilon == meant


@pytest.mark.parametrize(
    "bad",
    [
        *(0, -1, -0.0, math.nan, math.inf, -math.inf, 1e-10, 1001, 1e300, "1", None, True, 1j, [1]),
        *(Decimal(text) for text in ("NaN", "sNaN", "1e-99999999", "Infinity")),
        Fraction(10**500 + 1, 10**500),
    ],
)
def test_absurd_epsilon_is_refused(bad):
    with pytest.raises(BudgetError, match="epsilon"):
        Budget(bad)


@pytest.mark.parametrize("bad", [-1e-9, 1, 2, math.nan, "0", None, 1e-320, Fraction(1, 10**299 * 11)])
def test_absurd_delta_is_refused(bad):
    with pytest.raises(BudgetError, match="delta"):
        Budget(1, bad)


def test_absurd_epsilon_is_refused_before_a_record_is_read():
    import spatialdp as sdp

    class Explosive:
        def __getattr__(self, name):
            raise AssertionError("a record was looked at")

        def __array__(self, *args, **kwargs):
            raise AssertionError("a record was looked at")

    domain = sdp.Domain((0, 0, 1, 1))
    for epsilon, delta in ((0, 0), (-1, 0), (math.nan, 0), (math.inf, 0), (1, 2), (1, 1e-9)):
        with pytest.raises(BudgetError):
            sdp.Flat((2, 2)).release(Explosive(), domain, epsilon=epsilon, delta=delta, noise=ZeroNoise())


@given(epsilons, st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=30))
def test_parts_never_exceed_the_whole(epsilon, weights):
    if not any(weights):
        weights[0] = 1.0
    parts = divide(epsilon, weights)
    assert sum(parts) == epsilon
    assert min(parts) >= 0
    total = sum(Fraction(repr(w)) for w in weights)
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part - epsilon * Fraction(repr(weight)) / total) <= epsilon * Fraction(len(weights), 2**40)
    assert all((part == 0) or weight > 0 for part, weight in zip(parts, weights, strict=True))


@given(epsilons, st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_whole_number_weights_divide_exactly(epsilon, weights):
    weights[0] += 1
    assert sum(divide(epsilon, weights)) == epsilon


def test_steps_keep_their_names():
    assert Budget(1).split({"medians": Fraction(3), "counts": 7}) == {
        "medians": Fraction(3, 10),
        "counts": Fraction(7, 10),
    }
    assert Budget(1).levels([1, 0, 1]) == (Fraction(1, 2), 0, Fraction(1, 2))


@pytest.mark.parametrize("bad", [[], [0, 0], [1, -1], [math.nan], ["1"]])
def test_weights_that_make_no_sense_are_refused(bad):
    with pytest.raises(BudgetError):
        divide(Fraction(1), bad)


def test_exact_names_what_was_given():
    with pytest.raises(BudgetError, match="share is 'x' of type str"):
        exact("x", "share")
