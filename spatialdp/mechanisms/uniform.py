"""Uniform: one noisy total, spread evenly. The baseline that every other mechanism should beat.

Hay et al. found that many published methods lose to it where records are few or ε is small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spatialdp._checks import whole_pair
from spatialdp._options import Choice
from spatialdp.covariance import SharedNoise
from spatialdp.domain import Domain, Grid
from spatialdp.errors import DomainError
from spatialdp.histogram import Histogram
from spatialdp.mechanisms.base import Mechanism, Plan, Terms
from spatialdp.points import Points, count_cells
from spatialdp.privacy.laws import Law, NoiseLaw, calibrate, count_sensitivity, spendable
from spatialdp.privacy.noise import Noise

__all__ = ["Uniform"]


@dataclass(frozen=True)
class Uniform(Mechanism):
    """The number of records and noise, spread evenly over the domain or its region.

    Parameters
    ----------
    shape : (nx, ny)
        Columns and rows at which the region is taken. Without a region, answers do not depend on it.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    The number of records in the domain (in the cells of its region) changes by 1 if one record is added or removed, and
    by at most 1 if one is replaced, which may then leave or enter: L1 and L2 sensitivity 1 under both relations. All of
    ε goes into it, by the mechanisms that `Flat` cites. Spreading it reads no records. Checked by brute force in
    ``tests/test_uniform.py``.

    References
    ----------
    Hay, Machanavajjhala, Miklau, Chen, Zhang: "Principled evaluation of differentially private algorithms using
    DPBench" (SIGMOD 2016), where it is one of two baselines; the other one is `Flat`.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Uniform().release([[0.1, 0.1], [0.2, 0.1]], domain, epsilon=100)
    >>> release.answer((0.5, 0.5, 1, 1))
    0.5
    """

    name: ClassVar[str] = "uniform"

    shape: Sequence[int] = (64, 64)
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", whole_pair(self.shape, "shape"))

    def _plan(self, domain: Domain, terms: Terms) -> Plan:
        grid, law = self._layout(domain, terms)
        return Plan(
            mechanism=self.name,
            cells=grid.n_cells,
            currency="rho" if self.law is Law.GAUSSIAN else "epsilon",
            budget={"total": spendable(self.law, terms.budget)},
            standard_deviation=math.sqrt(law.variance) / grid.n_cells,
            memory=4 * 8 * grid.shape[0] * grid.shape[1],
        )

    def _blank(self, domain: Domain, terms: Terms) -> Histogram:
        return _spread(0.0, *self._layout(domain, terms))

    def _estimate(self, points: Points, domain: Domain, terms: Terms, noise: Noise) -> Histogram:
        grid, law = self._layout(domain, terms)
        total = count_cells(points, grid).sum(keepdims=True).reshape(1)
        return _spread(float(law.add_to(total, noise)[0]), grid, law)

    def _layout(self, domain: Domain, terms: Terms) -> tuple[Grid, NoiseLaw]:
        grid = domain.grid(self.shape)
        if not grid.n_cells:
            raise DomainError("no cell has its centre in the region; use smaller cells or a larger region.")
        return grid, calibrate(self.law, spendable(self.law, terms.budget), count_sensitivity(terms.neighbours, 1))


def _spread(total: float, grid: Grid, law: NoiseLaw) -> Histogram:
    values = np.where(grid.mask, total / grid.n_cells, 0.0)
    return Histogram(grid, values, SharedNoise(grid, law.variance, law.kurtosis, law.step))
