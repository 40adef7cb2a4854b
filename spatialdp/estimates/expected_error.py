"""Root-mean-square error of boxes that noise will cause, before a record is read.

An estimate of no records, without noise, still knows the noise that it would have: its variances say what to expect.
"""

from __future__ import annotations

import math

import numpy as np

from spatialdp._support.arrays import Integers, even_points
from spatialdp.estimates.base import Estimate
from spatialdp.space.domain import Domain

__all__ = ["expected_error", "sized_boxes", "some_leaves"]

_MOST = 400  # boxes or leaves to average over


def expected_error(estimate: Estimate, boxes: Integers) -> float:
    """Root-mean-square error of the answers to lattice boxes."""
    return math.sqrt(float(estimate.moments(boxes)[0].mean()))


def sized_boxes(domain: Domain, share: float) -> Integers:
    """Lattice boxes with the domain's proportions and a share of its area, spread evenly over it."""
    side = math.sqrt(share)
    corners = even_points(_MOST, 2) * (1 - side)
    xmin, ymin, _, _ = domain.bounds
    boxes = np.concatenate([corners, corners + side], axis=1) * np.tile(domain.size, 2)
    return domain.boxes(boxes + np.array([xmin, ymin, xmin, ymin]))


def some_leaves(estimate: Estimate) -> Integers:
    """Lattice boxes of all leaves, or of 400 spread evenly."""
    count = estimate.n_cells
    every = np.arange(count) if count <= _MOST else (even_points(_MOST, 1)[:, 0] * count).astype(np.int64)
    return estimate.leaf_boxes(every)
