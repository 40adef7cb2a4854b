"""What all mechanisms share: everything public is checked first, then records have one way in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, ClassVar

from spatialdp._options import Option
from spatialdp._version import __version__
from spatialdp.domain import Domain
from spatialdp.errors import ParameterError
from spatialdp.layouts import Estimate
from spatialdp.points import Points, as_points
from spatialdp.privacy.budget import Budget, Number
from spatialdp.privacy.laws import Law, Neighbours
from spatialdp.privacy.noise import Noise, SystemNoise
from spatialdp.privacy.statement import UNIT, Privacy
from spatialdp.release import Release

__all__ = ["Mechanism", "Plan", "Terms"]


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
        Cells of the region.
    currency : str
        ``"epsilon"`` or ``"rho"`` (zCDP): what `budget` counts.
    budget : dict of str to Fraction
        Cost of each step.
    standard_deviation : float
        Of the noise in one cell.
    memory : int
        Bytes the counts and estimates take.
    """

    mechanism: str
    cells: int
    currency: str
    budget: dict[str, Fraction]
    standard_deviation: float
    memory: int


class Mechanism(ABC):
    """A way to publish points, as a frozen dataclass of public parameters.

    Subclasses give `name`, `_plan` (from public values alone) and `_estimate`, the only
    method that is handed records.
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
        """
        terms = Terms(Budget(epsilon, delta), Neighbours.parse(neighbours))
        return self._plan(_checked_domain(domain), terms)

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
        """
        terms = Terms(Budget(epsilon, delta), Neighbours.parse(neighbours))
        source = _checked_noise(noise)
        plan = self._plan(_checked_domain(domain), terms)
        estimate = self._estimate(as_points(points, domain), domain, terms, source)
        private = type(source) is SystemNoise and self.private
        return Release(domain, self._statement(plan, terms, private=private), estimate)

    @property
    def private(self) -> bool:
        """Whether the mechanism keeps its promise; false only for references that the evaluator compares with."""
        return True

    @abstractmethod
    def _plan(self, domain: Domain, terms: Terms) -> Plan: ...

    @abstractmethod
    def _estimate(self, points: Points, domain: Domain, terms: Terms, noise: Noise) -> Estimate: ...

    def _statement(self, plan: Plan, terms: Terms, *, private: bool) -> Privacy:
        return Privacy(
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

    def _parameters(self) -> dict[str, Any]:
        assert is_dataclass(self)
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


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
    return str(value) if isinstance(value, Option | Fraction) else value
