"""How are single cells measured, or their total alone? `CellCounts` and `EvenTotal`, one group each.

The sensitivities are those of disjoint counts (`count_sensitivity`). This module sees counts, never
records, and draws no noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.grid_noise import IndependentNoise, NoiseModel, SharedNoise
from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity
from spatialdp.space.domain import Grid
from spatialdp.structures.base import GridStructure, Laws, noise_of, step_of

__all__ = ["CellCounts", "EvenTotal"]


@dataclass(frozen=True, eq=False)
class CellCounts(GridStructure):
    """The counts of the region's cells. A record is in one cell.

    Examples
    --------
    >>> from spatialdp.space.domain import Domain
    >>> cells = CellCounts(Domain((0, 0, 1, 1)).grid((2, 1)))
    >>> cells.groups, [part.tolist() for part in cells.measure(np.array([[3, 4]]))]
    (('counts',), [[3, 4]])
    """

    grid: Grid

    @property
    @override
    def groups(self) -> tuple[str, ...]:
        return ("counts",)

    @override
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002 - there is one group
        return count_sensitivity(neighbours, self.grid.n_cells)

    @override
    def once_each(self, group: int, neighbours: Neighbours, most: int) -> int:  # noqa: ARG002 - there is one group
        return most if neighbours is Neighbours.ADD_REMOVE else min(2 * most, self.grid.n_cells)

    @override
    def measure(self, counts: Integers) -> Iterator[Integers]:
        return iter([counts[self.grid.mask]])

    @override
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - the same for all laws
        values = np.zeros(self.grid.shape[::-1])
        (values[self.grid.mask],) = noisy
        return values

    @override
    def noise_model(self, laws: Laws) -> NoiseModel:
        (variance,), (kurtosis,) = (moments.tolist() for moments in noise_of(laws))
        return IndependentNoise(self.grid, variance, kurtosis, step_of(laws))

    @property
    @override
    def memory(self) -> int:
        return 4 * 8 * self.grid.mask.size


@dataclass(frozen=True, eq=False)
class EvenTotal(GridStructure):
    """The number of all records, spread evenly over the region's cells. A record can only enter or leave."""

    grid: Grid

    @property
    @override
    def groups(self) -> tuple[str, ...]:
        return ("total",)

    @override
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002 - there is one group
        return count_sensitivity(neighbours, 1)

    @override
    def measure(self, counts: Integers) -> Iterator[Integers]:
        return iter([counts.sum(keepdims=True).reshape(1)])

    @override
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - the same for all laws
        (total,) = noisy
        return np.where(self.grid.mask, total / self.grid.n_cells, 0.0)

    @override
    def noise_model(self, laws: Laws) -> SharedNoise:
        (variance,), (kurtosis,) = (moments.tolist() for moments in noise_of(laws))
        return SharedNoise(self.grid, variance, kurtosis, step_of(laws))

    @property
    @override
    def memory(self) -> int:
        return 4 * 8 * self.grid.mask.size
