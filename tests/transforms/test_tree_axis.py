"""Sums over a tree and their fit agree with dense least squares, row by row; no path costs more than the whole."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from spatialdp.errors import ParameterError
from spatialdp.space.zones.chains import merged
from spatialdp.transforms.tree_axis import TreeAxis
from spatialdp.trees.shape import TreeShape
from tests.helpers.tables import dense_fit, measured_matrix, random_shape, random_shares, working_variances

SEEDS = range(12)


def some_axis(seed, power=2):
    rng = np.random.default_rng(seed)
    shape = random_shape(rng, even=bool(seed % 3 == 0))
    if seed % 4 == 1:
        chains = merged(shape)
        return TreeAxis(
            chains.shape, random_shares(rng, shape.height + 1), power, np.stack([chains.first, chains.last])
        )
    return TreeAxis(shape, random_shares(rng, shape.height + 1), power)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_inverse_is_the_dense_least_squares_fit_for_all_rows(seed, power):
    axis = some_axis(seed, power)
    rng = np.random.default_rng(seed)
    noisy = rng.normal(size=(3, 2, axis.n_coefficients)) * 10
    groups = [noisy[..., part].copy() for part in axis.groups]
    assert axis.inverse(groups) == pytest.approx(noisy @ dense_fit([axis]).T, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_exact_measurements_give_the_counts_back(seed):
    axis = some_axis(seed)
    counts = np.random.default_rng(seed).integers(0, 100, (5, axis.size))
    groups = axis.forward(counts)
    assert all(group.dtype == np.int64 for group in groups)
    assert axis.inverse([group.astype(float) for group in groups]) == pytest.approx(counts, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_are_the_transposed_inverse(seed):
    axis = some_axis(seed)
    cells = np.random.default_rng(seed).random((4, axis.size))
    assert axis.weights(cells) == pytest.approx(cells @ dense_fit([axis]), abs=1e-10)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_powers_of_nodes_are_those_of_their_weights(seed, power):
    axis = some_axis(seed, power)
    below = np.zeros((axis.shape.n_nodes, axis.size))
    for place, node in enumerate(np.flatnonzero(axis.shape.leaves)):
        while node >= 0:
            below[node, place] = 1
            node = int(axis.shape.parent[node])
    for found, wanted in zip(axis.node_powers, axis.powers(iter([below])), strict=True):
        assert found == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_cell_is_in_groups_that_cost_the_whole_together(seed):
    axis = some_axis(seed)
    matrix = measured_matrix(axis)
    shares = np.repeat(axis.group_shares, [part.stop - part.start for part in axis.groups])
    assert all(sum(shares[column > 0], Fraction(0)) == 1 for column in matrix.T)
    for part, together in zip(axis.groups, axis.largest, strict=True):
        assert (matrix[part].sum(axis=0) <= 1).all()  # one record moves a group by one
        assert matrix[part].sum(axis=1).max() == together


def test_a_leaf_above_the_lowest_level_spends_what_is_left_of_its_path():
    shape = TreeShape([0, 1, 3, 5], [2, 0, 2, 0, 0])
    axis = TreeAxis(shape, (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)), 2)
    assert axis.spanned == ((0, 0), (1, 1), (1, 2), (2, 2))
    assert [str(share) for share in axis.group_shares] == ["1/2", "1/4", "1/2", "1/4"]


def test_the_fit_with_one_level_is_no_fit():
    axis = TreeAxis(TreeShape([0, 1, 4], [3, 0, 0, 0]), (Fraction(0), Fraction(1)), 2)
    values = np.array([[1.0, 2, 3]])
    assert axis.is_identity
    assert axis.inverse([values]) is values
    assert working_variances(axis).tolist() == [1, 1, 1]


@pytest.mark.parametrize("shares", [(1,), (Fraction(1), Fraction(0)), (Fraction(1, 2), Fraction(1, 3))])
def test_shares_that_are_no_division_are_refused(shares):
    with pytest.raises(ParameterError, match="add up to 1"):
        TreeAxis(TreeShape([0, 1, 3], [2, 0, 0]), shares, 2)


def test_level_variances_are_means_over_the_nodes_of_a_level():
    axis = some_axis(3)
    squares, depth = axis.node_powers[0], axis.shape.depth
    last = np.where(axis.shape.leaves, axis.shape.height, depth)
    for level, column in enumerate(axis.level_variances().T):
        nodes = (depth <= level) & (level <= last)
        assert column == pytest.approx(squares[:, nodes].mean(axis=1))
