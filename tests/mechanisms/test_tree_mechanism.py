"""Parameters that all trees share."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.mechanisms.stopping import NoisyCounts
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.trees.shape import sums

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


both_trees = pytest.mark.parametrize("kind", [sdp.Quadtree, sdp.KdTree])


@both_trees
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"height": 15}, "height is 15"),
        ({"height": 2, "prune": 1, "consistent": False}, "consistent=True"),
        ({"height": 2, "stop": "3"}, "stop is '3'"),
        ({"height": 2, "prune": float("inf")}, "prune is inf"),
        ({"height": 2, "stop": 10**400}, "stop is"),
        ({"height": 2, "stop": 1, "budget": "leaves"}, "another budget"),
    ],
    ids=str,
)
def test_what_makes_no_tree_is_refused(kind, options, said):
    with pytest.raises(ParameterError, match=said):
        kind(**options)


@both_trees
def test_thresholds_are_read_as_numbers(kind):
    assert kind(1, stop=np.int64(3)).stop == kind(1, stop=Fraction(3)).stop == 3.0
    assert kind(0, stop=3, budget="leaves").height == 0  # the root is a leaf


@pytest.mark.parametrize("consistent", [True, False])
@pytest.mark.parametrize("stop", [None, 5])
def test_noisy_counts_become_estimates(consistent, stop):
    """Fitted or as they are; a tree that stopped on the way is biased. Intervals need the step of the noise in both."""
    tree, rng = quadtree(2), np.random.default_rng(1)
    counts = NoisyCounts(rng.normal(0, 9, tree.n_nodes), np.array([1.0, 2, 3]), np.zeros(3))
    estimate = sdp.Quadtree(2, stop=stop, consistent=consistent)._decompose(UNIT, tree, counts, 1.0)
    assert np.array_equal(estimate.values, counts.values) != consistent
    assert (estimate.values == pytest.approx(sums(tree, estimate.values[tree.leaves]))) == consistent
    assert estimate.biased == (stop is not None)
    assert estimate.step == 1.0
