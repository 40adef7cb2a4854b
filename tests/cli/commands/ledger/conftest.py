"""A ledger with one account, beside a file of points."""

from __future__ import annotations

import pytest

import spatialdp as sdp


@pytest.fixture
def account(place):
    return sdp.Ledger("privacy.ledger").open("crashes", epsilon=2, about="police records, 2024")


@pytest.fixture
def paying(account):
    """The words that let the account pay for a release."""
    return {"ledger": "privacy.ledger", "account": account.name}
