"""CSV and TSV: the header is all structure; rows of any width, with any cells, change nothing for others."""

from __future__ import annotations

import gzip
import io

import pytest

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.counting import count_cells

DOMAIN = sdp.Domain((0, 0, 1, 1))
COLUMNS = {"x": "lon", "y": "lat"}


def count(source, **options):
    return count_cells(sdp.read_points(source, DOMAIN, **options), DOMAIN.grid((1, 1))).sum()


def test_tabs_and_compression_follow_the_suffix(tmp_path):
    for name, content in {
        "a.csv": b"lon,lat\n0.5,0.5\n",
        "a.tsv": b"lon\tlat\n0.5\t0.5\n",
        "a.csv.gz": gzip.compress(b"lon,lat\n0.5,0.5\n"),
        "A.TSV.GZ": gzip.compress(b"lon\tlat\n0.5\t0.5\n"),
    }.items():
        (tmp_path / name).write_bytes(content)
        assert count(tmp_path / name, **COLUMNS) == 1
        assert count(io.BytesIO(content), file_format=name.lower().removeprefix("a."), **COLUMNS) == 1


def test_points_in_wkt_are_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,place\n1,POINT (0.5 0.5)\n2,"POINT Z (0.25 0.25 7)"\n3,"POLYGON ((0 0, 1 0, 1 1, 0 0))"\n4,\n')
    assert count(path, geometry="place") == 2
    with pytest.raises(PointsError, match="no column 'geom'"):
        count(path, geometry="geom")
    with pytest.raises(PointsError, match="x, y and geometry were given"):
        count(path, geometry="place", x="id", y="id")


@pytest.mark.parametrize(
    "header", ["lon,lat", "\ufefflon,lat", '"lon","lat"', "\n\nlon,lat", 'lon,lat,"two\nlines"', "lat,lon", "lon,lat,,"]
)
def test_headers_in_many_shapes(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n0.5,0.25\n0.25,0.5\r\n")
    assert count(path, **COLUMNS) == 2


@pytest.mark.parametrize(
    "row", ["0.5", "0.5,0.5,a,b,c,d", "", ",", "x" * 10**6, "0.5," * 10**5, '"0.5\n","0.5"', '5"10,0.5']
)
def test_rows_of_any_width_change_nothing_for_others(tmp_path, row):
    path = tmp_path / "a.csv"
    for rows in (["0.5,0.5,n", row, "0.25,0.25,n"], [row, "0.5,0.5,n", "0.25,0.25"], ["0.5,0.5", "0.25,0.25", row]):
        path.write_text("\n".join(["lon,lat,note", *rows]))
        assert count(path, **COLUMNS) - 2 in (0, 1)
    path.write_text(f"lon,lat,note\n{row}\n")
    assert count(path, **COLUMNS) in (0, 1)


def test_a_quote_that_is_never_closed_leaves_no_records(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('lon,"lat\n0.5,0.5\n')
    with pytest.raises(PointsError, match="truncated, damaged"):
        count(path, **COLUMNS)
    path.write_bytes(gzip.compress(b"lon,lat\n0.5,0.5\n" * 1000)[:-20])
    with pytest.raises(PointsError, match="truncated, damaged"):
        count(io.BytesIO(path.read_bytes()), file_format="csv.gz", **COLUMNS)
    with pytest.raises(PointsError, match="empty file, without even a header"):
        count(io.BytesIO(), file_format="csv", **COLUMNS)


def test_tabs_are_named_where_they_are_due(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("lon,lat\n0.5,0.5\n")
    with pytest.raises(PointsError, match=r"no column 'lon'.*separated by tabs"):
        count(path, **COLUMNS)
