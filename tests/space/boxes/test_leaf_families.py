"""Families of leaves that are grid cells: the same as visiting every leaf."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from spatialdp.space.boxes.blocks import block_tree
from spatialdp.space.boxes.leaf_families import Families
from spatialdp.space.boxes.walk import walk
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE

REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)])
CASES = {
    "whole": ((8, 8), (8, 4, 1), None),
    "cut off": ((11, 7), (12, 3, 1), None),
    "region": ((12, 9), (12, 4, 1), REGION),
}


def families_of(case):
    shape, sides, region = CASES[case]
    grid = Domain((0, 0, 1, 1), region=region).grid(shape)
    blocks = block_tree(grid, sides)
    leaves = np.zeros(grid.mask.size)
    leaves[blocks.cells] = 1
    return blocks.tree, Families.of(blocks.tree, grid, leaves.reshape(grid.mask.shape))


def random_boxes(count):
    ends = np.sort(np.random.default_rng(1).integers(0, LATTICE + 1, (count, 2, 2)), axis=1)
    return np.concatenate([ends.reshape(count, 4), [(0, 0, LATTICE, LATTICE), (5, 5, 5, 5)]])


@pytest.mark.parametrize("case", CASES)
def test_the_tree_above_the_leaves_is_the_tree_without_them(case):
    tree, families = families_of(case)
    assert families.upper.n_nodes == tree.n_nodes - tree.n_leaves
    assert families.upper.height == tree.height - 1
    assert np.array_equal(families.upper.boxes, tree.boxes[: families.upper.n_nodes])


@pytest.mark.parametrize("unmeasured", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_powers_are_those_of_a_walk_that_visits_every_leaf(case, unmeasured):
    """Sums over all leaves of each box's covered shares, to the first to fourth power."""
    tree, families = families_of(case)
    boxes = random_boxes(40)
    descend = np.random.default_rng(2).random(tree.n_nodes) < 0.5 if unmeasured else None
    if descend is not None:
        descend[tree.leaves] = False
    expected, found = np.zeros((2, 4, len(boxes)))
    below = leaves_below(tree)
    for pairs in walk(tree, boxes, descend):
        add(expected, pairs, ~pairs.divided, below[pairs.node] * pairs.coverage ** np.arange(1, 5)[:, None])
    levels, opened = families.walk(boxes, descend)
    for pairs in levels:
        sums = below[pairs.node] * pairs.coverage ** np.arange(1, 5)[:, None]
        ended = ~pairs.divided
        if pairs is levels[-1]:
            assert np.array_equal(opened.pairs, pairs.divided)
            sums[:, opened.pairs] = opened.powers
            ended = np.ones(pairs.box.size, dtype=bool)
        add(found, pairs, ended, sums)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found.max() == tree.n_leaves  # of the whole domain


def leaves_below(tree):
    counts = tree.leaves.astype(float)
    for node in range(tree.n_nodes - 1, 0, -1):
        counts[tree.parent[node]] += counts[node]
    return counts


def add(totals, pairs, ended, sums):
    for total, each in zip(totals, sums, strict=True):
        np.add.at(total, pairs.box[ended], each[ended])


@pytest.mark.parametrize("case", CASES)
def test_opened_boxes_are_the_part_of_the_box_within_the_node(case):
    tree, families = families_of(case)
    boxes = random_boxes(40)
    levels, opened = families.walk(boxes)
    pairs = levels[-1]
    node, box = tree.boxes[pairs.node[opened.pairs]], boxes[pairs.box[opened.pairs]]
    assert opened.boxes.tolist() == [
        [max(a, b) for a, b in zip(n[:2], q[:2], strict=True)] + [min(a, b) for a, b in zip(n[2:], q[2:], strict=True)]
        for n, q in zip(node.tolist(), box.tolist(), strict=True)
    ]
    assert (opened.boxes[:, :2] < opened.boxes[:, 2:]).all()
