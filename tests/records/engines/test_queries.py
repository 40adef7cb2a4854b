"""An answer is used as a whole and after all checks, or not at all; and no failure tells of a record."""

from __future__ import annotations

import gc
import threading
import time
import traceback
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.engines.drivers import Driver, driver_of
from spatialdp.records.engines.queries import discreetly, sparse_counts
from tests.helpers.engines import PostgreSQL, on_spark

DOMAIN = sdp.Domain((0, 0, 1, 1))
SECRET = "alice@home 51.48613"


class Answering(Driver):
    """A driver that answers what it is told."""

    def __init__(self, duckdb, batches):
        super().__init__(duckdb.backend)
        self.batches = batches

    def pairs(self, expression):
        for batch in self.batches:
            if isinstance(batch, Exception):
                raise batch
            yield tuple(np.array(part, dtype=np.int64) for part in batch)


def test_batches_are_put_together_and_sorted(duckdb):
    driver = Answering(duckdb, [([5, 2], [1, 3]), ([0], [7]), ([], [])])
    keys, counts = sparse_counts(driver, None, 6, "counting")
    assert keys.tolist() == [0, 2, 5]
    assert counts.tolist() == [7, 3, 1]


@pytest.mark.parametrize(
    "batches",
    [
        [([6], [1])],
        [([-1], [1])],
        [([1, 1], [1, 1])],
        [([1], [1]), ([1], [1])],
        [([1], [0])],
        [([1], [-3])],
        [([1, 2], [2**62, 2**62])],
    ],
    ids=["beyond", "below", "twice", "twice in two batches", "zero", "negative", "too many"],
)
def test_an_impossible_answer_is_refused_without_its_numbers(duckdb, batches):
    with pytest.raises(PointsError, match="not a list of cells and counts; nothing was released"):
        sparse_counts(Answering(duckdb, batches), None, 6, "counting")


def test_nothing_of_an_answer_that_breaks_off_is_used(duckdb):
    driver = Answering(duckdb, [([1], [1]), RuntimeError(SECRET)])
    with pytest.raises(
        PointsError, match=r"DuckDB failed while counting \(RuntimeError\); nothing was released"
    ) as caught:
        sparse_counts(driver, None, 6, "counting")
    assert_silent(caught.value)


def test_memory_errors_stay_memory_errors_without_their_message(duckdb):
    with pytest.raises(MemoryError, match="not enough memory for the counts"):
        sparse_counts(Answering(duckdb, [MemoryError(SECRET)]), None, 6, "counting")


@pytest.mark.parametrize(
    "column", [pa.array([1, None]), pa.array([1.0, 2.0]), pa.array(["1", "2"])], ids=["missing", "doubles", "text"]
)
def test_columns_of_other_types_are_refused(duckdb, column):
    table = duckdb.load("answers", pa.table({"cell": [1, 2], "n": column}))
    with pytest.raises(PointsError, match="failed while counting"):
        sparse_counts(driver_of(duckdb.backend), table, 6, "counting")


class Lost(Answering):
    """A driver whose connection is lost a number of times."""

    def __init__(self, duckdb, times, owned=True):
        super().__init__(duckdb, [([1], [1])])
        self.owned, self.times, self.reconnections = owned, times, 0

    def pairs(self, expression):
        if self.times > 0:
            self.times -= 1
            raise ConnectionError(SECRET)
        return super().pairs(expression)

    def is_lost(self, error):
        return isinstance(error, ConnectionError)

    def reconnect(self):
        self.reconnections += 1


def test_a_lost_connection_is_opened_again_once(duckdb):
    tested = []
    driver = Lost(duckdb, 1)
    assert sparse_counts(driver, None, 6, "counting", tested.append)[0].tolist() == [1]
    assert driver.reconnections == 1
    assert len(tested) == 2
    driver = Lost(duckdb, 2)
    with pytest.raises(PointsError, match="ConnectionError"):
        sparse_counts(driver, None, 6, "counting")
    assert driver.reconnections == 1


def test_connections_of_others_and_snapshots_are_not_opened_again(duckdb):
    theirs, snapshot = Lost(duckdb, 1, owned=False), Lost(duckdb, 1)
    snapshot.in_snapshot = True
    for driver in (theirs, snapshot):
        with pytest.raises(PointsError, match="ConnectionError"):
            sparse_counts(driver, None, 6, "counting")
        assert driver.reconnections == 0


def test_errors_of_ours_pass_as_they_are(duckdb):
    def refuse():
        raise PointsError("our own words.")

    with pytest.raises(PointsError, match=r"^our own words\.$"):
        discreetly(refuse, driver_of(duckdb.backend), "testing")


