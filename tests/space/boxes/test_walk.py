"""Boxes and polygons against a tree: what ends on the way down is every leaf's covered share, and nothing twice."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.boxes.walk import children, chunks, walk, walk_polygons
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from tests.helpers.boxes import coverage
from tests.helpers.trees import dense_membership, random_tree

seeds = st.integers(0, 2**32 - 1)
UNIT = Domain((0, 0, 1, 1))


def random_boxes(rng, tree, count):
    """Corners anywhere, or on the corners of nodes."""
    corners = [tree.boxes[:, [i, i + 2]].ravel() for i in (0, 1)]
    ends = [
        np.sort(
            np.where(rng.random((count, 2)) < 0.5, rng.choice(at, (count, 2)), rng.integers(0, LATTICE, (count, 2)))
        )
        for at in corners
    ]
    return np.stack([ends[0][:, 0], ends[1][:, 0], ends[0][:, 1], ends[1][:, 1]], axis=1)


def ended_shares(tree, levels, count):
    """(boxes, leaves): coverage of the pairs that end, passed on to the leaves below; how often each is met."""
    shares, met = np.zeros((2, count, tree.n_leaves))
    members = dense_membership(tree)
    for pairs in levels:
        for box, node, share in zip(
            *(part[~pairs.divided] for part in (pairs.box, pairs.node, pairs.coverage)), strict=True
        ):
            shares[box] += share * members[node]
            met[box] += members[node]
    return shares, met


@given(seeds)
@settings(max_examples=60)
def test_pairs_that_end_are_the_covered_shares_of_all_leaves(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    boxes = random_boxes(rng, tree, 8)
    shares, met = ended_shares(tree, walk(tree, boxes), 8)
    np.testing.assert_allclose(shares, coverage(tree.boxes[tree.leaves], boxes), atol=1e-12)
    assert (met == 1).all()


@given(seeds)
@settings(max_examples=40)
def test_only_cut_nodes_are_divided_and_children_know_their_parents(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    above = None
    for depth, pairs in enumerate(walk(tree, random_boxes(rng, tree, 8))):
        assert (tree.depth[pairs.node] == depth).all()
        assert not pairs.divided[(pairs.coverage == 0) | tree.leaves[pairs.node]].any()
        if above is not None:
            assert np.array_equal(above.box[above.divided][pairs.parent], pairs.box)
            assert np.array_equal(above.node[above.divided][pairs.parent], tree.parent[pairs.node])
        above = pairs


def test_whole_nodes_end_at_once_unless_they_must_be_divided():
    tree = quadtree(2)
    half = LATTICE // 2
    boxes = np.array([[0, 0, half, half]])
    *_, last = walk(tree, boxes)
    assert last.node.tolist() == [1, 2, 3, 4]
    assert last.coverage.tolist() == [1, 0, 0, 0]
    descend = np.arange(tree.n_nodes) == 1
    *_, last = walk(tree, boxes, descend)
    assert tree.parent[last.node].tolist() == [1] * 4
    assert last.coverage.tolist() == [1] * 4


@given(seeds)
@settings(max_examples=25)
def test_rectangles_as_polygons_are_walked_as_boxes(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    boxes = random_boxes(rng, tree, 6)
    boxes = boxes[(boxes[:, 0] < boxes[:, 2]) & (boxes[:, 1] < boxes[:, 3])]
    polygons = shapely.box(*(boxes / LATTICE).T)
    shares, met = ended_shares(tree, walk_polygons(tree, UNIT, polygons), len(boxes))
    np.testing.assert_allclose(shares, coverage(tree.boxes[tree.leaves], boxes), atol=1e-6)
    assert (met == 1).all()


def test_polygons_are_cut_to_the_nodes_whatever_their_holes_and_parts():
    tree = quadtree(3)
    disc = shapely.Point(0.4, 0.5).buffer(0.3).difference(shapely.box(0.3, 0.4, 0.5, 0.55))
    shapes = np.array([disc, shapely.union(disc, shapely.box(0.75, 0.75, 0.9, 1.5)), shapely.box(2, 2, 3, 3)])
    xlo, ylo, xhi, yhi = tree.boxes[tree.leaves].T / LATTICE
    leaves = shapely.box(xlo, ylo, xhi, yhi)
    expected = shapely.area(shapely.intersection(shapes[:, None], leaves)) / shapely.area(leaves)
    shares, met = ended_shares(tree, walk_polygons(tree, UNIT, shapes), len(shapes))
    np.testing.assert_allclose(shares, expected, atol=1e-7)
    assert (met == 1).all()


def test_children_come_family_by_family():
    tree, _ = quadtree(2).prune(np.isin(np.arange(21), [0, 1, 3]))
    box, node, parent = children(tree, np.array([7, 8, 9]), np.array([1, 2, 3]))
    assert tree.parent[node].tolist() == [1] * 4 + [3] * 4
    assert box.tolist() == [7] * 4 + [9] * 4
    assert parent.tolist() == [0] * 4 + [2] * 4


@pytest.mark.parametrize("count", [0, 1, 64, 65, 4096, 4097, 10_000])
def test_chunks_are_everything_once_and_in_order(count):
    for queries in (np.zeros((count, 4)), np.zeros(count, dtype=object)):
        places = [np.arange(count)[chunk] for chunk in chunks(quadtree(3), queries)]
        assert np.concatenate([np.empty(0, dtype=int), *places]).tolist() == list(range(count))
        assert all(part.size for part in places)


def test_chunks_of_large_trees_have_fewer_boxes():
    sizes = [chunks(quadtree(height), np.zeros((10_000, 4)))[0].stop for height in (5, 7, 9)]
    assert sizes == [4096, 2048, 512]
