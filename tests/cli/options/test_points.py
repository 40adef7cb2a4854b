"""Files of points, of every format and none."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from spatialdp.cli.options.points import PointsFile
from tests.helpers.commands import BOUNDS, QUADTREE, command, refused, run
from tests.helpers.person_files import person_options, write_persons
from tests.helpers.point_files import FILES, columns_of, write

NOTHING = dict.fromkeys(("x", "y", "geometry", "layer", "crs", "file_format"))


@pytest.mark.parametrize("name", FILES)
def test_points_of_every_format_are_released(folder, tmp_path, name):
    columns = [f"--{key}={value}" for key, value in columns_of(name).items()]
    seeded = ("--seed", 3, "--not-private", "--crs", "EPSG:4326")
    result = run("release", folder / name, *columns, BOUNDS, *seeded, *QUADTREE, "-o", tmp_path / "out.parquet")
    assert result.stdout == ""
    assert "NOT PRIVATE" in result.stderr
    points = sdp.read_points(folder / "plain.parquet", sdp.Domain((0, 0, 1, 1)), x="lon", y="lat")
    same = sdp.Quadtree(3).release(points, sdp.Domain((0, 0, 1, 1)), epsilon=1, noise=sdp.SeededNoise(3))
    release = sdp.load(tmp_path / "out.parquet")
    assert release.domain.crs == "EPSG:4326"
    assert np.array_equal(release.estimate.values, same.estimate.values)


def test_bad_files_are_refused(place):
    geopandas.GeoSeries([shapely.box(0, 0, 1, 1)], crs="EPSG:4326").to_file("squares.gpkg")
    run(*command(points="squares.gpkg"))  # the types are gathered from records, so they refuse nothing
    Path("out.parquet").unlink()
    mixed = geopandas.GeoSeries([shapely.Point(0.5, 0.5), shapely.box(0, 0, 1, 1)], crs="EPSG:4326")
    geopandas.GeoDataFrame(geometry=mixed).to_parquet("mixed.parquet")
    run(*command(points="mixed.parquet"))
    Path("out.parquet").unlink()
    write(place / "geo.parquet", *np.random.default_rng(1).random((2, 500)))
    (place / "cut.parquet").write_bytes((place / "geo.parquet").read_bytes()[:5000])
    assert "truncated, damaged" in refused(command(points="cut.parquet"))
    (place / "empty.csv").touch()
    assert "is an empty file" in refused(command(points="empty.csv", x="x", y="y"))
    (place / "table.csv").write_text("a,b\n1,2\n")
    assert "no column 'x'" in refused(command(points="table.csv", x="x", y="b"))


def test_a_file_without_permission_is_refused(place, monkeypatch):
    from pathlib import Path

    opened = Path.open

    def closed(path, *args, **kwargs):
        if path.name == "points.gpkg":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", closed)  # root, who runs tests in containers, may read everything
    assert "points.gpkg cannot be opened (Permission denied)" in refused(command())


@pytest.mark.parametrize(
    ("options", "crs", "told"),
    [
        ({"x": "lon", "y": "lat"}, "EPSG:4326", ("lon", "lat")),
        ({"x": "lon", "y": "lat", "crs": "EPSG:4326"}, "EPSG:4326", ()),
        ({"geometry": "place"}, "EPSG:4326", ("place", "if its file names none")),
        ({"geometry": "place", "crs": "EPSG:4326"}, "EPSG:4326", ()),
        ({}, "EPSG:4326", ()),
        ({"x": "lon", "y": "lat"}, None, ()),
    ],
    ids=str,
)
def test_what_is_taken_for_granted_is_told(options, crs, told):
    """Only columns have no CRS of their own."""
    words = PointsFile(("none.csv",), NOTHING | options).assumption(sdp.Domain((0, 0, 1, 1), crs=crs))
    assert bool(words) == bool(told)
    assert not told or all(word in words for word in (*told, crs))


def test_nothing_is_opened_before_it_is_read():
    points = PointsFile(("none.csv",), NOTHING | {"x": "a", "y": "b"})
    assert points.path == Path("none.csv")
    assert points.inputs == [Path("none.csv")]
    with pytest.raises(sdp.SpatialDPError, match=r"none\.csv"):
        points.read(sdp.Domain((0, 0, 1, 1)))


# --- several files and standard input --------------------------------------------------------------

TERMS = (BOUNDS, "--crs=EPSG:4326", "--x=lon", "--y=lat", "--seed=3", "--not-private", *QUADTREE)


@pytest.fixture
def halves(place):
    """A table of points, and the same in two files of a folder."""
    rows = [f"{x},{y}" for x, y in np.random.default_rng(2).random((40, 2))]
    (place / "data").mkdir()
    for name, part in (("whole.csv", rows), ("data/a.csv", rows[:15]), ("data/b.csv", rows[15:])):
        (place / name).write_text("\n".join(["lon,lat", *part]))
    return place


def values(*words, **options):
    run("release", *words, *TERMS, "--force", "-o", "out.parquet", **options)
    return sdp.load("out.parquet").estimate.values.tolist()


def test_files_folders_patterns_and_standard_input_are_the_same_points(halves):
    whole = values("whole.csv")
    assert values("data/a.csv", "data/b.csv") == values("data") == values("data/*.csv") == whole
    packed = gzip.compress((halves / "whole.csv").read_bytes())
    for content, suffix in (((halves / "whole.csv").read_bytes(), "csv"), (packed, ".csv.gz")):
        words = ["release", "-", "--points-format", suffix, *TERMS, "--force", "-o", "out.parquet"]
        assert CliRunner().invoke(main, [str(word) for word in words], input=content).exit_code == 0
        assert sdp.load("out.parquet").estimate.values.tolist() == whole


def test_a_column_of_points_is_read(place):
    (place / "wkt.csv").write_text("id,place\n1,POINT (0.5 0.5)\n2,POINT EMPTY\n")
    result = run(*command(points="wkt.csv", geometry="place"))
    assert "the column place is assumed to be in the domain's CRS" in result.stderr


def test_wrong_ways_to_name_points_are_refused(halves):
    assert "needs its format; add --points-format" in refused(command(points="-"))
    assert "must be the only file" in refused([*command(points="-", points_format="csv"), "whole.csv"])
    assert "--x, --y and --geometry were given" in refused(command(points="whole.csv", x="lon", y="lat", geometry="g"))
    assert "or give --points-format" in refused(command(points="data/a"))
    assert "leave --layer out" in refused(command(points="whole.csv", x="lon", y="lat", layer="l"))
    assert "(--x and --y), or the column of its points in WKB or WKT (--geometry)" in refused(
        command(points="whole.csv")
    )
    Path("bare.csv").write_text("a,b")
    assert "Missing argument 'POINTS...'" in refused(["release", *command()[2:]])


def test_no_output_replaces_an_input_in_a_folder(halves):
    for points in ("data", "data/*.csv"):
        words = [*command(points=points, x="lon", y="lat", o="data/a.csv"), "--force"]
        assert "would replace the input data/a.csv" in refused(words)


@pytest.fixture
def crashes(place):
    """A database with a table, and a folder of Parquet with the same records and their persons."""
    rng = np.random.default_rng(6)
    rows = pa.table({"lon": rng.random(300), "lat": rng.random(300), "who": rng.integers(0, 40, 300)})
    with duckdb.connect("crashes.db") as connection:
        connection.register("rows", rows)
        connection.execute("CREATE TABLE crashes AS SELECT * FROM rows")
    (place / "parts").mkdir()
    pq.write_table(rows.slice(0, 100), "parts/a.parquet")
    pq.write_table(rows.slice(100), "parts/b.parquet")
    return rows


ADDRESS = "duckdb:///crashes.db?table=crashes"
SEEDED = ("--x", "lon", "--y", "lat", "--seed", "3", "--not-private", "--crs", "EPSG:4326")


def test_a_table_of_a_database_is_released(crashes, place):
    result = run("release", ADDRESS, *SEEDED, BOUNDS, *QUADTREE, "-o", "out.parquet")
    assert result.stdout == ""
    same = sdp.Quadtree(3).release(
        sdp.Points(crashes["lon"], crashes["lat"]), sdp.Domain((0, 0, 1, 1)), epsilon=1, noise=sdp.SeededNoise(3)
    )
    assert np.array_equal(sdp.load("out.parquet").estimate.values, same.estimate.values)


def test_no_output_may_replace_a_database(crashes):
    Path("crashes.parquet").symlink_to("crashes.db")
    words = refused(("release", ADDRESS, *SEEDED, BOUNDS, *QUADTREE, "-o", "crashes.parquet", "--force"))
    assert "would replace the input" in words


def test_passwords_of_addresses_are_never_shown(place):
    pytest.importorskip("psycopg")
    address = "postgresql://ann:s3cret@127.0.0.1:1/city?table=visits&connect_timeout=2"
    words = refused(("release", address, *SEEDED, BOUNDS, *QUADTREE, "-o", "out.parquet"))
    assert "the table cannot be opened" in words
    assert "s3cret" not in words
    assert PointsFile((address,), dict(NOTHING)).path == Path("visits")


def test_an_address_is_the_only_source(crashes):
    for more in (("more.csv",), ("--layer", "a"), ("--reproject",), ("--points-format", "csv")):
        words = refused(("release", ADDRESS, *more, *SEEDED, BOUNDS, *QUADTREE, "-o", "out.parquet"))
        assert "the address of a table must be the only POINTS" in words


def test_persons_in_a_folder_of_parquet_are_those_of_a_table(crashes):
    """Files are read as files, whichever packages are installed; DuckDB would give the same counts."""
    domain = sdp.Domain((0, 0, 1, 1))
    options = {**NOTHING, "x": "lon", "y": "lat", "person": "who", "reproject": False}
    points = PointsFile(("parts",), options).read(domain)
    assert type(points).__name__ == "FilePoints"
    table = sdp.read_table("parts", domain, x="lon", y="lat", person="who")
    bound, grid = sdp.Person(cells=3), domain.grid((8, 8))
    assert np.array_equal(points._counts(grid, bound), table._counts(grid, bound))


# --- persons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["table.csv", "plain.parquet", "layer.gpkg", "layer.geojson", "layer.shp", "layer.fgb"]
)
def test_a_column_of_persons_is_read(place, name):
    """The same seeded release as from arrays."""
    x, y = np.random.default_rng(1).random((2, 60))
    persons = np.random.default_rng(2).integers(1, 9, 60)
    write_persons(place / name, x, y, persons)
    columns = [f"--{key}={value}" for key, value in person_options(name).items() if key != "person"]
    words = (*columns, "--person-column=who", "--person=cells=2", "--crs=EPSG:4326", "--seed=3", "--not-private")
    run("release", name, *words, BOUNDS, *QUADTREE, "-o", "out.parquet")
    domain, bound = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326"), sdp.Person(cells=2)
    same = sdp.Quadtree(3).release(
        sdp.Points(x, y, person=persons), domain, epsilon=1, person=bound, noise=sdp.SeededNoise(3)
    )
    assert np.array_equal(sdp.load("out.parquet").estimate.values, same.estimate.values)


def test_wrong_columns_of_persons_are_refused(place):
    Path("who.csv").write_text("lon,lat,who\n0.5,0.5,ann\n")
    columns = {"points": "who.csv", "x": "lon", "y": "lat"}
    assert "has no column 'user'" in refused(command(person_column="user", person="cells=2", **columns))
    assert "give a bound, such as --person cells=20" in refused(command(person_column="who", **columns))
    assert "name their persons: --person-column NAME" in refused(command(person="cells=2", **columns))


def test_damage_within_records_is_reported_as_any_other(place):
    Path("quote.csv").write_text('lon,lat\n0.5,0.5\n"0.73519284,0.5\n')
    shown = refused(command(points="quote.csv", x="lon", y="lat"))
    assert "quote.csv cannot be read as csv: it is truncated, damaged" in shown
    assert "735" not in shown
    assert not Path("out.parquet").exists()
