"""Releases of every large variant, and boxes to ask them for."""

from __future__ import annotations

import numpy as np
import shapely

import spatialdp as sdp
from tests.helpers.cases import LARGE, terms

BOUNDS = (0.0, 0.0, 8.0, 6.0)
REGION = shapely.Polygon([(0.6, 0.3), (7, 0), (7, 5), (3, 5.5), (0.5, 3)])
RNG = np.random.default_rng(1)
POINTS = np.vstack([RNG.normal((3, 2), 0.5, (3000, 2)), RNG.uniform((0, 0), (8, 6), (1500, 2))])


def release_of(name, region=None, seed=3):
    """A large variant's release of a cluster and scattered records."""
    domain = sdp.Domain(BOUNDS, crs="EPSG:4326", region=region)
    given = terms(LARGE[name], "add-remove", 0.5)
    return LARGE[name].release(POINTS, domain, noise=sdp.SeededNoise(seed), **given)


def some_boxes(count=200):
    """Random boxes, some partly beyond the domain, some along cell edges, the whole, nothing, and a sliver."""
    ends = np.sort(RNG.uniform((-1, -1), (9, 7), (count, 2, 2)), axis=1).reshape(count, 4)
    ends[: count // 4] = np.round(ends[: count // 4] * 2) / 2
    ends[:, :2], ends[:, 2:] = np.minimum(ends[:, :2], (7.5, 5.5)), np.maximum(ends[:, 2:], 0.5)  # none is outside
    ends[:5] = [BOUNDS, (-9, -9, 99, 99), (1, 1, 1, 1), (0, 0, 0.2, 0.2), (2, 0, 2.0000001, 6)]
    return ends
