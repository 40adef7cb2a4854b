"""A bound that is chosen privately: which values it takes, and how it is told."""

from __future__ import annotations

from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.chosen import Chosen
from spatialdp.privacy.unit import Bound, Person


def test_shares_are_exact_and_candidates_are_a_tuple():
    chosen = Chosen(share=0.1, candidates=[3, 9], area=1)
    assert (chosen.share, chosen.candidates, chosen.area) == (Fraction(1, 10), (3, 9), 1)
    assert chosen == Chosen(Fraction(1, 10), (3, 9), 1.0)
    assert hash(chosen) == hash(Chosen(Fraction(1, 10), (3, 9), 1.0))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"share": 0}, "share is 0; it must be above 0 and below 1"),
        ({"share": 1}, "share is 1; it must be above 0 and below 1"),
        ({"area": 2}, "area is 2; it must be above 0 and at most 1"),
        ({"area": -1}, "area is -1; it must be above 0 and at most 1"),
        ({"candidates": (5,)}, "at least two"),
        ({"candidates": ()}, "at least two"),
        ({"candidates": (5, 5)}, "rising order"),
        ({"candidates": (5, 2)}, "rising order"),
        ({"candidates": "12"}, "rising order"),
        ({"candidates": 7}, "rising order"),
        ({"candidates": tuple(range(1, 102))}, "at most 100"),
        ({"candidates": (0, 2)}, "whole number from 1"),
        ({"candidates": (1, 2.5)}, "whole number from 1"),
        ({"candidates": (1, 10**9 + 1)}, "whole number from 1"),
    ],
)
def test_other_values_are_refused(options, match):
    with pytest.raises(ParameterError, match=match):
        Chosen(**options)


def test_shares_must_be_numbers():
    with pytest.raises(BudgetError, match="share is 'much'"):
        Chosen(share="much")


def test_texts_show_what_is_not_usual():
    assert repr(Chosen()) == "Chosen()"
    assert repr(Chosen(share=0.1, candidates=(1, 2))) == "Chosen(share=1/10, candidates=(1, 2))"
    assert repr(Person(records=Chosen(area=1))) == "Person(records=Chosen(area=1))"


@pytest.mark.parametrize("chosen", [Chosen(), Chosen(0.5, (7, 8, 9), Fraction(1, 3))])
def test_values_come_back_from_json(chosen):
    assert Chosen.from_json(chosen.to_json()) == chosen


@pytest.mark.parametrize(
    "change",
    [
        {"share": "1"},
        {"share": 0.1},
        {"share": "-1/2"},
        {"area": f"{10**399}0/3"},
        {"candidates": [2, 1]},
        {"candidates": ["1", "2"]},
        {"candidates": None},
        {"more": 1},
    ],
)
def test_other_json_is_refused(change):
    with pytest.raises((TypeError, ValueError)):
        Chosen.from_json(Chosen().to_json() | change)
    with pytest.raises(ValueError, match=r"^$"):
        Chosen.from_json({})


# --- in a person -----------------------------------------------------------------------------------


def test_a_person_with_a_choice_has_no_number_yet():
    person = Person(cells=Chosen())
    assert (person.bound, person.choice) == (Bound.CELLS, Chosen())
    assert Person(cells=5).choice is None
    with pytest.raises(ParameterError, match=r"chosen privately when records are released.*Person\(cells=50\)"):
        _ = person.most
    assert "chosen privately" in person.in_short()
    assert "chosen privately" in person.in_words()
    assert Person.from_json(person.to_json()) == person


@pytest.mark.parametrize("name", ["records", "cells"])
def test_a_chosen_number_says_how_it_was_chosen(name):
    person = Person(**{name: Chosen()}).at(50)
    assert (person.most, person.chosen, person.choice) == (50, Chosen(), None)
    assert person != Person(**{name: 50})
    assert person.in_short() == f"at most 50 {name} each, chosen privately"
    assert person.in_words().endswith(f"at most 50 {name}, a number that was chosen privately")
    assert person.to_json() == {name: 50, "chosen": Chosen().to_json()}
    assert Person.from_json(person.to_json()) == person


@pytest.mark.parametrize(
    "options",
    [
        {"cells": 3, "chosen": Chosen()},
        {"shares": True, "chosen": Chosen()},
        {"cells": 5, "chosen": True},
        {"cells": Chosen(), "chosen": Chosen()},
    ],
)
def test_a_number_that_is_no_candidate_was_not_chosen(options):
    with pytest.raises(ParameterError, match="leave it out, because a release fills it in"):
        Person(**options)


def test_only_a_release_says_that_a_bound_was_chosen():
    person = Person(cells=Chosen()).at(50)
    with pytest.raises(ParameterError, match=r"only a release may say so; give a plain bound such as .*cells=50"):
        sdp.Flat((2, 2)).check(sdp.Domain((0, 0, 1, 1)), epsilon=1, person=person)


def test_shares_have_nothing_to_choose():
    with pytest.raises(ParameterError, match="shares"):
        Person(shares=Chosen())
