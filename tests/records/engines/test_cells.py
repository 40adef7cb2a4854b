"""Every engine puts every coordinate into the cell that numpy puts it into, bit by bit."""

from __future__ import annotations

import ibis
import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.records.engines import cells
from spatialdp.records.engines.cells import cells_of_table, counts_of, rows_of_text, within_grid, within_raster
from spatialdp.records.engines.dialects import Dialect, DuckDB
from spatialdp.records.engines.drivers import driver_of
from spatialdp.records.engines.schema import Columns, located
from spatialdp.space.domain import Grid
from spatialdp.space.lattice import LATTICE_BITS
from tests.helpers.adversarial import DOMAINS, GRIDS, pairs, table_of
from tests.helpers.engines import ranges_of_doubles

PAIRS = {"duckdb": 10**5, "postgres": 10**5, "pyspark": 10**5}  # of each domain


def numbered_cells(engine, table, grid, size):
    """The cell of each record by its number, -1 for those that are outside, as the engine has it."""
    places = table.select(table.x, table.y, person=table.number)
    answer = cells_of_table(places, grid, driver_of(engine.backend).dialect)
    found = np.full(size, -1)
    for numbers, where in driver_of(engine.backend).pairs(answer.select(answer.person, answer.cell)):
        found[numbers] = where
    return found


def by_numpy(x, y, grid):
    numbers = np.concatenate([block.copy() for block in sdp.Points(x, y)._cells(grid)])
    return np.where(numbers == grid.shape[0] * grid.shape[1], -1, numbers)


def assert_same_cells(engine, domain, count, shapes=GRIDS):
    x, y = pairs(domain, count)
    table = engine.load("adversarial", table_of(x, y))
    for shape in shapes:
        expected = by_numpy(x, y, domain.grid(shape))
        assert 0.3 < np.mean(expected >= 0) < 0.9
        assert np.array_equal(numbered_cells(engine, table, domain.grid(shape), count), expected)


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_cells_are_those_of_numpy_bit_by_bit(engine, domain):
    assert_same_cells(engine, domain, PAIRS[engine.backend.name])


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_doubles_are_exact_up_to_the_last_grid_for_which_duckdb_takes_them(duckdb, domain):
    most = 2**22
    numbers = [
        driver_of(duckdb.backend).dialect.axis_cells(ibis.literal(0.5), True, 0.0, 1.0, n) for n in (most, most + 1)
    ]
    assert [number.type().is_floating() for number in numbers] == [True, False]
    assert_same_cells(duckdb, domain, 10**4, [(most, 3), (3, most - 1), (most + 1, 3), (3, 2 * most)])


def test_a_file_whose_statistics_leave_nan_out_is_counted_without_it(duckdb, tmp_path):
    """DuckDB drops a comparison that holds from the least to the largest value, though it is false for NaN."""
    x, y = np.random.default_rng(6).uniform(0.1, 0.9, (2, 5000))
    x[::7], y[::11] = np.nan, np.nan
    pq.write_table(table_of(x, y), tmp_path / "places.parquet")
    grid = sdp.Domain((0, 0, 1, 1)).grid((64, 32))
    table = duckdb.backend.read_parquet(tmp_path / "places.parquet")
    answer = counts_of(cells_of_table(table, grid, driver_of(duckdb.backend).dialect))
    assert_counts(duckdb, answer, sdp.Points(x, y)._counts(grid, None))
    trusting = counts_of(cells_of_table(table, grid, Trusting()))
    if ranges_of_doubles():
        with pytest.raises(AssertionError, match="array_equal"):
            assert_counts(duckdb, trusting, sdp.Points(x, y)._counts(grid, None))


class Trusting(DuckDB):
    within = Dialect.within


@pytest.mark.audit
@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_cells_are_those_of_numpy_in_a_million_pairs(engine, domain):
    assert_same_cells(engine, domain, 10**6)


@pytest.mark.engines
@pytest.mark.parametrize("kind", ["geometry", "geometry(Point)"])
@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_points_of_postgis_are_in_the_cells_of_their_coordinates(postgresql, domain, kind):
    count = 20_000
    x, y = pairs(domain, count)
    postgresql.load("adversarial", table_of(x, y))
    postgresql.run("DROP TABLE IF EXISTS places")
    postgresql.run(f"CREATE TABLE places AS SELECT number, ST_MakePoint(x, y)::{kind} AS geom FROM adversarial")
    columns = Columns(geometry="geom", person="number")
    table = located(postgresql.backend.table("places"), columns, driver_of(postgresql.backend).dialect)
    grid = domain.grid(GRIDS[0])
    assert np.array_equal(numbered_cells(postgresql, table.rename(number="person"), grid, count), by_numpy(x, y, grid))


