"""Rows of files are counted as those in memory: in every format, by place and by code, batch by batch, exactly."""

from __future__ import annotations

import io
import tracemalloc
import warnings

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.formats.base import BATCH
from spatialdp.records.rows.files import read_rows
from spatialdp.records.rows.rows import as_rows, count_rows

DOMAIN = sdp.Domain((0, 0, 4, 2), crs="EPSG:4326")
HOURS = sdp.Time("2024-01-01", "2024-02-01", zone="Europe/Vienna", fold="hour of day")
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
FRAME = sdp.Frame(DOMAIN.grid((4, 2)), time=HOURS, kind=KINDS)
AREAS = geopandas.GeoDataFrame(
    {"state": list("AABC"), "county": ["A1", "A2", "B1", "C1"]},
    geometry=[shapely.box(i, 0, i + 1, 2) for i in range(4)],
    crs="EPSG:4326",
)
ZONES = sdp.Zones(AREAS, ["state", "county"])
BY_ZONE = sdp.Frame(ZONES, time=HOURS, kind=KINDS)
COLUMNS = {"x": "lon", "y": "lat", "time": "when", "kind": "what"}
N = 700


def table(n=N, seed=1):
    """Records, some of which are in no cell for one of many reasons."""
    rng = np.random.default_rng(seed)
    xy = rng.uniform((-0.5, -0.5), (4.5, 2.5), (n, 2))
    times = np.datetime64("2023-12-31") + rng.integers(0, 33 * 86400, n).astype("timedelta64[s]")
    return pd.DataFrame(
        {
            "lon": xy[:, 0],
            "lat": xy[:, 1],
            "when": times,
            "what": rng.choice(["burglary", "shoplifting", "assault", "theft", "unheard of", None], n),
            "who": rng.integers(0, 40, n),
            "zone": rng.choice(["A1", "A2", "B1", "C1", "A", "Z9", None], n),
        }
    )


TABLE = table()


def in_memory(frame=FRAME, records=TABLE, person=None, *, codes=False):
    places = sdp.Codes(records["zone"]) if codes else sdp.Points(records[["lon", "lat"]])
    if person is not None:
        xy = records[["lon", "lat"]]
        places = sdp.Codes(records["zone"], records["who"]) if codes else sdp.Points(xy, person=records["who"])
    return count_rows(sdp.Rows(places, time=records["when"], kind=records["what"]), frame, person)


