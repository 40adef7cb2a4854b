"""Hostile records for every format of points, made from a seed, and files that hold them among ordinary ones.

A `Form` writes a file of raw records, without any reader or writer of the package, and makes records that a reader
might stumble over. A raw record is as hostile as it can be while the file remains a file of its format that can be
divided into records: balanced brackets in JSON, closed quotes in CSV, lengths that agree in binary formats.
"""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
import struct
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

Chance = random.Random
Raw = Any

PLACES = [(0.1, 0.1), (0.6, 0.3), (0.6, 0.31), (0.9, 0.9), (0.25, 0.75), (2.0, 0.5), (0.5, 0.5)]


@dataclass(frozen=True)
class Form:
    """One way to hand over records: the name of its file, how it is written, and its ordinary and hostile records."""

    name: str
    write: Callable[[Path, Sequence[Raw]], None]
    good: Callable[[float, float], Raw]
    hostile: Callable[[Chance], Raw]
    options: dict[str, str] = field(default_factory=dict)


# --- what records are made of ----------------------------------------------------------------------

NUMBERS = [0.5, 0.0, -0.0, 1.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf"), 1e-300, 7.0]
MAGIC = [
    "gdal_streamed_alg",
    '{"type": "gdal_streamed_alg"',
    "<OGRVRTDataSource>",
    "SQLite format 3",
    "PAR1",
    "fgb\x03fgb",
    '"type":"Topology"',
    '"esriGeometryPoint"',
    '"stac_version"',
    '"conformsTo":["[ogc-json-fg-1-0.2:core]"]',
    "]}",
    "}}}}]]]]",
    '"features": [',
    "\\",
    "\\\\\\",
    '\\"',
    '"',
    '""',
    "NaN",
    "null",
    "0x1p3",
    "1_000",
    "½",
    "０.５",
    "\x00",
    "\x1a",
    "\x1b[31m",
    "\u202e",
    "#",
    "=1+1",
    "\ufeff",
]
NUMERALS = [
    "0.5",
    "1e400",
    "-1e309",
    "7" * 400,
    "-" + "7" * 5000,
    "1e-400",
    ".5",
    "5.",
    "+0.5",
    "00.5",
    "0,5",
    "inf",
    "nan",
]
NUMERALS += ["Infinity", "0.5e", "1e5e5", "--1", "0.5 0.5", "1/2", "True", "", " ", "0.5\u00a0", "0." + "0" * 400 + "1"]


def text(chance: Chance) -> str:
    kind = chance.randrange(5)
    if kind == 0:
        return chance.choice(MAGIC)
    if kind == 1:
        return chance.choice(NUMERALS)
    if kind == 2:
        return chance.choice("ax[{,:;") * chance.choice([1, 100, 70_000])
    if kind == 3:
        return "".join(chr(chance.choice([chance.randrange(32), chance.randrange(0x80, 0xD7FF)])) for _ in range(9))
    return "".join(chance.choice(MAGIC) for _ in range(5))


def raw_text(chance: Chance) -> bytes:
    """Text, now and then as bytes that are not UTF-8."""
    encoded = text(chance).encode()
    return (
        encoded if chance.random() < 0.8 else encoded + chance.choice([b"\xff\xfe", b"\xc3(", b"\xed\xa0\x80", b"\xf8"])
    )


# --- WKB and WKT -----------------------------------------------------------------------------------


def wkb(x: float, y: float) -> bytes:
    return struct.pack("<BIdd", 1, 1, x, y)


def hostile_wkb(chance: Chance) -> bytes | None:
    order = chance.choice([0, 1, 1, 1, 2, 255])
    sign = ">" if order == 0 else "<"
    kind = chance.choice([1, 1, 0, *range(2, 18), 99, 0x1FFFFFFF]) + chance.choice([0, 0, 0, 1000, 2000, 3000, 4000])
    kind |= chance.choice([0, 0, 0x80000000, 0x40000000, 0x20000000, 0xE0000000])
    head = struct.pack(f"{sign}BI", order, kind & 0xFFFFFFFF)
    body = b"".join(
        struct.pack(f"{sign}d", chance.choice(NUMBERS)) for _ in range(chance.choice([0, 1, 2, 2, 3, 4, 5]))
    )
    count = struct.pack(f"{sign}I", chance.choice([0, 1, 2, 4326, 2**31, 2**32 - 1]))
    geometries = [
        head + body,
        head + count + body,
        wkb(0.5, 0.5)[: chance.randrange(21)],
        wkb(0.5, 0.5) + chance.randbytes(chance.choice([1, 4, 8, 16, 100])),
        shapely.to_wkb(chance.choice(geometries_of_shapely())),
        shapely.to_wkb(shapely.set_srid(shapely.Point(0.5, 0.5, 1), 4326), include_srid=True, byte_order=order & 1),
        struct.pack("<BII", 1, 7, 1) * chance.choice([1, 100, 20_000]) + wkb(0.5, 0.5),
        struct.pack("<BII", 1, chance.choice([8, 9, 10, 11, 12]), 1) + struct.pack("<dd", 0.5, 0.5),
        b"POINT (0.5 0.5)",
        b"010100000000000000000000000000000000000000",
        chance.randbytes(chance.choice([0, 1, 5, 21, 25, 29, 37, 41, 200])),
        None,
    ]
    return chance.choice(geometries)


SINGLE = [shapely.MultiPoint([(0.5, 0.5)]), shapely.MultiPoint([(0.5, 0.5, 7)])]


def points_of_shapely() -> list[Any]:
    """What writers that know one type a layer put into a layer of points, and change its type for."""
    return [SINGLE[0], SINGLE[0], shapely.MultiPoint([(0.5, 0.5), (0.6, 0.6)]), shapely.Point(0.7, 0.7), None]


def geometries_of_shapely() -> list[Any]:
    square = shapely.box(0, 0, 1, 1)
    point = shapely.Point(0.5, 0.5)
    return [
        square,
        shapely.Point(),
        shapely.Point(0.5, 0.5, 9),
        shapely.Point(float("nan"), 0.5),
        shapely.Point(float("inf"), 0.5),
        shapely.LineString([(0, 0), (1, 1)]),
        shapely.MultiPoint([(0.5, 0.5), (0.6, 0.6)]),
        *SINGLE,
        shapely.MultiPolygon([square]),
        shapely.GeometryCollection([point, point]),
        shapely.GeometryCollection(),
        shapely.Polygon(),
        None,
    ]


def flat_geometries() -> list[Any]:
    """Geometries without a height, with which not all writers mix them."""
    return [geometry for geometry in geometries_of_shapely() if geometry is None or not geometry.has_z]


def hostile_wkt(chance: Chance) -> bytes:
    x, y = (chance.choice(NUMERALS) for _ in range(2))
    return chance.choice(
        [
            f"POINT ({x} {y})".encode(),
            f"POINT Z ({x} {y} {chance.choice(NUMERALS)})".encode(),
            f"SRID={chance.choice(NUMERALS)};POINT({x} {y})".encode(),
            b"point(0.5 0.5)",
            b"POINT EMPTY",
            b"POINT (0.5 0.5), POINT (0.6 0.6)",
            b"MULTIPOINT (0.5 0.5, 0.6 0.6)",
            b"MULTIPOINT (0.5 0.5)",
            b"MULTIPOINT Z ((0.5 0.5 7))",
            b"CIRCULARSTRING (0 0, 1 1, 2 0)",
            b"GEOMETRYCOLLECTION (" * chance.choice([1, 50, 5000]),
            b"POINT " + b"(" * 10_000,
            raw_text(chance),
        ]
    )


# --- GeoJSON ---------------------------------------------------------------------------------------


def write_geojson(path: Path, records: Sequence[bytes]) -> None:
    path.write_bytes(
        b'{"type": "FeatureCollection", "name": "homes", "features": [\n' + b",\n".join(records) + b"\n]}\n"
    )


def feature(x: float, y: float) -> bytes:
    return json.dumps(
        {"type": "Feature", "properties": {"a": 1}, "geometry": {"type": "Point", "coordinates": [x, y]}}
    ).encode()


def json_string(chance: Chance) -> bytes:
    """A string whose quotes and backslashes are escaped, and nothing else is, though it should be."""
    return b'"' + raw_text(chance).replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def json_value(chance: Chance, depth: int = 0) -> bytes:
    kind = chance.randrange(9)
    if kind < 3 or depth > 3:
        return chance.choice(
            [
                b"null",
                b"true",
                b"0.5",
                b"-0",
                b"NaN",
                b"Infinity",
                b"1e400",
                b"9" * 400,
                b"1.",
                b"01",
                b"[]",
                b"{}",
                b"undefined",
                json_string(chance),
            ]
        )
    if kind == 3:
        return b"[" * (deep := chance.choice([1, 40, 2000, 50_000])) + b"]" * deep
    if kind == 4:
        return b'{"a":' * (deep := chance.choice([1, 40, 2000, 50_000])) + b"1" + b"}" * deep
    if kind == 5:
        return b"[" + b", ".join(json_value(chance, depth + 1) for _ in range(chance.randrange(4))) + b"]"
    if kind == 6:
        return feature(0.5, 0.5)
    if kind == 7:
        return b'{"type": "FeatureCollection", "features": [' + b",".join([feature(0.5, 0.5)] * 3) + b"]}"
    return json_object([(json_key(chance), json_value(chance, depth + 1)) for _ in range(chance.randrange(5))])


def json_key(chance: Chance) -> bytes:
    names = [
        "type",
        "geometry",
        "coordinates",
        "properties",
        "features",
        "crs",
        "featureType",
        "coordRefSys",
        "place",
        "id",
    ]
    return chance.choice([*(f'"{name}"'.encode() for name in names), json_string(chance)])


def json_object(members: Sequence[tuple[bytes, bytes]]) -> bytes:
    return b"{" + b", ".join(key + b": " + value for key, value in members) + b"}"


def hostile_json(chance: Chance) -> bytes:
    if chance.random() < 0.25:
        return json_value(chance)
    types = [b'"Point"'] * 4 + [
        b'"point"',
        b'"Polygon"',
        b'"MultiPoint"',
        b'"CircularString"',
        b'"GeometryCollection"',
        b"17",
    ]
    numbers = [
        b"0.5",
        b"0.5",
        b'"0.5"',
        b"1e400",
        b"-" + b"7" * 5000,
        b"null",
        b"NaN",
        b"-Infinity",
        b"[0.5]",
        b"{}",
        b"01",
        b"0x1",
    ]
    listed = b"[" + b", ".join(chance.choice(numbers) for _ in range(chance.choice([0, 1, 2, 2, 2, 3, 4, 1000]))) + b"]"
    coordinates = chance.choice(
        [listed, listed, listed, b"[[0.5, 0.5]]", b'{"x": 0.5}', b'"0.5, 0.5"', b"null", json_value(chance)]
    )
    inner = [(b'"type"', chance.choice(types)), (b'"coordinates"', coordinates)]
    inner += [(json_key(chance), json_value(chance)) for _ in range(chance.choice([0, 0, 1, 3]))]
    chance.shuffle(inner)
    geometry = chance.choice([json_object(inner), json_object(inner), json_object(inner), json_value(chance)])
    members = [(b'"type"', b'"Feature"'), (b'"geometry"', geometry), (b'"properties"', json_value(chance))]
    members += [(json_key(chance), json_value(chance)) for _ in range(chance.choice([0, 1, 1, 3]))]
    members += chance.choice([[], [(b'"coordRefSys"', b'"http://www.opengis.net/def/crs/EPSG/0/2154"')]])
    members += chance.choice([[], [(b'"featureType"', json_string(chance))]])
    members += chance.choice([[], [(b'"crs"', b'{"type": "name", "properties": {"name": "EPSG:2154"}}')]])
    chance.shuffle(members)
    return json_object(members)


# --- separated values ------------------------------------------------------------------------------


def write_table(path: Path, records: Sequence[bytes], header: bytes, end: bytes) -> None:
    content = end.join([header, *records]) + end
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def cell(chance: Chance, separator: bytes, content: bytes) -> bytes:
    """A cell: plain where that is possible, or in quotes; with tabs, quotes mean nothing and may stand anywhere."""
    quotes = separator == b","
    if quotes and chance.random() < 0.3:
        return b'"' + content.replace(b'"', b'""') + chance.choice([b"", b"\n", b"\r\n,"]) + b'"'
    for mark in (b"\r", b"\n", separator):
        content = content.replace(mark, b" ")
    return content.lstrip(b'"') if quotes else chance.choice([b"", b"", b'"']) + content + chance.choice([b"", b'"'])


def hostile_row(separator: bytes, coordinates: Callable[[Chance], bytes], cells: int) -> Callable[[Chance], bytes]:
    def row(chance: Chance) -> bytes:
        contents = [chance.choice([coordinates, raw_text, lambda _: b"0.5"])(chance) for _ in range(cells)]
        contents += [raw_text(chance)] * chance.choice([0, 0, 1, 1, 5]) + [b"x"] * chance.choice([0, 0, 0, 3000])
        written = [
            cell(chance, separator, content) for content in contents[: chance.choice([1, cells, cells + 1, 9999])]
        ]
        return separator.join(written)

    return row


def table_form(name: str, columns: Sequence[str], options: dict[str, str], end: bytes = b"\n") -> Form:
    separator = b"\t" if ".tsv" in name else b","
    wkt = len(columns) == 1
    numeral = hostile_wkt if wkt else lambda chance: chance.choice(NUMERALS).encode()
    return Form(
        name,
        lambda path, records: write_table(path, records, separator.join(c.encode() for c in [*columns, "note"]), end),
        lambda x, y: f"POINT ({x} {y})".encode() + separator + b"n" if wkt else f"{x}{separator.decode()}{y}".encode(),
        hostile_row(separator, numeral, len(columns)),
        options,
    )


# --- Parquet ---------------------------------------------------------------------------------------

GEO = {"version": "1.1.0", "primary_column": "g", "columns": {"g": {"encoding": "WKB", "geometry_types": ["Point"]}}}


def write_columns(path: Path, records: Sequence[tuple[Any, Any, str]]) -> None:
    x, y, note = zip(*records, strict=True) if records else ((), (), ())
    pq.write_table(
        pa.table(
            {"lon": pa.array(x, pa.float64()), "lat": pa.array(y, pa.float64()), "note": pa.array(note, pa.string())}
        ),
        path,
    )


def write_wkb(path: Path, records: Sequence[bytes | None], kind: pa.DataType, metadata: dict[str, Any] | None) -> None:
    table = pa.table({"g": pa.array(records, pa.large_binary()).cast(kind)})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(metadata)} if metadata else None), path)


