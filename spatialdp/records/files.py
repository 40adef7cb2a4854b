"""Reading records from files: Parquet and GeoParquet, CSV, GeoPackage, GeoJSON, Shapefile, FlatGeobuf.

Files are read in batches, and each batch is snapped to the domain's lattice at once: 8 bytes a record.

Whether a file is refused must depend on its schema alone: its columns and their types, the type of geometry that it
declares, its CRS. A record that is not a point in the domain (missing or not finite, text that is not a number, another
geometry where the schema declares no type) counts nowhere, silently, as everywhere else: a message about the record
would tell that it exists. The messages of the libraries that read files quote records and row numbers, so none of them
is passed on. A file that is not a whole file of its format (a truncated Parquet file, a CSV file with a quote that is
never closed) cannot be divided into records, and is refused.

A file is refused for its geometry only if it declares a type that no data set of points declares: polygons, or several
types, as GeoParquet can. A layer that is declared to hold any geometry is read, and geometries in it that are not
points count nowhere. Such a layer must not be refused, because usual writers declare the same of a layer without
records: whether a file is accepted would then tell a data set of one point from an empty one. See
``docs/design/files.md``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.gdal import ALGORITHM, content_fits_suffix, offline
from spatialdp._support.wkb import LONGEST_POINT
from spatialdp.errors import CRSMismatchError, PointsError, SpatialDPError
from spatialdp.records.points import LatticePoints, snap
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMATS", "read_points"]

Batch = tuple[Floats, Floats]

_BATCH = 2**18  # records at a time
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class _Selection:
    """Where a file has the coordinates: in two columns, or in the geometry of a layer."""

    x: str | None
    y: str | None
    layer: str | None

    @property
    def columns(self) -> tuple[str, str] | None:
        return None if self.x is None or self.y is None else (self.x, self.y)


@dataclass(frozen=True)
class _OpenFile:
    """An open file that has passed the checks of its schema: its CRS, if it states one, and batches of coordinates."""

    crs: Any
    batches: Iterator[Batch]


def read_points(
    path: str | os.PathLike[str],
    domain: Domain,
    *,
    x: str | None = None,
    y: str | None = None,
    layer: str | None = None,
    crs: Any = None,
) -> LatticePoints:
    r"""Read sensitive locations from a file, for use with one domain.

    Parameters
    ----------
    path : str or path
        Parquet or GeoParquet (``.parquet``, ``.geoparquet``, ``.pq``), ``.csv``, ``.gpkg``, ``.geojson``, ``.shp`` or
        ``.fgb``.
    domain : Domain
        The public domain that the points are for.
    x, y : str, optional
        Names of the columns with the coordinates; by default the file's geometry. Required for CSV, which has none.
    layer : str, optional
        Name of the layer, in a file with more than one.
    crs : optional
        CRS of the coordinates, if the file does not state it. Columns of numbers without a CRS are taken to be in the
        domain's.

    Returns
    -------
    Points
        The records, snapped to the domain's lattice; 8 bytes each.

    Raises
    ------
    PointsError
        If the file cannot be read, or its schema has no points: missing columns, columns of text, a layer of polygons,
        several declared types of geometry.
    CRSMismatchError
        If the CRS of the file is not the domain's.

    Privacy
    -------
    Errors depend on the schema, never on records (see the head of this module); nothing is warned of or logged. The one
    thing that an error tells about geometries is that the file declares types other than points: such a file is not a
    data set of points, and nothing is promised about it. Data sets of points, empty ones and ones with missing points
    included, are never distinguished.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "homes.csv"
    >>> _ = path.write_text("lon,lat\n0.5,0.5\nunknown,\n7,7\n")
    >>> read_points(path, Domain((0, 0, 1, 1)), x="lon", y="lat")
    Points(<private>)
    """
    if not isinstance(domain, Domain):
        raise PointsError(
            f"domain is a {type(domain).__name__}; give the spatialdp.Domain, with public bounds, that the points are "
            "for. It is never taken from the points."
        )
    source = _checked_path(Path(path))
    if (x is None) != (y is None):
        raise PointsError("only one of x and y was given; name both columns, or neither to use the geometry.")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_silenced(source))
        file = FORMATS[source.suffix.lower()](source, _Selection(x, y, layer), stack)
        _check_crs(source, file.crs, crs, domain, from_geometry=x is None)
        return LatticePoints([snap(*batch, domain) for batch in file.batches], domain)


def _checked_path(source: Path) -> Path:
    """Return the path, checked to be a file that can be opened, is not empty, and has the suffix of a known format."""
    if source.is_dir():
        raise PointsError(f"{source} is a folder; give a single file of points.")
    if source.suffix.lower() not in FORMATS:
        raise PointsError(f"{source.name} does not have the suffix of a known format; use one of {', '.join(FORMATS)}.")
    try:
        with source.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise PointsError(f"{source} cannot be opened ({os.strerror(error.errno or 0)}); check its name.") from None
    if empty:
        raise PointsError(f"{source} is an empty file, without even a header; write it again, or give another file.")
    return source


@contextlib.contextmanager
def _silenced(source: Path) -> Iterator[None]:
    """Suppress the messages, warnings and log lines of the libraries that read files: they quote records."""
    log = logging.getLogger("pyogrio")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (SpatialDPError, MemoryError):
        raise
    except Exception:  # each library that reads files has errors of its own
        raise PointsError(
            f"{source} cannot be read as {source.suffix.lower()[1:]}: it is truncated, damaged or of another format. "
            "Open it in a GIS, or ask for the original."
        ) from None
    finally:
        log.setLevel(level)


def _check_crs(source: Path, file_crs: Any, user_crs: Any, domain: Domain, *, from_geometry: bool) -> None:
    """Check that the CRS that the file states, or else the one that the user gives, is the domain's."""
    if file_crs is not None and user_crs is not None and not crs_.same(file_crs, crs_.canonical(user_crs)):
        raise CRSMismatchError(
            f"{source.name} states the CRS {crs_.canonical(file_crs)} but {crs_.canonical(user_crs)} was given for it; "
            "leave crs out, or correct the file."
        )
    crs = user_crs if file_crs is None else file_crs
    if crs is None and from_geometry and domain.crs is not None:
        raise CRSMismatchError(
            f"{source.name} states no CRS but the domain has {domain.crs}; if its coordinates are in that CRS, say so "
            "(crs=..., or --points-crs on the command line)."
        )
    if crs is not None:
        crs_.require_same("points", crs, domain.crs)