# --- real failures ---------------------------------------------------------------------------------


class Counting(SeededNoise):
    """Noise that knows how often it was drawn."""

    drawn = 0

    def random_bytes(self, count):
        self.drawn += 1
        return super().random_bytes(count)


def assert_silent(error, *shown):
    """No value, and no other error, is in an error, its frames or what was shown meanwhile."""
    assert error.__cause__ is None
    assert error.__context__ is None
    text = "".join(traceback.format_exception(error)) + "".join(map(str, shown))
    for word in ("alice", "51.48613", "0.4861"):
        assert word not in text
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][1:]
    held = [value for frame in frames for value in frame.f_locals.values()]
    assert not [value for value in held if isinstance(value, np.ndarray | pa.Table | pa.RecordBatch)]


def assert_nothing_is_released(points, capfd, caplog, recwarn, mechanism=None, person=None):
    noise = Counting(1)
    mechanism = mechanism or sdp.Flat((64, 64))
    with pytest.raises(
        PointsError, match=r"failed while counting .*nothing was released and nothing was spent"
    ) as caught:
        mechanism.release(points, DOMAIN, epsilon=1, noise=noise, person=person)
    assert noise.drawn == 0
    gc.collect()
    captured = capfd.readouterr()
    assert_silent(caught.value, captured, caplog.text, [str(each.message) for each in recwarn.list])
    assert captured.err == ""
    assert captured.out == ""
    return str(caught.value)


def test_a_value_that_a_view_cannot_cast_is_not_quoted(duckdb, capfd, caplog, recwarn):
    duckdb.run(f"CREATE TABLE texts AS SELECT unnest(['0.5', '{SECRET}']) AS t")
    duckdb.run("CREATE VIEW numbers AS SELECT CAST(t AS DOUBLE) AS x, 0.5::DOUBLE AS y FROM texts")
    points = sdp.read_table(duckdb.backend.table("numbers"), DOMAIN, x="x", y="y")
    assert "ConversionException" in assert_nothing_is_released(points, capfd, caplog, recwarn)


def test_a_table_that_is_gone_releases_nothing(duckdb, capfd, caplog, recwarn):
    points = sdp.read_table(duckdb.load("homes", pa.table({"x": [0.48613], "y": [0.5]})), DOMAIN, x="x", y="y")
    duckdb.run("DROP TABLE homes")
    assert "CatalogException" in assert_nothing_is_released(points, capfd, caplog, recwarn)


def many(duckdb):
    """A view of very many records, which takes long to count; they have as many persons."""
    rows = "SELECT i % 9973 / 9973.0 AS x, i % 7919 / 7919.0 AS y, i AS who FROM range(3000000000) AS numbers(i)"
    duckdb.run(f"CREATE OR REPLACE VIEW many AS {rows}")
    return duckdb.backend.table("many")


def test_a_query_that_is_interrupted_releases_nothing(duckdb, capfd, caplog, recwarn):
    points = sdp.read_table(many(duckdb), DOMAIN, x="x", y="y")
    timer = threading.Timer(0.5, duckdb.backend.con.interrupt)
    timer.start()
    assert "InterruptException" in assert_nothing_is_released(points, capfd, caplog, recwarn)
    timer.join()


def test_a_query_without_enough_memory_releases_nothing(duckdb, capfd, caplog, recwarn, tmp_path):
    points = sdp.read_table(many(duckdb), DOMAIN, x="x", y="y", person="who")
    duckdb.run(f"SET temp_directory = '{tmp_path}'")
    duckdb.run("SET memory_limit = '60MB'; SET max_temp_directory_size = '1MB'; SET threads = 1")
    words = assert_nothing_is_released(points, capfd, caplog, recwarn, person=sdp.Person(cells=2))
    assert "OutOfMemoryException" in words


def terminate(place, condition, times, killed_sessions):
    """Terminate the sessions that run a certain query, once it runs, a number of times."""
    other = PostgreSQL(place)
    for _ in range(times):
        for _ in range(400):
            killed = other.backend.con.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE pid <> pg_backend_pid() AND state = 'active' AND {condition}"
            ).fetchall()
            time.sleep(0.05 if not killed else 0.5)
            if killed:
                killed_sessions.extend(killed)
                break
    other.backend.disconnect()


@contextmanager
def killer(place, condition, times):
    """Terminate sessions meanwhile; at the end it is checked that so many were."""
    killed = []
    thread = threading.Thread(target=terminate, args=(place, condition, times, killed))
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert len(killed) == times


