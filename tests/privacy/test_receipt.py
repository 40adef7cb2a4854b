"""Receipts: written and read back they are the same, and anything else is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from spatialdp.errors import FileFormatError
from spatialdp.privacy.receipt import Receipt
from spatialdp.privacy.statement import Privacy

RECEIPT = Receipt("0123456789abcdef" * 2, 7, "fedcba9876543210" * 4)
STATEMENT = Privacy(
    epsilon=Fraction(1),
    delta=Fraction(0),
    neighbours="add-remove",
    unit="record",
    mechanism="flat",
    parameters={},
    currency="epsilon",
    budget={"counts": Fraction(1)},
    private=True,
    version="1.2.3",
)


def test_receipts_come_back_from_json():
    assert Receipt.from_json(json.loads(json.dumps(RECEIPT.to_json()))) == RECEIPT
    assert str(RECEIPT) == "entry 7 of ledger 01234567… (fedcba98…)"


@pytest.mark.parametrize(
    "change",
    [
        {"id": "0123"},
        {"id": "X" * 32},
        {"id": None},
        {"hash": "0" * 63},
        {"hash": "G" * 64},
        {"entry": 0},
        {"entry": -1},
        {"entry": "7"},
        {"entry": True},
        {"entry": 1.0},
        {"entry": 10**16},
        {"more": 1},
    ],
)
def test_other_values_are_refused(change):
    with pytest.raises((ValueError, TypeError)):
        Receipt.from_json({**RECEIPT.to_json(), **change})


@pytest.mark.parametrize("data", [None, [], "receipt", {}, {"id": "0" * 32}])
def test_other_shapes_are_refused(data):
    with pytest.raises((ValueError, TypeError)):
        Receipt.from_json(data)


def test_a_statement_carries_its_receipt():
    paid = replace(STATEMENT, ledger=RECEIPT)
    assert paid.to_json()["ledger"] == RECEIPT.to_json()
    assert Privacy.from_json(json.loads(json.dumps(paid.to_json()))) == paid
    assert "entry 7 of ledger 01234567…" in paid._repr_html_()


def test_a_statement_without_a_ledger_is_as_it_was():
    assert "ledger" not in STATEMENT.to_json()
    assert "paid by" not in STATEMENT._repr_html_()


@pytest.mark.parametrize(
    "change",
    [
        {"ledger": {**RECEIPT.to_json(), "entry": 0}},
        {"ledger": None},
        {"ledger": RECEIPT.to_json(), "private": False},
        {"ledger": RECEIPT.to_json(), "invariants": ["state"], "neighbours": "replace"},
    ],
)
def test_statements_with_wrong_receipts_are_refused(change):
    with pytest.raises(FileFormatError):
        Privacy.from_json({**STATEMENT.to_json(), **change})
