"""How are points read from a GeoPackage? With SQLite, which is told to hand out numbers and short geometries alone.

A GeoPackage is a SQLite database. Any cell of it may hold any value, whatever type its column declares: text in a
column of numbers is a record like any other, and counts nowhere; numerals in a column of text are read. Structure is
what the tables of the standard declare: the layers, the columns and their types, and the CRS of a layer. The type of
geometry of a layer is not judged, because writers gather it from the records. A layer must be an ordinary table: what a
view, a virtual table or a computed column does with one row can end or multiply the whole query.

A person is taken for what its cell holds: text byte by byte, whole numbers, and doubles that are whole, which geopandas
stores for all whole numbers if one is missing. Columns of dates, truth values and blobs are refused by their type.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.foreign.wkb import LONGEST_POINT, point_coordinates
from spatialdp.errors import PointsError
from spatialdp.records.formats.base import (
    BATCH,
    Batch,
    Coordinates,
    Selection,
    Source,
    Table,
    check_names,
    check_person_name,
    no_geometry,
    not_whole,
)
from spatialdp.records.formats.text import LONGEST_TEXT, numbers_of, persons_of_text
from spatialdp.records.persons.identifiers import persons_of, texts_of
from spatialdp.wording import parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_geopackage"]

_MAGIC = b"SQLite format 3\0"
_WRITE_AHEAD = b"\2\2"  # bytes 18 and 19 of a database with a write-ahead log
_HEADER = 8  # bytes before the envelope of a geometry
_ENVELOPES = np.array([0, 32, 48, 48, 64])  # bytes, by the code in the header
_LONGEST = _HEADER + int(_ENVELOPES.max()) + LONGEST_POINT
_TABLES = ("gpkg_contents", "gpkg_geometry_columns", "gpkg_spatial_ref_sys")  # in which the structure is declared
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"|BOOLEAN|((TINY|SMALL|MEDIUM|BIG)?INT|INTEGER|REAL|FLOAT|DOUBLE|NUMERIC|DECIMAL)\b.*", re.IGNORECASE
)

_TEXT = re.compile(r"(N?VAR)?CHAR(ACTER)?\b.*|TEXT\b.*|CLOB", re.IGNORECASE)


def open_geopackage(source: Source, selection: Selection, stack: ExitStack) -> Table:
    """Open a layer of a GeoPackage: its geometry, or two columns of numbers or numerals."""
    database = stack.enter_context(closing(_connect(source)))
    if selection.geometry is not None:
        raise PointsError(
            f"{source.name} is a GeoPackage, whose layers say which column has the geometry; leave "
            f"{parameter('geometry')} out."
        )
    layer = _layer(source, database, selection)
    if selection.person is not None:
        _check_person(source, database, layer, selection.person)
    if selection.columns:
        in_text = _check_columns(source, database, layer, selection.columns)
        cells = [
            _text_cell(name) if text else _number_cell(name)
            for name, text in zip(selection.columns, in_text, strict=True)
        ]
        records = _batches(database, layer, cells, selection.person, partial(_numbers, in_text=in_text))
        return Table(None, records, plain=True)
    row = database.execute(
        "SELECT column_name, srs_id FROM gpkg_geometry_columns WHERE lower(table_name) = lower(?)", (layer,)
    ).fetchone()
    if row is None:
        raise no_geometry(source)
    column, srs = row
    _check_stored(source, database, layer, [str(column)])
    cells = [_geometry_cell(str(column))]
    return Table(_crs(database, srs), _batches(database, layer, cells, selection.person, _coordinates))


def _connect(source: Source) -> sqlite3.Connection:
    """Open a database that can only be read, and runs no function of its own."""
    if source.path is None:
        content = source.bytes().tobytes()
        head, database = content[:20], sqlite3.connect(":memory:")
        if head.startswith(_MAGIC):
            database.deserialize(content)
    else:
        with source.opened() as file:
            head = file.read(20)
        logged = source.path.with_name(f"{source.path.name}-wal").exists()
        # A log that is not there would be made beside the file, so the database is said not to change.
        how = "immutable=1" if head[18:] == _WRITE_AHEAD and not logged else "mode=ro"
        database = sqlite3.connect(f"{source.path.absolute().as_uri()}?{how}", uri=True)
    if not head.startswith(_MAGIC):
        database.close()
        raise not_whole(source)
    database.execute("PRAGMA trusted_schema = OFF")
    return database


# --- structure -------------------------------------------------------------------------------------


def _layer(source: Source, database: sqlite3.Connection, selection: Selection) -> str:
    """Return the name of the only layer, or of the one that was asked for."""
    if not all(_is_table(database, name) for name in _TABLES):
        raise not_whole(source)
    kinds = ("features", "attributes") if selection.columns else ("features",)
    query = f"SELECT table_name FROM gpkg_contents WHERE data_type IN ({', '.join('?' * len(kinds))}) ORDER BY rowid"
    layers = [str(name) for (name,) in database.execute(query, kinds)]
    if selection.layer is not None and selection.layer not in layers:
        raise PointsError(f"{source.name} has no layer {selection.layer!r}; its layers are {layers}. Name one of them.")
    if selection.layer is None and len(layers) > 1:
        raise PointsError(f"{source.name} has several layers; name one of {layers}.")
    if not layers:
        raise no_geometry(source)
    layer = selection.layer or layers[0]
    if not _is_table(database, layer):
        raise PointsError(
            f"the layer {layer!r} of {source.name} is not an ordinary table but a view or a virtual table, which runs "
            "code on the records. Save the layer to a new GeoPackage, and give that."
        )
    return layer


def _is_table(database: sqlite3.Connection, name: str) -> bool:
    """Whether a name is that of a table whose rows are stored as they are."""
    found = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND lower(name) = lower(?)", (name,))
    return any(not _VIRTUAL.match(str(sql)) for (sql,) in found)


def _check_stored(source: Source, database: sqlite3.Connection, layer: str, columns: Sequence[str]) -> None:
    """Refuse columns that are computed when they are read."""
    computed = database.execute("SELECT lower(name) FROM pragma_table_xinfo(?) WHERE hidden = 2", (layer,)).fetchall()
    for name in columns:
        if (name.lower(),) in computed:
            raise PointsError(
                f"column {name!r} of {source.name} is computed from others when it is read; columns of points must be "
                "stored. Save the layer to a new GeoPackage, and give that."
            )


def _check_columns(
    source: Source, database: sqlite3.Connection, layer: str, columns: tuple[str, str]
) -> tuple[bool, ...]:
    """Refuse columns that cannot hold numbers; return which of them are declared as text."""
    _check_stored(source, database, layer, columns)
    declared = _declared(database, layer)
    check_names(source, list(declared), columns)
    for name in columns:
        if not (_NUMBER.fullmatch(declared[name]) or _TEXT.fullmatch(declared[name])):
            raise PointsError(
                f"column {name!r} of {source.name} is of type {declared[name]}; coordinates must be numbers. "
                "Convert it first."
            )
    return tuple(_TEXT.fullmatch(declared[name]) is not None for name in columns)


def _check_person(source: Source, database: sqlite3.Connection, layer: str, name: str) -> None:
    """Refuse a column whose type is not one of identifiers."""
    _check_stored(source, database, layer, [name])
    declared = _declared(database, layer)
    check_person_name(source, list(declared), name)
    kind = declared[name]
    if kind.upper() == "BOOLEAN" or not (_NUMBER.fullmatch(kind) or _TEXT.fullmatch(kind)):
        raise PointsError(
            f"column {name!r} of {source.name} is of type {kind}; persons must be whole numbers or text. Convert it "
            "first."
        )


def _declared(database: sqlite3.Connection, layer: str) -> dict[str, str]:
    """Return the declared types of a layer's columns but its geometry and its key."""
    declared = database.execute("SELECT name, type FROM pragma_table_xinfo(?)", (layer,)).fetchall()
    geometries = database.execute(
        "SELECT column_name FROM gpkg_geometry_columns WHERE lower(table_name) = lower(?)", (layer,)
    ).fetchall()
    keys = database.execute("SELECT name FROM pragma_table_info(?) WHERE pk", (layer,)).fetchall()
    return {str(name): str(kind) for name, kind in declared if (name,) not in [*geometries, *keys]}


