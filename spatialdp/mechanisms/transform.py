"""One recipe for many histograms: transform exactly, add noise in the transformed space, invert.

The grid of counts is transformed along x and along y into integer coefficients. Each pair of an x group and a y group
is measured with a budget of its own; one record changes its coefficients by at most the product of the two axes'
sensitivities. The inverse reads no records.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._checks import positive_pair, whole_pair
from spatialdp.axes import AxisTransform
from spatialdp.covariance import SeparableNoise
from spatialdp.domain import Domain, Grid
from spatialdp.errors import DomainError, ParameterError
from spatialdp.histogram import Histogram
from spatialdp.mechanisms.base import Mechanism, Plan, Terms
from spatialdp.points import Points, count_cells
from spatialdp.privacy.laws import Law, Neighbours, NoiseLaw, Sensitivity, calibrate, spendable
from spatialdp.privacy.noise import Noise

__all__ = ["GridMechanism", "TransformMechanism", "pair_sensitivity"]

Costs = Sequence[Sequence[Fraction]]


def pair_sensitivity(x: AxisTransform, y: AxisTransform, pair: tuple[int, int], neighbours: Neighbours) -> Sensitivity:
    """Sensitivity of a pair of groups: a product over the axes, since a record's column and row are free to be any.

    Replacing a record takes one away and adds another. That is twice the L1 norm; the squared L2 norm doubles, or, if
    the two can enter a measurement with opposite signs, is four times as large. Where all cells look alike it is the
    same as removing a record, which then leaves the domain.
    """
    i, j = pair
    l1 = x.sensitivities[i].l1 * y.sensitivities[j].l1
    l2_squared = x.sensitivities[i].l2_squared * y.sensitivities[j].l2_squared
    if neighbours is Neighbours.ADD_REMOVE or (x.constant[i] and y.constant[j]):
        return Sensitivity(l1, l2_squared)
    signed = (x.signed and not x.constant[i]) or (y.signed and not y.constant[j])
    return Sensitivity(2 * l1, (4 if signed else 2) * l2_squared)


class GridMechanism(Mechanism):
    """A mechanism whose cells are given by `shape` or by `cell_size`."""

    shape: Sequence[int] | None
    cell_size: float | Sequence[float] | None

    def _check_grid(self) -> None:
        if (self.shape is None) == (self.cell_size is None):
            raise ParameterError(f"{type(self).__name__} needs either shape=(nx, ny) or cell_size=..., and not both.")
        if self.shape is not None:
            object.__setattr__(self, "shape", whole_pair(self.shape, "shape"))
        if self.cell_size is not None:
            object.__setattr__(self, "cell_size", positive_pair(self.cell_size, "cell_size"))

    def _grid(self, domain: Domain) -> Grid:
        grid = domain.grid(self.shape, cell_size=self.cell_size)
        if not grid.n_cells:
            raise DomainError("no cell has its centre in the region; use smaller cells or a larger region.")
        return grid


class TransformMechanism(GridMechanism):
    """A mechanism that measures coefficients of the grid of counts.

    Subclasses are frozen dataclasses with `shape` or `cell_size`, and give `_axes` and `_costs`.
    """

    @abstractmethod
    def _axes(self, grid: Grid) -> tuple[AxisTransform, AxisTransform]:
        """Transforms along x and along y."""

    @abstractmethod
    def _costs(self, axes: tuple[AxisTransform, AxisTransform], whole: Fraction) -> Costs:
        """Cost of each pair of groups, [x group][y group]; they add up to the whole."""

    def _plan(self, domain: Domain, terms: Terms) -> Plan:
        grid = self._grid(domain)
        axes = self._axes(grid)
        cell = np.array([[0, 0, grid.x_lines[1], grid.y_lines[1]]])
        return Plan(
            mechanism=self.name,
            cells=grid.n_cells,
            currency="rho" if self.law is Law.GAUSSIAN else "epsilon",
            budget=self._steps(axes, terms),
            standard_deviation=math.sqrt(self._blank(domain, terms).moments(cell)[0][0]),
            memory=5 * 8 * axes[0].n_coefficients * axes[1].n_coefficients,
        )

    def _blank(self, domain: Domain, terms: Terms) -> Histogram:
        grid = self._grid(domain)
        axes = self._axes(grid)
        return Histogram(grid, np.zeros((grid.shape[1], grid.shape[0])), noise_model(axes, self._laws(axes, terms)))

    def _steps(self, axes: tuple[AxisTransform, AxisTransform], terms: Terms) -> dict[str, Fraction]:
        costs = self._costs(axes, spendable(self.law, terms.budget))
        return {
            f"coefficients of x group {i}, y group {j}": cost
            for i, row in enumerate(costs)
            for j, cost in enumerate(row)
        }

    def _laws(self, axes: tuple[AxisTransform, AxisTransform], terms: Terms) -> list[list[NoiseLaw]]:
        costs = self._costs(axes, spendable(self.law, terms.budget))
        return [
            [calibrate(self.law, cost, pair_sensitivity(*axes, (i, j), terms.neighbours)) for j, cost in enumerate(row)]
            for i, row in enumerate(costs)
        ]

    def _estimate(self, points: Points, domain: Domain, terms: Terms, noise: Noise) -> Histogram:
        grid = self._grid(domain)
        axes = self._axes(grid)
        laws = self._laws(axes, terms)
        coefficients = forward(count_cells(points, grid), axes)
        noisy = np.empty(coefficients.shape)
        for i, columns in enumerate(axes[0].groups):
            for j, rows in enumerate(axes[1].groups):
                noisy[rows, columns] = laws[i][j].add_to(coefficients[rows, columns], noise)
        return Histogram(grid, inverse(noisy, axes), noise_model(axes, laws))


def forward(counts: npt.NDArray[np.int64], axes: tuple[AxisTransform, AxisTransform]) -> npt.NDArray[np.int64]:
    """(y coefficients, x coefficients) of an array of (rows, columns)."""
    return axes[1].forward(axes[0].forward(counts).T).T


def inverse(
    coefficients: npt.NDArray[np.float64], axes: tuple[AxisTransform, AxisTransform]
) -> npt.NDArray[np.float64]:
    return axes[0].inverse(axes[1].inverse(coefficients.T).T)


def noise_model(axes: tuple[AxisTransform, AxisTransform], laws: list[list[NoiseLaw]]) -> SeparableNoise:
    def table(name: str) -> Any:
        return np.array([[getattr(law, name) for law in row] for row in laws])

    return SeparableNoise(axes[0], axes[1], table("variance"), table("kurtosis"))
