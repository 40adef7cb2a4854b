"""Transforms along one axis of a grid: exact integer measurements, their sensitivity, and the way back.

A mechanism measures a grid by transforming its columns and its rows. One axis knows everything that is needed:
`forward` turns exact counts into exact integer coefficients, which fall into groups (the scales of a wavelet); one
record changes the coefficients of group g by at most `sensitivities[g]`; `inverse` turns noisy coefficients back into
estimates; and `powers` tells how strongly the measurements of each group enter the answer of a box. Nothing here sees a
record.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers, even_points
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.space.coverage import Coverage
from spatialdp.space.lattice import edge_lines

__all__ = [
    "AxisTransform",
    "AxisWeights",
    "DenseAxis",
    "HaarAxis",
    "IdentityAxis",
    "WindowAxis",
    "axis_from_json",
    "sample_intervals",
]


class AxisWeights(ABC):
    """How a box enters the measurements along one axis, group by group: what the noise of answers is made of."""

    size: int

    @property
    @abstractmethod
    def groups(self) -> tuple[slice, ...]:
        """Which coefficients belong to which group."""

    @abstractmethod
    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        """Sums of squares and of fourth powers of the measurements' weights, (groups, boxes)."""

    @abstractmethod
    def cell_weights(self, cells: slice) -> Floats:
        """(cells, measurements): what each measurement contributes to the estimates of some cells."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain values from which `axis_from_json` makes the same axis."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def n_coefficients(self) -> int:
        """Number of measurements."""
        return int(self.groups[-1].stop)

    def mean_squares(self) -> Floats:
        """Mean of the sums of squares of `powers` over all intervals of cells, or a spread of many of them."""
        return np.asarray(self.powers(sample_intervals(self.size))[0].mean(axis=1))


class AxisTransform(AxisWeights):
    """A linear transform of the cells of one axis, along the last axis of an array, in exact integers."""

    @property
    @abstractmethod
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """Largest change of each group's coefficients by one record: L1 norm and squared L2 norm."""

    def column_norms(self, group: int) -> tuple[Integers, Integers]:
        """L1 norms and squared L2 norms of what a record in each of the cells changes; by default all are alike."""
        largest = self.sensitivities[group]
        return np.full(self.size, largest.l1), np.full(self.size, largest.l2_squared)

    @abstractmethod
    def forward(self, counts: Integers) -> Integers:
        """Exact coefficients of exact counts."""

    @abstractmethod
    def inverse(self, coefficients: Floats) -> Floats:
        """Estimates of the cells from noisy coefficients."""

    @property
    def constant(self) -> tuple[bool, ...]:
        """Groups that only see how many records there are: moving one within the axis does not change them."""
        return (False,) * self.n_groups

    @property
    def signed(self) -> bool:
        """Whether two cells can enter a measurement with opposite signs."""
        return False


def sample_intervals(size: int, most: int = 40_000) -> Coverage:
    """All intervals of an axis' cells, or an evenly spread sample of them."""
    low, high = np.triu_indices(size + 1, 1) if size <= 512 else _even_pairs(size, most)
    lines = edge_lines(size)
    return Coverage.of(lines[low], lines[high], lines)


