"""What must a store of a ledger do? Keep entries for ever, change nothing but whole transactions, and one at a time.

A store holds two things: the entries, which are only ever added, and a table of texts by key, which is worked out from
them and can be rebuilt (`books` says what is in it). `transact` hands both to a function. What the function does is
durable when `transact` returns; if `transact` raises, it may have happened or not, so that a caller who pays must then
not draw noise. No two functions run at the same time, whichever process they are in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from spatialdp.privacy.ledger.entries import Entry, Kind
from spatialdp.privacy.receipt import Receipt

__all__ = ["Store", "Table", "Transaction"]

T = TypeVar("T")


class Table(Protocol):
    """Texts by key."""

    def get(self, key: str) -> str | None:
        """Return the text of a key; None if it has none."""

    def put(self, key: str, value: str) -> None:
        """Set the text of a key."""


class Transaction(Table, Protocol):
    """The entries and the table of a store, as one transaction sees them."""

    ledger: str  # the ledger's own random number, in hexadecimal digits

    def append(self, kind: Kind, body: Mapping[str, Any]) -> Receipt:
        """Add an entry after the last one."""

    def head(self) -> Entry | None:
        """Return the last entry; None if there is none."""

    def entry(self, seq: int) -> Entry | None:
        """Return the entry of a number; None if there is none."""

    def entries(self) -> Iterator[Entry]:
        """Yield all entries in order."""

    def table(self) -> Iterator[tuple[str, str]]:
        """Yield all keys of the table with their texts."""


class Store(Protocol):
    """Where a ledger is kept."""

    def transact(self, function: Callable[[Transaction], T]) -> T:
        """Carry out a function that may change the ledger; what it did is durable on return."""

    def read(self, function: Callable[[Transaction], T]) -> T:
        """Carry out a function that changes nothing, on the last state of the ledger, which stays so meanwhile."""

    def entries(self) -> list[Entry]:
        """Return all entries in order."""

    def head(self) -> Entry | None:
        """Return the last entry; None if there is none."""

    def adopt(self, facts: Mapping[str, Any], check: Callable[[Transaction], None]) -> Receipt:
        """Accept the place where the ledger lies now, if `check` does not refuse, and say so in an entry."""

    def check_locks(self) -> None:
        """Refuse a place whose locks other processes do not see."""
