"""The matrix of a field: written out, on larger cells, and without ties between cells."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.estimates.fields.halvings import coarser_lines
from spatialdp.estimates.fields.system import HOLD, LOOSER, Joining, Smoother
from tests.estimates.fields.test_multigrid import LAKE, counts_of, system_of

CASES = [((12, 10), None), ((12, 10), LAKE), ((17, 4), None), ((1, 20), None)]


def dense(made):
    return np.stack([made.times(each.reshape(made.pull.shape)).ravel() for each in np.eye(made.pull.size)])


def made_for(shape, region):
    counts = counts_of(shape, 1, region, n=500)
    return counts, system_of(counts)


@pytest.mark.parametrize(("shape", "region"), CASES)
def test_times_is_the_sum_of_counts_ties_and_pull(shape, region):
    _, made = made_for(shape, region)
    ny, nx = made.pull.shape
    expected = np.diag(made.pull.ravel())
    for weight, node in zip(made.weights, range(made.tree.n_nodes), strict=True):
        member = np.zeros(made.tree.n_nodes)
        member[node] = 1
        cells = made.at_cells(member).ravel()
        expected += weight * np.outer(cells, cells)
    for tie, step in ((made.along_x, 1), (made.along_y, nx)):
        for i, strength in enumerate(tie.ravel()[: nx * ny - step]):
            difference = np.zeros(nx * ny)
            difference[[i, i + step]] = 1, -1
            expected += strength * np.outer(difference, difference)
    np.testing.assert_allclose(dense(made), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert np.all(made.along_x[:, -1] == 0)
    assert np.all(made.along_y[-1] == 0)


@pytest.mark.parametrize(("shape", "region"), CASES)
def test_joined_systems_are_those_of_fields_that_are_constant_within_larger_cells(shape, region):
    """But for ties, which are weaker along an axis whose cells are joined."""
    _, made = made_for(shape, region)
    for x, y in coarser_lines(np.ones(shape[0]), np.ones(shape[1])):
        joining = Joining(y, x, made.pull.shape)
        joined = made.joined(joining)
        spread = (joining.number.ravel()[:, None] == np.arange(joined.pull.size)).astype(float)
        expected = spread.T @ dense(made) @ spread
        ties = np.zeros(expected.shape)
        for along, step, axis in ((joined.along_x, 1, 1), (joined.along_y, joined.pull.shape[1], 0)):
            missing = along.ravel() / LOOSER * (1 - LOOSER) if joining.joined_shape[axis] < joining.shape[axis] else 0
            for i in np.flatnonzero(np.broadcast_to(missing, along.size)):
                difference = np.zeros(len(ties))
                difference[[i, i + step]] = 1, -1
                ties += missing[i] * np.outer(difference, difference)
        np.testing.assert_allclose(dense(joined), expected - ties, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        assert joined.tree.n_nodes <= made.tree.n_nodes


@pytest.mark.parametrize(("shape", "region"), CASES)
def test_the_smoother_solves_the_system_without_ties_between_cells(shape, region):
    counts, made = made_for(shape, region)
    smoother, right = Smoother(made), np.random.default_rng(2).normal(size=made.pull.shape) * counts.raster.inside
    solution, rest = smoother.solved(right, np.empty(right.shape)), np.empty(right.shape)
    smoother.rest(solution, rest)
    np.testing.assert_allclose(made.times(solution) + rest, right, atol=1e-9 * np.abs(right).max())
    own = HOLD * made.ties * solution
    np.testing.assert_allclose(rest - made.neighbours(solution), own - made.ties * solution, atol=1e-9)


def test_larger_cells_get_the_sums_of_their_cells_and_give_each_their_value():
    joining = Joining(np.array([0, 2, 3]), np.array([0, 1, 4]), (5, 6))
    values = np.arange(30.0).reshape(5, 6)
    expected = np.add.reduceat(np.add.reduceat(values, joining.rows, axis=0), joining.columns, axis=1)
    assert np.array_equal(joining.sums(values), expected)
    spread = np.zeros((5, 6))
    joining.add(expected, spread)
    assert np.array_equal(spread, expected.ravel()[joining.number])