def _even_pairs(size: int, most: int) -> tuple[Integers, Integers]:
    # Sorting the two coordinates of a point makes them the ends of an interval.
    pairs = np.sort((even_points(most, 2, start=0.0) * (size + 1)).astype(np.int64), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    return pairs[:, 0], pairs[:, 1]


@dataclass(frozen=True)
class IdentityAxis(AxisTransform):
    """No transform: every cell is measured by itself."""

    size: int

    @property
    def groups(self) -> tuple[slice, ...]:
        """One group with a measurement for each cell."""
        return (slice(0, self.size),)

    @property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """A record is in one cell."""
        return (Sensitivity(1, 1),)

    @property
    def constant(self) -> tuple[bool, ...]:
        """Constant if there is only one cell."""
        return (self.size == 1,)

    def forward(self, counts: Integers) -> Integers:
        """The counts."""
        return counts

    def inverse(self, coefficients: Floats) -> Floats:
        """The noisy counts."""
        return coefficients

    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        """Powers of the covered shares."""
        lengths = np.diff(coverage.knots, axis=0)
        squares, fourths = ((coverage.parts**power * lengths).sum(axis=0) for power in (2, 4))
        return squares[None, :], fourths[None, :]

    def cell_weights(self, cells: slice) -> Floats:
        """Each cell's own measurement."""
        return np.eye(cells.stop - cells.start, self.size, cells.start)

    def to_json(self) -> dict[str, Any]:
        """Only the kind."""
        return {"kind": "identity"}


@dataclass(frozen=True)
class HaarAxis(AxisTransform):
    """Integer Haar wavelet: the total, and for each dyadic node (sum of its left half) - (sum of its right half).

    The axis is padded with cells known to be empty up to a power of two. A record is in one node of each scale and
    changes its coefficient by ±1: every group has sensitivity 1. Halves come back as (parent ± difference) / 2.
    """

    size: int

    @cached_property
    def levels(self) -> int:
        """Number of scales: the least h with 2^h >= size."""
        return (self.size - 1).bit_length()

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """The total, then the scales from the coarsest: 1, 1, 2, 4, ... coefficients."""
        return (slice(0, 1), *(slice(2**j, 2 ** (j + 1)) for j in range(self.levels)))

    @property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """One coefficient of each group changes, by one."""
        return (Sensitivity(1, 1),) * (self.levels + 1)

    @property
    def constant(self) -> tuple[bool, ...]:
        """The total."""
        return (True, *(False,) * self.levels)

    @property
    def signed(self) -> bool:
        """Left and right halves have opposite signs."""
        return self.levels > 0

    def forward(self, counts: Integers) -> Integers:
        """Sums and differences, from the finest scale up."""
        out = np.empty((*counts.shape[:-1], 2**self.levels), dtype=np.int64)
        sums = np.zeros_like(out)
        sums[..., : self.size] = counts
        for j in reversed(range(self.levels)):
            left, right = sums[..., 0::2], sums[..., 1::2]
            np.subtract(left, right, out=out[..., 2**j : 2 ** (j + 1)])
            sums = left + right
        out[..., :1] = sums
        return out

    def inverse(self, coefficients: Floats) -> Floats:
        """Halve, from the total down; the padding is dropped."""
        sums = coefficients[..., :1]
        for j in range(self.levels):
            difference = coefficients[..., 2**j : 2 ** (j + 1)]
            finer = np.empty((*sums.shape[:-1], 2 * sums.shape[-1]))
            np.add(sums, difference, out=finer[..., 0::2])
            np.subtract(sums, difference, out=finer[..., 1::2])
            finer *= 0.5
            sums = finer
        return sums[..., : self.size]

    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        """At each scale only the two nodes that hold an end of the box enter, by (left - right) / node size."""
        start, stop = coverage.start, coverage.stop
        weights = [((stop - start) / 2**self.levels)[None, :]]
        for j in range(self.levels):
            length = 2 ** (self.levels - j)
            first, last = (np.floor(end / length) * length for end in (start, stop))
            weights.append(
                np.stack(
                    [_tilt(first, length, start, stop), np.where(first == last, 0.0, _tilt(last, length, start, stop))]
                )
            )
        squares, fourths = (np.stack([(w**power).sum(axis=0) for w in weights]) for power in (2, 4))
        return squares, fourths

    def cell_weights(self, cells: slice) -> Floats:
        """A cell is in one node of each scale, with the sign of its half."""
        places = np.arange(cells.start, cells.stop)
        weights = np.zeros((places.size, 2**self.levels))
        weights[:, 0] = 0.5**self.levels
        for j in range(self.levels):
            node, below = places >> (self.levels - j), places >> (self.levels - j - 1)
            weights[np.arange(places.size), 2**j + node] = np.where(below % 2, -1, 1) * 0.5 ** (self.levels - j)
        return weights

    def to_json(self) -> dict[str, Any]:
        """Only the kind."""
        return {"kind": "haar"}


def _tilt(node: Floats, length: int, start: Floats, stop: Floats) -> Floats:
    """(Covered part of a node's left half - that of its right half) / length."""
    before, middle, after = (np.clip(at, start, stop) for at in (node, node + length / 2, node + length))
    return (2 * middle - before - after) / length


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


def axis_from_json(data: dict[str, Any], size: int) -> AxisWeights:
    """Read what `to_json` wrote; raises ValueError, KeyError or TypeError for anything else."""
    from spatialdp.transforms.spectral import SpectralAxis

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
