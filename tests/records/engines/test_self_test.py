"""The self-test refuses engines that compute otherwise than numpy, and sends nothing but public points."""

from __future__ import annotations

import ibis
import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.engines import bounding, cells
from spatialdp.records.engines import self_test as module
from spatialdp.records.engines.drivers import driver_of
from spatialdp.records.engines.self_test import adversarial_pairs, self_test
from spatialdp.space.lattice import LATTICE_BITS
from tests.helpers.adversarial import DOMAINS

KINDS = [None, "binary", "int64", "decimal(20, 0)", "decimal(9, 0)", "decimal(1, 0)", "uuid"]
RIGHT = cells.axis_cells


def kind_of(text):
    return None if text is None else ibis.dtype(text)


def test_engines_pass_the_self_test(engine):
    self_test(driver_of(engine.backend), DOMAINS["far from zero"])


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_engines_pass_the_self_test_in_every_domain(duckdb, domain):
    self_test(driver_of(duckdb.backend), domain)


@pytest.mark.parametrize("kind", KINDS)
def test_engines_pass_with_every_type_of_persons(engine, kind):
    if engine.backend.name == "pyspark" and kind == "uuid":
        pytest.skip("Spark has no UUIDs")
    self_test(driver_of(engine.backend), DOMAINS["degrees"], kind_of(kind))


def one_sided(values, axis, count, dialect):
    return values >= cells.number(axis.low), RIGHT(values, axis, count, dialect)[1]


def other_side(values, axis, count, dialect):
    return values <= cells.number(axis.high), RIGHT(values, axis, count, dialect)[1]


def shifted_last(values, axis, count, dialect):
    """What SQL makes of the formula without parentheses: a shift binds weaker than a sum."""
    inside, cell = RIGHT(values, axis, count, dialect)
    cell = cell.cast("int64")
    return inside, cell >> (ibis.literal(1) + cell)


def rounded(values, axis, count, dialect):
    inside = RIGHT(values, axis, count, dialect)[0]
    distance = ibis.ifelse(inside, values, cells.number(axis.low)) - cells.number(axis.low)
    line = (distance / cells.number(axis.spacing)).round().cast("int64")
    return inside, (line * count + (count - 1)) >> LATTICE_BITS


def single_precision(values, axis, count, dialect):
    inside, low = RIGHT(values, axis, count, dialect)[0], cells.number(axis.low)
    return inside, RIGHT(ibis.ifelse(inside, values, low).cast("float32").cast("float64"), axis, count, dialect)[1]


def no_far_edge(values, axis, count, dialect):
    inside, cell = RIGHT(values, axis, count, dialect)
    return inside & (values < cells.number(axis.high)), cell


ARITHMETIC = [one_sided, other_side, shifted_last, rounded, single_precision, no_far_edge]


@pytest.mark.parametrize("mutant", ARITHMETIC, ids=lambda mutant: mutant.__name__)
def test_another_arithmetic_is_refused(duckdb, mutant, monkeypatch):
    monkeypatch.setattr(cells, "axis_cells", mutant)
    with pytest.raises(PointsError, match="does not compute the cells of points as spatialdp does"):
        self_test(driver_of(duckdb.backend), DOMAINS["degrees"])


@pytest.mark.parametrize(
    ("place", "mutant"),
    [
        ("_with_persons", lambda table: table),
        ("_with_keys", lambda each: each.mutate(key=0).drop("seed")),
        ("SALT", ""),
        ("SHARE_STEPS", 2**19),
    ],
    ids=["null persons kept", "no key", "no salt", "other steps"],
)
def test_other_bounds_are_refused(duckdb, place, mutant, monkeypatch):
    monkeypatch.setattr(bounding, place, mutant)
    with pytest.raises(PointsError, match="does not compute"):
        self_test(driver_of(duckdb.backend), DOMAINS["degrees"], kind_of("binary"))


def test_a_region_that_is_not_left_out_is_refused(duckdb, monkeypatch):
    monkeypatch.setattr(module, "within_grid", lambda table, grid: table)
    with pytest.raises(PointsError, match="does not compute"):
        self_test(driver_of(duckdb.backend), DOMAINS["unit"], kind_of("int64"))


def test_missing_parentheses_are_refused_although_the_sum_is_right(duckdb, monkeypatch):
    """In SQL, row >> 30 * nx + column is a shift by all that follows."""

    def all_in_one_cell(table, grid, dialect):
        return cells.cells_of_table(table, grid, dialect).mutate(cell=ibis.literal(0, "int64"))

    monkeypatch.setattr(module, "cells_of_table", all_in_one_cell)
    with pytest.raises(PointsError, match="does not compute"):
        self_test(driver_of(duckdb.backend), DOMAINS["unit"])


def test_a_connection_is_tested_once_for_a_domain(duckdb, monkeypatch):
    asked = []
    driver = driver_of(duckdb.backend)
    monkeypatch.setattr(type(driver), "pairs", counting(type(driver).pairs, asked))
    for domain in (DOMAINS["unit"], DOMAINS["unit"], DOMAINS["degrees"]):
        self_test(driver_of(duckdb.backend), domain)
    assert len(asked) == 2
    duckdb.backend.reconnect()
    self_test(driver_of(duckdb.backend), DOMAINS["unit"])
    assert len(asked) == 3


def counting(function, asked):
    def count(*arguments):
        asked.append(1)
        return function(*arguments)

    return count


def test_an_engine_that_failed_is_tested_again(duckdb, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(cells, "axis_cells", no_far_edge)
        for _ in range(2):
            with pytest.raises(PointsError):
                self_test(driver_of(duckdb.backend), DOMAINS["unit"])
    self_test(driver_of(duckdb.backend), DOMAINS["unit"])


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_points_are_where_arithmetic_goes_wrong(domain):
    x, y = adversarial_pairs(domain, 2000)
    inside = sdp.Points(x, y)._counts(domain.grid((1, 1)), None).item()
    assert 800 < inside < 1900
    for values, axis in ((x, domain.axes[0]), (y, domain.axes[1])):
        assert np.isnan(values).any()
        assert np.isinf(values).any()
        assert {axis.low, axis.high, np.nextafter(axis.low, -np.inf), np.nextafter(axis.high, np.inf)} <= set(values)


@pytest.mark.engines
def test_the_right_to_read_suffices(postgresql, postgresql_place):
    """A role that may neither write nor make temporary tables, in a session that only reads."""
    import ibis as engine

    postgresql.run("DROP TABLE IF EXISTS open_table")
    postgresql.run("CREATE TABLE open_table AS SELECT 0.5::float8 AS x, 0.5::float8 AS y, 'ann' AS who")
    postgresql.run("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    postgresql.run("DROP ROLE IF EXISTS reader")
    postgresql.run("CREATE ROLE reader LOGIN")
    postgresql.run("GRANT SELECT ON open_table TO reader")
    reader = engine.postgres.connect(
        **{**postgresql_place, "user": "reader"}, options="-c default_transaction_read_only=on"
    )
    points = sdp.read_table(reader.table("open_table"), DOMAINS["unit"], x="x", y="y", person="who")
    assert points._counts(DOMAINS["unit"].grid((1, 1)), sdp.Person(cells=1)).tolist() == [[1]]
    reader.disconnect()
    postgresql.run("DROP OWNED BY reader")
    postgresql.run("DROP ROLE reader")
