"""Trees of blocks: every level partitions the one above."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.space.boxes.blocks import block_tree, levels_of
from spatialdp.trees.shape import sums

REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)])


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize(
    ("shape", "sides"), [((7, 5), (8, 4, 2, 1)), ((9, 9), (9, 3, 1)), ((100, 37), (128, 16, 1)), ((5, 40), (64, 8, 1))]
)
def test_blocks_partition_their_parents(shape, sides, region):
    grid = sdp.Domain((0, 0, 1, 1), region=region).grid(shape)
    blocks = block_tree(grid, sides)
    tree, nx = blocks.tree, shape[0]
    assert tree.n_leaves == grid.n_cells == blocks.cells.size
    rows, columns = np.divmod(blocks.cells, nx)
    x, y = grid.x_lines, grid.y_lines
    leaves = tree.boxes[tree.leaves]
    assert np.array_equal(leaves, np.stack([x[columns], y[rows], x[columns + 1], y[rows + 1]], axis=1))
    parents = tree.boxes[tree.parent[1:]]
    assert (tree.boxes[1:, :2] >= parents[:, :2]).all()
    assert (tree.boxes[1:, 2:] <= parents[:, 2:]).all()
    ones = sums(tree, np.ones(tree.n_leaves, dtype=int))
    for depth, side in enumerate(sides):
        shapes = [(-(-n // side)) for n in shape]
        held = np.zeros(shapes[::-1], dtype=int)
        np.add.at(held, (rows // side, columns // side), 1)
        assert sorted(ones[tree.level(depth)]) == sorted(held[held > 0])
        lower = tree.boxes[tree.level(depth), :2]
        assert np.isin(lower[:, 0], x[:-1:side]).all()
        assert np.isin(lower[:, 1], y[:-1:side]).all()


def test_too_many_children_get_nodes_between():
    assert levels_of((1, 8, 32), (256, 256)) == (256, 32, 8, 1)
    assert levels_of((1, 16, 300), (300, 20)) == (304, 16, 1)
    assert levels_of((1,), (1, 1)) == (1,)
    for shape in ((5000, 2), (3, 70_000)):
        sides = levels_of((1, 2), shape)
        assert sides[0] >= max(shape)
        assert all(a % b == 0 and a // b <= 32 for a, b in pairwise(sides))
