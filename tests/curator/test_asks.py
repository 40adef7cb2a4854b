"""Is everything public decided, and paid for, before a record is looked at or noise is drawn?"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

import pytest

import spatialdp as sdp
from spatialdp.curator.asks import Ask, Frame, Purse, Spending, carried_out, law_facts
from spatialdp.errors import BudgetError, LedgerError, ParameterError
from spatialdp.privacy.ledger.account import Account
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import SeededNoise, SystemNoise
from spatialdp.records.rows.held import HeldRecords
from tests.helpers.curators import DOMAIN, nothing_spent, opened

FRAME = Frame(DOMAIN, Neighbours.ADD_REMOVE)


@dataclass(frozen=True)
class Told(Ask[str]):
    """A question that tells what happens to it."""

    events: list
    name = "told"

    def facts(self):
        self.events.append("facts")
        return {"areas": 1}

    def check(self, held):
        self.events.append("check")

    def answer(self, held, noise, statement):
        self.events.append("answer")
        return statement


def test_a_question_is_checked_then_paid_then_answered(tmp_path):
    account, events = opened(tmp_path), []
    real = Account.spend

    def spend(self, *args, **terms):
        events.append("paid")
        return real(self, *args, **terms)

    with mock.patch.object(Account, "spend", spend):
        statement = carried_out(Told(FRAME, Spending.of(0.5), events), None, Purse(account, SystemNoise()))
    assert events == ["check", "facts", "paid", "answer"]
    assert statement.ledger.entry == account.entries[-1].seq
    assert statement.ledger.hash == account.entries[-1].hash
    assert account.entries[-1].facts["what"] == {"ask": "told", "areas": 1}


def test_records_are_looked_at_and_noise_is_drawn_after_the_payment_alone(tmp_path):
    """For every question: the account is charged when the first record is counted and the first bit is drawn.

    Releases count before they pay, and draw after it: ``tests/privacy/test_payment.py``.
    """
    account = opened(tmp_path, epsilon=100)
    rows = sdp.Rows([[1, 1], [2, 2]], price=[1, 2])
    curator = sdp.Curator(rows, DOMAIN, account)
    asks = {
        "count": lambda: curator.count(epsilon=1),
        "counts": lambda: curator.counts([(0, 0, 1, 1), (1, 1, 2, 2)], epsilon=1),
        "sum": lambda: curator.sum("price", (0, 1), epsilon=1),
        "mean": lambda: curator.mean("price", (0, 1), epsilon=1),
        "median": lambda: curator.median("x", epsilon=1),
        "quantile": lambda: curator.quantile(0.9, "price", (0, 1), epsilon=1),
        "histogram": lambda: curator.histogram("price", [0, 1, 2], epsilon=1),
    }
    looks = ("in_boxes", "first_box", "first_polygon", "numbers", "only")
    for number, ask in enumerate(asks.values(), 1):
        seen = []

        def looked(real, seen=seen):
            def method(self, *args, **terms):
                seen.append(account.spent.epsilon)
                return real(self, *args, **terms)

            return method

        with (
            mock.patch.multiple(HeldRecords, **{name: looked(getattr(HeldRecords, name)) for name in looks}),
            mock.patch.object(SystemNoise, "random_bytes", looked(SystemNoise.random_bytes)),
            mock.patch("spatialdp.curator.asks.is_system_noise", return_value=True),
        ):
            ask()
        # A ledger's entries have a random number of their own, which is drawn while the account pays.
        assert seen[-1] == number
        assert set(seen) <= {number - 1, number}
        assert seen == sorted(seen)
        assert seen.count(number - 1) <= 1


def test_what_is_refused_costs_nothing_and_looks_at_nothing(tmp_path):
    account = opened(tmp_path, epsilon=0.5)
    curator = sdp.Curator([[1, 1]], DOMAIN, account)
    curator._held = None  # whoever looks at a record fails
    with pytest.raises(BudgetError, match=r"only 0\.5 is left"):
        curator.count(epsilon=0.6)
    assert nothing_spent(account)


def test_a_payment_that_fails_draws_nothing(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator([[1, 1]], DOMAIN, account)
    failing = mock.patch.object(Account, "spend", side_effect=LedgerError("the disk is full"))
    drawing = mock.patch.object(NoiseLaw, "add_to", side_effect=AssertionError)
    with failing, drawing, pytest.raises(LedgerError):
        curator.count(epsilon=1)


def test_what_fails_after_the_payment_stays_paid(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator([[1, 1]], DOMAIN, account)
    failing = mock.patch.object(NoiseLaw, "add_to", side_effect=MemoryError("7 records"))
    with failing, pytest.raises(MemoryError, match="not enough memory") as caught:
        curator.count(epsilon=1)
    assert account.spent.epsilon == 1
    assert caught.value.__context__ is None  # numpy's error would tell the number of records


def test_an_account_does_not_pay_for_noise_that_can_be_repeated(tmp_path):
    account = opened(tmp_path)
    with pytest.raises(ParameterError, match=r"Curator\.rehearsal"):
        carried_out(Told(FRAME, Spending.of(0.5), []), None, Purse(account, SeededNoise(1)))
    assert nothing_spent(account)

    class Imitation(SystemNoise):
        def random_bytes(self, count):
            return b"\x55" * count

    with pytest.raises(ParameterError, match="can be repeated"):
        _ = Purse(account, Imitation()).private


def test_a_rehearsal_is_never_private():
    for noise in (SeededNoise(1), SystemNoise()):
        assert Purse(None, noise, rehearsal=True).private is False
        assert Purse(None, noise, rehearsal=True, checked=True).private is False
    assert Purse(None, SystemNoise()).private is True


def test_a_person_moves_as_much_as_all_their_records():
    frame = Frame(DOMAIN, Neighbours.ADD_REMOVE, sdp.Person(records=3))
    assert frame.unit == "person"
    assert frame.records == 3
    assert frame.sensitivity(Sensitivity(2, 2)) == Sensitivity(6, 18)
    assert FRAME.sensitivity(Sensitivity(2, 2)) == Sensitivity(2, 2)


def test_spending_is_checked_and_known_by_its_type():
    assert Spending.of(0.1) == Spending.of(Fraction(1, 10))
    assert Spending.of(0.1).cost == sdp.Cost.pure(0.1)
    for wrong in ({"epsilon": [1]}, {"epsilon": True}, {"epsilon": 1, "delta": 0.1}, {"epsilon": 1, "delta": [0]}):
        Spending.of(1)  # equal to True, but not the same
        with pytest.raises(BudgetError):
            Spending.of(**wrong)
    with pytest.raises(ParameterError, match="law"):
        Spending.of(1, law=["gaussian"])


def test_the_ledger_is_told_the_law_exactly():
    assert law_facts(NoiseLaw(Law.GAUSSIAN, Fraction(20, 3))) == {"noise": "gaussian", "variance": "20/3"}


def test_statements_of_answers_can_be_written_and_read(tmp_path):
    curator = sdp.Curator(sdp.Rows([[1, 1]], price=[1]), DOMAIN, opened(tmp_path))
    answers = [
        curator.counts([(0, 0, 1, 1)], epsilon=0.1),
        curator.sum("price", (0, 1), epsilon=0.1),
        curator.quantile(0.25, "price", (0, 1), epsilon=0.1),
        curator.histogram("price", [0, 1], epsilon=0.1),
    ]
    for each in answers:
        assert sdp.Privacy.from_json(each.privacy.to_json()).to_json() == each.privacy.to_json()
        assert each.privacy.private
        assert pickle.loads(pickle.dumps(each)).privacy == each.privacy
