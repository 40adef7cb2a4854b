"""Ledgers: opening accounts, new limits, adopting, and what they show."""

from __future__ import annotations

import pickle
import shutil
from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp import Cost
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.ledger import ledger as module
from tests.helpers.ledgers import RECORD, pay

WHO = {"who": "A. Keeper", "why": "a second year"}


def test_an_account_is_opened_once(ledger):
    first = ledger.open("crashes", epsilon=2, about="police records")
    pay(first, 0.5)
    for again in (ledger.open("crashes", epsilon=2), ledger.open("crashes", epsilon=2.0, about="police records")):
        assert again.spent.epsilon == Fraction(1, 2)
    assert ledger.account("crashes").left.epsilon == Fraction(3, 2)
    assert ledger.accounts == ("crashes",)
    assert len(ledger.entries) == 2


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"epsilon": 3}, "epsilon='2', not '3'"),
        ({"epsilon": 2, "delta": 1e-9, "pure": 1}, "delta='0', not"),
        ({"epsilon": 2, "neighbours": "replace"}, "neighbours='add-remove', not 'replace'"),
        ({"epsilon": 2, "unit": "person", "records": 3}, "records=1, not 3 and unit='record', not 'person'"),
        ({"epsilon": 2, "about": "other"}, "about='police records', not 'other'"),
    ],
)
def test_an_account_with_other_terms_is_another_account(ledger, terms, words):
    ledger.open("crashes", epsilon=2, about="police records")
    with pytest.raises(ParameterError, match=words):
        ledger.open("crashes", **terms)


def test_an_account_that_another_process_opened_meanwhile_is_returned(ledger, monkeypatch):
    ledger.open("crashes", epsilon=2)
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "read", lambda _: None)
        account = ledger.open("crashes", epsilon=2)
    assert len(ledger.entries) == 1
    assert account.limit.epsilon == 2


def test_an_account_that_is_unknown_is_named(ledger):
    with pytest.raises(ParameterError, match="no account 'crashes'"):
        ledger.account("crashes")
    with pytest.raises(ParameterError, match="name is 7"):
        ledger.open(7, epsilon=1)


def test_a_ledger_has_a_number_of_its_own(ledger, folder):
    other = sdp.Ledger(folder / "other.ledger")
    assert len(ledger.id) == 32
    assert ledger.id != other.id
    assert sdp.Ledger(folder / "privacy.ledger").id == ledger.id


def test_ledgers_can_be_sent_to_other_processes(ledger):
    ledger.open("crashes", epsilon=2)
    assert pickle.loads(pickle.dumps(ledger)).account("crashes").limit.epsilon == 2


# --- limits ----------------------------------------------------------------------------------------


def test_a_limit_is_raised_and_says_who_and_why(ledger):
    account = ledger.open("crashes", epsilon=1)
    pay(account, 1)
    ledger.limit("crashes", epsilon=3, **WHO)
    assert account.left.epsilon == 2
    assert account.entries[-1].facts["who"] == "A. Keeper"
    assert account.entries[-1].facts["why"] == "a second year"
    assert account.entries[-1].facts["terms"]["epsilon"] == "3"
    assert ledger.open("crashes", epsilon=3).limit.epsilon == 3


def test_a_limit_may_fall_but_not_below_what_is_spent(ledger):
    account = ledger.open("crashes", epsilon=2)
    pay(account, 1)
    with pytest.raises(BudgetError, match=r"ε = 1 and ρ = 0 were spent from 'crashes', but .* ε = 0\.9"):
        ledger.limit("crashes", epsilon=0.9, **WHO)
    assert len(account.entries) == 2
    ledger.limit("crashes", epsilon=1, **WHO)
    with pytest.raises(BudgetError):
        pay(account, 0.1)


def test_each_pot_keeps_what_is_spent_from_it(ledger):
    account = ledger.open("crashes", epsilon=2, delta=1e-9, pure=1)
    account.spend(Cost.zcdp(account.limit.rho), **RECORD, what={})
    with pytest.raises(BudgetError):
        ledger.limit("crashes", pure=1.5, **WHO)
    ledger.limit("crashes", epsilon=3, pure=1.5, **WHO)
    assert account.left.rho > 0


@pytest.mark.parametrize("reasons", [{"who": "", "why": "b"}, {"who": "a", "why": "\x1b"}])
def test_a_new_limit_has_reasons(ledger, reasons):
    ledger.open("crashes", epsilon=1)
    with pytest.raises(ParameterError, match=r"wh[oy] is"):
        ledger.limit("crashes", epsilon=2, **reasons)


# --- adopting --------------------------------------------------------------------------------------


def test_a_moved_ledger_is_adopted(ledger, folder):
    pay(ledger.open("crashes", epsilon=2), 0.5)
    shutil.copy(folder / "privacy.ledger", folder / "moved.ledger")
    adopted = sdp.Ledger.adopt(folder / "moved.ledger", who="A. Keeper", why="the disk was replaced")
    pay(adopted.account("crashes"), 0.5)
    facts = adopted.entries[2].facts
    assert facts["to"] == str((folder / "moved.ledger").stat().st_ino)
    assert facts["from"] == str((folder / "privacy.ledger").stat().st_ino)
    assert sdp.Ledger(folder / "moved.ledger").check().entries == 4


# --- words -----------------------------------------------------------------------------------------


def test_a_ledger_shows_its_accounts(ledger):
    assert "none yet" in ledger._repr_html_()
    ledger.open("crashes", epsilon=2)
    assert "limit 2" in ledger._repr_html_()
    assert repr(ledger).startswith("Ledger(SQLiteStore('/")


def test_paths_are_read_only_when_releases_are_checked():
    """Privacy knows no files of releases, but for this one method."""
    assert not hasattr(module, "statement_of")


def test_two_ledgers_in_one_process_are_apart(ledger, folder):
    other = sdp.Ledger(folder / "other.ledger")
    first, second = (each.open("crashes", epsilon=1) for each in (ledger, other))
    receipts = [pay(account, 0.5) for account in (first, second, first)]
    assert [receipt.ledger for receipt in receipts] == [ledger.id, other.id, ledger.id]
    assert (first.left.epsilon, second.left.epsilon) == (0, Fraction(1, 2))
    assert other.check().entries == 2


def test_one_file_that_is_opened_twice_is_one_ledger(ledger, folder):
    again = sdp.Ledger(folder / "privacy.ledger")
    pay(ledger.open("crashes", epsilon=1), 0.5)
    pay(again.account("crashes"), 0.5)
    assert ledger.account("crashes").left.epsilon == again.account("crashes").left.epsilon == 0
    assert ledger.check().head == again.check().head
