"""Privacy statements: written and read back they are the same, altered they are refused, and they never understate."""

from __future__ import annotations

import copy
import html
import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.errors import FileFormatError, ParameterError, ReleaseError
from spatialdp.privacy.accounting import promise_for_records, rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.statement import Privacy, format_exact
from spatialdp.privacy.unit import Person

PLAIN = Privacy(
    epsilon=Fraction(1, 10),
    delta=Fraction(0),
    neighbours="add-remove",
    unit="record",
    mechanism="flat",
    parameters={"shape": (4, 4)},
    currency="epsilon",
    budget={"selection": Fraction(1, 40), "counts": Fraction(3, 40)},
    private=True,
    version="1.2.3",
)
GAUSSIAN = replace(
    PLAIN,
    epsilon=Fraction(1),
    delta=Fraction(1, 10**9),
    currency="rho",
    budget={"counts": rho_for(Budget(1, Fraction(1, 10**9)))},
)


@pytest.mark.parametrize("statement", [PLAIN, GAUSSIAN, replace(PLAIN, private=False)])
def test_statements_come_back_from_json_as_they_were(statement):
    assert Privacy.from_json(json.loads(json.dumps(statement.to_json()))) == statement


def as_first_written(data):
    """A statement as version 0.1.0 wrote it at first: exact fractions alone, under the names that numbers have now."""
    exact = {name: data[f"{name}_exact"] for name in ("epsilon", "delta", "budget")}
    return {**{name: value for name, value in data.items() if not name.endswith("_exact")}, **exact}


@pytest.mark.parametrize("statement", [PLAIN, GAUSSIAN, replace(PLAIN, private=False)])
def test_old_statements_are_read(statement):
    old = as_first_written(statement.to_json())
    assert old["epsilon"] == str(statement.epsilon)
    assert Privacy.from_json(json.loads(json.dumps(old))) == statement


def test_json_has_numbers_beside_the_exact_ones():
    data = json.loads(json.dumps(PLAIN.to_json()))
    assert (data["epsilon"], data["epsilon_exact"]) == (0.1, "1/10")
    assert (data["delta"], data["delta_exact"]) == (0, "0")
    assert data["budget"] == {"selection": 0.025, "counts": 0.075}
    assert data["budget_exact"] == {"selection": "1/40", "counts": "3/40"}


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.2},
        {"epsilon": "1/10"},
        {"epsilon": True, "epsilon_exact": "1"},
        {"epsilon": None},
        {"epsilon_exact": "1/5"},
        {"epsilon_exact": 0.1},
        {"delta": 1e-9},
        {"budget": {"selection": 0.025, "counts": 0.07}},
        {"budget": {"selection": 0.025}},
        {"budget": [0.025, 0.075]},
        {"budget_exact": {"selection": "1/40"}},
        {"budget_exact": "1/10"},
    ],
    ids=str,
)
def test_numbers_that_are_not_the_exact_ones_are_refused(change):
    with pytest.raises(FileFormatError, match="privacy statement"):
        Privacy.from_json({**PLAIN.to_json(), **change})


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1/20"},  # less than was spent
        {"epsilon": "0"},
        {"epsilon": 0.1},
        {"epsilon": "1/0"},
        {"delta": "2"},
        {"neighbours": "substitute"},
        {"unit": "person"},
        {"mechanism": "Flat!"},
        {"mechanism": None},
        {"parameters": []},
        {"parameters": {"shape": [4, {4}]}},
        {"currency": "euro"},
        {"budget": {}},
        {"budget": {"counts": "-1/10"}},
        {"budget": {"counts": "1/10", "more": "1/10"}},
        {"budget": {"counts": "0"}},
        {"private": 1},
        {"private": "true"},
        {"version": "<script>"},
    ],
    ids=str,
)
def test_statements_that_contradict_themselves_are_refused(change):
    with pytest.raises(FileFormatError, match="privacy statement"):
        Privacy.from_json({**as_first_written(PLAIN.to_json()), **change})
    exact = {f"{name}_exact": change.pop(name) for name in ("epsilon", "delta", "budget") if name in change}
    with pytest.raises(FileFormatError, match="privacy statement"):
        Privacy.from_json({**PLAIN.to_json(), **change, **exact, **_numbers(exact)})


def _numbers(exact):
    """The numbers that belong to exact ones, where there are such."""
    try:
        return {
            name.removesuffix("_exact"): {key: float(Fraction(text)) for key, text in value.items()}
            if isinstance(value, dict)
            else float(Fraction(value))
            for name, value in exact.items()
        }
    except ZeroDivisionError:
        return {}


