"""Weights in whole numbers cost little, and leave something to every cell."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies import objective
from spatialdp.strategies.axis_workload import ALL_RANGES
from spatialdp.strategies.objective import mean_variance, rounded
from spatialdp.strategies.windows import Problem

LAWS = (Law.LAPLACE, Law.GAUSSIAN)


def some_weights(windows: int, size: int) -> np.ndarray:
    return np.random.default_rng(windows * 1000 + size).uniform(0, 1, (windows, size))


@pytest.mark.parametrize("law", LAWS)
def test_rounding_gives_whole_weights_and_costs_little(law):
    for size, windows in ((40, 3), (64, 8)):
        weights = some_weights(windows, size) / windows
        exact = Problem.of(ALL_RANGES.gram(size), size, law).value_and_gradient(weights)[0]
        axis = rounded(weights, law)
        assert axis.matrix.dtype == np.int64
        assert axis.diagonal.min() >= 1
        assert axis.windows.min() >= 0
        if law is Law.GAUSSIAN:
            assert (axis.matrix**2).sum(axis=0).max() <= objective.SCALE**2
        else:
            assert set(axis.matrix.sum(axis=0)) == {objective.SCALE}
        assert mean_variance(axis, ALL_RANGES, law) == pytest.approx(exact, rel=0.0025)


@pytest.mark.parametrize("law", LAWS)
def test_rounding_always_leaves_something_to_the_cells(law):
    axis = rounded(np.full((3, 5), 1e9), law)
    assert axis.diagonal.min() >= 1
    power = 2 if law is Law.GAUSSIAN else 1
    assert (axis.matrix**power).sum(axis=0).max() <= objective.SCALE**power
