"""How are records with times and categories read from files? Batch by batch, each time that they are counted.

Places come from the same readers as without further columns (`records.files`, `records.codes`). Each batch brings its
other columns along; their values become one number for each record at once, the cell among all axes beside space, and
that number waits until the places of the batch are known. So memory holds a batch or two and the counts, whatever the
number of records. What can be read only once (streams, Arrow readers) or is in memory already is kept.

As everywhere, structure may be refused and a record never: one whose time, category, place or code is not on the
frame's axes counts nowhere, silently.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.override import override
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Person
from spatialdp.records.codes import CodeFile, FileCodes, opener_of_codes
from spatialdp.records.files import FORMATS, selection_of, sources_of
from spatialdp.records.formats.arrow import open_arrow, open_arrow_texts
from spatialdp.records.formats.base import Batch, Coded, Selection, Source, Table, forgetful, quietly
from spatialdp.records.points import check_bounds
from spatialdp.records.rows.rows import (
    Rows,
    axes_beside,
    checked_places,
    number_beside,
    places_in,
    with_place,
)
from spatialdp.records.rows.values import value_reader
from spatialdp.records.streaming import FilePoints, Opener, Reading, StoredFile, each_quietly
from spatialdp.space.domain import Domain
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.zone_axis import ZoneAxis
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FileRows", "read_rows"]

_SUFFIXES = (".parquet", ".geoparquet", ".pq", ".csv", ".tsv", ".csv.gz", ".tsv.gz")
_CODE = either("code", "--code-column")
Watch = Callable[[Iterator[Any]], Iterator[Any]]


@forgetful
def read_rows(
    source: Any,
    frame: Frame,
    *,
    x: str | None = None,
    y: str | None = None,
    geometry: str | None = None,
    code: str | None = None,
    crs: Any = None,
    reproject: bool = False,
    person: str | None = None,
    file_format: str | None = None,
    **columns: str,
) -> Rows:
    r"""Read sensitive records with times and categories from a file, for use with one frame.

    Parameters
    ----------
    source : str, path, list of paths, binary file, or Arrow table or reader
        One or more files: Parquet or GeoParquet, ``.csv``, ``.tsv``, both also with ``.gz``. Folders, patterns and open
        files as for `read_points`.
    frame : Frame
        The public frame that the records are for.
    x, y, geometry, crs, reproject, person, file_format
        As for `read_points`.
    code : str, optional
        For zones: name of the column of the codes of zones, instead of coordinates.
    **columns : str
        Names of the columns of the frame's other axes, such as ``time="reported at"``; an axis that is not named has
        the column of its own name.

    Returns
    -------
    Rows
        Records of files stay unread until they are counted; what was checked is their structure. Each release reads the
        files again, so they must stay as they are. Records of open files and Arrow tables are read at once and kept.

    Raises
    ------
    PointsError
        If a file cannot be read or has no such columns, or its schema declares a type that is not one of times (such as
        numbers) or of categories.
    CRSMismatchError
        As for `read_points`.

    Notes
    -----
    Times are timestamps, dates or ISO text; those without an offset are local in the time zone of the axis. Categories
    are text or whole numbers. In CSV, ``5.0`` is the category 5 as well, because pandas writes so.

    Privacy
    -------
    Errors depend on structure, never on records. A record whose time does not parse, or whose category or code is not
    on the public list, counts nowhere, silently.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import spatialdp as sdp
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "crimes.csv"
    >>> _ = path.write_text("lon,lat,when,kind\n0.5,0.5,2024-01-01 08:30,theft\n0.5,0.5,unknown,fraud\n")
    >>> day = sdp.Time("2024-01-01", "2024-01-02")
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)), time=day, kind=sdp.Categories(["theft", "fraud"]))
    >>> rows = sdp.read_rows(path, frame, x="lon", y="lat", time="when")
    >>> rows
    Rows(<private>, time=<private>, kind=<private>)
    >>> sdp.Table().release(rows, frame, epsilon=100).answer()
    1.0
    """
    if not isinstance(frame, Frame):
        raise PointsError(
            f"frame is a {type(frame).__name__}; give the spatialdp.Frame that the records are for. It is never taken "
            "from the records."
        )
    _refuse_frames(source)
    names = _names_of_columns(frame, columns)
    others = tuple(names.values())
    if code is not None:
        _check_code(frame, x, y, geometry)
        selection = Selection(person=person, code=code, others=others)
        places = _coded(source, selection, file_format, partial(_with_values, frame, names))
        return FileRows(places, frame)
    selection = replace(selection_of(x, y, geometry, None, person), others=others)
    reading = Reading(selection, _domain_of(frame), crs, reproject)
    return FileRows(_located(source, reading, file_format, partial(_with_values, frame, names)), frame)


class FileRows(Rows):
    """Records with further columns in files, which are read anew each time that they are counted.

    Parameters
    ----------
    places : WatchedPoints or WatchedCodes
    frame : Frame
        The frame whose axes the columns were read for.
    """

    __slots__ = ("_axes",)

    def __init__(self, places: WatchedPoints | WatchedCodes, frame: Frame) -> None:
        self._points: Any = places
        self._axes = {name: type(axis) for name, axis in axes_beside(frame).items()}
        self._columns = dict.fromkeys(self._axes)

    @override
    def _check(self, frame: Frame, person: Person | None) -> None:
        if {name: type(axis) for name, axis in axes_beside(frame).items()} != self._axes:
            raise PointsError(
                f"the rows were read for a frame with the axes {', '.join(self._axes) or 'of space alone'}, and are "
                f"now used with one with {', '.join(axes_beside(frame)) or 'space alone'}; read them again"
                f"{either(' with read_rows', '')} for the frame of the release."
            )
        checked_places(self._points, frame, person)
        if isinstance(self._points, WatchedPoints):
            check_bounds(self._points.bounds, _domain_of(frame))

    @override
    def _numbers(self, frame: Frame, person: Person | None) -> Iterator[tuple[pa.Array | None, Integers]]:
        beside = _Beside(frame)
        for persons, places in places_in(self._points.watched(beside.watch), frame, person):
            yield persons, with_place(frame, beside.take(places.size), places)


class _Beside:
    """The numbers of records among the cells of all axes beside space, which wait for the places of the records."""

    def __init__(self, frame: Frame) -> None:
        self._frame, self._names = frame, list(axes_beside(frame))
        self._waiting: deque[Integers] = deque()

    def watch(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield batches, and keep the numbers of their records."""
        for batch in batches:
            self._waiting.append(self._numbers(batch))
            yield batch._replace(others=())

    def take(self, count: int) -> Integers:
        """Return the numbers of the next records, in the order of the batches."""
        taken, missing = [np.empty(0, dtype=np.int64)], count
        while missing:
            numbers = self._waiting.popleft()
            if numbers.size > missing:
                self._waiting.appendleft(numbers[missing:])
            taken.append(numbers[:missing])
            missing -= taken[-1].size
        return np.concatenate(taken)

    def _numbers(self, batch: Any) -> Integers:
        pairs = zip(self._names, batch.others, strict=True)
        count = len(batch.codes if isinstance(batch, Coded) else batch.x)
        return number_beside(self._frame, {name: each.places(self._frame.axes[name]) for name, each in pairs}, count)


