"""What does a count with Laplace noise say about the truth? Less than its variance suggests, if others contradict it.

Least squares treats noise as Gaussian. Laplace noise has more large values, so a count that is far from what all other
counts suggest deserves less weight, and one that agrees with them deserves more. Expectation propagation finds, for
each count, the Gaussian noise that says the same as its Laplace noise beside all other counts. What comes out is again
a tree of counts with variances, which least squares and fields use as they are. The formulas are in
``docs/design/adaptive.md``. Nothing here sees a record.
"""

from __future__ import annotations

import math

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.space.boxes.tree import Tree
from spatialdp.trees.least_squares import two_pass

__all__ = ["laplace_moments", "with_laplace_noise"]

ROUNDS = 4
STEP = 0.7  # how far each round goes towards what it finds
_ROOT_HALF = math.sqrt(0.5)
_FAR = 100.0  # beyond so many standard deviations, the variance of a cut-off normal number is known by its series
_BLOCK = 2**14  # counts that are worked with at a time: they stay in the processor's cache
_KNOWN = 1e-6  # a count is left alone if all others say less than this share of what is known about its node


def with_laplace_noise(tree: Tree, measured: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """Counts and variances that stand, in least squares, for counts with Laplace noise.

    Parameters
    ----------
    tree : Tree
    measured, variances : (nodes,) arrays
        Noisy counts, and the variances of their Laplace noise; finite and above 0.

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> tree, variances = quadtree(1), np.full(5, 2.0)
    >>> counts, noise = with_laplace_noise(tree, np.array([40.0, 10, 10, 10, 30]), variances)
    >>> bool(noise.min() > 10)  # the counts contradict each other, so each of them is taken to be far off
    True
    """
    rate = np.sqrt(2 / variances)
    precision, pull = 1 / variances, measured / variances
    for _ in range(ROUNDS):
        noise = 1 / precision
        fit = two_pass(tree, pull * noise, noise, in_place=True)
        known = 1 / fit.estimate_variances()
        for start in range(0, tree.n_nodes, _BLOCK):
            some = slice(start, start + _BLOCK)
            _go_towards(precision[some], pull[some], fit.estimates[some], known[some], measured[some], rate[some])
    return pull / precision, 1 / precision


def _go_towards(precision: Floats, pull: Floats, fitted: Floats, known: Floats, measured: Floats, rate: Floats) -> None:
    """Change precision and pull of counts, in place, towards those that agree with what all others say."""
    # What all other counts say about each node: a normal distribution.
    others = known - precision
    usable = others > _KNOWN * known
    others = np.where(usable, others, 1.0)
    centre = (fitted * known - pull) / others
    mean, variance = laplace_moments(centre, 1 / others, measured, rate)
    # A count that is far from all others pulls towards itself, but its precision vanishes.
    new_precision, new_pull = np.maximum(1 / variance - others, 0.0), mean / variance - centre * others
    np.copyto(precision, STEP * new_precision + (1 - STEP) * precision, where=usable)
    np.copyto(pull, STEP * new_pull + (1 - STEP) * pull, where=usable)


def laplace_moments(centre: Floats, variance: Floats, measured: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of a normal number, once it has been measured with Laplace noise.

    Parameters
    ----------
    centre, variance : float arrays
        Of the normal distribution, before the measurement.
    measured : float array
    rate : float array
        One over the scale of the Laplace noise.

    Examples
    --------
    >>> mean, variance = laplace_moments(*(np.array([each]) for each in (1.0, 4.0, 3.0, 0.7)))
    >>> mean.round(5).tolist(), variance.round(5).tolist()
    ([2.22525], [1.73476])
    """
    from scipy.special import erfcx

    # Below and above the measurement the density is that of a normal number, moved and cut off. With places t in
    # standard deviations, and Φ(t) = exp(-t²/2) erfcx(-t/√2) / 2, the exponentials cancel in the odds of both sides.
    deviation, gap, shift = np.sqrt(variance), centre - measured, rate * variance
    below, above = gap + shift, gap - shift
    low, high = -below / deviation, above / deviation
    tail_low, tail_high = erfcx(-_ROOT_HALF * low), erfcx(-_ROOT_HALF * high)
    with np.errstate(over="ignore"):
        share = 1 / (1 + tail_high / tail_low)
    (pull_low, spread_low), (pull_high, spread_high) = _cut_off(low, tail_low), _cut_off(high, tail_high)
    mean_low, mean_high = below - deviation * pull_low, above + deviation * pull_high
    mean = measured + share * mean_low + (1 - share) * mean_high
    within = variance * (share * spread_low + (1 - share) * spread_high)
    return mean, within + share * (1 - share) * (mean_low - mean_high) ** 2


def _cut_off(place: Floats, tail: Floats) -> tuple[Floats, Floats]:
    """By how much cutting a standard normal number off at a place moves its mean, and what its variance becomes."""
    pull = math.sqrt(2 / math.pi) / tail
    spread = np.maximum(1 - (place + pull) * pull, 1e-12)
    far = np.flatnonzero(place < -_FAR)
    if far.size:
        square = place[far] ** 2
        spread[far] = 1 / square - 6 / square**2
    return pull, spread
