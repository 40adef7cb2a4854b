"""Shapefile: points by the index, numbers in the table, and headers that say what the file is."""

from __future__ import annotations

import io
import struct

import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.counting import count_cells
from tests.attacks.records import shape, write_shapefile
from tests.helpers.person_files import persons_in
from tests.helpers.point_files import place_in

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
COLUMNS = {"x": "lon", "y": "lat"}


def count(path, domain=DOMAIN, **options):
    return count_cells(sdp.read_points(path, domain, **options), domain.grid((1, 1))).sum()


@pytest.fixture
def path(tmp_path):
    write_shapefile(tmp_path / "a.shp", [shape(0.5, 0.5)] * 3)
    return tmp_path / "a.shp"


def test_our_files_are_those_that_gdal_reads(path):
    assert geopandas.read_file(path).geometry.tolist() == [shapely.Point(0.5, 0.5)] * 3


@pytest.mark.parametrize("point", [shapely.Point(0.5, 0.5, 1), shapely.Point(0.5, 0.5)], ids=str)
def test_points_with_height_or_measure_are_points(tmp_path, point):
    frame = geopandas.GeoDataFrame({"a": [1, 2, 3]}, geometry=[point, None, point], crs="EPSG:4326")
    frame.to_file(tmp_path / "b.shp")
    assert count(tmp_path / "b.shp") == 2


def test_points_with_a_measure_are_points(path):
    write_shapefile(path, [(struct.pack("<iddd", 21, 0.5, 0.5, 1), b" " * 41), shape(0.5, 0.5)])
    assert count(path) == 2


@pytest.mark.parametrize(("kind", "more"), [(8, 0), (18, 24), (18, 48), (28, 24)])
def test_a_multi_point_of_one_part_is_that_part(path, kind, more):
    def several(parts, content):
        return struct.pack("<i4di", kind, *[0.0] * 4, parts) + content + bytes(more), b" " * 41

    place = struct.pack("<2d", 0.5, 0.5)
    write_shapefile(path, [several(1, place), shape(0.5, 0.5)])
    assert count(path) == 2
    for parts, content in ((2, place * 2), (0, b""), (0, place), (-1, place)):
        write_shapefile(path, [several(parts, content), shape(0.5, 0.5)])
        assert count(path) == 1
    write_shapefile(path, [shape(0.5, 0.5), (several(1, b"")[0][:40], b" " * 41)])
    assert count(path) == 1


@pytest.mark.parametrize("single", [shapely.MultiPoint([(0.5, 0.5)]), shapely.MultiPoint([(0.5, 0.5, 1)])], ids=str)
def test_files_of_multi_points_are_read(tmp_path, single):
    points = [single, shapely.MultiPoint([(0.5, 0.5), (0.6, 0.6)]), None]
    geopandas.GeoDataFrame({"a": [1, 2, 3]}, geometry=points, crs="EPSG:4326").to_file(tmp_path / "b.shp")
    assert count(tmp_path / "b.shp") == 1


def test_deleted_rows_count_nowhere(path):
    table = path.with_suffix(".dbf")
    content = bytearray(table.read_bytes())
    content[struct.unpack_from("<H", content, 8)[0]] = ord("*")
    table.write_bytes(content)
    assert count(path) == count(path, **COLUMNS) == 2


@pytest.mark.parametrize(
    "content",
    [b"", bytes(4), struct.pack("<i", 1), struct.pack("<idd", 5, 0.5, 0.5), struct.pack("<idd", 1, np.nan, 0.5)],
)
def test_shapes_that_are_no_points_count_nowhere(tmp_path, content):
    rows = [shape(0.5, 0.5), (content, b" " * 41), shape(0.5, 0.5)]
    write_shapefile(tmp_path / "a.shp", rows)
    assert count(tmp_path / "a.shp") == count(tmp_path / "a.shp", **COLUMNS) == 2
    write_shapefile(tmp_path / "a.shp", rows[1:2])
    assert count(tmp_path / "a.shp") == 0


def test_an_index_entry_that_leads_out_of_the_file_counts_nowhere(path):
    index = path.with_suffix(".shx")
    content = index.read_bytes()
    for place in (-1, 0, 2**31 - 1, 100):
        index.write_bytes(content[:100] + struct.pack(">ii", place, 10) + content[108:])
        assert count(path) == 2


def test_files_beside_it_may_be_missing_if_they_are_not_needed(path):
    path.with_suffix(".dbf").rename(path.with_suffix(".DBF"))
    assert count(path, **COLUMNS) == 3
    path.with_suffix(".DBF").unlink()
    assert count(path) == 3
    with pytest.raises(PointsError, match=r"has no \.dbf beside it"):
        count(path, **COLUMNS)
    path.with_suffix(".prj").unlink()
    with pytest.raises(CRSMismatchError, match="states no CRS"):
        count(path)
    path.with_suffix(".shx").unlink()
    with pytest.raises(PointsError, match=r"has no \.shx beside it"):
        count(path)