@pytest.mark.parametrize("name", list(PLAIN.to_json()))
def test_statements_with_something_missing_are_refused(name):
    data = PLAIN.to_json()
    del data[name]
    with pytest.raises(FileFormatError):
        Privacy.from_json(data)


def test_more_rho_than_epsilon_and_delta_allow_is_refused():
    spent = GAUSSIAN.budget["counts"]
    Privacy.from_json(GAUSSIAN.to_json())
    with pytest.raises(FileFormatError):
        Privacy.from_json({**GAUSSIAN.to_json(), "budget": {"counts": str(spent + Fraction(1, 2**80))}})


def test_statements_cannot_be_changed_but_copied():
    with pytest.raises(FrozenInstanceError):
        PLAIN.epsilon = Fraction(0)
    for mapping in (PLAIN.budget, PLAIN.parameters):
        for change in (
            lambda held: held.update(a=1),
            lambda held: held.__setitem__("a", 1),
            lambda held: held.clear(),
            lambda held: held.pop("counts", None),
            lambda held: held.setdefault("a", 1),
        ):
            with pytest.raises(TypeError, match="changed"):
                change(mapping)
    for again in (copy.deepcopy(PLAIN), pickle.loads(pickle.dumps(PLAIN))):
        assert again == PLAIN
        assert type(again.budget) is type(PLAIN.budget)


@given(st.fractions(Fraction(1, 10**9), 1000))
def test_numbers_for_people_are_exact_or_rounded_up_by_little(value):
    shown = Fraction(format_exact(value))
    assert value <= shown <= value * (1 + Fraction(1, 10**4))


@given(st.fractions(Fraction(1, 10**6), 1000, max_denominator=10**9))
def test_the_factor_in_words_is_never_smaller_than_it_is(epsilon):
    words = replace(PLAIN, epsilon=epsilon).in_words()
    shown = float(words.split("e^ε = ")[1].split()[0].rstrip(".").replace(",", ""))
    exact = math.exp(epsilon) if epsilon < 700 else math.inf
    assert shown >= exact * (1 - 1e-12)
    assert shown <= exact * 1.01 + 1e-3


def test_words_tell_the_relation_the_delta_and_what_is_not_private():
    assert "were left out or added" in PLAIN.in_words()
    assert "had any other value" in replace(PLAIN, neighbours="replace").in_words()
    assert "1e-09" in GAUSSIAN.in_words()
    seeded = replace(PLAIN, private=False)
    assert seeded.in_words().startswith("NOT PRIVATE")
    assert str(seeded).startswith("NOT PRIVATE")
    assert str(PLAIN) == "ε = 0.1 (add-remove one record), flat, spatialdp 1.2.3"


def test_several_records_are_promised_less():
    assert PLAIN.for_records(10) == (1, 0)
    assert PLAIN.for_records(1) == (PLAIN.epsilon, 0)
    promise = GAUSSIAN.for_records(5)
    spent = sum(GAUSSIAN.budget.values())
    assert promise == promise_for_records(Budget(GAUSSIAN.epsilon, GAUSSIAN.delta), spent, 5)
    assert promise.delta > 5 * GAUSSIAN.delta
    with pytest.raises(ReleaseError, match="promises nothing"):
        replace(PLAIN, private=False).for_records(2)


def test_short_fractions_are_shown_as_they_are():
    assert [format_exact(Fraction(text)) for text in ("1/3", "1/10", "1")] == ["1/3", "0.1", "1"]


def test_words_say_that_the_factor_is_rounded():
    """e^1 is 2.71828..., not 2.719."""
    assert "e^ε = 2.719 (rounded up)" in replace(PLAIN, epsilon=Fraction(1)).in_words()


def test_notebooks_show_the_statement_and_escape_what_a_forged_file_says():
    release = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.5)
    forged = replace(release.privacy, parameters={"<script>": "<img src=x>"}, private=False)
    text, marked = release.privacy._repr_html_(), forged._repr_html_()
    assert "0.5" in text
    assert release.privacy.in_words() in html.unescape(text)
    assert "NOT PRIVATE" not in text
    assert "NOT PRIVATE" in marked
    assert "<script>" not in marked
    assert "<img" not in marked


