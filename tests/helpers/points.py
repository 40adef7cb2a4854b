"""A few points on a small grid, and their counts."""

from __future__ import annotations

import numpy as np

import spatialdp as sdp
from spatialdp.records.counting import count_cells
from spatialdp.records.points import as_points

DOMAIN = sdp.Domain((0, 0, 4, 4), crs="EPSG:4326")
GRID = DOMAIN.grid((4, 4))
XY = np.array([[0.5, 0.5], [1.5, 0.5], [1.6, 0.4], [3.9, 4.0]])


def counts(points):
    return count_cells(as_points(points, DOMAIN), GRID)
