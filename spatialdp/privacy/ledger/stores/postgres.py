"""How is a ledger kept in PostgreSQL, for teams? In a schema of its own, one transaction at a time.

A transaction that writes first takes a lock that only one process of all can have (an advisory lock), so no two spend
the same amount, wherever they run; readers share it, so that what they see is the last state. `synchronous_commit` is
set to on and checked, and a server that runs with `fsync` off is refused, because it can lose what it has acknowledged.
The ledger's home is the server, the database and the table themselves, by the numbers that PostgreSQL gave them: what
was restored from a dump is refused until it is adopted. What was restored from a copy of the server's files has the
same numbers; only a witness, or releases, find that out.

A connection lives for one transaction. The address may hold a password, so no message shows more of it than the host
and the database. Needs psycopg (``pip install 'spatialdp[ledger]'``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, ClassVar
from urllib.parse import urlsplit

from spatialdp._support.override import override
from spatialdp._support.terminal import printable
from spatialdp.errors import LedgerError
from spatialdp.privacy.ledger.entries import FORMAT
from spatialdp.privacy.ledger.stores.sql import SQLStore, SQLTransaction
from spatialdp.privacy.noise.source import SystemNoise
from spatialdp.wording import either

__all__ = ["PostgresStore", "PostgresTransaction", "is_address"]

_SCHEMA = "spatialdp_ledger"
_MADE = (
    f"CREATE SCHEMA {_SCHEMA}",
    f"CREATE TABLE {_SCHEMA}.meta (key text PRIMARY KEY, value text NOT NULL)",
    f"CREATE TABLE {_SCHEMA}.entry (seq bigint PRIMARY KEY, kind text NOT NULL, body text NOT NULL, "
    "prev text NOT NULL, hash text NOT NULL)",
    f"CREATE TABLE {_SCHEMA}.state (key text PRIMARY KEY, value text NOT NULL)",
    f"CREATE FUNCTION {_SCHEMA}.never() RETURNS trigger LANGUAGE plpgsql AS "
    "$$BEGIN RAISE 'entries are never changed or removed'; END$$",
    f"CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON {_SCHEMA}.entry "
    f"FOR EACH STATEMENT EXECUTE FUNCTION {_SCHEMA}.never()",
)
_HOME = (
    "SELECT system_identifier || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' "
    f"|| '{_SCHEMA}.entry'::regclass::oid FROM pg_control_system()"
)
_LOCK = 7_016_991_004_277_190_613  # the number of the advisory lock: any that nobody else uses
_PATIENCE = 60  # seconds for a connection, and for the lock
_NO_PSYCOPG = "a ledger in PostgreSQL needs psycopg; install it with: pip install 'spatialdp[ledger]'"


def is_address(place: object) -> bool:
    """Whether a ledger's place is the address of a PostgreSQL database.

    Examples
    --------
    >>> is_address("postgresql://ann@host/privacy"), is_address("privacy.ledger")
    (True, False)
    """
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


class PostgresTransaction(SQLTransaction):
    """The entries and the table of a schema, as one transaction sees them."""

    mark: ClassVar[str] = "%s"
    schema: ClassVar[str] = f"{_SCHEMA}."


class PostgresStore(SQLStore):
    """A ledger in a database of PostgreSQL.

    Parameters
    ----------
    address : str
        Such as ``"postgresql://ann@host/privacy"``. The ledger lies in the schema `spatialdp_ledger`, which is made if
        it is missing.
    patience : int
        Seconds to wait for the server, and for the lock while other processes hold it.
    """

    def __init__(self, address: str, patience: int = _PATIENCE) -> None:
        parts = urlsplit(address)
        self._address, self._patience = address, patience
        self._shown = printable(
            f"the database {parts.path.strip('/') or 'of your login'} on {parts.hostname or 'here'}"
        )

    def __repr__(self) -> str:
        return f"PostgresStore({self._shown!r})"

    @override
    def check_locks(self) -> None:
        """A server's locks hold for all of its connections; nothing to refuse."""

    def make(self) -> None:
        """Make the tables if there are none; another process may do the same at the same time."""
        with self._errors_of_the_ledger(), closing(self._connect()) as connection:
            self._begin(connection)
            self._lock(connection)
            if self._is_there(connection):
                return
            for statement in _MADE:
                connection.execute(statement)
            facts = {"format": FORMAT, "ledger": SystemNoise().random_bytes(16).hex()}
            facts["home"] = connection.execute(_HOME).fetchone()[0]
            for each in facts.items():
                connection.execute(f"INSERT INTO {_SCHEMA}.meta VALUES (%s, %s)", each)
            connection.execute("COMMIT")

    @override
    @contextmanager
    def _transaction(self, *, read_only: bool = False) -> Iterator[PostgresTransaction]:
        """Open a connection for one transaction; an error rolls back whatever was done."""
        with self._errors_of_the_ledger(), closing(self._connect()) as connection:
            # Each statement sees what was committed before it, so nothing is read before the lock is held.
            self._begin(connection, f" ISOLATION LEVEL READ COMMITTED{' READ ONLY' * read_only}")
            self._lock(connection, "_shared" * read_only)
            self._check_format(connection)
            yield PostgresTransaction(connection)
            connection.execute("COMMIT")

    def _connect(self) -> Any:
        try:
            import psycopg
        except ImportError:
            raise LedgerError(_NO_PSYCOPG) from None
        return psycopg.connect(self._address, autocommit=True, connect_timeout=self._patience)

    def _begin(self, connection: Any, how: str = "") -> None:
        """Begin a transaction that is durable once it is committed; a pooler may give each another connection."""
        connection.execute(f"BEGIN{how}")
        connection.execute("SET LOCAL synchronous_commit = on")
        connection.execute(f"SET LOCAL lock_timeout = '{self._patience}s'")
        for name in ("synchronous_commit", "fsync"):
            (found,) = connection.execute(f"SHOW {name}").fetchone()
            if found != "on":
                raise LedgerError(
                    f"{self._shown} runs with {name} = {printable(found)}, so that it can lose what it has "
                    "acknowledged; have it turned on, or keep the ledger elsewhere."
                )

    def _lock(self, connection: Any, how: str = "") -> None:
        connection.execute(f"SELECT pg_advisory_xact_lock{how}(%s)", (_LOCK,))

    def _is_there(self, connection: Any) -> bool:
        return connection.execute("SELECT to_regclass(%s)", (f"{_SCHEMA}.entry",)).fetchone()[0] is not None

    def _check_format(self, connection: Any) -> None:
        """Refuse tables that this version did not make."""
        query = f"SELECT value FROM {_SCHEMA}.meta WHERE key = 'format'"
        found = connection.execute(query).fetchone() if self._is_there(connection) else None
        if found != (FORMAT,):
            raise LedgerError(
                f"{self._shown} has no ledger that this version of spatialdp keeps; name another database."
            )

    @override
    def _home(self, transaction: SQLTransaction) -> str:
        return str(transaction._connection.execute(_HOME).fetchone()[0])

    @property
    @override
    def _moved(self) -> str:
        return (
            f"the ledger in {self._shown} is a copy, restored from a dump or on another server, so later spends "
            "may be missing from it; use the ledger itself. If this is the ledger, restored with all of its "
            f"spends, say so with {either('Ledger.adopt', '`spatialdp ledger adopt`')}."
        )

    @contextmanager
    def _errors_of_the_ledger(self) -> Iterator[None]:
        """Turn whatever psycopg raises into one kind of error; what was to be written may be written."""
        try:
            yield
        except Exception as error:
            reason = _reason(error)
            if reason is None:
                raise
            raise LedgerError(f"{self._shown} {reason}") from None


def _reason(error: Exception) -> str | None:
    """Return what is wrong, in words, if an error is one of psycopg's; the server's own message stays unsaid."""
    try:
        import psycopg
    except ImportError:
        return None
    if not isinstance(error, psycopg.Error):
        return None
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return "has been locked by another process for too long; wait until that process is done, and try again."
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return "may not be written by this login; ask the person who keeps the ledger for the right to use its schema."
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return "cannot be reached, or does not accept this login; check the address, and whether the server runs."
    return f"refused ({type(error).__name__}); ask the person who runs the server."
