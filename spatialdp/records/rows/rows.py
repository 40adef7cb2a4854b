"""Which cell of a table is each record in? Records with a place, a time and categories, and their exact counts.

`Rows` holds records as the caller has them: points, and beside them a column for each further axis of the frame. A row
counts if its place, its time and its categories are all on the frame's axes; otherwise it counts nowhere, silently.
With a bound on persons, what is kept of each person is decided over the cells of the whole table
(`records.persons.bounding`): a bound for each hour would not bound a person. The counts are private.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Integers, Integers32
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Person
from spatialdp.records.codes import Codes, as_zone_records
from spatialdp.records.counting import Tally
from spatialdp.records.formats.base import forgetful
from spatialdp.records.persons.bounding import bounded_counts, gathered
from spatialdp.records.persons.identifiers import persons_of, texts_of
from spatialdp.records.points import Points, as_points
from spatialdp.records.rows.times import times_of
from spatialdp.records.rows.values import Texts, Values
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.time import Time
from spatialdp.space.frames.zone_axis import ZoneAxis
from spatialdp.wording import parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Rows",
    "as_rows",
    "axes_beside",
    "checked_places",
    "count_rows",
    "length_of",
    "number_beside",
    "places_in",
    "with_place",
]


class Rows:
    """Sensitive records with a place and further values: the rows that a table counts.

    Parameters
    ----------
    points : Points, Codes, or anything that `Points` takes
        The places of the records; for zones, codes may take their place.
    person : array-like or str, optional
        Who each record is about, as for `Points`.
    **columns : array-like or str
        The values of the frame's other axes by their names, such as ``time=...`` and ``kind=...``: one for each record,
        or the name of a column if `points` is a frame of pandas or geopandas. Times are datetimes or ISO text; those
        without an offset are local in the time zone of the axis. Categories are text or whole numbers.

    Raises
    ------
    PointsError
        If a column has the wrong form or length. No record causes an error, whatever its value: one without a time,
        or whose category is not on the public list, counts nowhere.

    Notes
    -----
    Records are held in memory; `read_rows` takes those of files. Points of files and of tables in engines are not
    taken, because their further columns would be lost.

    Privacy
    -------
    The object shows nothing about its records.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> sdp.Rows([[0.5, 0.5], [0.1, 0.9]], time=["2024-01-01 08:30", None], kind=["theft", "fraud"])
    Rows(<private>, time=<private>, kind=<private>)
    """

    __slots__ = ("_columns", "_points", "_read")

    @forgetful
    def __init__(self, points: Any, *, person: Any = None, **columns: Any) -> None:
        named = {name: value for name, value in columns.items() if isinstance(value, str)}
        taken = {name: _column(points, value, name) for name, value in named.items()}
        if named and not isinstance(points, Points):
            points = _without(points, list(named.values()))
        if isinstance(points, Points | Codes) and person is not None:
            raise PointsError("the points name their persons themselves; leave person out, and give it to the points.")
        self._points = points if isinstance(points, Points | Codes) else Points(points, person=person)
        if type(self._points) not in (Points, Codes):
            raise PointsError(
                "the points stay in a file or an engine, but rows need their further columns beside them; read a file "
                "with read_rows, or give the columns of a table in memory."
            )
        self._columns: dict[str, Any] = columns | taken
        self._read: dict[tuple[str, bool], Any] = {}  # what was made of the columns, so that text is read once

    def __repr__(self) -> str:
        return f"Rows({', '.join(['<private>', *(f'{name}=<private>' for name in self._columns)])})"

    def _numbers(self, frame: Frame, person: Person | None) -> Iterator[tuple[pa.Array | None, Integers]]:
        """Yield persons and cell numbers of the rows, block by block; `frame.n_cells` for rows that count nowhere."""
        columns = {name: self._axis_values(name, axis) for name, axis in axes_beside(frame).items()}
        start = 0
        for persons, places in places_in(self._points, frame, person):
            rows = slice(start, start + places.size)
            start = rows.stop
            ticks = {name: values.places(frame.axes[name], rows) for name, values in columns.items()}
            yield persons, with_place(frame, number_beside(frame, ticks, places.size), places)

    def _check(self, frame: Frame, person: Person | None) -> None:
        """Refuse rows that do not fit a frame or a bound on persons, by their form and their columns."""
        checked_places(self._points, frame, person)
        for name, axis in axes_beside(frame).items():
            self._axis_values(name, axis)

    def _axis_values(self, name: str, axis: Any) -> Values:
        """Return the values of an axis."""
        if name not in self._columns:
            raise PointsError(
                f"the table has an axis {parameter(name)}, but the rows do not have these values; give them, one for "
                f"each record: Rows(points, {name}=...)."
            )
        key, given = (name, isinstance(axis, Time)), self._columns[name]
        if key not in self._read:
            self._read[key] = times_of(given, name) if key[1] else Texts(texts_of(persons_of(given, parameter(name))))
        values: Values = self._read[key]
        if len(values) != length_of(self._points):
            raise PointsError(
                f"the points and {parameter(name)} have different lengths; each record needs a value, or a missing "
                "one. Give as many as points."
            )
        return values

    def _counts(self, frame: Frame, person: Person | None) -> Integers:
        """Return the exact counts of the frame's cells, in the shape of its arrays."""
        if person is None:
            tally = Tally(frame.n_cells + 1)  # the last entry collects the rows that count nowhere
            for _, numbers in self._numbers(frame, None):
                tally.add(numbers)
            return tally.counts()[:-1].reshape(frame.shape)
        persons, cells = gathered(self._numbers(frame, person), np.ones(frame.n_cells, dtype=bool))
        return bounded_counts(persons, cells, frame.n_cells, person).reshape(frame.shape)


