"""Part 6: what people confirm follows from the release, and what is not promised stands there, whoever signs."""

from __future__ import annotations

import re

import pytest

from tests.helpers.certificates import RELEASES, part, text_of


def boxes(text):
    return re.findall(r"^- \[ \] (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("grid", "A person has one record in these data, or ε was chosen for the largest number"),
        ("gaussian", "A person has one record in these data, or ε and δ were chosen for the largest number"),
        ("persons", "The identifiers in the records say who is who"),
        ("persons", "The bound on what one person contributes was not taken from these records."),
        ("chosen", "The identifiers in the records say who is who"),
        ("known", "The totals that were taken as known come from elsewhere"),
        ("invariants", "The exact totals of side may be published: nothing protects them."),
    ],
)
def test_what_is_confirmed_follows_from_the_release(name, words):
    assert any(words in each for each in boxes(part(text_of(RELEASES[name]()), 6)))


@pytest.mark.parametrize("name", ["chosen", "shares"])
def test_a_bound_that_nobody_chose_needs_no_confirmation(name):
    assert not any("bound on what one person" in each for each in boxes(part(text_of(RELEASES[name]()), 6)))


@pytest.mark.parametrize("name", RELEASES)
def test_everybody_confirms_parameters_places_releases_and_machine(name):
    found = boxes(part(text_of(RELEASES[name]()), 6))
    for words in ("without looking at these records", "are public, and were not", "other releases", "machine"):
        assert sum(words in each for each in found) == 1, words


def test_accounts_are_confirmed_as_the_only_ones(ledger):
    account = ledger.open("visits", epsilon=9, unit="person", records=3)
    found = boxes(part(text_of(RELEASES["grid"](account=account)), 6))
    (every,) = (each for each in found if "was paid from this account" in each)
    assert every.endswith("the only one for them. No person has more than 3 records in all of these data.")
    other = RELEASES["grid"](account=ledger.open("crashes", epsilon=2))
    assert not any("No person has more" in each for each in boxes(part(text_of(other), 6)))


@pytest.mark.parametrize("name", RELEASES)
def test_what_is_not_promised_stands_there(name):
    text = part(text_of(RELEASES[name]()), 6)
    for words in ("facts about everyone", "no account paid for", "time and memory", "can be taken back", "a family"):
        assert words in text


def test_assumptions_name_the_unit_of_promises_to_groups():
    assert "More than kε to k persons together" in part(text_of(RELEASES["persons"]()), 6)
    assert "More than kε to a person with k records" in part(text_of(RELEASES["grid"]()), 6)
    assert "anything about the exact totals" in part(text_of(RELEASES["invariants"]()), 6)
    assert "More than kε" not in part(text_of(RELEASES["invariants"]()), 6)
