"""A table releases what the same records release from arrays and files, bit by bit; its records stay where they are."""

from __future__ import annotations

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Bound
from spatialdp.records.engines import tables
from spatialdp.records.engines.drivers import driver_of
from spatialdp.records.points import lattice_points

REGION = shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)])
DOMAINS = {"whole": sdp.Domain((0, 0, 8, 6)), "region": sdp.Domain((0, 0, 8, 6), crs="EPSG:4326", region=REGION)}
MECHANISMS = [
    sdp.Flat((37, 29)),
    sdp.Uniform((16, 12)),
    sdp.Quadtree(5),
    sdp.Quadtree(4, stop=15),
    sdp.Hierarchy((32, 32)),
    sdp.Wavelet((32, 32)),
    sdp.Adaptive(),
]
PERSONS = [sdp.Person(records=5), sdp.Person(cells=3), sdp.Person(shares=True)]


def records(count=3000):
    rng = np.random.default_rng(8)
    x, y = rng.normal((4, 3), (2, 2), (count, 2)).T
    x[:9], y[9:12] = np.nan, np.inf
    persons = np.array([f"p{number}" for number in rng.zipf(1.5, count) % 400], dtype=object)
    persons[::40] = None
    return x, y, persons


X, Y, WHO = records()
ROWS = pa.table({"lon": X, "lat": Y, "who": pa.array(WHO, pa.string())})


def released(points, domain, mechanism, person=None):
    release = mechanism.release(points, domain, epsilon=1, noise=sdp.SeededNoise(5), person=person)
    boxes = np.array([[0, 0, 8, 6], [1, 1, 3, 2.5], [4.2, 0.3, 4.4, 5]])
    return release.answer(boxes).tolist(), repr(release)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "rows.parquet"
    pq.write_table(ROWS, path)
    return path


def test_seeded_releases_are_the_same_from_arrays_files_and_engines(engine, file):
    domain = DOMAINS["region"]
    points = sdp.read_table(engine.load("visits", ROWS), domain, x="lon", y="lat")
    for mechanism in MECHANISMS if engine.backend.name != "pyspark" else MECHANISMS[::2]:
        expected = released(sdp.Points(X, Y), domain, mechanism)
        assert released(points, domain, mechanism) == expected
        assert released(sdp.read_points(file, domain, x="lon", y="lat"), domain, mechanism) == expected


@pytest.mark.parametrize("person", PERSONS, ids=repr)
def test_seeded_releases_with_persons_are_the_same_from_arrays_files_and_engines(engine, person, file):
    domain = DOMAINS["region"]
    points = sdp.read_table(engine.load("visits", ROWS), domain, x="lon", y="lat", person="who")
    from_file = sdp.read_points(file, domain, x="lon", y="lat", person="who")
    for mechanism in (sdp.Flat((37, 29)), sdp.Quadtree(5), sdp.Wavelet((32, 32)), sdp.KdTree(3)):
        if engine.backend.name == "pyspark" and mechanism.name in ("flat", "wavelet"):
            continue
        expected = released(sdp.Points(X, Y, person=WHO), domain, mechanism, person)
        assert released(points, domain, mechanism, person) == expected
        assert released(from_file, domain, mechanism, person) == expected


@pytest.mark.engines
def test_seeded_releases_are_the_same_from_points_of_postgis(postgresql):
    domain = DOMAINS["region"]
    postgresql.load("visits", ROWS)
    postgresql.run("DROP TABLE IF EXISTS places")
    point = "ST_SetSRID(ST_MakePoint(lon, lat), 4326)::geometry(Point, 4326)"
    postgresql.run(f"CREATE TABLE places AS SELECT {point} AS geom, who FROM visits")
    table = postgresql.backend.table("places")
    points = sdp.read_table(table, domain, geometry="geom")
    for mechanism in MECHANISMS:
        assert released(points, domain, mechanism) == released(sdp.Points(X, Y), domain, mechanism)
    points = sdp.read_table(table, domain, geometry="geom", person="who")
    for person in PERSONS:
        expected = released(sdp.Points(X, Y, person=WHO), domain, sdp.Quadtree(5), person)
        assert released(points, domain, sdp.Quadtree(5), person) == expected


def test_kd_trees_are_grown_from_fine_cells(engine):
    """So they differ from those of arrays, whose positions are known to the lattice."""
    domain = DOMAINS["whole"]
    points = sdp.read_table(engine.load("visits", ROWS), domain, x="lon", y="lat")
    ours, theirs = points._fine_cells(domain, None), sdp.Points(X, Y)._fine_cells(domain, None)
    for one, other in zip(ours, theirs, strict=True):
        assert np.array_equal(one, other)
        assert one.dtype == other.dtype
    assert released(points, domain, sdp.KdTree(3))[1].startswith("<Release of")