def _crs(database: sqlite3.Connection, srs: Any) -> str | None:
    """Return the CRS of a layer: its number in a register, or its definition; None if it is undefined."""
    cursor = database.execute("SELECT * FROM gpkg_spatial_ref_sys WHERE srs_id = ?", (srs,))
    names = [str(column[0]).lower() for column in cursor.description]
    row = dict(zip(names, cursor.fetchone() or (), strict=False))
    definitions = [str(row.get(name) or "undefined") for name in ("definition_12_063", "definition")]
    defined = next((text for text in definitions if text.lower() != "undefined"), None)
    if defined is None or "undefined" in str(row.get("srs_name", "")).lower():
        return None
    is_listed = str(row.get("organization", "")).upper() == "EPSG"
    return f"EPSG:{row['organization_coordsys_id']}" if is_listed else defined


# --- records ---------------------------------------------------------------------------------------


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _batches(
    database: sqlite3.Connection,
    layer: str,
    cells: Sequence[str],
    person: str | None,
    coordinates: Callable[[list[tuple[Any, ...]]], Coordinates],
) -> Iterator[Batch]:
    """Yield the records: the coordinates that a function makes of some cells, and the person in a column."""
    database.text_factory = bytes  # text need not be UTF-8
    people = [] if person is None else [_number_cell(person), _person_text(person)]
    # In the order of the table: by an index of some columns, two queries would number the records differently.
    cursor = database.execute(f"SELECT {', '.join([*cells, *people])} FROM {_quoted(layer)} NOT INDEXED")
    while rows := cursor.fetchmany(BATCH):
        columns = list(zip(*rows, strict=True))
        persons = None if person is None else _persons(*columns[-2:])
        yield Batch(*coordinates(columns[: len(cells)]), persons)


