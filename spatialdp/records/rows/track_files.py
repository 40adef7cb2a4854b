"""How are trajectories read from files? Fixes with coordinates, a time and an identifier in columns, read at once.

Structure is checked as for points, and times and identifiers by the types that files declare for them. A fix whose time
or identifier is none counts nowhere, silently. Fixes are kept in memory, because those of a trajectory may lie anywhere
in the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from spatialdp.errors import PointsError
from spatialdp.records.files import FORMATS, selection_of, sources_of
from spatialdp.records.formats.base import Source, forgetful, quietly
from spatialdp.records.persons.identifiers import joined
from spatialdp.records.points import Points
from spatialdp.records.rows.times import Times
from spatialdp.records.rows.tracks import Tracks
from spatialdp.records.rows.values import column_reader
from spatialdp.records.streaming import Reading, each_quietly
from spatialdp.space.domain import Domain
from spatialdp.wording import either, parameter

__all__ = ["read_tracks"]

_OPTIONS = either("tid=... or time=...", "--trajectory or --time")
_SUFFIXES = (".parquet", ".geoparquet", ".pq", ".csv", ".tsv", ".csv.gz", ".tsv.gz")


@forgetful
def read_tracks(
    source: Any,
    domain: Domain,
    *,
    tid: str = "tid",
    time: str = "time",
    x: str | None = None,
    y: str | None = None,
    geometry: str | None = None,
    crs: Any = None,
    reproject: bool = False,
    person: str | None = None,
    file_format: str | None = None,
) -> Tracks:
    r"""Read sensitive trajectories from files, for use with one domain.

    Parameters
    ----------
    source : str, path, list of paths, or binary file
        One or more files: Parquet or GeoParquet, ``.csv``, ``.tsv``, both also with ``.gz``; a row for each fix.
        Folders, patterns and open files as for `read_points`.
    domain : Domain
        The public domain that the trajectories are for.
    tid, time : str
        The columns of the trajectory of each fix, and of its time: timestamps, dates or ISO text.
    x, y, geometry, crs, reproject, person, file_format
        As for `read_points`.

    Returns
    -------
    Tracks
        Fixes are read at once, and kept in memory.

    Privacy
    -------
    Errors depend on structure, never on records.

    Examples
    --------
    >>> import pathlib, tempfile, spatialdp as sdp
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rides.csv"
    >>> _ = path.write_text("tid,time,lng,lat\n7,2024-01-01 08:00,0.1,0.1\n7,2024-01-01 08:01,0.2,0.1\n")
    >>> sdp.read_tracks(path, sdp.Domain((0, 0, 1, 1)), x="lng", y="lat")
    Tracks(<private>)
    """
    for name, column in (("tid", tid), ("time", time)):
        if not isinstance(column, str):
            raise PointsError(f"{parameter(name)} is a {type(column).__name__}; give the name of a column.")
    selection = replace(selection_of(x, y, geometry, None, person), others=(tid, time), options=_OPTIONS)
    reading = Reading(selection, domain, crs, reproject)
    batches = [batch for file in _sources(source, file_format) for batch in _batches(file, reading)]
    places = (np.concatenate([np.zeros(0), *(batch[axis] for batch in batches)]) for axis in (0, 1))
    persons = None if person is None else joined([batch.person for batch in batches])
    tids = joined([batch.others[0].texts for batch in batches])
    return Tracks._of(
        Points(*places, crs=domain.crs, person=persons), tids, _joined(batch.others[1] for batch in batches)
    )


def _sources(source: Any, file_format: str | None) -> Sequence[Source]:
    sources = sources_of(source, file_format)
    for each in sources:
        if each.suffix not in _SUFFIXES:
            raise PointsError(
                f"{each.name} is a {each.suffix} file; trajectories are read from {', '.join(_SUFFIXES)}. Write them "
                "to one of these formats"
                f"{either(', or read the file with geopandas and give it to spatialdp.Tracks.from_frame', '')}."
            )
    return sources


def _batches(source: Source, reading: Reading) -> Iterator[Any]:
    """Yield the fixes of a file, in the domain's CRS, with their identifiers and times."""
    with ExitStack() as stack:
        table = quietly(partial(FORMATS[source.suffix], source, reading.selection, stack), source)
        crs = quietly(partial(reading.crs_of, source.name, table), source)
        kinds = [None, None] if table.others is None else table.others.types
        by_pandas = table.others is not None and b"pandas" in (table.others.metadata or {})
        readers = [
            column_reader(
                kind, f"column {name!r} of {source.name}", times=times, by_pandas=by_pandas, what="trajectories"
            )
            for times, name, kind in zip((False, True), reading.selection.others, kinds, strict=True)
        ]
        for batch in each_quietly(reading.moved(table.batches, crs), source):
            yield batch._replace(others=tuple(read(each) for read, each in zip(readers, batch.others, strict=True)))


def _joined(parts: Iterable[Times]) -> Times:
    """Return the times of several batches as one column."""
    known = list(parts)
    local = [np.broadcast_to(np.asarray(part.local), len(part)) for part in known]
    return Times(
        np.concatenate([np.zeros(0, dtype=np.int64), *(part.microseconds for part in known)]),
        np.concatenate([np.zeros(0, dtype=bool), *local]),
    )