RIGHT = cells.axis_cells


def one_sided(values, axis, count, dialect):
    """NaN is above every number in DuckDB."""
    return values >= cells.number(axis.low), RIGHT(values, axis, count, dialect)[1]


def rounded(values, axis, count, dialect):
    inside = RIGHT(values, axis, count, dialect)[0]
    distance = ibis.ifelse(inside, values, cells.number(axis.low)) - cells.number(axis.low)
    line = (distance / cells.number(axis.spacing)).round().cast("int64")
    return inside, (line * count + (count - 1)) >> LATTICE_BITS


@pytest.mark.parametrize("mutant", [one_sided, rounded])
def test_wrong_arithmetic_is_noticed(duckdb, mutant, monkeypatch):
    monkeypatch.setattr(cells, "axis_cells", mutant)
    with pytest.raises(AssertionError, match="array_equal"):
        assert_same_cells(duckdb, DOMAINS["unit"], 10**4)


def test_numbers_are_written_as_text_which_no_engine_takes_for_a_decimal(duckdb):
    values = np.random.default_rng(3).integers(0, 2**63, 500).view(np.float64)
    values = values[np.isfinite(values)]
    row = duckdb.backend.to_pyarrow(duckdb_row([cells.number(v) for v in values])).to_pylist()[0]
    assert list(row.values()) == values.tolist()


def duckdb_row(numbers):
    table = rows_of_text([["0", "0"]])
    return table.select(**{f"n{place}": number for place, number in enumerate(numbers)})


REGIONS = {
    "small": shapely.box(0.1, 0.1, 0.3, 0.2),
    "large": shapely.box(0.05, 0, 1, 1),
    "two parts": shapely.MultiPolygon([shapely.box(0, 0, 0.2, 0.9), shapely.box(0.6, 0.5, 0.9, 0.6)]),
}


def test_cells_outside_the_region_are_left_out_by_the_engine(engine):
    assert_left_out(engine, REGIONS["two parts"])


@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS)
def test_the_shorter_list_of_cells_is_joined(duckdb, region):
    assert_left_out(duckdb, region)


def assert_left_out(engine, region):
    domain = sdp.Domain((0, 0, 1, 1), region=region, region_cells="centres")
    x, y = np.random.default_rng(5).random((2, 5000))
    table = engine.load("places", table_of(x, y))
    grid = domain.grid((32, 24))
    expected = sdp.Points(x, y)._counts(grid, None)
    dialect = driver_of(engine.backend).dialect
    assert_counts(engine, counts_of(within_grid(cells_of_table(table, grid, dialect), grid)), expected)
    fine = within_raster(cells_of_table(table, Grid(domain, (4096, 4096)), dialect), domain)
    columns, rows, counts = sdp.Points(x, y)._fine_cells(domain, None)
    expected = np.zeros((4096, 4096), dtype=np.int64)
    expected[rows >> 18, columns >> 18] = counts
    assert_counts(engine, counts_of(fine), expected)


def assert_counts(engine, answer, expected):
    found = np.zeros(expected.size, dtype=np.int64)
    for keys, counts in driver_of(engine.backend).pairs(answer):
        found[keys] = counts
    assert np.array_equal(found, expected.ravel())


def test_a_region_without_a_cell_keeps_nothing(duckdb):
    domain = sdp.Domain((0, 0, 1, 1), region=shapely.box(0.01, 0.01, 0.02, 0.02), region_cells="centres")
    grid = domain.grid((4, 4))
    assert not grid.mask.any()
    table = duckdb.load("places", table_of(*np.full((2, 3), 0.015)))
    cells = cells_of_table(table, grid, driver_of(duckdb.backend).dialect)
    assert_counts(duckdb, counts_of(within_grid(cells, grid)), np.zeros(16))


def test_public_rows_come_back_as_they_were_written(engine):
    rows = [["0", "é"], ["1", ""], ["2", "o'neil"]]
    table = rows_of_text(rows)
    expected = [[0, 1], [1, 0], [2, 6]]
    pairs_of_rows = table.select(number=table.f0.cast("int64"), length=table.f1.length().cast("int64"))
    batches = list(driver_of(engine.backend).pairs(pairs_of_rows))
    assert sorted(np.concatenate([np.stack(batch, axis=1) for batch in batches]).tolist()) == expected
