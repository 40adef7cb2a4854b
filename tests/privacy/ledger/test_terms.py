"""Terms: which limits there are, what pots they become, and what a step costs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.ledger.cost import Cost, Pots
from spatialdp.privacy.ledger.terms import Terms, agreed, charge, checked_name

PURE = agreed(2, 0, None, "add-remove", "record", 1, "")
BOTH = agreed(2, 1e-9, 1, "replace", "record", 1, "about")
PERSONS = agreed(2, 1e-9, 1, "add-remove", "person", 5, "")


def test_a_limit_without_a_delta_is_one_pot():
    assert PURE.limit == Pots(Fraction(2), Fraction(0))
    assert agreed(2, 0, 2, "add-remove", "record", 1, "") == PURE
    assert agreed(2, 0, None, "add-remove", "record", None, "") == PURE


def test_a_limit_with_a_delta_is_two_pots_that_add_up_to_it():
    assert BOTH.limit == Pots(Fraction(1), rho_for(Budget(1, 1e-9)))
    assert agreed(2, 1e-9, 0, "replace", "record", 1, "").limit == Pots(Fraction(0), rho_for(Budget(2, 1e-9)))


@pytest.mark.parametrize("terms", [PURE, BOTH, PERSONS, agreed(2, 0, None, "replace", "person", None, "")])
def test_terms_come_back_from_json(terms):
    assert Terms.from_json(terms.to_json()) == terms


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "x"},
        {"rho": 0.1},
        {"neighbours": "other"},
        {"unit": "house"},
        {"unit": None},
        {"records": 0},
        {"records": None},
        {"about": 1},
    ],
)
def test_other_terms_are_refused(change):
    with pytest.raises((ValueError, TypeError)):
        Terms.from_json({**PURE.to_json(), **change})


@pytest.mark.parametrize(
    ("terms", "error"),
    [
        ((0, 0, None, "add-remove", "record", 1, ""), BudgetError),
        ((2, 1, None, "add-remove", "record", 1, ""), BudgetError),
        ((2, 0, 1, "add-remove", "record", 1, ""), ParameterError),
        ((2, 1e-9, None, "add-remove", "record", 1, ""), ParameterError),
        ((2, 1e-9, 2, "add-remove", "record", 1, ""), ParameterError),
        ((2, 1e-9, -1, "add-remove", "record", 1, ""), ParameterError),
        ((2, 0, None, "other", "record", 1, ""), ParameterError),
        ((2, 0, None, "add-remove", "house", 1, ""), ParameterError),
        ((2, 0, None, "add-remove", "record", 2, ""), ParameterError),
        ((2, 0, None, "add-remove", "person", 0, ""), ParameterError),
        ((2, 0, None, "add-remove", "record", 1, "\x1b"), ParameterError),
    ],
)
def test_limits_that_promise_nothing_are_refused(terms, error):
    with pytest.raises(error):
        agreed(*terms)


def test_a_new_limit_keeps_what_is_not_given():
    assert PURE.with_limit(3, None, None).limit == Pots(Fraction(3), Fraction(0))
    assert BOTH.with_limit(3, None, None).limit == Pots(Fraction(1), rho_for(Budget(2, 1e-9)))
    assert BOTH.with_limit(None, None, Fraction(1, 2)).limit == Pots(Fraction(1, 2), rho_for(Budget(1.5, 1e-9)))
    assert BOTH.with_limit(None, 0, None).limit == Pots(Fraction(2), Fraction(0))
    with pytest.raises(ParameterError, match="divided once and for all"):
        PURE.with_limit(None, 1e-9, None)


def test_a_record_costs_what_the_step_costs():
    cost = Cost.pure(0.1) + Cost.zcdp(0.02)
    assert charge(cost, "record", "add-remove", PURE, stays=True) == cost.pots


def test_a_person_costs_as_many_times_as_there_are_records():
    cost = Cost.pure(0.1) + Cost.zcdp(0.02)
    assert charge(cost, "record", "add-remove", PERSONS, stays=True) == Pots(Fraction(1, 2), Fraction(1, 2))
    assert charge(cost, "person", "add-remove", PERSONS, stays=True) == cost.pots
    assert charge(cost, "person", "add-remove", PERSONS, stays=False) == Pots(Fraction(1, 2), Fraction(1, 10))


def test_promises_that_do_not_add_up_are_refused():
    with pytest.raises(ParameterError, match="compares data sets by 'add-remove'"):
        charge(Cost.pure(1), "record", "replace", PURE, stays=True)
    with pytest.raises(ParameterError, match="'record' or 'person'"):
        charge(Cost.pure(1), "house", "add-remove", PURE, stays=True)
    with pytest.raises(ParameterError, match="not adding a person"):
        charge(Cost.pure(1), "person", "add-remove", PURE, stays=True)


def test_costs_with_endless_denominators_are_refused():
    cost = sum((Cost.pure(Fraction(1, 10**399 + number)) for number in range(1, 8)), Cost.pure(1))
    with pytest.raises(BudgetError, match="1,900 digits"):
        charge(cost, "record", "add-remove", PURE, stays=True)


@pytest.mark.parametrize("name", ["", " ", " a", "a ", "a\nb", "\x1b[2J", "a" * 201, None, 7, "a\u202eb", "\ud800"])
def test_names_that_cannot_be_read_are_refused(name):
    with pytest.raises(ParameterError, match="printable"):
        checked_name(name, "name")


def test_one_name_has_one_form():
    assert checked_name("Cafe\u0301", "name") == checked_name("Café", "name")
