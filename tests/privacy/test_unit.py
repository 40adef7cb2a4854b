"""The person as the unit of privacy: which bounds there are, what they allow, and how they are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.unit import SHARE_STEPS, Bound, Person, unit_of

PERSONS = [Person(records=1), Person(records=7), Person(cells=1), Person(cells=50), Person(shares=True)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"records": 3, "cells": 3},
        {"records": 3, "shares": True},
        {"records": 0},
        {"cells": -1},
        {"cells": 2.5},
        {"records": True},
        {"shares": "yes"},
        {"records": 10**9 + 1},
    ],
)
def test_a_person_has_exactly_one_bound(options):
    with pytest.raises(ParameterError):
        Person(**options)


def test_the_error_names_what_was_given_and_what_to_give():
    with pytest.raises(ParameterError, match="records and shares, but exactly one"):
        Person(records=2, shares=True)
    with pytest.raises(ParameterError, match=r"Person\(cells=L\)"):
        Person()


@pytest.mark.parametrize("person", PERSONS, ids=str)
def test_bounds_come_back_from_json_and_print_as_they_are_typed(person):
    assert Person.from_json(person.to_json()) == person
    assert eval(repr(person)) == person
    assert unit_of(person) == "person"


@pytest.mark.parametrize(
    "data", [{}, {"cells": 0}, {"cells": "3"}, {"houses": 3}, [3], None, {"cells": 2, "records": 1}]
)
def test_other_json_is_refused(data):
    with pytest.raises((TypeError, ValueError)):
        Person.from_json(data)


@given(st.integers(1, 50), st.integers(1, 10**6), st.integers(1, 10**6))
def test_records_multiply_what_one_record_moves(most, l1, l2_squared):
    moved = Person(records=most).sensitivity(Sensitivity(l1, l2_squared))
    assert moved == Sensitivity(most * l1, most**2 * l2_squared)


def test_shares_move_as_much_as_one_record_in_steps():
    moved = Person(shares=True).sensitivity(Sensitivity(2, 2))
    assert moved == Sensitivity(2 * SHARE_STEPS, 2 * SHARE_STEPS**2, SHARE_STEPS)


def test_words_say_what_was_counted():
    assert [person.bound for person in PERSONS] == [
        Bound.RECORDS,
        Bound.RECORDS,
        Bound.CELLS,
        Bound.CELLS,
        Bound.SHARES,
    ]
    words = [person.in_words() for person in PERSONS]
    assert words[0].endswith("at most 1 record")
    assert "at most 7 records" in words[1]
    assert words[2].endswith("at most 1 cell")
    assert "counted as one in all" in words[4]


def test_a_release_needs_a_bound_and_not_a_name_of_a_column():
    with pytest.raises(ParameterError, match=r"person is a str; give a bound such as spatialdp.Person\(cells=50\)"):
        sdp.Flat((2, 2)).check(sdp.Domain((0, 0, 1, 1)), epsilon=1, person="user_id")


def test_words_agree_with_the_number():
    assert Person(records=1).in_short() == "at most 1 record each"
    assert Person(cells=1200).in_short() == "at most 1,200 cells each"
    assert Person(cells=3).counted_in_words().startswith("An area counts a person once for each of its cells.")
