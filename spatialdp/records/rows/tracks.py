"""Where was each traveller, step by step? Fixes with a trajectory and a time, read off at equal steps of time.

A trajectory is all fixes of one identifier (of one person's identifier, if persons are named), in the order of their
times. Its position at start + i steps is that of the last fix at or before that time. Fixes outside the domain or its
region, without a time or without an identifier count nowhere, silently, as if they were not in the data; so do steps
after the longest length that is allowed. If persons are protected, the trajectories of a person that begin first are
kept, up to the bound: it depends on this person's records alone. All of this is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Person
from spatialdp.records.formats.base import forgetful
from spatialdp.records.persons.identifiers import persons_of, texts_of
from spatialdp.records.points import Points, as_points
from spatialdp.records.rows.times import Times, times_of
from spatialdp.space.domain import Domain
from spatialdp.space.paths.systems import System, squares_inside
from spatialdp.wording import parameter, quoted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Paths", "Tracks", "as_tracks", "paths_of"]

_NEVER = np.iinfo(np.int64).min


class Tracks:
    """Sensitive records of trajectories: fixes with a place, a time, and the trajectory that they belong to.

    Parameters
    ----------
    points : Points, or anything that `Points` takes
        The places of the fixes, in any order. They are held in memory.
    tid : array-like
        The trajectory of each fix: whole numbers, text or UUIDs.
    time : array-like
        Datetimes or ISO text. Times without an offset are taken as they are.
    person : array-like, optional
        Who each fix is about. Without persons, the promise protects single trajectories.

    Raises
    ------
    PointsError
        If a column has the wrong form or length. No record causes an error, whatever its value.

    Privacy
    -------
    The object shows nothing about its records.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> sdp.Tracks([[0.1, 0.1], [0.2, 0.1]], tid=[1, 1], time=["2024-01-01 08:00", "2024-01-01 08:01"])
    Tracks(<private>)
    """

    __slots__ = ("_points", "_tids", "_times")

    @forgetful
    def __init__(self, points: Any, *, tid: Any, time: Any, person: Any = None) -> None:
        if isinstance(points, Points) and person is not None:
            raise PointsError("the points name their persons themselves; leave person out, and give it to the points.")
        self._points = points if isinstance(points, Points) else Points(points, person=person)
        if type(self._points) is not Points:
            raise PointsError(
                "the points stay in a file or an engine, but trajectories need times beside them; read the columns "
                "into memory, and give those."
            )
        self._tids, self._times = persons_of(tid, parameter("tid")), times_of(time)
        count = self._points._x.shape[0]
        if len(self._tids) != count or len(self._times) != count:
            raise PointsError(
                f"the points, {parameter('tid')} and {parameter('time')} have different lengths; each fix needs all "
                "three, or a missing value. Give as many."
            )

    @classmethod
    @forgetful
    def from_frame(
        cls, frame: Any, *, tid: str = "tid", time: str = "time", x: str = "x", y: str = "y", person: str | None = None
    ) -> Tracks:
        """Take trajectories from the columns of a frame of pandas or geopandas.

        Parameters
        ----------
        frame : DataFrame or GeoDataFrame
            The points of a GeoDataFrame are its geometry; `x` and `y` are then not looked at.
        tid, time, x, y : str
            The names of the columns; scikit-mobility has ``time="datetime", x="lng", y="lat"``.
        person : str, optional
            The column that says who each fix is about, such as ``"uid"``.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"tid": [1], "time": ["2024-01-01"], "x": [0.1], "y": [0.3], "uid": ["ann"]})
        >>> Tracks.from_frame(frame, person="uid")
        Tracks(<private>)
        """
        persons = None if person is None else _column(frame, person)
        geometry = getattr(frame, "geometry", None) if hasattr(frame, "sjoin") else None
        if geometry is None:
            points = Points(_column(frame, x), _column(frame, y), person=persons)
        else:
            points = Points(geometry, person=persons)
        return cls(points, tid=_column(frame, tid), time=_column(frame, time))

    @classmethod
    def _of(cls, points: Points, tids: pa.Array, times: Times) -> Tracks:
        """Take columns that are read already."""
        tracks = cls.__new__(cls)
        tracks._points, tracks._tids, tracks._times = points, tids, times
        return tracks

    def __repr__(self) -> str:
        return "Tracks(<private>)"


@dataclass(frozen=True, eq=False)
class Paths:
    """The positions of trajectories at equal steps of time; private.

    Attributes
    ----------
    starts : (n + 1,) integer array
        Where the positions of each trajectory begin, and the end of the last; each has at least one.
    columns, rows : integer arrays
        The lattice square of each position.
    """

    starts: Integers
    columns: Array
    rows: Array

    @property
    def sizes(self) -> Integers:
        """The number of positions of each trajectory."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Integers:
        """The trajectory of each position."""
        return np.repeat(np.arange(self.starts.size - 1), self.sizes)