def test_structure_is_checked(path, tmp_path):
    with pytest.raises(PointsError, match="no column 'lng'; its columns are lon, lat"):
        count(path, x="lng", y="lat")
    with pytest.raises(PointsError, match="leave geometry out"):
        count(path, geometry="lon")
    with pytest.raises(PointsError, match="several files and cannot be read from a stream"):
        sdp.read_points(io.BytesIO(path.read_bytes()), DOMAIN, file_format="shp")
    table = bytearray(path.with_suffix(".dbf").read_bytes())
    table[32 + 11] = ord("D")  # the type of the first column
    path.with_suffix(".dbf").write_bytes(table)
    with pytest.raises(PointsError, match=r"column 'lon' .* is of type 'D'; coordinates must be numbers"):
        count(path, x="lon", y="lat")
    for suffix in (".shp", ".shx"):
        write_shapefile(path, [shape(0.5, 0.5)] * 3)
        whole = path.with_suffix(suffix).read_bytes()
        for cut in (whole[:50], whole[:-3], b"x" + whole[1:] if suffix == ".shp" else whole[:99]):
            path.with_suffix(suffix).write_bytes(cut)
            with pytest.raises(PointsError, match="truncated, damaged"):
                count(path)
    write_shapefile(path, [shape(0.5, 0.5)] * 3)
    path.with_suffix(".dbf").write_bytes(path.with_suffix(".dbf").read_bytes()[:100])
    assert count(path) == 3
    with pytest.raises(PointsError, match="truncated, damaged"):
        count(path, **COLUMNS)


@pytest.mark.parametrize(
    "crs", ["EPSG:4326", "EPSG:2154", "EPSG:3857", "EPSG:27700", "EPSG:2263", "ESRI:102008", "EPSG:32633"]
)
def test_the_crs_of_a_prj_is_recognised(tmp_path, crs):
    point, domain = place_in(crs)
    geopandas.GeoDataFrame({"a": [1]}, geometry=[point], crs=crs).to_file(tmp_path / "b.shp")
    assert count(tmp_path / "b.shp", domain) == 1
    with pytest.raises(CRSMismatchError):
        count(tmp_path / "b.shp", place_in("EPSG:31370")[1])


# --- persons ---------------------------------------------------------------------------------------


def with_persons(path, kind, decimals, cells):
    """A Shapefile of points whose .dbf has one field, of ten bytes, with these contents."""
    write_shapefile(path, [shape(0.5, 0.5)] * len(cells))
    field = b"who".ljust(11, b"\0") + kind + bytes(4) + bytes([10, decimals]) + bytes(14)
    header = struct.pack("<4BIHH", 3, 120, 1, 1, len(cells), 65, 11) + bytes(20) + field + b"\r"
    rows = b"".join(mark + cell[:10] for mark, cell in cells)
    path.with_suffix(".dbf").write_bytes(header + rows + b"\x1a")
    return path


def test_persons_in_fields_of_text(tmp_path):
    cells = [
        (b" ", cell)
        for cell in (b"ann       ", b"  5       ", b"05\0\0\0\0\0\0\0\0", b" " * 10, b"\xff" * 10, b"5.0       ")
    ]
    expected = ["ann", "  5", "05", None, None, "5.0"]
    assert persons_in(with_persons(tmp_path / "a.shp", b"C", 0, cells)) == expected


@pytest.mark.parametrize(("kind", "decimals"), [(b"N", 0), (b"N", 5), (b"F", 5)])
def test_persons_in_fields_of_numbers(tmp_path, kind, decimals):
    cells = [
        (b" ", cell)
        for cell in (b"         5", b"-7        ", b"   5.00000", b"   0.50000", b"*" * 10, b" " * 10, b"0000000012")
    ]
    expected = ["5", "-7", "5", None, None, None, "12"]
    assert persons_in(with_persons(tmp_path / "a.shp", kind, decimals, cells)) == expected


def test_deleted_records_and_records_without_a_row_have_no_place_or_no_person(tmp_path):
    path = with_persons(tmp_path / "a.shp", b"C", 0, [(b" ", b"ann       "), (b"*", b"bob       ")])
    write_rows = path.with_suffix(".dbf").read_bytes()
    write_shapefile(path, [shape(0.5, 0.5)] * 4)
    path.with_suffix(".dbf").write_bytes(write_rows)
    assert persons_in(path) == ["ann", "bob", None, None]
    points = sdp.read_points(path, DOMAIN, person="who")
    assert points._counts(DOMAIN.grid((1, 1)), sdp.Person(cells=1)).sum() == 1


@pytest.mark.parametrize("kind", [b"D", b"L", b"I", b"B"])
def test_fields_that_are_no_identifiers_are_refused(tmp_path, kind):
    path = with_persons(tmp_path / "a.shp", kind, 0, [(b" ", bytes(10))])
    with pytest.raises(PointsError, match=r"column 'who' of .* is of type .*; persons must be whole numbers or text"):
        sdp.read_points(path, DOMAIN, person="who")


def test_the_table_must_be_there_for_persons(path):
    with pytest.raises(PointsError, match="no column 'who'; its columns are lon, lat"):
        sdp.read_points(path, DOMAIN, person="who")
    path.with_suffix(".dbf").write_bytes(b"x")
    with pytest.raises(PointsError, match="truncated, damaged"):
        sdp.read_points(path, DOMAIN, person="who")
    path.with_suffix(".dbf").unlink()
    with pytest.raises(
        PointsError, match=r"has no \.dbf beside it, which holds its columns; add it, or leave person out"
    ):
        sdp.read_points(path, DOMAIN, person="who")
