"""How are hot spots among very many cells published? As a list: cells whose noisy count passes a public threshold.

A map of 2^60 cells fits nowhere, and almost all of it would be noise around zero. So all cells get noise, those below
a threshold are dropped, and only the others are published. `privacy.noise.filter` draws the same without visiting empty
cells. The list is then counted afresh: cells were chosen by their own noise, so the counts by which they were chosen
are too high on average. The threshold follows from public values, and nothing may depend on how many cells are
occupied. See ``docs/mechanisms/sparse.md`` and ``docs/design/sparse.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np

from spatialdp._support.arrays import Integers, lookup
from spatialdp._support.override import override
from spatialdp.errors import DomainError, ParameterError, PointsError
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.mechanisms.adaptive.zone_lists import ZoneLeaves, listed_counts
from spatialdp.mechanisms.base import Mechanism, Plan, Terms
from spatialdp.mechanisms.plan import Listing
from spatialdp.mechanisms.recipe import check_cells
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.neighbours import Sensitivity, count_sensitivity
from spatialdp.privacy.noise.filter import MOST_FALSE, Filter
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.stated import stated
from spatialdp.privacy.statement import Privacy
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.codes import Codes, as_zone_records
from spatialdp.records.counting import can_occupy, occupied_cells
from spatialdp.records.points import Points
from spatialdp.release import Release
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.zones.frame import Zones
from spatialdp.wording import either, parameter
from spatialdp.zone_release import ZoneRelease

__all__ = ["Sparse", "SparseDesign"]

_LEAST_FALSE = Fraction(1, 10**12)
_MOST_PIXELS = 10**8  # cells of a grid that is laid out as a raster
_BYTES_OF_A_CELL = 100  # that a listed cell takes until it is published
_BYTES_OF_A_RECORD = 60


@dataclass(frozen=True)
class SparseDesign:
    """All that is public about a sparse release.

    Attributes
    ----------
    grid : FineGrid or ZoneLeaves
        The cells, or the leaves of zones, that may be listed.
    choosing : NoiseLaw
        Noise of the counts by which cells are listed.
    filter : Filter
        The cells' numbers, the same noise, and the threshold, in steps of the counts.
    fresh : NoiseLaw or None
        Noise of the counts that are published; None if these are the counts by which cells were listed.
    costs : dict of str to Fraction
        Cost of each step.
    person : Person or None
        The bound on what one person contributes.
    """

    grid: FineGrid | ZoneLeaves
    choosing: NoiseLaw
    filter: Filter
    fresh: NoiseLaw | None
    costs: dict[str, Fraction]
    person: Person | None

    @property
    def law(self) -> NoiseLaw:
        """Noise of the counts that are published."""
        return self.fresh or self.choosing

    @property
    def threshold(self) -> float:
        """The noisy count from which on a cell is listed."""
        return self.filter.threshold / self.choosing.steps

    @property
    def false(self) -> float:
        """How many empty cells of the region are expected to be listed, if all are empty."""
        return float(self.filter.chance * self.grid.n_cells)

    def chance_of(self, count: float) -> float:
        """Return the probability with which a cell of a given count is listed."""
        return self.filter.chance_of(round(count * self.choosing.steps))

    def occupied(self, records: Any) -> tuple[Integers, Integers]:
        """Return the numbers of the cells with records, in order, and their exact counts."""
        if isinstance(self.grid, ZoneLeaves):
            return self.grid.occupied(records, self.person)
        return occupied_cells(records, self.grid, self.person)

    def estimate(self, numbers: Integers, values: Any) -> ListedCells | ZoneCounts:
        """Return the estimate of listed cells, given by number."""
        if isinstance(self.grid, ZoneLeaves):
            return listed_counts(self.grid.zones, numbers, values, self.law, biased=self.fresh is None)
        law = self.law
        return ListedCells(
            self.grid,
            *self.grid.columns_and_rows(numbers),
            values,
            threshold=self.threshold,
            false=self.false,
            variance=law.variance,
            kurtosis=law.kurtosis,
            step=law.step,
            biased=self.fresh is None,
        )


@dataclass(frozen=True)
class Sparse(Mechanism):
    """A list of the cells whose noisy count passes a threshold, out of up to 2^60 cells.

    Parameters
    ----------
    shape : (nx, ny), optional
        Number of columns and rows, each up to 2^30.
    cell_size : float or (width, height), optional
        Instead of `shape`; must divide the domain. Zones need neither: their leaves are listed.
    false : number
        How many empty cells may be expected on the list, at most. It is public, and gives the threshold: the least
        whole number of records at which no more are expected.
    remeasure : number
        Share of the budget that counts the listed cells afresh, from 0 up to 1. With 0 the published counts are
        those by which cells were listed: the threshold is lower, but counts are too high on average and there are no
        intervals.

    Privacy
    -------
    If neighbours add or remove one record, one cell changes by 1: the L1 sensitivity of all counts together is 1. If
    they replace one record, two cells change by 1: 2 (1 if there is only one cell). A person moves them by at most
    the bound times as much. Discrete Laplace noise of scale (L1 sensitivity)/ε₁ in every cell is ε₁-DP; dropping the
    cells below a public threshold is post-processing, and drawing the dropped cells' coins together changes the law of
    nothing (``docs/design/sparse.md``). The fresh counts are noisy counts of a list that is fixed before they are
    drawn: ε₂-DP, so both steps cost ε = ε₁ + ε₂ exactly. There is no δ. Cormode, Procopiuc, Srivastava, Tran (ICDT
    2012). The number of occupied cells is private and shows nowhere, except in running time and memory. Sensitivities
    are checked by brute force in ``tests/mechanisms/adaptive/test_sparse.py``, the law of the list in
    ``tests/privacy/noise/test_filter.py``, and whole releases by replay in ``tests/audit/test_sparse.py``.

    Notes
    -----
    A cell with fewer than about the threshold is not listed, so sums over areas lack all such cells: for those use
    `Adaptive`, `Hierarchy` or a coarser grid.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Sparse(shape=(2**30, 2**30)).release([[0.3, 0.7]] * 500, domain, epsilon=1)
    >>> release.estimate.threshold, release.estimate.n_cells >= 1
    (55.0, True)
    >>> bool(450 < release.answer((0.25, 0.5, 0.5, 0.75)) < 550)
    True
    """

    name: ClassVar[str] = "sparse"
    law: ClassVar[Law] = Law.DISCRETE_LAPLACE  # type: ignore[misc]  # its tails are known exactly

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    false: Number = Fraction(1)
    remeasure: Number = Fraction(1, 4)

    def __post_init__(self) -> None:
        if self.shape is not None or self.cell_size is not None:  # zones have leaves, and need neither
            check_cells(self)
        for name in ("false", "remeasure"):
            object.__setattr__(self, name, exact(getattr(self, name), name))
        if not _LEAST_FALSE <= self._false <= MOST_FALSE:
            raise ParameterError(
                f"{parameter('false')} is {self.false}; it is how many empty cells may be expected on the list, and "
                f"must lie between 1e-12 and {MOST_FALSE:,}. Give 1, or a share of the cells that you expect to find."
            )
        if not 0 <= self._remeasure < 1:
            raise ParameterError(
                f"{parameter('remeasure')} is {self.remeasure}; it is the share of the budget for fresh counts, and "
                "must be from 0 up to, not including, 1. Give 1/4, or 0 to publish the counts that chose the cells."
            )

    @property
    def _false(self) -> Fraction:
        return exact(self.false, "false")

    @property
    def _remeasure(self) -> Fraction:
        return exact(self.remeasure, "remeasure")

    @override
    def _design(self, domain: Domain, terms: Terms) -> SparseDesign:
        grid = ZoneLeaves(domain) if isinstance(domain, Zones) else self._grid(domain)
        return self._at_cost(grid, terms.spendable(self.law), terms)

    def _at_cost(self, grid: FineGrid | ZoneLeaves, whole: Fraction, terms: Terms) -> SparseDesign:
        """Return the design of a list at a given cost, which may be a part of a larger release's."""
        fresh = whole * self._remeasure
        sensitivity = _sensitivity(grid, terms)
        choosing = calibrate(self.law, whole - fresh, sensitivity)
        threshold = Filter.expecting(self._false, scale=choosing.parameter, cells=grid.n_cells).threshold
        return SparseDesign(
            grid,
            choosing,
            Filter(choosing.parameter, grid.n_numbers, threshold),
            calibrate(self.law, fresh, sensitivity) if fresh else None,
            {"choice of the listed cells": whole - fresh} | ({"counts of the listed cells": fresh} if fresh else {}),
            terms.person,
        )

    def _grid(self, domain: Domain) -> FineGrid:
        grid = FineGrid.of(domain, self.shape, self.cell_size)
        if not grid.n_cells:
            raise DomainError(
                f"no cell of the {grid.shape[0]} x {grid.shape[1]} grid is in the region, but at least one is needed; "
                f"use smaller cells, or the domain with {parameter('region_cells', 'touching')}."
            )
        return grid

    @classmethod
    @override
    def takes(cls, domain: Any) -> bool:
        return isinstance(domain, Domain | Zones)

    @override
    def _checked_frame(self, domain: Any) -> Domain | Zones:
        frame: Domain | Zones = super()._checked_frame(domain)
        if isinstance(frame, Domain):
            check_cells(self)
        elif self.shape is not None or self.cell_size is not None:
            raise ParameterError(
                f"{parameter('shape')} or {parameter('cell_size')} was given for zones, whose leaves are listed as "
                "they are; leave both out, or give a domain."
            )
        return frame

    @override
    def _plan(self, design: SparseDesign) -> Plan:
        counts = [max(1, math.ceil(share * design.threshold)) for share in (1, Fraction(11, 10), Fraction(3, 2))]
        return Plan(
            mechanism=self.name,
            cells=design.grid.n_cells,
            currency="epsilon",
            budget=design.costs,
            noise=stated(dict(zip(design.costs, (design.choosing, design.fresh), strict=False))),
            standard_deviation=math.sqrt(design.law.variance),
            memory=round(_BYTES_OF_A_CELL * design.filter.expected),
            listing=Listing(
                design.threshold,
                design.false,
                {count: design.chance_of(count) for count in counts},
                _BYTES_OF_A_RECORD,
            ),
            errors_of="zones" if isinstance(design.grid, ZoneLeaves) else "boxes",
        )

    @override
    def _blank(self, design: SparseDesign) -> None:  # noqa: ARG002 - never known: records decide which cells are listed
        return None

    @override
    def _records(self, points: Any, domain: Domain | Zones, person: Person | None) -> Points | Codes:
        if isinstance(domain, Zones):
            return as_zone_records(points, domain, person)
        records: Points = super()._records(points, domain, person)
        if not can_occupy(records, FineGrid.of(domain, self.shape, self.cell_size)):
            raise PointsError(
                "the points are in a table and do not leave its engine, which counts them in grids of at most 2^28 "
                "cells, or 2^22 in a region; export them to a file and give that, or use larger cells."
            )
        return records

    @override
    def _missed(self, domain: Domain | Zones) -> float | None:
        return super()._missed(domain) if isinstance(domain, Domain) else None

    @override
    def _statement(self, plan: Plan, terms: Terms) -> Privacy:
        statement = super()._statement(plan, terms)
        if plan.errors_of != "zones" or plan.listing is None:
            return statement
        # Files of zones have no other place for what was searched, and how.
        listing = {"searched": plan.cells, "threshold": plan.listing.threshold, "expected_false": plan.listing.false}
        return replace(statement, parameters=dict(statement.parameters) | listing)

    @override
    def _published(self, domain: Any, statement: Privacy, estimate: Any) -> Release:
        if not isinstance(domain, Zones):
            return super()._published(domain, statement, estimate)
        return ZoneRelease.of(estimate, statement)

    @override
    def _prepared_choice(self, domain: Any, terms: Terms, person: Person, chosen: Any) -> NoReturn:  # noqa: ARG002
        raise ParameterError(
            f"{parameter('person')} asks for a bound that is chosen privately, but {self.name} needs a given one, "
            "because the threshold follows from it; give a bound such as "
            f"{either('spatialdp.Person(cells=5)', 'cells=5')}."
        )

    @override
    def _estimate(self, points: Any, design: SparseDesign, noise: Noise) -> ListedCells | ZoneCounts:
        return self._listed(*design.occupied(points), design, noise)

    def _listed(
        self, occupied: Integers, counts: Integers, design: SparseDesign, noise: Noise
    ) -> ListedCells | ZoneCounts:
        """Return the list, from the exact counts of the occupied cells."""
        numbers, noisy = design.filter.passing(occupied, counts, noise)
        inside = design.grid.inside(numbers)
        numbers, noisy = numbers[inside], noisy[inside]
        if design.fresh is None:
            return design.estimate(numbers, noisy / design.choosing.steps)
        return design.estimate(numbers, design.fresh.add_to(_counts_of(numbers, occupied, counts), noise))

    @override
    def leaf_grid(self, domain: Domain) -> Grid | None:
        nx, ny = FineGrid.of(domain, self.shape, self.cell_size).shape
        return domain.grid((nx, ny)) if nx * ny <= _MOST_PIXELS else None


def _sensitivity(grid: FineGrid | ZoneLeaves, terms: Terms) -> Sensitivity:
    """How far one record, or one person, moves the counts of all cells together."""
    one_record = count_sensitivity(terms.neighbours, grid.n_cells)
    person = terms.person
    if person is None:
        return one_record
    if person.bound is Bound.CELLS:  # there are no more cells than that
        person = Person(cells=min(person.most, grid.n_cells))
    return person.sensitivity(one_record)


def _counts_of(numbers: Integers, occupied: Integers, counts: Integers) -> Integers:
    """Return the exact counts of cells, of which the occupied ones are known."""
    found, places = lookup(numbers, occupied)
    exact_counts = np.zeros(numbers.size, dtype=np.int64)
    exact_counts[found] = counts[places[found]]
    return exact_counts
