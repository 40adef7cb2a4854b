"""What would be counted of persons if nothing were cut off? The truth that an evaluation compares releases with.

A release of persons counts what a bound keeps. Without the bound it would count all records that have a person, each
person once in each cell, or each person once in all, in parts. Here every record gets a weight such that sums of
weights are these counts, also in areas that cut cells: 1; 1 over the number of the person's records in the cell; or 1
over the number of the person's records.

Everything here is the truth and thus private: it is for evaluation, and no mechanism may use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, Integers32
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.persons.identifiers import joined
from spatialdp.records.points import LatticePoints, Points
from spatialdp.space.domain import RASTER_SHIFT, Domain
from spatialdp.space.lattice import cells_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PersonRecords"]


@dataclass(frozen=True, eq=False)
class PersonRecords:
    """The records in a domain and its region that have a person.

    Attributes
    ----------
    domain : Domain
    columns, rows : integer arrays
        Lattice squares of the records.
    names : Arrow array
        The person of each record.

    Examples
    --------
    >>> points = Points([0.1, 0.2, 0.7, 0.7], [0.1, 0.1, 0.7, 0.7], person=["ann", "ann", "ann", None])
    >>> records = PersonRecords.of(points, Domain((0, 0, 1, 1)))
    >>> records.weights(Person(records=1), (2, 2)).tolist()
    [1.0, 1.0, 1.0]
    >>> records.weights(Person(cells=1), (2, 2)).tolist()
    [0.5, 0.5, 1.0]
    >>> records.weights(Person(shares=True), (2, 2)).round(3).tolist()
    [0.333, 0.333, 0.333]
    """

    domain: Domain
    columns: Integers32
    rows: Integers32
    names: pa.Array

    @classmethod
    def of(cls, points: Points, domain: Domain) -> PersonRecords:
        """Read the records; a record is in the region if its cell of `Domain.region_raster` is."""
        import pyarrow as pa

        # A grid of one cell tells which records are within the bounds; positions are of these alone.
        bounds = Domain(domain.bounds, crs=domain.crs).grid((1, 1))
        names = joined([persons.filter(pa.array(cells == 0)) for persons, cells in points._person_cells(bounds)])
        nothing = np.empty(0, dtype=np.int32)
        positions = [(nothing, nothing), *points._positions(domain)]
        columns, rows = (np.concatenate(part) for part in zip(*positions, strict=True))
        inside = names.is_valid().to_numpy(zero_copy_only=False)
        if domain.region_raster is not None:
            inside = inside & domain.region_raster[rows >> RASTER_SHIFT, columns >> RASTER_SHIFT]
        return cls(domain, columns, rows, names).some(inside)

    def some(self, chosen: Booleans) -> PersonRecords:
        """Return the chosen records alone."""
        import pyarrow as pa

        return PersonRecords(self.domain, self.columns[chosen], self.rows[chosen], self.names.filter(pa.array(chosen)))

    @cached_property
    def persons(self) -> Integers:
        """The person of each record, as a number from 0 on."""
        numbers: Integers = self.names.dictionary_encode().indices.to_numpy().astype(np.int64)
        return numbers

    @property
    def n_persons(self) -> int:
        """The number of persons."""
        return int(self.persons.max(initial=-1)) + 1

    def points(self) -> LatticePoints:
        """Return these records as points with persons, which a mechanism can release."""
        return LatticePoints([(self.columns, self.rows)], self.domain, [self.names])

    def weights(self, person: Person, shape: tuple[int, int]) -> Floats:
        """Return what each record counts if the bound on a person cuts nothing off.

        Parameters
        ----------
        person : Person
            Its number is of no account.
        shape : (nx, ny)
            The cells in which persons are counted once each; used for a bound on cells alone.
        """
        if person.bound is Bound.RECORDS:
            return np.ones(self.columns.size)
        return 1 / _repeated(self.persons if person.bound is Bound.SHARES else self._pairs(shape))

    def _pairs(self, shape: tuple[int, int]) -> Integers:
        """Return a number for the person and the cell of each record."""
        nx, ny = shape
        cells = cells_of(self.rows.astype(np.int64), ny) * nx + cells_of(self.columns.astype(np.int64), nx)
        return self.persons * (nx * ny) + cells


def _repeated(values: Integers) -> Integers:
    """Return how often the value at each place occurs."""
    _, place, numbers = np.unique(values, return_inverse=True, return_counts=True)
    return numbers[place]
