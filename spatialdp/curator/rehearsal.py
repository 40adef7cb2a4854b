"""Who pays in a rehearsal? An account in memory, which no ledger knows: for experiments with repeatable noise.

It follows the rules of an account in a ledger, so code that spends too much fails here, before it uses a real ledger.
Answers of a rehearsal are marked as not private, wherever their noise comes from, because nothing is recorded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from spatialdp.privacy.ledger.account import Account
from spatialdp.privacy.ledger.books import record
from spatialdp.privacy.ledger.entries import Entry, Kind, canonical, entry_hash, first_hash
from spatialdp.privacy.ledger.stores.base import Transaction
from spatialdp.privacy.ledger.terms import Terms
from spatialdp.privacy.receipt import Receipt

__all__ = ["practice_account"]

T = TypeVar("T")

_NAME = "rehearsal"


def practice_account(terms: Terms) -> Account:
    """Return an account with these terms that is kept in memory alone.

    Examples
    --------
    >>> from spatialdp.privacy.ledger.terms import agreed
    >>> practice_account(agreed(2, 0, None, "add-remove", "record", None, "")).left.epsilon
    Fraction(2, 1)
    """
    keeper = _Memory()
    keeper.change(lambda transaction: record(transaction, Kind.OPEN, {"account": _NAME, "terms": terms.to_json()}))
    return Account(keeper, terms, ((_NAME,),))


class _Memory:
    """Keeps entries and a table of texts in memory, as a ledger's keeper and as its transaction in one."""

    ledger = "0" * 32

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._entries: list[Entry] = []
        self._lock = threading.RLock()

    def change(self, function: Callable[[Transaction], T]) -> T:
        with self._lock:
            return function(self)

    read = change

    def get(self, key: str) -> str | None:
        return self._texts.get(key)

    def put(self, key: str, value: str) -> None:
        self._texts[key] = value

    def append(self, kind: Kind, body: Mapping[str, Any]) -> Receipt:
        previous, seq, text = self.head(), len(self._entries) + 1, canonical(body)
        prev = first_hash(self.ledger) if previous is None else previous.hash
        digest = entry_hash(seq, prev, kind, text)
        self._entries.append(Entry(seq, str(kind), text, prev, digest))
        return Receipt(self.ledger, seq, digest)

    def head(self) -> Entry | None:
        return self._entries[-1] if self._entries else None

    def entry(self, seq: int) -> Entry | None:
        return self._entries[seq - 1] if 1 <= seq <= len(self._entries) else None

    def entries(self) -> Iterator[Entry]:
        return iter(self._entries)

    def table(self) -> Iterator[tuple[str, str]]:
        return iter(self._texts.items())