def counted(rows, frame=FRAME, person=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return count_rows(as_rows(rows, frame, person), frame, person)


def write(path, records=TABLE):
    if ".csv" in path.name or ".tsv" in path.name:
        records.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    elif path.name.startswith("geo"):
        points = shapely.points(records[["lon", "lat"]])
        geopandas.GeoDataFrame(records.drop(columns=["lon", "lat"]), geometry=points, crs="EPSG:4326").to_parquet(path)
    else:
        records.to_parquet(path)
    return path


FILES = ("plain.parquet", "events.csv", "events.tsv", "events.csv.gz", "geo.parquet")


def options(name):
    return {key: value for key, value in COLUMNS.items() if not (name.startswith("geo") and key in "xy")}


@pytest.mark.parametrize("name", FILES)
def test_files_count_as_arrays_do(name, tmp_path):
    path = write(tmp_path / name)
    rows = read_rows(path, FRAME, **options(name))
    expected = in_memory()
    assert 0 < expected.sum() < N
    assert np.array_equal(counted(rows), expected)
    assert np.array_equal(counted(rows), expected)  # again: the file is read anew
    assert np.array_equal(counted(read_rows([path, path], FRAME, **options(name))), 2 * expected)
    by_zone = read_rows(path, BY_ZONE, **options(name))
    assert np.array_equal(counted(by_zone, BY_ZONE), in_memory(BY_ZONE))


@pytest.mark.parametrize("name", [name for name in FILES if "geo" not in name])
def test_codes_beside_times_and_categories(name, tmp_path):
    rows = read_rows(write(tmp_path / name), BY_ZONE, code="zone", time="when", kind="what")
    assert np.array_equal(counted(rows, BY_ZONE), in_memory(BY_ZONE, codes=True))
    codes_alone = sdp.Frame(sdp.Zones.from_codes(list(AREAS["county"]), None, {"state": 1, "county": 2}), kind=KINDS)
    rows = read_rows(tmp_path / name, codes_alone, code="zone", kind="what")
    assert counted(rows, codes_alone).sum() == in_memory(codes_alone, codes=True).sum()


@pytest.mark.parametrize("person", [sdp.Person(records=3), sdp.Person(cells=2), sdp.Person(shares=True)], ids=str)
@pytest.mark.parametrize("codes", [False, True])
def test_what_is_kept_of_persons_is_the_same(person, codes, tmp_path):
    place = {"code": "zone"} if codes else {"x": "lon", "y": "lat"}
    path = write(tmp_path / "events.parquet")
    rows = read_rows(path, BY_ZONE, **place, time="when", kind="what", person="who")
    assert np.array_equal(counted(rows, BY_ZONE, person), in_memory(BY_ZONE, person=person, codes=codes))
    with pytest.raises(PointsError, match="what one person contributes is not bounded"):
        as_rows(rows, BY_ZONE)


@pytest.mark.parametrize("name", ["events.csv", "plain.parquet"])
def test_streams_and_tables_are_kept(name, tmp_path):
    path = write(tmp_path / name)
    suffix = name.split(".")[1]
    rows = read_rows(io.BytesIO(path.read_bytes()), FRAME, **COLUMNS, file_format=suffix)
    assert np.array_equal(counted(rows), in_memory())
    assert np.array_equal(counted(rows), in_memory())  # again: a stream cannot be read twice
    coded = {"code": "zone", "time": "when", "kind": "what"}
    rows = read_rows(io.BytesIO(path.read_bytes()), BY_ZONE, **coded, file_format=suffix)
    assert np.array_equal(counted(rows, BY_ZONE), in_memory(BY_ZONE, codes=True))
    arrow = pa.Table.from_pandas(TABLE)
    assert np.array_equal(counted(read_rows(arrow, FRAME, **COLUMNS)), in_memory())
    assert np.array_equal(counted(read_rows(arrow, BY_ZONE, **coded), BY_ZONE), in_memory(BY_ZONE, codes=True))


def test_files_whose_columns_have_other_types_count_together(tmp_path):
    local = TABLE.assign(when=TABLE["when"].dt.tz_localize("Europe/Vienna").dt.tz_convert("UTC"))
    as_text = TABLE.assign(when=TABLE["when"].astype(str), what=TABLE["what"].astype("category"))
    paths = [write(tmp_path / f"{i}.parquet", each) for i, each in enumerate((TABLE, local, as_text))]
    paths.append(write(tmp_path / "3.csv"))
    assert np.array_equal(counted(read_rows(paths, FRAME, **COLUMNS)), 4 * in_memory())


def test_columns_are_called_like_their_axes_unless_named(tmp_path):
    path = write(tmp_path / "a.csv", TABLE.rename(columns={"when": "time"}))
    assert np.array_equal(counted(read_rows(path, FRAME, x="lon", y="lat", kind="what")), in_memory())


def test_records_of_other_crs_are_moved(tmp_path):
    moved = geopandas.GeoSeries(geopandas.points_from_xy(TABLE["lon"], TABLE["lat"]), crs="EPSG:4326").to_crs(3857)
    path = write(tmp_path / "a.parquet", TABLE.assign(lon=moved.x, lat=moved.y))
    rows = read_rows(path, FRAME, **COLUMNS, crs="EPSG:3857", reproject=True)
    assert np.abs(counted(rows) - in_memory()).sum() <= 2  # the last bits of coordinates
    with pytest.raises(CRSMismatchError, match="reproject"):
        read_rows(path, FRAME, **COLUMNS, crs="EPSG:3857")


def test_many_batches_are_counted_and_not_kept(tmp_path):
    # Records of one size at two lengths: memory must not grow with their number, which a list of batches would.
    peaks = []
    for batches in (3, 12):
        records = pd.concat([table(BATCH // 4)] * 4 * batches, ignore_index=True)
        path = write(tmp_path / "many.parquet", records)
        rows = read_rows(path, FRAME, **COLUMNS)
        tracemalloc.start()
        counts = counted(rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert np.array_equal(counts, in_memory(records=table(BATCH // 4)) * 4 * batches)
    assert peaks[1] < 1.2 * peaks[0]


def test_zones_find_the_places_of_many_batches_together(tmp_path, monkeypatch):
    path = write(tmp_path / "many.parquet", pd.concat([TABLE] * 20))
    monkeypatch.setattr("spatialdp.records.zones.MANY", 900)
    monkeypatch.setattr("spatialdp.records.formats.arrow.BATCH", 400)
    rows = read_rows(path, BY_ZONE, **COLUMNS)
    assert np.array_equal(counted(rows, BY_ZONE), 20 * in_memory(BY_ZONE))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time": "nix"}, "no column 'nix'"),
        ({"kind": "who", "time": "lon"}, r"column 'lon' of .* is of type double; times must be"),
        ({"kind": "when"}, r"column 'when' of .* is of type timestamp.*; categories must be"),
        ({"sort": "what"}, "sort is no axis of the frame beside space; its axes are time, kind"),
        ({"time": 5}, "time is a int; give the name of a column"),
        ({"code": "zone"}, "records are codes or places"),
        ({"code": "zone", "x": None, "y": None}, "codes of zones, but the frame has a grid"),
        ({"y": None}, "only one of x and y"),
    ],
)
def test_structure_that_does_not_fit_is_refused(change, words, tmp_path):
    path = write(tmp_path / "a.parquet", TABLE.assign(lon=TABLE["lon"].astype(float)))
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)  # pandas' doubles may be anything
    with pytest.raises(PointsError, match=words):
        read_rows(path, FRAME, **COLUMNS | change)


def test_what_cannot_be_read_is_refused_in_words(tmp_path):
    with pytest.raises(PointsError, match=r"give the spatialdp\.Frame"):
        read_rows(tmp_path / "a.csv", DOMAIN)
    with pytest.raises(PointsError, match=r"give it to spatialdp\.Rows"):
        read_rows(TABLE, FRAME, **COLUMNS)
    points = geopandas.GeoDataFrame(TABLE, geometry=shapely.points(TABLE[["lon", "lat"]]), crs="EPSG:4326")
    points.to_file(tmp_path / "a.gpkg")
    with pytest.raises(PointsError, match=r"is a \.gpkg file; records with times and categories are read from"):
        read_rows(tmp_path / "a.gpkg", FRAME, time="when", kind="what")
    codes_alone = sdp.Frame(sdp.Zones.from_codes(["A1"], None, {"state": 1, "county": 2}))
    with pytest.raises(PointsError, match="name the column of their codes"):
        read_rows(write(tmp_path / "a.csv"), codes_alone, x="lon", y="lat")


def test_rows_fit_the_frames_that_have_their_axes(tmp_path):
    path = write(tmp_path / "a.csv")
    rows = read_rows(path, FRAME, **COLUMNS)
    finer = sdp.Frame(DOMAIN.grid((8, 2)), time=HOURS, kind=KINDS)
    assert counted(rows, finer).sum() == in_memory().sum()
    with pytest.raises(PointsError, match="read for a frame with the axes time, kind, and are now used with one with"):
        as_rows(rows, sdp.Frame(DOMAIN.grid((4, 2)), time=HOURS))
    with pytest.raises(PointsError, match="read them again with read_points for the domain"):
        as_rows(rows, sdp.Frame(sdp.Domain((0, 0, 5, 2), crs="EPSG:4326").grid((4, 2)), time=HOURS, kind=KINDS))


def test_files_that_change_are_refused(tmp_path):
    path = write(tmp_path / "a.csv")
    rows = read_rows(path, FRAME, **COLUMNS)
    write(path, TABLE[:5])
    with pytest.raises(PointsError, match="was changed"):
        counted(rows)


def test_damage_found_while_counting_brings_no_record_along(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('lon,lat,when,what\n0.73519284,1,2024-01-01,assault\n1,1,2024-01-01,"open\n')
    rows = read_rows(path, FRAME, **COLUMNS)
    with pytest.raises(PointsError, match="truncated, damaged") as caught:
        counted(rows)
    assert caught.value.__context__ is None
    frames = [entry.frame.f_locals for entry in caught.traceback if "spatialdp/records" in str(entry.path)]
    assert "0.735" not in repr(frames)


def test_rows_of_files_show_nothing(tmp_path):
    assert (
        repr(read_rows(write(tmp_path / "a.csv"), FRAME, **COLUMNS))
        == "Rows(<private>, time=<private>, kind=<private>)"
    )
