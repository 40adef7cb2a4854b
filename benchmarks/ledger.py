"""How long does a ledger take? Checking, against hashing its entries; a spend, against a bare transaction of SQLite."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import spatialdp as sdp
from benchmarks.measure import Result, in_turn
from spatialdp.privacy.ledger.books import record
from spatialdp.privacy.ledger.check import check_entries
from spatialdp.privacy.ledger.entries import Entry, Kind, entry_hash
from spatialdp.privacy.ledger.stores.base import Transaction

ENTRIES = 100_000
SPENDS = 20
STATES = tuple(f"state {number}" for number in range(50))
TERMS = {"neighbours": "add-remove", "unit": "record"}


def checking_a_ledger() -> Iterator[Result]:
    """Time the check of a ledger of 100,000 spends, on an account and the parts of a partition."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = sdp.Ledger(Path(folder) / "privacy.ledger")
        _fill(ledger)
        entries = ledger.entries
        hashing, checking = in_turn(lambda: _hash(entries), lambda: ledger.read(check_entries), repeat=3)
    yield Result("check of 100,000 entries, time over hashing them", checking / hashing, 20, at_least=False)


def spending() -> Iterator[Result]:
    """Time durable spends, each of which waits for the disk."""
    with tempfile.TemporaryDirectory() as folder:
        account = sdp.Ledger(Path(folder) / "privacy.ledger").open("crashes", epsilon=1000)
        plain = Path(folder) / "plain.db"
        bare, spends = in_turn(lambda: _insert(plain), lambda: _spend(account), repeat=3)
    yield Result(
        "a durable spend, time over a bare transaction with the same settings", spends / bare, 3, at_least=False
    )


def _fill(ledger: sdp.Ledger) -> None:
    """Write all entries in one transaction, as an account writes them one by one."""
    ledger.open("crashes", epsilon=1000).partition("state", STATES)
    places = [[], *(["state", state] for state in STATES)]
    amounts = ("1/1000", "1/400", "3/100000")

    def fill(transaction: Transaction) -> None:
        for number in range(ENTRIES):
            cost = {"epsilon": amounts[number % len(amounts)], "rho": "0"}
            what = {"mechanism": "quadtree", "parameters": {"height": 8}, "number": number}
            entry = {"account": "crashes", "at": [places[number % len(places)]], "charged": cost, "cost": cost}
            record(transaction, Kind.SPEND, {**entry, **TERMS, "what": what})

    ledger.change(fill)


def _hash(entries: tuple[Entry, ...]) -> None:
    for entry in entries:
        entry_hash(entry.seq, entry.prev, entry.kind, entry.body)


def _spend(account: sdp.Account) -> None:
    for _ in range(SPENDS):
        account.spend(sdp.Cost.pure(0.001), **TERMS, what={"mechanism": "quadtree"})


def _insert(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("CREATE TABLE IF NOT EXISTS entry (seq INTEGER PRIMARY KEY, body TEXT)")
        for _ in range(SPENDS):
            connection.execute("INSERT INTO entry (body) VALUES (?)", ("x" * 300,))


BENCHMARKS = (checking_a_ledger, spending)
