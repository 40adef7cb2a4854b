"""Which instant does a local time mean, and which local time does an instant have? Exact, in microseconds, for arrays.

An instant is a whole number of microseconds since 1970 in UTC. A `Clock` knows the public changes of one time zone
between two years, so arrays are converted by look-up. Python's own rule (PEP 495, fold=0) decides the two odd hours of
daylight saving: a local time that occurs twice is the first of the two, and one that does not occur is counted on from
the change, as by a clock that was not put forward. So every local time is one instant and every record one tick.

Nothing here may warn or raise because of a value of an array: these may be records.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property, lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp.errors import ParameterError
from spatialdp.wording import parameter, quoted

__all__ = ["DAY", "HOUR", "MINUTE", "SECOND", "Clock", "instant_of", "read_instant", "time_zone", "wall_time"]

SECOND = 10**6
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EARLIEST, _LATEST = 1900, 2200  # years of public times; beyond them, zones are guesses
_LOOK = DAY // 2  # apart; no zone changes its clocks twice within half a day


@lru_cache(maxsize=64)
def time_zone(name: str) -> ZoneInfo:
    """Return the time zone of a public name, such as ``"Europe/Vienna"``; unknown names are refused.

    Examples
    --------
    >>> time_zone("Europe/Vienna").key
    'Europe/Vienna'
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError):
        raise ParameterError(
            f"{parameter('zone')} is {quoted(name)}, which is no time zone that this computer knows; give a name of "
            "the IANA data base, such as 'Europe/Vienna' or 'UTC'. Where the system has none, install tzdata."
        ) from None


def instant_of(moment: datetime) -> int:
    """Return the instant of a datetime with a time zone.

    Examples
    --------
    >>> instant_of(datetime(1970, 1, 1, 1, tzinfo=UTC)) == HOUR
    True
    """
    return (moment - _EPOCH) // _MICROSECOND


def wall_time(moment: datetime) -> int:
    """Return the local time of a datetime, as if it were UTC.

    Examples
    --------
    >>> wall_time(datetime(1970, 1, 1, 1, tzinfo=time_zone("Europe/Vienna"))) == HOUR
    True
    """
    return instant_of(moment.replace(tzinfo=UTC))


@dataclass(frozen=True)
class Clock:
    """The local times of a zone between two instants.

    Parameters
    ----------
    zone : str
    start, stop : int
        The instants between which changes of the clocks are known; before and after, the offset stays as it is there.

    Examples
    --------
    >>> clock = Clock("Europe/Vienna", 0, 60 * 365 * DAY)
    >>> summer = clock.instants(np.array([wall_time(datetime(2024, 7, 1, 12))]))
    >>> int(summer[0]) == instant_of(datetime(2024, 7, 1, 10, tzinfo=UTC)), int(clock.local(summer)[0] - summer[0])
    (True, 7200000000)
    """

    zone: str
    start: int
    stop: int

    def local(self, instants: Integers) -> Integers:
        """Return the local time of each instant, as if it were UTC."""
        places = np.searchsorted(self._changes, instants, side="right")
        return np.asarray(instants + self._offsets[places])

    def instants(self, local: Integers) -> Integers:
        """Return the instant of each local time: the first of two, and past a gap where there is none."""
        places = np.searchsorted(self._local_changes, local, side="right")
        return np.asarray(local - self._offsets[places])

    @cached_property
    def _changes(self) -> Integers:
        """The instants at which the offset changes."""
        zone = time_zone(self.zone)
        looks = range(self.start - 2 * DAY, self.stop + 3 * DAY, _LOOK)
        offsets = [_offset(each, zone) for each in looks]
        pairs = zip(looks, offsets, offsets[1:], strict=False)
        return np.array([_change_after(look, zone) for look, one, other in pairs if one != other], dtype=np.int64)

    @cached_property
    def _offsets(self) -> Integers:
        """The offset before the first change, and after each one."""
        zone = time_zone(self.zone)
        after = [_offset(change, zone) for change in self._changes.tolist()]
        return np.array([_offset(self.start - 2 * DAY, zone), *after], dtype=np.int64)

    @cached_property
    def _local_changes(self) -> Integers:
        """The local times from which on the next offset holds: a doubled hour is read with the first offset."""
        return np.asarray(self._changes + np.maximum(self._offsets[:-1], self._offsets[1:]))


def _offset(instant: int, zone: tzinfo) -> int:
    offset = (_EPOCH + instant * _MICROSECOND).astimezone(zone).utcoffset()
    assert offset is not None
    return offset // _MICROSECOND


def _change_after(look: int, zone: tzinfo) -> int:
    """Return the instant within half a day of `look` at which the offset changes, by bisection to the second."""
    low, high = look // SECOND, (look + _LOOK) // SECOND
    before = _offset(look, zone)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(middle * SECOND, zone) == before else (low, middle)
    return high * SECOND


def read_instant(text: str | datetime, zone: str, name: str) -> int:
    """Return the instant of a public time: ISO text or a datetime, local in the zone unless it has an offset.

    A local time that the zone skips or has twice is refused: a public limit must mean one instant.
    """
    moment = _parsed(text, name)
    if not _EARLIEST <= moment.year <= _LATEST:
        raise ParameterError(
            f"{parameter(name)} is {quoted(str(text))}; give a time between the years {_EARLIEST} and {_LATEST}."
        )
    if moment.tzinfo is not None:
        return instant_of(moment)
    here = time_zone(zone)
    one, other = (moment.replace(tzinfo=here, fold=fold) for fold in (0, 1))
    if one.utcoffset() != other.utcoffset():
        exists = one.astimezone(UTC).astimezone(here).replace(tzinfo=None) == moment
        raise ParameterError(
            f"{parameter(name)} is {quoted(str(text))}, which {'occurs twice' if exists else 'does not occur'} in "
            f"{zone}, because clocks are changed then; give the time with its offset from UTC, such as "
            f"{one.replace(tzinfo=None).isoformat()}+01:00."
        )
    return instant_of(one)


def _parsed(text: str | datetime, name: str) -> datetime:
    try:
        return text if isinstance(text, datetime) else datetime.fromisoformat(text)
    except (ValueError, TypeError):
        raise ParameterError(
            f"{parameter(name)} is {quoted(text)}; give a date or a time such as '2024-01-01' or '2024-01-01 08:00'."
        ) from None
