"""Points: what is accepted, what is refused, and that nothing shows."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.points import as_points
from tests.helpers.points import XY, counts


@pytest.mark.parametrize(
    "points",
    [
        XY,
        XY.tolist(),
        XY.astype(np.float32),
        np.asfortranarray(XY),
        pd.DataFrame(XY, columns=["lon", "lat"]),
        sdp.Points(XY[:, 0], XY[:, 1]),
        sdp.Points(XY[:, 0].tolist(), pd.Series(XY[:, 1])),
        sdp.Points(XY, crs="EPSG:4326"),
        geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*XY.T), crs="EPSG:4326"),
        geopandas.GeoSeries(geopandas.points_from_xy(*XY.T), crs="EPSG:4326"),
    ],
    ids=lambda points: type(points).__name__,
)
def test_all_forms_count_the_same(points):
    expected = np.zeros((4, 4), dtype=int)
    expected[0, 0], expected[0, 1], expected[3, 3] = 1, 2, 1
    assert np.array_equal(counts(points), expected)


def test_no_records_at_all():
    for empty in ([], np.empty((0, 2)), sdp.Points([], []), geopandas.GeoSeries([], crs="EPSG:4326")):
        assert counts(empty).sum() == 0


def test_two_arrays_must_match_and_geometries_bring_their_own():
    with pytest.raises(PointsError, match="different lengths"):
        sdp.Points([1.0, 2.0], [1.0])
    with pytest.raises(PointsError, match="one-dimensional"):
        sdp.Points(XY, XY)
    with pytest.raises(PointsError, match="brings its own"):
        sdp.Points(geopandas.GeoSeries([shapely.Point(1, 1)]), crs="EPSG:4326")


def test_crs_must_be_the_domains():
    there = geopandas.GeoSeries([shapely.Point(1, 1)], crs="EPSG:3857")
    with pytest.raises(CRSMismatchError, match=r"EPSG:4326.*EPSG:3857.*to_crs"):
        counts(there)
    for without in (geopandas.GeoSeries([shapely.Point(1, 1)]), sdp.Points(geopandas.GeoSeries([shapely.Point(1, 1)]))):
        with pytest.raises(CRSMismatchError, match="set_crs"):
            counts(without)
    with pytest.raises(CRSMismatchError, match="Domain\\(bounds, crs"):
        as_points(there, sdp.Domain((0, 0, 4, 4)))
    with pytest.raises(CRSMismatchError):
        counts(sdp.Points(XY, crs="EPSG:3857"))
    # Axis order is not a different place: geographic coordinates are x = longitude everywhere here.
    assert counts(sdp.Points(XY, crs="OGC:CRS84")).sum() == 4


def test_points_show_nothing():
    few, many = sdp.Points(XY), sdp.Points(np.tile(XY, (100, 1)))
    assert repr(few) == repr(many) == str(many) == "Points(<private>)"
    for attempt in (len, iter, list):
        with pytest.raises(TypeError):
            attempt(many)
    assert not hasattr(many, "__dict__")


@pytest.mark.filterwarnings("error")
def test_odd_values_raise_no_warning():
    odd = [[np.nan, 1], [np.inf, 1], [-np.inf, 1], [1e308, 1], [-1e308, -1e308], [1, np.nan]]
    assert counts(odd).sum() == 0


def test_frames_named_like_the_other_axis_are_refused():
    frame = pd.DataFrame({"lat": [0.5], "lon": [0.5]})
    for swapped in (lambda: sdp.Points(frame), lambda: sdp.Points(frame["lat"], frame["lon"])):
        with pytest.raises(PointsError, match="named like the other axis"):
            swapped()
    assert sdp.Points(frame[["lon", "lat"]]) is not None
    assert sdp.Points(frame["lon"], frame["lat"]) is not None
    assert sdp.Points(frame.to_numpy()) is not None
