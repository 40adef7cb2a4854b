"""Parquet and Arrow: columns and geometries by their declared types, and nothing else about them."""

from __future__ import annotations

import io
import json
import random
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.counting import count_cells
from spatialdp.records.formats.arrow import points_of_bytes
from spatialdp.records.points import lattice_points
from tests.helpers.person_files import persons_in

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
POINT = shapely.to_wkb(shapely.Point(0.5, 0.5))
WKB = [POINT, shapely.to_wkb(shapely.box(0, 0, 1, 1)), b"", None]
WKT = ["POINT (0.5 0.5)", "POLYGON EMPTY", None, "nonsense"]


def count(source, **options):
    return count_cells(sdp.read_points(source, DOMAIN, **options), DOMAIN.grid((1, 1))).sum()


@pytest.mark.parametrize(
    "column",
    [
        pa.array(WKB, pa.binary()),
        pa.array(WKB, pa.large_binary()),
        pa.array([POINT, bytes(21), None], pa.binary(21)),
        pa.array(WKB, pa.binary_view()),
        pa.array(WKT, pa.string()),
        pa.array(WKT, pa.large_string()),
        pa.array(WKT, pa.string_view()),
        pa.array([{"x": 0.5, "y": 0.5}, {"x": None, "y": 0.5}, None]),
        pa.array([[0.5, 0.5], None], pa.list_(pa.float32(), 2)),
    ],
    ids=lambda column: str(column.type),
)
def test_named_columns_of_points_are_read_by_their_type(column, tmp_path):
    table = pa.table({"id": range(len(column)), "place": column})
    path = tmp_path / "a.parquet"
    assert count(table, geometry="place") == 1
    assert count(table.to_reader(max_chunksize=1), geometry="place") == 1
    try:
        pq.write_table(table, path)
    except pa.ArrowNotImplementedError:
        return  # views cannot be written by all versions
    assert count(path, geometry="place") == 1
    assert count(io.BytesIO(path.read_bytes()), geometry="place", file_format="parquet") == 1


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.binary_view()])
def test_text_and_bytes_are_told_apart_record_by_record(kind):
    """pandas writes a column of text as bytes if one record is of bytes."""
    values = [b"POINT (0.5 0.5)", POINT, b"\0", b"", None, b"x", b" MULTIPOINT ((0.5 0.5))", b"\1POINT (0.5 0.5)"]
    column = pa.array(values, pa.binary())
    if "string" in str(kind):
        column = pa.Array.from_buffers(pa.string(), len(values), column.buffers())
    assert count(pa.table({"place": column.cast(kind)}), geometry="place") == 3
    assert count(pa.table({"place": column.cast(kind).slice(1)}), geometry="place") == 2


def test_one_record_of_bytes_does_not_hide_the_text(tmp_path):
    for odd, kind in (("POINT (7 7)", "string"), (b"\0", "binary"), (b"POINT (7 7)", "binary"), (None, "string")):
        pd.DataFrame({"place": ["POINT (0.5 0.5)"] * 5 + [odd]}).to_parquet(tmp_path / "a.parquet")
        assert kind in str(pq.read_schema(tmp_path / "a.parquet").field("place").type)
        assert count(tmp_path / "a.parquet", geometry="place") == 5


@pytest.mark.parametrize("point", [pa.struct([("x", pa.float64()), ("y", pa.float64())]), pa.list_(pa.float64(), 2)])
@pytest.mark.parametrize("listed", [pa.list_, pa.large_list])
def test_lists_of_one_point_are_that_point(point, listed):
    place = [0.5, 0.5] if pa.types.is_fixed_size_list(point) else {"x": 0.5, "y": 0.5}
    column = pa.array([[place], [place, place], [], None, [None], [place]], listed(point))
    assert count(pa.table({"place": column}), geometry="place") == 2
    assert count(pa.table({"place": column.slice(1)}), geometry="place") == 1
    assert count(pa.table({"place": pa.array([[[place]]], listed(listed(point)))}), geometry="place") == 0


@pytest.mark.parametrize(
    "kind", [pa.float64(), pa.list_(pa.float64()), pa.struct([("a", pa.float64())]), pa.bool_()], ids=str
)
def test_columns_of_other_types_are_refused(kind):
    with pytest.raises(PointsError, match=r"column 'place' of the Arrow table is of type .*WKB"):
        count(pa.table({"place": pa.nulls(3, kind)}), geometry="place")


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.bool_(), pa.list_(pa.float64())], ids=str)
def test_coordinates_of_other_types_are_refused(kind):
    with pytest.raises(PointsError, match=r"column 'lat' of the Arrow table is of type .*numbers"):
        count(pa.table({"lon": [0.5], "lat": pa.nulls(1, kind)}), x="lon", y="lat")


