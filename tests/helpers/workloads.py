"""Sets of boxes of several kinds, on two domains."""

from __future__ import annotations

import numpy as np
import shapely

import spatialdp as sdp
from spatialdp.planning.queries import all_boxes

DOMAIN = sdp.Domain((-10, 40, 10, 60))
ROUND = sdp.Domain((-10, 40, 10, 60), region=shapely.Point(0, 50).buffer(7))
SHAPE = (40, 24)
LAWS = {"laplace": 0, "gaussian": 1e-6}


def placed(boxes: np.ndarray) -> np.ndarray:
    """Boxes of the unit square in the domain."""
    return np.asarray(boxes) * 20 + np.array([-10, 40, -10, 40])


def squares(count: int, width: float, height: float, seed: int = 1) -> np.ndarray:
    low = np.random.default_rng(seed).random((count, 2)) * (1 - np.array([width, height]))
    return placed(np.hstack([low, low + np.array([width, height])]))


def corners(count: int) -> np.ndarray:
    far = 0.05 + 0.95 * np.random.default_rng(2).random((count, 2))
    return placed(np.hstack([np.zeros((count, 2)), far]))


WORKLOADS = {
    "any": all_boxes(DOMAIN, 100),
    "prefixes": corners(60),
    "slabs": np.vstack([squares(40, 1, 0.1), squares(40, 0.1, 1)]),
    "tall": squares(50, 0.05, 1),
    "small": squares(80, 0.06, 0.06),
    "one": placed([[0.3, 0.2, 0.61, 0.77]]),
}
