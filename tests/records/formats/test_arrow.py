"""Parquet and Arrow: columns and geometries by their declared types, and nothing else about them."""

from __future__ import annotations

import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.counting import count_cells
from spatialdp.records.formats.arrow import points_of_bytes

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
