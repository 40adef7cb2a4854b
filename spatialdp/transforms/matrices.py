"""How does a matrix of whole numbers measure one axis? By exact sums of cells, fitted by least squares.

`DenseAxis` takes any small matrix. `WindowAxis` takes every cell and weighted sums of cells
("windows"), and stays cheap on long axes (``docs/design/tailored.md``). Measurements are exact
integer sums, sensitivities are column norms, and the fit is least squares. Sensitivities must be
computed from the matrix in use, whoever made it. This module reads no record.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.space.coverage import Coverage
from spatialdp.transforms.axis import AxisTransform

__all__ = ["DenseAxis", "WindowAxis"]


class MatrixAxis(AxisTransform):
    """A transform with one group of measurements; one record changes it by at most the largest norm of a column."""

    fitted: ClassVar[bool] = True

    @cached_property
    @override
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        l1, l2_squared = self.column_norms(0)
        return (Sensitivity(int(l1.max()), int(l2_squared.max())),)


@dataclass(frozen=True, eq=False)
class DenseAxis(MatrixAxis):
    """Any integer strategy matrix with full column rank, fitted by least squares; one group.

    Attributes
    ----------
    matrix : (measurements, cells) int array
    """

    matrix: Integers

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.int64)
        if matrix.ndim != 2 or np.abs(matrix).max(initial=0) >= 2**20:
            raise ValueError("a strategy matrix needs two dimensions and entries below 2^20")
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    @property
    def size(self) -> int:  # type: ignore[override]  # a field in other axes
        """Number of cells."""
        return int(self.matrix.shape[1])

    @property
    @override
    def groups(self) -> tuple[slice, ...]:
        return (slice(0, self.matrix.shape[0]),)

    @override
    def column_norms(self, group: int) -> tuple[Integers, Integers]:  # noqa: ARG002 - there is one group
        return np.abs(self.matrix).sum(axis=0), (self.matrix**2).sum(axis=0)

    @property
    @override
    def signed(self) -> bool:
        return bool(self.matrix.min(initial=0) < 0)

    @override
    def forward(self, counts: Integers) -> Integers:
        return _exact_product(counts, self.matrix)

    @override
    def inverse(self, coefficients: Floats) -> Floats:
        return coefficients @ self._weights

    @override
    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        weights = np.zeros((coverage.start.size, self.matrix.shape[0]))  # (boxes, measurements)
        for knot, weight in zip(coverage.knots, coverage.weights(1), strict=True):
            weights += weight[:, None] * self.prefixes[knot]
        squares = weights**2
        return squares.sum(axis=1)[None, :], (squares**2).sum(axis=1)[None, :]

    @override
    def cell_weights(self, cells: slice) -> Floats:
        return self._weights[:, cells].T

    @override
    def to_json(self) -> dict[str, Any]:
        data = base64.b64encode(self.matrix.astype("<i4").tobytes()).decode()
        return {"kind": "dense", "rows": int(self.matrix.shape[0]), "matrix": data}

    @cached_property
    def _weights(self) -> Floats:
        """Weights of the measurements in the estimates of the cells, (measurements, cells)."""
        matrix = self.matrix.astype(np.float64)
        return np.asarray(np.linalg.solve(matrix.T @ matrix, matrix.T).T)

    @cached_property
    def prefixes(self) -> Floats:
        """Weights of the measurements in the sum of the first 0, 1, 2, ... cells, (cells + 1, measurements)."""
        return np.concatenate([np.zeros((1, self.matrix.shape[0])), np.cumsum(self._weights.T, axis=0)])


@dataclass(frozen=True, eq=False)
class WindowAxis(MatrixAxis):
    """Every cell with a weight of its own, and windows: sums of cells with non-negative weights; one group.

    The strategy matrix is A = [diag(d); B]. Its least-squares fit needs only a system as large as
    there are windows, (A'A)⁻¹ = M - M B' (I + B M B')⁻¹ B M with M = diag(d)⁻², so long axes stay cheap.

    Attributes
    ----------
    diagonal : (cells,) int array
        The weights d of the cells' own measurements; positive.
    windows : (windows, cells) int array
        The weights B of the cells in each window; not negative.
    """

    diagonal: Integers
    windows: Integers

    def __post_init__(self) -> None:
        for name in ("diagonal", "windows"):
            values = np.array(getattr(self, name), dtype=np.int64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if self.windows.ndim != 2 or self.diagonal.shape != self.windows.shape[1:]:
            raise ValueError("the windows' weights need as many columns as there are cells")
        if not self.size or self.diagonal.min() < 1 or self.windows.min(initial=0) < 0:
            raise ValueError("an axis needs positive weights of cells and non-negative weights in windows")
        if max(self.diagonal.max(), self.windows.max(initial=0)) >= 2**20:
            raise ValueError("the weights of an axis must be below 2^20")

    @property
    def size(self) -> int:  # type: ignore[override]  # a field in other axes
        """Number of cells."""
        return int(self.diagonal.size)

    @property
    def matrix(self) -> Integers:
        """The strategy matrix A, (measurements, cells): cells first, then windows."""
        return np.vstack([np.diag(self.diagonal), self.windows])

    @property
    @override
    def groups(self) -> tuple[slice, ...]:
        return (slice(0, self.size + len(self.windows)),)

    @override
    def column_norms(self, group: int) -> tuple[Integers, Integers]:  # noqa: ARG002 - there is one group
        return self.diagonal + self.windows.sum(axis=0), self.diagonal**2 + (self.windows**2).sum(axis=0)

    @override
    def forward(self, counts: Integers) -> Integers:
        out = np.empty((*counts.shape[:-1], self.n_coefficients), dtype=np.int64)
        np.multiply(counts, self.diagonal, out=out[..., : self.size])
        out[..., self.size :] = _exact_product(counts, self.windows)
        return out

    @override
    def inverse(self, coefficients: Floats) -> Floats:
        estimates = coefficients[..., : self.size] / self.diagonal
        residuals = coefficients[..., self.size :] - estimates @ self.windows.T
        estimates += residuals @ self.gains
        return np.asarray(estimates)

    @override
    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        # In blocks of boxes, to save memory.
        boxes = coverage.start.size
        squares, fourths = np.empty((2, 1, boxes))
        step = max(1, 2**21 // self.n_coefficients)
        for block in (slice(first, first + step) for first in range(0, boxes, step)):
            weights = self._box_weights(coverage.start[block], coverage.stop[block])
            np.square(weights, out=weights)
            squares[0, block] = weights.sum(axis=1)
            fourths[0, block] = np.einsum("ij,ij->i", weights, weights)
        return squares, fourths

    @override
    def cell_weights(self, cells: slice) -> Floats:
        places = np.arange(cells.start, cells.stop, dtype=np.float64)
        return self._box_weights(places, places + 1)

    def mean_square(self, gram: Floats) -> float:
        """Mean of the sums of squares of `powers` over queries with the Gram matrix G: tr((A'A)⁻¹ G)."""
        scaled = self.windows / self.diagonal
        own = np.diag(gram) / self.diagonal**2
        return float(own.sum() - np.sum((self.gains @ (gram / self.diagonal)) * scaled))

    @override
    def mean_squares(self) -> Floats:
        # Exact, because the Gram matrix of all intervals is known.
        place = np.arange(self.size, dtype=np.float64)
        low, high = np.minimum(place[:, None], place) + 1, self.size - np.maximum(place[:, None], place)
        return np.array([self.mean_square(low * high / (self.size * (self.size + 1) / 2))])

    @override
    def to_json(self) -> dict[str, Any]:
        values = np.vstack([self.diagonal, self.windows]).astype("<i4")
        return {"kind": "windows", "windows": len(self.windows), "weights": base64.b64encode(values.tobytes()).decode()}

    @cached_property
    def gains(self) -> Floats:
        """How the residual of each window is divided among the cells, (windows, cells): (I + B M B')⁻¹ B M."""
        scaled = self.windows / self.diagonal
        inner = np.eye(len(scaled)) + scaled @ scaled.T
        return np.asarray(np.linalg.solve(inner, scaled / self.diagonal))

    def _box_weights(self, start: Floats, stop: Floats) -> Floats:
        """Weights of the measurements in the answers to boxes, (boxes, measurements)."""
        cells = np.arange(self.size)
        covered = np.minimum(stop[:, None], cells + 1) - np.maximum(start[:, None], cells)  # (boxes, cells)
        np.clip(covered, 0.0, 1.0, out=covered)
        shared = covered @ self.gains.T  # (boxes, windows)
        covered -= shared @ self.windows
        return np.hstack([covered / self.diagonal, shared])


def _exact_product(counts: Integers, matrix: Integers) -> Integers:
    """Exact product of counts and the transposed matrix; in doubles only while all sums are below 2^53."""
    largest = int(np.abs(counts).sum(axis=-1).max(initial=0)) * int(np.abs(matrix).max(initial=0))
    if largest < 2**53:
        return np.rint(counts.astype(np.float64) @ matrix.T.astype(np.float64)).astype(np.int64)
    return counts @ matrix.T
