"""Points read from files: every format gives the same records, and only schemas are complained of."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import logging
import math
import os
import sqlite3
import struct
import warnings

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, DomainError, PointsError
from spatialdp.records.counting import count_cells
from spatialdp.records.points import lattice_points
from tests.helpers.point_files import FILES, columns_of, write

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
DISC = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326", region=shapely.Point(0.5, 0.5).buffer(0.4))
GRID = (37, 64)


@pytest.fixture(scope="module")
def xy():
    return np.random.default_rng(1).uniform(-0.2, 1.2, (2, 5000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, xy):
    place = tmp_path_factory.mktemp("points")
    for name in FILES:
        write(place / name, *xy)
    return place


def counts(path, domain=DOMAIN, **options):
    return count_cells(sdp.read_points(path, domain, **options), domain.grid(GRID))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("domain", [DOMAIN, DISC], ids=["whole", "disc"])
def test_every_format_gives_the_same_records(folder, xy, name, domain):
    points = sdp.read_points(folder / name, domain, **columns_of(name))
    held = sdp.Points(*xy)
    assert np.array_equal(count_cells(points, domain.grid(GRID)), count_cells(held, domain.grid(GRID)))
    one, two = (np.stack(lattice_points(each, domain)) for each in (points, held))
    if name == "layer.fgb":  # which is sorted in space
        one, two = (each[:, np.lexsort(each)] for each in (one, two))
    assert np.array_equal(one, two)
    assert repr(points) == "Points(<private>, crs='EPSG:4326')"
    assert isinstance(points, sdp.Points)


@pytest.mark.parametrize("mechanism", [sdp.Quadtree(3), sdp.KdTree(2), sdp.Flat((5, 4))], ids=lambda m: m.name)
def test_releases_of_a_file_and_of_an_array_agree(folder, xy, mechanism):
    points = sdp.read_points(folder / "plain.parquet", DISC, **columns_of("plain.parquet"))
    one, two = (
        mechanism.release(held, DISC, epsilon=1, noise=sdp.SeededNoise(3)) for held in (points, sdp.Points(*xy))
    )
    assert np.array_equal(one.estimate.values, two.estimate.values)


def test_batches_are_put_together(tmp_path, xy, monkeypatch):
    for module in ("arrow", "delimited", "geopackage", "shapefile", "flatgeobuf"):
        monkeypatch.setattr(f"spatialdp.records.formats.{module}.BATCH", 100)
    monkeypatch.setattr("spatialdp.records.formats.geojson._BLOCK", 1000)
    for name in FILES:
        options = columns_of(name)
        assert counts(write(tmp_path / name, *xy), **options).sum() == counts_inside(xy)


def counts_inside(xy):
    return int(((xy >= 0) & (xy <= 1)).all(axis=0).sum())


def test_only_needed_columns_are_read(tmp_path):
    wide = pa.table({"lon": [0.5], "lat": [0.5], "blob": pa.array([{"a": [1]}])})
    pq.write_table(wide, tmp_path / "wide.parquet")
    assert counts(tmp_path / "wide.parquet", x="lon", y="lat").sum() == 1


@pytest.mark.parametrize("kind", [pa.float32(), pa.int16(), pa.uint64(), pa.decimal128(30, 3)])
def test_all_kinds_of_numbers_are_read(tmp_path, kind):
    table = pa.table({"x": pa.array([1, None, 3]).cast(kind), "y": pa.array([1, 2, 3]).cast(kind)})
    pq.write_table(table, tmp_path / "p.parquet")
    assert counts(tmp_path / "p.parquet", sdp.Domain((0, 0, 4, 4)), x="x", y="y").sum() == 2


# --- records that are no points: silence ---------------------------------------------------------


def silently(path, **options):
    """Counts of a file that must not cause a warning, a log line or an error."""
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logging.getLogger().addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return counts(path, **options).sum()
    finally:
        logging.getLogger().removeHandler(handler)
        assert not records


def test_numbers_that_are_no_places_count_nowhere(tmp_path):
    x = np.array([0.5, np.nan, np.inf, 0.5, -1e300, 0.25])
    y = np.array([0.5, 0.5, 0.5, -np.inf, 0.5, 7.0])
    for name in ("plain.parquet", "table.csv", "geo.parquet", "native.parquet"):
        assert silently(write(tmp_path / name, x, y), **columns_of(name)) == 1
    nulls = pa.table({"x": pa.array([0.5, None]), "y": pa.nulls(2)})
    pq.write_table(nulls, tmp_path / "nulls.parquet")
    assert silently(tmp_path / "nulls.parquet", x="x", y="y") == 0


def test_csv_cells_that_are_no_numbers_count_nowhere(tmp_path):
    rows = [
        "0.5,0.5",
        "abc,0.5",
        ",",
        "0.5",
        "+.25, 2.5e-1 ",
        "0x1,1",
        "1,0,7,8",
        "True,1",
        '"0.75","0.75"',
        "\x00,1",
        "½,1",
    ]
    path = tmp_path / "odd.csv"
    path.write_bytes("\n".join(["x,y", *rows]).encode() + b"\n\xff\xfe,0.5\n")
    assert silently(path, x="x", y="y") == 4
    path.write_text("x,y\n")
    assert silently(path, x="x", y="y") == 0


def test_one_csv_record_does_not_change_how_others_are_read(tmp_path):
    path = tmp_path / "p.csv"
    for other in ("1.5", "18446744073709551616", "-9223372036854775809", "True", "nan", "x"):
        path.write_text(f"x,y\n1,1\n0,1\n{other},0.5\n")
        assert silently(path, x="x", y="y") == 2


def test_other_geometries_in_an_undeclared_layer_count_nowhere(tmp_path):
    mixed = [
        shapely.Point(0.5, 0.5),
        shapely.box(0.1, 0.1, 0.2, 0.2),
        None,
        shapely.Point(),
        shapely.MultiPoint([[1, 1]]),
        shapely.MultiPoint([[1, 1], [0.5, 0.5]]),
    ]
    frame = geopandas.GeoDataFrame(geometry=mixed, crs="EPSG:4326")
    for name in ("mixed.gpkg", "mixed.geojson"):
        frame.to_file(tmp_path / name)
        assert silently(tmp_path / name) == 2  # with the multi-point of one part


def test_types_that_geoparquet_gathers_from_records_refuse_nothing(tmp_path):
    """Points alone never did, be they none, missing, empty or with a height; now other geometries do not either."""
    path = tmp_path / "layer.parquet"
    for other, one in ((shapely.box(0, 0, 1, 1), 0), (shapely.MultiPoint([[0.5, 0.5]]), 1)):
        geopandas.GeoDataFrame(geometry=[shapely.Point(0.5, 0.5), other], crs="EPSG:4326").to_parquet(path)
        assert silently(path) == 1 + one
        geopandas.GeoDataFrame(geometry=[other], crs="EPSG:4326").to_parquet(path)
        assert silently(path) == one
    for points in ([], [None], [shapely.Point()], [shapely.Point(0.5, 0.5), shapely.Point(0.5, 0.5, 9), None]):
        frame = geopandas.GeoDataFrame(geometry=geopandas.GeoSeries(points), crs="EPSG:4326")
        frame.to_parquet(path)
        assert silently(path) == 2 * (len(points) > 1)
        frame.to_file(tmp_path / "layer.gpkg")
        assert silently(tmp_path / "layer.gpkg") == 2 * (len(points) > 1)


@pytest.mark.parametrize("name", ["a.gpkg", "a.fgb", "a.geojson", "a.parquet", "native.parquet"])
def test_one_multi_point_changes_nothing_for_the_points(tmp_path, name):
    """Writers declare the layer as one of multi-points for it, and make multi-points of all."""
    points = [shapely.Point(0.1, 0.2), shapely.Point(0.3, 0.4), shapely.Point(0.5, 0.6)]
    for other, counted in (
        (shapely.MultiPoint([(0.7, 0.8)]), 4),
        (shapely.MultiPoint([(0.7, 0.8), (0.9, 0.9)]), 3),
        (shapely.Point(0.7, 0.8, 9), 4),
    ):
        frame = geopandas.GeoDataFrame({"a": range(4)}, geometry=[*points, other], crs="EPSG:4326")
        if other.has_z and name.endswith("fgb"):  # its writer does not mix them
            continue
        path = tmp_path / f"{other.geom_type}{counted}{name}"
        if name.endswith("parquet"):
            native = name.startswith("native") and not other.has_z  # which its writer does not mix
            frame.to_parquet(path, geometry_encoding="geoarrow" if native else "WKB")
        else:
            frame.to_file(path)
        assert silently(path) == counted


def test_damaged_geometries_count_nowhere(tmp_path):
    geo = {"version": "1.0.0", "primary_column": "g", "columns": {"g": {"encoding": "WKB", "geometry_types": []}}}
    wkb = [shapely.to_wkb(shapely.Point(0.5, 0.5)), b"", b"\x01\x01", b"nonsense", None]
    table = pa.table({"g": pa.array(wkb, pa.binary())}).replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, tmp_path / "damaged.parquet")  # without a CRS, which means longitude and latitude
    assert silently(tmp_path / "damaged.parquet") == 1
    features = [
        {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": at}}
        for at in ([0.5, 0.5], ["abc", 1], [0.5], [], [0.5, 0.5, 9], [math.inf, 0])
    ]
    features += [{"type": "Feature", "properties": {"a": "text"}, "geometry": None}, {"type": "Feature"}, 17]
    (tmp_path / "odd.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    assert silently(tmp_path / "odd.geojson") == 2


@pytest.mark.parametrize("number", ["1e400", "-1e309", "7" * 400, "-" + "7" * 5000, "1e-400", "0." + "0" * 400 + "1"])
def test_a_number_that_no_double_holds_is_a_record_like_any_other(number, tmp_path):
    """GDAL would refuse the whole file, and so tell of one record; as a coordinate, or as anything else."""
    feature = '{"type": "Feature", "properties": {"a": %s}, "geometry": {"type": "Point", "coordinates": [%s, 0.5]}}'
    for name, odd, inside in (
        ("at.geojson", feature % (1, number), number.startswith(("1e-", "0."))),
        ("beside.geojson", feature % (number, 0.5), True),
    ):
        features = ", ".join([feature % (1, 0.5), odd, feature % (2, 0.7)])
        (tmp_path / name).write_text(f'{{"type": "FeatureCollection", "features": [{features}]}}')
        assert silently(tmp_path / name) == 2 + inside


def nested(depth):
    """A point in a collection in a collection, and so on: more than the stack of GEOS holds."""
    return struct.pack("<BII", 1, 7, 1) * depth + shapely.to_wkb(shapely.Point(0.5, 0.5))


def test_geometries_within_geometries_count_nowhere(tmp_path):
    geo = {"version": "1.0.0", "primary_column": "g", "columns": {"g": {"encoding": "WKB", "geometry_types": []}}}
    point = shapely.to_wkb(shapely.Point(0.5, 0.5, 7))
    for kind in (pa.binary(), pa.large_binary()):
        table = pa.table({"g": pa.array([point, nested(2), nested(100_000)], kind)})
        pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "deep.parquet")
        assert silently(tmp_path / "deep.parquet") == 1
    path = tmp_path / "deep.gpkg"
    geopandas.GeoDataFrame(geometry=[shapely.Point(0.5, 0.5)] * 3, crs="EPSG:4326").to_file(path, SPATIAL_INDEX="NO")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for (trigger,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            connection.execute(f'drop trigger "{trigger}"')
        header = b"GP\0\x01" + struct.pack("<i", 4326)
        connection.execute("insert into deep(geom) values (?)", (header + nested(100_000),))
        connection.commit()
    assert silently(path) == 3


def test_a_file_without_records_is_a_data_set(tmp_path):
    for name in ("plain.parquet", "geo.parquet", "table.csv", "layer.gpkg"):
        assert silently(write(tmp_path / name, np.empty(0), np.empty(0)), **columns_of(name)) == 0
    (tmp_path / "empty.geojson").write_text('{"type": "FeatureCollection", "features": []}')
    assert silently(tmp_path / "empty.geojson") == 0


# --- schemas that are wrong: clear errors ---------------------------------------------------------


@pytest.mark.parametrize("suffix", ["parquet", "gpkg", "shp"])
def test_one_record_of_text_does_not_hide_the_numbers(suffix, tmp_path):
    """Writers make a column of text of all numbers for one record that is none."""
    odd = ["0.25", "0.75", "unknown"]
    for name, column in (("plain", [0.25, 0.75, None]), ("odd", odd)):
        frame = pd.DataFrame({"lon": column, "lat": column})
        if suffix != "parquet":
            frame = geopandas.GeoDataFrame(frame, geometry=[shapely.Point(0.5, 0.5)] * 3, crs="EPSG:4326")
        write = frame.to_parquet if suffix == "parquet" else frame.to_file
        write(tmp_path / f"{name}.{suffix}")
    found = [counts(tmp_path / f"{name}.{suffix}", DOMAIN, x="lon", y="lat") for name in ("plain", "odd")]
    assert found[0].sum() == 2
    assert np.array_equal(*found)


def test_wrong_columns_are_refused(folder, tmp_path):
    with pytest.raises(PointsError, match="no column 'long'; its columns are name, lon, lat"):
        sdp.read_points(folder / "plain.parquet", DOMAIN, x="long", y="lat")
    with pytest.raises(PointsError, match="no column 'long'"):
        sdp.read_points(folder / "layer.gpkg", DOMAIN, x="long", y="lat")
    with pytest.raises(PointsError, match="only one of x and y"):
        sdp.read_points(folder / "plain.parquet", DOMAIN, x="lon")
    with pytest.raises(PointsError, match="no geometry column"):
        sdp.read_points(folder / "plain.parquet", DOMAIN)
    with pytest.raises(PointsError, match="no geometry column"):
        sdp.read_points(folder / "table.csv", DOMAIN)
    with pytest.raises(PointsError, match="leave x, y and geometry out"):
        sdp.read_points(folder / "layer.geojson", DOMAIN, x="lon", y="lat")
    twice = pa.table([pa.array([0.5])] * 3, names=["x", "x", "y"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(PointsError, match="more than one column 'x'"):
        sdp.read_points(tmp_path / "twice.parquet", DOMAIN, x="x", y="y")
    (tmp_path / "twice.csv").write_text("x,x,y\n0.5,0.5,0.5\n")
    with pytest.raises(PointsError, match="more than one column 'x'"):
        sdp.read_points(tmp_path / "twice.csv", DOMAIN, x="x", y="y")
    with pytest.raises(PointsError, match="no column 'east'; its columns are name, lon, lat"):
        sdp.read_points(folder / "layer.gpkg", DOMAIN, x="east", y="lat")


def test_names_in_a_csv_are_not_told(tmp_path):
    path = tmp_path / "headless.csv"
    path.write_text("0.73519284,0.5\n0.2,0.3\n")
    with pytest.raises(PointsError, match="no column 'lon'") as caught:
        sdp.read_points(path, DOMAIN, x="lon", y="lat")
    assert "7351" not in str(caught.value)


@pytest.mark.parametrize("other", [shapely.box(0, 0, 1, 1), shapely.LineString([(0, 0), (1, 1)])], ids=str)
def test_in_layers_of_polygons_and_lines_no_record_counts(tmp_path, other):
    """To refuse them by the type that they declare would tell of the one record that a writer took it from."""
    layer = geopandas.GeoDataFrame(geometry=[other], crs="EPSG:4326")
    layer.to_parquet(tmp_path / "layer.parquet")
    layer.to_parquet(tmp_path / "native.parquet", geometry_encoding="geoarrow")
    for name in ("layer.gpkg", "layer.geojson", "layer.shp", "layer.fgb"):
        layer.to_file(tmp_path / name)
    for name in ("layer.parquet", "native.parquet", "layer.gpkg", "layer.shp", "layer.fgb", "layer.geojson"):
        assert silently(tmp_path / name) == 0


def test_layers_are_named(tmp_path):
    path = tmp_path / "two.gpkg"
    for layer, place in (("homes", 0.5), ("works", 7)):
        frame = geopandas.GeoDataFrame(geometry=[shapely.Point(place, 0.5)], crs="EPSG:4326")
        frame.to_file(path, layer=layer)
    assert counts(path, layer="homes").sum() == 1
    assert counts(path, layer="works").sum() == 0
    with pytest.raises(PointsError, match=r"several layers; name one of \['homes', 'works'\]"):
        sdp.read_points(path, DOMAIN)
    with pytest.raises(PointsError, match="no layer 'home'"):
        sdp.read_points(path, DOMAIN, layer="home")


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith("gpkg")])
def test_other_formats_have_no_layers_to_name(folder, name):
    with pytest.raises(PointsError, match="cannot have several layers, but layer 'homes' was asked for; leave layer"):
        sdp.read_points(folder / name, DOMAIN, layer="homes", **columns_of(name))


def test_crs_is_checked(folder, tmp_path, xy):
    other = sdp.Domain((0, 0, 1, 1), crs="EPSG:4258")
    for name in ("geo.parquet", "native.parquet", "layer.gpkg", "layer.geojson", "layer.shp"):
        with pytest.raises(CRSMismatchError, match="the domain has CRS EPSG:4258 but the points have"):
            sdp.read_points(folder / name, other)
    with pytest.warns(UserWarning, match="projection"):
        bare = write(tmp_path / "bare.shp", *xy, crs=None)
    with pytest.raises(CRSMismatchError, match=r"bare.shp states no CRS but the domain has EPSG:4326.*crs=.EPSG:4326"):
        sdp.read_points(bare, DOMAIN)
    assert counts(bare, crs="EPSG:4326").sum() == counts_inside(xy)
    assert counts(bare, sdp.Domain((0, 0, 1, 1))).sum() == counts_inside(xy)
    with pytest.raises(CRSMismatchError, match="EPSG:2154 was given"):
        sdp.read_points(folder / "layer.gpkg", DOMAIN, crs="EPSG:2154")
    with pytest.raises(DomainError, match="pyproj does not know"):
        sdp.read_points(folder / "layer.gpkg", DOMAIN, crs="EPSG:77777777")
    assert counts(folder / "layer.gpkg", crs="OGC:CRS84").sum() == counts_inside(xy)  # which is the same
    with pytest.raises(CRSMismatchError, match="the points have EPSG:2154"):
        sdp.read_points(folder / "table.csv", DOMAIN, x="lon", y="lat", crs="EPSG:2154")
    with pytest.raises(CRSMismatchError, match="the domain has none"):
        sdp.read_points(folder / "layer.gpkg", sdp.Domain((0, 0, 1, 1)))


@pytest.mark.parametrize("name", FILES)
def test_truncated_files_are_refused_in_words(folder, tmp_path, name):
    if name.endswith("csv"):
        return  # every beginning of a CSV file is one
    whole = (folder / name).read_bytes()
    cut = tmp_path / name
    cut.write_bytes(whole[: len(whole) // 3])
    if name == "layer.fgb":
        cut.write_bytes(whole[:100])
    with pytest.raises(PointsError, match="truncated, damaged or of another format"):
        sdp.read_points(cut, DOMAIN, **columns_of(name))


def test_what_is_no_file_of_points_is_refused(tmp_path):
    with pytest.raises(PointsError, match="is a folder with no files of points"):
        sdp.read_points(tmp_path, DOMAIN)
    with pytest.raises(PointsError, match=r"from a ndarray.*spatialdp\.Points"):
        sdp.read_points(np.zeros((3, 2)), DOMAIN)
    with pytest.raises(PointsError, match="No such file"):
        sdp.read_points(tmp_path / "none.parquet", DOMAIN)
    for name in ("empty.parquet", "empty.csv", "empty.geojson"):
        (tmp_path / name).touch()
        with pytest.raises(PointsError, match="is an empty file"):
            sdp.read_points(tmp_path / name, DOMAIN, **({"x": "x", "y": "y"} if name.endswith("csv") else {}))
    (tmp_path / "p.xlsx").write_text("x")
    with pytest.raises(PointsError, match=r"use one of \.parquet"):
        sdp.read_points(tmp_path / "p.xlsx", DOMAIN)
    (tmp_path / "text.parquet").write_text("x,y\n1,2\n")
    with pytest.raises(PointsError, match="cannot be read as parquet"):
        sdp.read_points(tmp_path / "text.parquet", DOMAIN, x="x", y="y")
    with pytest.raises(PointsError, match="public bounds"):
        sdp.read_points(tmp_path / "text.parquet", (0, 0, 1, 1))


def test_points_belong_to_the_domain_they_were_read_for(folder):
    points = sdp.read_points(folder / "layer.gpkg", DOMAIN)
    wider = sdp.Domain((0, 0, 2, 1), crs="EPSG:4326")
    with pytest.raises(PointsError, match="read them again"):
        sdp.Flat((2, 2)).release(points, wider, epsilon=1)


def test_readers_messages_are_kept_back(tmp_path):
    path = tmp_path / "quote.csv"
    path.write_text('x,y\n0.1,0.2\n"0.73519284,0.5\n')
    with pytest.raises(PointsError, match="cannot be read as csv") as caught:
        counts(path, x="x", y="y")
    assert "735" not in str(caught.value)
    assert "row" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_errors_bring_no_inner_variables_along(tmp_path):
    """Tracebacks of inner frames have records in their variables, which some tools print."""
    path = tmp_path / "quote.csv"
    path.write_text('x,y\n0.1,0.2\n"0.73519284,0.5\n')
    with pytest.raises(PointsError) as caught:
        counts(path, x="x", y="y")
    trace, seen = caught.value.__traceback__, []
    while trace is not None:
        seen.append(repr(trace.tb_frame.f_locals))
        trace = trace.tb_next
    assert "7351" not in "".join(seen[1:])  # the first frame is this test's


def variables(error):
    """All that the frames of an error hold, but the first one's, which is the test's."""
    trace, held = error.__traceback__.tb_next, []
    while trace is not None:
        held += trace.tb_frame.f_locals.values()
        trace = trace.tb_next
    return held


def test_errors_do_not_hold_what_was_read_before(tmp_path):
    (tmp_path / "ok.csv").write_text("x,y\n0.73519284,0.5\n")
    (tmp_path / "other.csv").write_text("a,b\n")
    with pytest.raises(PointsError) as caught:
        sdp.read_points([tmp_path / "ok.csv", tmp_path / "other.csv"], DOMAIN, x="x", y="y")
    assert not [value for value in variables(caught.value) if isinstance(value, list | tuple | dict | np.ndarray)]
    frame, table = pd.DataFrame({"a": [0.73519284]}), pa.table({"a": [0.73519284]})
    for source in (frame, table):
        with pytest.raises(PointsError) as caught:
            sdp.read_points(source, DOMAIN, x="x", y="y")
        held = variables(caught.value)
        assert not any(value is source for value in held)
        assert [value for value in held if callable(value)] == [sdp.read_points.__wrapped__]  # and no closure


def test_too_little_memory_does_not_tell_how_many_records_there_are(tmp_path, xy, monkeypatch):
    def full(*_):
        np.empty(2**50)

    path = write(tmp_path / "table.csv", *xy)
    monkeypatch.setattr("spatialdp.records.streaming.snap", full)
    for source in (path, path.open("rb")):
        with pytest.raises(MemoryError, match=r"^there is not enough memory to read the points$") as caught:
            lattice_points(sdp.read_points(source, DOMAIN, file_format="csv", **columns_of("table.csv")), DOMAIN)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("name", ["layer.gpkg", "layer.geojson", "geo.parquet"])
def test_points_are_reprojected_if_asked_for(folder, name):
    box = geopandas.GeoSeries([shapely.box(0, 0, 1, 1)], crs="EPSG:4326").to_crs("EPSG:3857")
    metres = sdp.Domain(box.total_bounds, crs="EPSG:3857")
    with pytest.raises(CRSMismatchError, match="reproject=True"):
        sdp.read_points(folder / name, metres)
    moved = lattice_points(sdp.read_points(folder / name, metres, reproject=True), metres)
    own = lattice_points(sdp.read_points(folder / name, DOMAIN, reproject=True), DOMAIN)
    assert own[0].size == moved[0].size > 0
    assert np.abs(own[0] - moved[0]).max() < 16  # lattice columns: Mercator is even along x


def test_reprojecting_needs_both_systems(tmp_path):
    (tmp_path / "a.csv").write_text("lon,lat\n0.5,0.5\n95,195\n")
    metres = sdp.Domain((0, 0, 100_000, 100_000), crs="EPSG:3857")
    columns = {"x": "lon", "y": "lat"}
    with pytest.raises(CRSMismatchError, match="their CRS is not known"):
        sdp.read_points(tmp_path / "a.csv", metres, reproject=True, **columns)
    with pytest.raises(CRSMismatchError, match="the domain has none"):
        sdp.read_points(tmp_path / "a.csv", sdp.Domain((0, 0, 1, 1)), reproject=True, crs="EPSG:4326", **columns)
    points = sdp.read_points(tmp_path / "a.csv", metres, reproject=True, crs="EPSG:4326", **columns)
    assert lattice_points(points, metres)[0].size == 1  # latitude 195 has no place


def test_systems_between_which_pyproj_knows_no_way_are_refused_in_words(tmp_path):
    (tmp_path / "a.csv").write_text("lon,lat\n36,34\n")
    degrees = sdp.Domain((35, 33, 37, 35), crs="EPSG:4326")
    with pytest.raises(CRSMismatchError, match=r"have CRS EPSG:22700 .*pyproj cannot reproject .*EPSG:4326; reproject"):
        sdp.read_points(tmp_path / "a.csv", degrees, x="lon", y="lat", crs="EPSG:22700", reproject=True)


def test_columns_named_like_the_other_axis_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("lon,lat\n0.5,0.5\n")
    with pytest.raises(PointsError, match="named like the other axis"):
        sdp.read_points(tmp_path / "a.csv", DOMAIN, x="lat", y="lon")
    with pytest.raises(PointsError, match="named like the other axis"):
        sdp.read_points(tmp_path / "none.csv", DOMAIN, x="lat", y="lon")  # before the file is opened


# --- several files, streams, tables ---------------------------------------------------------------


@pytest.fixture
def parts(tmp_path):
    """Three files of one record each, and what else is found in folders."""
    for number, name in enumerate(("b.csv", "a.csv", "deep/er/c.csv")):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"lon,lat\n0.{number + 1},0.5\n")
    for name in ("_SUCCESS", ".hidden.csv", "_temporary/part.csv", "README.md", "b.csv.crc"):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("nothing")
    return tmp_path / "data"


LON_LAT = {"x": "lon", "y": "lat"}


def test_a_folder_a_pattern_and_a_list_are_one_set_of_points(parts):
    assert counts(parts, **LON_LAT).sum() == 3
    assert counts(str(parts), **LON_LAT).sum() == 3
    assert counts(f"{parts}/*.csv", **LON_LAT).sum() == 2
    assert counts(f"{parts}/**/[a-c].csv", **LON_LAT).sum() == 3
    assert counts([parts / "a.csv", str(parts / "b.csv")], **LON_LAT).sum() == 2
    assert counts((parts / "deep", parts / "a.csv"), **LON_LAT).sum() == 2
    assert counts([], **LON_LAT).sum() == 0


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    path = tmp_path / "what[1].csv"
    path.write_text("lon,lat\n0.5,0.5\n")
    assert counts(path, **LON_LAT).sum() == 1


def test_folders_and_patterns_that_mean_nothing_are_refused(parts):
    with pytest.raises(PointsError, match=r"no file matches .*\*\.parquet; check the pattern"):
        sdp.read_points(f"{parts}/*.parquet", DOMAIN, **LON_LAT)
    (parts / "a.json").write_text("{}")
    with pytest.raises(PointsError, match=r"files of several formats \(\.csv, \.json\); give a file, or a pattern"):
        sdp.read_points(parts, DOMAIN, **LON_LAT)
    (parts / "a.json").unlink()
    (parts / "z.csv").write_text("a,b\n1,2\n")
    with pytest.raises(PointsError, match=r"z\.csv has no column 'lon'"):
        sdp.read_points(parts, DOMAIN, **LON_LAT)


def test_open_files_are_read_to_their_end(tmp_path, xy):
    for name in (name for name in FILES if not name.endswith("shp")):
        content = write(tmp_path / name, *xy).read_bytes()
        stream = io.BytesIO(content)
        assert counts(stream, file_format=name.split(".")[1], **columns_of(name)).sum() == counts_inside(xy)
        assert not stream.closed
    with gzip.open(tmp_path / "table.gz", "wb") as packed:
        packed.write((tmp_path / "table.csv").read_bytes())
    with gzip.open(tmp_path / "table.gz") as unpacked:
        assert counts(unpacked, file_format="CSV", **LON_LAT).sum() == counts_inside(xy)
    with pytest.raises(PointsError, match=r"the stream does not have the suffix.*or give file_format"):
        sdp.read_points(io.BytesIO(b""), DOMAIN)
    with pytest.raises(PointsError, match=r"file_format is 'xlsx', which is not a known format; use one of \.parquet"):
        sdp.read_points(io.BytesIO(b""), DOMAIN, file_format="xlsx")
    with pytest.raises(PointsError, match="is empty"):
        sdp.read_points(io.BytesIO(b""), DOMAIN, file_format="geojson")


def test_a_stream_that_fails_tells_nothing():
    class Broken(io.RawIOBase):
        def readable(self):
            return True

        def read(self, size=-1):
            raise OSError("0.73519284")

        readline = read

    for file_format in ("csv", "geojson", "parquet", "gpkg", "fgb"):
        with pytest.raises(PointsError, match="the stream cannot be read as") as caught:
            sdp.read_points(Broken(), DOMAIN, file_format=file_format, **(LON_LAT if file_format == "csv" else {}))
        assert caught.value.__context__ is None


def test_a_format_may_be_named_for_a_file_without_its_suffix(tmp_path):
    path = tmp_path / "part-00000"
    path.write_text("lon,lat\n0.5,0.5\n")
    assert counts(path, file_format="csv", **LON_LAT).sum() == 1
    with pytest.raises(PointsError, match=r"part-00000 does not have the suffix of a known format"):
        sdp.read_points(path, DOMAIN, **LON_LAT)


def test_what_is_neither_file_nor_folder_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(PointsError, match="is not a regular file; give a file, or open it and give file_format"):
        sdp.read_points(tmp_path / "pipe.csv", DOMAIN, **LON_LAT)


def test_arrow_tables_are_read_for_a_domain(xy):
    table = pa.table({"id": range(xy.shape[1]), "lon": xy[0], "lat": xy[1]})
    for source in (table, table.to_reader(max_chunksize=100), table.to_batches()[0]):
        assert counts(source, **LON_LAT).sum() == counts_inside(xy)
    points = pa.table({"g": shapely.to_wkb(shapely.points(*xy))})
    assert counts(points, geometry="g").sum() == counts_inside(xy)
    with pytest.raises(CRSMismatchError, match="EPSG:2154"):
        sdp.read_points(points, DOMAIN, geometry="g", crs="EPSG:2154")