@pytest.mark.parametrize("text", ["\x1b[2J", "a\nb", "\u202e", "\x9b"])
def test_texts_that_could_move_a_cursor_are_refused(text):
    """Wherever a statement has room for them; texts that can be shown are taken."""
    places = [
        lambda word: {"parameters": {word: 1}},
        lambda word: {"parameters": {"shape": word}},
        lambda word: {"parameters": {"shape": [1, [word]]}},
        lambda word: {"parameters": {"shape": {"a": [word]}}},
        lambda word: {"parameters": {"shape": {word: None}}},
        lambda word: {"budget": {word: 0.1}, "budget_exact": {word: "1/10"}},
    ]
    for place in places:
        assert Privacy.from_json(PLAIN.to_json() | place("Straße α"))
        with pytest.raises(FileFormatError, match="not in the expected form"):
            Privacy.from_json(PLAIN.to_json() | place(text))


@pytest.mark.parametrize("person", [sdp.Person(records=3), sdp.Person(cells=1), sdp.Person(shares=True)])
def test_statements_about_persons_say_what_was_bounded(person):
    statement = sdp.Flat((2, 2)).prepare(sdp.Domain((0, 0, 1, 1)), epsilon=1, person=person).statement
    assert Privacy.from_json(statement.to_json()) == statement
    assert (statement.unit, statement.person) == ("person", person)
    assert f"one person, {person.in_short()})" in str(statement)
    assert person.in_words() in statement.in_words()
    assert "with k records" not in statement.in_words()
    assert person.in_short() in statement._repr_html_()


@pytest.mark.parametrize("change", [{"unit": "record"}, {"person": {"cells": 0}}, {"person": 3}, {"person": {}}])
def test_statements_that_contradict_themselves_about_persons_are_refused(change):
    statement = sdp.Flat((2, 2)).prepare(sdp.Domain((0, 0, 1, 1)), epsilon=1, person=sdp.Person(cells=2)).statement
    with pytest.raises(FileFormatError):
        Privacy.from_json(statement.to_json() | change)


def test_a_person_without_a_bound_is_refused():
    statement = sdp.Flat((2, 2)).prepare(sdp.Domain((0, 0, 1, 1)), epsilon=1).statement
    with pytest.raises(FileFormatError):
        Privacy.from_json(statement.to_json() | {"unit": "person"})


def test_groups_of_persons_are_promised_more_loss():
    persons = replace(PLAIN, unit="person", person=Person(cells=3))
    assert persons.for_persons(10) == PLAIN.for_records(10) == persons.for_records(10)
    with pytest.raises(ReleaseError, match="protects single records"):
        PLAIN.for_persons(2)
    with pytest.raises(ReleaseError, match="to one person or to several"):
        replace(persons, private=False).for_persons(2)
    with pytest.raises(ParameterError, match="persons is 0"):
        persons.for_persons(0)


@pytest.mark.parametrize(
    ("person", "noun"),
    [
        (None, "records"),
        (Person(records=3), "records"),
        (Person(cells=3), "presences"),
        (Person(shares=True), "persons"),
    ],
)
def test_one_word_says_what_is_counted(person, noun):
    privacy = replace(PLAIN, person=person, unit="record" if person is None else "person")
    assert privacy.counted == noun
    assert bool(privacy.counted_in_words()) == (person is not None)
    cut = person is not None and not person.shares
    assert ("were left out" in privacy.counted_in_words()) == cut


# --- invariants ----------------------------------------------------------------------------------------


def with_invariants(**changes):
    plain = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1, neighbours="replace").privacy
    return replace(plain, invariants=("state", "county"), **changes)


def test_exact_totals_are_named_in_every_form():
    privacy = with_invariants()
    assert "replace one record of the same county; not plain ε-DP: state and county totals are exact" in str(privacy)
    assert "same county; not plain ε-DP" in privacy._repr_html_()
    words = privacy.in_words()
    assert words.startswith("This is not ε-differential privacy in the plain sense")
    assert "replaced by another of the same county" in words
    assert "e^ε = 2.719" in words
    assert privacy.to_json()["invariants"] == ["state", "county"]
    assert sdp.Privacy.from_json(privacy.to_json()) == privacy
    with pytest.raises(ReleaseError, match="groups of records"):
        privacy.for_records(2)


def test_statements_without_exact_totals_do_not_speak_of_them():
    privacy = replace(with_invariants(), invariants=())
    assert "invariants" not in privacy.to_json()
    assert "plain" not in f"{privacy} {privacy.in_words()}"
    assert privacy.for_records(2).epsilon == 2


@pytest.mark.parametrize(
    "change",
    [
        {"neighbours": "add-remove"},
        {"invariants": []},
        {"invariants": "state"},
        {"invariants": [1]},
        {"invariants": ["\x1b[31m"]},
        {"unit": "person", "person": {"records": 3}},
    ],
)
def test_statements_that_contradict_their_exact_totals_are_refused(change):
    with pytest.raises(FileFormatError):
        sdp.Privacy.from_json(with_invariants().to_json() | change)
