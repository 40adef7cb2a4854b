"""PrivTree: deep where records are."""

from __future__ import annotations

import numpy as np

from spatialdp.evaluation.peers import PrivTree
from tests.helpers.peers import SHAPE, released


def test_privtree_is_deep_where_records_are():
    estimate = released(PrivTree(SHAPE)).estimate
    boxes = estimate.leaf_boxes()
    sizes = (boxes[:, 2] - boxes[:, 0]) / 2**30
    near = np.hypot(*(((boxes[:, :2] + boxes[:, 2:]) / 2**31) - (0.3, 0.6)).T) < 0.05
    assert sizes[near].max() < 0.1
    assert sizes.max() >= 0.25
