"""Costs: what a step costs in each pot, never understated, and what no account can add up."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp import Cost
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.ledger.cost import NOTHING, Pots, in_short
from tests.privacy.test_receipt import STATEMENT


def test_pots_are_added_and_compared_one_by_one():
    one, two = Pots(Fraction(1), Fraction(2)), Pots(Fraction(3), Fraction(1))
    assert one + two == Pots(Fraction(4), Fraction(3))
    assert (one + two) - two == one
    assert one.fits(one)
    assert not one.fits(two)
    assert not two.fits(one)
    assert NOTHING.fits(one)


def test_costs_add_up_in_each_pot():
    cost = Cost.pure(0.1) + Cost.zcdp(0.02) + Cost.selection(0.2, exponential=True)
    assert cost.pots == Pots(Fraction(3, 10), Fraction(1, 50))
    assert cost.in_zcdp().pots == Pots(Fraction(0), Fraction(1, 50) + Fraction(1, 200) + Fraction(1, 200))


@pytest.mark.parametrize("amount", [0, -1, -0.1])
@pytest.mark.parametrize("make", [Cost.pure, Cost.zcdp, lambda amount: Cost.selection(amount, exponential=True)])
def test_costs_are_above_zero(make, amount):
    with pytest.raises(BudgetError, match="must be above 0"):
        make(amount)


@pytest.mark.parametrize("amount", [math.nan, math.inf, "1", None, True])
def test_costs_are_numbers(amount):
    with pytest.raises(BudgetError):
        Cost.pure(amount)


def test_costs_are_exact():
    assert repr(Cost.pure(0.1) + Cost.zcdp(0.01)) == "Cost(epsilon=1/10, rho=1/100)"
    assert Cost.pure(0.1).epsilon == Fraction(1, 10)
    assert Cost.pure(Decimal("0.3")).epsilon == Fraction(3, 10)


def test_a_release_costs_its_epsilon_or_what_its_steps_spent_in_zcdp():
    domain = sdp.Domain((0, 0, 1, 1))
    laplace = sdp.Quadtree(height=2).release([], domain, epsilon=0.3).privacy
    gaussian = sdp.Quadtree(height=2, law="gaussian").release([], domain, epsilon=1, delta=1e-6).privacy
    assert Cost.of(laplace).pots == Pots(Fraction(3, 10), Fraction(0))
    assert Cost.of(laplace).concentrated == Fraction(9, 200)
    assert Cost.of(gaussian).pots == Pots(Fraction(0), sum(gaussian.budget.values()))


@pytest.mark.parametrize(
    "statement",
    [
        replace(STATEMENT, private=False),
        replace(STATEMENT, neighbours="replace", invariants=("state",)),
        replace(STATEMENT, delta=Fraction(1, 10**6)),
    ],
)
def test_what_cannot_be_added_up_is_refused(statement):
    with pytest.raises(ParameterError, match="without an account"):
        Cost.of(statement)


# --- what a private choice costs in zCDP, by the laws themselves -----------------------------------


def exponential_law(scores, epsilon):
    """Probabilities of the exponential mechanism, of sensitivity 1."""
    weights = np.exp(epsilon * np.array(scores) / 2)
    return weights / weights.sum()


def permute_and_flip_law(scores, epsilon):
    """Probabilities of permute-and-flip, by all orders of the candidates."""
    chances = np.zeros(len(scores))
    accept = np.exp(epsilon * (np.array(scores) - max(scores)) / 2)
    for order in permutations(range(len(scores))):
        left = 1 / math.factorial(len(scores))
        for candidate in order:
            chances[candidate] += left * accept[candidate]
            left *= 1 - accept[candidate]
    return chances


def largest_rho(law, epsilon, candidates=3):
    """The largest Rényi divergence over its order, of all neighbouring scores and many orders."""
    worst = 0.0
    steps = list(product((-1, 0, 1), repeat=candidates))
    for scores in product(range(3), repeat=candidates):
        for step in steps:
            first, second = law(scores, epsilon), law(np.add(scores, step), epsilon)
            for order in (1.01, 1.5, 2, 4, 8):
                divergence = math.log(np.sum(first**order * second ** (1 - order))) / (order - 1)
                worst = max(worst, divergence / order)
    return worst


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_exponential_mechanism_costs_an_eighth_and_permute_and_flip_more(epsilon):
    """So that whoever charges permute-and-flip at ε²/8, too, is found out."""
    eighth, half = (float(Cost.selection(epsilon, exponential=kind).in_zcdp().rho) for kind in (True, False))
    assert largest_rho(exponential_law, epsilon) <= eighth
    assert eighth < largest_rho(permute_and_flip_law, epsilon) <= half
    assert half == float(Cost.pure(epsilon).in_zcdp().rho)


# --- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (Fraction(1, 10), "0.1", "0.1"),
        (Fraction(0), "0", "0"),
        (Fraction(1, 3), "1/3", "1/3"),
        (Fraction(10**9 + 1, 3 * 10**9), "0.333334", "0.333333"),
        (Fraction(10**399), "1.00000E+399", "1.00000E+399"),
        (Fraction(10**12 + 1, 3), "3.33334E+11", "3.33333E+11"),
        (Fraction(2**70 + 1, 2**70), "1.00001", "1.00000"),
    ],
)
def test_amounts_are_rounded_in_the_direction_that_was_asked_for(value, up, down):
    assert in_short(value) == up
    assert in_short(value, down=True) == down


def test_amounts_with_long_denominators_are_shown():
    value = sum((Fraction(1, k) for k in range(1, 3000)), Fraction(0))
    assert len(f"{value.denominator:x}") > 1000
    assert in_short(value / 3**9000) == in_short(value / 3**9000)
    assert float(in_short(value)) >= float(value) >= float(in_short(value, down=True))


def test_amounts_with_thousands_of_digits_are_written_with_six():
    """Python refuses to write whole numbers of more than 4,300 digits."""
    long = Pots(Fraction(10**5000, 3 * 10**5000 + 1), Fraction(1, 2))
    assert long.to_json() == {"epsilon": "0.333334", "rho": "1/2"}
    assert long.to_json(down=True)["epsilon"] == "0.333333"
