"""Instants and local times agree with zoneinfo, hour by hour, through the changes of the clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from spatialdp.errors import ParameterError
from spatialdp.space.frames.clock import DAY, HOUR, Clock, instant_of, read_instant, time_zone, wall_time

ZONES = ["UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata"]


def at(*parts):
    return instant_of(datetime(*parts, tzinfo=UTC))


@pytest.mark.parametrize("zone", ZONES)
def test_local_times_and_instants_are_those_of_zoneinfo(zone):
    start, hours = datetime(2017, 1, 1, tzinfo=UTC), 2 * 365 * 48
    moments = [start + timedelta(minutes=30 * k) for k in range(hours)]
    instants = np.array([instant_of(moment) for moment in moments])
    clock, here = Clock(zone, at(2017, 1, 1), at(2019, 1, 1)), ZoneInfo(zone)
    assert np.array_equal(clock.local(instants), [wall_time(moment.astimezone(here)) for moment in moments])
    local = [moment.replace(tzinfo=None) for moment in moments]
    expected = [instant_of(moment.replace(tzinfo=here, fold=0)) for moment in local]
    assert np.array_equal(clock.instants(np.array([instant_of(m.replace(tzinfo=UTC)) for m in local])), expected)


def test_the_doubled_hour_is_the_first_and_the_missing_hour_goes_on():
    clock = Clock("Europe/Vienna", at(2024, 1, 1), at(2025, 1, 1))
    doubled, missing = at(2024, 10, 27, 2, 30), at(2024, 3, 31, 2, 30)  # as local clocks show them
    first, later = clock.instants(np.array([doubled, missing])).tolist()
    assert first == at(2024, 10, 27, 0, 30)
    assert later == at(2024, 3, 31, 1, 30)  # half past three in summer time
    assert clock.local(np.array([later])).tolist() == [missing + HOUR]


def test_outside_of_the_public_time_the_offset_stays_and_nothing_is_raised():
    clock = Clock("Europe/Vienna", at(2024, 1, 1), at(2024, 2, 1))
    far = np.array([-(2**62), 0, 2**62])
    with np.errstate(all="raise"):
        assert (clock.local(far) - far).tolist() == [HOUR] * 3
        assert (far - clock.instants(far)).tolist() == [HOUR] * 3


@pytest.mark.parametrize("text", ["2024-03-31 02:30", "2024-10-27 02:30"])
def test_public_times_that_are_none_or_two_are_refused(text):
    with pytest.raises(ParameterError, match="offset"):
        read_instant(text, "Europe/Vienna", "start")
    assert read_instant(f"{text}+02:00", "Europe/Vienna", "start") == at(*_parts(text), 0, 30)


def _parts(text):
    return tuple(int(part) for part in text[:10].split("-"))


def test_public_times_are_local_unless_they_say_otherwise():
    assert read_instant("2024-07-01", "Europe/Vienna", "start") == at(2024, 6, 30, 22)
    assert read_instant("2024-07-01T00:00Z", "Europe/Vienna", "start") == at(2024, 7, 1)
    assert read_instant(datetime(2024, 7, 1, tzinfo=UTC), "Europe/Vienna", "start") == at(2024, 7, 1)


@pytest.mark.parametrize("text", ["yesterday", 5, None, "1776-01-01", "2999-01-01"])
def test_what_is_no_public_time_is_refused(text):
    with pytest.raises(ParameterError, match="start is"):
        read_instant(text, "UTC", "start")


@pytest.mark.parametrize("name", ["Europe/Nowhere", "", "../etc/passwd", 7, "/etc/localtime"])
def test_unknown_zones_are_refused(name):
    with pytest.raises(ParameterError, match="zone is"):
        time_zone(name)


def test_days_have_23_24_or_25_hours():
    clock = Clock("Europe/Vienna", at(2024, 1, 1), at(2025, 1, 1))
    for day, hours in (((2024, 3, 31), 23), ((2024, 6, 1), 24), ((2024, 10, 27), 25)):
        start = at(*day)
        ends = clock.instants(np.array([start, start + DAY]))
        assert int(ends[1] - ends[0]) == hours * HOUR