def write_frame(path: Path, records: Sequence[Any]) -> None:
    geometry = geopandas.GeoSeries(list(records), crs="EPSG:4326")
    geopandas.GeoDataFrame({"a": range(len(records))}, geometry=geometry).to_parquet(path)


def write_geoarrow(path: Path, records: Sequence[Any]) -> None:
    """A column whose type geopandas gathers from the records; it cannot write none, so a place outside comes first."""
    geometry = geopandas.GeoSeries([shapely.Point(7, 7), *records], crs="EPSG:4326")
    geopandas.GeoDataFrame(geometry=geometry).to_parquet(path, geometry_encoding="geoarrow")


def write_layer(path: Path, records: Sequence[Any]) -> None:
    """A layer whose type geopandas gathers from the records."""
    path.unlink(missing_ok=True)
    geometry = geopandas.GeoSeries(list(records), crs="EPSG:4326")
    frame = geopandas.GeoDataFrame({"a": range(len(records))}, geometry=geometry)
    frame.to_file(path, SPATIAL_INDEX="NO")


def write_text_or_bytes(path: Path, records: Sequence[Any]) -> None:
    """A column that pandas writes as text, or as bytes if one record is of bytes."""
    pd.DataFrame({"g": pd.Series(list(records), dtype=object)}).to_parquet(path)


