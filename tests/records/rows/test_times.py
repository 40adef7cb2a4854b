"""Times of records in every form become the same instants; whatever is no time counts nowhere, silently."""

from __future__ import annotations

import warnings
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from spatialdp.errors import PointsError
from spatialdp.records.rows.times import times_of
from spatialdp.space.frames.clock import Clock, instant_of

NEVER = np.iinfo(np.int64).min
CLOCK = Clock(
    "Europe/Vienna", instant_of(datetime(2024, 1, 1, tzinfo=UTC)), instant_of(datetime(2025, 1, 1, tzinfo=UTC))
)
LOCAL = "2024-07-01T10:00:00"
INSTANT = instant_of(datetime(2024, 7, 1, 8, tzinfo=UTC))

FORMS = {
    "text": ["2024-07-01 10:00"],
    "text with an offset": ["2024-07-01T08:00:00Z"],
    "bytes": [b"2024-07-01T10:00"],
    "datetime": [datetime(2024, 7, 1, 10)],
    "datetime with an offset": [datetime(2024, 7, 1, 11, tzinfo=timezone(timedelta(hours=3)))],
    "datetime of numpy in a list": [np.datetime64(LOCAL)],
    "seconds of numpy": np.array([LOCAL], dtype="datetime64[s]"),
    "nanoseconds of numpy": np.array([LOCAL], dtype="datetime64[ns]"),
    "foreign byte order": np.array([LOCAL], dtype=">M8[us]"),
    "text of numpy": np.array([LOCAL]),
    "objects": np.array([LOCAL], dtype=object),
    "series": pd.Series(pd.to_datetime([LOCAL])),
    "series with a zone": pd.Series(pd.to_datetime([LOCAL]).tz_localize("Europe/Vienna")),
    "index": pd.to_datetime([LOCAL]),
    "series of text": pd.Series([LOCAL]),
    "series of categories": pd.Series([LOCAL], dtype="category"),
    "series of timestamps": pd.Series([pd.Timestamp(LOCAL, tz="Europe/Vienna")], dtype=object),
    "arrow": pa.array([datetime(2024, 7, 1, 10)]),
    "arrow with a zone": pa.array([datetime(2024, 7, 1, 8, tzinfo=UTC)], pa.timestamp("ms", "UTC")),
    "arrow text": pa.array([LOCAL]),
    "arrow chunks": pa.chunked_array([pa.array([LOCAL])]),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_one_time_are_one_instant(form):
    times = times_of(FORMS[form])
    assert len(times) == 1
    assert times.instants(CLOCK).tolist() == [INSTANT]
    assert times.part(slice(0, 1)).instants(CLOCK).tolist() == [INSTANT]


def test_dates_are_their_local_midnight():
    midnight = instant_of(datetime(2024, 6, 30, 22, tzinfo=UTC))
    for form in ([date(2024, 7, 1)], ["2024-07-01"], pa.array([date(2024, 7, 1)])):
        assert times_of(form).instants(CLOCK).tolist() == [midnight]


ODD = [None, 5, 5.5, np.nan, "noon", "", "x" * 99, b"\xff", pd.NaT, np.datetime64("NaT"), [1], {}, object(), True,
       "2024-13-01", 10**400, np.datetime64(2**62, "Y"), np.datetime64("NaT", "ns"),
       "9999-12-31T23:59:59+00:00"]  # fmt: skip


@pytest.mark.parametrize("place", range(len(ODD)))
def test_odd_elements_count_nowhere_and_change_nothing_for_others(place):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = np.empty(3, dtype=object)
        values[:] = [LOCAL, ODD[place], datetime(2024, 7, 1, 10)]
        for form in (values.tolist(), values, pd.Series(values)):
            instants = times_of(form).instants(CLOCK)
            assert instants[[0, 2]].tolist() == [INSTANT, INSTANT]
            assert instants[1] == NEVER or instants[1] > CLOCK.stop


def test_times_out_of_reach_of_microseconds_are_never_or_far_away():
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms"):
        far = np.array([2**62, -(2**62), 0], dtype=np.int64).view(f"datetime64[{unit}]")
        assert times_of(far).microseconds.tolist() == [NEVER, NEVER, 0]
    empty = np.array(["NaT"], dtype="datetime64")
    assert times_of(empty).microseconds.tolist() == [NEVER]


@pytest.mark.parametrize(
    "values",
    [np.array([1, 2]), np.array([1.5]), pa.array([1, 2]), np.zeros((2, 2), dtype="datetime64[s]"), 5, pa.array([b"x"])],
    ids=str,
)
def test_declared_types_that_are_no_times_are_refused(values):
    with pytest.raises(PointsError, match="time"):
        times_of(values)


@pytest.mark.parametrize("dtype", ["datetime64[s]", "datetime64[ns]", ">M8[us]", str, object])
def test_masked_times_are_never(dtype):
    times = times_of(np.ma.array([LOCAL, LOCAL], mask=[False, True], dtype=dtype))
    assert times.instants(CLOCK).tolist() == [INSTANT, NEVER]


def test_missing_values_of_arrow_are_never():
    for kind in (pa.timestamp("us"), pa.timestamp("s", "UTC"), pa.date32(), pa.string(), pa.null()):
        assert times_of(pa.array([None, None], kind)).microseconds.tolist() == [NEVER] * 2


def test_no_records_are_no_times():
    for form in ([], np.array([], dtype="datetime64[s]"), pd.Series([], dtype=object), pa.array([], pa.string())):
        assert len(times_of(form)) == 0
