"""Merged chains: one node for each area, which spans the levels that the area is on."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp.space.zones.chains import merged
from spatialdp.trees.shape import TreeShape, sums
from tests.helpers.trees import complete_tree, random_tree

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_every_path_spans_every_level_once(seed):
    """So a path costs exactly the whole budget, whatever the shares of the levels are."""
    shape = random_tree(np.random.default_rng(seed), most=3)
    chains = merged(shape)
    for leaf in np.flatnonzero(chains.shape.leaves):
        path = [int(leaf)]
        while path[-1]:
            path.append(int(chains.shape.parent[path[-1]]))
        levels = [level for node in path[::-1] for level in range(chains.first[node], chains.last[node] + 1)]
        assert levels == list(range(shape.height + 1))


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_merged_nodes_count_what_their_zones_count(seed):
    rng = np.random.default_rng(seed)
    shape = random_tree(rng, most=3)
    chains = merged(shape)
    assert not np.any(chains.shape.n_children == 1)
    counts = rng.integers(0, 9, shape.n_leaves)
    leaves = np.zeros(chains.shape.n_nodes, dtype=np.int64)
    leaves[chains.place[np.flatnonzero(shape.leaves)]] = counts
    np.testing.assert_array_equal(sums(chains.shape, leaves[chains.shape.leaves])[chains.place], sums(shape, counts))
    np.testing.assert_array_equal(np.unique(chains.place), np.arange(chains.shape.n_nodes))


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_a_node_is_merged_with_its_parent_only_as_the_only_child(seed):
    shape = random_tree(np.random.default_rng(seed), most=3)
    place, parent = merged(shape).place, shape.parent
    only = shape.n_children[parent[1:]] == 1
    np.testing.assert_array_equal(place[1:] == place[parent[1:]], only)


def test_a_tree_without_chains_is_kept():
    shape = complete_tree(3, 2)
    chains = merged(shape)
    assert chains.shape is shape
    assert chains.first.tolist() == chains.last.tolist() == shape.depth.tolist()


def test_a_row_of_only_children_is_one_node():
    chains = merged(TreeShape([0, 1, 2, 3], [1, 1, 0]))
    assert (chains.shape.n_nodes, chains.first.tolist(), chains.last.tolist()) == (1, [0], [2])
    assert chains.place.tolist() == [0, 0, 0]


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_groups_are_the_nodes_that_span_the_same_levels(seed):
    chains = merged(random_tree(np.random.default_rng(seed), most=3))
    found = chains.spans[chains.group]
    assert found.tolist() == np.stack([chains.first, chains.last], axis=1).tolist()
    assert sorted(map(tuple, chains.spans.tolist())) == [*map(tuple, chains.spans.tolist())]
    assert len({*map(tuple, chains.spans.tolist())}) == len(chains.spans)
