"""What do ledgers in SQL share? Three tables, the statements on them, and one transaction for each use.

The table `entry` has the entries, `state` the texts by key that are worked out from them, and `meta` what the ledger
says of itself: its number, its format, and its home, which is the place where it was kept last time. `sqlite` and
`postgres` open the transactions, and know which home they see; this module knows neither of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, TypeVar

from spatialdp._support.override import override
from spatialdp.errors import LedgerError
from spatialdp.privacy.ledger.entries import Entry, Kind, canonical, entry_hash, first_hash
from spatialdp.privacy.ledger.stores.base import Store, Transaction
from spatialdp.privacy.receipt import Receipt

__all__ = ["SQLStore", "SQLTransaction"]

T = TypeVar("T")

_COLUMNS = "seq, kind, body, prev, hash"


class SQLTransaction(Transaction):
    """The entries and the table of a database, as one transaction sees them.

    Attributes
    ----------
    mark : str
        What stands in a statement for a value.
    schema : str
        What stands before the name of a table.
    """

    mark: ClassVar[str]
    schema: ClassVar[str] = ""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.ledger = self.meta("ledger")

    @override
    def append(self, kind: Kind, body: Mapping[str, Any]) -> Receipt:
        last = self.head()
        seq, prev = (1, first_hash(self.ledger)) if last is None else (last.seq + 1, last.hash)
        text = canonical(body)
        entry = Entry(seq, str(kind), text, prev, entry_hash(seq, prev, kind, text))
        marks = ", ".join([self.mark] * len(entry))
        self._connection.execute(f"INSERT INTO {self.schema}entry VALUES ({marks})", entry)
        return Receipt(self.ledger, seq, entry.hash)

    @override
    def head(self) -> Entry | None:
        return self._entry("ORDER BY seq DESC LIMIT 1")

    @override
    def entry(self, seq: int) -> Entry | None:
        return self._entry(f"WHERE seq = {self.mark}", seq)

    @override
    def entries(self) -> Iterator[Entry]:
        return map(self._as_entry, self._rows("ORDER BY seq"))

    @override
    def get(self, key: str) -> str | None:
        return self._text("state", key)

    @override
    def put(self, key: str, value: str) -> None:
        self._set("state", key, value)

    @override
    def table(self) -> Iterator[tuple[str, str]]:
        return iter(self._connection.execute(f"SELECT key, value FROM {self.schema}state"))

    def meta(self, key: str) -> str:
        """Return what the ledger says of itself under a key; empty if nothing."""
        return self._text("meta", key) or ""

    def set_home(self, home: str) -> None:
        """Say where the ledger is kept."""
        self._set("meta", "home", home)

    def _rows(self, which: str, *values: int) -> Any:
        return self._connection.execute(f"SELECT {_COLUMNS} FROM {self.schema}entry {which}", values)

    def _entry(self, which: str, *values: int) -> Entry | None:
        row = self._rows(which, *values).fetchone()
        return None if row is None else self._as_entry(row)

    def _text(self, table: str, key: str) -> str | None:
        query = f"SELECT value FROM {self.schema}{table} WHERE key = {self.mark}"
        row = self._connection.execute(query, (key,)).fetchone()
        return None if row is None else self._as_text(row[0])

    def _set(self, table: str, key: str, value: str) -> None:
        self._connection.execute(
            f"INSERT INTO {self.schema}{table} VALUES ({self.mark}, {self.mark}) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    def _as_entry(self, row: tuple[Any, ...]) -> Entry:
        """The entry that a row of the table holds."""
        return Entry(*row)

    def _as_text(self, value: Any) -> str:
        """A value of a table of keys, as text."""
        return str(value)


class SQLStore(Store):
    """A ledger in a database; subclasses open its transactions, and know which place they see."""

    @abstractmethod
    def _transaction(self, *, read_only: bool = False) -> AbstractContextManager[SQLTransaction]:
        """Open a transaction; an error rolls back whatever was done."""

    @abstractmethod
    def _home(self, transaction: SQLTransaction) -> str:
        """The place that this transaction sees, such as a file or a table, in a way that no copy of it has."""

    @property
    @abstractmethod
    def _moved(self) -> str:
        """What is wrong, and what to do, if the place is not the one that the ledger was kept in last time."""

    @override
    def transact(self, function: Callable[[Any], T]) -> T:
        with self._transaction() as transaction:
            self._check_home(transaction)
            return function(transaction)

    @override
    def read(self, function: Callable[[Any], T]) -> T:
        with self._transaction(read_only=True) as transaction:
            self._check_home(transaction)
            return function(transaction)

    @override
    def entries(self) -> list[Entry]:
        return self.read(lambda transaction: list(transaction.entries()))

    @override
    def head(self) -> Entry | None:
        last: Entry | None = self.read(lambda transaction: transaction.head())
        return last

    @override
    def adopt(self, facts: Mapping[str, Any], check: Callable[[Any], None]) -> Receipt:
        with self._transaction() as transaction:
            check(transaction)
            old, new = transaction.meta("home"), self._home(transaction)
            transaction.set_home(new)
            return transaction.append(Kind.ADOPTED, {**facts, "from": old, "to": new})

    def _check_home(self, transaction: SQLTransaction) -> None:
        """Refuse a place that is not the one that the ledger was kept in last time."""
        if transaction.meta("home") != self._home(transaction):
            raise LedgerError(self._moved)
