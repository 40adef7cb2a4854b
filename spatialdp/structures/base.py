"""What is measured of a grid of counts, and how far can one record move it? The protocol of structures.

A structure is the public half of every mechanism that does not shape itself after the records. It
says which sums of cells are measured, in groups that are paid for one by one; how far one record can
move each group; and how noisy sums become estimates with a known variance for every box. See
``docs/design/recipe.md``.

A structure must be made from public values alone. Measuring must be exact integer arithmetic, and
fitting must read released numbers only. A structure sees counts, never records, and draws no noise.
``tests/contract/test_structures.py`` holds every structure in ``tests/helpers/cases.py`` to this; a
new one must be listed there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.grid_noise import NoiseModel
from spatialdp.estimates.histogram import Histogram
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.noise.wide import Wide
from spatialdp.privacy.unit import Bound, Person
from spatialdp.space.domain import Grid

__all__ = ["GridStructure", "Laws", "Structure", "fullest", "noise_of", "step_of"]

# The law of each group's noise; None where nothing is spent and so nothing is measured.
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
    def n_cells(self) -> int:
        """How many cells, or other places that have counts, a release has."""
        return self.grid.n_cells

    @property
    def n_disjoint(self) -> int:
        """In how many of the cells a person may be counted at most: in all that do not overlap."""
        return self.n_cells

    @property
    @abstractmethod
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, as the budget shows them, in the order in which they are measured."""

    @abstractmethod
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """How far one record can move the measurements of a group, under a neighbour relation."""

    def person_sensitivity(self, group: int, neighbours: Neighbours, person: Person | None) -> Sensitivity:
        """How far one person can move the measurements of a group; one record, if there is no bound on persons.

        Records and shares multiply what one record can do (`Person.sensitivity`). A person who is counted once in each
        of L cells moves L1 norms by as much as one with L records in one cell may, but L2 norms by less.
        """
        one_record = self.sensitivity(group, neighbours)
        if person is None:
            return one_record
        if person.bound is not Bound.CELLS:
            return person.sensitivity(one_record)
        most = min(person.most, self.n_disjoint)
        anywhere = Person(cells=most).sensitivity(one_record)
        return replace(anywhere, l2_squared=min(anywhere.l2_squared, self.in_cells(group, neighbours, most)))

    def in_cells(self, group: int, neighbours: Neighbours, most: int) -> int:
        """Bound the squared L2 norm that is declared for a person who is counted once in each of `most` cells."""
        return self.once_each(group, neighbours, most)

    def sensitivities(self, neighbours: Neighbours, person: Person | None) -> list[Sensitivity]:
        """How far one person, or one record, can move each group."""
        return [self.person_sensitivity(group, neighbours, person) for group in range(len(self.groups))]

    def once_each(self, group: int, neighbours: Neighbours, most: int) -> int:
        """Bound the squared L2 norm by which a person moves a group who is counted once in each of `most` cells.

        By default the bound for any counts with that sum, which is right for all structures.
        """
        return most**2 * self.sensitivity(group, neighbours).l2_squared

    @abstractmethod
    def measure(self, counts: Integers) -> Iterator[Integers] | Iterator[Wide]:
        """Exact measurements of exact counts (ny, nx), group by group."""

    @abstractmethod
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:
        """Estimates from noisy measurements, which are consumed group by group; an unmeasured group is zeros."""

    @abstractmethod
    def estimate(self, values: Floats, laws: Laws) -> Estimate:
        """The estimate made of the values from `fit`, together with their noise."""

    @abstractmethod
    def blank(self, laws: Laws) -> Estimate:
        """An estimate with all values 0; its variances are those of a release with the same laws."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """Bytes that counts, measurements and estimates take, for the plan."""

    def needs(self, group: int) -> bool:
        """Whether a release is impossible without this group."""
        return 0 <= group < len(self.groups)


def fullest(sizes: Integers, most: int) -> int:
    """Return the largest sum of squares of counts that are at most `sizes` and have a sum of at most `most`.

    Squares are convex, so the sum is largest if the largest places are filled first.

    Examples
    --------
    >>> fullest(np.array([4, 1, 4]), 6)
    20
    """
    filled = np.sort(sizes)[::-1][:most]
    before = np.concatenate([[0], np.cumsum(filled)[:-1]])
    return int((np.clip(most - before, 0, filled) ** 2).sum())


def noise_of(laws: Laws) -> tuple[Floats, Floats]:
    """Variance and excess kurtosis of each group's noise; an infinite variance where nothing is measured."""
    moments = [(np.inf, 0.0) if law is None else (law.variance, law.kurtosis) for law in laws]
    variances, kurtosis = np.array(list(zip(*moments, strict=True)))
    return variances, kurtosis


def step_of(laws: Laws) -> float:
    """Width of the lattice on which the noise of the last measured group lies."""
    *_, last = (law for law in laws if law)
    return last.step


class GridStructure(Structure):
    """A structure whose fit gives one estimate for each cell, as (rows, columns)."""

    @abstractmethod
    def noise_model(self, laws: Laws) -> NoiseModel:
        """The noise of the estimates that `fit` makes."""

    @override
    def estimate(self, values: Floats, laws: Laws) -> Histogram:
        return Histogram(self.grid, values, self.noise_model(laws))

    @override
    def blank(self, laws: Laws) -> Histogram:
        return self.estimate(np.zeros(self.grid.shape[::-1]), laws)
