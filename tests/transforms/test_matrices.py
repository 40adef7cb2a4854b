"""Axes given by matrices: sensitivities, and windows against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.outputs.files.noise_models import axis_from_json
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies import store as strategy_store
from spatialdp.strategies.axis_workload import ALL_RANGES
from spatialdp.strategies.trees import optimised_tree
from spatialdp.transforms.axis import sample_intervals
from spatialdp.transforms.matrices import DenseAxis, WindowAxis

LAWS = (Law.LAPLACE, Law.GAUSSIAN)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [2, 17, 40, 64])
def test_sensitivity_is_the_largest_change_by_any_record(law, size):
    for axis in (strategy_store.stored_windows(size, ALL_RANGES, law), optimised_tree(size, law=law)):
        columns = axis.forward(np.eye(size, dtype=np.int64))
        assert axis.sensitivities[0].l1 == np.abs(columns).sum(axis=1).max()
        assert axis.sensitivities[0].l2_squared == (columns**2).sum(axis=1).max()


@pytest.mark.parametrize("law", LAWS)
def test_window_axis_agrees_with_dense_algebra(law):
    axis = strategy_store.stored_windows(64, ALL_RANGES, law)
    dense = DenseAxis(axis.matrix)
    assert axis.sensitivities == dense.sensitivities
    assert axis.n_coefficients == dense.n_coefficients
    counts = np.random.default_rng(1).integers(0, 1000, (5, 64))
    assert np.array_equal(axis.forward(counts), dense.forward(counts))
    noisy = np.random.default_rng(2).normal(size=(3, axis.n_coefficients))
    np.testing.assert_allclose(axis.inverse(noisy), dense.inverse(noisy), atol=1e-12)
    for mine, other in zip(axis.powers(sample_intervals(64)), dense.powers(sample_intervals(64)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9)
    assert axis.mean_squares()[0] == pytest.approx(axis.powers(sample_intervals(64))[0].mean(), rel=1e-10)


def test_window_axis_sums_exactly_beyond_doubles():
    axis = WindowAxis([3, 5], [[7, 11]])
    large = np.array([[2**55 + 1, 3]])
    assert axis.forward(large).tolist() == [[3 * (2**55 + 1), 15, 7 * (2**55 + 1) + 33]]


@pytest.mark.parametrize(
    ("diagonal", "windows"),
    [([0, 1], [[1, 1]]), ([1, 1], [[1, -1]]), ([1, 1], [[1, 1, 1]]), ([], np.zeros((1, 0))), ([1, 2**40], [[1, 1]])],
)
def test_window_axis_checks_its_weights(diagonal, windows):
    with pytest.raises(ValueError, match=r"weights|fit"):
        WindowAxis(diagonal, windows)


def test_window_axis_as_plain_values():
    axis = WindowAxis([3, 5, 4], [[7, 11, 0], [0, 1, 2]])
    again = axis_from_json(axis.to_json(), 3)
    assert isinstance(again, WindowAxis)
    assert np.array_equal(again.matrix, axis.matrix)
    for data, size in ((axis.to_json(), 4), (axis.to_json() | {"weights": "AAAA"}, 3)):
        with pytest.raises(ValueError):  # noqa: PT011 - numpy's words, or ours
            axis_from_json(data, size)
