"""The counts of single cells, or their total alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.grid_noise import IndependentNoise, NoiseModel, SharedNoise
from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity
from spatialdp.space.domain import Grid
from spatialdp.structures.base import GridStructure, Laws, noise_of, step_of

__all__ = ["CellCounts", "EvenTotal"]


@dataclass(frozen=True, eq=False)
class CellCounts(GridStructure):
    """The counts of the region's cells, as they are.

    Examples
    --------
    >>> from spatialdp.space.domain import Domain
    >>> cells = CellCounts(Domain((0, 0, 1, 1)).grid((2, 1)))
    >>> cells.groups, [part.tolist() for part in cells.measure(np.array([[3, 4]]))]
    (('counts',), [[3, 4]])
    """

    grid: Grid

    @property
    def groups(self) -> tuple[str, ...]:
        """One."""
        return ("counts",)

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002 - there is one group
        """A record is in one cell."""
        return count_sensitivity(neighbours, self.grid.n_cells)

    def measure(self, counts: Integers) -> Iterator[Integers]:
        """Cell by cell, row by row."""
        return iter([counts[self.grid.mask]])

    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - whatever the noise, there is no choice
        """The noisy counts; nothing outside the region."""
        values = np.zeros(self.grid.shape[::-1])
        (values[self.grid.mask],) = noisy
        return values

    def noise_model(self, laws: Laws) -> NoiseModel:
        """Every cell has its own."""
        (variance,), (kurtosis,) = (moments.tolist() for moments in noise_of(laws))
        return IndependentNoise(self.grid, variance, kurtosis, step_of(laws))

    @property
    def memory(self) -> int:
        """Of arrays of cells."""
        return 4 * 8 * self.grid.mask.size


@dataclass(frozen=True, eq=False)
class EvenTotal(GridStructure):
    """The number of all records, which is spread evenly over the region's cells."""

    grid: Grid

    @property
    def groups(self) -> tuple[str, ...]:
        """One."""
        return ("total",)

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002 - there is one group
        """A record can only enter or leave."""
        return count_sensitivity(neighbours, 1)

    def measure(self, counts: Integers) -> Iterator[Integers]:
        """One number."""
        return iter([counts.sum(keepdims=True).reshape(1)])

    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - there is no choice
        """The same in every cell of the region."""
        (total,) = noisy
        return np.where(self.grid.mask, total / self.grid.n_cells, 0.0)

    def noise_model(self, laws: Laws) -> SharedNoise:
        """All cells share it."""
        (variance,), (kurtosis,) = (moments.tolist() for moments in noise_of(laws))
        return SharedNoise(self.grid, variance, kurtosis, step_of(laws))

    @property
    def memory(self) -> int:
        """Of arrays of cells."""
        return 4 * 8 * self.grid.mask.size
