"""Noise models through JSON: what was written comes back, and what cannot be true is refused."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.grid_noise import IndependentNoise, SeparableNoise
from spatialdp.outputs.files.noise_models import axis_from_json, most_axis_weights, noise_from_json
from spatialdp.transforms.axis import IdentityAxis
from spatialdp.transforms.haar import HaarAxis
from spatialdp.transforms.matrices import DenseAxis, WindowAxis
from spatialdp.transforms.spectral import Basis, SpectralAxis
from tests.helpers.cases import SMALL, is_grid, select, terms

UNIT = sdp.Domain((0, 0, 1, 1))
GRIDS = select(SMALL, is_grid)
BOXES = UNIT.boxes(np.sort(np.random.default_rng(1).random((30, 2, 2)), axis=1).reshape(-1, 4))
AXES = {
    "identity": IdentityAxis(5),
    "haar": HaarAxis(5),
    "dense": DenseAxis(np.array([[1, 0, 0], [0, 2, 0], [0, 0, -3], [1, 1, 1]])),
    "windows": WindowAxis([3, 5, 4], [[7, 11, 0], [0, 1, 2]]),
    "spectral": SpectralAxis(6, Basis.DCT, (0, 2, 4)),
}


@pytest.mark.parametrize("name", GRIDS)
def test_noise_comes_back(name):
    estimate = GRIDS[name].release([], UNIT, noise=sdp.SeededNoise(1), **terms(GRIDS[name], "add-remove")).estimate
    again = noise_from_json(json.loads(json.dumps(estimate.noise.to_json())), estimate.grid)
    assert type(again) is type(estimate.noise)
    coverages = estimate.coverages(BOXES)
    for ours, theirs in zip(again.cumulants(*coverages), estimate.noise.cumulants(*coverages), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("kind", AXES)
def test_axes_come_back(kind):
    axis = AXES[kind]
    data = json.loads(json.dumps(axis.to_json()))
    assert data["kind"] == kind
    again = axis_from_json(data, axis.size)
    assert type(again) is type(axis)
    assert (again.size, again.n_groups) == (axis.size, axis.n_groups)
    assert np.array_equal(again.cell_weights(slice(0, axis.size)), axis.cell_weights(slice(0, axis.size)))


def test_every_kind_of_axis_that_is_released_is_read():
    """So that a new one needs a reader."""
    found = set()
    for mechanism in GRIDS.values():
        noise = mechanism.release([], UNIT, noise=sdp.SeededNoise(1), **terms(mechanism, "add-remove")).estimate.noise
        found |= {noise.to_json()[axis]["kind"] for axis in ("x", "y") if axis in noise.to_json()}
    assert found == set(AXES) - {"dense"}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"variance": -1.0},
        {"variance": float("nan")},
        {"kurtosis": None},
        {"width": float("inf")},
        {"kind": "separable"},
        {"kind": "quadtree-haar", "variances": [1.0], "kurtosis": [0.0]},
    ],
    ids=str,
)
def test_claims_that_cannot_be_true_are_refused(change):
    grid = UNIT.grid((4, 3))
    data = sdp.Flat((4, 3)).release([], UNIT, epsilon=1).estimate.noise.to_json()
    noise_from_json(data, grid)
    with pytest.raises((ValueError, KeyError, TypeError)):
        noise_from_json(data | change, grid)


@pytest.mark.parametrize("kind", ["dense", "windows", "spectral"])
def test_axes_of_another_size_are_refused(kind):
    with pytest.raises((ValueError, KeyError, TypeError)):
        axis_from_json(AXES[kind].to_json(), 2)
    with pytest.raises(KeyError):
        axis_from_json({"kind": "other"}, 5)


def text_of(values):
    return base64.b64encode(np.asarray(values).astype("<i4").tobytes()).decode()


@pytest.mark.parametrize(
    ("size", "data"),
    [
        (4, {"kind": "windows", "windows": 9, "weights": text_of(np.ones((10, 4)))}),  # windows² gains
        (4, {"kind": "windows", "windows": -1, "weights": text_of(np.ones((0, 4)))}),
        (4, {"kind": "windows", "windows": True, "weights": text_of(np.ones((2, 4)))}),
        (5000, {"kind": "windows", "windows": 1, "weights": text_of(np.ones((2, 5000)))}),
        (4, {"kind": "dense", "rows": 3, "matrix": text_of(np.eye(4)[:3])}),  # fewer rows than cells: cells² weights
        (4, {"kind": "dense", "rows": 4, "matrix": text_of(np.ones((4, 4)))}),  # no unique fit
        (4, {"kind": "dense", "rows": -1, "matrix": text_of(np.eye(4))}),
        (4, {"kind": "dense", "rows": 17, "matrix": text_of(np.ones((17, 4)))}),
        (5000, {"kind": "dense", "rows": 5000, "matrix": ""}),
    ],
)
def test_axes_from_which_far_more_would_follow_are_refused(size, data):
    with pytest.raises((ValueError, TypeError)):
        axis_from_json(data, size)


def test_the_largest_axes_that_are_optimised_are_read():
    for mechanism in (sdp.Tailored((2048, 16)), sdp.Tailored((512, 4), strategy="trees", workload="prefixes")):
        noise = mechanism.release([], UNIT, epsilon=1).estimate.noise
        again = axis_from_json(noise.x.to_json(), noise.x.size)
        assert np.array_equal(again.windows, noise.x.windows)


def test_only_frequencies_have_weights_to_count():
    spectral = SeparableNoise(
        SpectralAxis(6, Basis.DCT, (0, 2, 4)), IdentityAxis(5), np.ones((2, 1)), np.ones((2, 1)), 1.0
    )
    assert most_axis_weights(spectral) == 24
    grid = UNIT.grid((4, 3))
    assert most_axis_weights(IndependentNoise(grid, 1.0, 1.0, 1.0)) == 0