# --- places ----------------------------------------------------------------------------------------


class WatchedPoints(FilePoints):
    """Points of rows: a counter sees each batch, with its other columns, before its places are found.

    Parameters
    ----------
    files : tuple of StoredFile
    reading : Reading
    held : sequence of Batch
        Records that are in memory.
    watch : callable
        Takes the batches and yields them.
    """

    __slots__ = ("_held", "_watch")

    def __init__(
        self, files: tuple[StoredFile, ...], reading: Reading, held: Sequence[Batch] = (), watch: Watch = iter
    ) -> None:
        super().__init__(files, reading)
        self._held, self._watch = held, watch

    @property
    def bounds(self) -> tuple[float, ...]:
        """The bounds of the domain that the points were read for."""
        return self._reading.domain.bounds

    def watched(self, watch: Watch) -> WatchedPoints:
        """Return the same points for another counter."""
        return WatchedPoints(self._files, self._reading, self._held, watch)

    @override
    def _batches(self, domain: Domain) -> Iterator[Batch]:
        return self._watch(chain(super()._batches(domain), self._held))


class WatchedCodes(FileCodes):
    """Codes of rows; as for `WatchedPoints`."""

    __slots__ = ("_held", "_watch")

    def __init__(
        self, files: Sequence[CodeFile], selection: Selection, held: Sequence[Coded] = (), watch: Watch = iter
    ) -> None:
        super().__init__(files, selection)
        self._held, self._watch = held, watch

    def watched(self, watch: Watch) -> WatchedCodes:
        """Return the same codes for another counter."""
        return WatchedCodes(self._files, self._selection, self._held, watch)

    @override
    def _batches(self) -> Iterator[Coded]:
        return self._watch(chain(super()._batches(), self._held))


