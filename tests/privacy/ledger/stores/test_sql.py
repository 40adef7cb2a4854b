"""The statements that all stores in SQL share, on the simplest store: one connection, and a home to choose."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager

import pytest

from spatialdp.errors import LedgerError
from spatialdp.privacy.ledger.entries import Kind, first_hash
from spatialdp.privacy.ledger.stores.sql import SQLStore, SQLTransaction

LEDGER = "0123456789abcdef" * 2


class InMemory(SQLTransaction):
    mark = "?"
    schema = "main."


class OneConnection(SQLStore):
    """A store whose home is a word."""

    _moved = "the ledger was moved; use the ledger itself."

    def __init__(self, home):
        self.home = home
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        for table in ("meta", "state"):
            self.connection.execute(f"CREATE TABLE {table} (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        self.connection.execute("CREATE TABLE entry (seq INTEGER PRIMARY KEY, kind, body, prev, hash)")
        self.connection.executemany("INSERT INTO meta VALUES (?, ?)", [("ledger", LEDGER), ("home", home)])

    @contextmanager
    def _transaction(self, *, read_only=False):
        self.connection.execute("BEGIN" if read_only else "BEGIN IMMEDIATE")
        try:
            yield InMemory(self.connection)
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def _home(self, transaction):
        return self.home

    def check_locks(self):
        """Nobody else has the connection."""


@pytest.fixture
def store():
    return OneConnection("here")


def test_an_empty_ledger_has_its_number_and_no_entry(store):
    assert store.read(lambda transaction: transaction.ledger) == LEDGER
    assert store.entries() == []
    assert store.head() is None
    assert store.read(lambda transaction: transaction.entry(1)) is None


def test_entries_form_a_chain_and_keep_their_order(store):
    receipts = [store.transact(lambda t, word=word: t.append(Kind.NOTE, {"note": word})) for word in ("one", "two")]
    assert [entry.hash for entry in store.entries()] == [receipt.hash for receipt in receipts]
    assert store.head() == store.read(lambda transaction: transaction.entry(2))
    assert store.entries()[1].prev == receipts[0].hash
    assert store.entries()[0].prev == first_hash(LEDGER)


def test_texts_are_replaced_by_key(store):
    for value in ("1", "2"):
        store.transact(lambda transaction, value=value: transaction.put("spent", value))
    assert store.read(lambda transaction: transaction.get("spent")) == "2"
    assert store.read(lambda transaction: transaction.get("left")) is None
    assert store.read(lambda transaction: list(transaction.table())) == [("spent", "2")]


def test_an_error_leaves_nothing(store):
    def fail(transaction):
        transaction.put("spent", "1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.transact(fail)
    assert store.read(lambda transaction: transaction.get("spent")) is None


def test_a_ledger_elsewhere_is_refused_until_it_is_adopted(store):
    store.home = "there"
    for use in (store.transact, store.read):
        with pytest.raises(LedgerError, match="was moved"):
            use(lambda transaction: transaction.ledger)
    receipt = store.adopt({"reason": "restored"}, check=lambda transaction: None)
    assert store.head().hash == receipt.hash
    assert '"from":"here"' in store.head().body.replace(" ", "")
    assert '"to":"there"' in store.head().body.replace(" ", "")


def test_a_place_that_its_check_refuses_is_not_adopted(store):
    store.home = "there"

    def refuse(_):
        raise LedgerError("refused")

    with pytest.raises(LedgerError, match="refused"):
        store.adopt({}, refuse)
    with pytest.raises(LedgerError, match="was moved"):
        store.head()
