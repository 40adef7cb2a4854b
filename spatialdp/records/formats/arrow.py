"""How are points read from Parquet and Arrow? Columns of numbers, or a column of geometries (WKB, WKT or GeoArrow).

The schema says what a column holds, and is all that can be refused. The types of geometry that GeoParquet lists
(``geometry_types``) are not part of the schema: writers gather them from the records. Nor is it told by the schema
whether text is WKT and bytes are WKB: pandas writes a whole column as bytes for one record of bytes. So each value is
read as what it is. The type of a column of persons is judged, but for doubles in a file that pandas has written: it
makes doubles of all whole numbers for one that is missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.foreign.wkb import point_coordinates
from spatialdp.errors import PointsError
from spatialdp.records.formats.base import (
    BATCH,
    Batch,
    Coded,
    Coordinates,
    Selection,
    Source,
    Table,
    check_names,
    check_other_names,
    check_person_name,
    no_geometry,
    without_layers,
)
from spatialdp.records.formats.text import numbers_of, persons_of_doubles, persons_of_text, points_of_wkt
from spatialdp.records.persons.identifiers import persons_of
from spatialdp.space.placement import check_column_names

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_arrow", "open_arrow_texts", "open_parquet", "open_parquet_texts", "points_of_bytes"]

Read = Callable[[list[str]], "Iterable[pa.RecordBatch]"]

_EXTENSION, _EXTENSION_METADATA = b"ARROW:extension:name", b"ARROW:extension:metadata"
_LONGITUDE_LATITUDE = "OGC:CRS84"  # which GeoParquet means if it names no CRS
_TEXT = ("binary", "large_binary", "binary_view", "string", "large_string", "string_view")
_BYTES = (*_TEXT, "fixed_size_binary", "null")


def open_parquet(source: Source, selection: Selection, stack: ExitStack) -> Table:
    """Open a Parquet or GeoParquet file."""
    without_layers(source, selection)
    schema, read = _parquet(source, stack)
    return _table(source, schema, selection, read)


def open_parquet_texts(source: Source, selection: Selection, stack: ExitStack) -> Table:
    """Open a Parquet file for a column of codes: text, null where it is not UTF-8.

    A column of doubles that pandas has written has no text: pandas makes doubles of all whole numbers for one that is
    missing.
    """
    schema, read = _parquet(source, stack)
    return _texts(source, schema, selection, read)


def open_arrow_texts(data: Any, selection: Selection) -> Table:
    """Open anything that offers an Arrow stream for a column of codes."""
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(data)
    return _texts(Source("the Arrow table", ".arrow"), reader.schema, selection, lambda _: _pieces(reader))


def _texts(source: Source, schema: pa.Schema, selection: Selection, read: Read) -> Table:
    column = selection.code or ""
    if schema.names.count(column) != 1:
        raise PointsError(
            f"{source.name} has {'more than one' if column in schema.names else 'no'} column {column!r}; its columns "
            f"are {', '.join(schema.names)}."
        )
    texts = _text_reader(source, schema, column)
    beside, others, names = _beside(source, schema, selection)
    batches = (Coded(texts(rows.column(column)), *beside(rows)) for rows in read(list(dict.fromkeys([column, *names]))))
    return Table(None, batches, plain=True, others=others)


def _text_reader(source: Source, schema: pa.Schema, name: str) -> Callable[[pa.Array], pa.Array]:
    """Return the function that reads a column of text, by the type that the schema declares for it."""
    import pyarrow as pa
    from pyarrow import types

    kind = schema.field(name).type
    if types.is_dictionary(kind) and _is_any(kind.value_type, *_TEXT):
        return lambda column: persons_of_text(column.dictionary_decode())
    if _is_any(kind, *_TEXT):
        return persons_of_text
    if types.is_null(kind) or (types.is_floating(kind) and b"pandas" in (schema.metadata or {})):
        return lambda column: pa.nulls(len(column), pa.large_string())
    raise PointsError(
        f"column {name!r} of {source.name} is of type {kind}; codes must be text, because a leading zero is part of a "
        "code. Write the column as text."
    )


def _parquet(source: Source, stack: ExitStack) -> tuple[pa.Schema, Read]:
    """Return the schema of a Parquet file, and the function that reads some of its columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = pa.BufferReader(pa.py_buffer(source.bytes())) if source.path is None else source.path
    # Without pre-buffering: a row group may be as large as the file.
    file = stack.enter_context(pq.ParquetFile(place, pre_buffer=False, buffer_size=2**20))
    read = partial(file.iter_batches, BATCH, use_pandas_metadata=False, use_threads=False)
    return file.schema_arrow, lambda names: read(columns=names)


def open_arrow(data: Any, selection: Selection) -> Table:
    """Open anything that offers an Arrow stream: a table, a record batch, a reader, a frame of another library."""
    import pyarrow as pa

    source = Source("the Arrow table", ".arrow")
    without_layers(source, selection)
    reader = pa.RecordBatchReader.from_stream(data)
    if selection.columns is None and selection.geometry is None and not _geometries(reader.schema):
        selection = _two_columns(reader.schema, selection)
    return _table(source, reader.schema, selection, lambda _: _pieces(reader))


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            yield batch.slice(start, BATCH)