# --- formats ---------------------------------------------------------------------------------------


def _open_parquet(source: Path, selection: _Selection, stack: contextlib.ExitStack) -> _OpenFile:
    import pyarrow.parquet as pq

    # Without pre-buffering: a row group may be as large as the file.
    file = stack.enter_context(pq.ParquetFile(source, pre_buffer=False, buffer_size=2**20))
    schema = file.schema_arrow
    if selection.columns:
        _check_columns(source, schema, selection.columns)
        batches = file.iter_batches(_BATCH, columns=list(selection.columns), use_pandas_metadata=False)
        return _OpenFile(None, (_column_batch(batch, selection.columns) for batch in batches))
    name, column = _geometry_column(source, schema)
    batches = file.iter_batches(_BATCH, columns=[name])
    read = _point_structs if column.get("encoding") == "point" else _wkb_points
    return _OpenFile(column.get("crs", "OGC:CRS84"), (read(batch.column(0)) for batch in batches))


def _geometry_column(source: Path, schema: pa.Schema) -> tuple[str, dict[str, Any]]:
    """Return the name of a GeoParquet file's geometry column, and its description in the metadata."""
    try:
        geo = json.loads((schema.metadata or {})[b"geo"])
        name = geo["primary_column"]
        column = dict(geo["columns"][name])
        types = list(column.get("geometry_types", []))
    except (KeyError, TypeError, ValueError):
        raise _no_geometry(source) from None
    _check_type(source, [str(kind) for kind in types])
    return str(name), column


