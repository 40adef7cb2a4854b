"""Leaves as cells of a grid: found where they are, refused where they are not, and answered as the tree is."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from spatialdp.estimates.leaf_grid import LeafGrid
from spatialdp.space.boxes.blocks import block_tree
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.space.polygons import read_polygons
from tests.helpers.boxes import coverage

UNIT = Domain((0, 0, 1, 1))
RNG = np.random.default_rng(6)
BOXES = np.sort(RNG.random((30, 2, 2)), axis=1).reshape(-1, 4)
MASK = RNG.random((8, 8)) < 0.5

TREES = {
    "quadtree": (quadtree(3), None),
    "masked quadtree": (quadtree(3, mask=MASK), None),
    "blocks": (block_tree(UNIT.grid((12, 8)), (12, 4, 1)).tree, (12, 8)),
    "blocks cut off": (block_tree(UNIT.grid((11, 7)), (12, 4, 1)).tree, (11, 7)),
}
every_tree = pytest.mark.parametrize("name", TREES)


@every_tree
def test_places_are_the_cells_that_the_leaves_are(name):
    tree, shape = TREES[name]
    found = LeafGrid.of(tree, UNIT, shape)
    rows, columns = np.divmod(found.places, found.grid.shape[0])
    x, y = found.grid.x_lines, found.grid.y_lines
    cells = np.stack([x[columns], y[rows], x[columns + 1], y[rows + 1]], axis=1)
    assert np.array_equal(cells, tree.boxes[tree.leaves])


@every_tree
def test_the_histogram_of_the_leaves_answers_as_the_leaves_do(name):
    tree, shape = TREES[name]
    values, boxes = RNG.normal(size=tree.n_nodes), UNIT.boxes(BOXES)
    expected = coverage(tree.boxes[tree.leaves], boxes) @ values[tree.leaves]
    found = LeafGrid.of(tree, UNIT, shape).histogram(values).answer(boxes)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_leaves_that_are_not_the_cells_of_one_grid_are_not_taken_for_them():
    third = LATTICE // 3
    halves = Tree(
        [0, 1, 3], [2, 0, 0], [(0, 0, LATTICE, LATTICE), (0, 0, third, LATTICE), (third, 0, LATTICE, LATTICE)]
    )
    assert LeafGrid.of(halves, UNIT, None) is None
    pruned, _ = quadtree(2).prune(np.arange(21) != 3)  # leaves at two depths
    assert LeafGrid.of(pruned, UNIT, None) is None
    assert LeafGrid.of(quadtree(2), UNIT, (4, 5)) is None
    assert LeafGrid.of(quadtree(2), UNIT, (4, 4)) is not None


def test_only_equal_blocks_that_fill_the_grid_have_sides():
    found = {name: LeafGrid.of(tree, UNIT, shape).block_sides for name, (tree, shape) in TREES.items()}
    assert found["quadtree"] == ((8, 8), (4, 4), (2, 2), (1, 1))
    assert found["blocks"] == ((12, 8), (4, 4), (1, 1))
    assert found["masked quadtree"] is None
    assert found["blocks cut off"] is None


@pytest.mark.parametrize("name", ["quadtree", "blocks"])
def test_squares_are_sums_over_the_nodes_of_each_level(name):
    tree, shape = TREES[name]
    found, boxes = LeafGrid.of(tree, UNIT, shape), UNIT.boxes(BOXES)
    area, squares = found.box_squares(boxes)
    shares = coverage(tree.boxes, boxes)
    np.testing.assert_allclose(area, shares[:, tree.leaves].sum(axis=1), rtol=1e-6)
    for depth, level in enumerate(squares):
        np.testing.assert_allclose(level, (shares[:, tree.level(depth)] ** 2).sum(axis=1), rtol=1e-6)
    polygons = read_polygons(list(shapely.box(*BOXES.T)), UNIT)
    for one, other in zip((area, *squares), (lambda a, s: (a, *s))(*found.polygon_squares(polygons)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@every_tree
def test_families_know_which_cells_are_leaves(name):
    tree, shape = TREES[name]
    found = LeafGrid.of(tree, UNIT, shape)
    leaves = np.zeros(found.grid.mask.size)
    leaves[found.places] = 1
    assert np.array_equal(np.diff(np.diff(found.families.cells, axis=0), axis=1), leaves.reshape(found.grid.mask.shape))


def test_sparse_leaves_of_a_fine_grid_are_walked():
    """One path down to one cell of 4^14: prefix sums would take gigabytes."""
    boxes = [(0, 0, LATTICE >> depth, LATTICE >> depth) for depth in range(15)]
    tree = Tree(np.arange(16), [1] * 14 + [0], boxes)
    assert LeafGrid.of(tree, UNIT, None) is None
    assert LeafGrid.of(tree, UNIT, (2**14, 2**14)) is None
    shorter = Tree(np.arange(12), [1] * 10 + [0], boxes[:11])
    assert LeafGrid.of(shorter, UNIT, None) is not None
