"""How far a noisy sum may be off: honest half-widths from variance and kurtosis.

An answer is a weighted sum of independent noise. Its variance is known exactly; its shape lies between one Laplace
variable (one cell) and the normal (many cells), and the excess kurtosis says where. Two families run from one end to
the other: sums of n equal Laplace variables (variance-gamma, kurtosis 3/n), and one Laplace variable that makes up a
share p of the variance, in a sea of small ones (kurtosis 3p²). We take, for the sum's variance and kurtosis, the larger
of their two quantiles. That is exact at both ends and for both families, and an approximation for other mixtures.

Noise on a lattice of width `step` needs a continuity correction: half a step, or a whole one where the noise is so
sparse (kurtosis above 3) that most draws are zero. ``tests/test_release.py`` computes the coverage exactly, for 1 to
1000 cells, ε from 0.02 to 12 and levels from 0.5 to 0.999: never below nominal, and 3 % and two counts less would not
do. (At low levels, where the two families differ most, the larger one is up to a tenth too wide.)
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError

__all__ = ["half_width", "quantile_table"]


HIGHEST_LEVEL = 0.999  # beyond, quantiles would be guesses

# Values of kurtosis / 3 at which quantiles are computed; linear between them.
_THIRDS = np.linspace(0.0, 1.0, 129) ** 2


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
    quantiles = quantile_table(level)
    with np.errstate(invalid="ignore"):
        third = np.where(variance > 0, np.clip(kurtosis / 3, 0.0, 1.0), 0.0)
    quantile = np.interp(third, _THIRDS, quantiles)
    correction = np.where(kurtosis > 3, step, step / 2)
    return quantile * np.sqrt(variance) + np.where(variance > 0, correction, 0.0)


def quantile_table(level: float) -> Floats:
    """Quantiles of unit-variance laws with kurtosis / 3 = (i / last)², i = 0, 1, ..., last; linear between them."""
    if not isinstance(level, float | int) or not 0 < level <= HIGHEST_LEVEL:
        raise ParameterError(f"level is {level!r}; it must be above 0 and at most {HIGHEST_LEVEL}, such as 0.95.")
    return _quantiles(float(level))


@lru_cache(maxsize=64)
def _quantiles(level: float) -> Floats:
    """Two-sided quantiles of unit-variance laws, one for each of `_THIRDS`.

    Both families are normal with a random standard deviation: P(|Z| spread > q) = 1 - level is solved by bisection,
    for all of them at once.
    """
    from scipy.special import ndtr, ndtri

    spread, weights = _spreads()
    low, high = np.zeros(spread.shape[:2]), np.full(spread.shape[:2], 60.0)
    for _ in range(50):
        middle = (low + high) / 2
        above = ndtr(-middle[..., None] / spread) @ weights > 1 - level
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    normal = float(ndtri((1 + level) / 2))
    return np.concatenate([[normal], high.max(axis=0)])


@lru_cache(maxsize=1)
def _spreads() -> tuple[Floats, Floats]:
    """Standard deviations at Gauss-Legendre nodes of their distribution, for both families, and the nodes' weights.

    Variance-gamma: sqrt(G / n), G gamma(n). A Laplace variable with share p: sqrt(1 - p + p E), E exponential.
    """
    from scipy.special import gammaincinv

    nodes, weights = np.polynomial.legendre.leggauss(200)
    uniform = (nodes + 1) / 2
    shape, share = 1 / _THIRDS[1:, None], np.sqrt(_THIRDS[1:, None])
    equal = np.sqrt(gammaincinv(shape, uniform) / shape)
    one_large = np.sqrt(1 - share - share * np.log1p(-uniform))
    return np.stack([equal, one_large]), weights
