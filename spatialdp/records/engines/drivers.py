"""How is a query sent to an engine, and its answer fetched? Without a message on a screen or in a log of this process.

A driver wraps the connection of an Ibis backend. It fetches answers of two columns of whole numbers, batch by batch; it
keeps the engine's progress bars and loggers silent while a query runs, because they show values of records or how many
there are; and it knows which errors mean that the connection was lost. What a server writes into its own logs is beyond
its reach (``docs/tables.md`` says what that is).
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.override import override
from spatialdp.errors import PointsError
from spatialdp.records.engines.dialects import DIALECTS, Dialect

__all__ = ["Driver", "closed_at_the_end", "driver_of"]

_SILENT = logging.CRITICAL + 1
_SEVERE = ("OFF", "FATAL", "ERROR")  # levels of Spark's log above warnings
_BATCH = 2**17  # rows of an answer that are fetched at a time
_ARRAYS = 2**28  # bytes that the threads of DuckDB may use together for counts in arrays
_GROUP = 17  # bytes of a group in them: its number, its count, and whether it has any
_MOST_BITS = 32  # the largest array that DuckDB makes has 2^32 groups
Pairs = tuple[Integers, Integers]


class Driver:
    """One connection to an engine.

    Parameters
    ----------
    backend : ibis backend
        Its connection is used; nothing is created in it.
    owned : bool
        Whether spatialdp opened the connection, and may open it again.
    """

    loggers: tuple[str, ...] = ()

    def __init__(self, backend: Any, *, owned: bool = False) -> None:
        self.backend, self.owned = backend, owned
        self.in_snapshot = False

    @property
    def dialect(self) -> Dialect:
        """The expressions in which the engine differs from others."""
        return DIALECTS[self.backend.name]

    @property
    def connection(self) -> Any:
        """The connection itself, which is another object after `reconnect`."""
        return getattr(self.backend, "con", self.backend)

    def pairs(self, expression: Any) -> Iterator[Pairs]:
        """Run a query of two columns of whole numbers, and yield the rows as two arrays, batch by batch."""
        return _pairs_of(self.backend.to_pyarrow_batches(expression, chunk_size=_BATCH))

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Keep Ibis, the engine's loggers and its progress bar silent within the context."""
        import ibis

        with ExitStack() as stack:
            for name in self.loggers:
                stack.enter_context(_quiet_logger(logging.getLogger(name)))
            interactive, ibis.options.interactive = ibis.options.interactive, False
            stack.callback(setattr, ibis.options, "interactive", interactive)
            stack.enter_context(self._set())
            yield

    @contextmanager
    def _set(self) -> Iterator[None]:
        """Return a context within which the engine is set for our queries: it shows neither progress nor profiles."""
        yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all queries within the context see the same state of the table, where the engine can promise it."""
        yield

    def is_lost(self, error: Exception) -> bool:  # noqa: ARG002 - embedded engines lose no connection
        """Whether an error means that the connection broke, so that the same query may succeed on a new one."""
        return False

    def check_persons(self, kind: Any) -> None:
        """Refuse a type of persons that this connection cannot compare byte by byte."""

    def reconnect(self) -> None:
        """Open the connection again."""
        self.backend.reconnect()
        closed_at_the_end(self.backend)


class DuckDBDriver(Driver):
    """DuckDB within this process. Its own reader is used: the one that Ibis 12 calls is gone from DuckDB 2."""

    @override
    def pairs(self, expression: Any) -> Iterator[Pairs]:
        answer = self.connection.sql(self.backend.compile(expression))
        read = answer.to_arrow_reader if hasattr(answer, "to_arrow_reader") else answer.fetch_record_batch
        return _pairs_of(read(_BATCH))

    @override
    @contextmanager
    def _set(self) -> Iterator[None]:
        connection = self.connection
        names = ("enable_progress_bar", "enable_profiling", "perfect_ht_threshold", "threads")
        asked = f"SELECT {', '.join(f'current_setting({name!r})' for name in names)}"
        ((shown, profiled, bits, threads),) = connection.execute(asked).fetchall()
        connection.execute("SET enable_progress_bar = false")
        connection.execute("PRAGMA disable_profiling")
        connection.execute(f"SET perfect_ht_threshold = {max(bits, _array_bits(threads))}")
        try:
            yield
        finally:
            connection.execute(f"SET perfect_ht_threshold = {bits}")
            if shown:
                connection.execute("SET enable_progress_bar = true")
            if profiled:
                connection.execute(f"PRAGMA enable_profiling = '{profiled}'")


def _array_bits(threads: int) -> int:
    """Return up to how many groups, as a power of two, DuckDB shall count in an array, which each thread has.

    A hash table, which it takes from 2^12 groups on otherwise, needs five times as much processor time.
    """
    return min((_ARRAYS // (_GROUP * threads)).bit_length() - 1, _MOST_BITS)


class PostgreSQLDriver(Driver):
    """PostgreSQL, through psycopg.

    Answers come as a few texts of bytes, 2^14 cells in each, instead of a row for each cell: psycopg makes an object of
    each value. A server-side cursor would not do, because PostgreSQL does not run it in parallel.
    """

    loggers = ("psycopg",)
    _PACKED = (
        "SELECT count(*), string_agg(int8send(a) || int8send(b), ''::bytea) "
        "FROM (SELECT {first}::int8 AS a, {second}::int8 AS b FROM ({query}) AS answer) AS pairs GROUP BY a >> 14"
    )

    @override
    def pairs(self, expression: Any) -> Iterator[Pairs]:
        first, second = (f'"{name}"' for name in expression.columns)
        query = self._PACKED.format(first=first, second=second, query=self.backend.compile(expression))
        with self._transaction(), self.connection.cursor(binary=True) as cursor:
            for count, packed in cursor.stream(query):
                numbers = np.frombuffer(packed or b"", dtype=">i8").astype(np.int64).reshape(-1, 2)
                if len(numbers) != count:  # a missing value, which has no bytes
                    raise ValueError
                yield numbers[:, 0], numbers[:, 1]

    @override
    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._transaction():
            self.in_snapshot = True
            try:
                yield
            finally:
                self.in_snapshot = False

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Read one state of the database and write nothing; within the caller's own transaction, see what that sees."""
        from psycopg.pq import TransactionStatus

        connection = self.connection
        idle = connection.info.transaction_status == TransactionStatus.IDLE
        with connection.transaction():
            if idle:
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    @override
    def is_lost(self, error: Exception) -> bool:
        import psycopg

        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and bool(self.connection.closed)

    @override
    def check_persons(self, kind: Any) -> None:
        encoding = self.connection.info.parameter_status("server_encoding")
        if kind.is_string() and encoding != "UTF8":
            raise PointsError(
                f"persons are text and the database is encoded in {encoding}; text is compared in UTF-8, and "
                "converting it fails on some characters. Give persons as whole numbers or UUIDs, or use a database in "
                "UTF8."
            )


