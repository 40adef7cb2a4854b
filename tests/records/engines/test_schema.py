"""Schemas alone decide whether a table has points: names and types of columns, rows that are records, and the CRS."""

from __future__ import annotations

import ibis
import numpy as np
import pyarrow as pa
import pytest

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.engines.dialects import DIALECTS
from spatialdp.records.engines.schema import Columns, check_rows, checked_crs, located

DOMAIN = sdp.Domain((0, 0, 1, 1))
XY = Columns("x", "y")


def table(**columns):
    return ibis.table({"x": "float64", "y": "float64", **columns}, name="t")


@pytest.mark.parametrize(
    "columns", [{}, {"x": "x"}, {"x": "x", "y": "y", "geometry": "g"}, {"x": "x", "geometry": "g"}, {"person": "p"}]
)
def test_columns_of_the_coordinates_must_be_clear(columns):
    with pytest.raises(PointsError, match=r"not clear; name two columns of numbers \(x and y\)"):
        Columns(**columns)


def test_columns_named_like_the_other_axis_are_refused():
    with pytest.raises(PointsError, match="lat"):
        Columns("lat", "lon")


@pytest.mark.parametrize("kind", ["string", "boolean", "date", "timestamp", "binary", "array<float64>", "json"])
def test_coordinates_must_be_numbers_by_schema(kind):
    with pytest.raises(PointsError, match=r"column 'x' is of type .*; coordinates must be numbers"):
        located(table(x=kind), XY, DIALECTS["duckdb"])


@pytest.mark.parametrize("kind", ["float32", "int16", "uint64", "decimal(9, 6)", "decimal(38, 0)"])
def test_numbers_of_all_types_become_doubles(kind):
    assert located(table(x=kind), XY, DIALECTS["duckdb"]).schema()["x"].is_float64()


@pytest.mark.parametrize("kind", ["float64", "float32", "decimal(9, 2)", "decimal", "date", "boolean", "binary"])
def test_persons_of_other_types_are_refused(kind):
    with pytest.raises(PointsError, match="persons must be whole numbers, text or UUIDs"):
        located(table(who=kind), Columns("x", "y", None, "who"), DIALECTS["duckdb"])


@pytest.mark.parametrize("kind", ["int8", "uint64", "string", "uuid", "decimal(20, 0)"])
def test_persons_are_whole_numbers_text_or_uuids(kind):
    assert located(table(who=kind), Columns("x", "y", None, "who"), DIALECTS["duckdb"]).columns == ("x", "y", "person")


def test_missing_columns_are_named_with_those_that_there_are():
    with pytest.raises(PointsError, match="no column 'lon'; its columns are x, y"):
        located(table(), Columns("lon", "lat"), DIALECTS["duckdb"])


def test_geometries_are_read_from_postgis_alone():
    with pytest.raises(PointsError, match=r"geometries are read from PostGIS alone"):
        located(table(g="binary"), Columns(geometry="g"), DIALECTS["duckdb"])
    with pytest.raises(PointsError, match="must be a geometry of PostGIS"):
        located(table(g="binary"), Columns(geometry="g"), DIALECTS["postgres"])


DEPENDENT = {
    "limit": lambda t: t.limit(10),
    "distinct": lambda t: t.distinct(),
    "sample": lambda t: t.sample(0.5),
    "group": lambda t: t.group_by(["x", "y"]).agg(n=t.count()),
    "window": lambda t: t.mutate(n=ibis.row_number().over(order_by=t.x)).filter(ibis._.n < 5),
    "random": lambda t: t.filter(ibis.random() < 0.5),
    "difference": lambda t: t.difference(t.filter(t.x > 3)),
}


@pytest.mark.parametrize("make", DEPENDENT.values(), ids=DEPENDENT)
def test_rows_that_depend_on_each_other_are_refused(make):
    with pytest.raises(PointsError, match="one record may change several of its rows"):
        check_rows(make(table()))


def test_rows_may_be_filtered_joined_and_stacked():
    first, second = table(who="string"), ibis.table({"who": "string", "group": "string"}, name="u")
    joined = first.join(second, "who").filter(ibis._.group == "a").mutate(x=ibis._.x + 1)
    check_rows(joined)
    check_rows(first.union(first.filter(first.x > 1)))


def test_plain_columns_are_taken_to_be_in_the_domains_crs():
    domain = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
    assert checked_crs(table(), XY, None, domain) is None
    assert checked_crs(table(), XY, 4326, domain) == "EPSG:4326"
    with pytest.raises(CRSMismatchError, match="EPSG:2154"):
        checked_crs(table(), XY, "EPSG:2154", domain)


GEOMETRIES = {"typed": "point:geometry;4326", "untyped": "geospatial:geometry", "other": "point:geometry;2154"}


