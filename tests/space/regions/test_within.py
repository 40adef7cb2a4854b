"""Places outside of a region are moved to its border, and others stay."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.space.regions.within import moved_inside

SHAPES = {
    "with a hole": shapely.Point(5, 5).buffer(4).difference(shapely.Point(5, 5).buffer(1)),
    "in parts": shapely.union(shapely.box(0, 0, 1, 1), shapely.box(8, 8, 20, 20)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_places_end_up_in_the_region_as_near_as_can_be(shape):
    domain = sdp.Domain((0, 0, 10, 10), region=SHAPES[shape])
    x, y = np.random.default_rng(1).uniform(0, 10, (2, 500))
    moved = moved_inside(domain, x, y)
    within = shapely.intersects_xy(SHAPES[shape], x, y)
    assert (moved[0][within] == x[within]).all()
    assert shapely.distance(shapely.points(*moved), SHAPES[shape]).max() < 1e-9
    assert max(each.max() for each in moved) <= 10
    gone = np.hypot(moved[0] - x, moved[1] - y)
    assert gone == pytest.approx(shapely.distance(shapely.points(x, y), SHAPES[shape]))
