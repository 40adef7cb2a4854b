"""Records in files: Parquet and GeoParquet, CSV, GeoPackage, GeoJSON, Shapefile; read in batches, 8 bytes a record.

What is refused depends on a file's schema alone: its columns and their types, the type of geometry it declares, its
CRS. A record that is not a point in the domain (missing or not finite, text that is no number, another geometry where
no schema speaks of types) counts nowhere, silently, as everywhere else: a message about it would tell that it is
there. Readers' own messages quote records and row numbers, so none of them is passed on. What is not a whole file of
its format at all (a truncated Parquet file, a CSV file with a quote that is never closed) can not be told into records.

A file is refused for its geometry only if it declares what no data set of points would: polygons, or several types, as
GeoParquet can. Layers that are declared to hold any geometry are read, and what is no point in them counts nowhere:
that is what usual writers declare of a layer without records, too, and one point must fare no other than none.
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
from spatialdp._support.gdal import ALGORITHM, is_what_it_is_called, offline
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
class _Wanted:
    """Where the coordinates are: two columns, or the geometry of a layer."""

    x: str | None
    y: str | None
    layer: str | None

    @property
    def columns(self) -> tuple[str, str] | None:
        return None if self.x is None or self.y is None else (self.x, self.y)


@dataclass(frozen=True)
class _Opened:
    """A file whose schema is in order: its CRS, if it states one, and its coordinates to come."""

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
        Public; the file is not opened without it.
    x, y : str, optional
        Names of the columns with the coordinates; the file's geometry by default. CSV has no geometry.
    layer : str, optional
        Of a GeoPackage with more than one.
    crs : optional
        Of the coordinates, where the file does not state it. Columns of numbers whose CRS is not given are taken to be
        in the domain's.

    Returns
    -------
    Points
        Snapped to the domain's lattice, 8 bytes a record.

    Raises
    ------
    PointsError
        If the file can not be read, or its schema has no points: missing columns, columns of text, a layer of
        polygons, geometries of several declared types.
    CRSMismatchError
        If its CRS is not the domain's.

    Privacy
    -------
    Errors depend on the schema, never on records (see the head of this module); nothing is warned of or logged.
    The one thing that is told of geometries is that a file declares other types than points: such a file is not a data
    set of points, and there is nothing to promise about it. Data sets of points, empty ones and points that are missing
    included, are never told apart.

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
        stack.enter_context(_discreet(source))
        opened = FORMATS[source.suffix.lower()](source, _Wanted(x, y, layer), stack)
        _check_crs(source, opened.crs, crs, domain, geometric=x is None)
        return LatticePoints([snap(*batch, domain) for batch in opened.batches], domain)


def _checked_path(source: Path) -> Path:
    """A file that exists, can be opened, has something in it, and a name that tells its format."""
    if source.is_dir():
        raise PointsError(f"{source} is a folder; give a single file of points.")
    if source.suffix.lower() not in FORMATS:
        raise PointsError(f"{source.name} does not end in a known format; use one of {', '.join(FORMATS)}.")
    try:
        with source.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise PointsError(f"{source} can not be opened ({os.strerror(error.errno or 0)}); check its name.") from None
    if empty:
        raise PointsError(f"{source} is an empty file, without so much as a header; was it written to the end?")
    return source


@contextlib.contextmanager
def _discreet(source: Path) -> Iterator[None]:
    """Let no reader's message, warning or log line out: they quote records."""
    log = logging.getLogger("pyogrio")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (SpatialDPError, MemoryError):
        raise
    except Exception:  # whatever a reader of eight formats may come up with
        raise PointsError(
            f"{source} can not be read as {source.suffix.lower()[1:]}: it is truncated, damaged or of another format. "
            "Open it in a GIS or ask for the original."
        ) from None
    finally:
        log.setLevel(level)


def _check_crs(source: Path, stated: Any, given: Any, domain: Domain, *, geometric: bool) -> None:
    """The CRS that the file states, or else the given one, must be the domain's."""
    if stated is not None and given is not None and not crs_.same(stated, crs_.canonical(given)):
        raise CRSMismatchError(
            f"{source.name} states the CRS {crs_.canonical(stated)} but {crs_.canonical(given)} was given for it; "
            "leave that out, or correct the file."
        )
    known = given if stated is None else stated
    if known is None and geometric and domain.crs is not None:
        raise CRSMismatchError(
            f"{source.name} states no CRS but the domain has {domain.crs}; if its coordinates are in that CRS, say so "
            "(crs=..., or --points-crs on the command line)."
        )
    if known is not None:
        crs_.require_same("points", known, domain.crs)


# --- formats ---------------------------------------------------------------------------------------


def _open_parquet(source: Path, wanted: _Wanted, stack: contextlib.ExitStack) -> _Opened:
    import pyarrow.parquet as pq

    # Without pre-buffering: a row group may be as large as the file.
    file = stack.enter_context(pq.ParquetFile(source, pre_buffer=False, buffer_size=2**20))
    schema = file.schema_arrow
    if wanted.columns:
        _check_columns(source, schema, wanted.columns)
        batches = file.iter_batches(_BATCH, columns=list(wanted.columns), use_pandas_metadata=False)
        return _Opened(None, (_column_batch(batch, wanted.columns) for batch in batches))
    name, column = _geometry_column(source, schema)
    batches = file.iter_batches(_BATCH, columns=[name])
    read = _point_structs if column.get("encoding") == "point" else _wkb_points
    return _Opened(column.get("crs", "OGC:CRS84"), (read(batch.column(0)) for batch in batches))


