"""What all mechanisms share: everything public is checked first, then records have one way in."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Integers, even_points
from spatialdp._support.options import Option
from spatialdp._version import __version__
from spatialdp.errors import ParameterError
from spatialdp.estimates.base import Estimate
from spatialdp.privacy.budget import Budget, Number
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.privacy.statement import UNIT, Privacy
from spatialdp.records.points import Points, as_points
from spatialdp.release import Release
from spatialdp.space.domain import Domain
from spatialdp.strategies.products import Boxes

__all__ = [
    "Mechanism",
    "Plan",
    "Terms",
]


@dataclass(frozen=True)
class Terms:
    """What the curator grants: a budget, and between which data sets it must hold."""

    budget: Budget
    neighbours: Neighbours


@dataclass(frozen=True)
class Plan:
    """What a release will cost and how large it will be; known before any record is read.

    Attributes
    ----------
    mechanism : str
    cells : int
        Cells of the region; for kd-trees, at most.
    currency : str
        ``"epsilon"`` or ``"rho"`` (zCDP): what `budget` counts.
    budget : dict of str to Fraction
        Cost of each step.
    standard_deviation : float
        Of the noise in one cell's estimate, after the fit: the root-mean-square over the region's cells, or over 400 of
        them spread evenly. Where the cells depend on the records (kd-trees, trees that are pruned or stopped), of the
        noise in one count of the deepest level, before the fit. `Fourier` without all coefficients: over all cells, and
        of the noisiest block if there is a choice.
    memory : int
        Bytes the counts and estimates take.
    errors : dict of str to float
        Root-mean-square error, from noise, of boxes with 1 % and 10 % of the domain's area and of the whole domain.
        Empty where it depends on the records, as for kd-trees.
    limits : dict of str to int
        Public limits at which private numbers are cut off; empty if there are none.
    """

    mechanism: str
    cells: int
    currency: str
    budget: dict[str, Fraction]
    standard_deviation: float
    memory: int
    errors: dict[str, float] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)


class Mechanism(ABC):
    """A way to publish points, as a frozen dataclass of public parameters.

    Subclasses give `name`; `_design`, all that is public about a release, in a form of their own; `_plan` and `_blank`,
    which tell of it; and `_estimate`, which carries it out and is the only method that is handed records.
    """

    name: ClassVar[str]
    law: Law

    def plan(
        self,
        domain: Domain,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: str = Neighbours.ADD_REMOVE,
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
        design = self._design(_checked_domain(domain), Terms(Budget(epsilon, delta), Neighbours.parse(neighbours)))
        plan, blank = self._plan(design), self._blank(design)
        if blank is None:
            return plan
        sizes = {"1 %": 0.01, "10 %": 0.1, "whole": 1.0}
        return replace(
            plan,
            standard_deviation=_error(blank, _some_cells(blank)),
            errors={name: _error(blank, _squares(domain, share)) for name, share in sizes.items()},
        )

    def check(
        self,
        domain: Domain,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: str = Neighbours.ADD_REMOVE,
    ) -> None:
        """Raise what `release` would raise before it looks at a record: for callers who have yet to read theirs.

        Parameters are those of `release`, without the points.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> sdp.Flat(cell_size=0.3).check(sdp.Domain((0, 0, 1, 1)), epsilon=1)
        Traceback (most recent call last):
        spatialdp.errors.DomainError: cell_size (0.3, 0.3) does not divide the domain's 1 x 1; ...
        """
        self._design(_checked_domain(domain), Terms(Budget(epsilon, delta), Neighbours.parse(neighbours)))

    def expected_error(
        self,
        domain: Domain,
        boxes: npt.ArrayLike,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: str = Neighbours.ADD_REMOVE,
    ) -> float:
        """Root-mean-square error of box answers that noise will cause, before any record is read.

        Parameters
        ----------
        domain : Domain
        boxes : (m, 4) array-like
        epsilon, delta, neighbours
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
        terms = Terms(Budget(epsilon, delta), Neighbours.parse(neighbours))
        if not np.size(boxes):
            raise ParameterError("there are no boxes to average over; give at least one.")
        blank = self._blank(self._design(_checked_domain(domain), terms))
        if blank is None:
            raise ParameterError(f"the error of a {self.name} depends on the records; it can not be told beforehand.")
        return _error(blank, domain.boxes(boxes))

    def release(
        self,
        points: Any,
        domain: Domain,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: str = Neighbours.ADD_REMOVE,
        noise: Noise | None = None,
    ) -> Release:
        """Publish points under differential privacy.

        Parameters
        ----------
        points : Points, (n, 2) array-like, GeoDataFrame or GeoSeries of points
        domain : Domain
            Public; never inferred from the points.
        epsilon : int, float, Decimal or Fraction
            The privacy budget; floats are taken as typed.
        delta : optional
            Needed by Gaussian noise, refused by the others.
        neighbours : {"add-remove", "replace"}
            Whether the promise compares data sets that differ by one record more or less, or by
            one record's value.
        noise : Noise, optional
            `SystemNoise` by default. A `SeededNoise` makes the release reproducible and not private.

        Returns
        -------
        Release

        Privacy
        -------
        Everything public is checked and planned before a record is looked at. What comes back depends on the records
        only through noise that the budget pays for; each mechanism's own Privacy section has the argument. Two releases
        of the same records cost the sum of their ε.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> domain = sdp.Domain((0, 0, 1, 1))
        >>> sdp.Quadtree(height=3).release([[0.1, 0.2], [0.8, 0.9]], domain, epsilon=0.5)
        <Release of 64 cells: ε = 0.5 (add-remove one record), quadtree, spatialdp ...>
        """
        terms = Terms(Budget(epsilon, delta), Neighbours.parse(neighbours))
        source = _checked_noise(noise)
        design = self._design(_checked_domain(domain), terms)
        private = type(source) is SystemNoise and self.private
        statement = self._statement(self._plan(design), terms, private=private)
        return Release(domain, statement, self._estimate(as_points(points, domain), design, source))

    @property
    def private(self) -> bool:
        """Whether the mechanism keeps its promise; false only for references that the evaluator compares with."""
        return True

    @abstractmethod
    def _design(self, domain: Domain, terms: Terms) -> Any:
        """Everything that is decided before a record is read; raises whatever is wrong with the public values."""

    @abstractmethod
    def _plan(self, design: Any) -> Plan: ...

    @abstractmethod
    def _blank(self, design: Any) -> Estimate | None:
        """The estimate of no records without noise, for what it tells of the noise; None if records shape it."""

    @abstractmethod
    def _estimate(self, points: Points, design: Any, noise: Noise) -> Estimate: ...

    def _statement(self, plan: Plan, terms: Terms, *, private: bool) -> Privacy:
        statement = Privacy(
            epsilon=terms.budget.epsilon,
            delta=terms.budget.delta,
            neighbours=str(terms.neighbours),
            unit=UNIT,
            mechanism=self.name,
            parameters=self._parameters(),
            currency=plan.currency,
            budget=plan.budget,
            private=private,
            version=__version__,
        )
        json.dumps(statement.to_json(), allow_nan=False)  # what could not be saved must fail before it is paid for
        return statement

    def _parameters(self) -> dict[str, Any]:
        assert is_dataclass(self)
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _squares(domain: Domain, share: float, count: int = 400) -> Integers:
    """Lattice boxes with the domain's proportions and a share of its area, spread over it."""
    side = math.sqrt(share)
    corners = even_points(count, 2) * (1 - side)
    xmin, ymin, _, _ = domain.bounds
    boxes = np.concatenate([corners, corners + side], axis=1) * np.tile(domain.size, 2)
    return domain.boxes(boxes + np.array([xmin, ymin, xmin, ymin]))


def _some_cells(estimate: Estimate, most: int = 400) -> Integers:
    """Lattice boxes of the region's cells, or of some spread evenly."""
    count = estimate.n_cells
    return estimate.leaf_boxes(
        np.arange(count) if count <= most else (even_points(most, 1)[:, 0] * count).astype(np.int64)
    )


def _error(estimate: Estimate, boxes: Integers) -> float:
    return math.sqrt(float(estimate.moments(boxes)[0].mean()))


def _checked_domain(domain: Domain) -> Domain:
    if not isinstance(domain, Domain):
        raise ParameterError(
            f"domain is a {type(domain).__name__}; give a spatialdp.Domain with public bounds. "
            "It is never taken from the points."
        )
    return domain


def _checked_noise(noise: Noise | None) -> Noise:
    if noise is None:
        return SystemNoise()
    if not isinstance(noise, Noise):
        raise ParameterError(
            f"noise is a {type(noise).__name__}; give spatialdp.SystemNoise() or, for experiments, SeededNoise(seed)."
        )
    return noise


def _plain(value: Any) -> Any:
    """A value that JSON can hold, with tuples for lists."""
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return str(value) if isinstance(value, Option | Fraction | Boxes) else value
