"""Prepaid amounts: paid once and durably, spent in memory and exactly, and never twice."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import threading
from fractions import Fraction

import pytest

from spatialdp import Cost
from spatialdp.errors import BudgetError, LedgerError, ParameterError
from spatialdp.privacy.ledger import prepaid as module
from tests.helpers.ledgers import PERSON, RECORD


@pytest.fixture
def account(ledger):
    return ledger.open("crashes", epsilon=2, delta=1e-9, pure=1)


def prepay(account, epsilon=1, unit=RECORD, **what):
    return account.prepay(Cost.pure(epsilon), **unit, what=what)


def ask(prepaid, epsilon=0.1, **what):
    return prepaid.spend(Cost.pure(epsilon), **RECORD, what=what)


def test_the_whole_is_paid_before_the_first_ask(account):
    amount = prepay(account)
    assert account.spent.epsilon == 0
    with amount as prepaid:
        assert account.spent.epsilon == 1
        assert prepaid.left.epsilon == 1
    assert account.spent.epsilon == 1


def test_asks_are_exact(account):
    with prepay(account) as prepaid:
        for _ in range(11):
            ask(prepaid, Fraction(1, 11))
        assert prepaid.left.epsilon == 0
        with pytest.raises(BudgetError, match="only ε = 0 and ρ = 0 are left"):
            ask(prepaid, 1e-9)


def test_asks_have_the_receipt_of_the_whole(account):
    with prepay(account, **{"for": "k-means"}) as prepaid:
        receipt = ask(prepaid)
    assert receipt.entry == 2
    assert account.entries[1].facts["what"] == {"prepaid": {"for": "k-means"}}
    assert account.entries[1].hash == receipt.hash


def test_a_note_says_what_was_asked(account):
    with prepay(account) as prepaid:
        for number in range(5):
            ask(prepaid, 0.01, box=number % 2)
    note = account.entries[-1]
    assert note.kind == "note"
    facts = note.facts["note"]
    assert facts["entry"] == 2
    assert facts["asks"] == [[3, {"box": 0}, "1/100", "0"], [2, {"box": 1}, "1/100", "0"]]
    assert facts["left"] == {"epsilon": "0.95", "rho": "0"}
    assert facts["other asks"] == 0


def test_a_note_does_not_grow_without_end(account):
    with prepay(account) as prepaid:
        for number in range(2000):
            ask(prepaid, 0.0001, box=[number] * 10)
    facts = account.entries[-1].facts["note"]
    assert facts["other asks"] + len(facts["asks"]) == 2000
    assert 100 < len(facts["asks"]) < 1000


def test_steps_of_other_kinds_are_refused(account):
    with prepay(account) as prepaid:
        for cost, terms in (
            (Cost.zcdp(0.001), RECORD),
            (Cost.pure(0.1), PERSON),
            (Cost.pure(0.1), {"neighbours": "replace", "unit": "record"}),
            (Cost.pure(2), RECORD),
        ):
            with pytest.raises((BudgetError, ParameterError)):
                prepaid.check(cost, **terms)
            with pytest.raises((BudgetError, ParameterError)):
                prepaid.spend(cost, **terms, what={})
        with pytest.raises(ParameterError, match="public facts"):
            ask(prepaid, what=object())
        assert prepaid.left.epsilon == 1
        prepaid.check(Cost.pure(1), **RECORD)
        assert (prepaid.neighbours, prepaid.unit) == ("add-remove", "record")


def test_persons_are_charged_as_by_the_account(ledger):
    account = ledger.open("visits", epsilon=10, unit="person", records=5)
    with account.prepay(Cost.pure(1), **RECORD, what={}) as prepaid:
        assert prepaid.left.epsilon == 5
        prepaid.spend(Cost.pure(0.1), **RECORD, what={})
        prepaid.spend(Cost.pure(0.1), **PERSON, what={})
        assert prepaid.left.epsilon == Fraction(44, 10)


def test_what_is_too_much_is_refused_before_it_is_paid(account):
    with pytest.raises(BudgetError):
        prepay(account, 2)
    with pytest.raises(ParameterError):
        prepay(account, 1, what=object())
    assert account.spent.epsilon == 0


def test_only_the_with_statement_is_open(account):
    prepaid = prepay(account)
    with pytest.raises(BudgetError, match="closed"):
        ask(prepaid)
    with prepaid:
        assert "ε 1 left" in repr(prepaid)
    with pytest.raises(BudgetError, match="closed"):
        ask(prepaid)
    assert "closed" in repr(prepaid)
    with pytest.raises(LedgerError, match="used before"), prepaid:
        pass


def test_it_is_neither_copied_nor_sent(account):
    with prepay(account) as prepaid:
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="spent twice"):
                duplicate(prepaid)


def test_another_process_cannot_spend_it(account, ledger, monkeypatch):
    """A fork copies it; both would spend the same amount."""
    with prepay(account) as prepaid:
        entries = len(ledger.entries)
        with monkeypatch.context() as patch:
            patch.setattr(module.os, "getpid", lambda: os.getppid())
            with pytest.raises(LedgerError, match="another process"):
                ask(prepaid)
            prepaid.__exit__(None, None, None)
        assert len(ledger.entries) == entries  # the child writes no note


def test_threads_get_exactly_what_there_is(account):
    grants = []
    with prepay(account) as prepaid:

        def spend():
            with contextlib.suppress(BudgetError):
                while True:
                    grants.append(ask(prepaid, Fraction(1, 300)))

        threads = [threading.Thread(target=spend) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(grants) == 300


def test_an_error_on_the_way_is_the_one_that_is_raised(account, monkeypatch):
    def full(_):
        raise LedgerError("the disk is full")

    monkeypatch.setattr(account, "note", full)
    with pytest.raises(ZeroDivisionError), prepay(account, 0.1):
        raise ZeroDivisionError
    with pytest.raises(LedgerError, match="the disk is full"), prepay(account, 0.1):
        pass
