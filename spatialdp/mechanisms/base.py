"""How do records become a release, whatever the mechanism? Everything public comes first, then the records.

`Mechanism.prepare` decides everything public (budget, design, plan, privacy statement) and refuses
public values that are wrong. `prepared.PreparedRelease.release` then hands the records to the
mechanism's `_estimate`, the only method that sees them. No record may be looked at before the statement is made,
and no design may depend on a record. See ``docs/design/recipe.md``; a new mechanism is written in
``docs/new-mechanism.md``.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spatialdp._support.options import Option
from spatialdp._version import __version__
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.expected_error import expected_error, sized_boxes, some_leaves
from spatialdp.mechanisms.bound_choice import BoundChoice, between, handicaps, thresholds
from spatialdp.mechanisms.plan import Plan
from spatialdp.mechanisms.prepared import PreparedChoice, PreparedRelease, checked_noise
from spatialdp.privacy.budget import Budget, Number, exact
from spatialdp.privacy.chosen import CHOICE_STEP, Chosen
from spatialdp.privacy.ledger.account import Spender
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, choice_epsilon, spendable
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.statement import Privacy
from spatialdp.privacy.unit import Person, unit_of
from spatialdp.records.counting import FINE_SIDE
from spatialdp.records.points import as_points
from spatialdp.release import Release
from spatialdp.space.domain import RASTER_SIDE, Domain, Grid
from spatialdp.space.polygons import missed_share
from spatialdp.space.zones.frame import Zones
from spatialdp.strategies.products import BoxQueries
from spatialdp.wording import either, parameter

__all__ = [
    "Mechanism",
    "Plan",
    "Terms",
]


@dataclass(frozen=True)
class Terms:
    """The terms of a release: its privacy budget, and between which data sets the promise holds.

    Attributes
    ----------
    budget : Budget
    neighbours : Neighbours
        Whether neighbours differ by adding, removing or replacing one unit.
    person : Person or None
        The bound on what one person contributes, if the unit is a person; None if it is a record.
    choice_cost : Fraction
        Cost of the private choice of that bound, in the currency of the law; 0 if it was given.
    """

    budget: Budget
    neighbours: Neighbours
    person: Person | None = None
    choice_cost: Fraction = Fraction(0)

    def spendable(self, law: Law) -> Fraction:
        """What a mechanism may spend: ε, or ρ for Gaussian noise, without the cost of choosing the bound."""
        return spendable(law, self.budget) - self.choice_cost


class Mechanism(ABC):
    """A way to publish points, as a frozen dataclass of public parameters.

    Subclasses give a `name` and four methods. `_design` makes a design, an object of any type that holds all that is
    public about a release. `_plan` and `_blank` derive the plan and the noise to expect from a design. `_estimate`
    carries a design out and is the only method that gets records.

    A mechanism whose public frame is not a `Domain` says so in `frame`. It then gives three more methods, which know
    that frame: `_records` reads what records may be there, `_published` makes the release, and `_errors` foresees
    errors.
    """

    name: ClassVar[str]
    frame: ClassVar[type] = Domain
    law: Law

    def plan(
        self,
        domain: Any,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: str = Neighbours.ADD_REMOVE,
        person: Person | None = None,
    ) -> Plan:
        """Cost, size and noise of a release, before any record is read.

        Parameters are those of `release`, without the points.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> plan = sdp.Flat(shape=(64, 64)).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1)
        >>> plan.cells, round(plan.errors["10 %"], 1)
        (4096, 27.0)
        """
        prepared = self.prepare(domain, epsilon=epsilon, delta=delta, neighbours=neighbours, person=person)
        return prepared.plan_with_errors()

    def check(
        self,
        domain: Any,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: str = Neighbours.ADD_REMOVE,
        person: Person | None = None,
    ) -> None:
        """Raise the errors that `release` would raise before it looks at a record.

        This is for callers who have not read their records yet. Parameters are those of `release`,
        without the points.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> sdp.Flat(cell_size=0.3).check(sdp.Domain((0, 0, 1, 1)), epsilon=1)
        Traceback (most recent call last):
        spatialdp.errors.DomainError: cell_size (0.3, 0.3) does not divide the domain's 1 x 1; ...
        """
        self.prepare(domain, epsilon=epsilon, delta=delta, neighbours=neighbours, person=person)

    def expected_error(
        self,
        domain: Any,
        boxes: npt.ArrayLike,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: str = Neighbours.ADD_REMOVE,
        person: Person | None = None,
    ) -> float:
        """Root-mean-square error of box answers that noise will cause, before any record is read.

        Parameters
        ----------
        domain : Domain
        boxes : (m, 4) array-like
        epsilon, delta, neighbours, person
            As for `release`.

        Raises
        ------
        ParameterError
            If the error depends on the records, as for kd-trees.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> domain, quarter = sdp.Domain((0, 0, 1, 1)), (0, 0, 0.5, 0.5)
        >>> [round(m.expected_error(domain, quarter, epsilon=1), 1) for m in (sdp.Flat((64, 64)), sdp.Quadtree(6))]
        [43.4, 12.5]
        """
        if not np.size(boxes):
            raise ParameterError("boxes is empty, but the error is an average over boxes; give at least one.")
        prepared = self.prepare(domain, epsilon=epsilon, delta=delta, neighbours=neighbours, person=person)
        return prepared.expected_error(boxes)

    def prepare(
        self,
        domain: Any,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: str = Neighbours.ADD_REMOVE,
        person: Person | None = None,
    ) -> PreparedRelease:
        """Decide everything public about a release, for callers who have not read their records yet.

        Parameters are those of `release`, without the points, and so are the errors that are raised
        before a record is looked at. ``mechanism.prepare(domain, epsilon=1).release(points)`` does the
        same as ``mechanism.release(points, domain, epsilon=1)``.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> prepared = sdp.Quadtree(height=3).prepare(sdp.Domain((0, 0, 1, 1)), epsilon=0.5)
        >>> prepared.plan.cells
        64
        >>> prepared.release([[0.1, 0.2], [0.8, 0.9]])
        <Release of 64 cells: ε = 0.5 (add-remove one record), quadtree, spatialdp ...>
        """
        terms = Terms(Budget(epsilon, delta), Neighbours.parse(neighbours, "neighbours"), _checked_person(person))
        if person is not None and person.choice is not None:
            return self._prepared_choice(self._checked_frame(domain), terms, person, person.choice)
        return self._prepared(self._checked_frame(domain), terms)

    def _prepared(self, domain: Any, terms: Terms) -> PreparedRelease:
        """Prepare a release whose terms are checked; the bound on persons, if there is one, is given."""
        design = self._design(domain, terms)
        plan = replace(self._plan(design), person=terms.person)
        if terms.choice_cost:
            plan = replace(plan, budget={CHOICE_STEP: terms.choice_cost} | plan.budget)
        return PreparedRelease(self, domain, terms, design, plan, self._statement(plan, terms))

    def _prepared_choice(self, domain: Any, terms: Terms, person: Person, chosen: Chosen) -> PreparedChoice:
        """Prepare a release for every bound that may be chosen, so that none can fail once records are read."""
        cells = self._counted_in(domain)
        if cells is None:
            raise ParameterError(
                f"{parameter('person')} asks for a bound that is chosen privately, but {self.name} needs a given one; "
                f"give a bound such as {either('spatialdp.Person(cells=50)', 'cells=50')}."
            )
        cost = terms.spendable(self.law) * exact(chosen.share, "share")
        epsilon = choice_epsilon(self.law, cost)
        if not epsilon:
            raise BudgetError(
                f"{parameter('share')} is {chosen.share}, which leaves the choice of the bound next to nothing; raise "
                "it, or give the bound."
            )
        bounds = {most: replace(terms, person=person.at(most), choice_cost=cost) for most in chosen.candidates}
        candidates = tuple(self._prepared(domain, each) for each in bounds.values())
        area = exact(chosen.area, "area")
        deviations = [self._box_deviation(each.design, domain, area) for each in candidates]
        choice = BoundChoice(
            cells,
            person.bound,
            epsilon,
            between(chosen.candidates),
            thresholds(chosen.candidates, deviations, area),
            handicaps(chosen.candidates, epsilon),
        )
        plans = dict(zip(bounds, (each.plan for each in candidates), strict=True))
        plan = replace(candidates[-1].plan, candidates=plans, person=person)
        return PreparedChoice(self, domain, terms, choice, plan, self._statement(plan, terms), candidates)

    def _counted_in(self, domain: Any) -> Grid | Zones | None:
        """The cells, or zones, in which persons are counted to choose their bound; None if it must be given."""
        if not isinstance(domain, Domain):
            return None
        return self.leaf_grid(domain) or domain.grid((FINE_SIDE, FINE_SIDE))

    def _box_deviation(self, design: Any, domain: Any, area: Fraction) -> float:
        """Standard deviation of the noise in a box with a share of the domain's area; public, for choosing a bound.

        Where it is not foreseeable, a box is taken to be answered from about as many counts as cells lie along its
        border, so that the variance grows with the square root of its number of cells.
        """
        blank = self._blank(design)
        if blank is not None:
            return expected_error(blank, sized_boxes(domain, float(area)))
        plan = self._plan(design)
        return plan.standard_deviation * math.sqrt(math.sqrt(float(area) * plan.cells))

    def release(
        self,
        points: Any,
        domain: Any,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: str = Neighbours.ADD_REMOVE,
        person: Person | None = None,
        noise: Noise | None = None,
        account: Spender | None = None,
    ) -> Release:
        """Publish points under differential privacy.

        Parameters
        ----------
        points : Points, (n, 2) array-like, GeoDataFrame or GeoSeries of points
        domain : Domain
            Public; never inferred from the points. Mechanisms of another `frame` take that in its place.
        epsilon : int, float, Decimal or Fraction
            The privacy budget; floats are taken as typed.
        delta : optional
            Needed by Gaussian noise, refused by the other laws.
        neighbours : {"add-remove", "replace"}
            Whether the promise compares data sets of which one has one more record, or data sets of
            the same size in which one record is different.
        person : Person, optional
            Protects persons instead of records: a public bound on what each one contributes, such as
            ``Person(cells=50)``. The points must say which person each record belongs to. Neighbours then differ by all
            records of one person.
        noise : Noise, optional
            `SystemNoise` by default. A `SeededNoise` makes the release reproducible and not private.
        account : Account or Prepaid, optional
            The account of a `Ledger` that pays. It refuses before a record is looked at if less is left than the
            release costs, and has paid durably before noise is drawn. What is paid is never given back.

        Returns
        -------
        Release

        Privacy
        -------
        Everything public is checked and planned before a record is looked at. The release depends on
        the records only through noise that the budget pays for; each mechanism's own Privacy section
        has the argument. Two releases of the same records cost the sum of their ε; an `account` adds them up.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> domain = sdp.Domain((0, 0, 1, 1))
        >>> sdp.Quadtree(height=3).release([[0.1, 0.2], [0.8, 0.9]], domain, epsilon=0.5)
        <Release of 64 cells: ε = 0.5 (add-remove one record), quadtree, spatialdp ...>
        """
        source = checked_noise(noise)
        prepared = self.prepare(domain, epsilon=epsilon, delta=delta, neighbours=neighbours, person=person)
        return prepared.release(points, noise=source, account=account)

    @property
    def private(self) -> bool:
        """Whether the mechanism is private; false only for non-private ones that the evaluator compares with."""
        return True

    @abstractmethod
    def _design(self, domain: Any, terms: Terms) -> Any:
        """Decide everything that is public before a record is read; raises an error if public values are wrong."""

    @abstractmethod
    def _plan(self, design: Any) -> Plan:
        """The plan of a design, without the errors to expect."""

    @abstractmethod
    def _blank(self, design: Any) -> Estimate | None:
        """An estimate with all values 0 and the variances of a release, from which errors are foreseen.

        None if records or noise shape the structure, so that variances are not known beforehand.
        """

    @abstractmethod
    def _estimate(self, points: Any, design: Any, noise: Noise) -> Estimate:
        """Carry out a design on the records; the result may depend on them only through noise that is paid for."""

    @classmethod
    def takes(cls, domain: Any) -> bool:
        """Whether this is a public frame of the kind that the mechanism needs.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> sdp.Flat.takes(sdp.Domain((0, 0, 1, 1))), sdp.Flat.takes((0, 0, 1, 1))
        (True, False)
        """
        return isinstance(domain, cls.frame)

    def _checked_frame(self, domain: Any) -> Any:
        """The public frame of a release, or an error that says which one this mechanism needs."""
        if self.takes(domain):
            return domain
        if self.frame is Domain:
            raise ParameterError(
                f"domain is a {type(domain).__name__}; give a spatialdp.Domain with public bounds. "
                "It is never taken from the points."
            )
        raise ParameterError(
            f"{self.name} was given a {type(domain).__name__} as its public frame, but needs a "
            f"spatialdp.{self.frame.__name__}; give one. It is never taken from the points."
        )

    def _records(self, points: Any, domain: Any, person: Person | None) -> Any:
        """The records that a caller gave, in the form in which `_estimate` takes them."""
        return as_points(points, domain, person)

    def _published(self, domain: Any, statement: Privacy, estimate: Any) -> Release:
        """The release that callers get."""
        return Release(domain, statement, estimate)

    def _errors(self, design: Any, domain: Any) -> tuple[float, dict[str, float]] | None:
        """Standard deviation of the noise in one cell, and errors to expect by name; None if not foreseeable."""
        blank = self._blank(design)
        if blank is None:
            return None
        sizes = {"1 %": 0.01, "10 %": 0.1, "whole": 1.0}
        errors = {name: expected_error(blank, sized_boxes(domain, share)) for name, share in sizes.items()}
        return expected_error(blank, some_leaves(blank)), errors

    def _missed(self, domain: Any) -> float | None:
        """Share of the frame's area in none of its cells; trees that follow no grid take the region as a raster."""
        if domain.region is None:
            return None
        return missed_share(self.leaf_grid(domain) or domain.grid((RASTER_SIDE, RASTER_SIDE)))

    def _statement(self, plan: Plan, terms: Terms) -> Privacy:
        """The privacy statement of a release with the system's own noise."""
        statement = Privacy(
            epsilon=terms.budget.epsilon,
            delta=terms.budget.delta,
            neighbours=str(terms.neighbours),
            unit=unit_of(terms.person),
            mechanism=self.name,
            parameters=self.parameters(),
            currency=plan.currency,
            budget=plan.budget,
            private=self.private,
            version=__version__,
            person=terms.person,
            invariants=self._invariants(),
            noise=plan.noise,
        )
        json.dumps(statement.to_json(), allow_nan=False)  # a statement that no file can hold must fail before spending
        return statement

    def _invariants(self) -> tuple[str, ...]:
        """The totals that are published exactly, and so are outside of the promise: none, for almost all mechanisms."""
        return ()

    def parameters(self) -> dict[str, Any]:
        """Public parameters by name, as values that JSON can hold (tuples become lists there).

        Examples
        --------
        >>> import spatialdp as sdp
        >>> sdp.Flat(shape=(4, 2)).parameters()["shape"]
        (4, 2)
        """
        assert is_dataclass(self)
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    def leaf_grid(self, domain: Domain) -> Grid | None:  # noqa: ARG002 - subclasses with a public grid use it
        """The grid whose cells are the smallest areas that have estimates of their own; None if it is not public.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> sdp.Quadtree(height=3).leaf_grid(sdp.Domain((0, 0, 1, 1))).shape
        (8, 8)
        >>> sdp.KdTree(height=3).leaf_grid(sdp.Domain((0, 0, 1, 1))) is None
        True
        """
        return None


def _checked_person(person: Person | None) -> Person | None:
    if person is not None and not isinstance(person, Person):
        raise ParameterError(
            f"{parameter('person')} is a {type(person).__name__}; give a bound such as "
            f"{either('spatialdp.Person(cells=50)', 'cells=50')}. Name the column of persons where you read or make "
            "the points."
        )
    if person is not None and person.chosen is not None:
        plain = f"{person.bound}={person.most}"
        raise ParameterError(
            f"{parameter('person')} says that its bound was chosen privately, but only a release may say so; give a "
            f"plain bound such as {either(f'spatialdp.Person({plain})', plain)}, or "
            f"{either('spatialdp.Chosen()', f'{person.bound}=chosen')} in its place."
        )
    return person


def _plain(value: Any) -> Any:
    """A parameter as a value that JSON can hold."""
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return str(value) if isinstance(value, Option | Fraction | BoxQueries) else value