def _two_columns(schema: pa.Schema, selection: Selection) -> Selection:
    """Return the columns of a table that has two of numbers and no others: x, then y, as in an array."""
    fields = [field for field in schema if field.name != selection.person]
    names = [field.name for field in fields]
    if len(names) != 2 or len(set(names)) != 2 or not all(_is_number(field.type) for field in fields):
        raise PointsError(
            "the Arrow table declares no geometry and does not have just two columns of numbers; name its columns: "
            "read_points(table, domain, x=..., y=...) or read_points(table, domain, geometry=...)."
        )
    check_column_names(*names)
    return replace(selection, x=names[0], y=names[1])


def _table(source: Source, schema: pa.Schema, selection: Selection, read: Read) -> Table:
    columns, coordinates, crs, plain = _place(source, schema, selection)
    beside, others, names = _beside(source, schema, selection)
    batches = (Batch(*coordinates(rows), *beside(rows)) for rows in read(list(dict.fromkeys([*columns, *names]))))
    return Table(crs, batches, plain=plain, others=others)


def _beside(
    source: Source, schema: pa.Schema, selection: Selection
) -> tuple[Callable[[pa.RecordBatch], tuple[pa.Array | None, tuple[pa.Array, ...]]], pa.Schema, list[str]]:
    """Return how to read persons and the other columns of some rows, the schema of the latter, and all their names."""
    import pyarrow as pa

    name, others = selection.person, selection.others
    persons = None
    if name is not None:
        check_person_name(source, schema.names, name)
        persons = _person_reader(source, schema, name)
    check_other_names(source, schema.names, selection)

    def read(rows: pa.RecordBatch) -> tuple[pa.Array | None, tuple[pa.Array, ...]]:
        people = None if persons is None else persons(rows.column(name))
        return people, tuple(rows.column(other) for other in others)

    declared = pa.schema([schema.field(other) for other in others], metadata=schema.metadata)
    return read, declared, [*([] if name is None else [name]), *others]


def _place(
    source: Source, schema: pa.Schema, selection: Selection
) -> tuple[list[str], Callable[[pa.RecordBatch], Coordinates], Any, bool]:
    """Return the columns with the coordinates, how to read them, their CRS, and whether they cannot declare one."""
    if selection.columns:
        x, y = selection.columns
        check_names(source, schema.names, (x, y))
        x_values, y_values = (_number_reader(source, schema.field(name)) for name in (x, y))
        return [x, y], lambda rows: (x_values(rows.column(x)), y_values(rows.column(y))), None, True
    declared = _geometries(schema)
    name = selection.geometry if selection.geometry is not None else next(iter(declared), None)
    if name is None:
        raise no_geometry(source)
    check_names(source, schema.names, [name])
    points = _reader(source, schema.field(name))
    return [name], lambda rows: points(_storage(rows.column(name))), declared.get(name), name not in declared


# --- schemas ---------------------------------------------------------------------------------------


def _geometries(schema: pa.Schema) -> dict[str, Any]:
    """Return the CRS of each column that the schema declares to hold geometries, the primary one first."""
    try:
        geo = json.loads((schema.metadata or {})[b"geo"])
        columns = {str(name): dict(column).get("crs", _LONGITUDE_LATITUDE) for name, column in geo["columns"].items()}
        primary = str(geo["primary_column"])
        return {primary: columns[primary], **columns}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {field.name: _extension_crs(field) for field in schema if _extension(field).startswith("geoarrow.")}


def _extension(field: pa.Field) -> str:
    """Return the name of a field's extension type, whether or not pyarrow knows that type."""
    name = getattr(field.type, "extension_name", None) or (field.metadata or {}).get(_EXTENSION, b"").decode()
    return str(name)


def _extension_crs(field: pa.Field) -> Any:
    serialize = getattr(field.type, "__arrow_ext_serialize__", None)
    text = serialize() if serialize else (field.metadata or {}).get(_EXTENSION_METADATA, b"")
    try:
        return json.loads(text or b"{}").get("crs")
    except (ValueError, AttributeError):
        return None


