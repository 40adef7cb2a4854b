"""What have published methods in common? They are here as published: for single records that are added or removed.

They are for `evaluate`, not for publishing: they are not audited, and with ``records="public"`` they read the number of
records as it is, as their authors' code does, so that such releases are not private and say so. The formulas are those
of the papers; where a paper leaves a rounding open, the docstring says what is done here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from spatialdp._support.checks import whole_pair
from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.evaluation.peers.blocks import count_law
from spatialdp.mechanisms.base import Mechanism, Plan, Terms
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import Noise
from spatialdp.space.domain import Domain, Grid
from spatialdp.wording import parameter, quoted

__all__ = ["ByRecords", "Design", "KnownRecords", "Peer"]


class KnownRecords(Option):
    """Whether the number of records is taken as public, which is not private, or paid for with a part of ε."""

    PUBLIC = "public"
    PAID = "paid"


@dataclass(frozen=True)
class Design:
    """All that is public about a release of a published method."""

    grid: Grid
    epsilon: Fraction


@dataclass(frozen=True)
class Peer(Mechanism):
    """A published method on the cells of a grid, with discrete Laplace noise, for add-remove neighbours."""

    shape: tuple[int, int]
    law: ClassVar[Law] = Law.DISCRETE_LAPLACE  # type: ignore[misc]  # others have a choice

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "shape", whole_pair(self.shape, "shape"))

    @override
    def leaf_grid(self, domain: Domain) -> Grid:
        return domain.grid(self.shape)

    @override
    def _design(self, domain: Domain, terms: Terms) -> Design:
        as_published = f"but {self.name} is here as published, for single records that are added or removed"
        if terms.person is not None:
            raise ParameterError(
                f"{parameter('person')} bounds what a person contributes, {as_published}; leave "
                f"{parameter('person')} out, or leave {self.name} out of the comparison."
            )
        if terms.neighbours is not Neighbours.ADD_REMOVE:
            raise ParameterError(
                f"{parameter('neighbours')} is {quoted(str(terms.neighbours))}, {as_published}; leave "
                f"{parameter('neighbours')} out, or leave {self.name} out of the comparison."
            )
        return Design(self.leaf_grid(domain), terms.spendable(self.law))

    @override
    def _plan(self, design: Design) -> Plan:
        cells = design.grid.n_cells
        return Plan(self.name, cells, "epsilon", {"all": design.epsilon}, math.nan, 40 * cells)

    @override
    def _blank(self, design: Design) -> None:  # noqa: ARG002 - never known
        return None


@dataclass(frozen=True)
class ByRecords(Peer):
    """A method that needs the number of records."""

    records_share: ClassVar[Fraction] = Fraction(1, 100)  # of ε, for a noisy number of records
    records: Choice[KnownRecords] = Choice(KnownRecords.PAID)

    @property
    @override
    def private(self) -> bool:
        return self.records is KnownRecords.PAID

    def _n_and_rest(self, n: int, epsilon: Fraction, noise: Noise) -> tuple[float, Fraction]:
        """The number of records, and what is left of ε."""
        if self.records is KnownRecords.PUBLIC:
            return float(n), epsilon
        cost = epsilon * self.records_share
        return float(count_law(cost).add_to(np.array([n]), noise)[0]), epsilon - cost
