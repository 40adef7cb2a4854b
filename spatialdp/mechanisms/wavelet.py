"""Private wavelets (Privelet): noise in the Haar coefficients of rows and columns.

A range of cells is made of few coefficients, so that its noise grows with the logarithm of its length and not with the
length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spatialdp._options import Choice, Option
from spatialdp.axes import AxisTransform, HaarAxis, IdentityAxis
from spatialdp.covariance import QuadHaarNoise
from spatialdp.domain import Domain, Grid
from spatialdp.errors import ParameterError
from spatialdp.histogram import Histogram
from spatialdp.mechanisms.base import Plan, Terms
from spatialdp.mechanisms.transform import Costs, TransformMechanism
from spatialdp.points import Points, count_cells
from spatialdp.privacy.budget import divide
from spatialdp.privacy.laws import Law, NoiseLaw, calibrate, spendable
from spatialdp.privacy.noise import Noise
from spatialdp.quadhaar import QuadHaar

__all__ = ["Wavelet"]


class ScaleBudget(Option):
    """How a wavelet's budget is divided over its scales."""

    UNIFORM = "uniform"
    OPTIMISED = "optimised"


class Form(Option):
    """How a wavelet treats two axes."""

    TENSOR = "tensor"
    QUADTREE = "quadtree"


class Transformed(Option):
    """Which axes a wavelet transforms."""

    BOTH = "both"
    X = "x"
    Y = "y"


@dataclass(frozen=True)
class Wavelet(TransformMechanism):
    """Noisy Haar coefficients of the grid of counts (Privelet).

    Parameters
    ----------
    shape : (nx, ny), optional
        Number of columns and rows; any numbers. A row of cells, (nx, 1), gives a 1D histogram.
    cell_size : float or (width, height), optional
        Instead of `shape`; must divide the domain.
    axis : {"both", "x", "y"}
        Which axes are transformed; a short one is better left as it is (Privelet+).
    form : {"tensor", "quadtree"}
        Rows, then columns (the standard transform, Privelet's), or the non-standard one: three differences for every
        node of a quadtree.
    budget : {"uniform", "optimised"}
        The same budget for every pair of scales, or every scale and kind of difference, as published; or the one that
        is best for the mean over all boxes.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    A record changes one coefficient of each pair of scales, by ±1: each pair has L1 and L2 sensitivity 1 under
    add-remove (2 under replace, but for the total) and costs its own budget; they add up to ε. The same holds for each
    kind of difference of each scale of a quadtree, 3 h + 1 of them. Padding to a power of two adds cells that are known
    to be empty and holds no record. Inversion reads released values only. Xiao, Wang, Gehrke, "Differential privacy via
    wavelet transforms" (ICDE 2010). Sensitivities are checked by brute force in ``tests/test_transforms.py``.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Wavelet(shape=(8, 8)).release([[0.1, 0.2], [0.8, 0.9]], domain, epsilon=1000)
    >>> round(release.answer((0, 0, 0.5, 0.5)), 1)
    1.0
    """

    name: ClassVar[str] = "wavelet"

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    axis: Choice[Transformed] = Choice(Transformed.BOTH)
    form: Choice[Form] = Choice(Form.TENSOR)
    budget: Choice[ScaleBudget] = Choice(ScaleBudget.UNIFORM)
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        self._check_grid()
        if self.form is Form.QUADTREE and self.axis is not Transformed.BOTH:
            raise ParameterError(f"form='quadtree' transforms both axes, but axis is {str(self.axis)!r}; leave it out.")

    def _axes(self, grid: Grid) -> tuple[AxisTransform, AxisTransform]:
        nx, ny = grid.shape
        x = IdentityAxis(nx) if self.axis is Transformed.Y else HaarAxis(nx)
        y = IdentityAxis(ny) if self.axis is Transformed.X else HaarAxis(ny)
        return x, y

    def _costs(self, axes: tuple[AxisTransform, AxisTransform], whole: Fraction) -> Costs:
        x, y = axes
        costs = self._divide(whole, np.outer(_mean_squares(x), _mean_squares(y)).ravel())
        return [costs[i * y.n_groups : (i + 1) * y.n_groups] for i in range(x.n_groups)]

    def _divide(self, whole: Fraction, mean_squares: npt.NDArray[np.float64]) -> Sequence[Fraction]:
        """Budgets of all groups, from the mean over all boxes of their squared weights."""
        if self.budget is ScaleBudget.UNIFORM:
            return divide(whole, [1] * mean_squares.size)
        # Σ n/ε² is least for ε ∝ n^(1/3), Σ n/ρ for ρ ∝ n^(1/2); n is the mean weight of a group in a box.
        power = 1 / 2 if self.law is Law.GAUSSIAN else 1 / 3
        return divide(whole, (mean_squares**power).tolist())

    # --- the non-standard form -----------------------------------------------------------------

    def _plan(self, domain: Domain, terms: Terms) -> Plan:
        if self.form is Form.TENSOR:
            return super()._plan(domain, terms)
        grid = self._grid(domain)
        transform, costs = self._quadtree(grid, terms)
        cell = np.array([[0, 0, grid.x_lines[1], grid.y_lines[1]]])
        return Plan(
            mechanism=self.name,
            cells=grid.n_cells,
            currency="rho" if self.law is Law.GAUSSIAN else "epsilon",
            budget={f"coefficients {name}": cost for name, cost in zip(transform.groups, costs, strict=True)},
            standard_deviation=math.sqrt(self._blank(domain, terms).moments(cell)[0][0]),
            memory=6 * 8 * grid.mask.size,
        )

    def _blank(self, domain: Domain, terms: Terms) -> Histogram:
        if self.form is Form.TENSOR:
            return super()._blank(domain, terms)
        grid = self._grid(domain)
        noise = _quadtree_noise(QuadHaar(*grid.shape), self._quadtree_laws(grid, terms))
        return Histogram(grid, np.zeros((grid.shape[1], grid.shape[0])), noise)

    def _estimate(self, points: Points, domain: Domain, terms: Terms, noise: Noise) -> Histogram:
        if self.form is Form.TENSOR:
            return super()._estimate(points, domain, terms, noise)
        grid = self._grid(domain)
        transform, laws = QuadHaar(*grid.shape), self._quadtree_laws(grid, terms)
        coefficients = transform.forward(count_cells(points, grid))
        noisy = [law.add_to(part, noise) for law, part in zip(laws, coefficients, strict=True)]
        return Histogram(grid, transform.inverse(noisy), _quadtree_noise(transform, laws))

    def _quadtree(self, grid: Grid, terms: Terms) -> tuple[QuadHaar, Sequence[Fraction]]:
        transform = QuadHaar(*grid.shape)
        return transform, self._divide(spendable(self.law, terms.budget), transform.mean_squares())

    def _quadtree_laws(self, grid: Grid, terms: Terms) -> list[NoiseLaw]:
        transform, costs = self._quadtree(grid, terms)
        return [
            calibrate(self.law, cost, transform.sensitivity(group, terms.neighbours))
            for group, cost in enumerate(costs)
        ]


@lru_cache(maxsize=32)
def _mean_squares(axis: AxisTransform) -> npt.NDArray[np.float64]:
    """Mean over all intervals of the squared weights of each group; kept, as it takes longer than a release."""
    return axis.mean_squares()


def _quadtree_noise(transform: QuadHaar, laws: Sequence[NoiseLaw]) -> QuadHaarNoise:
    moments = (np.array([getattr(law, name) for law in laws]) for name in ("variance", "kurtosis"))
    return QuadHaarNoise(transform, *moments)
