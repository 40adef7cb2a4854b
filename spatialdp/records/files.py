"""Reading records from files, streams, frames and Arrow tables, for use with one domain.

Files stay unread until they are counted (`records.streaming`). What can be read only once (streams, Arrow readers) or
is in memory already (frames, tables) is read in batches, and each is snapped to the domain's lattice at once: 8 bytes a
record.

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
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from spatialdp.errors import PointsError
from spatialdp.records.formats.arrow import open_arrow, open_parquet
from spatialdp.records.formats.base import Batch, Selection, Source, Table, forgetful, quietly
from spatialdp.records.formats.delimited import open_delimited
from spatialdp.records.formats.flatgeobuf import open_flatgeobuf
from spatialdp.records.formats.geojson import open_geojson
from spatialdp.records.formats.geopackage import open_geopackage
from spatialdp.records.formats.shapefile import open_shapefile
from spatialdp.records.frames import open_frame
from spatialdp.records.points import Points
from spatialdp.records.streaming import FilePoints, Opener, Reading, StoredFile, each_quietly, kept
from spatialdp.space.domain import Domain
from spatialdp.space.placement import check_column_names
from spatialdp.wording import either, parameter

__all__ = ["FORMATS", "paths_of", "read_points", "selection_of", "sources_of"]

FORMATS: dict[str, Opener] = {
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
    person: str | None = None,
    file_format: str | None = None,
) -> Points:
    r"""Read sensitive locations from a file, for use with one domain.

    Parameters
    ----------
    source : str, path, list of paths, binary file, data frame, or Arrow table or reader
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
    person : str, optional
        Name of the column (in GeoJSON, of the property) that says who a record is about, if persons are to be protected
        rather than records; releases then need a bound, a `Person`. Whole numbers and text are persons, and UUIDs in
        Parquet, Arrow and frames. 5, "5" and 5.0 are one person. A record without a person counts nowhere; so does one
        with another value, such as 0.5, and in CSV and Shapefiles one with an empty cell.
    file_format : str, optional
        The format, as a suffix such as ``"csv"``, if names do not have it; required for an open file.

    Returns
    -------
    Points
        Records of files stay unread until they are counted; what was checked is their structure. Each release reads the
        files again, so they must stay as they are. Records of open files, frames and tables are read at once and kept
        on the domain's lattice, 8 bytes each. With persons, counting holds 16 bytes for each record, and the text of
        identifiers that are not whole numbers.

    Raises
    ------
    PointsError
        If a file cannot be read, or its structure has no points: missing columns, columns of dates, a layer that is a
        view, a column of persons that is declared to hold fractions. Also if the columns of x and y are named like the
        other axis, such as ``x="lat"``. Damage that shows only when records are read raises it in the release, before
        noise is drawn.
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
    >>> _ = path.write_text("lon,lat,who\n0.5,0.5,ann\nunknown,,bob\n7,7,\n")
    >>> read_points(path, Domain((0, 0, 1, 1)), x="lon", y="lat")
    Points(<private>)
    >>> read_points(path, Domain((0, 0, 1, 1)), x="lon", y="lat", person="who")
    Points(<private>, person=<private>)
    """
    if not isinstance(domain, Domain):
        raise PointsError(
            f"domain is a {type(domain).__name__}; give the spatialdp.Domain, with public bounds, that the points are "
            "for. It is never taken from the points."
        )
    reading = Reading(selection_of(x, y, geometry, layer, person), domain, crs, reproject)
    if hasattr(source, "iloc") or hasattr(source, "__arrow_c_stream__"):
        what, open_it = _frame_or_table(source)
        return kept(_batches(what, lambda *_: open_it(source, reading.selection), reading), reading)
    files = sources_of(source, file_format)
    if all(file.stream is None for file in files):
        return FilePoints(tuple(StoredFile.check(file, FORMATS[file.suffix], reading) for file in files), reading)
    return kept((batch for file in files for batch in _batches(file, FORMATS[file.suffix], reading)), reading)


def _frame_or_table(source: Any) -> tuple[Source, Callable[[Any, Selection], Table]]:
    """Return how messages call a frame or a table, and its opener; frames of pandas are not read as Arrow tables."""
    if hasattr(source, "iloc"):
        return Source(f"the {type(source).__name__}", ".frame"), open_frame
    return Source("the Arrow table", ".arrow"), open_arrow


def selection_of(
    x: str | None, y: str | None, geometry: str | None, layer: str | None, person: str | None
) -> Selection:
    """Return where the coordinates and the persons are, checked to be clear."""
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
    if not isinstance(person, str | None):
        raise PointsError(
            f"{either('person', '--person-column')} is a {type(person).__name__}; give the name of a column. Arrays of "
            f"persons are given to {either('spatialdp.Points', 'it in Python')}."
        )
    return Selection(x, y, geometry, layer, person)


def _batches(source: Source, opener: Opener, reading: Reading) -> Iterator[Batch]:
    """Yield the records of something that is read once."""
    with contextlib.ExitStack() as stack:
        table = quietly(partial(opener, source, reading.selection, stack), source)
        crs = quietly(partial(reading.crs_of, source.name, table), source)
        yield from each_quietly(reading.moved(table.batches, crs), source)


# --- which files -----------------------------------------------------------------------------------


def sources_of(source: Any, file_format: str | None = None) -> list[Source]:
    """Return the files that the caller means, each checked to be readable and of a known format."""
    if hasattr(source, "read"):
        return [Source("the stream", _suffix("the stream", file_format), stream=source)]
    if isinstance(source, list | tuple):
        return [file for each in source for file in sources_of(each, file_format)]
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
    return Source(str(path), suffix, path=path.absolute())  # it may be read after a change of the working directory
