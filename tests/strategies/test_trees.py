"""The best trees of an axis."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.errors import ParameterError
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.axis_workload import ALL_RANGES
from spatialdp.strategies.objective import mean_variance
from spatialdp.strategies.trees import optimised_tree, tree_strategy
from spatialdp.transforms.matrices import WindowAxis

LAWS = (Law.LAPLACE, Law.GAUSSIAN)


def test_the_best_tree_on_256_cells_has_two_levels():
    axis = optimised_tree(256)
    assert axis.windows.shape == (16, 256)
    assert axis.diagonal[0] / 1024 == pytest.approx(0.519, abs=0.002)


@pytest.mark.parametrize("law", LAWS)
def test_tree_weights_are_a_local_optimum(law):
    axis = optimised_tree(64, law=law)
    least = mean_variance(axis, ALL_RANGES, law)
    for factor in (0.9, 1.1):
        changed = WindowAxis(np.rint(axis.diagonal * factor), axis.windows)
        assert mean_variance(changed, ALL_RANGES, law) > least


def test_trees_need_a_level_of_cells():
    with pytest.raises(ParameterError):
        tree_strategy(8, (1, 2), (0.5, 0.5))
    assert tree_strategy(5, (0, 1), (0.5, 0.5)).windows.tolist()[-1] == [0, 0, 0, 0, 512]
