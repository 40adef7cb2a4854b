"""Cosines, waves and Walsh functions: orthonormal, and refused where they are forged."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.transforms.spectral import Basis, SpectralAxis, functions, most_weights, padded, synthesise
from tests.helpers.waves import measured_waves

SIZES = (1, 2, 3, 5, 17, 64, 100, 257)
BASES = list(Basis)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("size", SIZES)
def test_functions_are_orthonormal_and_what_the_transform_uses(basis, size):
    count = padded(basis, size)
    waves = functions(basis, size, count)
    assert np.allclose(waves.T @ waves, np.eye(size), atol=1e-12)
    assert np.allclose(waves, measured_waves(basis, size), atol=1e-7)
    assert np.allclose(synthesise(np.eye(count), basis, size, 1), waves, atol=1e-13)


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "spectral", "basis": "dct", "edges": [0, 9]},
        {"kind": "spectral", "basis": "dct", "edges": [0, 4, 4]},
        {"kind": "spectral", "basis": "dct", "edges": [1, 4]},
        {"kind": "spectral", "basis": "dct", "edges": [0]},
        {"kind": "spectral", "basis": "sine", "edges": [0, 4]},
    ],
)
def test_forged_axes_are_refused(data):
    with pytest.raises((ValueError, KeyError, TypeError)):
        SpectralAxis.from_json(data, 8)


def test_synthesis_pads_with_zeros():
    for basis in BASES:
        low = np.random.default_rng(0).normal(size=(3, 4))
        full = np.zeros((3, padded(basis, 10)))
        full[:, :4] = low
        assert np.allclose(synthesise(low, basis, 10, 1), synthesise(full, basis, 10, 1))


@pytest.mark.parametrize("side", [1, 64, 2048, 4096, 16384])
def test_square_grids_keep_the_limit_of_weights(side):
    assert SpectralAxis(side, Basis.DCT, (0, side)).n_weights <= most_weights(side * side)
    assert most_weights(1) == most_weights(2**20) == 2**23
