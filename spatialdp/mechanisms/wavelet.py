"""Private wavelets (Privelet): noise in the Haar coefficients of rows and columns.

A range of cells is made of few coefficients, so that its noise grows with the logarithm of its length and not with the
length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from spatialdp._options import Option
from spatialdp.axes import AxisTransform, HaarAxis, IdentityAxis
from spatialdp.domain import Grid
from spatialdp.mechanisms.transform import Costs, TransformMechanism
from spatialdp.privacy.budget import Number, divide
from spatialdp.privacy.laws import Law

__all__ = ["Wavelet"]


class ScaleBudget(Option):
    """How a wavelet's budget is divided over its scales."""

    UNIFORM = "uniform"
    OPTIMISED = "optimised"


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
    budget : {"uniform", "optimised"}
        The same budget for every pair of scales, as published, or the one that is best for the mean over all boxes.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    A record changes one coefficient of each pair of scales, by ±1: each pair has L1 and L2 sensitivity 1 under
    add-remove (2 under replace, but for the total) and costs its own budget; they add up to ε. Padding to a power of
    two adds cells that are known to be empty and holds no record. Inversion reads released values only. Xiao, Wang,
    Gehrke, "Differential privacy via wavelet transforms" (ICDE 2010). Sensitivities are checked by brute force in
    ``tests/test_transforms.py``.

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
    axis: Transformed = Transformed.BOTH
    budget: ScaleBudget = ScaleBudget.UNIFORM
    law: Law = Law.DISCRETE_LAPLACE

    def __post_init__(self) -> None:
        for name, option in (("law", Law), ("axis", Transformed), ("budget", ScaleBudget)):
            object.__setattr__(self, name, option.parse(getattr(self, name)))
        self._check_grid()

    def _axes(self, grid: Grid) -> tuple[AxisTransform, AxisTransform]:
        nx, ny = grid.shape
        x = IdentityAxis(nx) if self.axis is Transformed.Y else HaarAxis(nx)
        y = IdentityAxis(ny) if self.axis is Transformed.X else HaarAxis(ny)
        return x, y

    def _costs(self, axes: tuple[AxisTransform, AxisTransform], whole: Fraction) -> Costs:
        x, y = axes
        if self.budget is ScaleBudget.UNIFORM:
            weights: Sequence[Number] = [1] * (x.n_groups * y.n_groups)
        else:
            # Σ n/ε² is least for ε ∝ n^(1/3), Σ n/ρ for ρ ∝ n^(1/2); n is the mean weight of a pair of scales in a box.
            power = 1 / 2 if self.law is Law.GAUSSIAN else 1 / 3
            weights = (np.outer(x.mean_squares(), y.mean_squares()) ** power).ravel().tolist()
        costs = divide(whole, weights)
        return [costs[i * y.n_groups : (i + 1) * y.n_groups] for i in range(x.n_groups)]
