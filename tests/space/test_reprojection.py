"""Public geometry keeps its outline in another CRS; records are moved one by one, and none is judged."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import shapely
from pyproj import Transformer

from spatialdp.errors import CRSMismatchError
from spatialdp.space.reprojection import TOLERANCE, point_transformation, reproject

ALBERS, DEGREES, NEW_ZEALAND = "EPSG:5070", "EPSG:4326", "EPSG:2193"
LARGE = shapely.box(-120, 25, -70, 49)


def moved(shape, source, target, **options):
    return reproject("polygons", np.array([shape]), source, target, **options)[0]


def test_edges_keep_to_the_true_lines():
    """The straight lines of a large box in degrees are curves in an equal-area projection."""
    result = moved(LARGE, DEGREES, ALBERS)
    fine = shapely.segmentize(LARGE, 0.01)
    exact = shapely.transform(fine, Transformer.from_crs(DEGREES, ALBERS, always_xy=True).transform, interleaved=False)
    extent = max(result.bounds[2] - result.bounds[0], result.bounds[3] - result.bounds[1])
    assert shapely.hausdorff_distance(result, exact, densify=0.2) < 2 * TOLERANCE * extent
    corners = shapely.transform(
        LARGE, Transformer.from_crs(DEGREES, ALBERS, always_xy=True).transform, interleaved=False
    )
    assert shapely.hausdorff_distance(corners, exact) > 1e4 * TOLERANCE * extent  # corners alone would not do
    assert shapely.get_num_coordinates(result) < 10_000


def test_there_and_back_is_the_same_area():
    hole = LARGE - shapely.Point(-95, 38).buffer(3)
    back = moved(moved(hole, DEGREES, ALBERS), ALBERS, DEGREES)
    assert shapely.symmetric_difference(back, hole).area < 1e-4 * hole.area


def test_lines_missing_and_empty_geometries_are_kept():
    shapes = np.array([shapely.LineString([(-120, 45), (-70, 45)]), shapely.Polygon(), None, LARGE])
    line, empty, missing, area = reproject("boundaries", shapes, DEGREES, ALBERS)
    assert shapely.get_num_coordinates(line) > 100
    assert empty.is_empty
    assert missing is None
    assert area.is_valid


def test_longitudes_are_those_near_the_domain():
    """New Zealand's system reaches across the antimeridian, where longitudes jump."""
    east = shapely.box(1.9e6, 5e6, 2.6e6, 5.9e6)
    crossing = moved(east, NEW_ZEALAND, DEGREES, middle=175.0)
    assert 170 < crossing.bounds[0] < 180 < crossing.bounds[2] < 190
    assert moved(east, NEW_ZEALAND, DEGREES).bounds == pytest.approx(crossing.bounds)
    before = moved(east, NEW_ZEALAND, DEGREES, middle=-175.0)
    assert before.bounds[0] == pytest.approx(crossing.bounds[0] - 360)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(CRSMismatchError, match="Cut that part off"):
        moved(shapely.box(170, -50, 190, -30), DEGREES, "EPSG:3857")  # cut at the antimeridian
    with pytest.raises(CRSMismatchError, match="Cut that part off"):
        moved(shapely.box(0, 80, 10, 90), DEGREES, "EPSG:3857")  # the pole is infinitely far away


@pytest.mark.parametrize("target", [ALBERS, "EPSG:3857", "EPSG:27700", "EPSG:2154"])
def test_records_are_moved_one_by_one_and_none_is_judged(target):
    """Whatever one record is, the others get the same places, and nothing is said."""
    rng = np.random.default_rng(4)
    x, y = rng.uniform(-10, 10, 500), rng.uniform(40, 55, 500)
    transform = point_transformation(DEGREES, target, (0, 0, 1e6, 1e6))
    alone = transform(x, y)
    for odd in ((np.nan, 1), (1, np.inf), (1e300, -1e300), (-180, 90), (0, -90), (1e-300, 1e17), (721, 45)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            columns = (np.insert(values, 250, value) for values, value in zip((x, y), odd, strict=True))
            together = transform(*columns)
        for before, after in zip(alone, together, strict=True):
            assert np.array_equal(before, np.delete(after, 250), equal_nan=True)


def test_records_are_moved_as_usual():
    x, y = np.array([-79.4, -79.5]), np.array([43.6, 43.7])
    east, north = point_transformation(DEGREES, "EPSG:32617", (600_000, 4_800_000, 700_000, 4_900_000))(x, y)
    expected = Transformer.from_crs(DEGREES, "EPSG:32617", always_xy=True).transform(x, y)
    assert np.allclose([east, north], expected, atol=0.01)
    assert point_transformation(DEGREES, ALBERS, (0, 0, 1, 1))(np.array([]), np.array([]))[0].size == 0
    whole = point_transformation(DEGREES, "EPSG:3857", (-1e300, -1e300, 1e300, 1e300))  # no area in degrees
    assert whole(np.array([1]), np.array([1], dtype=np.float32))[0] == pytest.approx([111319.49])
