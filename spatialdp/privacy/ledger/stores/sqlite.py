"""How is a ledger kept in one file, so that nothing acknowledged is ever lost? In SQLite, with two settings checked.

With ``journal_mode=DELETE`` and ``synchronous=EXTRA``, both set on every connection and checked: with SQLite's own
default (FULL) a power cut can bring an unlinked journal back and roll an acknowledged spend back. A write takes the
file's lock before it reads what is left (``BEGIN IMMEDIATE``), so no two processes spend the same amount.

A connection lives for one transaction, and one lock is for all threads of a process, so no connection is open when the
process forks. Each transaction compares the file's inode with the one that the ledger calls its home: an older copy
that was moved into the file's place is refused. Whatever SQLite raises becomes a `LedgerError`. File systems on a
network are not supported, because their locks cannot be relied on. See ``docs/design/ledger.md``.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from spatialdp._support.atomic import write_all
from spatialdp._support.override import override
from spatialdp._support.terminal import printable
from spatialdp.errors import LedgerError
from spatialdp.privacy.ledger.entries import FORMAT, Entry
from spatialdp.privacy.ledger.stores.sql import SQLStore, SQLTransaction
from spatialdp.privacy.noise.source import SystemNoise
from spatialdp.wording import either

__all__ = ["SQLiteStore", "SQLiteTransaction"]

_SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE entry (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, prev TEXT NOT NULL, "
    "hash TEXT NOT NULL)",
    "CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TRIGGER entry_is_never_changed BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'never changed'); END",
    "CREATE TRIGGER entry_is_never_removed BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'never removed'); END",
)
_SETTINGS = {"journal_mode": "delete", "synchronous": 3, "trusted_schema": 0}  # 3 is EXTRA
_PATIENCE = 60.0  # seconds for the lock
_NUMBER = re.compile(r"[0-9a-f]{32}")
_LOCKED_OUT = 7  # exit code of the process that tries the lock
_TRY_LOCK = f"""
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], uri=True, timeout=0, isolation_level=None).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError:
    sys.exit({_LOCKED_OUT})
