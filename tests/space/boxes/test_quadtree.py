"""Quadtrees: the order of their leaves, their boxes and their masks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp.errors import DomainError, ParameterError
from spatialdp.space.boxes.quadtree import morton_order, quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.lattice import LATTICE

seeds = st.integers(0, 2**32 - 1)


def cells_of(tree: Tree, height: int) -> np.ndarray:
    """(n, 4) boxes in units of leaf cells of a quadtree."""
    return tree.boxes.astype(np.int64) >> (30 - height)


@pytest.mark.parametrize("height", range(6))
def test_quadtree_leaves_follow_morton_order(height):
    tree = quadtree(height)
    x, y, _, _ = cells_of(tree, height)[tree.leaves].T
    np.testing.assert_array_equal(y * 2**height + x, morton_order(height))


@pytest.mark.parametrize("height", range(5))
def test_morton_order_interleaves_bits(height):
    cells = morton_order(height)
    for place, cell in enumerate(cells.tolist()):
        row, column = divmod(cell, 2**height)
        code = sum(((column >> b & 1) | (row >> b & 1) << 1) << 2 * b for b in range(height))
        assert code == place


def test_children_are_numbered_twice_north_plus_east():
    tree = quadtree(1)
    half = LATTICE // 2
    assert tree.boxes[1:, :2].tolist() == [[0, 0], [half, 0], [0, half], [half, half]]
    assert tree.boxes[0].tolist() == [0, 0, LATTICE, LATTICE]


def test_quadtree_height_and_mask_are_checked():
    for height in (-1, 15, 2.0, True):
        with pytest.raises(ParameterError, match="height"):
            quadtree(height)
    with pytest.raises(ParameterError, match="mask has shape"):
        quadtree(2, mask=np.ones((2, 2)))
    with pytest.raises(DomainError, match="no cell"):
        quadtree(2, mask=np.zeros((4, 4)))


@given(seeds, st.integers(0, 4), st.floats(0.02, 1))
@settings(max_examples=60, deadline=None)
def test_mask_drops_exactly_the_nodes_wholly_outside(seed, height, density):
    mask = np.random.default_rng(seed).random((2**height,) * 2) < density
    mask[0, -1] = True
    tree, full = quadtree(height, mask=mask), quadtree(height)
    inside = [mask[y0:y1, x0:x1].any() for x0, y0, x1, y1 in cells_of(full, height).tolist()]
    np.testing.assert_array_equal(tree.boxes, full.boxes[inside])
    np.testing.assert_array_equal(tree.depth, full.depth[inside])
    assert tree.n_leaves == mask.sum()
