"""Neighbours with equal numbers become one part of each level; parts end where those of coarser levels end."""

from __future__ import annotations

import numpy as np

from spatialdp.space.frames.nesting import level_nodes, nested


def test_parts_end_with_the_parts_above():
    tree = nested([np.array([0, 0, 0, 1]), np.array([5, 5, 6, 6])], 4)
    assert tree.offsets.tolist() == [0, 1, 3, 6, 10]
    assert tree.n_children[:6].tolist() == [2, 2, 1, 2, 1, 1]


def test_without_levels_all_cells_are_below_the_root():
    assert nested([], 3).n_children.tolist() == [3, 0, 0, 0]
    assert nested([], 1).n_leaves == 1


def test_the_nodes_of_a_level_hold_every_cell_once():
    tree = nested([np.array([0, 0, 1])], 3)
    assert level_nodes(tree, 0).tolist() == [0]
    assert level_nodes(tree, 1).tolist() == [1, 2]
    assert level_nodes(tree, 2).tolist() == [3, 4, 5]
