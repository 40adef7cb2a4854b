"""Bounds, systems and names that cannot be meant are refused; what is odd but may be meant is not."""

from __future__ import annotations

import pytest

from spatialdp import Domain
from spatialdp.errors import DomainError, PointsError
from spatialdp.space.placement import check_column_names, check_place, ground_size

TORONTO = (-79.7, 43.5, -79.1, 43.9)
SITE = "+proj=tmerc +lat_0=47 +lon_0=8 +units=m"


@pytest.mark.parametrize(
    ("bounds", "crs", "words"),
    [
        ((-179.5, -100, 179.5, 35), "EPSG:4326", "latitudes"),
        ((-10, -100, 10, -90), "EPSG:4326", "latitudes"),
        ((43.5, -179.7, 43.9, -79.1), "EPSG:4326", "seem to be swapped"),
        ((610_000, 4_820_000, 650_000, 4_860_000), "EPSG:4326", "in degrees"),
        ((0, -90, 400, 90), "EPSG:4326", "full turn"),
        ((-300, -90, 300, 90), "EPSG:4326", "full turn"),
        ((-79.7, -79.1, 43.5, 43.9), "EPSG:4326", r"\(xmin, xmax, ymin, ymax\)"),
        ((2.2, 2.5, 48.8, 48.9), "EPSG:4326", r"\(xmin, xmax, ymin, ymax\)"),
        (TORONTO, "EPSG:2154", "look like degrees"),
        (TORONTO, "EPSG:3857", "look like degrees"),
        (TORONTO, "EPSG:2274", "US survey foot"),
        ((43.5, -79.7, 43.9, -79.1), "EPSG:4269", "outside the area"),  # latitudes first, in North America's system
        ((6_100_000, 100_000, 6_900_000, 1_200_000), "EPSG:2154", "outside the area"),  # northings first
        ((610_000, 650_000, 4_820_000, 4_860_000), "EPSG:32617", "outside the area"),  # xmin, xmax, ymin, ymax
        ((4_820_000, 610_000, 4_860_000, 650_000), "EPSG:32617", "outside the area"),
    ],
)
def test_bounds_that_cannot_be_meant_are_refused(bounds, crs, words):
    with pytest.raises(DomainError, match=words):
        Domain(bounds, crs=crs)
    assert Domain(bounds).bounds == bounds  # without a CRS nothing is known


@pytest.mark.parametrize(
    ("bounds", "crs"),
    [
        (TORONTO, "EPSG:4326"),
        ((-180, -90, 180, 90), "EPSG:4326"),
        ((0, -90, 360, 90), "EPSG:4326"),
        ((166, -48, 184, -34), "EPSG:4326"),  # across the antimeridian
        ((166, -48, 179, -34), "EPSG:4167"),  # whose area of use lies across the antimeridian
        ((0, 0, 10, 10), "EPSG:4326"),
        ((2.7, 4.3, 14.7, 13.9), "EPSG:4326"),  # Nigeria, near the diagonal
        ((-20_037_508, -20_037_508, 20_037_508, 20_037_508), "EPSG:3857"),
        ((-18e6, -9e6, 18e6, 9e6), "ESRI:54009"),  # the corners are no places on earth
        ((0, 0, 700_000, 1_300_000), "EPSG:27700"),
        ((0, 0, 1e6, 1e7), "EPSG:32633"),  # up to the pole
        ((-900_000, 5.2e6, 2e6, 8e6), "EPSG:32633"),  # far beyond its zone
        ((-3e6, 0, 3e6, 5e6), "EPSG:5070"),  # with Canada
        ((-4e6, -4e6, 4e6, 4e6), "EPSG:3031"),  # around the pole
        ((913_000, 120_000, 1_067_500, 273_000), "EPSG:2263"),  # feet
        ((0, 0, 100, 80), SITE),  # a building site, whose system says nothing of its use
    ],
)
def test_bounds_that_may_be_meant_are_accepted(bounds, crs):
    check_place(tuple(float(bound) for bound in bounds), crs)


def test_a_fitted_domain_may_end_a_little_beyond_the_pole():
    assert Domain((-180, -90, 180, 90), crs="EPSG:4326").fitted(7).bounds == (-180, -90, 184, 92)


@pytest.mark.parametrize(
    ("x", "y"),
    [("lat", "lon"), ("Latitude", "Longitude"), ("start_lat", "start_lng"), ("pickupLatitude", "v"), ("a", "LON")],
)
def test_columns_named_like_the_other_axis_are_refused(x, y):
    with pytest.raises(PointsError, match="Swap them"):
        check_column_names(x, y)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("lon", "lat"),
        ("x", "y"),
        ("y", "x"),  # in some countries x is north
        ("platform", "longest"),
        ("a", "b"),
        (None, None),
        ("lat_or_lon_x", "lat_or_lon_y"),
    ],
)
def test_other_columns_are_accepted(x, y):
    check_column_names(x, y)


def test_size_on_the_ground():
    assert ground_size((0.0, 0.0, 1.0, 1.0), None) is None
    assert ground_size((0.0, 0.0, 100.0, 80.0), SITE) == pytest.approx((100, 80), rel=1e-3)
    assert ground_size((-180.0, -90.0, 180.0, 90.0), "EPSG:4326") == pytest.approx((40_075_017, 20_003_931), rel=1e-4)
    feet = ground_size((2_100_000.0, 200_000.0, 2_300_000.0, 400_000.0), "EPSG:2274")
    assert feet == pytest.approx((60_960, 60_960), rel=1e-3)
    local = 'LOCAL_CS["site",LOCAL_DATUM["site",0],UNIT["metre",1],AXIS["x",EAST],AXIS["y",NORTH]]'
    assert ground_size((0.0, 0.0, 1.0, 1.0), local) is None


def test_a_system_without_a_way_to_degrees_is_refused_in_words():
    with pytest.raises(DomainError, match="pyproj cannot convert to longitude and latitude"):
        Domain((100_000, 100_000, 200_000, 200_000), crs="EPSG:22700")
