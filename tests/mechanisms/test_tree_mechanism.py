"""Parameters that all trees share."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

import spatialdp as sdp

UNIT = sdp.Domain((0, 0, 1, 1))
RNG = np.random.default_rng(4)
XY = np.concatenate([RNG.normal(0.3, 0.03, (300, 2)), RNG.random((100, 2))])


@pytest.mark.parametrize(
    "mechanism",
    [
        sdp.Quadtree(np.int64(2)),
        sdp.Quadtree(1, budget=np.array([1, 2])),
        sdp.Quadtree(1, budget=np.array([0.5, 0.25])),
        sdp.Quadtree(1, budget=(Decimal(1), Fraction(2))),
        sdp.Quadtree(1, prune=np.int64(3)),
        sdp.Quadtree(1, stop=np.float32(3)),
        sdp.Quadtree(1, stop=Decimal(3)),
        sdp.KdTree(np.int64(1), data_levels=np.int64(1), prune=Fraction(3)),
        sdp.KdTree(1, sampling=0.5, median_share=Decimal("0.2")),
        sdp.Quadtree(2, budget=(0, 1, 2)),
    ],
    ids=str,
)
def test_whatever_was_paid_for_can_be_saved_and_loaded(mechanism, tmp_path):
    release = mechanism.release(XY, UNIT, epsilon=1)
    release.save(tmp_path / "release.parquet")
    assert sdp.load(tmp_path / "release.parquet").privacy == release.privacy
    json.loads(
        pq.read_schema(tmp_path / "release.parquet").metadata[b"spatialdp"],
        parse_constant=lambda name: pytest.fail(f"{name} is not JSON"),
    )
