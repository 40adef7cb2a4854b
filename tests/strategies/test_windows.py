"""Optimised windows: the gradient, the objective, and what is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies import windows as strategies
from spatialdp.strategies.axis_workload import ALL_RANGES, AxisWorkload
from spatialdp.strategies.objective import mean_variance
from spatialdp.strategies.trees import optimised_tree
from spatialdp.strategies.windows import Problem, optimised_windows

LAWS = (Law.LAPLACE, Law.GAUSSIAN)


def some_weights(windows: int, size: int) -> np.ndarray:
    return np.random.default_rng(windows * 1000 + size).uniform(0, 1, (windows, size))


def all_ranges(size: int) -> np.ndarray:
    low, high = np.triu_indices(size + 1, 1)
    cells = np.arange(size)
    return ((low[:, None] <= cells) & (cells < high[:, None])).astype(float)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("size", "stretches", "windows"), [(6, 6, 2), (9, 9, 12), (13, 5, 3)])
def test_gradient_agrees_with_finite_differences(law, size, stretches, windows):
    problem = Problem.of(ALL_RANGES.gram(size), stretches, law)
    start = some_weights(windows, stretches).ravel()
    shape = (windows, stretches)
    error = check_grad(
        lambda at: problem.value_and_gradient(at.reshape(shape))[0],
        lambda at: problem.value_and_gradient(at.reshape(shape))[1].ravel(),
        start,
        epsilon=1e-6,
    )
    assert error < 1e-5 * np.linalg.norm(problem.value_and_gradient(start.reshape(shape))[1])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("size", "stretches"), [(8, 8), (11, 4)])
def test_objective_is_the_mean_variance_by_pseudo_inverse(law, size, stretches):
    problem = Problem.of(ALL_RANGES.gram(size), stretches, law)
    weights = some_weights(3, stretches)
    cells = np.repeat(weights, problem.sizes.astype(int), axis=1)
    matrix = np.vstack([np.eye(size), cells])
    matrix /= np.linalg.norm(matrix, ord=None, axis=0) if law is Law.GAUSSIAN else matrix.sum(axis=0)
    direct = ((all_ranges(size) @ np.linalg.pinv(matrix)) ** 2).sum(axis=1).mean()
    assert problem.value_and_gradient(weights)[0] == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("queries", ["ranges", "prefixes", "cells", "total", "marginal", [(0, 9), (3, 20), (5, 6)]])
@pytest.mark.parametrize("size", [20, 65])
def test_never_worse_than_cells_alone(law, queries, size):
    workload = AxisWorkload(queries)
    assert mean_variance(optimised_windows(size, workload, law), workload, law) <= np.trace(workload.gram(size))


@pytest.mark.parametrize("law", LAWS)
def test_simple_workloads_get_their_known_optimum(law):
    cells, total = AxisWorkload("cells"), AxisWorkload("total")
    assert mean_variance(optimised_windows(50, cells, law), cells, law) == pytest.approx(1, abs=1e-6)
    assert mean_variance(optimised_windows(50, total, law), total, law) < 1.02  # one count of everybody has 1


def test_long_axes_are_optimised_in_stretches(monkeypatch):
    # With shorter stretches than usual, so that an axis of 300 cells is a long one.
    monkeypatch.setattr(strategies, "_LONGEST", 64)
    monkeypatch.setattr(strategies, "_SCREENED", 32)
    axis = optimised_windows(300, ALL_RANGES, Law.LAPLACE)
    assert mean_variance(axis, ALL_RANGES, Law.LAPLACE) < mean_variance(optimised_tree(300), ALL_RANGES, Law.LAPLACE)


def test_no_bar_is_shown_where_nobody_watches(capsys):
    optimised_windows(50, ALL_RANGES, Law.LAPLACE)
    assert capsys.readouterr() == ("", "")
