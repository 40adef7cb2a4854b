"""CSV and TSV: the header is all structure; rows of any width, with any cells, change nothing for others."""

from __future__ import annotations

import gzip
import io

import pytest

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.counting import count_cells
from tests.helpers.person_files import persons_in

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
    "header",
    [
        "lon,lat",
        "\ufefflon,lat",
        '\ufeff"lon","lat"',
        '"lon","lat"',
        "\n\nlon,lat",
        "\r\n\r\nlon,lat",
        'lon,lat,"two\nlines"',
        'lon,lat,"two\rlines","a ""quote"", and\r\n"',
        'lon,lat,5" pipe',
        'lon,lat,"5"" pipe"',
        "lat,lon",
        "lon,lat,,",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
def test_headers_in_many_shapes(tmp_path, header, end):
    path = tmp_path / "a.csv"
    path.write_bytes(f"{header}{end}0.5,0.25{end}0.25,0.5{end}".encode())
    assert count(path, **COLUMNS) == 2
    path.write_bytes(f"{header}{end}".encode())
    assert count(path, **COLUMNS) == 0
    path.write_bytes(header.encode())
    assert count(path, **COLUMNS) == 0


def test_quotes_mean_nothing_in_tsv(tmp_path):
    """Its writers do not quote, so a quote at the start of a cell must not swallow the rows behind it."""
    path = tmp_path / "a.tsv"
    rows = ["a\t0.5\t0.5", '"b\t0.5\t0.5', 'c"\t0.5\t0.5', '"d"\t"0.5"\t"0.5"', 'e\t"0.5\t0.5', 'f\t""0.5""\t0.5']
    for kept in range(len(rows) + 1):
        path.write_text("\n".join(['name\t"lon"\tlat', *rows[:kept]]))
        assert count(path, **COLUMNS) == min(kept, 4)
    path.write_text('place\n"POINT (0.5 0.5)"\nPOINT (0.5 0.5)\n"POINT (0.5 0.5)\n')
    assert count(path, geometry="place") == 2
    path.write_text('5" pipe\t"lon\tlat\n1\t0.5\t0.5\n')
    assert count(path, x='"lon', y="lat") == 1


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


# --- persons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_persons_are_text_byte_by_byte(name, tmp_path):
    persons = [
        "ann",
        "5",
        "05",
        " 5",
        "",
        "5.0",
        "-7.00",
        "0.0",
        "-0.0",
        "5.5",
        "1e3",
        "5.",
        "é",
        "NA",
        "null",
        "9007199254740993.0",
    ]
    expected = [
        "ann",
        "5",
        "05",
        " 5",
        None,
        "5",
        "-7",
        "0",
        "0",
        "5.5",
        "1e3",
        "5.",
        "é",
        "NA",
        "null",
        "9007199254740993.0",
    ]
    separator = "\t" if "tsv" in name else ","
    content = "".join(
        separator.join(row) + "\n" for row in [("lon", "lat", "who"), *(("1", "2", each) for each in persons)]
    )
    (tmp_path / name).write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
    assert persons_in(tmp_path / name, **COLUMNS) == expected


def test_odd_cells_of_persons_change_nothing_for_others():
    rows = [
        b"1,2,ann",
        b"1,2",
        b"1,2,\xff",
        b'1,2,"a ""b"", c"',
        b"1,2,bob,more",
        b"1,2,\xef\xbf\xbd",
        b'1,2,""',
        b"1,2,ann",
    ]
    content = b"lon,lat,who\n" + b"\n".join(rows)
    expected = ["ann", None, None, 'a "b", c', "bob", None, None, "ann"]
    assert persons_in(io.BytesIO(content), file_format="csv", **COLUMNS) == expected
    wkt = b"who,place\nann,POINT (1 2)\n,POINT (1 2)\n"
    assert persons_in(io.BytesIO(wkt), file_format="csv", geometry="place") == ["ann", None]


def test_the_header_must_have_the_column_of_persons_once():
    for header, told in ((b"lon,lat,user", "no column 'who'"), (b"lon,lat,who,who", "more than one column 'who'")):
        with pytest.raises(PointsError, match=told):
            sdp.read_points(io.BytesIO(header + b"\n"), DOMAIN, file_format="csv", person="who", **COLUMNS)
