"""How far a noisy sum may be off: honest half-widths from variance and kurtosis.

An answer is a weighted sum of independent noise. Its variance is known exactly; its shape lies
between one Laplace variable (one cell) and the normal (many cells). The sum of n equal Laplace
variables is a symmetric variance-gamma variable with excess kurtosis 3/n, so we take the
quantile of the variance-gamma law that has the sum's variance and kurtosis. That is exact for n equal
Laplace terms and for the normal limit, and matches four moments in between.

Noise on a lattice of width `step` needs a continuity correction: half a step, or a whole one
where the noise is so sparse (kurtosis above 3) that most draws are zero. With it, coverage was
computed exactly for 1 to 1000 cells, ε from 0.02 to 12 and levels from 0.5 to 0.999: never below nominal, and
never more than one count wider than necessary (tests/test_intervals.py repeats that).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from spatialdp.errors import ParameterError

__all__ = ["half_width"]

Floats = npt.NDArray[np.float64]

# Shapes n = 3 / kurtosis at which quantiles are computed; linear in 1/n between them.
_INVERSE_SHAPES = np.linspace(0.0, 1.0, 129) ** 2


def half_width(variance: Floats, kurtosis: Floats, step: float, level: float) -> Floats:
    """Half-width of the central interval that covers with probability `level`.

    Parameters
    ----------
    variance, kurtosis : arrays
        Of the noise in each answer (excess kurtosis).
    step : float
        Width of the lattice the noise lives on; 0 for continuous noise.
    level : float
        Between 0 and 1.

    Examples
    --------
    >>> float(half_width(np.array([2.0]), np.array([3.0]), 0.0, 0.95).round(3)[0])
    2.996
    """
    if not 0 < level < 1:
        raise ParameterError(f"level is {level}; it must lie strictly between 0 and 1, such as 0.95.")
    with np.errstate(invalid="ignore"):
        inverse_shape = np.where(variance > 0, np.clip(kurtosis / 3, 0.0, 1.0), 0.0)
    quantile = np.interp(inverse_shape, _INVERSE_SHAPES, _quantiles(level))
    correction = np.where(kurtosis > 3, step, step / 2)
    return quantile * np.sqrt(variance) + np.where(variance > 0, correction, 0.0)


@lru_cache(maxsize=64)
def _quantiles(level: float) -> Floats:
    """Two-sided quantiles of unit-variance variance-gamma laws, one for each of `_INVERSE_SHAPES`.

    Solves P(|Z| sqrt(G / n) > q) = 1 - level, Z normal and G gamma(n), by bisection for all n at once.
    """
    from scipy.special import ndtr, ndtri

    spread, weights = _spreads()
    low, high = np.zeros(len(spread)), np.full(len(spread), 60.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = ndtr(-middle[:, None] / spread) @ weights > 1 - level
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    normal = float(ndtri((1 + level) / 2))
    return np.concatenate([[normal], high])


@lru_cache(maxsize=1)
def _spreads() -> tuple[Floats, Floats]:
    """Standard deviations sqrt(G / n) at Gauss-Legendre nodes of G's distribution, and their weights."""
    from scipy.special import gammaincinv

    nodes, weights = np.polynomial.legendre.leggauss(200)
    shapes = 1 / _INVERSE_SHAPES[1:, None]
    return np.sqrt(gammaincinv(shapes, (nodes + 1) / 2) / shapes), weights
