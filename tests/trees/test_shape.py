"""Shapes of trees: families, sums and what no measurement divides, with no boxes anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp.errors import ParameterError
from spatialdp.trees.least_squares import two_pass
from spatialdp.trees.shape import TreeShape, sums
from tests.helpers.trees import dense_membership, random_tree

seeds = st.integers(0, 2**32 - 1)
LOPSIDED = TreeShape([0, 1, 3, 6], [2, 3, 0, 0, 0, 0])


def shape_of(tree):
    return TreeShape(tree.offsets, tree.n_children)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_a_shape_says_of_its_nodes_what_a_tree_of_boxes_says(seed):
    tree = random_tree(np.random.default_rng(seed))
    shape = shape_of(tree)
    for name in ("parent", "first_child", "depth", "leaves"):
        np.testing.assert_array_equal(getattr(shape, name), getattr(tree, name))
    assert (shape.n_nodes, shape.n_leaves, shape.height) == (tree.n_nodes, tree.n_leaves, tree.height)
    assert shape.fan_outs == tree.fan_outs


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_inner_nodes_of_each_depth_and_the_sizes_of_their_families(seed):
    shape = shape_of(random_tree(np.random.default_rng(seed)))
    assert len(shape.levels) == shape.height + 1
    assert len(shape.inner) == len(shape.family_sizes) == shape.height
    for depth, (inner, sizes) in enumerate(zip(shape.inner, shape.family_sizes, strict=True)):
        n_children = shape.n_children[shape.levels[depth]]
        assert shape.levels[depth] == shape.level(depth)
        np.testing.assert_array_equal(np.arange(n_children.size)[inner], np.flatnonzero(n_children))
        np.testing.assert_array_equal(np.broadcast_to(sizes, np.count_nonzero(n_children)), n_children[n_children > 0])


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_sums_need_no_boxes(seed):
    rng = np.random.default_rng(seed)
    shape = shape_of(random_tree(rng))
    values = rng.integers(-9, 9, shape.n_leaves)
    np.testing.assert_array_equal(sums(shape, values), dense_membership(shape).astype(int) @ values)


def test_leaves_of_a_shape_share_evenly_what_no_measurement_divides():
    fit = two_pass(LOPSIDED, [9.0, 6, 0, 1, 0, 0], [1, 1, np.inf, 1, np.inf, np.inf])
    assert fit.estimates.tolist() == [9, 6, 3, 1, 2.5, 2.5]
    assert LOPSIDED.leaf_sizes(np.array([2, 3])).tolist() == [1, 1]


def test_wrong_numbers_of_children_are_refused():
    with pytest.raises(ParameterError, match="depth 0 have 3 children"):
        TreeShape([0, 1, 3], [3, 0, 0])
    with pytest.raises(ParameterError, match="shape"):
        TreeShape([0, 1, 3], [2, 0])


def test_arrays_are_read_only_views():
    given_children = np.array([2, 0, 0], dtype=np.int32)
    shape = TreeShape([0, 1, 3], given_children)
    with pytest.raises(ValueError, match="read-only"):
        shape.n_children[0] = 1
    given_children[1] = 0  # the caller's own array stays writable
