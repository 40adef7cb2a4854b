"""Drivers fetch whole numbers, and leave no word of an engine on a screen or in a log of this process."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import spatialdp as sdp
from spatialdp.records.engines.cells import cells_of_table, counts_of
from spatialdp.records.engines.drivers import Driver, DuckDBDriver, PostgreSQLDriver, SparkDriver, driver_of
from tests.helpers.adversarial import table_of
from tests.helpers.engines import on_spark, ranges_of_doubles

MANY = 300_000


def test_many_pairs_come_in_batches(engine):
    rows = pa.table({"cell": np.arange(MANY), "n": np.arange(MANY) % 7 + 1})
    table = engine.load("pairs", rows)
    batches = list(driver_of(engine.backend).pairs(table))
    assert len(batches) > 1
    found = np.concatenate([np.stack(batch, axis=1) for batch in batches])
    assert np.array_equal(found[np.argsort(found[:, 0])], np.stack([rows["cell"], rows["n"]], axis=1))


def test_sums_are_whole_numbers_of_64_bits(engine):
    """DuckDB sums to 128 bits, and PostgreSQL to decimals."""
    table = engine.load("pairs", pa.table({"cell": [3, 3, 4], "n": [2**52, 5, 1]}))
    (batch,) = driver_of(engine.backend).pairs(table.group_by("cell").agg(n=table.n.sum()).order_by("cell"))
    assert [part.tolist() for part in batch] == [[3, 4], [2**52 + 5, 1]]
    assert {part.dtype for part in batch} == {np.dtype(np.int64)}


def test_missing_values_are_errors(engine):
    table = engine.load("pairs", pa.table({"cell": [3, 4], "n": pa.array([1, None])}))
    with pytest.raises((TypeError, ValueError)):
        list(driver_of(engine.backend).pairs(table))


@pytest.mark.parametrize("shown", [True, False])
def test_the_progress_bar_of_duckdb_is_off_while_a_query_runs(duckdb, shown):
    driver = driver_of(duckdb.backend)
    setting = "SELECT current_setting('enable_progress_bar')"
    duckdb.run(f"SET enable_progress_bar = {shown}")
    with driver.silence():
        assert driver.connection.execute(setting).fetchall() == [(False,)]
    assert driver.connection.execute(setting).fetchall() == [(shown,)]


@pytest.mark.skipif(not ranges_of_doubles(), reason="this DuckDB knows no ranges of cells")
def test_duckdb_counts_in_an_array_where_that_is_small_and_is_set_as_before_afterwards(duckdb, tmp_path):
    path = tmp_path / "places.parquet"
    pq.write_table(table_of(*np.random.default_rng(2).random((2, 9))), path)
    driver, domain = driver_of(duckdb.backend), sdp.Domain((0, 0, 1, 1))
    table = duckdb.backend.read_parquet(path)

    def plan(side):
        answer = counts_of(cells_of_table(table, domain.grid((side, side)), driver.dialect))
        return driver.connection.execute(f"EXPLAIN {duckdb.backend.compile(answer)}").fetchall()[0][1].lower()

    duckdb.run("SET threads = 2")
    with driver.silence():
        assert "perfect" in plan(1024)
        assert "perfect" not in plan(4096)
    assert "perfect" not in plan(1024)
    duckdb.run("SET threads = 64")
    with driver.silence():
        assert "perfect" not in plan(1024)


def test_loggers_are_silent_while_a_query_runs_and_as_before_afterwards(duckdb, caplog):
    class Loud(DuckDBDriver):
        loggers = ("loud",)

    logger = logging.getLogger("loud")
    logger.setLevel(logging.INFO)
    with caplog.at_level(logging.DEBUG), Loud(duckdb.backend).silence():
        logger.critical("a record")
    assert caplog.text == ""
    assert logger.level == logging.INFO


def test_every_known_engine_has_its_driver():
    class Backend:
        def __init__(self, name):
            self.name = name

    kinds = {"duckdb": DuckDBDriver, "postgres": PostgreSQLDriver, "pyspark": SparkDriver, "bigquery": Driver}
    assert {name: type(driver_of(Backend(name))) for name in kinds} == kinds
    assert not driver_of(Backend("duckdb")).is_lost(ConnectionError())


def test_a_driver_without_an_engine_of_its_own_asks_ibis(duckdb, monkeypatch):
    rows = pa.table({"cell": [1, 2], "n": [3, 4]})
    monkeypatch.setattr(
        type(duckdb.backend), "to_pyarrow_batches", lambda backend, expression, chunk_size: rows.to_batches()
    )
    (batch,) = Driver(duckdb.backend).pairs(duckdb.load("pairs", rows))
    assert [part.tolist() for part in batch] == [[1, 2], [3, 4]]


@on_spark
def test_spark_is_silent_and_its_level_is_never_lowered(spark, capfd):
    driver = driver_of(spark.backend)
    context = spark.session.sparkContext
    root = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger
    context.setLogLevel("INFO")
    with driver.silence():
        assert root().getLevel().toString() == "OFF"
        assert logging.getLogger("SQLQueryContextLogger").level > logging.CRITICAL
    assert root().getLevel().toString() == "WARN"
    context.setLogLevel("ERROR")
    with driver.silence():
        pass
    assert root().getLevel().toString() == "ERROR"
    context.setLogLevel("OFF")
    capfd.readouterr()


@pytest.mark.engines
def test_queries_on_postgresql_only_read_and_see_one_state(postgresql):
    driver = driver_of(postgresql.backend)
    with driver.snapshot():
        settings = "SELECT current_setting('transaction_read_only'), current_setting('transaction_isolation')"
        assert driver.connection.execute(settings).fetchall() == [("on", "repeatable read")]
        assert driver.in_snapshot
    assert not driver.in_snapshot
    assert driver.connection.execute("SELECT current_setting('transaction_read_only')").fetchall() == [("off",)]


@pytest.mark.engines
def test_the_callers_own_transaction_is_left_open(postgresql):
    table = postgresql.load("pairs", pa.table({"cell": [1], "n": [2]}))
    with postgresql.backend.con.transaction():
        postgresql.run("INSERT INTO pairs VALUES (2, 3)")
        assert sum(part[0].size for part in driver_of(postgresql.backend).pairs(table)) == 2
        postgresql.run("INSERT INTO pairs VALUES (3, 4)")
    assert sum(part[0].size for part in driver_of(postgresql.backend).pairs(table)) == 3
