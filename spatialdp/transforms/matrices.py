"""Transforms of one axis that are given as matrices: any small one, or weighted windows of successive cells."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.space.coverage import Coverage
from spatialdp.transforms.axis import AxisTransform

__all__ = ["DenseAxis", "WindowAxis"]


@dataclass(frozen=True, eq=False)
class DenseAxis(AxisTransform):
    """Any integer strategy matrix with full column rank, fitted by least squares; one group.

    Attributes
    ----------
    matrix : (measurements, cells) int array
    """

    matrix: Integers

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.int64)
        if matrix.ndim != 2 or np.abs(matrix).max(initial=0) >= 2**20:
            raise ValueError("a strategy matrix has entries below 2^20")
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    @property
    def size(self) -> int:  # type: ignore[override]  # others hold it as a field
        """Number of cells."""
        return int(self.matrix.shape[1])

    @property
    def groups(self) -> tuple[slice, ...]:
        """One group with all measurements."""
        return (slice(0, self.matrix.shape[0]),)

    @cached_property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """Largest column norms of the matrix."""
        l1, l2_squared = self.column_norms(0)
        return (Sensitivity(int(l1.max()), int(l2_squared.max())),)

    def column_norms(self, group: int) -> tuple[Integers, Integers]:  # noqa: ARG002 - there is one group
        """Of the matrix."""
        return np.abs(self.matrix).sum(axis=0), (self.matrix**2).sum(axis=0)

    @property
    def signed(self) -> bool:
        """Whether any entry is negative."""
        return bool(self.matrix.min(initial=0) < 0)

    def forward(self, counts: Integers) -> Integers:
        """Exact integer sums."""
        return _exact_product(counts, self.matrix)

    def inverse(self, coefficients: Floats) -> Floats:
        """Least squares."""
        return coefficients @ self._weights

    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        """Weights of all measurements, from prefix sums along the cells."""
        weights = np.zeros((coverage.start.size, self.matrix.shape[0]))
        for knot, weight in zip(coverage.knots, coverage.weights(1), strict=True):
            weights += weight[:, None] * self.prefixes[knot]
        squares = weights**2
        return squares.sum(axis=1)[None, :], (squares**2).sum(axis=1)[None, :]

    def cell_weights(self, cells: slice) -> Floats:
        """Rows of the fit."""
        return self._weights[:, cells].T

    def to_json(self) -> dict[str, Any]:
        """The matrix."""
        data = base64.b64encode(self.matrix.astype("<i4").tobytes()).decode()
        return {"kind": "dense", "rows": int(self.matrix.shape[0]), "matrix": data}

    @cached_property
    def _weights(self) -> Floats:
        """(measurements, cells): what each measurement contributes to each cell's estimate."""
        matrix = self.matrix.astype(np.float64)
        return np.asarray(np.linalg.solve(matrix.T @ matrix, matrix.T).T)

    @cached_property
    def prefixes(self) -> Floats:
        """(cells + 1, measurements): contributions to the sum of the first cells."""
        return np.concatenate([np.zeros((1, self.matrix.shape[0])), np.cumsum(self._weights.T, axis=0)])


