"""Persons are compared byte by byte on every engine, whatever its collations, and seeds are those of Python's md5."""

from __future__ import annotations

import hashlib
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pytest

from scripts import table_sql
from spatialdp.records.engines.dialects import DIALECTS
from spatialdp.records.engines.drivers import driver_of
from spatialdp.records.persons.keys import SALT
from tests.helpers.engines import ON_SPARK, on_spark

NAMES = ["ann", "Ann", "ann ", "", "Zoë", "Zoe\u0308", "o'neil", "日本", "😀", "a\\b", "a|1", "%s", "tab\t"]


def numbers(engine, answer):
    batches = list(driver_of(engine.backend).pairs(answer))
    return np.concatenate([np.stack(batch, axis=1) for batch in batches]).tolist()


def groups(engine, table, column="who"):
    """How many persons there are, by their numbers of records."""
    identity = driver_of(engine.backend).dialect.identity(table[column])
    persons = table.select(person=identity).group_by("person").agg(n=lambda t: t.count())
    return sorted(numbers(engine, persons.group_by("n").agg(persons=lambda t: t.count()).select("n", "persons")))


def test_persons_are_their_bytes(engine):
    table = engine.load("names", pa.table({"who": NAMES * 2}))
    assert groups(engine, table) == [[2, len(NAMES)]]


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
def test_seeds_are_the_beginnings_of_md5(engine, kind):
    persons = NAMES if kind == pa.string() else [0, -1, 7, 2**63 - 1, -(2**63), 10]
    table = engine.load("names", pa.table({"who": pa.array(persons, kind), "number": range(len(persons))}))
    dialect = driver_of(engine.backend).dialect
    seeds = table.select(table.number, seed=dialect.seed(SALT, dialect.identity(table.who)))
    digests = [hashlib.md5(f"spatialdp|{person}".encode()).hexdigest() for person in persons]
    assert [seed for _, seed in sorted(numbers(engine, seeds))] == [int(digest[:8], 16) for digest in digests]


def test_collations_of_duckdb_play_no_part(duckdb):
    duckdb.run("CREATE TABLE names (who VARCHAR COLLATE NOCASE)")
    duckdb.run("INSERT INTO names VALUES ('Ann'), ('ann'), ('ann')")
    assert groups(duckdb, duckdb.backend.table("names")) == [[1, 1], [2, 1]]
    duckdb.run("SET default_collation = 'nocase'")
    duckdb.run("CREATE TABLE others AS SELECT unnest(['Ann', 'ann', 'ann']) AS who")
    assert groups(duckdb, duckdb.backend.table("others")) == [[1, 1], [2, 1]]


def test_an_enumeration_of_duckdb_is_text(duckdb):
    duckdb.run("CREATE TYPE name AS ENUM ('ann', 'bob')")
    duckdb.run("CREATE TABLE names (who name)")
    duckdb.run("INSERT INTO names VALUES ('ann'), ('bob'), ('bob')")
    assert groups(duckdb, duckdb.backend.table("names")) == [[1, 1], [2, 1]]


@pytest.mark.engines
@pytest.mark.parametrize("kind", ["citext", "text COLLATE ignores_case", "varchar(9) COLLATE ignores_case", "name"])
def test_collations_of_postgresql_play_no_part(postgresql, kind):
    postgresql.run(
        "CREATE COLLATION IF NOT EXISTS ignores_case "
        "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    postgresql.run("DROP TABLE IF EXISTS names")
    postgresql.run(f"CREATE TABLE names (who {kind})")
    postgresql.run("INSERT INTO names VALUES ('Ann'), ('ann'), ('ann')")
    assert groups(postgresql, postgresql.backend.table("names")) == [[1, 1], [2, 1]]


@pytest.mark.engines
def test_padding_of_postgresql_is_not_part_of_a_person(postgresql):
    """char(n) has no trailing blanks: PostgreSQL itself drops them when it makes a text of it."""
    postgresql.run("DROP TABLE IF EXISTS names")
    postgresql.run("CREATE TABLE names (who char(5), number bigint)")
    postgresql.run("INSERT INTO names VALUES ('ann', 1), ('ann  ', 2), ('Ann', 3)")
    table = postgresql.backend.table("names")
    assert groups(postgresql, table) == [[1, 1], [2, 1]]
    length = ibis.udf.scalar.builtin(lambda b: b, name="octet_length", signature=((bytes,), int))
    lengths = length(DIALECTS["postgres"].identity(table.who))
    assert sorted(numbers(postgresql, table.select(table.number, length=lengths))) == [[1, 3], [2, 3], [3, 3]]


@on_spark
def test_collations_of_spark_play_no_part(spark):
    spark.session.sql(
        "SELECT collate(who, 'UTF8_LCASE') AS who FROM VALUES ('Ann'), ('ann'), ('ann') AS names(who)"
    ).createOrReplaceTempView("collated")
    if str(spark.session.table("collated").schema["who"].dataType).startswith("StringType()"):
        pytest.skip("this Spark has no collations")
    assert groups(spark, spark.backend.table("collated")) == [[1, 1], [2, 1]]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_uuids_are_compared_as_they_are(engine):
    column = ibis.table({"who": "uuid"}, name="t").who
    assert DIALECTS[engine].identity(column).type().is_uuid()


@pytest.mark.parametrize(
    "title", [title if "Spark" not in title else pytest.param(title, marks=ON_SPARK) for title in table_sql.SECTIONS]
)
def test_the_page_shows_the_sql_that_expressions_compile_to(title):
    assert table_sql.section(title) in (Path(table_sql.__file__).parents[1] / "docs" / "tables-sql.md").read_text()


@pytest.mark.parametrize("name", [name for name, dialect in DIALECTS.items() if not dialect.tested])
@pytest.mark.parametrize("kind", ["string", "int64"])
def test_engines_that_are_not_run_compile(name, kind):
    table = ibis.table({"who": kind, "cell": "int64"}, name="t")
    dialect = DIALECTS[name]
    sql = ibis.to_sql(table.select(seed=dialect.seed(SALT, dialect.identity(table.who))), dialect=name)
    assert "MD5(" in sql
    assert "spatialdp|" in sql
