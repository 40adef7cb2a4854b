"""Which error will noise cause in the answers to boxes? Known before a record is read, from the variances.

A mechanism gives an estimate with all values 0 and the noise laws of a release; the variances of its
answers are the errors to expect. Nothing here depends on a record.
"""

from __future__ import annotations

import math

import numpy as np

from spatialdp._support.arrays import Integers, even_points
from spatialdp.estimates.base import Estimate
from spatialdp.space.domain import Domain

__all__ = ["expected_error", "sized_boxes", "some_leaves"]

_MOST = 400  # boxes or leaves that are averaged


def expected_error(estimate: Estimate, boxes: Integers) -> float:
    """Root-mean-square error that noise causes in the answers to lattice boxes."""
    return math.sqrt(float(estimate.moments(boxes)[0].mean()))


def sized_boxes(domain: Domain, share: float) -> Integers:
    """Lattice boxes with the domain's proportions and a share of its area, spread evenly over it."""
    side = math.sqrt(share)
    corners = even_points(_MOST, 2) * (1 - side)
    xmin, ymin, _, _ = domain.bounds
    boxes = np.concatenate([corners, corners + side], axis=1) * np.tile(domain.size, 2)
    return domain.boxes(boxes + np.array([xmin, ymin, xmin, ymin]))


def some_leaves(estimate: Estimate) -> Integers:
    """Lattice boxes of all leaves, or of 400 evenly spread ones."""
    count = estimate.n_cells
    every = np.arange(count) if count <= _MOST else (even_points(_MOST, 1)[:, 0] * count).astype(np.int64)
    return estimate.leaf_boxes(every)