@pytest.mark.parametrize("bound", [Bound.RECORDS, Bound.CELLS])
def test_persons_above_a_bound_are_those_of_numpy(engine, bound):
    domain, candidates = DOMAINS["region"], [1, 2, 5, 10, 100]
    points = sdp.read_table(engine.load("visits", ROWS), domain, x="lon", y="lat", person="who")
    grid = domain.grid((8, 8))
    expected = sdp.Points(X, Y, person=WHO)._persons_above(grid, bound, candidates)
    assert points._persons_above(grid, bound, candidates).tolist() == expected.tolist()


MISSING = pa.table({name: pa.nulls(5, kind) for name, kind in zip(ROWS.column_names, ROWS.schema.types, strict=True)})


@pytest.mark.parametrize("rows", [ROWS.slice(0, 0), MISSING], ids=["empty", "all missing"])
def test_tables_without_a_point_are_fine(engine, rows):
    domain = DOMAINS["whole"]
    points = sdp.read_table(engine.load("nothing", rows), domain, x="lon", y="lat", person="who")
    assert not points._counts(domain.grid((4, 4)), None).any()
    assert not points._counts(domain.grid((4, 4)), sdp.Person(cells=2)).any()
    assert [part.size for part in points._fine_cells(domain, sdp.Person(shares=True))] == [0, 0, 0]
    assert points._persons_above(domain.grid((4, 4)), Bound.CELLS, [1]).tolist() == [0]


def test_each_question_is_one_query(duckdb, monkeypatch):
    domain = DOMAINS["region"]
    points = sdp.read_table(duckdb.load("visits", ROWS), domain, x="lon", y="lat", person="who")
    kind, asked = type(points._driver), []
    pairs = kind.pairs
    monkeypatch.setattr(kind, "pairs", lambda driver, query: asked.append(query) or pairs(driver, query))
    points._counts(domain.grid((8, 8)), None)
    points._counts(domain.grid((8, 8)), sdp.Person(cells=3))
    points._fine_cells(domain, sdp.Person(records=3))
    points._persons_above(domain.grid((8, 8)), Bound.CELLS, [1, 2])
    assert len(asked) == 4


def test_reading_a_table_runs_nothing_on_records(duckdb):
    duckdb.run("CREATE VIEW broken AS SELECT error('a record was read')::DOUBLE AS x, 1.0::DOUBLE AS y")
    points = sdp.read_table(duckdb.backend.table("broken"), DOMAINS["whole"], x="x", y="y")
    with pytest.raises(PointsError, match="failed while counting"):
        points._counts(DOMAINS["whole"].grid((2, 2)), None)


def test_points_show_nothing(duckdb):
    table = duckdb.load("visits", ROWS)
    assert repr(sdp.read_table(table, DOMAINS["whole"], x="lon", y="lat")) == "Points(<private>)"
    with_crs = sdp.read_table(table, DOMAINS["region"], x="lon", y="lat", crs=4326, person="who")
    assert repr(with_crs) == "Points(<private>, crs='EPSG:4326', person=<private>)"
    assert not hasattr(with_crs, "__dict__")


def test_records_do_not_leave_the_engine(duckdb):
    domain = DOMAINS["whole"]
    points = sdp.read_table(duckdb.load("visits", ROWS), domain, x="lon", y="lat")
    for ask in (points._cells, points._positions):
        with pytest.raises(PointsError, match="records are in a table and do not leave its engine; export them"):
            ask(domain.grid((2, 2)) if ask == points._cells else domain)
    with pytest.raises(PointsError, match="do not leave its engine"):
        lattice_points(points, domain)


@pytest.mark.parametrize("person", [None, "who"])
def test_persons_and_their_bound_belong_together(duckdb, person):
    points = sdp.read_table(duckdb.load("visits", ROWS), DOMAINS["whole"], x="lon", y="lat", person=person)
    bound = None if person else sdp.Person(cells=3)
    with pytest.raises(PointsError, match="who they are about"):
        sdp.Flat((4, 4)).release(points, DOMAINS["whole"], epsilon=1, person=bound)


@pytest.mark.parametrize("table", [7, "rows", ROWS, [[1, 2]]], ids=["number", "path", "arrow", "list"])
def test_what_is_not_a_table_is_refused_in_words(table):
    with pytest.raises(PointsError, match=r"the table is a|not a file of Parquet"):
        sdp.read_table(table, DOMAINS["whole"], x="lon", y="lat")


