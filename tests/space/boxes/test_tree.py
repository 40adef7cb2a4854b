"""Trees: their order, their boxes, their sums, their pruning, and what they do not know."""

from __future__ import annotations

import ast
import importlib
import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp.errors import ParameterError
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.trees.shape import level_sums, sums
from tests.helpers.trees import dense_membership, random_tree

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_parent_and_first_child_are_inverse(seed):
    tree = random_tree(np.random.default_rng(seed))
    for node in range(tree.n_nodes):
        first = int(tree.first_child[node])
        family = np.arange(first, first + tree.n_children[node])
        assert np.all(tree.parent[family] == node)
        assert np.all(tree.depth[family] == tree.depth[node] + 1)
    assert tree.parent[0] == -1
    assert tree.depth[0] == 0
    assert np.array_equal(tree.leaves, tree.n_children == 0)
    assert tree.n_leaves == tree.leaves.sum()
    assert tree.height == tree.depth.max()


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_children_partition_their_parents_box(seed):
    for tree in (random_tree(np.random.default_rng(seed)), quadtree(3)):
        xlo, ylo, xhi, yhi = tree.boxes.T.astype(np.int64)
        area = (xhi - xlo) * (yhi - ylo)
        inner = ~tree.leaves
        np.testing.assert_array_equal(sums(tree, area[tree.leaves])[inner], area[inner])
        parent = tree.boxes[tree.parent[1:]]
        assert np.all(tree.boxes[1:, :2] >= parent[:, :2])
        assert np.all(tree.boxes[1:, 2:] <= parent[:, 2:])


@given(seeds, st.booleans())
@settings(max_examples=80, deadline=None)
def test_sums_equal_membership_times_leaves(seed, several):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    values = rng.integers(-50, 50, (3, tree.n_leaves) if several else tree.n_leaves)
    found = sums(tree, values)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, values @ dense_membership(tree).T.astype(int))


def test_large_integers_are_added_exactly():
    values = np.array([2**53, 1, 1, 1])
    assert sums(quadtree(1), values)[0] == 2**53 + 3
    assert level_sums(values, [4])[0][0] == 2**53 + 3


def test_leaf_next_to_inner_nodes_gets_no_neighbours_sum():
    """np.add.reduceat returns a neighbour's value for an empty segment; a leaf's sum must be empty."""
    tree, _ = quadtree(2).prune(np.isin(np.arange(21), [0, 1, 3]))
    assert tree.n_children.tolist() == [4, 4, 0, 4, 0] + [0] * 8
    assert tree.family_sums(1, np.arange(1.0, 9.0)).tolist() == [10.0, 0.0, 26.0, 0.0]
    assert tree.family_sums(1, np.arange(1.0, 9.0), empty=np.inf).tolist() == [10.0, np.inf, 26.0, np.inf]


@pytest.mark.parametrize("fan_out", [1, 2, 4, 9, 25])
def test_level_sums_of_complete_trees(fan_out):
    values = np.random.default_rng(fan_out).random(3 * fan_out**2)
    levels = level_sums(values, [3, fan_out, fan_out])
    assert [level.size for level in levels] == [1, 3, 3 * fan_out, 3 * fan_out**2]
    np.testing.assert_allclose(levels[1], values.reshape(3, -1).sum(axis=1))
    with pytest.raises(ParameterError, match="multiple"):
        level_sums(np.ones(7), [2])


@given(seeds, st.floats(0, 1))
@settings(max_examples=80, deadline=None)
def test_prune_drops_exactly_the_descendants(seed, share):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    keep = rng.random(tree.n_nodes) < share
    pruned, index = tree.prune(keep)
    ancestors = dense_membership(tree, nodes=True) - np.eye(tree.n_nodes)
    np.testing.assert_array_equal(index, np.flatnonzero(~(ancestors[~keep].any(axis=0))))
    np.testing.assert_array_equal(pruned.boxes, tree.boxes[index])
    np.testing.assert_array_equal(index[pruned.parent[1:]], tree.parent[index[1:]])
    values = sums(tree, rng.random(tree.n_leaves))[index]
    np.testing.assert_allclose(sums(pruned, values[pruned.leaves]), values)


def test_pruning_nothing_changes_nothing():
    tree = quadtree(3)
    pruned, index = tree.prune(np.ones(tree.n_nodes, dtype=bool))
    np.testing.assert_array_equal(index, np.arange(tree.n_nodes))
    np.testing.assert_array_equal(pruned.offsets, tree.offsets)
    assert tree.prune(np.zeros(tree.n_nodes, dtype=bool))[0].n_nodes == 1
    with pytest.raises(ParameterError, match="keep"):
        tree.prune([True])


@pytest.mark.parametrize(
    ("offsets", "n_children", "match"),
    [
        ([0, 2], [0, 0], "offsets"),
        ([0, 1, 1], [0], "offsets"),
        ([0, 1, 3], [2, 0], "shape"),
        ([0, 1, 3], [3, 0, 0], "depth 0"),
        ([0, 1, 3], [2, 0, 1], "depth 1"),
        ([0, 1, 3], [2, 1, -1], "negative"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(offsets, n_children, match):
    with pytest.raises(ParameterError, match=match):
        Tree(offsets, n_children, np.zeros((len(n_children), 4)))


def test_arrays_are_read_only():
    tree = quadtree(2)
    for name in ("offsets", "n_children", "boxes", "parent", "depth", "first_child", "leaves"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 0


def test_given_arrays_stay_writable():
    n_children = np.array([1, 0], dtype=np.int32)
    Tree([0, 1, 2], n_children, np.zeros((2, 4)))
    n_children[0] = 1


def test_nodes_take_few_bytes():
    tree = quadtree(7)
    stored = sum(array.nbytes for array in vars(tree).values() if isinstance(array, np.ndarray))
    assert stored <= 21 * tree.n_nodes


@pytest.mark.parametrize("module", ["space.boxes.tree", "trees.least_squares", "trees.adjust"])
def test_modules_do_not_import_points(module):
    source = inspect.getsource(importlib.import_module(f"spatialdp.{module}"))
    statements = ast.walk(ast.parse(source))
    imports = [ast.unparse(node) for node in statements if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imports
    assert not any("points" in line for line in imports)
