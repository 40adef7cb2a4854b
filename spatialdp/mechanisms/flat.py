"""Flat histogram: a count and independent noise for every cell.

The simplest mechanism, and the one of Dwork and McSherry's traffic experiment. It is the best choice
for reading single cells; sums over large boxes collect the noise of every cell in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spatialdp._checks import whole_number
from spatialdp._options import Choice
from spatialdp.covariance import IndependentNoise
from spatialdp.domain import Domain, Grid
from spatialdp.histogram import Histogram
from spatialdp.mechanisms.base import Plan, Terms
from spatialdp.mechanisms.transform import GridMechanism
from spatialdp.points import Points, count_cells
from spatialdp.privacy.laws import Law, NoiseLaw, calibrate, count_sensitivity, spendable
from spatialdp.privacy.noise import Noise

__all__ = ["Flat"]


@dataclass(frozen=True)
class Flat(GridMechanism):
    """A count and independent noise for each cell of the region.

    Parameters
    ----------
    shape : (nx, ny), optional
        Number of columns and rows.
    cell_size : float or (width, height), optional
        Instead of `shape`; must divide the domain (see `Domain.fitted`).
    law : {"discrete-laplace", "laplace", "gaussian"}
        Integer noise with geometric tails (the default); Laplace noise on a lattice of 1/1024
        counts; or integer Gaussian noise for (ε, δ), accounted as zCDP.
    truncate : int, optional
        Clip every estimate to [0, truncate] afterwards. Makes a prettier map, biases every sum, and
        rules out intervals.

    Privacy
    -------
    Neighbours add or remove one record: one cell changes by 1, so the L1 and L2 sensitivities are 1. If they replace
    one record, two cells change by 1: L1 sensitivity 2, L2 sensitivity √2 (1 if there is only one cell). Laplace laws:
    noise of scale (L1 sensitivity)/ε in every cell is ε-DP (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden,
    Sundararajan 2009 for the discrete law). Gaussian: σ² = (L2 sensitivity)²/2ρ is ρ-zCDP (Canonne, Kamath, Steinke
    2020), and ρ is the largest for which that implies (ε, δ)-DP. Truncation reads released values only.
    Sensitivities are checked by brute force in ``tests/test_flat.py``.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 10, 10))
    >>> release = sdp.Flat(shape=(5, 5)).release([[1, 1], [9, 9]], domain, epsilon=1)
    >>> release.answer((0, 0, 4, 4)).is_integer()
    True
    >>> float(sdp.Flat(cell_size=2.0).plan(domain, epsilon=0.1).budget["counts"])
    0.1
    """

    name: ClassVar[str] = "flat"

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)
    truncate: int | None = None

    def __post_init__(self) -> None:
        self._check_grid()
        if self.truncate is not None:
            object.__setattr__(self, "truncate", whole_number(self.truncate, "truncate", 0, 2**53))

    def _plan(self, domain: Domain, terms: Terms) -> Plan:
        grid, law = self._layout(domain, terms)
        return Plan(
            mechanism=self.name,
            cells=grid.n_cells,
            currency="rho" if self.law is Law.GAUSSIAN else "epsilon",
            budget={"counts": spendable(self.law, terms.budget)},
            standard_deviation=math.sqrt(law.variance),
            memory=4 * 8 * grid.shape[0] * grid.shape[1],
        )

    def _blank(self, domain: Domain, terms: Terms) -> Histogram:
        grid, law = self._layout(domain, terms)
        noise = IndependentNoise(grid, law.variance, law.kurtosis, law.step)
        return Histogram(grid, np.zeros((grid.shape[1], grid.shape[0])), noise)

    def _estimate(self, points: Points, domain: Domain, terms: Terms, noise: Noise) -> Histogram:
        grid, law = self._layout(domain, terms)
        values = np.zeros((grid.shape[1], grid.shape[0]))
        values[grid.mask] = law.add_to(count_cells(points, grid)[grid.mask], noise)
        if self.truncate is not None:
            np.clip(values, 0, self.truncate, out=values)
        noise_model = IndependentNoise(grid, law.variance, law.kurtosis, law.step)
        return Histogram(grid, values, noise_model, biased=self.truncate is not None)

    def _layout(self, domain: Domain, terms: Terms) -> tuple[Grid, NoiseLaw]:
        grid = self._grid(domain)
        cost = spendable(self.law, terms.budget)
        return grid, calibrate(self.law, cost, count_sensitivity(terms.neighbours, grid.n_cells))