@dataclass(frozen=True, eq=False)
class WindowAxis(AxisTransform):
    """Every cell with a weight of its own, and windows: sums of cells with non-negative weights; one group.

    The strategy matrix is [diag(d); B]. Its least-squares fit needs only a system as large as there are windows,
    (A'A)⁻¹ = M - M B' (I + B M B')⁻¹ B M with M = diag(d)⁻², so that long axes stay cheap.

    Attributes
    ----------
    diagonal : (cells,) int array
        Positive.
    windows : (windows, cells) int array
        Not negative.
    """

    diagonal: Integers
    windows: Integers

    def __post_init__(self) -> None:
        for name in ("diagonal", "windows"):
            values = np.array(getattr(self, name), dtype=np.int64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if self.windows.ndim != 2 or self.diagonal.shape != self.windows.shape[1:]:
            raise ValueError("the windows do not fit the cells")
        if not self.size or self.diagonal.min() < 1 or self.windows.min(initial=0) < 0:
            raise ValueError("the weights of an axis are not positive")
        if max(self.diagonal.max(), self.windows.max(initial=0)) >= 2**20:
            raise ValueError("the weights of an axis are too large")

    @property
    def size(self) -> int:  # type: ignore[override]  # others hold it as a field
        """Number of cells."""
        return int(self.diagonal.size)

    @property
    def matrix(self) -> Integers:
        """(measurements, cells): cells first, then windows."""
        return np.vstack([np.diag(self.diagonal), self.windows])

    @property
    def groups(self) -> tuple[slice, ...]:
        """One group with all measurements."""
        return (slice(0, self.size + len(self.windows)),)

    @cached_property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """Largest column norms of the matrix."""
        l1, l2_squared = self.column_norms(0)
        return (Sensitivity(int(l1.max()), int(l2_squared.max())),)

    def column_norms(self, group: int) -> tuple[Integers, Integers]:  # noqa: ARG002 - there is one group
        """Of the matrix."""
        return self.diagonal + self.windows.sum(axis=0), self.diagonal**2 + (self.windows**2).sum(axis=0)

    def forward(self, counts: Integers) -> Integers:
        """Exact integer sums."""
        out = np.empty((*counts.shape[:-1], self.n_coefficients), dtype=np.int64)
        np.multiply(counts, self.diagonal, out=out[..., : self.size])
        out[..., self.size :] = _exact_product(counts, self.windows)
        return out

    def inverse(self, coefficients: Floats) -> Floats:
        """Least squares."""
        known = coefficients[..., : self.size] / self.diagonal
        missed = coefficients[..., self.size :] - known @ self.windows.T
        known += missed @ self.gains
        return np.asarray(known)

    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        """Weights of all measurements, a block of boxes at a time."""
        boxes = coverage.start.size
        squares, fourths = np.empty((2, 1, boxes))
        step = max(1, 2**21 // self.n_coefficients)
        for block in (slice(first, first + step) for first in range(0, boxes, step)):
            weights = self._box_weights(coverage.start[block], coverage.stop[block])
            np.square(weights, out=weights)
            squares[0, block] = weights.sum(axis=1)
            fourths[0, block] = np.einsum("ij,ij->i", weights, weights)
        return squares, fourths

    def cell_weights(self, cells: slice) -> Floats:
        """Those of boxes of one cell."""
        places = np.arange(cells.start, cells.stop, dtype=np.float64)
        return self._box_weights(places, places + 1)

    def mean_square(self, gram: Floats) -> float:
        """tr((A'A)⁻¹ G): the mean of `powers` over queries with this Gram matrix."""
        scaled = self.windows / self.diagonal
        own = np.diag(gram) / self.diagonal**2
        return float(own.sum() - np.sum((self.gains @ (gram / self.diagonal)) * scaled))

    def mean_squares(self) -> Floats:
        """Exact mean over all intervals of cells."""
        place = np.arange(self.size, dtype=np.float64)
        low, high = np.minimum(place[:, None], place) + 1, self.size - np.maximum(place[:, None], place)
        return np.array([self.mean_square(low * high / (self.size * (self.size + 1) / 2))])

    def to_json(self) -> dict[str, Any]:
        """The weights."""
        values = np.vstack([self.diagonal, self.windows]).astype("<i4")
        return {"kind": "windows", "windows": len(self.windows), "weights": base64.b64encode(values.tobytes()).decode()}

    @cached_property
    def gains(self) -> Floats:
        """(windows, cells) M B' (I + B M B')⁻¹: how what a window saw beyond its cells is shared out among them."""
        scaled = self.windows / self.diagonal
        inner = np.eye(len(scaled)) + scaled @ scaled.T
        return np.asarray(np.linalg.solve(inner, scaled / self.diagonal))

    def _box_weights(self, start: Floats, stop: Floats) -> Floats:
        """(boxes, measurements): what each measurement contributes to each box's answer."""
        cells = np.arange(self.size)
        covered = np.minimum(stop[:, None], cells + 1) - np.maximum(start[:, None], cells)
        np.clip(covered, 0.0, 1.0, out=covered)
        shared = covered @ self.gains.T
        covered -= shared @ self.windows
        return np.hstack([covered / self.diagonal, shared])


def _exact_product(counts: Integers, matrix: Integers) -> Integers:
    """Counts times the transposed matrix. In doubles only while all sums are below 2^53, where those are exact."""
    largest = int(np.abs(counts).sum(axis=-1).max(initial=0)) * int(np.abs(matrix).max(initial=0))
    if largest < 2**53:
        return np.rint(counts.astype(np.float64) @ matrix.T.astype(np.float64)).astype(np.int64)
    return counts @ matrix.T
