"""`spatialdp ledger limit`: another limit, and who decided it."""

from __future__ import annotations

from tests.helpers.commands import refused, run
from tests.helpers.ledgers import pay

LIMIT = ["ledger", "limit", "privacy.ledger", "--account=crashes", "--who=A. Officer", "--why=a new year"]


def test_a_limit_is_raised_and_says_who_and_why(account):
    assert run(*LIMIT, "--epsilon=3").stdout == "crashes: ε: 0 spent, 3 left, limit 3; add-remove one record\n"
    facts = account.entries[-1].facts
    assert (facts["who"], facts["why"]) == ("A. Officer", "a new year")


def test_a_limit_does_not_fall_below_what_is_spent(account):
    pay(account, 1.5)
    assert "what is spent cannot be taken back" in refused([*LIMIT, "--epsilon=1"])
    assert account.limit.epsilon == 2


def test_a_limit_is_asked_for(account):
    assert "no limit was given" in refused(LIMIT)