def _geometry_column(source: Path, schema: pa.Schema) -> tuple[str, dict[str, Any]]:
    """Name and description of a GeoParquet file's points."""
    try:
        geo = json.loads((schema.metadata or {})[b"geo"])
        name = geo["primary_column"]
        column = dict(geo["columns"][name])
        types = list(column.get("geometry_types", []))
    except (KeyError, TypeError, ValueError):
        raise _no_geometry(source) from None
    _check_type(source, [str(kind) for kind in types])
    return str(name), column


def _open_csv(source: Path, wanted: _Wanted, stack: contextlib.ExitStack) -> _Opened:
    import pandas as pd

    if wanted.columns is None:
        raise _no_geometry(source)
    # A file without a header has a record in its first line, so the names found are not told.
    first = pd.read_csv(source, header=None, nrows=1, dtype=str, encoding_errors="replace", keep_default_na=False)
    names = first.iloc[0].tolist()
    for name in wanted.columns:
        if names.count(name) != 1:
            raise PointsError(
                f"the first line of {source.name} has {'more than one' if name in names else 'no'} column {name!r}; it "
                "must hold the columns' names, separated by commas, each of the given ones once."
            )
    # All as text: what one record holds must not change how others are read.
    chunks = stack.enter_context(
        pd.read_csv(
            source,
            usecols=list(wanted.columns),
            dtype=str,
            chunksize=_BATCH,
            index_col=False,
            on_bad_lines="skip",
            encoding_errors="replace",
        )
    )
    return _Opened(None, (_text_batch(chunk, wanted.columns) for chunk in chunks))


def _open_layer(source: Path, wanted: _Wanted, stack: contextlib.ExitStack) -> _Opened:
    import pyarrow as pa
    import pyogrio

    if not is_what_it_is_called(source):
        raise ValueError("of another format")
    opened, layers = _layers_of(source)
    if wanted.layer is not None and wanted.layer not in layers:
        raise PointsError(f"{source.name} has no layer {wanted.layer!r}; its layers are {layers}.")
    if wanted.layer is None and len(layers) > 1:
        raise PointsError(f"{source.name} has several layers; name one of {layers}.")
    if wanted.columns and source.suffix.lower() in _SCHEMALESS:
        raise PointsError(f"{source.name} is GeoJSON, whose points are its geometry; leave x and y out.")
    if wanted.columns:
        with offline():
            fields = pyogrio.read_info(opened, layer=wanted.layer or layers[0])["fields"].tolist()
        _check_names(source, fields, wanted.columns)
    opening = pyogrio.raw.open_arrow(
        opened,
        layer=wanted.layer or layers[0],
        columns=list(wanted.columns or ()),
        read_geometry=wanted.columns is None,
        batch_size=_BATCH,
    )
    with offline():
        meta, stream = stack.enter_context(opening)
    reader = pa.RecordBatchReader.from_stream(stream)
    if wanted.columns:
        _check_columns(source, reader.schema, wanted.columns)
        return _Opened(None, (_column_batch(batch, wanted.columns) for batch in reader))
    kind = meta["geometry_type"]
    if kind is None:
        raise _no_geometry(source)
    _check_type(source, [] if kind == "Unknown" else [kind])
    name = meta["geometry_name"] or "wkb_geometry"
    # One record with a height makes GDAL call all of a GeoJSON file three-dimensional.
    crs = "EPSG:4326" if meta["crs"] == "EPSG:4979" and source.suffix.lower() in _SCHEMALESS else meta["crs"]
    return _Opened(crs, (_wkb_points(batch.column(name)) for batch in reader))


def _layers_of(source: Path) -> tuple[Path | bytes, list[str]]:
    """What GDAL is to open, and the names of its layers.

    For one number that no double holds, GDAL refuses a GeoJSON file as a whole. Such a file is read from a copy in
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
    """The same GeoJSON, with numbers as doubles have them and the layer's name inside."""
    parse = partial(json.loads, parse_int=lambda digits: int(digits) if len(digits) < 300 else float(digits))
    plain = json.dumps({"name": source.stem, **parse(source.read_bytes())}).encode()
    if ALGORITHM in plain:
        raise ValueError("of another format")
    return plain


FORMATS: dict[str, Callable[[Path, _Wanted, contextlib.ExitStack], _Opened]] = {
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

    # A column of nulls has no type of its own; that all are missing is a fact about records.
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind))


def _check_type(source: Path, declared: list[str]) -> None:
    """Refuse what no data set of points declares. Nothing declared is no reason: it may be a layer without records."""
    kinds = [kind.removeprefix("2.5D ").removeprefix("3D ").split()[0] for kind in declared]
    if set(kinds) - {"Point"}:
        raise PointsError(
            f"{source.name} holds geometries of type {', '.join(declared)}; points are required. "
            "Use centroids, explode multi-points, or leave the others out, first."
        )


def _no_geometry(source: Path) -> PointsError:
    return PointsError(f"{source.name} has no geometry column; name the columns of its coordinates, x and y.")


# --- batches ---------------------------------------------------------------------------------------


def _column_batch(batch: pa.RecordBatch, columns: tuple[str, str]) -> Batch:
    x, y = (_doubles(batch.column(name)) for name in columns)
    return x, y


def _doubles(column: pa.Array) -> Floats:
    """A column of numbers as doubles; nulls become NaN and count nowhere."""
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
