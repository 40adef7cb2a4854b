"""Reading records from files, streams, frames and Arrow tables, for use with one domain.

Files are read in batches, and each batch is snapped to the domain's lattice at once: 8 bytes a record.

Whether something is refused depends on its **structure** alone: that it is a whole file of its format, its columns and
the types that its schema declares, its CRS, and the names and the number of files. A **record** that is not one point
in the domain (missing or not finite, text that is not a number, a curve, bytes that mean nothing) counts nowhere,
silently, in every format and in memory: a message about the record would tell that it exists. No library judges a
record either: each format's module reads what it needs so that one record changes nothing for the others
(``docs/design/files.md``). What a library raises is replaced by one error of ours, without the original, whose message
and variables may hold records.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from spatialdp._support.arrays import Array
from spatialdp.errors import CRSMismatchError, PointsError, SpatialDPError
from spatialdp.records.formats.arrow import open_arrow, open_parquet
from spatialdp.records.formats.base import Batch, Selection, Source, Table, forgetful, quietly
from spatialdp.records.formats.delimited import open_delimited
from spatialdp.records.formats.flatgeobuf import open_flatgeobuf
from spatialdp.records.formats.geojson import open_geojson
from spatialdp.records.formats.geopackage import open_geopackage
from spatialdp.records.formats.shapefile import open_shapefile
from spatialdp.records.frames import open_frame
from spatialdp.records.points import LatticePoints, snap
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.placement import check_column_names
from spatialdp.space.reprojection import point_transformation
from spatialdp.wording import either, parameter

__all__ = ["FORMATS", "paths_of", "read_points"]

FORMATS: dict[str, Callable[[Source, Selection, contextlib.ExitStack], Table]] = {
    **dict.fromkeys((".parquet", ".geoparquet", ".pq"), open_parquet),
    **dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), open_delimited),
    ".gpkg": open_geopackage,
    **dict.fromkeys((".geojson", ".json"), open_geojson),
    ".shp": open_shapefile,
    ".fgb": open_flatgeobuf,
}


@forgetful
def read_points(
    source: Any,
    domain: Domain,
    *,
    x: str | None = None,
    y: str | None = None,
    geometry: str | None = None,
    layer: str | None = None,
    crs: Any = None,
    reproject: bool = False,
    file_format: str | None = None,
) -> LatticePoints:
    r"""Read sensitive locations from a file, for use with one domain.

    Parameters
    ----------
    source : str, path, list of paths, binary file, frame, or Arrow table or reader
        One or more files: Parquet or GeoParquet (``.parquet``, ``.geoparquet``, ``.pq``), ``.csv``, ``.tsv``, both also
        with ``.gz``, ``.gpkg``, ``.geojson``, ``.shp`` or ``.fgb``. A folder stands for all files in it and below it,
        which must be of one format, and a pattern such as ``"trips/2024-*.parquet"`` for the files that it matches. The
        names and the number of files are public. An open binary file, such as ``sys.stdin.buffer``, is read to its end.
        Of a frame of pandas or geopandas, `x` and `y` or `geometry` name the columns. Anything else with
        ``__arrow_c_stream__`` is an Arrow table.
    domain : Domain
        The public domain that the points are for.
    x, y : str, optional
        Names of the columns with the coordinates; by default the geometry that the file declares.
    geometry : str, optional
        Name of a column of points: WKB, WKT or GeoArrow in Parquet and Arrow, WKT in CSV, and WKB, WKT or geometries of
        shapely in frames.
    layer : str, optional
        Name of the layer, in a GeoPackage with more than one.
    crs : optional
        CRS of the coordinates, if the file does not state it. Columns without a CRS are taken to be in the domain's.
    reproject : bool
        Whether to reproject points that are in another CRS than the domain; by default such files are refused. A point
        that has no coordinates in the domain's CRS counts nowhere.
    file_format : str, optional
        The format, as a suffix such as ``"csv"``, if names do not have it; required for an open file.

    Returns
    -------
    Points
        The records, snapped to the domain's lattice; 8 bytes each.

    Raises
    ------
    PointsError
        If a file cannot be read, or its structure has no points: missing columns, columns of dates, a layer that is a
        view. Also if the columns of x and y are named like the other axis, such as ``x="lat"``.
    CRSMismatchError
        If the CRS of a file is not the domain's, unless the points are to be reprojected; also if there is no way from
        one to the other.

    Privacy
    -------
    Errors depend on structure, never on records (see the head of this module); nothing is warned of or logged. A record
    that is not one point counts nowhere: in a layer of lines or polygons, none does. A multi-point of one part is that
    point. Files are read as their format says, so a file that is damaged cannot be divided into records and is refused
    as a whole.

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
    selection = _selection(x, y, geometry, layer)

    def read(name: str, table: Table) -> list[Any]:
        move = _transformation(_checked_crs(name, table, crs, domain), domain, reproject=reproject)
        return [snap(*(batch if move is None else move(*batch)), domain) for batch in table.batches]

    if hasattr(source, "iloc") or hasattr(source, "__arrow_c_stream__"):
        what, open_it = _frame_or_table(source)
        return LatticePoints(quietly(lambda: read(what.name, open_it(source, selection)), what), domain)
    parts = []
    for file in _files(source, file_format):
        parts += quietly(partial(_read_file, file, selection, read), file)
    return LatticePoints(parts, domain)


def _frame_or_table(source: Any) -> tuple[Source, Callable[[Any, Selection], Table]]:
    """Return how messages call a frame or a table, and its opener; frames of pandas are not read as Arrow tables."""
    if hasattr(source, "iloc"):
        return Source(f"the {type(source).__name__}", ".frame"), open_frame
    return Source("the Arrow table", ".arrow"), open_arrow