def test_a_domain_is_needed():
    with pytest.raises(PointsError, match="domain is a tuple"):
        sdp.read_table("rows.parquet", (0, 0, 1, 1), x="lon", y="lat")


def test_tables_of_no_engine_and_of_unknown_ones_are_refused():
    rows = ibis.memtable(ROWS)
    with pytest.raises(PointsError, match=r"the table is in no engine; it must be in one of DuckDB, PostgreSQL, Spark"):
        sdp.read_table(rows, DOMAINS["whole"], x="lon", y="lat")


def test_rows_that_depend_on_each_other_are_refused(duckdb):
    with pytest.raises(PointsError, match="computed with Limit"):
        sdp.read_table(duckdb.load("visits", ROWS).limit(5), DOMAINS["whole"], x="lon", y="lat")


def test_an_engine_that_computes_otherwise_is_refused(duckdb, monkeypatch):
    def refuse(driver, domain, kind):
        raise PointsError("DuckDB does not compute the cells.")

    monkeypatch.setattr(tables, "self_test", refuse)
    with pytest.raises(PointsError, match="does not compute"):
        sdp.read_table(duckdb.load("visits", ROWS), DOMAINS["whole"], x="lon", y="lat")


def test_another_domain_is_tested_before_it_is_used(duckdb, monkeypatch):
    tested = []
    monkeypatch.setattr(tables, "self_test", lambda driver, domain, kind: tested.append(domain.bounds))
    points = sdp.read_table(duckdb.load("visits", ROWS), DOMAINS["whole"], x="lon", y="lat")
    other = sdp.Domain((0, 0, 4, 4))
    assert points._counts(other.grid((2, 2)), None).sum() == sdp.Points(X, Y)._counts(other.grid((2, 2)), None).sum()
    assert tested == [(0, 0, 8, 6), (0, 0, 4, 4)]


def test_interactive_mode_is_off_while_a_query_runs(duckdb, monkeypatch):
    points = sdp.read_table(duckdb.load("visits", ROWS), DOMAINS["whole"], x="lon", y="lat")
    kind, modes = type(points._driver), []
    pairs = kind.pairs
    monkeypatch.setattr(kind, "pairs", lambda *both: modes.append(ibis.options.interactive) or pairs(*both))
    monkeypatch.setattr(ibis.options, "interactive", True)
    points._counts(DOMAINS["whole"].grid((2, 2)), None)
    assert modes == [False]
    assert ibis.options.interactive is True


@pytest.mark.engines
def test_two_queries_see_one_state_of_postgresql(postgresql, postgresql_place):
    from tests.helpers.engines import PostgreSQL

    domain = DOMAINS["whole"]
    points = sdp.read_table(postgresql.load("visits", ROWS), domain, x="lon", y="lat")
    before = points._counts(domain.grid((4, 4)), None)
    other = PostgreSQL(postgresql_place)
    with points._snapshot():
        assert np.array_equal(points._counts(domain.grid((4, 4)), None), before)
        other.run("DELETE FROM visits WHERE lon < 4")
        assert np.array_equal(points._counts(domain.grid((4, 4)), None), before)
    assert points._counts(domain.grid((4, 4)), None).sum() < before.sum()
    other.backend.disconnect()


def test_a_snapshot_of_other_engines_promises_nothing(duckdb):
    points = sdp.read_table(duckdb.load("visits", ROWS), DOMAINS["whole"], x="lon", y="lat")
    with points._snapshot():
        assert points._counts(DOMAINS["whole"].grid((1, 1)), None).sum() > 0


@pytest.mark.engines
def test_text_persons_need_a_database_in_utf8(postgresql, postgresql_place):
    from tests.helpers.engines import PostgreSQL

    postgresql.run("DROP DATABASE IF EXISTS latin")
    postgresql.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    latin = PostgreSQL({**postgresql_place, "database": "latin"})
    latin.run("CREATE TABLE visits (lon float8, lat float8, who text, number bigint)")
    table = latin.backend.table("visits")
    with pytest.raises(PointsError, match="encoded in LATIN1; text is compared in UTF-8"):
        sdp.read_table(table, DOMAINS["whole"], x="lon", y="lat", person="who")
    points = sdp.read_table(table, DOMAINS["whole"], x="lon", y="lat", person="number")
    assert not points._counts(DOMAINS["whole"].grid((2, 2)), sdp.Person(cells=1)).any()
    latin.backend.disconnect()


def test_drivers_of_read_tables_are_not_ours(duckdb):
    points = sdp.read_table(duckdb.load("visits", ROWS), DOMAINS["whole"], x="lon", y="lat")
    assert not points._driver.owned
    assert driver_of(duckdb.backend, owned=True).owned