@forgetful
def count_rows(rows: Rows, frame: Frame, person: Person | None = None) -> Integers:
    """Return the exact counts of a frame's cells, in the shape of its arrays: of records, or of what a bound keeps.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
    >>> count_rows(Rows([[0.1, 0.5], [0.9, 0.5], [0.9, 0.5]], kind=["fraud", "theft", "unheard of"]), frame).tolist()
    [[0, 1], [1, 0]]
    """
    return rows._counts(frame, person)


def as_rows(records: Any, frame: Frame, person: Person | None = None) -> Rows:
    """Return the caller's records as `Rows` that fit a frame and a bound; without further axes, points will do."""
    rows = records if isinstance(records, Rows) else Rows(records)
    rows._check(frame, person)
    return rows


# --- cells of the table ----------------------------------------------------------------------------


def axes_beside(frame: Frame) -> dict[str, Any]:
    """Return the axes of a frame beside space, by name."""
    return {name: axis for name, axis in frame.axes.items() if name != frame.space_name}


def places_in(points: Any, frame: Frame, person: Person | None) -> Iterator[tuple[pa.Array | None, Integers32]]:
    """Yield persons and places on the axis of space, block by block; the axis' size for records that are nowhere."""
    points = checked_places(points, frame, person)
    if isinstance(frame.space, ZoneAxis):
        blocks = points._leaves(frame.space.zones)
        return ((persons, frame.space.place_of_leaf[leaves]) for persons, leaves in blocks)
    grid, leaf_of_cell = frame.space.grid, frame.space.leaf_of_cell
    if person is None:
        return ((None, leaf_of_cell[cells]) for cells in points._cells(grid))
    return ((persons, leaf_of_cell[cells]) for persons, cells in points._person_cells(grid))


def number_beside(frame: Frame, places: Mapping[str, Integers], count: int) -> Integers:
    """Return the number of each record among the cells of all axes beside space; -1 for one that is on none.

    `places` has the place of each of `count` records on each of these axes.
    """
    numbers, inside = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
    for name, axis in axes_beside(frame).items():
        inside &= places[name] < axis.size
        numbers = numbers * axis.size + places[name]
    return np.where(inside, numbers, -1)


def with_place(frame: Frame, numbers: Integers, places: Integers32) -> Integers:
    """Return the cell of each record in the whole table; `frame.n_cells` for records that count nowhere."""
    inside = (numbers >= 0) & (places < frame.space.size)
    return np.where(inside, numbers * frame.space.size + places, frame.n_cells)


def checked_places(points: Any, frame: Frame, person: Person | None) -> Any:
    """Return places of records, checked to fit the space of a frame and a bound on persons."""
    if isinstance(frame.space, ZoneAxis):
        return as_zone_records(points, frame.space.zones, person)
    if isinstance(points, Codes):
        raise PointsError("the records are codes of zones, but the frame has a grid; give points, or a frame of zones.")
    return as_points(points, frame.space.domain, person)


def length_of(points: Points | Codes) -> int:
    """Return the number of records; private."""
    return len(points._codes) if isinstance(points, Codes) else int(points._x.shape[0])


def _column(points: Any, name: str, axis: str) -> Any:
    """Return a column of a frame of pandas by its name."""
    if not hasattr(points, "iloc") or name not in [str(each) for each in getattr(points, "columns", ())]:
        raise PointsError(
            f"{parameter(axis)} is the text {name!r}, which is no column of the points; give a column of a DataFrame "
            "or GeoDataFrame by its name, or an array with one value for each record."
        )
    return points.iloc[:, [str(each) for each in points.columns].index(name)]


def _without(points: Any, names: list[str]) -> Any:
    """Return a frame without the columns of other axes."""
    kept = [place for place, name in enumerate(points.columns) if str(name) not in names]
    return points.iloc[:, kept]
