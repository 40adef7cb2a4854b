"""Engines for tests: DuckDB in this process, a temporary PostgreSQL with PostGIS on a socket, and a local Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

NEEDED = os.environ.get("SPATIALDP_NEEDS_ENGINES") == "1"
_TYPES = {pa.float64(): "double precision", pa.int64(): "bigint", pa.string(): "text"}  # of PostgreSQL
_SECONDS = 60  # that a server may take to start or to stop

# pyspark leaves sockets to Java open.
ON_SPARK = (
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
)


def on_spark(test):
    """Mark a test that runs Spark."""
    for mark in ON_SPARK:
        test = mark(test)
    return test


ALL = (
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.engines),
    pytest.param("spark", marks=ON_SPARK),
)


def ranges_of_doubles():
    """Whether DuckDB reckons in which range expressions of doubles are, as it does from version 2 on."""
    return int(version("duckdb").split(".")[0]) >= 2


class DuckDB:
    """An embedded DuckDB in memory."""

    def __init__(self):
        import ibis

        self.backend = ibis.duckdb.connect()

    def load(self, name, table):
        """Make a table of an Arrow table, in place of the one that there was."""
        self.backend.con.register("incoming", table)
        self.backend.con.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")
        self.backend.con.unregister("incoming")
        return self.backend.table(name)

    def run(self, statement):
        self.backend.con.execute(statement)


class PostgreSQL:
    """A connection to a PostgreSQL server."""

    def __init__(self, place):
        import ibis

        self.place = place
        self.backend = ibis.postgres.connect(**place)

    def load(self, name, table):
        columns = ", ".join(f"{field.name} {_TYPES[field.type]}" for field in table.schema)
        self.run(f"DROP TABLE IF EXISTS {name} CASCADE")
        self.run(f"CREATE UNLOGGED TABLE {name} ({columns})")
        with self.backend.con.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8) + binary_rows(table) + b"\xff\xff")
        self.run(f"ANALYZE {name}")
        return self.backend.table(name)

    def run(self, statement):
        self.backend.con.execute(statement)


class Spark:
    """A session of Spark in local mode."""

    def __init__(self, session, folder):
        import ibis

        self.session, self.folder = session, folder
        self.backend = ibis.pyspark.connect(session)

    def load(self, name, table):
        path = Path(tempfile.mkdtemp(dir=self.folder)) / "rows.parquet"
        pq.write_table(table, path)
        self.session.read.parquet(str(path)).createOrReplaceTempView(name)
        return self.backend.table(name)

    def run(self, statement):
        self.session.sql(statement)


def binary_rows(table):
    """Rows in PostgreSQL's binary format of COPY."""
    cells = [[_field(value, field.type) for value in table.column(field.name).to_pylist()] for field in table.schema]
    if all(field.type != pa.string() and not table.column(field.name).null_count for field in table.schema):
        return _fixed_rows(table)
    start = len(table.schema).to_bytes(2, "big")
    return b"".join(start + b"".join(row) for row in zip(*cells, strict=True))


def _fixed_rows(table):
    """The same for numbers without missing values, without a loop over rows."""
    kinds = [(">i4", ">f8" if field.type == pa.float64() else ">i8") for field in table.schema]
    layout = [("start", ">i2")] + [(f"{part}{i}", kind[part]) for i, kind in enumerate(kinds) for part in (0, 1)]
    rows = np.zeros(table.num_rows, dtype=layout)
    rows["start"] = len(kinds)
    for place, column in enumerate(table.columns):
        rows[f"0{place}"], rows[f"1{place}"] = 8, column.to_numpy()
    return rows.tobytes()


def _field(value, kind):
    if value is None:
        return b"\xff\xff\xff\xff"
    if kind == pa.string():
        content = value.encode()
    else:
        content = np.array(value, dtype=">f8" if kind == pa.float64() else ">i8").tobytes()
    return len(content).to_bytes(4, "big") + content


@contextmanager
def postgresql_server(fsync="off", restarts=None):
    """Start a PostgreSQL of our own in a temporary folder, on a socket there; it is stopped and removed at the end.

    A function that stops it at once, as a crash would, and starts it anew, is put into the list `restarts`.
    """
    programs = _postgresql_programs()
    if find_spec("psycopg") is None:
        missing("psycopg", "spatialdp[postgres]")
    user = "postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to be run by root
    folder = tempfile.mkdtemp(prefix="pg-", dir="/tmp")  # a path of a socket has at most 107 bytes
    if user:
        shutil.chown(folder, user)
    data = f"{folder}/data"
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync={fsync} -c max_connections=20"
    control = [f"{programs}/pg_ctl", "-D", data, "-w", "-t", str(_SECONDS)]
    try:
        _quietly([f"{programs}/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"], user, folder)
        start = [*control, "-o", options, "-l", f"{folder}/log", "start"]
        stop = [*control, "-m", "immediate", "stop"]
        _quietly(start, user, folder)
        if restarts is not None:
            restarts.append(lambda: [_quietly(command, user, folder) for command in (stop, start)])
        try:
            yield {"host": folder, "user": "postgres", "database": "postgres"}
        finally:
            _quietly(stop, user, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _quietly(command, user, folder):
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    subprocess.run(
        command, user=user, cwd=folder, env=environment, check=True, timeout=2 * _SECONDS, stdout=subprocess.DEVNULL
    )


def _postgresql_programs():
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    found = [folder for folder in folders if (folder / "initdb").exists()]
    if not found:
        missing("PostgreSQL", "postgresql and postgresql-postgis")
    return found[-1]


@contextmanager
def spark_session():
    """Start Spark in this process's folder, with one thread; nothing of it listens to other machines."""
    if shutil.which("java") is None:
        missing("Java", "Java 17")
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        missing("pyspark", "spatialdp[spark]")
    folder = tempfile.mkdtemp(prefix="spark-")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # tests are short: less is compiled
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": folder,
        "spark.log.level": "OFF",
    }
    builder = SparkSession.builder.master("local[1]").appName("spatialdp")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session, folder
    finally:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)


def missing(what, how):
    """Skip tests of an engine that is not there, unless it must be."""
    words = f"{what} is not installed; install {how}"
    (pytest.fail if NEEDED else pytest.skip)(words)
