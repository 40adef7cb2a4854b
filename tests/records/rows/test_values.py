"""Values of columns are judged by their declared types; a value is in one cell of its axis or in none."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.rows.values import Texts, value_reader

DAY = sdp.Time("2024-01-01", "2024-01-02", zone="Europe/Vienna")
KINDS = sdp.Categories(["theft", "5", "007"])
MOMENT = datetime.datetime(2024, 1, 1, 8, 30)
UTC = MOMENT.replace(tzinfo=datetime.UTC)


def places(axis, column, *, pandas=False, cells=False):
    read = value_reader(axis, None if cells else column.type, "column 'it' of events", by_pandas=pandas)
    return read(column).places(axis).tolist()


@pytest.mark.parametrize(
    ("column", "tick"),
    [
        (pa.array([MOMENT, None]), 8),
        (pa.array([UTC, None], pa.timestamp("ns", "UTC")), 9),
        (pa.array([UTC.date(), None]), 0),
        (pa.array(["2024-01-01 08:30", "noon"]), 8),
        (pa.array([b"2024-01-01T08:30Z", b"\xff"]), 9),
        (pa.array(["2024-01-01 08:30", None]).dictionary_encode(), 8),
        (pa.array(["2024-01-01 08:30", None], pa.large_string()), 8),
    ],
    ids=lambda each: str(getattr(each, "type", each)),
)
def test_times_of_every_declared_type(column, tick):
    assert places(DAY, column) == [tick, DAY.size]


@pytest.mark.parametrize(
    ("column", "place"),
    [
        (pa.array(["theft", "unheard of"]), 0),
        (pa.array([b"theft", b"\xff"]), 0),
        (pa.array(["theft", None]).dictionary_encode(), 0),
        (pa.array([5, None]), 1),
        (pa.array([5, 7], pa.uint8()), 1),
        (pa.array(["007", "7"]), 2),
        (pa.array(["5", "5.0"]), 1),
    ],
    ids=lambda each: str(getattr(each, "type", each)),
)
def test_categories_of_every_declared_type(column, place):
    assert places(KINDS, column) == [place, KINDS.size]


def test_what_pandas_makes_of_a_gap_is_read():
    assert places(KINDS, pa.array([5.0, np.nan, 5.5]), pandas=True) == [1, 3, 3]
    assert places(DAY, pa.array([np.nan, 5.0]), pandas=True) == [DAY.size] * 2
    assert places(DAY, pa.nulls(2)) == [DAY.size] * 2
    assert places(KINDS, pa.nulls(2)) == [KINDS.size] * 2


def test_cells_of_csv_have_no_type():
    cells = pa.array(["theft", "5", "5.0", "5.5", "7.0", "007", "007.0", None], pa.large_string())
    assert places(KINDS, cells, cells=True) == [0, 1, 1, 3, 3, 2, 3, 3]
    written = pa.array(pd.Series([5.0, None]).to_csv(index=False, header=False).split(), pa.large_string())
    assert places(KINDS, written, cells=True)[0] == 1
    assert places(sdp.Categories(["5.0", "5"]), cells, cells=True)[1:3] == [1, 0]  # what is listed as it is comes first
    assert places(DAY, pa.array(["2024-01-01 08:30", ""], pa.large_string()), cells=True) == [8, DAY.size]


@pytest.mark.parametrize(
    "kind", [pa.int64(), pa.float64(), pa.bool_(), pa.time64("us"), pa.list_(pa.string())], ids=str
)
def test_declared_types_that_are_no_times_are_refused(kind):
    with pytest.raises(PointsError, match=r"column 'it' of events is of type .*; times must be timestamps, dates, or"):
        places(DAY, pa.array([], kind))


@pytest.mark.parametrize("kind", [pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us")], ids=str)
def test_declared_types_that_are_no_categories_are_refused(kind):
    with pytest.raises(PointsError, match=r"column 'it' of events is of type .*; categories must be text or whole"):
        places(KINDS, pa.array([], kind))


def test_parts_of_values_have_their_own_places():
    texts = Texts(pa.array(["theft", "5", "theft"], pa.large_string()))
    assert len(texts) == 3
    assert texts.places(KINDS, slice(1, 3)).tolist() == [1, 0]