def _selection(x: str | None, y: str | None, geometry: str | None, layer: str | None) -> Selection:
    if (x is None) != (y is None):
        raise PointsError(
            f"only one of {parameter('x')} and {parameter('y')} was given; name both columns, or neither to use the "
            "geometry."
        )
    if x is not None and geometry is not None:
        raise PointsError(
            f"{parameter('x')}, {parameter('y')} and {parameter('geometry')} were given; name two columns of numbers, "
            "or one of points."
        )
    check_column_names(x, y)
    return Selection(x, y, geometry, layer)


def _read_file(source: Source, selection: Selection, read: Callable[[str, Table], list[Any]]) -> list[Any]:
    with contextlib.ExitStack() as stack:
        return read(source.name, FORMATS[source.suffix](source, selection, stack))


# --- which files -----------------------------------------------------------------------------------


def _files(source: Any, file_format: str | None) -> list[Source]:
    """Return the files that the caller means, each checked to be readable and of a known format."""
    if hasattr(source, "read"):
        return [Source("the stream", _suffix("the stream", file_format), stream=source)]
    if isinstance(source, list | tuple):
        return [file for each in source for file in _files(each, file_format)]
    if not isinstance(source, str | os.PathLike):
        raise PointsError(
            f"points are to be read from a {type(source).__name__}; give the path of a file, an open binary file, a "
            "frame or an Arrow table. Arrays and lists are given to spatialdp.Points."
        )
    return [_checked_path(path, file_format) for path in paths_of(source)]


def paths_of(source: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a path means: itself, the files in a folder, or those that a pattern matches."""
    path = Path(os.fspath(source))
    if path.is_dir():
        return _in_folder(path)
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    paths = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    if not paths:
        raise PointsError(f"no file matches {path}; check the pattern.")
    return paths


def _in_folder(folder: Path) -> list[Path]:
    """Return the files of points in a folder and below it; hidden ones, and those named _..., are not data."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and _suffix_of(path.name) is not None]
    paths = [path for path in paths if not any(part[0] in "._" for part in path.relative_to(folder).parts)]
    suffixes = sorted({str(_suffix_of(path.name)) for path in paths})
    if len(suffixes) != 1:
        held = f"files of several formats ({', '.join(suffixes)})" if suffixes else "no files of points"
        raise PointsError(f"{folder} is a folder with {held}; give a file, or a pattern such as {folder}/*.csv.")
    return paths


def _suffix_of(name: str) -> str | None:
    """Return the suffix of a known format that a name ends with, the longest one."""
    suffixes = sorted((suffix for suffix in FORMATS if name.lower().endswith(suffix)), key=len)
    return suffixes[-1] if suffixes else None


def _suffix(name: str, file_format: str | None) -> str:
    suffix = _suffix_of(name) if file_format is None else f".{file_format.lower().removeprefix('.')}"
    if suffix is None or suffix not in FORMATS:
        option = either("file_format", "--points-format")
        given = f"{name} does not have the suffix of a known format"
        if file_format is not None:
            given = f"{option} is {file_format!r}, which is not a known format"
        raise PointsError(f"{given}; use one of {', '.join(FORMATS)}, or give {option}.")
    return suffix


def _checked_path(path: Path, file_format: str | None = None) -> Source:
    """Return a path as a source, checked to be a file that can be opened, is not empty, and has a known format."""
    suffix = _suffix(path.name, file_format)
    if path.exists() and not path.is_file():
        advice = either("open it and give file_format", "use standard input (-)")
        raise PointsError(f"{path} is not a regular file; give a file, or {advice}.")
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
    else:
        reason = "an empty file, without even a header" if empty else ""
    if reason.startswith("an empty"):
        raise PointsError(f"{path} is {reason}; write it again, or give another file.")
    if reason:
        raise PointsError(f"{path} cannot be opened ({reason}); check its name.")
    return Source(str(path), suffix, path=path)


def _checked_crs(name: str, table: Table, user_crs: Any, domain: Domain) -> Any:
    """Return the CRS that the file states, or else the one that the user gives; None if plain columns have neither."""
    if table.crs is not None and user_crs is not None and not crs_.same(table.crs, crs_.canonical(user_crs)):
        raise CRSMismatchError(
            f"{name} states the CRS {crs_.canonical(table.crs)} but {crs_.canonical(user_crs)} was given for it; "
            f"leave {either('crs', '--points-crs')} out, or correct the file."
        )
    crs = user_crs if table.crs is None else table.crs
    if crs is None and not table.plain and domain.crs is not None:
        raise CRSMismatchError(
            f"{name} states no CRS but the domain has {domain.crs}; if its coordinates are in that CRS, say so: "
            f"{either(f'crs={domain.crs!r}', f'--points-crs {domain.crs}')}."
        )
    return crs


def _transformation(crs: Any, domain: Domain, *, reproject: bool) -> Callable[[Array, Array], Batch] | None:
    """Return the function that takes coordinates from a CRS to the domain's; None if it is the domain's already."""
    if crs is None:
        if reproject:
            raise CRSMismatchError(
                "the points are to be reprojected, but their CRS is not known; give it with "
                f"{either('crs', '--points-crs')}."
            )
        return None
    if not reproject or domain.crs is None or crs_.same(crs, domain.crs):
        crs_.require_same("points", crs, domain.crs)
        return None
    try:
        return point_transformation(crs, domain.crs, domain.bounds)
    except Exception as error:  # pyproj has several; they are about the two CRS, and no record has been read
        ours = error if isinstance(error, SpatialDPError) else None
    raise ours or CRSMismatchError(
        f"the points have CRS {crs_.canonical(crs)} and pyproj cannot reproject them to the domain's, {domain.crs}; "
        "reproject them with another tool, or choose another CRS for the domain."
    )
