"""How far may a noisy sum be off? Honest half-widths from variance and kurtosis.

An answer is a weighted sum of independent noise. Its variance is known exactly; its shape lies
between one Laplace variable (one cell) and the normal law (many cells), and the excess kurtosis says
where. Two families run from one end to the other: sums of n equal Laplace variables (variance-gamma,
kurtosis 3/n), and one Laplace variable that makes up a share p of the variance beside many small
ones (kurtosis 3p²). The half-width is the larger of the two families' quantiles at the sum's variance
and kurtosis. That is exact at both ends, never too narrow for either family, and an approximation for
other mixtures.

Noise on a lattice of width `step` needs a continuity correction: half a step, or a whole step where
the noise is so sparse (kurtosis above 3) that most draws are zero. Fitted estimates need it too: they are
sums of lattice noise with weights that are at most 1. Where noise is rare, so that all this is far too
wide, the bounds of Markov's inequality for the second and the fourth moment are used instead; they hold
for every law. Noise in whole steps, such as that of whole cells that were measured one by one, has
half-widths in whole steps.

``tests/estimates/test_intervals.py`` computes the coverage exactly, for 1 to 1000 cells, ε from 0.02 to
12 and levels from 0.5 to 0.999, and ``tests/contract/test_coverage.py`` measures it for every structure:
it is not below nominal. (At low levels, where the two families differ most, the larger one is up to a
tenth too wide.) See ``docs/design/boxes.md``; the explorer's page takes its quantiles from
`quantile_table`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from spatialdp._support.arrays import Booleans, Floats
from spatialdp.errors import ParameterError
from spatialdp.wording import parameter

__all__ = ["HIGHEST_LEVEL", "half_width", "quantile_table"]


HIGHEST_LEVEL = 0.999  # beyond this level, quantiles would be guesses

# Values of kurtosis / 3 at which quantiles are computed; between them they are interpolated.
_THIRDS = np.linspace(0.0, 1.0, 129) ** 2


def half_width(
    variance: Floats, kurtosis: Floats, step: float, level: float, *, whole: Booleans | bool = False
) -> Floats:
    """Half-width of the central interval that covers the noise with probability `level`.

    Parameters
    ----------
    variance, kurtosis : arrays
        Variance and excess kurtosis of the noise in each answer.
    step : float
        Width of the lattice of the measurements' noise; 0 for continuous noise.
    level : float
        Between 0 and 1.
    whole : bool array or bool
        Whether the noise of an answer is a whole multiple of the step.

    Examples
    --------
    >>> float(half_width(np.array([2.0]), np.array([3.0]), 0.0, 0.95).round(3)[0])
    2.996
    >>> float(half_width(np.array([2.0]), np.array([3.0]), 1.0, 0.95, whole=True)[0])
    3.0
    """
    quantiles = quantile_table(level)
    with np.errstate(invalid="ignore"):
        third = np.where(variance > 0, np.clip(kurtosis / 3, 0.0, 1.0), 0.0)
    quantile = np.interp(third, _THIRDS, quantiles)
    correction = np.where(kurtosis > 3, step, step / 2)
    deviation = np.sqrt(variance)
    width = quantile * deviation + np.where(variance > 0, correction, 0.0)
    fourth_root = ((kurtosis + 3) / (1 - level)) ** 0.25
    width = np.minimum(width, deviation * np.minimum(fourth_root, (1 - level) ** -0.5))
    return np.asarray(np.where(whole, np.floor(width / step + 1e-9) * step, width) if step else width)


def quantile_table(level: float) -> Floats:
    """Two-sided quantiles of laws with variance 1 and kurtosis / 3 = (i / last)², i = 0, 1, ..., last.

    Quantiles of other laws are interpolated between these.
    """
    if not isinstance(level, float | int) or not 0 < level <= HIGHEST_LEVEL:
        raise ParameterError(
            f"{parameter('level')} is {level!r}; it must be above 0 and at most {HIGHEST_LEVEL}, such as 0.95."
        )
    return _quantiles(float(level))


@lru_cache(maxsize=64)
def _quantiles(level: float) -> Floats:
    """Two-sided quantiles of laws with variance 1, one for each of `_THIRDS`: the larger of both families'.

    Both families are normal with a random standard deviation, here `spread`. Bisection solves
    P(|Z| spread > q) = 1 - level for all laws at once.
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
    """Standard deviations of both families at Gauss-Legendre nodes of their distribution, and the nodes' weights.

    The standard deviation is sqrt(G / n) with G gamma(n) for n equal Laplace variables, and
    sqrt(1 - p + p E) with E exponential for one Laplace variable with the share p.
    """
    from scipy.special import gammaincinv

    nodes, weights = np.polynomial.legendre.leggauss(200)
    uniform = (nodes + 1) / 2
    shape, share = 1 / _THIRDS[1:, None], np.sqrt(_THIRDS[1:, None])
    equal = np.sqrt(gammaincinv(shape, uniform) / shape)
    one_large = np.sqrt(1 - share - share * np.log1p(-uniform))
    return np.stack([equal, one_large]), weights