def _open_csv(source: Path, selection: _Selection, stack: contextlib.ExitStack) -> _OpenFile:
    import pandas as pd

    if selection.columns is None:
        raise _no_geometry(source)
    # A file without a header has a record in its first line, so messages must not quote that line.
    first = pd.read_csv(source, header=None, nrows=1, dtype=str, encoding_errors="replace", keep_default_na=False)
    names = first.iloc[0].tolist()
    for name in selection.columns:
        if names.count(name) != 1:
            raise PointsError(
                f"the first line of {source.name} has {'more than one' if name in names else 'no'} column {name!r}; "
                "that line must have the names of the columns, separated by commas, and those of x and y once each."
            )
    # All columns as text: no record may change how others are read.
    chunks = stack.enter_context(
        pd.read_csv(
            source,
            usecols=list(selection.columns),
            dtype=str,
            chunksize=_BATCH,
            index_col=False,
            on_bad_lines="skip",
            encoding_errors="replace",
        )
    )
    return _OpenFile(None, (_text_batch(chunk, selection.columns) for chunk in chunks))


def _open_layer(source: Path, selection: _Selection, stack: contextlib.ExitStack) -> _OpenFile:
    import pyarrow as pa
    import pyogrio

    if not content_fits_suffix(source):
        raise ValueError("of another format")
    readable, layers = _layers_of(source)
    if selection.layer is not None and selection.layer not in layers:
        raise PointsError(f"{source.name} has no layer {selection.layer!r}; its layers are {layers}. Name one of them.")
    if selection.layer is None and len(layers) > 1:
        raise PointsError(f"{source.name} has several layers; name one of {layers}.")
    if selection.columns and source.suffix.lower() in _SCHEMALESS:
        raise PointsError(
            f"{source.name} is GeoJSON, which has points as geometries, not as columns; leave x and y out."
        )
    if selection.columns:
        with offline():
            fields = pyogrio.read_info(readable, layer=selection.layer or layers[0])["fields"].tolist()
        _check_names(source, fields, selection.columns)
    opening = pyogrio.raw.open_arrow(
        readable,
        layer=selection.layer or layers[0],
        columns=list(selection.columns or ()),
        read_geometry=selection.columns is None,
        batch_size=_BATCH,
    )
    with offline():
        meta, stream = stack.enter_context(opening)
    reader = pa.RecordBatchReader.from_stream(stream)
    if selection.columns:
        _check_columns(source, reader.schema, selection.columns)
        return _OpenFile(None, (_column_batch(batch, selection.columns) for batch in reader))
    kind = meta["geometry_type"]
    if kind is None:
        raise _no_geometry(source)
    _check_type(source, [] if kind == "Unknown" else [kind])
    name = meta["geometry_name"] or "wkb_geometry"
    # GDAL declares a GeoJSON file three-dimensional if a single record has a height.
    crs = "EPSG:4326" if meta["crs"] == "EPSG:4979" and source.suffix.lower() in _SCHEMALESS else meta["crs"]
    return _OpenFile(crs, (_wkb_points(batch.column(name)) for batch in reader))


def _layers_of(source: Path) -> tuple[Path | bytes, list[str]]:
    """Return the path or the bytes that GDAL can read, and the names of their layers.

    GDAL refuses a whole GeoJSON file for one number that no double can represent. Such a file is read from a copy in
    memory in which the number is infinite, or 0.
    """
    import pyogrio

    with offline():
        try:
            return source, pyogrio.list_layers(source)[:, 0].tolist()
        except Exception:
            if source.suffix.lower() not in _SCHEMALESS:
                raise
            plain = _plain_numbers(source)
        return plain, pyogrio.list_layers(plain)[:, 0].tolist()