def _located(source: Any, reading: Reading, file_format: str | None, wrap: Callable[..., Opener]) -> WatchedPoints:
    """Open files, streams or an Arrow table of records with coordinates."""
    if hasattr(source, "__arrow_c_stream__"):
        opened = [(Source("the Arrow table", ".arrow"), wrap(lambda _, selection, __: open_arrow(source, selection)))]
    else:
        opened = [(file, wrap(FORMATS[file.suffix])) for file in _sources(source, file_format)]
        if all(file.stream is None for file, _ in opened):
            return WatchedPoints(tuple(StoredFile.check(*each, reading) for each in opened), reading)
    held = []
    for file, opener in opened:
        with ExitStack() as stack:
            table = quietly(partial(opener, file, reading.selection, stack), file)
            crs = quietly(partial(reading.crs_of, file.name, table), file)
            held += list(each_quietly(reading.moved(table.batches, crs), file))
    return WatchedPoints((), reading, held)


def _coded(source: Any, selection: Selection, file_format: str | None, wrap: Callable[..., Opener]) -> WatchedCodes:
    """Open files, streams or an Arrow table of records with codes."""
    if hasattr(source, "__arrow_c_stream__"):
        opened = [(Source("the Arrow table", ".arrow"), wrap(lambda _, wanted, __: open_arrow_texts(source, wanted)))]
    else:
        opened = [(file, wrap(opener_of_codes(file))) for file in _sources(source, file_format)]
        if all(file.stream is None for file, _ in opened):
            return WatchedCodes([CodeFile.check(*each, selection) for each in opened], selection)
    held: list[Coded] = []
    for file, opener in opened:
        with ExitStack() as stack:
            table = quietly(partial(opener, file, selection, stack), file)
            held += list(each_quietly(iter(table.batches), file))
    return WatchedCodes([], selection, held)


def _with_values(frame: Frame, names: Mapping[str, str], opener: Opener) -> Opener:
    """Return an opener whose batches have values of the frame's axes in the place of columns as they are stored."""
    axes = axes_beside(frame)

    def open_it(source: Source, selection: Selection, stack: ExitStack) -> Table:
        table = opener(source, selection, stack)
        kinds = [None] * len(names) if table.others is None else table.others.types
        by_pandas = table.others is not None and b"pandas" in (table.others.metadata or {})
        readers = [
            value_reader(axes[name], kind, f"column {column!r} of {source.name}", by_pandas=by_pandas)
            for (name, column), kind in zip(names.items(), kinds, strict=True)
        ]
        return replace(table, batches=_read(table.batches, readers))

    return open_it


def _read(batches: Iterable[Any], readers: Sequence[Callable[[pa.Array], Any]]) -> Iterator[Any]:
    for batch in batches:
        yield batch._replace(others=tuple(read(each) for read, each in zip(readers, batch.others, strict=True)))


# --- checks of what was asked for ------------------------------------------------------------------


def _names_of_columns(frame: Frame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the name of the column of each axis beside space."""
    axes = axes_beside(frame)
    unknown = [name for name in columns if name not in axes]
    if unknown:
        raise PointsError(
            f"{parameter(unknown[0])} is no axis of the frame beside space; its axes are {', '.join(axes) or 'none'}. "
            "Name the columns of these."
        )
    for name, column in columns.items():
        if not isinstance(column, str):
            raise PointsError(
                f"{parameter(name)} is a {type(column).__name__}; give the name of a column. Arrays are given to "
                f"{either('spatialdp.Rows', 'it in Python')}."
            )
    return {name: columns.get(name, name) for name in axes}


def _check_code(frame: Frame, *places: str | None) -> None:
    if any(name is not None for name in places):
        raise PointsError(
            f"{_CODE} was given with {parameter('x')}, {parameter('y')} or {parameter('geometry')}; "
            "records are codes or places: leave one out."
        )
    if not isinstance(frame.space, ZoneAxis):
        raise PointsError(
            f"{_CODE} is for codes of zones, but the frame has a grid; give columns of coordinates, or a "
            "frame of zones."
        )


def _domain_of(frame: Frame) -> Domain:
    if frame.domain is None:
        raise PointsError(
            "the zones have no geometries, so records can be located by codes alone; name the column of their codes "
            f"with {either('code=...', '--code-column')}, or give zones with geometries."
        )
    return frame.domain


def _refuse_frames(source: Any) -> None:
    if hasattr(source, "iloc"):
        raise PointsError(
            "the records are in a DataFrame, which needs no reading; give it to spatialdp.Rows, with the names of its "
            "columns."
        )


def _sources(source: Any, file_format: str | None) -> list[Source]:
    sources = sources_of(source, file_format)
    for each in sources:
        if each.suffix not in _SUFFIXES:
            raise PointsError(
                f"{each.name} is a {each.suffix} file; records with times and categories are read from "
                f"{', '.join(_SUFFIXES)}. Write them to one of these formats"
                f"{either(', or read the file with geopandas and give it to spatialdp.Rows', '')}."
            )
    return sources
