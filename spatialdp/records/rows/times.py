"""When was a record? How columns of times, as a caller has them, become instants: whole microseconds in UTC.

Times are datetimes of Python, numpy, pandas or Arrow, or ISO text. One with an offset or a time zone is an instant;
one without is local in the zone of the table's axis of time (`space.frames.clock` has the rule for hours that occur
twice or not at all). Whatever is no time (missing, a number, other text) counts nowhere, silently, each element by
itself: one odd record changes nothing for the others. What may be refused is the declared type of a column, such as
numbers, because nobody could say in which unit they count.
"""

from __future__ import annotations

import warnings
from collections import UserList, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers, with_gaps
from spatialdp.errors import PointsError
from spatialdp.records.rows.iso import read_usual
from spatialdp.space.frames.clock import Clock, instant_of
from spatialdp.wording import parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Times", "no_times", "times_of", "times_of_text"]

_NEVER = np.iinfo(np.int64).min  # numpy's NaT
_LONGEST = 64  # characters of text that may be a time
_YEARS = 10_000  # from 1970, in either direction, that times of coarse units may lie apart
_TEXTS = {str, type(None), float}  # NaN is a gap of pandas
_PER_YEAR = {"Y": 1, "M": 12, "W": 53, "D": 366, "h": 8784, "m": 527_040, "s": 31_622_400, "ms": 31_622_400_000}
_FURTHEST = {unit: number * _YEARS for unit, number in _PER_YEAR.items()}


@dataclass(frozen=True, eq=False)
class Times:
    """Times of records: microseconds since 1970, in UTC or as local clocks showed them.

    Attributes
    ----------
    microseconds : int64 array
        The least integer for a record without a time.
    local : bool array or bool
        Which of them are local times.
    """

    microseconds: Integers
    local: Booleans | bool

    def __len__(self) -> int:
        return self.microseconds.size

    def part(self, rows: slice) -> Times:
        """Return the times of some rows."""
        return Times(self.microseconds[rows], self.local if isinstance(self.local, bool) else self.local[rows])

    def places(self, axis: Any, rows: slice = slice(None)) -> Integers:
        """Return the tick of each of some records; the axis' size for those that are in none."""
        ticks: Integers = axis.ticks(self.part(rows).instants(axis.clock))
        return ticks

    def instants(self, clock: Clock) -> Integers:
        """Return the instants, the least integer where there is none."""
        known = self.microseconds != _NEVER
        times = np.where(known, self.microseconds, clock.start)
        if not isinstance(self.local, bool):
            times = np.where(self.local, clock.instants(times), times)
        elif self.local:
            times = clock.instants(times)
        return np.where(known, times, _NEVER)


