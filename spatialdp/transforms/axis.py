"""What must the transform of one axis know, to measure a grid? Exact coefficients, sensitivity, inverse, weights.

A mechanism measures a grid by transforming its rows and its columns. The transform of one axis
knows four things. `forward` turns exact counts into exact integer coefficients, which fall into
groups (such as the scales of a wavelet). One record changes the coefficients of group g by at most
`sensitivities[g]`. `inverse` turns noisy coefficients back into estimates of the cells. `powers`
says how strongly the measurements of each group enter the answer to a box; the noise of an answer
follows from that (``docs/design/boxes.md``).

A transform must not read a record or draw noise, and everything before the noise must be exact
integer arithmetic. A new kind of axis also needs its entry in `outputs.files.noise_models` and in
the explorer's ``noise.mjs``, which compute the noise of saved releases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Floats, Integers, even_points
from spatialdp._support.override import override
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.space.coverage import Coverage
from spatialdp.space.lattice import edge_lines

__all__ = ["AxisTransform", "AxisWeights", "IdentityAxis", "sample_intervals"]


class AxisWeights(ABC):
    """The weights that the measurements of one axis have in the answers to boxes, group by group.

    The noise of an answer follows from these weights and from the variances of the measurements.

    Attributes
    ----------
    fitted : bool
        Whether the measurements were chosen for a workload of boxes, so that other sums of cells may be very noisy.
    """

    fitted: ClassVar[bool] = False

    size: int

    @property
    @abstractmethod
    def groups(self) -> tuple[slice, ...]:
        """The coefficients of each group, as slices."""

    @abstractmethod
    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        """Sums of squares and of fourth powers of the measurements' weights in boxes, each (groups, boxes)."""

    @abstractmethod
    def cell_weights(self, cells: slice) -> Floats:
        """Weights of the measurements in the estimates of some cells, (cells, measurements)."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain values from which `outputs.files.noise_models.axis_from_json` makes the same axis."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def n_coefficients(self) -> int:
        """Number of measurements of all groups together."""
        return int(self.groups[-1].stop)

    def mean_squares(self) -> Floats:
        """Mean of the sums of squares of `powers` over all intervals of cells, or over an even sample of them."""
        return np.asarray(self.powers(sample_intervals(self.size))[0].mean(axis=1))


class AxisTransform(AxisWeights):
    """A linear transform of the cells of one axis in exact integers; it runs along the last axis of an array."""

    @property
    @abstractmethod
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """Largest change that one record can make to each group's coefficients: L1 norm and squared L2 norm."""

    def column_norms(self, group: int) -> tuple[Integers, Integers]:
        """L1 norms and squared L2 norms of the change that a record in each cell makes to a group, each (cells,).

        By default all cells have the norms of `sensitivities`.
        """
        largest = self.sensitivities[group]
        return np.full(self.size, largest.l1), np.full(self.size, largest.l2_squared)

    @abstractmethod
    def forward(self, counts: Integers) -> Integers:
        """Exact integer coefficients of exact counts."""

    @abstractmethod
    def inverse(self, coefficients: Floats) -> Floats:
        """Estimates of the cells from noisy coefficients."""

    @property
    def constant(self) -> tuple[bool, ...]:
        """Whether each group depends only on the number of records, not on where they lie along the axis."""
        return (False,) * self.n_groups

    @property
    def signed(self) -> bool:
        """Whether two cells can enter a measurement with opposite signs."""
        return False

    def cells_together(self, group: int) -> int | None:  # noqa: ARG002 - subclasses look at the group
        """The most cells in one coefficient of a group, if each cell enters one coefficient, by ±1; otherwise None."""
        return None

    def overlaps(self, group: int) -> Floats:
        """Bound how much some cells have in common with any one cell in a group, as increments, (cells,).

        What cells j and k have in common is |Σ a_ij a_ik|, over the group's measurements i, with absolute entries a.
        The first n increments add up to the most that n cells can have in common with one cell.
        """
        entries = np.abs(self.forward(np.eye(self.size, dtype=np.int64))[:, self.groups[group]]).astype(np.float64)
        common = -np.sort(-(entries @ entries.T), axis=1)  # (cells, cells), the largest first
        return np.diff(np.cumsum(common, axis=1).max(axis=0), prepend=0.0)


def sample_intervals(size: int, most: int = 40_000) -> Coverage:
    """Coverage of all intervals of an axis' cells, or of at most `most` evenly spread ones on long axes."""
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
    """No transform: every cell is measured by itself, in one group. A record changes one measurement by 1."""

    size: int

    @property
    @override
    def groups(self) -> tuple[slice, ...]:
        return (slice(0, self.size),)

    @property
    @override
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        return (Sensitivity(1, 1),)

    @property
    @override
    def constant(self) -> tuple[bool, ...]:
        return (self.size == 1,)

    @override
    def cells_together(self, group: int) -> int:  # noqa: ARG002 - there is one group
        return 1

    @override
    def forward(self, counts: Integers) -> Integers:
        return counts

    @override
    def inverse(self, coefficients: Floats) -> Floats:
        return coefficients

    @override
    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        lengths = np.diff(coverage.knots, axis=0)
        squares, fourths = ((coverage.parts**power * lengths).sum(axis=0) for power in (2, 4))
        return squares[None, :], fourths[None, :]

    @override
    def cell_weights(self, cells: slice) -> Floats:
        return np.eye(cells.stop - cells.start, self.size, cells.start)

    @override
    def to_json(self) -> dict[str, Any]:
        return {"kind": "identity"}
