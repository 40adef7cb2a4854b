"""What tests of ledgers share: terms of steps, tables in memory, accounts that listen, and altered ledgers."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from unittest import mock

import spatialdp as sdp
from spatialdp.errors import BudgetError
from spatialdp.mechanisms.base import Mechanism
from spatialdp.privacy.ledger.entries import entry_hash, first_hash
from spatialdp.privacy.noise import source
from spatialdp.privacy.receipt import Receipt

RECORD = {"neighbours": "add-remove", "unit": "record"}
PERSON = {"neighbours": "add-remove", "unit": "person"}


def pay(account, epsilon, **what):
    """Spend ε for single records; return the receipt."""
    terms = {"neighbours": account.neighbours, "unit": "record"}
    return account.spend(sdp.Cost.pure(epsilon), **terms, what=what)


class MemoryTable:
    """Texts by key, as a store keeps them."""

    def __init__(self):
        self.texts = {}

    def get(self, key):
        return self.texts.get(key)

    def put(self, key, value):
        self.texts[key] = value


def alter(path: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    """Change a ledger's file behind its back, in place; triggers that protect entries are put back afterwards."""
    with closing(sqlite3.connect(path)) as connection:
        triggers = list(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement, values)
        for _, sql in triggers:
            connection.execute(sql)
        connection.commit()


def forge_chain(path: Path) -> None:
    """Work out all hashes again, as somebody would who altered an entry and knows how."""
    with closing(sqlite3.connect(path)) as connection:
        (ledger,) = connection.execute("SELECT value FROM meta WHERE key = 'ledger'").fetchone()
        rows = list(connection.execute("SELECT seq, kind, body FROM entry ORDER BY seq"))
    prev, statements = first_hash(ledger), []
    for seq, kind, body in rows:
        digest = entry_hash(seq, prev, kind, body)
        statements.append(f"UPDATE entry SET prev = '{prev}', hash = '{digest}' WHERE seq = {seq}")
        prev = digest
    alter(path, *statements)


class Till:
    """An account without a ledger, which writes down what it is asked for, in a list that others may write to."""

    neighbours, unit = "add-remove", "record"

    def __init__(self, events=None, limit=math.inf):
        self.events = [] if events is None else events
        self.left = limit
        self.paid = []

    @property
    def account(self):
        return self

    def check(self, cost, *, neighbours, unit):
        self.events.append("check")
        if cost.epsilon + cost.rho > self.left:
            raise BudgetError("less is left.")

    def spend(self, cost, *, neighbours, unit, what):
        self.events.append("spend")
        if cost.epsilon + cost.rho > self.left:
            raise BudgetError("less is left.")
        self.left -= cost.epsilon + cost.rho
        self.paid.append((cost, neighbours, unit, what))
        return Receipt("0" * 32, len(self.paid), "f" * 64)

    def released(self, receipt, files):
        self.events.append("released")


@contextlib.contextmanager
def listening(events):
    """Write down whenever records are asked for, and whenever the system is asked for random bits."""
    bits = source._system_bytes

    def drawn(count):
        events.append("bits")
        return bits(count)

    def asked(mechanism, *arguments):
        events.append("records")
        return type(mechanism)._records_as_it_was(mechanism, *arguments)

    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.object(source, "_system_bytes", drawn))
        for kind in (Mechanism, sdp.ZoneTree, sdp.Table, sdp.PrivBayes):
            original = kind.__dict__["_records"]
            patches.enter_context(mock.patch.object(kind, "_records_as_it_was", original, create=True))
            patches.enter_context(mock.patch.object(kind, "_records", asked))
        yield


def order_of(release, events):
    """The events of a release, in order; of bits, the first time alone."""
    with listening(events):
        release()
    first = events.index("bits")
    assert set(events[first:]) <= {"bits"}  # nothing but draws after the first one
    return events[: first + 1]