@forgetful
def paths_of(
    tracks: Tracks,
    domain: Domain,
    step: int,
    longest: int,
    person: Person | None = None,
    *,
    systems: Sequence[System] = (),
) -> Paths:
    """Return the positions of the trajectories at equal steps of time.

    Parameters
    ----------
    tracks : Tracks
    domain : Domain
    step : int
        Microseconds from one position to the next.
    longest : int
        The most steps of a trajectory; later ones are cut off.
    person : Person, optional
        At most how many trajectories of each person are kept.
    systems : sequence of System
        If the domain has a region, fixes count that lie in cells of the region in each of these.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> times = ["2024-01-01 08:00", "2024-01-01 08:01:30", "2024-01-01 08:03"]
    >>> tracks = Tracks([[0.1, 0], [0.6, 0], [0.9, 0]], tid=[7, 7, 7], time=times)
    >>> (paths_of(tracks, Domain((0, 0, 1, 1)), 60_000_000, 60).columns / 2**30).round(1).tolist()
    [0.1, 0.1, 0.6, 0.9]
    """
    squares = list(tracks._points._squares(domain))
    empty = np.zeros(0, dtype=np.int32)
    columns, rows = (np.concatenate([empty, *(part[axis] for part in squares)]) for axis in (0, 1))
    owners, times = _ranks(tracks._points._persons, columns.size), tracks._times.microseconds
    tids = _ranks(tracks._tids, columns.size)
    counts = (columns >= 0) & (times != _NEVER) & (tids >= 0) & (owners >= 0)
    if domain.region is not None:
        counts[counts] = squares_inside(columns[counts], rows[counts], domain, systems)
    columns, rows, owners, times, tids = (each[counts] for each in (columns, rows, owners, times, tids))
    order = np.lexsort((rows, columns, times, tids, owners))
    columns, rows, owners, times, tids = (each[order] for each in (columns, rows, owners, times, tids))
    first = np.flatnonzero(_changes(owners) | _changes(tids))
    if person is None:
        return _at_steps(first, columns, rows, times, step, longest)
    kept = _first_of_each(owners[first], times[first], tids[first], person.most)
    fixes = np.repeat(kept, np.diff(first, append=times.size))
    sizes = np.diff(first, append=times.size)[kept]
    first = np.cumsum(sizes) - sizes
    return _at_steps(first, columns[fixes], rows[fixes], times[fixes], step, longest)


def as_tracks(records: Any, domain: Domain, person: Person | None = None) -> Tracks:
    """Return the caller's trajectories, checked to fit a domain and a bound; a frame has the usual names of columns."""
    if hasattr(records, "iloc") and hasattr(records, "columns"):
        records = Tracks.from_frame(records, person=None if person is None else "uid")
    if not isinstance(records, Tracks):
        raise PointsError(
            f"the records are a {type(records).__name__}, but trajectories need a time and an identifier for each fix; "
            f"give {quoted('spatialdp.Tracks(points, tid=..., time=...)')}, or a frame with the columns tid, time, x "
            "and y."
        )
    as_points(records._points, domain, person)
    return records


def _column(frame: Any, name: str) -> Any:
    known = [str(each) for each in getattr(frame, "columns", ())]
    if known.count(name) != 1:
        raise PointsError(f"{name!r} is no column of the trajectories; name one of the columns of the frame, as text.")
    return frame.iloc[:, known.index(name)]


def _ranks(identifiers: pa.Array | None, count: int) -> Integers:
    """Return numbers in the order of the identifiers' texts; -1 for a missing one, and 0 for all without a column.

    Whether one identifier comes before another depends on these two alone.
    """
    import pyarrow.compute as pc

    if identifiers is None:
        return np.zeros(count, dtype=np.int64)
    coded = texts_of(identifiers).dictionary_encode()
    order = pc.sort_indices(coded.dictionary).to_numpy()
    ranks = np.empty(order.size + 1, dtype=np.int64)
    ranks[order], ranks[-1] = np.arange(order.size), -1
    return np.asarray(ranks[coded.indices.fill_null(order.size).to_numpy()])


def _changes(values: Integers) -> Booleans:
    return np.append(np.ones(min(values.size, 1), dtype=bool), values[1:] != values[:-1])


def _first_of_each(owners: Integers, begins: Integers, tids: Integers, most: int) -> Booleans:
    """Return which trajectories are among those of their person that begin first."""
    order = np.lexsort((tids, begins, owners))
    new = np.flatnonzero(_changes(owners[order]))
    place = np.arange(owners.size) - np.repeat(new, np.diff(new, append=owners.size))
    kept = np.zeros(owners.size, dtype=bool)
    kept[order] = place < most
    return kept


def _at_steps(first: Integers, columns: Array, rows: Array, times: Integers, step: int, longest: int) -> Paths:
    """Return the positions at start + i steps, of fixes that are ordered by trajectory and time."""
    sizes = np.diff(first, append=times.size)
    owner = np.repeat(np.arange(first.size), sizes)
    # Times may lie further apart than 63 bits tell: differences of ordered times are right without a sign.
    since = times.astype(np.uint64) - np.repeat(times[first], sizes).astype(np.uint64)
    since, unit = np.minimum(since, np.uint64((longest + 1) * step)), np.uint64(step)
    seen = ((since + unit - np.uint64(1)) // unit).astype(np.int64)  # the first step at which a fix is seen
    lengths = np.minimum((since[first + sizes - 1] // unit).astype(np.int64), longest) + 1
    starts = np.concatenate([[0], np.cumsum(lengths)])
    wanted = np.repeat(np.arange(first.size), lengths)
    steps = np.arange(starts[-1]) - starts[wanted]
    width = longest + 2
    last = np.searchsorted(owner * width + seen, wanted * width + steps, side="right") - 1
    return Paths(starts, columns[last], rows[last])