def test_columns_are_named_or_declared():
    table = pa.table({"id": [1], "lon": [0.5], "lat": [0.5]})
    assert count(table, x="lon", y="lat") == 1
    with pytest.raises(PointsError, match=r"declares no geometry .*two columns of numbers.*read_points\(table"):
        count(table)
    assert count(table.drop_columns(["id"])) == 1
    with pytest.raises(PointsError, match="lat"):
        count(table.select(["lat", "lon"]))  # which would be taken for x and y
    with pytest.raises(PointsError, match="no column 'lng'; its columns are id, lon, lat"):
        count(table, x="lng", y="lat")
    with pytest.raises(PointsError, match="leave layer out"):
        count(table, x="lon", y="lat", layer="homes")


def test_geometry_columns_that_geoparquet_describes_bring_their_crs(tmp_path):
    columns = {"g": {"encoding": "WKB"}, "h": {"encoding": "WKB", "crs": None}}
    geo = {"version": "1.0.0", "primary_column": "g", "columns": columns}
    table = pa.table({"g": [POINT], "h": [POINT], "i": [POINT]}).replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, tmp_path / "a.parquet")
    assert count(tmp_path / "a.parquet") == count(tmp_path / "a.parquet", geometry="i") == 1
    with pytest.raises(CRSMismatchError, match="states no CRS"):
        count(tmp_path / "a.parquet", geometry="h")
    assert count(tmp_path / "a.parquet", geometry="h", crs="EPSG:4326") == 1


@pytest.mark.parametrize("geo", [b"nonsense", b"[]", b'{"columns": {}}', b'{"primary_column": "g", "columns": []}'])
def test_broken_metadata_declare_nothing(geo, tmp_path):
    pq.write_table(pa.table({"g": [POINT]}).replace_schema_metadata({b"geo": geo}), tmp_path / "a.parquet")
    with pytest.raises(PointsError, match="declares no geometry column"):
        count(tmp_path / "a.parquet")
    assert count(tmp_path / "a.parquet", geometry="g") == 1


def test_slices_of_columns_are_read_at_their_place():
    column = pa.array([b"x", POINT, None, POINT], pa.binary())
    assert [values.tolist() for values in points_of_bytes(column.slice(1, 1))] == [[0.5], [0.5]]
    assert points_of_bytes(column.slice(4))[0].size == 0
    assert points_of_bytes(pa.nulls(2, pa.binary()))[0].size == 2


@pytest.mark.parametrize(
    "kind", [pa.decimal128(20, 12), pa.decimal128(38, 38), pa.decimal256(60, 30), pa.decimal32(9, 4)], ids=str
)
def test_decimals_are_the_nearest_doubles(kind, tmp_path):
    """pyarrow's own conversion is off by one unit in the last place now and then; so would be the lattice square."""
    chance = random.Random(str(kind))
    with localcontext(prec=80):
        numbers = [Decimal(chance.randrange(10**kind.precision)).scaleb(-kind.scale) for _ in range(5000)]
    column = pa.array([*numbers, None], kind)
    pq.write_table(pa.table({"x": column, "y": column}), tmp_path / "a.parquet")
    top = float(10 ** (kind.precision - kind.scale))
    domain = sdp.Domain((0, 0, top, top))
    exact = [float(number) for number in numbers]
    one, two = (
        np.stack(lattice_points(points, domain))
        for points in (sdp.read_points(tmp_path / "a.parquet", domain, x="x", y="y"), sdp.Points(exact, exact))
    )
    assert np.array_equal(one, two)
    points = pa.array([{"x": number, "y": number} for number in numbers], pa.struct([("x", kind), ("y", kind)]))
    found = sdp.read_points(pa.table({"g": points}), domain, geometry="g")
    assert np.array_equal(np.stack(lattice_points(found, domain)), two)


# --- persons ---------------------------------------------------------------------------------------