class SparkDriver(Driver):
    """Spark, through its session. Errors quote records in the logs of Python and of Java, so both are off."""

    loggers = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j", "pyspark")

    @property
    def connection(self) -> Any:
        """The session."""
        return self.backend._session

    @override
    def pairs(self, expression: Any) -> Iterator[Pairs]:
        frame = self.connection.sql(self.backend.compile(expression))
        if not hasattr(frame, "toArrow"):  # before Spark 4
            return super().pairs(expression)
        return _pairs_of(frame.toArrow().to_batches(max_chunksize=_BATCH))

    @override
    @contextmanager
    def _set(self) -> Iterator[None]:
        context = getattr(self.connection, "_sc", None)
        if context is None:  # a session of Spark Connect, whose logs are the server's
            yield
            return
        bar = context._jsc.sc().progressBar()
        if bar.isDefined():
            bar.get().stop()
        level = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel().toString()
        context.setLogLevel("OFF")
        try:
            yield
        finally:
            # Shells show warnings at most by a filter that setLogLevel takes away, so lower levels are not set again.
            context.setLogLevel(level if level in _SEVERE else "WARN")


_DRIVERS = {"duckdb": DuckDBDriver, "postgres": PostgreSQLDriver, "pyspark": SparkDriver}


def driver_of(backend: Any, *, owned: bool = False) -> Driver:
    """Return the driver of a backend's engine."""
    return _DRIVERS.get(backend.name, Driver)(backend, owned=owned)


def closed_at_the_end(backend: Any) -> Any:
    """Close the connection of a backend that spatialdp opened as soon as nobody uses the backend any more."""
    weakref.finalize(backend, backend.con.close)
    return backend


def _pairs_of(batches: Iterable[Any]) -> Iterator[Pairs]:
    for batch in batches:
        first, second = (_whole_numbers(column) for column in batch.columns)
        yield first, second


def _whole_numbers(column: Any) -> Integers:
    """Return an Arrow column of whole numbers as an array; missing values and other types are errors."""
    import pyarrow as pa
    import pyarrow.types as types

    whole = types.is_integer(column.type) or (types.is_decimal(column.type) and column.type.scale == 0)
    if not whole or column.null_count:
        raise TypeError
    return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False))


@contextmanager
def _quiet_logger(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(_SILENT)
    try:
        yield
    finally:
        logger.setLevel(level)
