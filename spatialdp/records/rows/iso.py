"""Which instants do texts mean, a column at a time? Those in the usual ISO forms; others are left to Python.

`datetime.fromisoformat` reads more forms, and decides what is a time (`records.rows.times`). Texts such as
``2024-01-31``, ``2024-01-31 08:30``, ``2024-01-31T08:30:15.250`` and ``2024-01-31T08:30:15+01:00`` are most of what
there is, and reading them one by one takes longer than all else. Here each form is a length and a place for each digit,
so that arrays of bytes suffice. A text that is not exactly of such a form, or is not a date of the calendar, is not
read here. Nothing warns or raises because of a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spatialdp._support.arrays import Booleans, Integers, Integers32
from spatialdp.records.formats.base import Bytes
from spatialdp.space.frames.clock import DAY, HOUR, MINUTE, SECOND

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Read", "read_usual"]

_CLOCKS = ("", "T00:00", "T00:00:00", "T00:00:00.000", "T00:00:00.000000")  # what may follow a date
_OFFSETS = ("", "Z", "+00:00")  # and what may follow a clock time
_DATE = "0000-00-00"
_FORMS = {
    len(form): form for form in [_DATE, *(f"{_DATE}{clock}{offset}" for clock in _CLOCKS[1:] for offset in _OFFSETS)]
}
_BLOCK = 2**14  # texts at a time: what is made of them stays in the processor's cache
_FIRST_YEAR, _LAST_YEAR = 1, 9999
_MONTHS = np.arange((_FIRST_YEAR - 1970) * 12, (_LAST_YEAR + 1 - 1970) * 12 + 1).astype("datetime64[M]")
_STARTS = _MONTHS.astype("datetime64[D]").astype(np.int64)  # days since 1970 at which months begin
_LENGTHS = np.diff(_STARTS)


class Read(NamedTuple):
    """What was read of texts: microseconds since 1970, whether these are local times, and which texts were read."""

    microseconds: Integers
    local: Booleans
    known: Booleans


def read_usual(texts: pa.Array) -> Read:
    """Read the texts of a `large_string` array that have a usual form.

    Examples
    --------
    >>> import pyarrow as pa
    >>> texts = pa.array(["1970-01-01 00:00:01", "1970-01-01T01:00+01:00", "noon", "1970-02-30"], pa.large_string())
    >>> read = read_usual(texts)
    >>> read.microseconds[read.known].tolist(), read.local.tolist(), read.known.tolist()
    ([1000000, 0], [True, False, False, False], [True, True, False, False])
    """
    size = len(texts)
    found = Read(np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool), np.zeros(size, dtype=bool))
    _, edges, content = texts.buffers()
    if not size or content is None or not content.size:
        return found
    octets = np.frombuffer(content, dtype=np.uint8)
    offsets = np.frombuffer(edges, dtype=np.int64)[texts.offset : texts.offset + size + 1]
    lengths = np.where(texts.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), 0)
    for length in sorted(_FORMS.keys() & set(np.unique(lengths).tolist())):
        (rows,) = np.nonzero(lengths == length)
        for block in np.split(rows, range(_BLOCK, rows.size, _BLOCK)):
            # One row for each place of the form, so that each step works on neighbours in memory.
            cells = octets[offsets[block] + np.arange(length)[:, None]]
            found.microseconds[block], found.known[block] = _of_form(cells, _FORMS[length])
        found.local[rows] = found.known[rows] & (_FORMS[length][-1] == "0") & ("+" not in _FORMS[length])
    return found


def _of_form(cells: Bytes, form: str) -> tuple[Integers, Booleans]:
    """Return the times of texts of one length, one in each column of bytes, and which of them have the form."""
    digits = np.frombuffer(form.encode(), dtype=np.uint8) == ord("0")
    values = cells - np.uint8(ord("0"))  # bytes below "0" become large
    known = np.all(values[digits] <= 9, axis=0)
    for place in np.flatnonzero(~digits).tolist():
        known &= _is_mark(cells[place], form[place])
    days, in_calendar = _days(values)
    microseconds, on_clock = _of_clock(values, form)
    return np.where(known & in_calendar & on_clock, days * DAY + microseconds, 0), known & in_calendar & on_clock


def _is_mark(octets: Bytes, mark: str) -> Booleans:
    if mark == "T":
        return np.asarray((octets == ord(mark)) | (octets == ord(" ")))
    return np.asarray((octets == ord(mark)) | (octets == ord("-")) if mark == "+" else octets == ord(mark))


def _number(values: Bytes, start: int, count: int) -> Integers32:
    """Return the number that some digits after each other are."""
    number: Integers32 = values[start].astype(np.int32)
    for digits in values[start + 1 : start + count]:
        number *= 10
        number += digits
    return number


def _days(values: Bytes) -> tuple[Integers, Booleans]:
    """Return the days since 1970 of dates, and which of them are in the calendar."""
    year, month, day = _number(values, 0, 4), _number(values, 5, 2), _number(values, 8, 2)
    sound = (year >= _FIRST_YEAR) & (year <= _LAST_YEAR) & (month >= 1) & (month <= 12)
    months = np.where(sound, (year - _FIRST_YEAR) * 12 + month - 1, 0)
    sound &= (day >= 1) & (day <= _LENGTHS[months])
    return _STARTS[months] + day - 1, sound


def _of_clock(values: Bytes, form: str) -> tuple[Integers, Booleans]:
    """Return the microseconds since midnight in UTC, or local if the form has no offset, and which are on a clock."""
    time, known = np.zeros(values.shape[1], dtype=np.int64), np.ones(values.shape[1], dtype=bool)
    clock = form[len(_DATE) :].partition("+")[0].rstrip("Z")
    for start, unit, most in ((11, HOUR, 23), (14, MINUTE, 59), (17, SECOND, 59)):
        if start < len(_DATE) + len(clock):
            part = _number(values, start, 2)
            known &= part <= most
            time += part * np.int64(unit)
    if "." in clock:
        fraction = len(clock.partition(".")[2])
        time += _number(values, 20, fraction) * np.int64(10 ** (6 - fraction))
    if "+" not in form:
        return time, known
    sign = form.index("+")
    hours, minutes = _number(values, sign + 1, 2), _number(values, sign + 4, 2)
    east = np.where(values[sign] == ord("+") - ord("0") + 256, 1, -1)  # bytes below "0" have wrapped around
    return time - east * (hours * np.int64(HOUR) + minutes * np.int64(MINUTE)), known & (hours <= 23) & (minutes <= 59)