PERSONS = {
    "int8": (pa.array([5, None, -7], pa.int8()), ["5", None, "-7"]),
    "uint64": (pa.array([2**64 - 1, None], pa.uint64()), [str(2**64 - 1), None]),
    "decimal": (pa.array([Decimal(5), None], pa.decimal128(20, 0)), ["5", None]),
    "decimals, one with a fraction": (
        pa.array([Decimal(2**53 + 1), Decimal("0.5"), Decimal("5.0"), Decimal("-1E-9"), Decimal(0)]),
        [str(2**53 + 1), None, "5", None, "0"],
    ),
    "null": (pa.nulls(2), [None, None]),
    "text": (pa.array(["ann", None, "", "5", "5.0", " 5"]), ["ann", None, "", "5", "5.0", " 5"]),
    "view": (pa.array(["ann", None], pa.string_view()), ["ann", None]),
    "bytes": (pa.array([b"ann", None, b"\xff", "é".encode()]), ["ann", None, None, "é"]),
    "dictionary": (pa.array(["ann", None, "bob", "ann"]).dictionary_encode(), ["ann", None, "bob", "ann"]),
    "numbers in a dictionary": (pa.array([5, None, 7]).dictionary_encode(), ["5", None, "7"]),
    "uuid": (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(range(16)), None], pa.binary(16))),
        ["00010203-0405-0607-0809-0a0b0c0d0e0f", None],
    ),
}


@pytest.mark.parametrize("kind", PERSONS)
def test_persons_are_read_by_their_type(kind, tmp_path):
    column, expected = PERSONS[kind]
    table = pa.table({"lon": [0.5] * len(column), "lat": [0.5] * len(column), "who": column})
    assert persons_in(table, x="lon", y="lat") == expected
    assert persons_in(table) == expected  # the two other columns are the coordinates
    assert persons_in(table.to_reader(max_chunksize=1), x="lon", y="lat") == expected
    pq.write_table(table, tmp_path / "a.parquet")
    assert persons_in(tmp_path / "a.parquet", x="lon", y="lat") == expected


def test_text_that_is_not_utf_8_is_no_person_even_in_a_dictionary(tmp_path):
    raw = pa.array([b"ann", b"\xff", "é".encode(), b"\xed\xa0\x80"])
    text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    for column in (text, text.dictionary_encode(), raw.dictionary_encode()):
        table = pa.table({"lon": [0.5] * 4, "lat": [0.5] * 4, "who": column})
        assert persons_in(table, x="lon", y="lat") == ["ann", None, "é", None]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0.5]),
        pa.array([True]),
        pa.array([[1]]),
        pa.array([b"x" * 16], pa.binary(16)),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_that_are_no_identifiers_are_refused(column, tmp_path):
    table = pa.table({"lon": [0.5], "lat": [0.5], "who": column})
    pq.write_table(table, tmp_path / "a.parquet")
    for source in (table, tmp_path / "a.parquet"):
        with pytest.raises(PointsError, match=r"column 'who' of .* is of type .*; persons must be whole numbers, text"):
            sdp.read_points(source, DOMAIN, x="lon", y="lat", person="who")


def test_doubles_that_pandas_has_made_of_whole_numbers_are_read(tmp_path):
    """One record without a person makes pandas write the numbers of all others as doubles."""
    frame = pd.DataFrame({"lon": 0.5, "lat": 0.5, "who": [5, None, 7, 0.5, -1, 2.0**53, float("inf")]})
    frame.to_parquet(tmp_path / "a.parquet")
    expected = ["5", None, "7", None, "-1", None, None]
    assert persons_in(tmp_path / "a.parquet", x="lon", y="lat") == expected
    assert persons_in(pa.Table.from_pandas(frame), x="lon", y="lat") == expected
    with pytest.raises(PointsError, match="is of type double"):  # no gathered type: whoever wrote this meant doubles
        sdp.read_points(pa.table(dict(frame)).replace_schema_metadata(None), DOMAIN, x="lon", y="lat", person="who")


def test_a_column_of_persons_must_be_there_once():
    table = pa.table({"lon": [0.5], "lat": [0.5], "who": ["ann"]})
    with pytest.raises(PointsError, match="has no column 'user'; its columns are lon, lat, who"):
        sdp.read_points(table, DOMAIN, x="lon", y="lat", person="user")
    twice = pa.table([pa.array([0.5])] * 2 + [pa.array(["ann"])] * 2, names=["lon", "lat", "who", "who"])
    with pytest.raises(PointsError, match="more than one column 'who'"):
        sdp.read_points(twice, DOMAIN, x="lon", y="lat", person="who")
    same = pa.table({"lon": [0, 1], "lat": [0, 1]})
    assert persons_in(same, x="lon", y="lat", person="lon") == ["0", "1"]