def geometric(kind):
    import ibis.expr.datatypes as dt

    types = {
        "typed": dt.Point(geotype="geometry", srid=4326),
        "other": dt.Point(geotype="geometry", srid=2154),
        "untyped": dt.GeoSpatial(geotype="geometry"),
        "geography": dt.Point(geotype="geography", srid=4326),
    }
    return ibis.table({"g": types[kind]}, name="t")


def test_the_srid_of_a_geometry_must_be_the_domains():
    domain, columns = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326"), Columns(geometry="g")
    assert checked_crs(geometric("typed"), columns, None, domain) == "EPSG:4326"
    with pytest.raises(CRSMismatchError, match="EPSG:2154"):
        checked_crs(geometric("other"), columns, None, domain)
    with pytest.raises(CRSMismatchError, match="states the CRS EPSG:4326 but EPSG:2154 was given"):
        checked_crs(geometric("typed"), columns, 2154, domain)
    with pytest.raises(CRSMismatchError, match=r"states no CRS .* say so: crs='EPSG:4326'"):
        checked_crs(geometric("untyped"), columns, None, domain)
    assert checked_crs(geometric("untyped"), columns, 4326, domain) == "EPSG:4326"
    assert checked_crs(geometric("untyped"), columns, None, DOMAIN) is None


def test_geographies_are_refused():
    with pytest.raises(PointsError, match=r"Convert a geography in a view, with ::geometry"):
        located(geometric("geography"), Columns(geometry="g"), DIALECTS["postgres"])


@pytest.mark.engines
def test_only_single_points_of_postgis_count(postgresql):
    postgresql.run("DROP TABLE IF EXISTS shapes")
    postgresql.run("CREATE TABLE shapes (g geometry, p geometry(Point, 4326))")
    shapes = (
        *("POINT(0.1 0.1)", "MULTIPOINT(0.3 0.3)", "POINT Z (0.6 0.6 9)", "LINESTRING(0 0, 1 1)", "POINT EMPTY"),
        *("MULTIPOINT(0.6 0.6, 0.7 0.7)", "POLYGON((0 0, 1 0, 1 1, 0 0))", "GEOMETRYCOLLECTION(POINT(0.9 0.9))"),
        *("MULTIPOINT EMPTY", "GEOMETRYCOLLECTION EMPTY", "CIRCULARSTRING(0 0, 1 1, 1 0)", "POINT(NaN 0.5)"),
    )
    for shape in shapes:
        postgresql.run(f"INSERT INTO shapes VALUES (ST_GeomFromText('{shape}'), ST_SetSRID(ST_Point(0.6, 0.1), 4326))")
    postgresql.run("INSERT INTO shapes VALUES (NULL, NULL), (NULL, ST_GeomFromText('POINT EMPTY', 4326))")
    shapes_table, grid = postgresql.backend.table("shapes"), DOMAIN.grid((2, 2))
    points = sdp.read_table(shapes_table, DOMAIN, geometry="g")
    assert points._counts(grid, None).tolist() == [[2, 0], [0, 1]]
    domain = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
    points = sdp.read_table(shapes_table, domain, geometry="p")
    assert points._counts(domain.grid((2, 2)), None).tolist() == [[0, 12], [0, 0]]
    assert repr(points) == "Points(<private>, crs='EPSG:4326')"


@pytest.mark.engines
def test_no_decimal_of_postgresql_is_too_large_for_a_cast(postgresql):
    """A cast of these to doubles raises an error, which would tell of the record."""
    postgresql.run("DROP TABLE IF EXISTS decimals")
    postgresql.run("CREATE TABLE decimals (x numeric, y numeric(9, 6))")
    for value in ("1e400", "-1e400", "1e-400", "0.5", "'NaN'", "'Infinity'", "0.50000000000000000000001", "NULL"):
        postgresql.run(f"INSERT INTO decimals VALUES ({value}, 0.7)")
    points = sdp.read_table(postgresql.backend.table("decimals"), DOMAIN, x="x", y="y")
    assert points._counts(DOMAIN.grid((2, 1)), None).tolist() == [[1, 2]]


def test_decimals_are_the_nearest_doubles(engine):
    digits = np.random.default_rng(2).integers(0, 10**12, 2000)
    texts = [f"0.{each:012d}" for each in digits.tolist()]
    loaded = engine.load("texts", pa.table({"t": texts, "y": [0.5] * len(texts)}))
    decimals = loaded.select(x=loaded.t.cast("decimal(20, 12)"), y=loaded.y)
    grid = DOMAIN.grid((2**20, 1))
    points = sdp.read_table(decimals, DOMAIN, x="x", y="y")
    expected = sdp.Points([float(text) for text in texts], [0.5] * len(texts))._counts(grid, None)
    assert np.array_equal(points._counts(grid, None), expected)
