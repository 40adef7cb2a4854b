"""Ticks are half-open and exact; days follow the calendar of the zone; queries mean ticks or are refused."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from spatialdp.errors import ParameterError
from spatialdp.space.frames.clock import DAY, HOUR, instant_of
from spatialdp.space.frames.time import WEEKDAYS, Time

VIENNA = "Europe/Vienna"


def at(*parts):
    return instant_of(datetime(*parts, tzinfo=UTC))


def test_ticks_are_half_open_to_the_microsecond():
    time = Time("2024-01-01", "2024-01-02", zone=VIENNA)
    first = at(2023, 12, 31, 23)
    instants = np.array([first - 1, first, first + HOUR - 1, first + HOUR, first + DAY - 1, first + DAY])
    assert time.ticks(instants).tolist() == [24, 0, 0, 1, 23, 24]


def test_days_through_the_changes_of_the_clocks_have_23_and_25_hours():
    spring, autumn = Time("2024-03-31", "2024-04-01", zone=VIENNA), Time("2024-10-27", "2024-10-28", zone=VIENNA)
    assert (spring.size, autumn.size) == (23, 25)
    assert [label[11:13] for label in spring.labels()[:3]] == ["00", "01", "03"]
    assert [label[11:13] for label in autumn.labels()[:4]] == ["00", "01", "02", "02"]
    days = Time("2024-03-30", "2024-04-02", step="1 d", zone=VIENNA)
    assert (np.diff(days.edges) // HOUR).tolist() == [24, 23, 24]


def test_levels_are_local_days_and_weeks():
    time = Time("2024-03-30", "2024-04-02", zone=VIENNA, levels=("day", "week"))
    assert time.names == ("all time", "week", "day", "hour")
    assert time.shape.n_children[:6].tolist() == [2, 2, 1, 24, 23, 24]
    assert time.part_labels("day") == [
        f"2024-{day}" for day in ("03-30T00:00+01:00", "03-31T00:00+01:00", "04-01T00:00+02:00")
    ]
    assert time.part_labels("week")[1] == "2024-04-01T00:00+02:00"
    months = Time("2024-01-01", "2025-01-01", step="month", levels="year")
    assert (months.size, months.names) == (12, ("all time", "year", "month"))


def test_folded_hours_count_what_occurs_twice_in_one_hour_of_the_day():
    time = Time("2024-01-01", "2025-01-01", zone=VIENNA, fold="hour of day")
    twice = np.array([at(2024, 10, 27, 0, 30), at(2024, 10, 27, 1, 30)])  # half past two, and half past two again
    assert time.ticks(twice).tolist() == [2, 2]
    assert time.ticks(np.array([at(2024, 3, 31, 1, 30)])).tolist() == [3]
    assert (time.size, time.labels()[8]) == (24, "08:00")
    assert Time("2024-01-01", "2024-02-01", step="90 min", fold="hour of day").labels()[-1] == "22:30"


def test_folded_weeks_are_days_of_the_week():
    time = Time("2024-01-01", "2025-01-01", step="1 d", zone=VIENNA, fold="day of week")
    assert time.ticks(np.array([at(2024, 1, 1, 12), at(2024, 1, 6, 23, 30)])).tolist() == [0, 6]
    assert time.labels() == list(WEEKDAYS)
    assert time.pick(("Saturday", "Monday")).tolist() == [5, 6]
    assert time.pick("Sunday").tolist() == [6]


@pytest.mark.parametrize(
    ("query", "ticks"),
    [
        (("08:00", "10:00"), [8, 9]),
        (("22:00", "02:00"), [0, 1, 22, 23]),
        (("22:00", "24:00"), [22, 23]),
        (("22:00", "00:00"), [22, 23]),
        (("00:00", "24:00"), list(range(24))),
        ("08:00", [8]),
    ],
)
def test_clock_times_mean_hours_of_the_day_also_past_midnight(query, ticks):
    assert Time("2024-01-01", "2024-02-01", fold="hour of day").pick(query).tolist() == ticks


def test_clock_times_mean_every_day_where_days_are_not_folded():
    time = Time("2024-03-30", "2024-04-01", zone=VIENNA)
    assert time.pick(("01:00", "04:00")).tolist() == [1, 2, 3, 25, 26]  # two o'clock does not occur on the 31st


def test_dates_and_times_mean_days_ticks_and_intervals():
    time = Time("2024-01-01", "2024-01-03")
    assert time.pick("2024-01-02").tolist() == list(range(24, 48))
    assert time.pick("2024-01-02 05:00").tolist() == [29]
    assert time.pick(("2024-01-01 23:00", "2024-01-02 01:00")).tolist() == [23, 24]
    assert time.pick(("2023-01-01", "2024-01-01 02:00")).tolist() == [0, 1]


@pytest.mark.parametrize(
    "query",
    ["noon", ("08:30", "10:00"), ("08:00", "08:00"), ("2024-01-01", "10:00"), ("2024-01-02", "2024-01-01"),
     "2025-01-01",
     ("2024-01-01 00:30", "2024-01-01 02:00"), (), ("08:00",) * 3, 8, "25:00", "Monday"],
)  # fmt: skip
def test_what_is_no_part_of_the_axis_is_refused(query):
    with pytest.raises(ParameterError, match="time is"):
        Time("2024-01-01", "2024-01-03").pick(query)


@pytest.mark.parametrize(
    "terms",
    [
        {"step": "11 h"},
        {"step": "1 fortnight"},
        {"step": "0 h"},
        {"stop": "2024-01-01"},
        {"levels": ("week", "month")},
        {"step": "1 d", "levels": ("hour",)},
        {"levels": ("decade",)},
        {"fold": "moon"},
        {"fold": "day of week"},
        {"step": "7 min", "fold": "hour of day"},
        {"fold": "hour of day", "levels": ("day",)},
        {"zone": "Mars/Olympus"},
        {"step": "1 s", "stop": "2074-01-01"},
        {"start": "2024-01-01 12:00", "step": "1 d"},
    ],
    ids=str,
)
def test_axes_that_are_none_are_refused(terms):
    with pytest.raises(ParameterError):
        Time(**({"start": "2024-01-01", "stop": "2024-01-29"} | terms))


def test_axes_are_values_and_come_back_from_json():
    time = Time("2024-01-01", "2024-02-01", zone=VIENNA, levels=("day",))
    data = time.to_json()
    assert Time(**{name: data[name] for name in data if name != "kind"}) == time
    folded = Time("2024-01-01", "2024-02-01", fold="hour of day")
    assert folded.to_json()["fold"] == "hour of day"
    assert hash(time) != hash(folded)


def test_parts_are_the_nodes_of_the_tree():
    time = Time("2024-01-01", "2024-01-03", step="6 h", levels=("day",))
    assert time.parts("day").tolist() == [1, 2]
    assert time.part_labels("all time") == ["all time"]
    assert time.counted == (False, True, True)
