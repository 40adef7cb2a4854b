"""What is the best table of flows, if all pairs and both margins were counted? Least squares, in closed form.

With x the counts of m x m pairs, y their noisy counts (variance v), r and c the noisy counts of origins and of
destinations (variance w v), the fit minimises

    Σ (x_ij - y_ij)² + Σ (x_i. - r_i)² / w + Σ (x_.j - c_j)² / w.

Its solution is x_ij = y_ij + α_i + β_j, where (m + w) α_i = r_i - y_i. - B and (m + w) β_j = c_j - y_.j - A, with the
sums A of α and B of β. Hence (2 m + w)(A + B) = Σ r + Σ c - 2 Σ y and w (A - B) = Σ r - Σ c. Answers are linear in the
counts, so their noise is known: see `product_moments`. This module sees released numbers only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import comb

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.estimates.base import moments_of
from spatialdp.space.frames.selection import Selection

__all__ = ["CountNoise", "fitted", "noise_ratio", "product_moments"]


_LEAST_RATIO = 1e-9


@dataclass(frozen=True)
class CountNoise:
    """The noise of one count: its variance, excess kurtosis, and the width of the lattice that it lies on.

    Examples
    --------
    >>> CountNoise(2.0, 3.0, 1.0).fourth
    12.0
    """

    variance: float
    kurtosis: float
    step: float

    @property
    def fourth(self) -> float:
        """The fourth cumulant."""
        return self.kurtosis * self.variance**2


def noise_ratio(pair: CountNoise, margin: CountNoise | None) -> float:
    """Return the variance of a margin over that of a pair; at huge ε either may be too small for a double.

    It is infinite if margins were not counted.

    Examples
    --------
    >>> noise_ratio(CountNoise(2.0, 3.0, 1.0), CountNoise(8.0, 3.0, 1.0))
    4.0
    """
    if margin is None or not pair.variance:
        return math.inf  # pairs are exact: margins cannot improve them
    return max(margin.variance / pair.variance, _LEAST_RATIO)


def fitted(pairs: Floats, origins: Floats, destinations: Floats, ratio: float) -> Floats:
    """Return the fitted counts of all pairs, (m, m).

    Parameters
    ----------
    pairs : (m, m) array
        Noisy counts, a row for each origin.
    origins, destinations : (m,) arrays
        Noisy counts of margins.
    ratio : float
        Variance of a margin over that of a pair.

    Examples
    --------
    >>> fitted(np.zeros((2, 2)), np.array([2.0, 0.0]), np.array([1.0, 1.0]), 1e-9).round(6).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    m = len(pairs)
    rows, columns = origins - pairs.sum(axis=1), destinations - pairs.sum(axis=0)
    together, apart = (rows.sum() + columns.sum()) / (2 * m + ratio), (rows.sum() - columns.sum()) / ratio
    alpha = (rows - (together - apart) / 2) / (m + ratio)
    beta = (columns - (together + apart) / 2) / (m + ratio)
    return np.asarray(pairs + alpha[:, None] + beta)


def product_moments(
    origins: Selection, destinations: Selection, pair: CountNoise, margin: CountNoise | None
) -> tuple[Floats, Floats]:
    """Return variance and excess kurtosis of the fitted sums over products of sets, (sets, sets).

    With shares a of origins and b of destinations, s = Σ a, t = Σ b, p = t / (m + w), q = s / (m + w) and
    h = 2 s t / ((m + w)(2 m + w)), the weight of y_ij is (a_i - q)(b_j - p) + h - p q, that of r_i is p a_i - h / 2,
    and that of c_j is q b_j - h / 2.
    """
    m, ratio = origins.size, noise_ratio(pair, margin)
    totals = [each.sums(np.ones(m)) for each in (origins, destinations)]
    s, t = totals[0][:, None], totals[1][None, :]
    p, q = t / (m + ratio), s / (m + ratio)
    h = 2 * s * t / ((m + ratio) * (2 * m + ratio))
    about = [
        _power_sums(each, total / (m + ratio)) for each, total in zip((origins, destinations), totals, strict=True)
    ]
    plain = [_power_sums(each, np.zeros(each.count)) for each in (origins, destinations)]

    def cumulant(power: int, of_pair: float, of_margin: float) -> Floats:
        pairs = sum(
            comb(power, k) * (h - p * q) ** (power - k) * about[0][k][:, None] * about[1][k] for k in range(power + 1)
        )
        both = sum(
            comb(power, k) * (-h / 2) ** (power - k) * (p**k * plain[0][k][:, None] + q**k * plain[1][k])
            for k in range(power + 1)
        )
        return np.asarray(of_pair * pairs + of_margin * both)

    of_margin = (0.0, 0.0) if margin is None else (margin.variance, margin.fourth)
    return moments_of(cumulant(2, pair.variance, of_margin[0]), cumulant(4, pair.fourth, of_margin[1]))


def _power_sums(sets: Selection, shift: Floats) -> list[Floats]:
    """Return Σ (share - shift)^k over all places, for k from 0 to 4, of each set; a place outside has the share 0."""
    owner = np.repeat(np.arange(sets.count), sets.sizes)
    moved = (np.ones(sets.cells.size) if sets.shares is None else sets.shares) - shift[owner]
    outside = sets.size - sets.sizes
    return [np.bincount(owner, weights=moved**k, minlength=sets.count) + outside * (-shift) ** k for k in range(5)]
