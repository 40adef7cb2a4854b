"""Persons in a named column beside the points, or in an array of their own."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

from spatialdp.errors import PointsError
from spatialdp.records.persons.columns import without_persons

TABLE = {"who": ["ann", "bob"], "lon": [0.5, 1.5], "lat": [0.5, 0.5]}


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, lambda data: pa.table(data).to_reader()])
def test_a_column_of_persons_is_taken_out_wherever_it_stands(make):
    for names in (["who", "lon", "lat"], ["lon", "who", "lat"], ["lon", "lat", "who"]):
        rest, persons = without_persons(make({name: TABLE[name] for name in names}), "who")
        columns = rest.column_names if isinstance(rest, pa.Table) else list(rest.columns)
        assert columns == ["lon", "lat"]
        assert persons.to_pylist() == ["ann", "bob"]


def test_tables_and_frames_keep_what_says_where_their_points_are():
    frame = geopandas.GeoDataFrame({"who": [1, 2]}, geometry=[shapely.Point(0, 0)] * 2, crs="EPSG:4326")
    rest, persons = without_persons(frame, "who")
    assert rest.crs == frame.crs
    assert persons.to_pylist() == [1, 2]
    table = pa.table(TABLE).replace_schema_metadata({"geo": "{}"})
    assert without_persons(table, "who")[0].schema.metadata == {b"geo": b"{}"}


def test_persons_of_their_own_leave_the_points_as_they_are():
    xy = np.zeros((2, 2))
    rest, persons = without_persons(xy, np.array([7, 8]))
    assert rest is xy
    assert persons.to_pylist() == [7, 8]


@pytest.mark.parametrize("points", [np.zeros((2, 2)), [[0, 0]], None])
def test_a_name_needs_columns(points):
    with pytest.raises(PointsError, match="no column 'who'; give person as an array"):
        without_persons(points, "who")


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_columns_that_are_not_there_and_other_types(make):
    with pytest.raises(PointsError, match=r"has no column 'whom'; its columns are who, lon, lat"):
        without_persons(make(TABLE), "whom")
    if make is pa.table:
        with pytest.raises(PointsError, match=r"column 'lon' of the Arrow table is of type double; persons must"):
            without_persons(make(TABLE), "lon")
    else:  # pandas chooses doubles by the records
        assert without_persons(make(TABLE), "lon")[1].to_pylist() == [None, None]


def test_a_table_that_fails_while_it_is_read_tells_nothing():
    def batches():
        yield pa.record_batch(TABLE)
        raise ValueError("record 0.73519284")

    reader = pa.RecordBatchReader.from_batches(pa.record_batch(TABLE).schema, batches())
    with pytest.raises(PointsError) as caught:
        without_persons(reader, "who")
    assert "73519284" not in str(caught.value)
