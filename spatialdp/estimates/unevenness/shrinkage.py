"""How are spreads and counts estimated where noise may hide them? By shrinking to what larger blocks say.

Both functions compare a noisy number with what is expected from one scale above, and weigh the two by
how much noise there is. So nothing explodes where noise is larger than the signal, and nothing vanishes
either. Grids (`grid`) and trees (`tree`) share them. See ``docs/design/unevenness.md``. This module reads
no record: all numbers come from a release.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Floats

__all__ = [
    "PRIOR",
    "cell_weights",
    "expected_squares",
    "extrapolated",
    "grown",
    "heterogeneity",
    "posterior",
    "small_box",
]

PRIOR = 0.2  # heterogeneity of the largest blocks, before any number is seen
_LEAST = 1e-4


def cell_weights(counts: Floats, variance: Floats | float) -> Floats:
    """Weights of blocks in sums of squared differences: about one over the count, bounded where noise is large."""
    return np.asarray(1 / (np.maximum(counts, 3 * np.sqrt(variance)) + 3))


def heterogeneity(numerator: float, denominator: float, error: float, prior: float) -> float:
    """Squared coefficient of variation of the densities of neighbouring blocks, between 0.0001 and 1.

    Parameters
    ----------
    numerator, denominator : float
        Weighted sums of squared differences and of squared counts, both freed of noise and of the
        variation that evenly spread records have.
    error : float
        Standard error of the numerator.
    prior : float
        Heterogeneity of blocks one scale above; the result goes to it where the error is large.

    Examples
    --------
    >>> heterogeneity(30.0, 100.0, 0.0, prior=0.2), heterogeneity(0.0, 0.0, 5.0, prior=0.2)
    (0.3, 0.2)
    """
    if max(denominator, 0.0) + 2 * error <= 0:
        return prior
    ratio = (max(numerator, 0.0) + 2 * error * prior) / (max(denominator, 0.0) + 2 * error)
    return float(np.clip(ratio, _LEAST, 1.0))


def extrapolated(finest: float, above: float) -> float:
    """Heterogeneity one scale below the finest: it goes on growing as it did, by at most one half, and is at most 1."""
    return min(1.0, finest * min(max(finest / above, 1.0), 1.5))


def posterior(
    parent: tuple[Floats, Floats], share: Floats, uneven: float, noisy: Floats, variance: Floats | float
) -> tuple[Floats, Floats]:
    """Mean and variance of a block's count, given what is known of its parent and the block's own noisy count.

    Parameters
    ----------
    parent : pair of arrays
        Mean and variance of the parent's count, repeated for each block.
    share : array
        Share of the parent's area that the block has.
    uneven : float
        Variance of the block's share of the parent's records, over `share` (1 - `share`).
    noisy : array
        Released counts of the blocks.
    variance : array or float
        Variance of their noise.
    """
    mean, spread = parent
    binomial = share * (1 - share)
    positive = np.maximum(mean, 0.0)
    before = (positive**2 + spread) * binomial * uneven + positive * binomial + share**2 * spread
    expected, both = share * mean, before + variance
    with np.errstate(invalid="ignore", divide="ignore"):
        known = np.where(both > 0, before / both, 0.0)
    return expected + known * (noisy - expected), known * variance


def expected_squares(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Expected squared count, and a cautious expected count, of blocks whose counts are known up to a variance."""
    return np.maximum(mean, 0.0) ** 2 + variance, np.maximum(mean, 0.3 * np.sqrt(variance))


def grown(table: Floats, length: Floats) -> Floats:
    """The growth of edges of some length in cells, from a table for 1, 2, 4, ...: linear in log2, constant at the end.

    Examples
    --------
    >>> grown(np.array([1.0, 1.5]), np.array([0.5, 1.0, 2.0, 64.0])).tolist()
    [1.0, 1.0, 1.5, 1.5]
    """
    return np.interp(np.log2(np.maximum(length, 1.0)), np.arange(table.size, dtype=np.float64), table)


def small_box(area: Floats) -> Floats:
    """Extra for boxes below half a cell, by their area in cells: such boxes are asked where records are."""
    with np.errstate(divide="ignore"):
        return np.where(area > 0, np.maximum(1 / (2 * area) - 1, 0.0), 0.0)
