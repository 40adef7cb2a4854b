"""Frames of pandas and geopandas: columns by name, whatever is in their cells."""

from __future__ import annotations

from decimal import Decimal

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.counting import count_cells
from tests.helpers.person_files import persons_in

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
COLUMNS = {"x": "lon", "y": "lat"}
POINTS = [shapely.Point(0.5, 0.5), shapely.Point(0.25, 0.75), shapely.Point(7, 7)]


def count(frame, domain=DOMAIN, **options):
    return count_cells(sdp.read_points(frame, domain, **options), domain.grid((1, 1))).sum()


ODD = ["unknown", b"x", Decimal("1e-40"), 10**30, 1j, pd.Timestamp("2020"), pd.NA, None, [1], {"a": 1}, object()]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_one_odd_record_counts_nowhere_and_changes_nothing_else(odd):
    inside = isinstance(odd, Decimal)  # which is nearly 0
    for rows in ([0.5, 0.25], []):
        frame = pd.DataFrame({"id": "n", "lon": [*rows, odd], "lat": [*rows, 0.5]})
        assert count(frame, **COLUMNS) == len(rows) + inside
        assert count(frame[["lon", "lat"]]) == len(rows) + inside
        text = pd.DataFrame({"where": [*(f"POINT ({x} {x})" for x in rows), odd]})
        assert count(text, geometry="where") == len(rows)


def test_a_frame_is_read_as_its_arrays_are():
    xy = np.random.default_rng(0).uniform(-0.5, 1.5, (1000, 2))
    frame = pd.DataFrame(xy, columns=["lon", "lat"])
    grid = DOMAIN.grid((8, 8))
    for held in (frame, frame.astype(object), frame.astype(str), frame.convert_dtypes(), frame.astype("category")):
        assert np.array_equal(
            count_cells(sdp.read_points(held, DOMAIN, **COLUMNS), grid), count_cells(sdp.Points(xy), grid)
        )


def test_batches_are_put_together(monkeypatch):
    monkeypatch.setattr("spatialdp.records.frames.BATCH", 2)
    frame = pd.DataFrame({"lon": [0.5] * 5, "lat": [0.5] * 5, "g": ["POINT (0.5 0.5)"] * 5})
    assert count(frame, **COLUMNS) == count(frame, geometry="g") == 5


def test_geometries_are_wkb_wkt_or_shapelys():
    single = shapely.MultiPoint([(0.5, 0.5)])
    values = [
        *("POINT (0.5 0.5)", b"POINT (0.5 0.5)", "MULTIPOINT ((0.5 0.5))", shapely.to_wkb(single)),
        *(shapely.to_wkb(POINTS[0]), bytearray(shapely.to_wkb(POINTS[0])), POINTS[0], single),
    ]
    nowhere = [shapely.box(0, 0, 1, 1), shapely.Point(), (0.5, 0.5), "\ud800", "x" * 10**6, b"\0" * 10**6, 0.5, None]
    frame = pd.DataFrame({"g": pd.Series([*values, *nowhere], dtype=object)})
    assert count(frame, geometry="g") == len(values)


@pytest.mark.parametrize(
    "made", [lambda points: pd.DataFrame({"g": points}), lambda points: points], ids=["wkt", "series"]
)
def test_series_of_geometries_are_read_for_a_domain(made):
    series = geopandas.GeoSeries(POINTS, crs="EPSG:4326")
    held = made(series)
    options = {"geometry": "g"} if isinstance(held, pd.DataFrame) and "g" in held else {}
    assert count(held, **options) == 2


def test_geodataframes_bring_their_crs():
    frame = geopandas.GeoDataFrame({"lon": [0.5] * 3, "lat": [0.5] * 3}, geometry=POINTS, crs="EPSG:4326")
    assert count(frame) == count(frame, geometry="geometry") == 2
    assert count(frame, **COLUMNS) == 3
    assert count(frame.iloc[:0]) == 0
    metres = sdp.Domain((0, 0, 200_000, 200_000), crs="EPSG:3857")
    with pytest.raises(CRSMismatchError, match="EPSG:3857"):
        count(frame, metres)
    assert count(frame, metres, reproject=True) == 2
    with pytest.raises(CRSMismatchError, match="the GeoDataFrame states no CRS"):
        count(frame.set_crs(None, allow_override=True))
    with pytest.raises(PointsError, match="set_geometry"):
        count(geopandas.GeoDataFrame({"a": [1]}))


def test_structure_is_checked():
    frame = pd.DataFrame({"id": [1], "lon": [0.5], "lat": [0.5]})
    with pytest.raises(PointsError, match="the DataFrame has no column 'lng'; its columns are id, lon, lat"):
        count(frame, x="lng", y="lat")
    with pytest.raises(PointsError, match="the DataFrame has no column 'where'"):
        count(frame, geometry="where")
    with pytest.raises(PointsError, match="more than one column 'lon'"):
        count(pd.concat([frame, frame], axis=1), **COLUMNS)
    with pytest.raises(PointsError, match=r"the DataFrame has no geometry and not just two columns; name .*x and y"):
        count(frame)
    with pytest.raises(PointsError, match="the Series has no geometry and not just two columns"):
        count(frame["lon"])
    with pytest.raises(PointsError, match="named like the other axis"):
        count(frame[["lat", "lon"]])
    with pytest.raises(PointsError, match="leave layer out"):
        count(frame, layer="homes", **COLUMNS)


# --- persons ---------------------------------------------------------------------------------------


def test_persons_are_a_column_of_a_frame():
    frame = pd.DataFrame({"lon": 0.5, "lat": 0.5, "who": [5, None, 7, 0.5]})
    assert persons_in(frame, **COLUMNS) == persons_in(frame) == ["5", None, "7", None]
    odd = pd.DataFrame({"lon": 0.5, "lat": 0.5, "who": ["ann", b"x", [1], True, 5, pd.NA]})
    assert persons_in(odd, **COLUMNS) == ["ann", None, None, None, "5", None]
    shapes = [shapely.Point(0.5, 0.5), shapely.box(0, 0, 1, 1), None, shapely.Point(0.25, 0.25)]
    places = geopandas.GeoDataFrame({"who": ["ann", "bob", "cid", "dan"]}, geometry=shapes, crs="EPSG:4326")
    assert persons_in(places) == ["ann", "dan"]  # what is no point lies nowhere
    assert persons_in(places.rename_geometry("g"), geometry="g") == ["ann", "dan"]
    text = pd.DataFrame({"g": ["POINT (1 1)", "x"], "who": ["ann", "bob"]})
    assert persons_in(text, geometry="g") == ["ann"]


def test_a_frame_must_have_the_column_of_persons_once():
    frame = pd.DataFrame({"lon": [0.5], "lat": [0.5], "who": [1]})
    with pytest.raises(PointsError, match="the DataFrame has no column 'user'; its columns are lon, lat, who"):
        sdp.read_points(frame, DOMAIN, person="user", **COLUMNS)
    series = geopandas.GeoSeries([shapely.Point(0.5, 0.5)], crs="EPSG:4326")
    with pytest.raises(PointsError, match="its columns are none but the geometry; leave person out"):
        sdp.read_points(series, DOMAIN, person="who")
    with pytest.raises(PointsError, match=r"person is a list; give the name of a column.*spatialdp\.Points"):
        sdp.read_points(frame, DOMAIN, person=[1], **COLUMNS)
