"""Arrays, frames and series as two columns: what is missing counts nowhere, and no complaint tells of a record."""

from __future__ import annotations

import traceback
from decimal import Decimal

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import PointsError
from tests.helpers.points import XY, counts


def test_whole_numbers_and_missing_values():
    assert counts(np.array([[1, 1], [4, 4]])).sum() == 2
    assert counts([[1.0, None], [1.0, 1.0]]).sum() == 1
    assert counts(pd.DataFrame({"x": [1.0, None], "y": [1.0, 1.0]})).sum() == 1
    nullable = pd.DataFrame({"x": [1.0, None], "y": [1.0, 1.0]}).convert_dtypes()
    assert counts(nullable).sum() == 1
    assert counts(sdp.Points(nullable["x"], nullable["y"])).sum() == 1
    assert counts([[10**400, 1.0], [1, 1]]).sum() == 1
    for text in ("NaN", "sNaN", "Infinity", "1e999"):
        assert counts(np.array([[Decimal(text), 1], [1, 1]], dtype=object)).sum() == 1
    assert counts(np.ma.masked_array(XY, np.arange(8).reshape(4, 2) == 1)).sum() == 3
    missing = geopandas.GeoSeries([shapely.Point(1, 1), None, shapely.Point()], crs="EPSG:4326")
    assert counts(missing).sum() == 1


@pytest.mark.parametrize(
    "points", [np.zeros(3), np.zeros((3, 3)), np.zeros((2, 2, 2)), 7, "points", None, [["a", "b"]], [[1j, 2j]]]
)
def test_wrong_forms_are_refused(points):
    with pytest.raises(PointsError):
        sdp.Points(points)


def test_geometries_in_the_wrong_wrapping():
    with pytest.raises(PointsError, match="set_geometry"):
        sdp.Points(geopandas.GeoDataFrame({"x": [1.0]}))
    with pytest.raises(PointsError, match="GeoSeries"):
        sdp.Points([shapely.Point(1, 1)])


def test_polygons_where_points_are_due():
    with pytest.raises(PointsError, match="not all points"):
        sdp.Points(geopandas.GeoSeries([shapely.Point(1, 1), shapely.box(0, 0, 1, 1)], crs="EPSG:4326"))


@pytest.mark.parametrize("bad", [[["1.5", "271828.18"]], [[1.0, "secret 271828.18"]], [[1.0, 271828.18], [2.0]]])
def test_errors_do_not_quote_a_record(bad):
    with pytest.raises(PointsError) as caught:
        sdp.Points(bad)
    assert "271828" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


WRONG = {
    "three columns": lambda n: np.zeros((n, 3)),
    "one column": lambda n: np.zeros(n),
    "a cube": lambda n: np.zeros((n, 2, 2)),
    "text": lambda n: [["a", "b"]] * n,
    "complex": lambda n: np.zeros((n, 2), dtype=complex),
    "ragged": lambda n: [[1.0, 2.0]] * n + [[1.0]],
    "polygons": lambda n: geopandas.GeoSeries([shapely.box(0, 0, 1, 1)] * n),
    "mixed": lambda n: geopandas.GeoSeries([shapely.Point(0, 0)] * n + [shapely.box(0, 0, 1, 1)]),
}


@pytest.mark.parametrize("form", WRONG)
def test_complaints_do_not_tell_how_many_records_there_are(form):
    said = set()
    for n in (3, 4, 1000):
        with pytest.raises(PointsError) as caught:
            sdp.Points(WRONG[form](n))
        said.add((str(caught.value), repr(caught.value.__cause__), repr(caught.value.__context__)))
    for n in (3, 1000):
        with pytest.raises(PointsError, match="different lengths") as caught:
            sdp.Points(np.zeros(n), np.zeros(n + 9))
        assert str(n) not in str(caught.value)
    assert len(said) == 1


@pytest.mark.parametrize(
    "geometry",
    [
        shapely.MultiPoint([(1, 1), (3, 3)]),
        shapely.LineString([(1, 1), (3, 3)]),
        shapely.GeometryCollection([shapely.Point(1, 1), shapely.Point(3, 3)]),
    ],
    ids=lambda geometry: geometry.geom_type,
)
def test_what_is_more_than_one_point_is_refused_or_counts_once(geometry):
    for held in (geopandas.GeoSeries, lambda listed, crs: geopandas.GeoDataFrame(geometry=listed, crs=crs)):
        with pytest.raises(PointsError, match="not all points"):
            counts(held([geometry, shapely.Point(1, 1)], crs="EPSG:4326"))