def _plain_numbers(source: Path) -> bytes:
    """Return the same GeoJSON with all numbers as doubles represent them, and with the name of the layer in it."""
    parse = partial(json.loads, parse_int=lambda digits: int(digits) if len(digits) < 300 else float(digits))
    plain = json.dumps({"name": source.stem, **parse(source.read_bytes())}).encode()
    if ALGORITHM in plain:
        raise ValueError("of another format")
    return plain


FORMATS: dict[str, Callable[[Path, _Selection, contextlib.ExitStack], _OpenFile]] = {
    **dict.fromkeys((".parquet", ".geoparquet", ".pq"), _open_parquet),
    ".csv": _open_csv,
    **dict.fromkeys((".gpkg", ".geojson", ".json", ".shp", ".fgb"), _open_layer),
}
_SCHEMALESS = {".geojson", ".json"}


# --- schemas ---------------------------------------------------------------------------------------


def _check_names(source: Path, names: list[str], columns: tuple[str, str]) -> None:
    for name in columns:
        if names.count(name) != 1:
            raise PointsError(
                f"{source.name} has {'more than one' if name in names else 'no'} column {name!r}; "
                f"its columns are {', '.join(names) or 'none but the geometry; leave x and y out'}."
            )


def _check_columns(source: Path, schema: pa.Schema, columns: tuple[str, str]) -> None:
    _check_names(source, schema.names, columns)
    for name in columns:
        if not _numeric(schema.field(name).type):
            raise PointsError(
                f"column {name!r} of {source.name} is of type {schema.field(name).type}; coordinates must be numbers. "
                "Convert it first."
            )


def _numeric(kind: pa.DataType) -> bool:
    from pyarrow import types

    # A column of nulls alone has no type of its own. To refuse it would tell that all values are missing.
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind))


def _check_type(source: Path, declared: list[str]) -> None:
    """Refuse types that no data set of points declares; a file may declare none, as it does if it has no records."""
    kinds = [kind.removeprefix("2.5D ").removeprefix("3D ").split()[0] for kind in declared]
    if set(kinds) - {"Point"}:
        raise PointsError(
            f"{source.name} holds geometries of type {', '.join(declared)}; points are required. "
            "Use centroids, explode multi-points, or leave other geometries out, first."
        )


def _no_geometry(source: Path) -> PointsError:
    return PointsError(f"{source.name} has no geometry column; name the columns of its coordinates, x and y.")


# --- batches ---------------------------------------------------------------------------------------


def _column_batch(batch: pa.RecordBatch, columns: tuple[str, str]) -> Batch:
    x, y = (_doubles(batch.column(name)) for name in columns)
    return x, y


def _doubles(column: pa.Array) -> Floats:
    """Return a column of numbers as doubles; nulls become NaN and count nowhere."""
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _text_batch(chunk: Any, columns: tuple[str, str]) -> Batch:
    import pyarrow as pa
    import pyarrow.compute as pc

    coordinates = []
    for name in columns:
        text = pc.utf8_trim_whitespace(pa.array(chunk[name], pa.string(), from_pandas=True))
        number = pc.if_else(pc.match_substring_regex(text, _NUMBER), pc.utf8_ltrim(text, "+"), None)
        coordinates.append(_doubles(number))
    x, y = coordinates
    return x, y


def _wkb_points(column: pa.Array) -> Batch:
    import pyarrow.compute as pc
    import shapely

    short = pc.if_else(pc.less_equal(pc.binary_length(column), LONGEST_POINT), column, None)
    geometry = shapely.from_wkb(short.to_numpy(zero_copy_only=False), on_invalid="ignore")
    xy = shapely.get_coordinates(geometry[shapely.get_type_id(geometry) == 0])  # empty points have none
    return xy[:, 0], xy[:, 1]


def _point_structs(column: pa.Array) -> Batch:
    import pyarrow.compute as pc

    return _doubles(pc.struct_field(column, "x")), _doubles(pc.struct_field(column, "y"))
