"""How does a mechanism with a public structure make its release? Measure exactly, add noise to each group, fit.

A mechanism gives a structure (`spatialdp.structures`) and divides the budget over the structure's
groups. The rest is the same for all: the noise of each group follows from its cost and sensitivity,
measurements are exact integers, and the fit must not read records. See ``docs/design/recipe.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import starmap
from typing import Any, Generic, TypeVar

from spatialdp._support.arrays import Integers
from spatialdp._support.checks import positive_pair, whole_pair
from spatialdp._support.override import override
from spatialdp.errors import BudgetError, DomainError, ParameterError
from spatialdp.estimates.base import Estimate
from spatialdp.mechanisms.base import Mechanism, Plan, Terms
from spatialdp.privacy.budget import divide
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, NoiseLaw, laws_for, noisy
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.stated import StatedNoise, stated
from spatialdp.privacy.noise.wide import Wide
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.space.domain import Domain, Grid, most_cells
from spatialdp.structures.base import Structure
from spatialdp.wording import either, parameter

__all__ = ["Design", "GridMechanism", "StructuredMechanism", "check_cells", "design_of", "with_cells"]

S = TypeVar("S", bound=Structure)
S_co = TypeVar("S_co", bound=Structure, covariant=True)


@dataclass(frozen=True)
class Design(Generic[S_co]):
    """A structure, with the cost and the noise of each group: all that is public about a release.

    Attributes
    ----------
    structure : Structure
    groups : tuple of str
        Names of the structure's groups.
    neighbours : Neighbours
    costs : tuple of Fraction
        Cost of each group.
    laws : tuple of NoiseLaw or None
        Noise of each group; None for a group without cost, which is not measured.
    person : Person or None
        The bound on what one person contributes, by which records are counted.
    """

    structure: S_co
    groups: tuple[str, ...]
    neighbours: Neighbours
    costs: tuple[Fraction, ...]
    laws: tuple[NoiseLaw | None, ...]
    person: Person | None = None

    def counts(self, points: Points) -> Integers:
        """The exact counts of the grid's cells, (ny, nx); of what the bound keeps, if persons are the unit."""
        return count_cells(points, self.structure.grid, self.person)

    def carry_out(self, exact: Iterable[Integers | Wide], noise: Noise) -> Estimate:
        """Add noise to exact measurements and fit them; group by group, so that few copies are in memory."""
        parts = starmap(partial(noisy, noise=noise), zip(exact, self.laws, strict=True))
        return self.structure.estimate(self.structure.fit(parts, self.laws), self.laws)

    def blank(self) -> Estimate:
        """An estimate with all values 0 and the variances of a release, from which errors are foreseen."""
        return self.structure.blank(self.laws)

    @property
    def bound(self) -> Bound | None:
        """What is bounded of each person, if persons are the unit."""
        return None if self.person is None else self.person.bound

    @property
    def steps(self) -> int:
        """How many steps make up one count of a cell: shares of persons are counted in steps."""
        return 1 if self.person is None else self.person.steps

    @property
    def last_deviation(self) -> float:
        """Standard deviation of the noise in one measurement of the last group."""
        law = self.laws[-1]
        return math.inf if law is None else math.sqrt(law.variance)


def design_of(
    structure: S, costs: Sequence[Fraction], law: Law, neighbours: Neighbours, person: Person | None = None
) -> Design[S]:
    """The design of a structure, with the least noise that each group's cost allows."""
    groups = structure.groups
    for group, (name, cost) in enumerate(zip(groups, costs, strict=True)):
        if not cost and structure.needs(group):
            raise BudgetError(
                f"nothing of the budget is left to {name!r}, which every estimate needs; divide the budget more "
                "evenly, or over fewer groups."
            )
    laws = laws_for(law, costs, structure.sensitivities(neighbours, person))
    return Design(structure, groups, neighbours, tuple(costs), laws, person)


