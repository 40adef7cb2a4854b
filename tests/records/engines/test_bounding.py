"""Engines keep of each person what the slow reference keeps, and nobody's records touch another person's."""

from __future__ import annotations

import ibis
import numpy as np
import pyarrow as pa
import pytest

import spatialdp as sdp
from spatialdp.privacy.unit import Bound
from spatialdp.records.engines import bounding, dialects
from spatialdp.records.engines.bounding import bounded_counts, contributions
from spatialdp.records.engines.drivers import driver_of
from tests.reference import persons as reference

N_CELLS = 40
BOUNDS = (sdp.Person(records=7), sdp.Person(cells=4), sdp.Person(cells=1), sdp.Person(shares=True))
RNG = np.random.default_rng(11)
WORDS = np.array(
    ["ann", "Ann", "ANN", "ann ", "", "Zoë", "o'neil", "日本", "a|1", "1", "01", "e\u0301", "é"], dtype=object
)


def records(kind, count=4000):
    """Persons, some of them missing, and cells; a few persons have most of the records."""
    who = RNG.zipf(1.4, count) % 300
    persons = {
        "numbers": (who - 5).astype(object),
        "texts": WORDS[who % WORDS.size] + (who // 13).astype(str).astype(object),
    }[kind]
    persons[RNG.random(count) < 0.02] = None
    return persons.tolist(), RNG.integers(0, N_CELLS, count)


def load(engine, persons, cells):
    """A table (person, cell), as it comes out of `cells_of_table`."""
    kind = pa.int64() if isinstance(next(p for p in persons if p is not None), int) else pa.string()
    table = engine.load("visits", pa.table({"who": pa.array(persons, kind), "cell": pa.array(cells)}))
    return table.select(person=driver_of(engine.backend).dialect.identity(table.who), cell=table.cell)


def counts(engine, persons, cells, bound):
    answer = bounded_counts(load(engine, persons, cells), bound, driver_of(engine.backend).dialect)
    found = np.zeros(N_CELLS, dtype=np.int64)
    for keys, amounts in driver_of(engine.backend).pairs(answer):
        found[keys] = amounts
    return found.tolist()


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_engines_keep_what_the_reference_keeps(engine, kind, bound):
    persons, cells = records(kind)
    assert counts(engine, persons, cells, bound) == reference.counts(persons, cells.tolist(), N_CELLS, bound)


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_order_and_company_of_rows_play_no_part(duckdb, bound):
    persons, cells = records("texts", 500)
    order = RNG.permutation(len(persons))
    shuffled = counts(duckdb, [persons[place] for place in order], cells[order], bound)
    assert shuffled == counts(duckdb, persons, cells, bound)
    newcomer = counts(duckdb, [*persons, *["new"] * 9], np.append(cells, np.arange(9)), bound)
    alone = counts(duckdb, ["new"] * 9, np.arange(9), bound)
    assert newcomer == np.add(shuffled, alone).tolist()


def test_rows_without_a_person_count_nowhere(engine):
    assert sum(counts(engine, ["ann", None, None], np.array([1, 2, 3]), sdp.Person(cells=5))) == 1


def kept_nulls(cells):
    return cells


def random_keys(each):
    return each.mutate(key=ibis.random()).drop("seed")


def keys_of_cells(each):
    return each.mutate(key=0).drop("seed")


def parted_by_cells(each, amount, most, dialect):
    """Let persons with more than `most` records be kept whole if they have no more cells."""
    return parted(each, each.cell.nunique(), most, dialect)


parted = bounding._parted


@pytest.mark.parametrize(
    ("place", "mutant"),
    [
        ("_with_persons", kept_nulls),
        ("SALT", "pepper|"),
        ("FACTORS", (0x21F0AAAD, 0x735A2D97)),
        ("_with_keys", keys_of_cells),
    ],
    ids=["null persons kept", "another salt", "another mixing", "cells in order"],
)
def test_another_rule_is_noticed(duckdb, place, mutant, monkeypatch):
    monkeypatch.setattr(bounding, place, mutant)
    persons, cells = records("texts")
    bound = sdp.Person(cells=4)
    assert counts(duckdb, persons, cells, bound) != reference.counts(persons, cells.tolist(), N_CELLS, bound)


def test_a_person_with_many_records_in_few_cells_is_bounded(duckdb, monkeypatch):
    persons, cells = records("texts")
    bound = sdp.Person(records=7)
    expected = reference.counts(persons, cells.tolist(), N_CELLS, bound)
    monkeypatch.setattr(bounding, "_parted", parted_by_cells)
    assert sum(counts(duckdb, persons, cells, bound)) > sum(expected)


@pytest.mark.parametrize("bound", [sdp.Person(records=7), sdp.Person(cells=4)], ids=repr)
def test_least_values_and_numbered_rows_are_the_same(duckdb, bound, monkeypatch):
    """DuckDB takes the least values of each person, except of very many."""
    persons, cells = records("texts")
    found = counts(duckdb, persons, cells, bound)
    monkeypatch.setattr(dialects, "_LARGEST_HEAP", 0)
    assert counts(duckdb, persons, cells, bound) == found


@pytest.mark.parametrize("bound", [sdp.Person(records=10**7), sdp.Person(cells=10**7)], ids=repr)
def test_bounds_that_nobody_reaches_keep_everything(duckdb, bound):
    persons, cells = records("numbers")
    assert counts(duckdb, persons, cells, bound) == reference.counts(persons, cells.tolist(), N_CELLS, bound)


def test_cells_of_the_largest_grid_keep_their_order(engine):
    """The keys of cells up to 2^28 are whole numbers that no engine rounds."""
    cells = (np.arange(300) * 894_785) % 2**28
    persons = ["ann", "bob", "cleo"] * 100
    answer = bounded_counts(load(engine, persons, cells), sdp.Person(cells=9), driver_of(engine.backend).dialect)
    found = np.concatenate([keys for keys, _ in driver_of(engine.backend).pairs(answer)])
    kept = reference.kept(persons, cells.tolist(), 2**28, sdp.Person(cells=9))
    assert sorted(found.tolist()) == sorted(cell for _, cell in kept)


@pytest.mark.engines
def test_random_keys_are_noticed(postgresql, monkeypatch):
    """DuckDB refuses them by itself."""
    monkeypatch.setattr(bounding, "_with_keys", random_keys)
    persons, cells = records("texts")
    assert counts(postgresql, persons, cells, BOUNDS[1]) != reference.counts(
        persons, cells.tolist(), N_CELLS, BOUNDS[1]
    )


@pytest.mark.parametrize("bound", [Bound.RECORDS, Bound.CELLS])
def test_every_person_is_in_one_row_of_contributions(engine, bound):
    persons, cells = records("texts")
    rows = list(driver_of(engine.backend).pairs(contributions(load(engine, persons, cells), bound, 6)))
    found = dict(np.concatenate([np.stack(row, axis=1) for row in rows]).tolist())
    own = {}
    for person, cell in zip(persons, cells.tolist(), strict=True):
        if person is not None:
            own.setdefault(person, []).append(cell)
    sizes = [min(6, len(each) if bound is Bound.RECORDS else len(set(each))) for each in own.values()]
    assert found == {size: sizes.count(size) for size in set(sizes)}


def test_shares_are_exact_for_persons_with_very_many_records(duckdb):
    persons, cells = [1] * 3001, np.array([0] * 3000 + [1])
    steps = counts(duckdb, persons, cells, sdp.Person(shares=True))
    assert steps[:2] == [3000 * 2**20 // 3001, 2**20 // 3001]
