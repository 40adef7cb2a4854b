"""GeoPackage: any value may lie in any cell; layers, types and CRS are what its tables declare."""

from __future__ import annotations

import contextlib
import io
import sqlite3

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.counting import count_cells
from tests.attacks.records import geometry_blob, wkb, write_geopackage
from tests.helpers.person_files import persons_in
from tests.helpers.point_files import place_in

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
COLUMNS = {"x": "lon", "y": "lat"}


def count(source, domain=DOMAIN, **options):
    return count_cells(sdp.read_points(source, domain, **options), domain.grid((1, 1))).sum()


def changed(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path


@pytest.fixture
def path(tmp_path):
    write_geopackage(tmp_path / "a.gpkg", [(geometry_blob(wkb(0.5, 0.5)), 0.5, 0.5)] * 3)
    return tmp_path / "a.gpkg"


@pytest.mark.parametrize("value", ["'secret'", "x'00'", "NULL", "'0x1'", "9e999", "-9223372036854775808"])
def test_text_in_a_column_of_numbers_counts_nowhere(path, value):
    changed(
        path, f"INSERT INTO homes (lon, lat) VALUES ({value}, 0.5)", "INSERT INTO homes (lon, lat) VALUES (1, '0.5')"
    )
    assert count(path, **COLUMNS) == 4  # SQLite itself makes a number of '0.5' in a column of numbers


@pytest.mark.parametrize(
    "value", ["'POINT (0.5 0.5)'", "17", "0.5", "NULL", "zeroblob(100000)", "x''", "x'4750'", "x'47500001'"]
)
def test_anything_in_the_geometry_counts_nowhere(path, value):
    assert count(changed(path, f"INSERT INTO homes (geom) VALUES ({value})")) == 3
    assert count(changed(path, "DELETE FROM homes WHERE lon IS NOT NULL")) == 0


def test_geometries_with_an_envelope_or_flags_are_read():
    rows = [
        (geometry_blob(wkb(0.5, 0.5), 1 | code << 1, bytes(size)),) for code, size in enumerate((0, 32, 48, 48, 64))
    ]
    from spatialdp.records.formats.geopackage import _coordinates

    assert _coordinates(list(zip(*rows, strict=True)))[0].tolist() == [0.5] * 5
    odd = [(geometry_blob(wkb(0.5, 0.5), flags, b""),) for flags in (0x0B, 0x0D, 0x0F, 0x21, 0x03)]
    assert np.isnan(_coordinates(list(zip(*odd, (None,), (b"",), strict=True)))[0]).all()


def test_layers_and_tables(tmp_path):
    path = tmp_path / "a.gpkg"
    columns = {"lon": [0.5], "day": [pd.Timestamp("2024-01-01")]}
    frame = geopandas.GeoDataFrame(columns, geometry=[shapely.Point(0.5, 0.5)], crs="EPSG:4326")
    frame.to_file(path, layer='od"d name')
    assert count(path) == count(path, layer='od"d name') == 1
    with pytest.raises(PointsError, match=r"column 'day' of .* is of type DATETIME; coordinates must be numbers"):
        count(path, x="lon", y="day")
    with pytest.raises(PointsError, match="no column 'geom'; its columns are lon, day"):
        count(path, x="lon", y="geom")
    with pytest.raises(PointsError, match="leave geometry out"):
        count(path, geometry="geom")
    import pyogrio

    pyogrio.write_dataframe(pd.DataFrame({"lon": [0.5], "lat": [0.5]}), path, layer="table", append=False)
    assert count(path) == 1  # a table without geometries is no layer of points
    assert count(path, layer="table", **COLUMNS) == 1
    with pytest.raises(PointsError, match="several layers"):
        count(path, **COLUMNS)
    with pytest.raises(PointsError, match="declares no geometry column"):
        count(changed(path, "DELETE FROM gpkg_contents"))


@pytest.mark.parametrize(
    "made",
    [
        "CREATE VIEW homes AS SELECT * FROM stored",
        "CREATE VIEW homes AS SELECT fid, geom, abs(lon) AS lon, lat FROM stored",
        "CREATE VIEW homes AS SELECT one.* FROM stored AS one, stored AS other",
        "create  virtual table homes USING fts5(geom, lon, lat)",
        "CREATE VIRTUAL TABLE homes USING rtree(fid, lon, lat)",
    ],
)
def test_layers_that_run_code_are_refused(path, made):
    """One row can end or multiply what a view makes of all."""
    changed(path, "ALTER TABLE homes RENAME TO stored", made, "UPDATE gpkg_contents SET table_name = 'homes'")
    changed(path, "UPDATE gpkg_geometry_columns SET table_name = 'homes'")
    said = set()
    for row in ("(NULL, 0.5, 0.5)", "(NULL, -9223372036854775808, 0.5)"):
        changed(path, f"INSERT INTO stored (geom, lon, lat) VALUES {row}")
        for options in ({}, COLUMNS):
            with pytest.raises(
                PointsError, match=r"layer 'homes' of .* is not an ordinary table.*Save the layer"
            ) as caught:
                count(path, **options)
            said.add(str(caught.value))
    assert len(said) == 1


def test_computed_columns_are_refused_and_stored_ones_are_read(path):
    changed(path, "ALTER TABLE homes ADD COLUMN east REAL AS (abs(lon)) VIRTUAL")
    with pytest.raises(PointsError, match=r"column 'east' of .* is computed .*must be stored"):
        count(path, x="east", y="lat")
    assert count(path) == count(path, **COLUMNS) == 3
    changed(path, "INSERT INTO homes (lon, lat) VALUES (-9223372036854775808, 0.5)")
    assert count(path) == count(path, **COLUMNS) == 3
    changed(
        path,
        "CREATE TABLE other (raw BLOB, geom BLOB AS (raw) VIRTUAL, lon REAL, lat REAL AS (lon) STORED)",
        "INSERT INTO other (raw, lon) SELECT geom, lon FROM homes WHERE geom IS NOT NULL",
        "UPDATE gpkg_contents SET table_name = 'other'",
        "UPDATE gpkg_geometry_columns SET table_name = 'other'",
    )
    with pytest.raises(PointsError, match=r"column 'geom' of .* is computed"):
        count(path)
    assert count(path, **COLUMNS) == 3


@pytest.mark.parametrize("table", ["gpkg_contents", "gpkg_geometry_columns", "gpkg_spatial_ref_sys"])
def test_what_a_geopackage_declares_is_not_computed(path, table):
    with contextlib.closing(sqlite3.connect(path)) as database:
        for (trigger,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f'DROP TRIGGER "{trigger}"')
        database.commit()
    changed(path, f"ALTER TABLE {table} RENAME TO kept", f"CREATE VIEW {table} AS SELECT * FROM kept")
    with pytest.raises(PointsError, match="truncated, damaged or of another format"):
        count(path)


@pytest.mark.filterwarnings("ignore:'crs' was not provided")
@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:2154", "ESRI:102008", "+proj=laea +lat_0=45 +lon_0=7", None])
def test_the_crs_is_the_declared_one(tmp_path, crs):
    point, domain = place_in(crs)
    path = tmp_path / "a.gpkg"
    geopandas.GeoDataFrame(geometry=[point], crs=crs).to_file(path)
    assert count(path, domain) == 1
    with pytest.raises(CRSMismatchError, match="states no CRS" if crs is None else "EPSG:3857"):
        count(path, place_in("EPSG:3857")[1])


def test_nothing_is_written_beside_the_file(path):
    before = sorted(path.parent.iterdir())
    assert count(path) == 3
    assert sorted(path.parent.iterdir()) == before
    changed(path, "PRAGMA journal_mode = WAL", "INSERT INTO homes (geom) VALUES (NULL)")
    before = sorted(path.parent.iterdir())
    assert count(path) == 3
    assert sorted(path.parent.iterdir()) == before


def test_what_was_written_ahead_is_read(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("INSERT INTO homes (geom) SELECT geom FROM homes LIMIT 1")
        database.commit()
        assert count(path) == 4


def test_a_stream_is_read_and_other_databases_are_refused(path, tmp_path):
    assert count(io.BytesIO(path.read_bytes()), file_format="gpkg") == 3
    with pytest.raises(PointsError, match="truncated, damaged or of another format"):
        count(io.BytesIO(b"nonsense" * 100), file_format="gpkg")
    other = tmp_path / "b.gpkg"
    other.write_bytes(b"nonsense" * 100)
    with pytest.raises(PointsError, match="truncated, damaged or of another format"):
        count(other)
    other.unlink()
    with pytest.raises(PointsError, match="truncated, damaged or of another format"):
        count(changed(other, "CREATE TABLE homes (geom)"))


# --- persons ---------------------------------------------------------------------------------------


def with_persons(path, kind, *values):
    """The layer with one record for each value, in a column of a declared type."""
    return changed(
        path,
        f"ALTER TABLE homes ADD COLUMN who {kind}",
        "DELETE FROM homes",
        *(f"INSERT INTO homes (lon, lat, who) VALUES (1, 1, {value})" for value in values),
    )


VALUES = [
    "5",
    "'5'",
    "'05'",
    "NULL",
    "''",
    "5.0",
    "0.5",
    "x'353535'",
    "'ann'",
    "9e999",
    "9223372036854775807",
    "CAST(x'ff' AS TEXT)",
]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("TEXT", ["5", "5", "05", None, "", "5.0", "0.5", None, "ann", "Inf", "9223372036854775807", None]),
        ("INTEGER", ["5", "5", "5", None, "", "5", None, None, "ann", None, "9223372036854775807", None]),
        ("REAL", ["5", "5", "5", None, "", "5", None, None, "ann", None, None, None]),
        ("MEDIUMINT", ["5", "5", "5", None, "", "5", None, None, "ann", None, "9223372036854775807", None]),
    ],
)
def test_persons_are_what_their_cells_hold(path, kind, expected):
    """SQLite converts values to a column's type where it can, and stores any value in any column."""
    assert persons_in(with_persons(path, kind, *VALUES), **COLUMNS) == expected
    assert persons_in(io.BytesIO(path.read_bytes()), file_format="gpkg", **COLUMNS) == expected
    assert persons_in(path) == expected


