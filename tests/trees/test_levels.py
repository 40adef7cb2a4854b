"""Numbers for nodes are kept by level: one number where a whole level has the same."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.trees.levels import at_places, by_level, joined
from spatialdp.trees.shape import TreeShape

SHAPE = TreeShape([0, 1, 3, 6], [2, 1, 2, 0, 0, 0])


@pytest.mark.parametrize(
    "values", [np.arange(6.0), np.ones(6), np.array([1, 2, 2, 3, 4, 3.0]), np.array([1, 2, 3, 4, 4, 4.0])]
)
def test_numbers_by_level_are_the_numbers_of_the_nodes(values):
    levels = by_level(SHAPE, values)
    assert joined(SHAPE, levels).tolist() == values.tolist()
    for depth, level in enumerate(levels):
        same = len(set(values[SHAPE.level(depth)])) == 1
        assert (level.ndim == 0) == same


def test_one_number_a_level_stands_for_all_of_its_nodes():
    assert joined(SHAPE, by_level(SHAPE, np.array([5.0, 6.0, 7.0]))).tolist() == [5, 6, 6, 7, 7, 7]


def test_some_nodes_of_a_level_have_its_one_number_or_their_own():
    assert at_places(np.array([1.0, 2.0, 3.0]), np.array([2, 0])).tolist() == [3.0, 1.0]
    assert at_places(np.array([1.0, 2.0, 3.0]), slice(1, 3)).tolist() == [2.0, 3.0]
    assert float(at_places(np.array(4.0), np.array([2, 0]))) == 4.0
