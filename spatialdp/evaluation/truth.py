"""What are releases compared with? The records; or, where persons are the unit, what is counted if nothing is cut off.

Without persons the truth is the same for all mechanisms. With a bound on records it is all records that have a person,
and with shares each person once in all. With a bound on cells each person counts once in each cell **of the mechanism's
own grid**, so mechanisms with different grids have different truths, and errors are comparable within a grid. Trees
without a grid have the public grid of 4096 x 4096 cells. The truth knows no bound, so errors include what it cuts off.

Everything here is computed from the records and is as private as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Array, Floats
from spatialdp.mechanisms import Mechanism
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.counting import FINE_SIDE, count_cells
from spatialdp.records.persons.unbounded import PersonRecords
from spatialdp.records.points import Points, lattice_points, tree_records
from spatialdp.records.truth import Counter, weigh_polygons
from spatialdp.space.domain import Domain
from spatialdp.workload import Workload

__all__ = ["TrueCounts", "Truth", "grid_of_truth"]

Shape = tuple[int, int]


def grid_of_truth(mechanism: Mechanism, domain: Domain, person: Person | None) -> Shape | None:
    """Return the cells in which persons count once each in the truth; None if the truth is the same for all grids."""
    if person is None or person.bound is not Bound.CELLS:
        return None
    grid = mechanism.leaf_grid(domain)
    return (FINE_SIDE, FINE_SIDE) if grid is None else grid.shape


@dataclass(frozen=True, eq=False)
class Truth:
    """The true answers that a mechanism's releases are compared with.

    Attributes
    ----------
    answers : tuple of arrays
        Those of each workload.
    total : float
        The sum of everything that is counted.
    floor : float
        Least count that relative errors divide by.
    """

    answers: tuple[Floats, ...]
    total: float
    floor: float

    @classmethod
    def of(cls, counts: TrueCounts, workloads: Sequence[Workload], floor_share: float) -> Truth:
        """Answer the workloads; relative errors divide by a share of the total at least, and by 1."""
        return cls(tuple(map(counts.answers, workloads)), counts.total, max(floor_share * counts.total, 1.0))


@dataclass(frozen=True, eq=False)
class TrueCounts:
    """Places that count something, and how much each of them counts; 1 if there are no weights.

    Attributes
    ----------
    domain : Domain
    columns, rows : integer arrays
        Lattice squares.
    weights : array, optional
    n_persons : int, optional
        The number of persons, if persons are the unit of privacy.
    """

    domain: Domain
    columns: Array
    rows: Array
    weights: Array | None = None
    n_persons: int | None = None

    @classmethod
    def of(cls, points: Points, domain: Domain, person: Person | None = None, shape: Shape | None = None) -> TrueCounts:
        """Return what is counted if nothing of a person is cut off; `shape` is that of `grid_of_truth`."""
        if person is None:
            return cls(domain, *lattice_points(points, domain))
        records = PersonRecords.of(points, domain)
        weights = records.weights(person, shape or (1, 1))
        return cls(domain, records.columns, records.rows, weights, records.n_persons)

    @classmethod
    def kept(cls, points: Points, domain: Domain, person: Person | None, mechanism: Mechanism) -> TrueCounts:
        """Return what a release of the mechanism counts, before noise: what the bound keeps, at corners of cells."""
        if person is None:
            return cls.of(points, domain)
        grid = mechanism.leaf_grid(domain)
        if grid is None:
            columns, rows, *weights = tree_records(points, domain, person)
            return cls(domain, columns, rows, weights[0] / person.steps)
        counts = count_cells(points, grid, person)
        row, column = np.nonzero(counts)
        return cls(domain, grid.x_lines[column], grid.y_lines[row], counts[row, column] / person.steps)

    @property
    def n_records(self) -> int:
        """The number of places, each of which is a record in the truth."""
        return int(self.columns.size)

    @property
    def total(self) -> float:
        """The sum of everything that is counted."""
        return float(self.columns.size if self.weights is None else self.weights.sum())

    @cached_property
    def counter(self) -> Counter:
        """Counts boxes; made when it is first used, because that takes longer than many trials."""
        return Counter(self.columns, self.rows, *([] if self.weights is None else [self.weights]))

    def answers(self, workload: Workload) -> Floats:
        """Return the true answers to a workload."""
        if workload.boxes is not None:
            return self.counter.count(self.domain.boxes(workload.boxes)).astype(np.float64)
        assert workload.polygons is not None
        sums = weigh_polygons(self.columns, self.rows, self.weights, self.domain, workload.polygons)
        return sums.astype(np.float64)