def text_or_bytes(chance: Chance) -> Any:
    odd = [
        None,
        b"",
        b"x",
        b"\0",
        hostile_wkb(chance),
        hostile_wkt(chance),
        hostile_wkt(chance).decode(errors="replace"),
    ]
    return chance.choice(odd)


def write_structs(path: Path, records: Sequence[Any]) -> None:
    column = pa.array(records, pa.struct([("x", pa.float64()), ("y", pa.float64())]))
    geo = {**GEO, "columns": {"g": {"encoding": "point", "geometry_types": ["Point"]}}}
    pq.write_table(pa.table({"g": column}).replace_schema_metadata({"geo": json.dumps(geo)}), path)


def write_wkt(path: Path, records: Sequence[bytes]) -> None:
    """Text in a column that is declared as such, though not all of it is UTF-8."""
    column = pa.array(records, pa.binary())
    as_text = pa.Array.from_buffers(pa.string(), len(column), column.buffers())
    pq.write_table(pa.table({"g": as_text}), path)


def number(chance: Chance) -> Any:
    return chance.choice([*NUMBERS, None])


# --- GeoPackage ------------------------------------------------------------------------------------


def geopackage(path: Path) -> sqlite3.Connection:
    """A layer without records, ready for any value in any cell."""
    path.unlink(missing_ok=True)
    template = path.with_name("template.sqlite")
    if not template.exists():
        made = path.with_name("made.gpkg")
        frame = geopandas.GeoDataFrame(
            {"lon": [0.5], "lat": [0.5]}, geometry=[shapely.Point(0.5, 0.5)], crs="EPSG:4326"
        )
        frame.to_file(made, layer="homes", SPATIAL_INDEX="NO")
        made.rename(template)
        with closing(sqlite3.connect(template)) as database:
            for (trigger,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                database.execute(f'DROP TRIGGER "{trigger}"')
            database.execute("DELETE FROM homes")
            database.commit()
    path.write_bytes(template.read_bytes())
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")  # these files need not outlast a power cut
    return database


def write_geopackage(path: Path, records: Sequence[tuple[Any, Any, Any]]) -> None:
    with closing(geopackage(path)) as database:
        database.executemany("INSERT INTO homes (geom, lon, lat) VALUES (?, ?, ?)", records)
        database.commit()


def geometry_blob(content: bytes, flags: int = 1, envelope: bytes = b"") -> bytes:
    return b"GP\0" + bytes([flags]) + struct.pack("<i", 4326) + envelope + content


def hostile_blob(chance: Chance) -> Any:
    code = chance.randrange(8)
    envelope = bytes(chance.choice([0, 32, 48, 64, {0: 0, 1: 32, 2: 48, 3: 48, 4: 64}.get(code, 7)]))
    content = hostile_wkb(chance) or b""
    blobs = [
        geometry_blob(content),
        geometry_blob(wkb(0.5, 0.5), chance.randrange(256), envelope),
        geometry_blob(content, 1 | code << 1, envelope),
        geometry_blob(wkb(0.5, 0.5), 0x11),
        content,
        b"XX" + geometry_blob(wkb(0.5, 0.5))[2:],
        geometry_blob(wkb(0.5, 0.5))[: chance.randrange(29)],
        bytes(100_000),
        sqlite_value(chance),
    ]
    return chance.choice(blobs)


def sqlite_value(chance: Chance) -> Any:
    return chance.choice(
        [None, 0, 1, 2**63 - 1, -(2**63), *NUMBERS, text(chance).replace("\ud800", ""), raw_text(chance), b"", "0.5"]
    )


# --- Shapefile -------------------------------------------------------------------------------------

WGS84 = (
    'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],'
    'PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]'
)


def write_shapefile(path: Path, records: Sequence[tuple[bytes, bytes]]) -> None:
    """Records are the content of a shape, of any even length, and the row of its attributes, of 41 bytes."""
    shapes, index, at = b"", b"", 50
    for row, (content, _) in enumerate(records, 1):
        head = struct.pack(">ii", row, len(content) // 2)
        shapes += head + content
        index += struct.pack(">ii", at, len(content) // 2)
        at += 4 + len(content) // 2
    for suffix, body in ((".shp", shapes), (".shx", index)):
        header = struct.pack(">7i", 9994, 0, 0, 0, 0, 0, 50 + len(body) // 2) + struct.pack(
            "<2i8d", 1000, 1, *[0.0] * 8
        )
        path.with_suffix(suffix).write_bytes(header + body)
    fields = b"".join(
        name.ljust(11, b"\0") + b"N" + bytes(4) + bytes([20, 15]) + bytes(14) for name in (b"lon", b"lat")
    )
    header = struct.pack("<4BIHH", 3, 120, 1, 1, len(records), 32 + len(fields) + 1, 41) + bytes(20) + fields + b"\r"
    path.with_suffix(".dbf").write_bytes(header + b"".join(row for _, row in records) + b"\x1a")
    path.with_suffix(".prj").write_text(WGS84)


def shape(x: float, y: float) -> tuple[bytes, bytes]:
    return struct.pack("<idd", 1, x, y), b" " + f"{x:20.15f}{y:20.15f}".encode()


def hostile_shape(chance: Chance) -> tuple[bytes, bytes]:
    kinds = [0, 1, 1, 3, 5, 8, 11, 13, 15, 18, 21, 23, 25, 28, 31, -1, 2**31 - 1]
    body = struct.pack("<i", chance.choice(kinds)) + b"".join(
        struct.pack("<d", chance.choice(NUMBERS)) for _ in range(chance.choice([0, 1, 2, 2, 3, 4, 50]))
    )
    several = struct.pack("<i4di", chance.choice([8, 18, 28]), *[0.0] * 4, chance.choice([0, 1, 1, 2, -1, 2**31 - 1]))
    several += struct.pack("<2d", 0.5, 0.5) + bytes(8 * chance.choice([0, 0, 2, 3, 6]))
    content = chance.choice([body, body, several, chance.randbytes(2 * chance.randrange(40)), struct.pack("<i", 0)])
    cells = [
        chance.choice([chance.choice(NUMERALS).encode(), raw_text(chance), b"0.5"])[:20].rjust(20) for _ in range(2)
    ]
    row = chance.choice([b" ", b" ", b"*", b"\0"]) + chance.choice([b"".join(cells), chance.randbytes(40)])
    return content, row


# --- FlatGeobuf ------------------------------------------------------------------------------------


def write_flatgeobuf(path: Path, records: Sequence[bytes], kind: str = "Point") -> None:
    template = path.with_name(f"template-{kind}.fgb")
    if not template.exists():
        shapes = [shapely.Point(0.5, 0.5)] + ([shapely.LineString([(0, 0), (1, 1)])] if kind == "Unknown" else [])
        frame = geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:4326")
        frame.to_file(template, SPATIAL_INDEX="NO", driver="FlatGeobuf")
    content = template.read_bytes()
    header = content[: 12 + struct.unpack_from("<I", content, 8)[0]]
    path.write_bytes(header + b"".join(struct.pack("<I", len(record)) + record for record in records))


def flat_feature(x: float, y: float, *, kind: int = 1, length: int = 2, more: bytes = b"") -> bytes:
    """A feature: a table with a geometry, which is a table with a vector of doubles and a type."""
    outer = struct.pack("<IHHHH", 12, 6, 8, 4, 0) + struct.pack("<iI", 8, 24)
    inner = struct.pack("<9H", 18, 12, 0, 4, 0, 0, 0, 0, 8) + b"\0\0" + struct.pack("<iIB3x", 20, 8, kind)
    return outer + inner + struct.pack("<Idd", length, x, y) + more


def hostile_feature(chance: Chance) -> bytes:
    x, y = chance.choice(NUMBERS), chance.choice(NUMBERS)
    record = bytearray(
        flat_feature(
            x, y, kind=chance.choice([0, 1, 1, *range(2, 18), 255]), length=chance.choice([2, 2, 0, 1, 3, 4, 2**32 - 1])
        )
    )
    for _ in range(chance.choice([0, 1, 1, 3])):
        at = chance.randrange(len(record))
        record[at] = chance.choice([0, 1, 255, 127, chance.randrange(256)])
    return chance.choice(
        [bytes(record), bytes(record), bytes(record[: chance.randrange(len(record))]), chance.randbytes(60)]
    )


# --- all of them -----------------------------------------------------------------------------------

COLUMNS = {"x": "lon", "y": "lat"}
PLACE = {"geometry": "place"}

FORMS = [
    Form("points.geojson", write_geojson, feature, hostile_json),
    table_form("points.csv", ["lon", "lat"], COLUMNS),
    table_form("points.tsv", ["lon", "lat"], COLUMNS),
    table_form("points.csv.gz", ["lon", "lat"], COLUMNS),
    table_form("wkt.csv", ["place"], PLACE),
    table_form("cr.csv", ["lon", "lat"], COLUMNS, end=b"\r"),
    Form(
        "columns.parquet",
        write_columns,
        lambda x, y: (x, y, "n"),
        lambda chance: (number(chance), number(chance), text(chance)),
        COLUMNS,
    ),
    Form("geo.parquet", lambda path, rows: write_wkb(path, rows, pa.binary(), GEO), wkb, hostile_wkb),
    Form(
        "wkb.parquet",
        lambda path, rows: write_wkb(path, rows, pa.large_binary(), None),
        wkb,
        hostile_wkb,
        {"geometry": "g"},
    ),
    Form("frame.parquet", write_frame, shapely.Point, lambda chance: chance.choice(geometries_of_shapely())),
    Form(
        "structs.parquet",
        write_structs,
        lambda x, y: {"x": x, "y": y},
        lambda chance: chance.choice([None, {"x": number(chance), "y": number(chance)}]),
    ),
    Form("wkt.parquet", write_wkt, lambda x, y: f"POINT ({x} {y})".encode(), hostile_wkt, {"geometry": "g"}),
    Form(
        "layer.gpkg",
        write_geopackage,
        lambda x, y: (geometry_blob(wkb(x, y)), x, y),
        lambda chance: (hostile_blob(chance), sqlite_value(chance), sqlite_value(chance)),
    ),
    Form(
        "columns.gpkg",
        write_geopackage,
        lambda x, y: (None, x, y),
        lambda chance: (hostile_blob(chance), sqlite_value(chance), sqlite_value(chance)),
        COLUMNS,
    ),
    Form("text.parquet", write_text_or_bytes, lambda x, y: f"POINT ({x} {y})", text_or_bytes, {"geometry": "g"}),
    Form("native.parquet", write_geoarrow, shapely.Point, lambda chance: chance.choice(points_of_shapely())),
    Form("written.gpkg", write_layer, shapely.Point, lambda chance: chance.choice(geometries_of_shapely())),
    Form("written.fgb", write_layer, shapely.Point, lambda chance: chance.choice(flat_geometries())),
    Form("layer.shp", write_shapefile, shape, hostile_shape),
    Form("columns.shp", write_shapefile, shape, hostile_shape, COLUMNS),
    Form("layer.fgb", write_flatgeobuf, flat_feature, hostile_feature),
    Form("any.fgb", lambda path, rows: write_flatgeobuf(path, rows, "Unknown"), flat_feature, hostile_feature),
]
