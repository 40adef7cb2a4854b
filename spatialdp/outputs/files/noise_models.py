"""Which noise does a file claim for its grid, and can the claim be true? Noise models, read from a file's JSON.

Files come from anywhere, so every number is checked against the grid; a claim that cannot be true raises an error. The
models write their JSON themselves (`to_json` in estimates/grid_noise.py and transforms/): a new kind needs a reader
here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.json_values import amount
from spatialdp.estimates.grid_noise import IndependentNoise, NoiseModel, QuadHaarNoise, SeparableNoise, SharedNoise
from spatialdp.space.domain import Grid
from spatialdp.transforms.axis import AxisWeights, IdentityAxis
from spatialdp.transforms.haar import HaarAxis
from spatialdp.transforms.matrices import DenseAxis, WindowAxis
from spatialdp.transforms.quad_haar import QuadHaar
from spatialdp.transforms.spectral import SpectralAxis

__all__ = ["axis_from_json", "noise_from_json"]


def axis_from_json(data: dict[str, Any], size: int) -> AxisWeights:
    """Read the weights of an axis that `to_json` wrote; raise ValueError, KeyError or TypeError for anything else."""
    kinds: dict[str, Callable[[], AxisWeights]] = {
        "identity": lambda: IdentityAxis(size),
        "haar": lambda: HaarAxis(size),
        "dense": lambda: _dense(data, size),
        "windows": lambda: _windows(data, size),
        "spectral": lambda: SpectralAxis.from_json(data, size),
    }
    return kinds[data["kind"]]()


def _dense(data: dict[str, Any], size: int) -> DenseAxis:
    values = np.frombuffer(base64.b64decode(data["matrix"], validate=True), dtype="<i4")
    return DenseAxis(values.reshape(data["rows"], size).astype(np.int64))


def _windows(data: dict[str, Any], size: int) -> WindowAxis:
    values = np.frombuffer(base64.b64decode(data["weights"], validate=True), dtype="<i4")
    values = values.reshape(data["windows"] + 1, size).astype(np.int64)
    return WindowAxis(values[0], values[1:])


def noise_from_json(data: dict[str, Any], grid: Grid) -> NoiseModel:
    """Read a noise model that `to_json` wrote; raise ValueError, KeyError or TypeError for anything else."""
    if data["kind"] in ("independent", "shared"):
        model = IndependentNoise if data["kind"] == "independent" else SharedNoise
        return model(grid, *(amount(data[name]) for name in ("variance", "kurtosis", "width")))
    if data["kind"] == "quadtree-haar":
        transform = QuadHaar(*grid.shape)
        return QuadHaarNoise(transform, *_moments(data, (len(transform.groups),)), _width(data))
    if data["kind"] != "separable":
        raise ValueError("an unknown kind of noise")
    x, y = (axis_from_json(data[name], size) for name, size in zip(("x", "y"), grid.shape, strict=True))
    return SeparableNoise(x, y, *_moments(data, (x.n_groups, y.n_groups)), _width(data))


def _width(data: dict[str, Any]) -> float:
    """Width of the noise's lattice; earlier files do not state it, and no lattice is wider than 1."""
    return amount(data.get("width", 1.0))


def _moments(data: dict[str, Any], shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    variances, kurtosis = (np.array(data[name], dtype=np.float64) for name in ("variances", "kurtosis"))
    moments = np.array([variances, kurtosis]) if variances.shape == kurtosis.shape == shape else np.array([-1.0])
    if not np.all((moments >= 0) & (moments < np.inf)):
        raise ValueError("the noise does not fit its transform")
    return variances, kurtosis
