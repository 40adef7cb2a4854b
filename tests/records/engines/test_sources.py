"""Addresses and files mean tables; passwords are never shown, and spilled rows lie where nobody else reads."""

from __future__ import annotations

import gc
import os
import stat
from pathlib import Path

import duckdb as engine
import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.engines import sources
from spatialdp.records.engines.sources import database_files, is_address, open_table, table_name

DOMAIN = sdp.Domain((0, 0, 1, 1))
GRID = DOMAIN.grid((4, 4))
X, Y = np.random.default_rng(4).random((2, 200))
EXPECTED = sdp.Points(X, Y)._counts(GRID, None)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a database and files of Parquet; it is the current one."""
    monkeypatch.chdir(tmp_path)
    with engine.connect("crashes.db") as connection:
        rows = pa.table({"lon": X, "lat": Y})
        connection.register("rows", rows)
        connection.execute("CREATE TABLE crashes AS SELECT * FROM rows")
        connection.execute("CREATE SCHEMA city; CREATE VIEW city.few AS SELECT * FROM crashes WHERE lon < 0.5")
    (tmp_path / "parts" / "below").mkdir(parents=True)
    pq.write_table(rows.slice(0, 90), "parts/a.parquet")
    pq.write_table(rows.slice(90), "parts/below/b.parquet")
    return tmp_path


def counts(text, **columns):
    return sdp.read_table(text, DOMAIN, **{"x": "lon", "y": "lat", **columns})._counts(GRID, None)


@pytest.mark.parametrize("slashes", ["duckdb:///crashes.db", "duckdb://./crashes.db", "duckdb:///{place}/crashes.db"])
def test_a_database_of_duckdb_is_meant_by_its_path(place, slashes):
    address = slashes.format(place=str(place).lstrip("/")) + "?table=crashes"
    assert np.array_equal(counts(address), EXPECTED)
    assert [path.resolve() for path in database_files(address)] == [place / "crashes.db"]


def test_schemas_and_views_are_found(place):
    inside = X < 0.5
    expected = sdp.Points(X[inside], Y[inside])._counts(GRID, None)
    assert np.array_equal(counts("duckdb:///crashes.db?table=few&schema=city"), expected)


@pytest.mark.parametrize("text", ["parts", "parts/**/*.parquet"])
def test_files_of_parquet_are_meant_by_a_folder_or_a_pattern(place, text):
    assert np.array_equal(counts(text), EXPECTED)


def test_one_file_of_parquet_is_meant_by_its_path(place):
    assert counts("parts/a.parquet").sum() == 90


def test_columns_of_geoparquet_are_read_without_extensions(place):
    frame = geopandas.GeoDataFrame({"lon": X, "lat": Y}, geometry=shapely.points(X, Y), crs="EPSG:4326")
    frame.to_parquet("geo.parquet")
    assert np.array_equal(counts("geo.parquet"), EXPECTED)


def test_a_database_is_only_read(place):
    table = open_table("duckdb:///crashes.db?table=crashes")
    backend = table._find_backend()
    with pytest.raises(engine.Error, match="read-only"):
        backend.con.execute("DROP TABLE crashes")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("duckdb:///crashes.db", r"names no table; add it at the end: \?table=NAME"),
        ("duckdb:///none.db?table=t", "no file is meant by the address"),
        ("duckdb:///crashes.db?table=none", r"cannot be opened \(\w+\); check the address"),
        ("nonsense://host/db?table=t", r"tables are read from duckdb:// and postgresql://"),
        ("duckdb:///crashes.db?table=crashes&memory_limit=nonsense", r"cannot be opened \(\w+\)"),
        ("parts/none.parquet", "is not a file of Parquet"),
        ("crashes.db", "is not a file of Parquet"),
    ],
)
def test_what_cannot_be_opened_is_refused_in_words(place, address, words):
    with pytest.raises(PointsError, match=words):
        counts(address)


def test_two_files_may_be_meant_by_one_address(place, monkeypatch):
    monkeypatch.setattr(Path, "is_file", lambda path: True)
    with pytest.raises(PointsError, match="more than one file is meant"):
        database_files("duckdb:///crashes.db?table=crashes")


def test_names_that_duckdb_takes_for_patterns_are_refused(place):
    os.rename("parts/a.parquet", "parts/a[1].parquet")
    with pytest.raises(PointsError, match="which DuckDB takes for a pattern"):
        counts("parts/a[1].parquet")


@pytest.mark.parametrize("address", ["postgresql://ann:s3cret@127.0.0.1:1/city?table=visits&connect_timeout=2"])
def test_passwords_are_never_shown(address, capfd, caplog):
    pytest.importorskip("psycopg")
    with pytest.raises(PointsError, match=r"cannot be opened") as caught:
        counts(address)
    error = caught.value
    shown = f"{error} {error!r} {error.parts} {capfd.readouterr()} {caplog.text}"
    assert "s3cret" not in shown
    assert error.__cause__ is None
    assert error.__context__ is None
    assert table_name(address) == "visits"


def test_addresses_are_told_from_paths():
    assert is_address("postgresql://host/db?table=t")
    assert not is_address("C:/points.csv")


def test_spilled_rows_lie_in_a_folder_of_ones_own_that_is_removed(place):
    points = sdp.read_table("parts", DOMAIN, x="lon", y="lat")
    ((folder,),) = points._driver.connection.execute("SELECT current_setting('temp_directory')").fetchall()
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    del points
    gc.collect()
    assert not Path(folder).exists()


def test_the_folder_is_removed_if_the_database_cannot_be_opened(place, monkeypatch):
    made = []
    make = sources.tempfile.mkdtemp
    monkeypatch.setattr(sources.tempfile, "mkdtemp", lambda **words: made.append(make(**words)) or made[-1])
    with pytest.raises(PointsError):
        counts("duckdb:///crashes.db?table=crashes&memory_limit=nonsense")
    assert made
    assert not any(Path(folder).exists() for folder in made)


def test_without_ibis_words_say_what_to_install(place, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ibis", None)
    with pytest.raises(PointsError, match=r"pip install 'spatialdp\[tables\]'"):
        counts("parts")


@pytest.mark.engines
def test_postgresql_is_meant_by_its_address(postgresql, postgresql_place):
    postgresql.load("visits", pa.table({"lon": X, "lat": Y}))
    postgresql.run("CREATE SCHEMA IF NOT EXISTS city")
    postgresql.run("CREATE OR REPLACE VIEW city.few AS SELECT * FROM visits WHERE lon < 0.5")
    address = f"postgresql://postgres@/postgres?host={postgresql_place['host']}&table="
    assert np.array_equal(counts(f"{address}visits"), EXPECTED)
    assert counts(f"{address}few&schema=city").sum() == (X < 0.5).sum()
    assert database_files(f"{address}visits") == []