@pytest.mark.parametrize("kind", ["BLOB", "DATE", "DATETIME", "BOOLEAN"])
def test_columns_that_are_no_identifiers_are_refused(path, kind):
    with pytest.raises(
        PointsError, match=f"column 'who' of .* is of type {kind}; persons must be whole numbers or text"
    ):
        sdp.read_points(with_persons(path, kind), DOMAIN, person="who")


def test_missing_and_computed_columns_of_persons_are_refused(path):
    with pytest.raises(PointsError, match="has no column 'who'; its columns are lon, lat"):
        sdp.read_points(path, DOMAIN, person="who")
    changed(path, "ALTER TABLE homes ADD COLUMN who TEXT AS (lon || 'x')")
    with pytest.raises(PointsError, match=r"column 'who' of .* is computed"):
        sdp.read_points(path, DOMAIN, person="who")


def test_text_in_utf_16_is_the_same_text(tmp_path, path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        script = "\n".join(database.iterdump())
    with contextlib.closing(sqlite3.connect(tmp_path / "b.gpkg")) as database:
        database.execute("PRAGMA encoding = 'UTF-16'")
        database.executescript(script)
    assert persons_in(with_persons(tmp_path / "b.gpkg", "TEXT", "'é'", "'5'"), **COLUMNS) == ["é", "5"]