def times_of(values: Any, name: str = "time") -> Times:
    """Return the times in a column, one for each record.

    Parameters
    ----------
    values : array, list, series of pandas, or Arrow array
    name : str
        The parameter, for the error.

    Raises
    ------
    PointsError
        If the declared type is not one of times or text, such as numbers.

    Examples
    --------
    >>> times_of(["1970-01-01T00:00:01", "1970-01-01T01:00:01+01:00", None, 5]).microseconds.tolist()[:2]
    [1000000, 1000000]
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # a warning would tell that such a record exists
        warnings.simplefilter("ignore")
        if isinstance(values, list | tuple | deque | UserList):
            return _of_elements(np.fromiter(values, dtype=object, count=len(values)))
        if hasattr(values, "iloc") or type(values).__module__.split(".")[0] == "pandas":
            return _of_pandas(values)
        if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
            return _of_arrow(values, name)
        return _of_array(values, name)


def _of_array(values: Any, name: str) -> Times:
    if not hasattr(values, "__array__"):
        raise _refused(type(values).__name__, name)
    array = np.asarray(values)
    if array.ndim != 1:
        raise PointsError(f"{parameter(name)} is not one-dimensional; give one time for each record.")
    if array.dtype.kind == "M":
        return Times(_microseconds(with_gaps(array, values, np.datetime64("NaT"))), local=True)
    if array.dtype.kind not in "UTO":
        raise _refused(array.dtype.type.__name__, name)
    return _of_elements(with_gaps(array.astype(object), values, None))


def _of_pandas(values: Any) -> Times:
    """Return the times in a series or an index; pandas chooses types by the records, so that none is refused."""
    array = getattr(values, "array", values)
    if getattr(getattr(array, "dtype", None), "tz", None) is not None:
        return Times(_microseconds(array.tz_convert(None).to_numpy()), local=False)
    plain = np.asarray(array)
    return Times(_microseconds(plain), local=True) if plain.dtype.kind == "M" else _of_elements(plain.astype(object))


def _of_arrow(values: Any, name: str) -> Times:
    import pyarrow as pa
    from pyarrow import types

    column = pa.chunked_array([values]) if isinstance(values, pa.Array) else pa.chunked_array(values)
    kind = column.type
    if types.is_timestamp(kind) or types.is_date(kind):
        return Times(_microseconds(column.to_numpy(zero_copy_only=False)), local=getattr(kind, "tz", None) is None)
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind)):
        raise _refused(kind, name)
    return times_of_text(column.cast(pa.large_string()).combine_chunks())


def no_times(count: int) -> Times:
    """Return the times of records that have none."""
    return Times(np.full(count, _NEVER), local=False)


def times_of_text(texts: pa.Array) -> Times:
    """Return the times of texts in ISO form, a `large_string` array; never for all else.

    Examples
    --------
    >>> import pyarrow as pa
    >>> times = times_of_text(pa.array(["1970-01-01", " 19700101T000001 ", "noon"], pa.large_string()))
    >>> times.microseconds.tolist()[:2]
    [0, 1000000]
    """
    microseconds, local, known = read_usual(texts)
    (others,) = np.nonzero(~known)
    if others.size:
        rest = _one_by_one(np.array(texts.take(others).to_pylist(), dtype=object))
        microseconds[others], local[others] = rest.microseconds, rest.local
    return Times(microseconds, local)


def _microseconds(moments: Array) -> Integers:
    """Return datetimes of numpy as microseconds, rounded down; those that are out of reach are never."""
    moments = moments.astype(moments.dtype.newbyteorder("="))
    most = _FURTHEST.get(np.datetime_data(moments.dtype)[0])
    if most is not None:  # a coarse unit reaches further than microseconds do
        counts = moments.view(np.int64)
        moments = np.where((counts > -most) & (counts < most), moments, np.datetime64("NaT"))
    return np.asarray(moments.astype("datetime64[us]").astype(np.int64))


def _of_elements(values: Array) -> Times:
    """Return the times of Python objects; texts alone, with gaps, are read as a column."""
    kinds = set(map(type, values))
    if str in kinds and kinds <= _TEXTS:
        import pyarrow as pa

        try:
            return times_of_text(pa.array(values, pa.large_string(), from_pandas=True))
        except Exception:  # half a surrogate pair, a number; the message may quote a record
            pass
    return _one_by_one(values)


def _one_by_one(values: Array) -> Times:
    microseconds, local = _MOMENTS(values)
    return Times(microseconds.astype(np.int64), local.astype(bool))


def _moment(value: Any) -> tuple[int, bool]:
    """Return one time as microseconds, and whether it is local; never for anything else."""
    try:
        if isinstance(value, bytes):
            value = value.decode("ascii")
        if isinstance(value, str):
            text = value.strip()
            value = datetime.fromisoformat(text) if len(text) <= _LONGEST else None
        if isinstance(value, np.datetime64):
            return int(_microseconds(np.array([value]))[0]), True
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime):
            return _NEVER, False
        if value.tzinfo is None:
            return int(instant_of(value.replace(tzinfo=UTC))), True
        return int(instant_of(value)), False
    except Exception:  # its message may quote a record
        return _NEVER, False


_MOMENTS = np.frompyfunc(_moment, 1, 2)


def _refused(kind: object, name: str) -> PointsError:
    return PointsError(
        f"{parameter(name)} is of type {kind}; times must be datetimes, or text such as '2024-01-31 08:00'. Convert "
        "them first: a number does not say in which unit it counts."
    )