"""


class _OneAtATime:
    """The lock of all threads of this process; held during a fork, so that no child inherits a transaction."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
            os.register_at_fork(before=self.take, after_in_parent=self.give, after_in_child=self.renew)

    def renew(self) -> None:
        self._lock = threading.RLock()

    def take(self) -> None:
        self._lock.acquire()

    def give(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self.take()

    def __exit__(self, *_: object) -> None:
        self.give()


_ONE_AT_A_TIME = _OneAtATime()


class SQLiteTransaction(SQLTransaction):
    """The entries and the table of a file, as one transaction sees them; what is no text comes from an altered file."""

    mark: ClassVar[str] = "?"

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        if not _NUMBER.fullmatch(self.ledger):
            raise sqlite3.DataError("the ledger has no number")

    @override
    def _as_entry(self, row: tuple[Any, ...]) -> Entry:
        if not isinstance(row[0], int) or not all(isinstance(value, str) for value in row[1:]):
            raise sqlite3.DataError("an entry is not made of texts")
        return super()._as_entry(row)

    @override
    def _as_text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise sqlite3.DataError("a value is not a text")
        return super()._as_text(value)


class SQLiteStore(SQLStore):
    """A ledger in one file.

    Parameters
    ----------
    path : Path
        Of the file. The folder must exist and be writable, because the journal lies in it.
    patience : float
        Seconds to wait for the lock while other processes hold it.
    """

    def __init__(self, path: Path, patience: float = _PATIENCE) -> None:
        self.path = path.absolute()
        self._patience = patience

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self.path)!r})"

    @override
    def check_locks(self) -> None:
        # Another process has to try: within one process, SQLite answers from a table of its own.
        with self._transaction():
            trial = subprocess.run([sys.executable, "-I", "-c", _TRY_LOCK, self._uri], capture_output=True, check=False)
        if trial.returncode != _LOCKED_OUT:
            raise LedgerError(
                f"another process could take the lock of {self.path} while this one held it, so that both could spend "
                "the same amount; keep the ledger on a disk of this machine, not on a network file system."
            )

    def make(self) -> None:
        """Put an empty ledger in place if there is no file; another process may do the same at the same time."""
        if os.path.lexists(self.path):
            return
        ledger = SystemNoise().random_bytes(16).hex()
        with closing(sqlite3.connect(":memory:")) as connection:
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.executemany("INSERT INTO meta VALUES (?, ?)", [("format", FORMAT), ("ledger", ledger)])
            connection.commit()
            content = connection.serialize()
        with suppress(FileExistsError):
            write_all({self.path: content}, overwrite=False, private=True)
        with self._transaction() as transaction:
            if not transaction.meta("home"):
                transaction.set_home(self._home(transaction))

    @override
    @contextmanager
    def _transaction(self, *, read_only: bool = False) -> Iterator[SQLiteTransaction]:
        """Open a connection for one transaction; an error rolls back whatever was done."""
        with _ONE_AT_A_TIME, self._errors_of_the_ledger(), closing(self._connect()) as connection:
            connection.execute("BEGIN" if read_only else "BEGIN IMMEDIATE")
            self._check_format(connection)
            yield SQLiteTransaction(connection)
            connection.execute("COMMIT")

    @property
    def _uri(self) -> str:
        return f"{self.path.as_uri()}?mode=rw"

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._uri, uri=True, timeout=self._patience, isolation_level=None)
        try:
            for name, value in _SETTINGS.items():
                connection.execute(f"PRAGMA {name} = {value}")
                (found,) = connection.execute(f"PRAGMA {name}").fetchone()
                if found != value:
                    raise LedgerError(
                        f"SQLite keeps {self.path} with {name} = {found}, but only with {value} is nothing lost; close "
                        "the programs that have the ledger open, and use a version of SQLite that supports it."
                    )
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_format(self, connection: sqlite3.Connection) -> None:
        """Refuse a file with anything else in it than a ledger has: a table could be a view, or a trigger could act."""
        found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}
        formats = list(connection.execute("SELECT value FROM meta WHERE key = 'format'")) if found == _TABLES else []
        if formats != [(FORMAT,)]:
            raise LedgerError(f"{self.path} is not a ledger that this version of spatialdp keeps; name another file.")

    @override
    def _home(self, transaction: SQLTransaction) -> str:  # noqa: ARG002 - the file is named by its inode
        return str(self.path.stat().st_ino)

    @property
    @override
    def _moved(self) -> str:
        return (
            f"{self.path} is a copy of a ledger, or was put in the ledger's place, so later spends may be missing "
            "from it; use the ledger itself. If this is the ledger, moved or restored with all of its spends, say "
            f"so with {either('Ledger.adopt', '`spatialdp ledger adopt`')}."
        )

    @contextmanager
    def _errors_of_the_ledger(self) -> Iterator[None]:
        """Turn whatever SQLite and the system raise into one kind of error; what was to be written may be written."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            reason = _REASONS.get(code, f"it cannot be used ({printable(error)}); look after the file and its disk.")
            raise LedgerError(f"{self.path}: {reason}") from None
        except UnicodeDecodeError:  # of a text of SQLite that has bytes of a damaged file in it
            raise LedgerError(f"{self.path}: {_DAMAGED}") from None
        except (FileNotFoundError, PermissionError) as error:
            raise LedgerError(
                f"{self.path} cannot be reached ({error.strerror}); check that it is there and that you may read and "
                "write it."
            ) from None


_TABLES = set(_SCHEMA)
_LOCKED = "another process has held its lock for too long; wait until that process is done, and try again."
_UNWRITABLE = "it, or its folder, may not be written; ask the person who keeps the ledger for the right to write both."
_DAMAGED = "it is not a ledger, or is damaged; restore the last good copy, and check it with the releases made since."
_REASONS = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_FULL: "the disk is full, so nothing can be spent; make room, and try again.",
    sqlite3.SQLITE_READONLY: _UNWRITABLE,
    sqlite3.SQLITE_PERM: _UNWRITABLE,
    sqlite3.SQLITE_CANTOPEN: _UNWRITABLE,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
}
