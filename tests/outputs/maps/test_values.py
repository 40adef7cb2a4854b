"""Boxes as pixels, and upper ends of colour scales."""

from __future__ import annotations

import numpy as np

from spatialdp.outputs.maps.values import box_raster
from tests.helpers.releases import release_of


def test_boxes_are_painted_where_they_are():
    estimate = release_of("kd").estimate
    boxes = estimate.leaf_boxes()
    painted = box_raster(boxes, (160, 120))
    x, y = ((np.arange(count) + 0.5) / count * 2**30 for count in (160, 120))
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        inside = ((y >= y0) & (y < y1))[:, None] & ((x >= x0) & (x < x1))
        assert np.array_equal(painted == number, inside)
