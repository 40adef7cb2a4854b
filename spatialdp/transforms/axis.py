"""Transforms along one axis of a grid: exact integer measurements, their sensitivity, and the way back.

A mechanism measures a grid by transforming its columns and its rows. One axis knows everything that is needed:
`forward` turns exact counts into exact integer coefficients, which fall into groups (the scales of a wavelet); one
record changes the coefficients of group g by at most `sensitivities[g]`; `inverse` turns noisy coefficients back into
estimates; and `powers` tells how strongly the measurements of each group enter the answer of a box. Nothing here sees a
record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers, even_points
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.space.coverage import Coverage
from spatialdp.space.lattice import edge_lines

__all__ = ["AxisTransform", "AxisWeights", "IdentityAxis", "sample_intervals"]


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
