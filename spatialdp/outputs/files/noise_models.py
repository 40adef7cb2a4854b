"""Which noise does a file claim for its grid, and can the claim be true? Noise models, read from a file's JSON.

Files come from anywhere, so every number is checked against the grid; a claim that cannot be true raises an error, and
so does one from which far more numbers would follow than the file holds. The models write their JSON themselves
(`to_json` in estimates/grid_noise.py and transforms/): a new kind needs a reader here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.json_values import amount, whole
from spatialdp.estimates.grid_noise import (
    IndependentNoise,
    NoiseModel,
    QuadHaarNoise,
    SeparableNoise,
    SharedNoise,
    WeightedNoise,
)
from spatialdp.outputs.files.limits import WIDEST_STEP, check_moments
from spatialdp.space.domain import Grid
from spatialdp.transforms.axis import AxisWeights, IdentityAxis
from spatialdp.transforms.haar import HaarAxis
from spatialdp.transforms.matrices import DenseAxis, WindowAxis
from spatialdp.transforms.quad_haar import QuadHaar
from spatialdp.transforms.spectral import SpectralAxis

__all__ = ["axis_from_json", "most_axis_weights", "noise_from_json"]

# The least-squares fit of an axis takes as many numbers as the square of its cells, and of its windows. Optimised axes
# have at most this many cells, and trees of blocks fewer than two windows for each cell.
_LONGEST_MATRIX = 4096
_MOST_ROWS = 4  # for each cell


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
    rows = whole(data["rows"], whole(size, 1, _LONGEST_MATRIX), _MOST_ROWS * size)  # fewer rows have no unique fit
    values = np.frombuffer(base64.b64decode(data["matrix"], validate=True), dtype="<i4")
    axis = DenseAxis(values.reshape(rows, size).astype(np.int64))
    if np.linalg.matrix_rank(axis.matrix.astype(np.float64)) < size:
        raise ValueError("the matrix of an axis has no unique fit")
    return axis


def _windows(data: dict[str, Any], size: int) -> WindowAxis:
    windows = whole(data["windows"], 0, 2 * whole(size, 1, _LONGEST_MATRIX))
    values = np.frombuffer(base64.b64decode(data["weights"], validate=True), dtype="<i4")
    values = values.reshape(windows + 1, size).astype(np.int64)
    return WindowAxis(values[0], values[1:])


def noise_from_json(data: dict[str, Any], grid: Grid) -> NoiseModel:
    """Read a noise model that `to_json` wrote; raise ValueError, KeyError or TypeError for anything else."""
    of_cells = {"independent": IndependentNoise, "shared": SharedNoise, "weighted": WeightedNoise}
    if data["kind"] in of_cells:
        model = of_cells[data["kind"]]
        variance, kurtosis = amount(data["variance"]), amount(data["kurtosis"])
        check_moments(np.array(variance), np.array(kurtosis))
        return model(grid, variance, kurtosis, amount(data["width"], WIDEST_STEP))
    if data["kind"] == "quadtree-haar":
        transform = QuadHaar(*grid.shape)
        return QuadHaarNoise(transform, *_moments(data, (len(transform.groups),)), _width(data))
    if data["kind"] != "separable":
        raise ValueError("an unknown kind of noise")
    x, y = (axis_from_json(data[name], size) for name, size in zip(("x", "y"), grid.shape, strict=True))
    return SeparableNoise(x, y, *_moments(data, (x.n_groups, y.n_groups)), _width(data))


def _width(data: dict[str, Any]) -> float:
    """Width of the noise's lattice; earlier files do not state it, and no lattice is wider than 1."""
    return amount(data.get("width", WIDEST_STEP), WIDEST_STEP)


def most_axis_weights(noise: NoiseModel) -> int:
    """Return how many weights the longer list of frequencies along an axis has; 0 for noise of any other kind."""
    axes = (noise.x, noise.y) if isinstance(noise, SeparableNoise) else ()
    return max((axis.n_weights for axis in axes if isinstance(axis, SpectralAxis)), default=0)


def _moments(data: dict[str, Any], shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    variances, kurtosis = (np.array(data[name], dtype=np.float64) for name in ("variances", "kurtosis"))
    if not variances.shape == kurtosis.shape == shape:
        raise ValueError("the noise does not fit its transform")
    check_moments(variances, kurtosis)
    return variances, kurtosis
