"""Into which ticks is time divided, and which ticks does a public query mean? `Time`, the axis of time of a `Frame`.

A tick is half-open, [from, to), and its ends are whole microseconds in UTC. Ticks of hours, minutes and seconds are
equally long; ticks of days, weeks and months follow the calendar of the named time zone, so a day has 23, 24 or 25
hours. A tick belongs to the local day, week, month or year in which it begins. A folded axis has the hours of the day,
or the days of the week, of all that time together: what occurs twice when clocks are put back counts in one hour of
the day, as often as it occurs.

All values are public. `spatialdp.records.rows` puts records into ticks; this module reads none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.options import Option
from spatialdp.errors import ParameterError
from spatialdp.space.frames.clock import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Clock,
    read_instant,
    time_zone,
)
from spatialdp.space.frames.nesting import level_nodes, nested
from spatialdp.trees.shape import TreeShape
from spatialdp.wording import parameter, quoted

__all__ = ["WEEKDAYS", "Fold", "Time"]

_MOST_TICKS = 2**24
_LONGEST = 100 * 366 * DAY
_STEP = re.compile(r"(\d{1,6})? ?(s|min|h|d|week|month)")
_FIXED = {"s": SECOND, "min": MINUTE, "h": HOUR}
_LEVELS = ("year", "month", "week", "day", "hour")  # the coarsest first
_NESTS = {("year", "week"), ("month", "week")}  # weeks lie across the ends of months and years
_OF_LEVEL = {"hour": "h", "day": "d", "week": "week", "month": "month"}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CLOCK_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")


class Fold(Option):
    """What is laid over each other: the days, so that hours of the day remain; or the weeks."""

    HOUR = "hour of day"
    WEEKDAY = "day of week"


@dataclass(frozen=True)
class Time:
    """Time as an axis of a table: from start to stop, in ticks.

    Parameters
    ----------
    start, stop : str or datetime
        ISO dates or times, local in `zone` unless they state an offset; `stop` itself is outside. Records at other
        times count nowhere.
    step : str
        Length of a tick: a number with ``s``, ``min`` or ``h``; or ``d``, ``week`` or ``month``, by the calendar of the
        zone. The time from start to stop must be a whole number of ticks.
    zone : str
        Name of the time zone, such as ``"Europe/Vienna"``. Times of records without an offset are local in it.
    levels : tuple of str
        Coarser parts of time that may be counted too: ``"hour"``, ``"day"``, ``"week"``, ``"month"``, ``"year"``. A
        table counts them only if that pays. Weeks begin on Monday and do not go with months or years.
    fold : {"hour of day", "day of week"}, optional
        Lays all days over each other, so that ticks are times of the day; or all weeks, so that they are days of the
        week (step ``"1 d"``).

    Raises
    ------
    ParameterError
        If a limit is skipped by the clocks or occurs twice, the ticks do not fill the time, or levels do not nest.

    Notes
    -----
    A local time of a record that occurs twice means the first of the two; one that does not occur is read with the
    offset from before the change. Times with an offset, or with a time zone, are never ambiguous.

    Privacy
    -------
    All parameters are public. Do not take start and stop from the records: the first and the last record would show.

    Examples
    --------
    >>> from spatialdp.space.frames.time import Time
    >>> Time("2024-03-30", "2024-04-01", zone="Europe/Vienna").size  # clocks are put forward on the 31st
    47
    >>> Time("2024-01-01", "2025-01-01", zone="Europe/Vienna", fold="hour of day").size
    24
    """

    start: str | datetime
    stop: str | datetime
    step: str = "1 h"
    zone: str = "UTC"
    levels: tuple[str, ...] = ()
    fold: str | None = None

    def __post_init__(self) -> None:
        time_zone(self.zone)
        if self.fold is not None:
            object.__setattr__(self, "fold", Fold(_folded(self.fold)))
        for name in ("start", "stop"):
            moment = getattr(self, name)
            object.__setattr__(self, name, moment.isoformat() if isinstance(moment, datetime | date) else moment)
        levels = (self.levels,) if isinstance(self.levels, str) else tuple(self.levels)
        object.__setattr__(self, "levels", levels)
        self._check_limits()
        self._check_levels()
        if self.fold is None:
            _ = self.edges
        else:
            self._check_fold()

    # --- the ticks ---------------------------------------------------------------------------------

    @cached_property
    def first(self) -> int:
        """The instant at which the axis begins, in microseconds since 1970."""
        return read_instant(self.start, self.zone, "start")

    @cached_property
    def end(self) -> int:
        """The instant at which the axis ends."""
        return read_instant(self.stop, self.zone, "stop")

    @cached_property
    def clock(self) -> Clock:
        """The local times of the zone."""
        return Clock(self.zone, self.first, self.end)

    @cached_property
    def size(self) -> int:
        """Number of ticks."""
        if self.fold is Fold.WEEKDAY:
            return 7
        return DAY // self._length if self.fold is Fold.HOUR else self.edges.size - 1

    @cached_property
    def edges(self) -> Integers:
        """The instants between which the ticks lie, one more than ticks; not folded."""
        if self._unit in _FIXED:
            ticks, rest = divmod(self.end - self.first, self._length)
            edges = self.first + self._length * np.arange(min(ticks, _MOST_TICKS + 1) + 1)
        else:
            edges = self.clock.instants(self._calendar_edges())
            rest = int(edges[-1] != self.end or edges[0] != self.first)
        if rest:
            raise ParameterError(
                f"{parameter('step')} is {quoted(self.step)}, but the time from {self.start} to {self.stop} is not a "
                "whole number of such ticks (days, weeks and months begin at midnight of the time zone, months on the "
                "first); move the ends, or choose another step."
            )
        if edges.size - 1 > _MOST_TICKS:
            raise ParameterError(
                f"{parameter('step')} is {quoted(self.step)}, which makes more than {_MOST_TICKS:,} ticks; take longer "
                "ones, or a shorter time."
            )
        return edges

    def ticks(self, instants: Integers) -> Integers:
        """Return the tick of each instant; `size` for those before the start or from the stop on.

        Examples
        --------
        >>> time = Time("1970-01-01", "1970-01-02")
        >>> time.ticks(np.array([-1, 0, HOUR, DAY])).tolist()
        [24, 0, 1, 24]
        """
        inside = (instants >= self.first) & (instants < self.end)
        kept = np.where(inside, instants, self.first)
        if self.fold is not None:
            ticks = self._folded_ticks(self.clock.local(kept))
        elif self._unit in _FIXED:
            ticks = (kept - self.first) // self._length
        else:
            ticks = np.searchsorted(self.edges, kept, side="right") - 1
        return np.where(inside, ticks, self.size)

    def _folded_ticks(self, local: Integers) -> Integers:
        # 1970 began on a Thursday.
        return local % DAY // self._length if self.fold is Fold.HOUR else (local // DAY + 3) % 7

    # --- the tree ----------------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the levels of `shape`, the root first and the ticks last."""
        return ("all time", *self._coarse, self._tick_name)

    @cached_property
    def counted(self) -> tuple[bool, ...]:
        """Which levels may be measured: those that were named, and the ticks."""
        return (False, *(True for _ in self.names[1:]))

    @cached_property
    def shape(self) -> TreeShape:
        """The tree of the levels over the ticks."""
        return nested([self._part(level, self._local) for level in self._coarse], self.size)

    @property
    def _local(self) -> Integers:
        """The local time at which each tick begins."""
        return self.clock.local(self.edges[:-1])

    @property
    def _coarse(self) -> tuple[str, ...]:
        return tuple(level for level in _LEVELS if level in self.levels and level != self._tick_name)

    @property
    def _tick_name(self) -> str:
        if self.fold is not None:
            return str(self.fold)
        own = {unit: level for level, unit in _OF_LEVEL.items()}
        return own.get(self._unit, self.step) if self._number == 1 else self.step

    @staticmethod
    def _part(level: str, local: Integers) -> Integers:
        """Return the number of the hour, day, week, month or year of local times."""
        moments = local.astype("datetime64[us]")
        if level in ("month", "year"):
            return np.asarray(moments.astype(f"datetime64[{level[0].upper()}]").astype(np.int64))
        length = {"hour": HOUR, "day": DAY, "week": 7 * DAY}[level]
        return np.asarray((local + 3 * DAY * (level == "week")) // length)

    # --- names and queries -------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON, from which the same axis can be made.

        Examples
        --------
        >>> Time("2024-01-01", "2024-01-03").to_json()["step"]
        '1 h'
        """
        names = ("start", "stop", "step", "zone")
        values = {name: getattr(self, name) for name in names}
        fold = None if self.fold is None else str(self.fold)
        return {"kind": "time", **values, "levels": list(self.levels), "fold": fold}

    def labels(self) -> list[str]:
        """Return the name of each tick, in order: its local beginning in ISO form, with the offset from UTC.

        Examples
        --------
        >>> Time("2024-10-27", "2024-10-27T04:00", zone="Europe/Vienna").labels()[2:4]
        ['2024-10-27T02:00+02:00', '2024-10-27T02:00+01:00']
        """
        if self.fold is Fold.WEEKDAY:
            return list(WEEKDAYS)
        if self.fold is Fold.HOUR:
            return [_clock_text(tick * self._length) for tick in range(self.size)]
        return [_local_text(edge, self.zone) for edge in self.edges[:-1].tolist()]

    def parts(self, level: str) -> Integers:
        """Return the nodes of `shape` that the parts of a level are, in order.

        Examples
        --------
        >>> time = Time("2024-01-01", "2024-01-03", levels=("day",))
        >>> time.parts("day").tolist()
        [1, 2]
        """
        return level_nodes(self.shape, self.names.index(level))

    def part_labels(self, level: str) -> list[str]:
        """Return the names of the parts of a level, in order: the local beginning of the first tick of each.

        Examples
        --------
        >>> time = Time("2024-01-01", "2024-01-03", levels=("day",))
        >>> time.part_labels("day")
        ['2024-01-01T00:00+00:00', '2024-01-02T00:00+00:00']
        """
        if level == self.names[0]:
            return [level]
        if level == self._tick_name:
            return self.labels()
        depth, ticks = self.names.index(level), np.arange(self.size)
        for above in reversed(range(depth, self.shape.height)):
            ticks = np.minimum.reduceat(ticks, _family_starts(self.shape, above))
        return [_local_text(edge, self.zone) for edge in self.edges[ticks].tolist()]

    def pick(self, query: Any) -> Integers:
        """Return the ticks that a public query means.

        Parameters
        ----------
        query : str or pair
            A date or a time: that day or tick. A clock time such as ``"08:00"``: the ticks that begin then, of all
            days; a pair of them is an interval, which may go past midnight. A pair of dates or times is an interval,
            half-open. A day of the week, if weeks are folded.

        Examples
        --------
        >>> Time("2024-01-01", "2025-01-01", fold="hour of day").pick(("22:00", "02:00")).tolist()
        [0, 1, 22, 23]
        """
        pair = query if isinstance(query, tuple) else (query,)
        if not 1 <= len(pair) <= 2:
            raise self._unknown(query)
        if self.fold is Fold.WEEKDAY:
            return self._pick_weekdays(query, pair)
        times = [_clock_time(each) for each in pair]
        if all(time is not None for time in times):
            return self._pick_clock(query, [time for time in times if time is not None])
        if self.fold is not None or any(time is not None for time in times):
            raise self._unknown(query)
        return self._pick_instants(query, pair)

    def _pick_weekdays(self, query: Any, pair: tuple[Any, ...]) -> Integers:
        if not all(each in WEEKDAYS for each in pair):
            raise self._unknown(query)
        days = [WEEKDAYS.index(each) for each in pair]
        if len(days) == 1:
            return np.array(days)
        return np.sort((days[0] + np.arange((days[1] - days[0]) % 7 or 7)) % 7)

    def _pick_clock(self, query: Any, times: list[int]) -> Integers:
        """Return the ticks that begin in an interval of clock times; their ends must be ticks of each day."""
        if self._unit not in _FIXED or DAY % self._length:
            raise self._unknown(query)
        low, high = (times[0], times[0] + self._length) if len(times) == 1 else times
        of_day = np.arange(self.size) * self._length if self.fold else self._local % DAY
        phases = np.unique(of_day % self._length).tolist()
        if low == high or any((each - phase) % self._length for each in (low, high) for phase in phases):
            raise self._unknown(query)
        inside = (of_day >= low) & (of_day < high) if low < high else (of_day >= low) | (of_day < high)
        return np.flatnonzero(inside)

    def _pick_instants(self, query: Any, pair: tuple[Any, ...]) -> Integers:
        low = read_instant(pair[0], self.zone, "time")
        high = self._after(low, pair[0]) if len(pair) == 1 else read_instant(pair[1], self.zone, "time")
        low, high = max(low, self.first), min(high, self.end)
        places = np.searchsorted(self.edges, [low, high])
        if low >= high or np.any(self.edges[np.minimum(places, self.size)] != [low, high]):
            raise self._unknown(query)
        return np.arange(*places)

    def _after(self, low: int, text: str | datetime) -> int:
        """Return the end of what a single date or time means: that day, or that tick."""
        if isinstance(text, str) and len(text) == len("2024-01-01"):
            following = datetime.fromisoformat(text) + timedelta(days=1)
            return read_instant(following, self.zone, "time")
        place = int(np.searchsorted(self.edges, low, side="right"))
        return int(self.edges[min(max(place, 1), self.size)])

    def _unknown(self, query: Any) -> ParameterError:
        hint = {
            Fold.WEEKDAY: "a day such as 'Monday', or a pair of days",
            Fold.HOUR: "a clock time such as '08:00', or a pair such as "
            f"{quoted(('08:00', '10:00'))}, at ends of ticks",
            None: f"a date, a time, or a pair of them such as {quoted((self.start, self.stop))}, at ends of ticks",
        }[self.fold]  # type: ignore[index] # mypy takes the option for its text
        return ParameterError(f"{parameter('time')} is {quoted(query)}, which is no part of this axis; give {hint}.")

    # --- checks ------------------------------------------------------------------------------------

    @cached_property
    def _number(self) -> int:
        match = _STEP.fullmatch(self.step)
        return int(match[1] or 1) if match else 0

    @property
    def _unit(self) -> str:
        match = _STEP.fullmatch(self.step)
        return match[2] if match else ""

    @property
    def _length(self) -> int:
        """Length of a tick of seconds, minutes or hours."""
        return _FIXED.get(self._unit, DAY) * self._number

    def _calendar_edges(self) -> Integers:
        """Return local beginnings of days, weeks or months from the first tick's on, the end included."""
        first, end = (int(each) for each in self.clock.local(np.array([self.first, self.end])))
        if self._unit != "month":
            length = DAY * self._number * (7 if self._unit == "week" else 1)
            return np.arange(first - first % DAY, end + 1, length)
        months = np.array([first, end]).astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
        starts = np.arange(months[0], months[1] + 1, self._number).astype("datetime64[M]")
        return np.asarray(starts.astype("datetime64[us]").astype(np.int64))

    def _check_limits(self) -> None:
        if not isinstance(self.step, str) or not self._number:
            raise ParameterError(
                f"{parameter('step')} is {quoted(self.step)}; give a number of s, min, h, d, week or month, such as "
                "'1 h' or '15 min'."
            )
        if not 0 < self.end - self.first <= _LONGEST:
            raise ParameterError(
                f"the time goes from {self.start} to {self.stop}; the stop must be after the start, by at most 100 "
                "years."
            )

    def _check_levels(self) -> None:
        coarse = self._coarse
        unknown = [level for level in self.levels if level not in _LEVELS]
        finest = {"s": 0, "min": 1, "h": 2, "d": 3, "week": 4, "month": 5}[self._unit]
        order = {"hour": 2, "day": 3, "week": 4, "month": 5, "year": 6}
        if unknown or any(order[level] < finest for level in coarse) or (self.fold is not None and self.levels):
            raise ParameterError(
                f"{parameter('levels')} are {quoted(self.levels)}; they must be coarser than ticks of {self.step!r} "
                f"and some of {', '.join(_LEVELS)}; a folded axis has none."
            )
        if any((one, other) in _NESTS for one in coarse for other in (*coarse, self._tick_name)):
            raise ParameterError(
                f"{parameter('levels')} are {quoted(self.levels)}, but weeks do not lie within months and years; leave "
                "out one or the other."
            )

    def _check_fold(self) -> None:
        wanted = self._unit in _FIXED and DAY % self._length == 0
        if self.fold is Fold.WEEKDAY:
            wanted = (self._unit, self._number) == ("d", 1)
        if not wanted:
            raise ParameterError(
                f"{parameter('step')} is {quoted(self.step)}, which does not go with {parameter('fold', self.fold)}; "
                "hours of the day need a step that divides the day, such as '1 h', and days of the week the step '1 d'."
            )


def _folded(fold: Any) -> str:
    if fold not in tuple(Fold):
        raise ParameterError(
            f"{parameter('fold')} is {quoted(fold)}; it must be 'hour of day', 'day of week' or {quoted(None)}."
        )
    return str(fold)


def _clock_time(text: Any) -> int | None:
    """Return a clock time such as 08:00 as microseconds of a day; 24:00 is midnight. None for anything else."""
    match = _CLOCK_TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    inside = minutes < 60 and seconds < 60 and (hours < 24 or (hours, minutes, seconds) == (24, 0, 0))
    return hours * HOUR + minutes * MINUTE + seconds * SECOND if inside else None


def _clock_text(microseconds: int) -> str:
    hours, rest = divmod(microseconds, HOUR)
    text = f"{hours:02d}:{rest // MINUTE:02d}"
    return text if not rest % MINUTE else f"{text}:{rest % MINUTE // SECOND:02d}"


def _local_text(instant: int, zone: str) -> str:
    moment = datetime.fromtimestamp(instant // SECOND, UTC).astimezone(time_zone(zone))
    return moment.isoformat(timespec="minutes" if instant % MINUTE == 0 else "seconds")


def _family_starts(shape: TreeShape, depth: int) -> Integers:
    """Return where the children of each node of a depth begin in the next one; every node has some."""
    n_children = shape.n_children[shape.level(depth)]
    return np.asarray(np.cumsum(n_children) - n_children)