def slow_view(postgresql, name="slow"):
    postgresql.run(
        f"CREATE OR REPLACE VIEW {name} AS SELECT i % 9973 / 9973.0::float8 AS x, i % 7919 / 7919.0::float8 AS y "
        "FROM generate_series(1, 400000000::bigint) AS numbers(i)"
    )
    return postgresql.backend.table(name)


@pytest.mark.engines
def test_a_killed_session_of_postgresql_releases_nothing(postgresql, postgresql_place, capfd, caplog, recwarn):
    points = sdp.read_table(slow_view(postgresql), DOMAIN, x="x", y="y")
    with killer(postgresql_place, "query LIKE '%string_agg%'", 1):
        assert "AdminShutdown" in assert_nothing_is_released(points, capfd, caplog, recwarn)


@pytest.mark.engines
def test_a_session_of_ours_is_opened_again_once(postgresql, postgresql_place, capfd, caplog, recwarn):
    """And the same counts come back; a second time, nothing is released."""
    postgresql.load("few", pa.table({"x": [0.1, 0.6], "y": [0.1, 0.6]}))
    postgresql.run("CREATE OR REPLACE VIEW sleepy AS SELECT x, y FROM few, pg_sleep(1)")
    address = f"postgresql://postgres@/postgres?host={postgresql_place['host']}&table=sleepy"
    points = sdp.read_table(address, DOMAIN, x="x", y="y")
    with killer(postgresql_place, "wait_event = 'PgSleep'", 1):
        assert points._counts(DOMAIN.grid((2, 2)), None).tolist() == [[1, 0], [0, 1]]
    with killer(postgresql_place, "wait_event = 'PgSleep'", 2):
        assert "AdminShutdown" in assert_nothing_is_released(points, capfd, caplog, recwarn)


@pytest.mark.engines
def test_a_stream_that_dies_midway_releases_nothing(postgresql, postgresql_place, capfd, caplog, recwarn, monkeypatch):
    """The session is killed after the first part of the answer has been handed out."""
    x, y = np.random.default_rng(1).random((2, 10**5))
    points = sdp.read_table(postgresql.load("wide", pa.table({"x": x, "y": y})), DOMAIN, x="x", y="y")
    kind = type(points._driver)
    pairs, parts = kind.pairs, []

    def killed_midway(driver, expression):
        for number, part in enumerate(pairs(driver, expression)):
            parts.append(number)
            yield part
            if number == 2:
                pid = driver.connection.info.backend_pid
                other = PostgreSQL(postgresql_place)
                other.backend.con.execute(f"SELECT pg_terminate_backend({pid})")
                other.backend.disconnect()

    monkeypatch.setattr(kind, "pairs", killed_midway)
    assert_nothing_is_released(points, capfd, caplog, recwarn, sdp.Flat((4096, 4096)))
    assert len(parts) >= 3


@pytest.mark.engines
def test_a_value_that_postgresql_cannot_cast_is_not_quoted(postgresql, capfd, caplog, recwarn):
    postgresql.load("texts", pa.table({"t": ["0.5", SECRET]}))
    postgresql.run("CREATE OR REPLACE VIEW numbers AS SELECT t::float8 AS x, 0.5::float8 AS y FROM texts")
    points = sdp.read_table(postgresql.backend.table("numbers"), DOMAIN, x="x", y="y")
    assert "InvalidTextRepresentation" in assert_nothing_is_released(points, capfd, caplog, recwarn)
    postgresql.run("DELETE FROM texts WHERE t LIKE 'alice%'")
    assert points._counts(DOMAIN.grid((1, 1)), None).tolist() == [[1]]  # the connection is still of use


@on_spark
def test_a_value_that_spark_cannot_cast_is_not_quoted(spark, capfd, caplog):
    spark.load("texts", pa.table({"t": ["0.5", SECRET]}))
    spark.run("CREATE OR REPLACE TEMPORARY VIEW numbers AS SELECT CAST(t AS DOUBLE) AS x, 0.5D AS y FROM texts")
    points = sdp.read_table(spark.backend.table("numbers"), DOMAIN, x="x", y="y")
    spark.session.sparkContext.setLogLevel("WARN")
    noise = Counting(1)
    with pytest.raises(PointsError, match=r"Spark failed while counting cells \(\w+\); nothing was released") as caught:
        sdp.Flat((8, 8)).release(points, DOMAIN, epsilon=1, noise=noise)
    assert noise.drawn == 0
    assert_silent(caught.value, capfd.readouterr(), caplog.text)
    spark.session.sparkContext.setLogLevel("OFF")
