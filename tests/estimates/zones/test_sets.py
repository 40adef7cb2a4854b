"""Walks that tell the noise of sets: equal areas have equal walks, and no set needs the whole tree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from spatialdp.estimates.zones.sets import NodeSets, visited
from spatialdp.trees.shape import TreeShape
from tests.helpers.zone_trees import random_shape
from tests.reference.dense_zones import coverage_of, membership


def walked(shape, sets):
    """Coverage of the leaves by each set, as its walk tells, (count, leaves)."""
    below, total = membership(shape), np.zeros((sets.count, shape.n_leaves))
    for pairs in visited(shape, sets):
        ended = ~pairs.divided
        np.add.at(total, pairs.box[ended], pairs.coverage[ended, None] * below[pairs.node[ended]])
    return total


@pytest.mark.parametrize("seed", range(20))
def test_walks_cover_the_leaves_of_the_sets(seed):
    rng = np.random.default_rng(seed)
    shape = random_shape(rng)
    sets = [rng.integers(0, shape.n_nodes, rng.integers(0, 10)) for _ in range(15)]
    expected = np.array([coverage_of(shape, members) for members in sets])
    assert np.array_equal(walked(shape, NodeSets.of(sets)), expected)


@pytest.mark.parametrize("seed", range(20))
def test_equal_areas_have_equal_walks(seed):
    rng = np.random.default_rng(seed)
    shape = random_shape(rng)
    leaves, below = np.flatnonzero(shape.leaves), membership(shape)
    members = rng.integers(0, shape.n_nodes, 6)
    spelled = leaves[coverage_of(shape, members) > 0]
    one, other = visited(shape, NodeSets.of([members])), visited(shape, NodeSets.of([spelled]))
    assert [pairs.node.tolist() for pairs in one] == [pairs.node.tolist() for pairs in other]
    assert [pairs.coverage.tolist() for pairs in one] == [pairs.coverage.tolist() for pairs in other]
    everything = visited(shape, NodeSets.of([leaves]))
    assert len(everything) == 1
    assert everything[0].coverage.tolist() == [1.0]
    assert below.shape[1] == leaves.size


def test_a_walk_visits_the_families_along_the_paths_alone():
    side = 50
    shape = TreeShape([0, 1, 1 + side, 1 + side + side**2], [side] * (1 + side) + [0] * side**2)
    levels = visited(shape, NodeSets.of([[shape.n_nodes - 1]]))
    assert [pairs.node.size for pairs in levels] == [1, side, side]


def test_shares_of_leaves_are_kept():
    shape = TreeShape([0, 1, 4], [3, 0, 0, 0])
    sets = NodeSets(2, np.array([0, 0, 1]), np.array([1, 2, 3]), np.array([0.25, 1.0, 0.5]))
    assert walked(shape, sets).tolist() == [[0.25, 1.0, 0.0], [0.0, 0.0, 0.5]]
    assert walked(shape, sets.inside).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert walked(shape, sets.touched).tolist() == [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert sets.cut.tolist() == [True, True]


def test_chunks_are_all_sets_in_order(monkeypatch):
    monkeypatch.setattr("spatialdp.estimates.zones.sets._TOGETHER", 3)
    sets = NodeSets.of([[1, 2], [], [3], [4, 5, 6, 7], [], [8]])
    parts = list(sets.chunks())
    assert parts[0][0].start == 0
    assert [part.stop for part, _ in parts][-1] == sets.count
    assert all(one[0].stop == other[0].start for one, other in pairwise(parts))
    rebuilt = [few.node[few.owner == i].tolist() for _, few in parts for i in range(few.count)]
    assert rebuilt == [[1, 2], [], [3], [4, 5, 6, 7], [], [8]]
    assert len(parts) > 1
    assert list(NodeSets.of([]).chunks()) == []
