"""Parts 1 and 2: what was published, whose promise it is, and odds that are never rounded down."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp.privacy.odds import percent
from tests.helpers.certificates import DOMAIN, RELEASES, XY, part, running_release, text_of


def facts(text):
    return dict(re.findall(r"^- \*\*(.*?)\*\*: (.*)$", text, re.MULTILINE))


def odds(text):
    """The rows of the table of odds: name, ε, δ, percentage."""
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\| .*%.*\|$", text, re.MULTILINE)]


@pytest.mark.parametrize("name", RELEASES)
def test_the_first_part_has_the_words_of_the_statement(name):
    release = RELEASES[name]()
    text = part(text_of(release), 1)
    assert release.privacy.in_words() in text
    assert release.privacy.counted_in_words() in text
    assert f"estimated numbers of {release.privacy.counted} in" in text
    assert "The records are: ____" in text


def test_the_account_says_which_records_these_are(ledger):
    account = ledger.open("crashes", epsilon=2, about="police records, 2024")
    text = part(text_of(RELEASES["grid"](account=account)), 1)
    assert "counted from the records of the account 'crashes': police records, 2024." in text
    assert "____" not in text
    other = ledger.open("others", epsilon=2)
    assert "The records are: ____" in part(text_of(RELEASES["grid"](account=other)), 1)


def test_epsilon_is_exact_and_its_factor_rounded_up():
    release = sdp.Flat((2, 2)).release([], DOMAIN, epsilon=Fraction(1, 3))
    assert facts(part(text_of(release), 2))["ε"] == "1/3; e^ε is 1.396 (rounded up)"
    assert math.exp(1 / 3) < 1.396 < math.exp(1 / 3) + 0.001
    long = sdp.Flat((2, 2)).release([], DOMAIN, epsilon=Fraction(10**9, 3 * 10**9 + 1))
    assert facts(part(text_of(long), 2))["ε"].startswith("0.333334, exactly 1000000000/3000000001; e^ε")


def test_odds_are_those_of_the_release_and_of_a_person_with_several_records():
    rows = odds(part(text_of(RELEASES["grid"]()), 2))
    assert rows == [
        ["this release, about one record", "1", "0", "73.2 %"],
        ["this release, about a person with 10 records", "10", "0", "99.996 %"],
    ]


def test_odds_about_persons_are_about_persons():
    rows = odds(part(text_of(RELEASES["persons"]()), 2))
    assert [row[0] for row in rows] == [
        "this release, about one person",
        "this release, about a household of 4 persons",
    ]
    assert rows[1][1:] == ["4", "0", percent(Fraction(4))]


def test_odds_of_the_account_are_of_everything_paid_and_of_the_limit(ledger):
    account = ledger.open("crashes", epsilon=3)
    RELEASES["grid"](account=account)
    rows = odds(part(text_of(RELEASES["grid"](account=account)), 2))
    assert rows[2] == ["everything that the account has paid for, about one record", "2", "0", "88.1 %"]
    assert rows[3] == ["everything up to the account's limit, about one record", "3", "0", "95.3 %"]


def test_odds_with_a_delta_are_the_chance_to_guess_right(ledger):
    account = ledger.open("crashes", epsilon=3, delta=0.25, pure=1)
    text = part(text_of(RELEASES["gaussian"](account=account)), 2)
    rows = odds(text)
    assert [row[2] for row in rows[::2]] == ["1e-07", "0.25"]
    assert rows[-1] == [
        "everything up to the account's limit, about one record",
        "3",
        "0.25",
        percent(3, Fraction(1, 4)),
    ]
    assert percent(Fraction(3), Fraction(1, 4)) != percent(Fraction(3))
    assert "guess right with a probability of at most" in text
    assert "on average over what may be published" in text
    assert "Whatever was published, the observer" not in text


def test_pure_promises_hold_whatever_was_published():
    text = part(text_of(RELEASES["grid"]()), 2)
    assert "Whatever was published, the observer can hold it to be true afterwards" in text
    assert "on average" not in text


@pytest.mark.parametrize(
    ("name", "compared", "unit"),
    [
        ("grid", "data sets with and without one record (add-remove)", "one record; a person with k records"),
        ("replace", "data sets of the same size in which one record has another value", "one record; a person with k"),
        ("persons", "data sets with and without one person, with all of", "one person, however many records"),
        ("invariants", "data sets with the same side totals, in which one record is replaced by another of the same",
         "one record; to a person with several records nothing is promised"),
    ],
)  # fmt: skip
def test_who_is_protected_and_what_is_compared(name, compared, unit):
    found = facts(part(text_of(RELEASES[name]()), 2))
    assert found["Compared are"].startswith(compared)
    assert found["Unit"].startswith(unit)


def test_bounds_on_persons_say_how_they_are_held_and_chosen():
    given = facts(part(text_of(RELEASES["persons"]()), 2))
    assert given["Bound on a person"] == RELEASES["persons"]().privacy.person.in_words()
    assert given["How the bound is held"].startswith("enforced by spatialdp")
    assert given["How the bound was chosen"] == "publicly; see part 6"
    chosen = facts(part(text_of(RELEASES["chosen"]()), 2))
    assert chosen["How the bound was chosen"].startswith("privately from 1, 2, 5, 10, 20, 50, 100")
    assert chosen["How the bound was chosen"].endswith("for 0.05 of the budget")
    assert "How the bound was chosen" not in facts(part(text_of(RELEASES["shares"]()), 2))
    assert "Bound on a person" not in facts(part(text_of(RELEASES["grid"]()), 2))


def test_totals_that_are_exact_or_known_are_outside_of_the_promise():
    exact = facts(part(text_of(RELEASES["invariants"]()), 2))
    assert exact["Not protected"] == "the exact totals of side, and what follows from them"
    known = facts(part(text_of(RELEASES["known"]()), 2))
    assert known["Taken as known"] == "totals from elsewhere (2 of level side), which nothing is promised about"


def test_a_promise_with_exact_totals_says_nothing_about_groups():
    text = part(text_of(RELEASES["invariants"]()), 2)
    assert [row[0] for row in odds(text)] == ["this release, about one record"]
    assert "and the exact totals" in text
    assert "the first of two values of the same side" in text


def test_tables_say_that_all_cells_cost_once():
    assert "so all cells together cost ε once" in part(text_of(RELEASES["table"]()), 1)
    assert "all 12 months together cost ε once" in part(text_of(running_release()), 1)


def test_words_follow_the_neighbours():
    assert "that this record is in the data" in part(text_of(RELEASES["grid"]()), 2)
    replaced = sdp.Flat((2, 2)).release(XY, DOMAIN, epsilon=1, neighbours="replace")
    assert "has the first of two values, and not the second" in part(text_of(replaced), 2)