class StructuredMechanism(Mechanism):
    """A mechanism whose structure is public.

    Subclasses give `_design`, which returns a `Design`, most often ``self._priced(structure, terms)``,
    and `_costs` unless all groups get the same. They may give `_finished`, which alters estimates
    afterwards. A subclass with another type of design (`Fourier` chooses among several) also gives
    `_plan`, `_blank` and `_estimate`, which call the methods here with the `Design` that is used.
    """

    def _costs(self, structure: Any, whole: Fraction) -> Sequence[Fraction]:
        """Cost of each group; the costs add up to the whole budget."""
        return divide(whole, [1] * len(structure.groups))

    def _steps(self, design: Design[Any]) -> dict[str, Fraction]:
        """Cost of each step, by the name that the plan and the privacy statement show."""
        return dict(zip(design.groups, design.costs, strict=True))

    def _stated(self, design: Any) -> dict[str, StatedNoise]:
        """Law and parameter of the noise of each group, by the name that the privacy statement shows."""
        return stated(dict(zip(design.groups, design.laws, strict=True)))

    def _finished(self, estimate: Any) -> Estimate:
        """The estimate that is published, made from the fitted one; reads released values only."""
        published: Estimate = estimate
        return published

    def _priced(self, structure: S, terms: Terms) -> Design[S]:
        """The design of a structure, with the budget divided over its groups by `_costs`."""
        costs = self._costs(structure, terms.spendable(self.law))
        return design_of(structure, costs, self.law, terms.neighbours, terms.person)

    @override
    def _plan(self, design: Any) -> Plan:
        return Plan(
            mechanism=self.name,
            cells=design.structure.n_cells,
            currency="rho" if self.law is Law.GAUSSIAN else "epsilon",
            budget=self._steps(design),
            noise=self._stated(design),
            standard_deviation=design.last_deviation,
            memory=design.structure.memory,
        )

    @override
    def _blank(self, design: Any) -> Estimate | None:
        blank: Estimate = design.blank()
        return blank

    @override
    def _estimate(self, points: Points, design: Any, noise: Noise) -> Estimate:
        exact = design.structure.measure(design.counts(points))
        return self._finished(design.carry_out(exact, noise))


class GridMechanism(StructuredMechanism):
    """A mechanism whose cells are given by `shape` or by `cell_size`."""

    shape: Sequence[int] | None
    cell_size: float | Sequence[float] | None

    def _check_grid(self) -> None:
        check_cells(self)

    @override
    def leaf_grid(self, domain: Domain) -> Grid:
        return with_cells(domain.grid(self.shape, cell_size=self.cell_size))


def check_cells(mechanism: Any) -> None:
    """Check that a mechanism has exactly one of `shape` and `cell_size`, and read it."""
    if (mechanism.shape is None) == (mechanism.cell_size is None):
        number = "neither" if mechanism.shape is None else "both"
        raise ParameterError(
            f"{either(type(mechanism).__name__, mechanism.name)} got {number} of {parameter('shape')} and "
            f"{parameter('cell_size')}, but needs exactly one; give either "
            f"{parameter('shape', '(nx, ny)', typed='NX,NY')} or {parameter('cell_size', 'size', typed='SIZE')}."
        )
    if mechanism.shape is not None:
        object.__setattr__(mechanism, "shape", whole_pair(mechanism.shape, "shape"))
    if mechanism.cell_size is not None:
        object.__setattr__(mechanism, "cell_size", positive_pair(mechanism.cell_size, "cell_size"))


def with_cells(grid: Grid) -> Grid:
    """Return the grid, or raise an error if no cell lies in its region, or so few that a file could not be checked."""
    nx, ny = grid.shape
    if not grid.n_cells:
        raise DomainError(
            f"no cell of the {nx} x {ny} grid has its centre in the region, but at least one is needed; use smaller "
            f"cells, or the domain with {parameter('region_cells', 'touching')}."
        )
    if nx * ny > most_cells(grid.n_cells):
        raise DomainError(
            f"the {nx} x {ny} grid has {grid.n_cells} cells in the region, which is less than 1 in 256; a grid of more "
            "than 4,194,304 cells must have more of them there. Give bounds closer to the region, or larger cells."
        )
    return grid