def _person_text(column: str) -> str:
    return f"CASE WHEN typeof({_quoted(column)}) = 'text' THEN {_quoted(column)} END"


def _number_cell(column: str) -> str:
    name = _quoted(column)
    return f"CASE WHEN typeof({name}) IN ('real', 'integer') THEN {name} END"


def _text_cell(column: str) -> str:
    name = f"CAST({_quoted(column)} AS BLOB)"
    return f"CASE WHEN typeof({_quoted(column)}) = 'text' AND length({name}) <= {LONGEST_TEXT} THEN {name} END"


def _geometry_cell(column: str) -> str:
    name = _quoted(column)
    return f"CASE WHEN typeof({name}) = 'blob' AND length({name}) <= {_LONGEST} THEN {name} END"


def _numbers(columns: Sequence[tuple[Any, ...]], in_text: tuple[bool, ...]) -> Coordinates:
    x, y = (_doubles(values, text) for values, text in zip(columns, in_text, strict=True))
    return x, y


def _doubles(values: tuple[Any, ...], in_text: bool) -> Floats:
    import pyarrow as pa

    return numbers_of(pa.array(values, pa.large_binary())) if in_text else np.array(values, dtype=np.float64)


def _persons(numbers: tuple[Any, ...], texts: tuple[bytes | None, ...]) -> pa.Array:
    """Return the persons of cells that hold a number, or text, or neither."""
    import pyarrow as pa
    import pyarrow.compute as pc

    persons = persons_of(list(numbers))
    text = persons_of_text(pa.array(texts, pa.large_binary()))
    return persons if text.null_count == len(text) else pc.coalesce(texts_of(persons), text)


def _coordinates(columns: Sequence[tuple[bytes | None, ...]]) -> Coordinates:
    """Return the coordinates of geometries as GeoPackage stores them: a header, perhaps an envelope, and WKB."""
    import pyarrow as pa

    (cells,) = columns
    blobs = pa.array(cells, pa.large_binary())
    content = np.frombuffer(blobs.buffers()[2] or b"", dtype=np.uint8)
    edges = np.frombuffer(blobs.buffers()[1], dtype=np.int64)[: len(cells) + 1]
    starts, lengths = edges[:-1], np.diff(edges)
    at = np.where(lengths > _HEADER, starts, 0)
    if content.size <= _HEADER:
        return np.full(len(cells), np.nan), np.full(len(cells), np.nan)
    code = content[at + 3] >> 1 & 7
    extended = content[at + 3] >> 5 & 1
    valid = (
        (lengths > _HEADER) & (content[at] == ord("G")) & (content[at + 1] == ord("P")) & (code < 5) & (extended == 0)
    )
    header = _HEADER + _ENVELOPES[np.minimum(code, 4)]
    return point_coordinates(content, starts + header, np.where(valid, lengths - header, 0))