def _person_reader(source: Source, schema: pa.Schema, name: str) -> Callable[[pa.Array], pa.Array]:
    """Return the function that reads a column of persons, by the type that the schema declares for it.

    Columns of text and of bytes are read alike: pandas writes a whole column as bytes for one record of bytes.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = schema.field(name).type
    if types.is_dictionary(kind) and _is_any(kind.value_type, *_TEXT):
        return lambda column: persons_of_text(column.dictionary_decode())
    if _is_any(kind, *_TEXT):
        return persons_of_text
    if types.is_floating(kind) and b"pandas" in (schema.metadata or {}):
        return lambda column: persons_of_doubles(_doubles(column))
    called = f"column {name!r} of {source.name}"
    persons_of(pa.array([], kind), called)  # refuses the type, before a record is read
    return lambda column: _checked_text(persons_of(column, called))


def _checked_text(persons: pa.Array) -> pa.Array:
    """Return persons without text that is not UTF-8, which dictionaries may hold."""
    from pyarrow import types

    return persons if types.is_int64(persons.type) else persons_of_text(persons)


def _number_reader(source: Source, field: pa.Field) -> Callable[[pa.Array], Floats]:
    """Return the function that reads a column of numbers, or of text: writers make text of all for one odd record."""
    if _is_number(field.type):
        return _doubles
    if _is_any(field.type, *_BYTES):
        return _numerals
    raise PointsError(
        f"column {field.name!r} of {source.name} is of type {field.type}; coordinates must be numbers. Convert it "
        "first."
    )


def _is_number(kind: pa.DataType) -> bool:
    from pyarrow import types

    # A column of nulls alone has no type of its own. To refuse it would tell that all values are missing.
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind))


def _reader(source: Source, field: pa.Field) -> Callable[[pa.Array], Coordinates]:
    """Return the function that reads a column of geometries, by the type that the schema declares for it."""
    kind = getattr(field.type, "storage_type", field.type)
    reader = points_of_bytes if _is_any(kind, *_BYTES) else _geoarrow_reader(kind)
    if reader is not None:
        return reader
    raise PointsError(
        f"column {field.name!r} of {source.name} is of type {kind}; points must be WKB (binary), WKT (text) or "
        "GeoArrow points. Convert it first."
    )


def _geoarrow_reader(kind: pa.DataType) -> Callable[[pa.Array], Coordinates] | None:
    """Return the function that reads geometries as GeoArrow stores them; None for another type."""
    from pyarrow import types

    if types.is_struct(kind) and _has_axes(kind):
        return _points_of_structs
    if types.is_fixed_size_list(kind) and kind.list_size >= 2 and _is_number(kind.value_type):
        return _points_of_lists
    inner = _geoarrow_reader(kind.value_type) if _is_any(kind, "list", "large_list") else None
    if inner in (_points_of_structs, _points_of_lists):  # writers make lists of all points for one multi-point
        return partial(_points_of_parts, inner)
    return None if inner is None else _no_points  # lists of lists are polygons and the like


def _is_any(kind: pa.DataType, *names: str) -> bool:
    from pyarrow import types

    return any(getattr(types, f"is_{name}", lambda _: False)(kind) for name in names)


def _has_axes(kind: pa.StructType) -> bool:
    fields = {field.name: field.type for field in kind}
    return all(name in fields and _is_number(fields[name]) for name in ("x", "y"))


# --- columns ---------------------------------------------------------------------------------------


def _storage(column: pa.Array) -> pa.Array:
    return getattr(column, "storage", column)


def _doubles(column: pa.Array) -> Floats:
    """Return a column of numbers as doubles, the nearest ones; nulls become NaN and count nowhere."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_decimal(column.type):  # pyarrow's own conversion of decimals is off by one unit in the last place
        column = column.cast(pa.large_string())
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _numerals(column: pa.Array) -> Floats:
    import pyarrow as pa

    return numbers_of(column.cast(pa.large_binary()))


def points_of_bytes(column: pa.Array) -> Coordinates:
    """Return the coordinates of points in WKB, which begins with a byte of 0 or 1, or in WKT; NaN for all else."""
    import pyarrow as pa

    column = column.cast(pa.large_binary())
    xy = np.full((2, len(column)), np.nan)
    _, edges, content = column.buffers()
    if content is None or not content.size or not len(column):
        return xy[0], xy[1]
    data = np.frombuffer(content, dtype=np.uint8)
    offsets = np.frombuffer(edges, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    lengths = np.where(column.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), 0)
    binary = data[np.minimum(offsets[:-1], data.size - 1)] <= 1
    xy[:] = point_coordinates(data, offsets[:-1], np.where(binary, lengths, 0))
    text = np.flatnonzero(~binary & (lengths > 0))
    if text.size:
        xy[:, text] = points_of_wkt(column.take(pa.array(text)))
    return xy[0], xy[1]


def _points_of_structs(column: pa.Array) -> Coordinates:
    import pyarrow.compute as pc

    return _doubles(pc.struct_field(column, "x")), _doubles(pc.struct_field(column, "y"))


def _points_of_lists(column: pa.Array) -> Coordinates:
    import pyarrow.compute as pc

    return _doubles(pc.list_element(column, 0)), _doubles(pc.list_element(column, 1))


def _no_points(column: pa.Array) -> Coordinates:
    return np.full(len(column), np.nan), np.full(len(column), np.nan)


def _points_of_parts(points: Callable[[pa.Array], Coordinates], column: pa.Array) -> Coordinates:
    """Return the coordinates of lists of one part; NaN for lists of more or fewer."""
    import pyarrow as pa
    import pyarrow.compute as pc

    xy = np.full((2, len(column)), np.nan)
    parts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    single = np.flatnonzero(parts == 1)
    xy[:, single] = points(_storage(pc.list_flatten(column.take(pa.array(single)))))
    return xy[0], xy[1]
