"""Noise models through JSON: what was written comes back, and what can not be true is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.outputs.files.noise_models import axis_from_json, noise_from_json
from spatialdp.transforms.axis import IdentityAxis
from spatialdp.transforms.haar import HaarAxis
from spatialdp.transforms.matrices import DenseAxis, WindowAxis
from spatialdp.transforms.spectral import Basis, SpectralAxis
from tests.helpers.cases import SMALL, is_tree, select, terms

UNIT = sdp.Domain((0, 0, 1, 1))
GRIDS = select(SMALL, lambda mechanism: not is_tree(mechanism))
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
def test_claims_that_can_not_be_true_are_refused(change):
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
