"""What is measured of a grid of counts: the public half of every mechanism that does not look at the data first.

A structure says which sums of cells are measured, in groups that are paid for one by one; how far one record can move
each group; and how noisy sums become estimates of which every box's variance is known. It is made from public values.
Measuring is exact integer arithmetic; fitting reads released numbers only. Nothing here sees a record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.grid_noise import NoiseModel
from spatialdp.estimates.histogram import Histogram
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.noise.wide import Wide
from spatialdp.space.domain import Grid

__all__ = ["GridStructure", "Laws", "Structure", "noise_of", "step_of"]

# The noise of each group; None where nothing is spent and so nothing measured.
Laws = Sequence[NoiseLaw | None]


class Structure(ABC):
    """Sums of a grid's cells, in groups that are paid for one by one.

    Attributes
    ----------
    grid : Grid
        The cells whose counts are measured.
    """

    grid: Grid

    @property
    @abstractmethod
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, as the budget shows them, in the order in which they are measured."""

    @abstractmethod
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """How far one record can move the measurements of a group."""

    @abstractmethod
    def measure(self, counts: Integers) -> Iterator[Integers] | Iterator[Wide]:
        """Exact measurements of exact counts (ny, nx), group by group."""

    @abstractmethod
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:
        """Estimates from noisy measurements, which are taken one group at a time; an unmeasured group is zeros."""

    @abstractmethod
    def estimate(self, values: Floats, laws: Laws) -> Estimate:
        """What `fit` gave, with what is known of its noise."""

    @abstractmethod
    def blank(self, laws: Laws) -> Estimate:
        """The estimate of no records without noise, for what it tells of the noise."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """Bytes that counts, measurements and estimates take."""

    def needs(self, group: int) -> bool:
        """Whether nothing can be estimated without this group."""
        return 0 <= group < len(self.groups)


def noise_of(laws: Laws) -> tuple[Floats, Floats]:
    """Variance and kurtosis of each group; infinite variance where nothing is measured."""
    variances = np.array([np.inf if law is None else law.variance for law in laws])
    return variances, np.array([0.0 if law is None else law.kurtosis for law in laws])


def step_of(laws: Laws) -> float:
    """Width of the lattice of the last measured group's noise."""
    return next(law.step for law in reversed(laws) if law)


class GridStructure(Structure):
    """A structure whose fit gives one estimate for each cell, as (rows, columns)."""

    @abstractmethod
    def noise_model(self, laws: Laws) -> NoiseModel:
        """What is known of the noise in the estimates."""

    def estimate(self, values: Floats, laws: Laws) -> Histogram:
        """Estimates of the cells."""
        return Histogram(self.grid, values, self.noise_model(laws))

    def blank(self, laws: Laws) -> Histogram:
        """Zero in each cell."""
        return self.estimate(np.zeros(self.grid.shape[::-1]), laws)
