"""What every transform of an axis can do."""

from __future__ import annotations

import json

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.outputs.files.noise_models import axis_from_json
from spatialdp.space.coverage import Coverage
from spatialdp.space.lattice import LATTICE, edge_lines
from spatialdp.transforms.axis import IdentityAxis, sample_intervals
from spatialdp.transforms.haar import HaarAxis
from spatialdp.transforms.matrices import DenseAxis, WindowAxis

BOUNDS = (10.0, 20.0, 17.0, 29.0)


@pytest.mark.parametrize("axis", ["haar", "windows", "dct"])
def test_cell_weights_are_the_way_back(axis):
    release = {
        "haar": sdp.Wavelet((13, 8)),
        "windows": sdp.Tailored((16, 8)),
        "dct": sdp.Fourier((9, 8), block=(9, 8)),
    }[axis].release(np.empty((0, 2)), sdp.Domain(BOUNDS), epsilon=1)
    weights = release.estimate.noise.x
    dense = weights.cell_weights(slice(0, weights.size))
    if axis == "dct":
        np.testing.assert_allclose(dense @ dense.T, np.eye(9), atol=1e-12)
    else:
        np.testing.assert_allclose(weights.inverse(np.eye(weights.n_coefficients)).T, dense, atol=1e-12)
    np.testing.assert_allclose(weights.cell_weights(slice(2, 5)), dense[2:5], atol=1e-12)


TRANSFORMS = {
    "identity": IdentityAxis(7),
    "identity of one cell": IdentityAxis(1),
    "Haar": HaarAxis(7),
    "Haar of a power of two": HaarAxis(8),
    "Haar of one cell": HaarAxis(1),
    "dense": DenseAxis(np.vstack([np.eye(5, dtype=int), [1, -2, 0, 3, 1]])),
    "windows": WindowAxis(np.array([3, 1, 2, 4]), np.array([[1, 1, 0, 0], [0, 2, 2, 5]])),
}
every_transform = pytest.mark.parametrize("name", TRANSFORMS)


def images(axis):
    """(coefficients, cells): what one record in each of the cells changes."""
    return axis.forward(np.eye(axis.size, dtype=np.int64)).T


@every_transform
def test_counts_come_back_from_their_coefficients(name):
    axis = TRANSFORMS[name]
    counts = np.random.default_rng(1).integers(0, 1000, (3, 2, axis.size))
    coefficients = axis.forward(counts)
    assert np.issubdtype(coefficients.dtype, np.integer)
    assert np.array_equal(coefficients, counts @ images(axis).T)
    np.testing.assert_allclose(axis.inverse(coefficients.astype(float)), counts, atol=1e-9)


@every_transform
def test_groups_hold_every_coefficient_once(name):
    axis = TRANSFORMS[name]
    held = [place for part in axis.groups for place in range(part.start, part.stop)]
    assert held == list(range(axis.n_coefficients)) == list(range(len(images(axis))))


@every_transform
def test_declared_sensitivities_are_the_largest_columns(name):
    axis = TRANSFORMS[name]
    for group, part in enumerate(axis.groups):
        columns = images(axis)[part]
        norms = np.abs(columns).sum(axis=0), (columns**2).sum(axis=0)
        for found, expected in zip(axis.column_norms(group), norms, strict=True):
            assert np.array_equal(found, expected)
        declared = axis.sensitivities[group]
        assert (declared.l1, declared.l2_squared) == tuple(norm.max() for norm in norms)
        assert axis.constant[group] == (columns == columns[:, :1]).all()


@every_transform
def test_a_transform_says_whether_cells_enter_with_opposite_signs(name):
    axis = TRANSFORMS[name]
    opposite = [(row[:, None] * row < 0).any() for row in images(axis)]
    assert any(opposite) <= axis.signed


@every_transform
def test_powers_are_those_of_the_weights_in_each_box(name):
    axis = TRANSFORMS[name]
    lines = edge_lines(axis.size)
    low, high = np.sort(np.random.default_rng(2).integers(0, LATTICE + 1, (2, 50)), axis=0)
    low[:5], high[:5] = 0, LATTICE
    shares = np.clip(np.minimum(high[:, None], lines[1:]) - np.maximum(low[:, None], lines[:-1]), 0, None)
    weights = shares / np.diff(lines) @ axis.inverse(np.eye(axis.n_coefficients)).T
    found = axis.powers(Coverage.of(low, high, lines))
    for power, sums in zip((2, 4), found, strict=True):
        expected = [(weights[:, part] ** power).sum(axis=1) for part in axis.groups]
        np.testing.assert_allclose(sums, expected, atol=1e-9)


@every_transform
def test_mean_squares_are_means_over_all_intervals(name):
    axis = TRANSFORMS[name]
    low, high = np.triu_indices(axis.size + 1, 1)
    covered = ((np.arange(axis.size) >= low[:, None]) & (np.arange(axis.size) < high[:, None])).astype(float)
    weights = covered @ axis.inverse(np.eye(axis.n_coefficients)).T
    expected = [(weights[:, part] ** 2).sum(axis=1).mean() for part in axis.groups]
    np.testing.assert_allclose(axis.mean_squares(), expected)


@every_transform
def test_axes_come_back_from_plain_values(name):
    axis = TRANSFORMS[name]
    again = axis_from_json(json.loads(json.dumps(axis.to_json())), axis.size)
    assert type(again) is type(axis)
    assert np.array_equal(images(again), images(axis))


@pytest.mark.parametrize("size", [1, 2, 512, 513, 5000])
def test_sampled_intervals_are_whole_cells_and_not_too_many(size):
    found = sample_intervals(size)
    low, high = found.start, found.stop
    np.testing.assert_allclose([low, high], np.rint([low, high]), atol=1e-5)
    assert (high - low > 0.5).all()
    assert low.min() >= 0
    assert high.max() <= size + 1e-9
    assert low.size == size * (size + 1) // 2 or (size > 512 and 30_000 < low.size <= 40_000)
    # The mean length of an interval of n cells is (n + 2) / 3.
    assert (high - low).mean() == pytest.approx((size + 2) / 3, rel=0.01)
