"""Hostile persons for every format of points: files with a column `who`, and records that a reader might stumble over.

As in `tests.attacks.records`, a raw record is as hostile as it can be while the file remains one of its format.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from tests.attacks.records import (
    COLUMNS,
    Chance,
    Form,
    geometry_blob,
    geopackage,
    hostile_blob,
    hostile_json,
    hostile_row,
    hostile_shape,
    json_object,
    json_string,
    json_value,
    number,
    raw_text,
    shape,
    sqlite_value,
    text,
    wkb,
    write_geojson,
    write_shapefile,
    write_table,
)

WHO = {"person": "who"}


def person(x: float, y: float) -> int:
    """Who an ordinary record is about: a few persons share the places."""
    return int(10 * (x + y)) % 3


# --- text formats ----------------------------------------------------------------------------------


def feature(x: float, y: float) -> bytes:
    place = json_object([(b'"type"', b'"Point"'), (b'"coordinates"', f"[{x}, {y}]".encode())])
    return json_object([(b'"properties"', f'{{"who": {person(x, y)}}}'.encode()), (b'"geometry"', place)])


def hostile_feature(chance: Chance) -> bytes:
    """A point with hostile properties, or a hostile feature."""
    values = [b"1", b'"1"', b"1.0", b"1e0", b"-0", b"1.5", b"9" * 400, b"NaN", json_value(chance), json_string(chance)]
    values += [b'"\\ud800"', b'"\\u0031"', b'"\\"', b'"\\x"'[:-1] + b'"', b"", b'1 "2"', b'"1" 2']
    values = [value for value in values if value != b'"\\"']  # which never ends
    names = [b'"who"', b'"who"', b'"\\u0077ho"', b'"WHO"', b"who", json_string(chance)]
    members = [(chance.choice(names), chance.choice(values)) for _ in range(chance.randrange(4))]
    properties = chance.choice([json_object(members), json_object(members), json_value(chance)])
    place = json_object([(b'"type"', b'"Point"'), (b'"coordinates"', b"[0.5, 0.5]")])
    parts = [(b'"geometry"', place)] + [(b'"properties"', properties)] * chance.choice([0, 1, 1, 2])
    chance.shuffle(parts)
    return chance.choice([json_object(parts), json_object(parts), hostile_json(chance)])


def hostile_cell(chance: Chance) -> bytes:
    return chance.choice([raw_text(chance), b"", b"1", b"1.0", b"01", b" 1", b"\xef\xbf\xbd", b"1.0" + b"0" * 5000])


def table_form(name: str, end: bytes = b"\n") -> Form:
    separator = b"\t" if ".tsv" in name else b","
    return Form(
        name,
        lambda path, rows: write_table(path, rows, separator.join([b"lon", b"lat", b"who"]), end),
        lambda x, y: separator.join([str(x).encode(), str(y).encode(), str(person(x, y)).encode()]),
        lambda chance: chance.choice(
            [
                hostile_row(separator, hostile_cell, 3)(chance),
                separator.join([b"0.5", b"0.5", hostile_cell(chance).translate(None, b'\r\n",\t')]),
            ]
        ),
        WHO | COLUMNS,
    )


# --- Parquet ---------------------------------------------------------------------------------------


def write_declared(kind: pa.DataType) -> Callable[[Path, Sequence[Any]], None]:
    """Write a file whose column of persons has a type of its own; text need not be UTF-8."""

    def write(path: Path, records: Sequence[Any]) -> None:
        x, y, who = zip(*records, strict=True) if records else ((), (), ())
        column = pa.array(who, pa.binary() if kind == pa.string() else kind)
        if kind == pa.string():
            column = pa.Array.from_buffers(kind, len(column), column.buffers())
        pq.write_table(
            pa.table({"lon": pa.array(x, pa.float64()), "lat": pa.array(y, pa.float64()), "who": column}), path
        )

    return write


def write_by_pandas(path: Path, records: Sequence[Any]) -> None:
    """Write a file or layer whose column of persons gets the type that its records ask for."""
    path.unlink(missing_ok=True)
    x, y, who = zip(*records, strict=True) if records else ((), (), ())
    persons = pd.Series(list(who))
    if path.stem == "categories":
        persons = persons.astype("category")
    frame = pd.DataFrame({"lon": pd.Series(x, dtype=float), "lat": pd.Series(y, dtype=float), "who": persons})
    if path.suffix == ".parquet":
        frame.to_parquet(path)
        return
    places = geopandas.GeoDataFrame(frame, geometry=shapely.points(x, y) if records else [], crs="EPSG:4326")
    options = {} if path.suffix in (".shp", ".geojson") else {"SPATIAL_INDEX": "NO"}
    places.to_file(path, **options)


def gathered_form(name: str, options: dict[str, str], *odd: Any, of: Callable[[int], Any] = int) -> Form:
    """A form whose writer chooses a type for all persons, which `of` makes of numbers, by the values of each."""
    return Form(
        name,
        write_by_pandas,
        lambda x, y: (x, y, of(person(x, y))),
        lambda chance: (chance.choice([0.5, 0.25]), 0.5, chance.choice(odd)),
        WHO | options,
    )


# --- GeoPackage ------------------------------------------------------------------------------------


def write_layer(kind: str) -> Callable[[Path, Sequence[Any]], None]:
    def write(path: Path, records: Sequence[Any]) -> None:
        with closing(geopackage(path)) as database:
            database.execute(f"ALTER TABLE homes ADD COLUMN who {kind}")
            database.executemany("INSERT INTO homes (geom, lon, lat, who) VALUES (?, ?, ?, ?)", records)
            database.commit()

    return write


def hostile_row_of_layer(chance: Chance) -> tuple[Any, ...]:
    ordinary = geometry_blob(wkb(0.5, 0.5)), 0.5, 0.5
    place = chance.choice([ordinary, ordinary, (hostile_blob(chance), sqlite_value(chance), sqlite_value(chance))])
    return *place, chance.choice([sqlite_value(chance), "1", 1, 1.0, "1.0", b"1"])


# --- Shapefile -------------------------------------------------------------------------------------


def write_shapes(kind: bytes) -> Callable[[Path, Sequence[Any]], None]:
    """Write shapes, and a .dbf with a field of 12 bytes for persons."""

    def write(path: Path, records: Sequence[Any]) -> None:
        write_shapefile(path, [(content, bytes(41)) for content, _ in records])
        field = b"who".ljust(11, b"\0") + kind + bytes(4) + bytes([12, 0]) + bytes(14)
        header = struct.pack("<4BIHH", 3, 120, 1, 1, len(records), 65, 13) + bytes(20) + field + b"\r"
        path.with_suffix(".dbf").write_bytes(header + b"".join(row for _, row in records) + b"\x1a")

    return write


def shape_of_person(x: float, y: float) -> tuple[bytes, bytes]:
    return shape(x, y)[0], f" {person(x, y):12d}".encode()


def hostile_shape_of_person(chance: Chance) -> tuple[bytes, bytes]:
    content = chance.choice([shape(0.5, 0.5)[0], hostile_shape(chance)[0]])
    cell = chance.choice(
        [hostile_cell(chance), raw_text(chance), chance.randbytes(12), b"*" * 12, b"1.000", b"\0" * 12]
    )
    return content, chance.choice([b" ", b" ", b"*", b"\0"]) + chance.choice([cell[:12].ljust(12), cell[:12].rjust(12)])


# --- FlatGeobuf ------------------------------------------------------------------------------------


def write_features(path: Path, records: Sequence[bytes]) -> None:
    """Write features behind a header with two columns: `n`, a number of 64 bits, and `who`, text."""
    template = path.with_name("template-who.fgb")
    if not template.exists():
        frame = geopandas.GeoDataFrame({"n": [1], "who": ["x"]}, geometry=[shapely.Point(0.5, 0.5)], crs="EPSG:4326")
        frame.to_file(template, SPATIAL_INDEX="NO", driver="FlatGeobuf")
    content = template.read_bytes()
    header = content[: 12 + struct.unpack_from("<I", content, 8)[0]]
    path.write_bytes(header + b"".join(struct.pack("<I", len(record)) + record for record in records))


def flat_feature(x: float, y: float, properties: bytes) -> bytes:
    """A feature: a table with a geometry, which has a vector of doubles and a type, and with properties as bytes."""
    outer = struct.pack("<IHHHH", 12, 8, 12, 4, 8) + struct.pack("<iII", 8, 28, 56)
    inner = struct.pack("<9H", 18, 12, 0, 4, 0, 0, 0, 0, 8) + b"\0\0" + struct.pack("<iIB3x", 20, 8, 1)
    return outer + inner + struct.pack("<Idd", 2, x, y) + struct.pack("<I", len(properties)) + properties


def property_of(who: bytes) -> bytes:
    return struct.pack("<HI", 1, len(who)) + who


def feature_of_person(x: float, y: float) -> bytes:
    return flat_feature(x, y, struct.pack("<Hq", 0, 7) + property_of(str(person(x, y)).encode()))


def hostile_feature_of_person(chance: Chance) -> bytes:
    who = chance.choice([hostile_cell(chance), raw_text(chance)])
    parts = [
        struct.pack("<Hq", 0, chance.choice([0, -1, 2**62])),
        property_of(who),
        property_of(b"1"),
        struct.pack("<HI", 1, chance.choice([2**32 - 1, 2**31, 100])) + who[:20],
        struct.pack("<H", chance.choice([2, 9, 65535])) + who[:20],
        struct.pack("<H", chance.choice([0, 1])),
        chance.randbytes(chance.randrange(20)),
    ]
    record = bytearray(flat_feature(0.5, 0.5, b"".join(chance.choice(parts) for _ in range(chance.randrange(5)))))
    for _ in range(chance.choice([0, 0, 1, 3])):
        record[chance.randrange(len(record))] = chance.choice([0, 1, 255, 127, chance.randrange(256)])
    return chance.choice([bytes(record), bytes(record), bytes(record[: chance.randrange(len(record))])])


# --- all of them -----------------------------------------------------------------------------------

LARGE = [2**63 - 1, -(2**63), 2**53, 0, -1, None]
# Numbers from 2^53 on are not among these: as doubles, which pandas makes of them, they are no persons.
GATHERED = [None, 0.5, float("nan"), 7, -1, 2**53 - 1, 1.0, float("inf")]
WORDS = [None, "p1", "", "é", "a b", "1", "1.0", "NaN", "null"]
# One of them gives all the others as many digits behind the point as it has.
DECIMALS = [None, *map(Decimal, ("0.5", "1.0", "1", "NaN", "1E+30", "1E-30", "-0.0", "0.000000000001"))]


def word(number: int) -> str:
    return f"p{number}"


PERSON_FORMS = [
    Form("points.geojson", write_geojson, feature, hostile_feature, WHO),
    table_form("points.csv"),
    table_form("points.tsv"),
    table_form("points.csv.gz"),
    table_form("cr.csv", end=b"\r"),
    Form(
        "numbers.parquet",
        write_declared(pa.int64()),
        lambda x, y: (x, y, person(x, y)),
        lambda chance: (number(chance), number(chance), chance.choice(LARGE)),
        WHO | COLUMNS,
    ),
    Form(
        "text.parquet",
        write_declared(pa.string()),
        lambda x, y: (x, y, str(person(x, y)).encode()),
        lambda chance: (0.5, chance.choice([0.5, number(chance)]), chance.choice([None, hostile_cell(chance)])),
        WHO | COLUMNS,
    ),
    gathered_form("gathered.parquet", COLUMNS, *GATHERED),
    gathered_form("words.parquet", COLUMNS, *WORDS, b"x", b"\xff", b"", of=word),
    gathered_form("categories.parquet", COLUMNS, *WORDS, b"x", b"\xff", b"", of=word),
    gathered_form("decimals.parquet", COLUMNS, *DECIMALS, of=Decimal),
    gathered_form("gathered.gpkg", {}, *GATHERED[:7]),
    gathered_form("words.gpkg", {}, *WORDS, of=word),
    gathered_form("gathered.fgb", {}, *GATHERED[:7]),
    gathered_form("words.fgb", {}, *WORDS, of=word),
    gathered_form("gathered.geojson", {}, *GATHERED[:7]),
    gathered_form("words.geojson", {}, *WORDS, of=word),
    *(
        Form(
            f"{kind.lower()}.gpkg",
            write_layer(kind),
            lambda x, y: (geometry_blob(wkb(x, y)), x, y, person(x, y)),
            hostile_row_of_layer,
            WHO,
        )
        for kind in ("TEXT", "INTEGER", "REAL")
    ),
    Form("text.shp", write_shapes(b"C"), shape_of_person, hostile_shape_of_person, WHO),
    Form("numbers.shp", write_shapes(b"N"), shape_of_person, hostile_shape_of_person, WHO),
    Form("text.fgb", write_features, feature_of_person, hostile_feature_of_person, WHO),
]


def hostile_identifier(chance: Chance) -> Any:
    """Anything that a Python program may have among its identifiers."""
    plain = [None, "1", 1, 1.0, 0.5, float("nan"), True, b"1", [], {}, object(), 1j, 10**400, pd.NA, pd.NaT, range(3)]
    return chance.choice([*plain, text(chance), raw_text(chance), shapely.Point(0, 0)])
