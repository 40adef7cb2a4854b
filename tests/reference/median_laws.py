"""Exact laws of private medians, by their definitions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from spatialdp.privacy.noise.smooth import smooth_constants


def exponential_law(values, low, high, rate):
    """P(s) of every line, by the definition."""
    n = len(values)
    weights = {s: math.exp(-rate * abs(sum(v < s for v in values) - n / 2)) for s in range(low + 1, high)}
    whole = math.fsum(weights.values())
    return {s: weight / whole for s, weight in weights.items()}


def sampled_law(values, high, spend, rate):
    """Mixture of the exponential median's law over all samples."""
    law = dict.fromkeys(range(1, high), 0.0)
    for kept in itertools.product((False, True), repeat=len(values)):
        weight = rate ** sum(kept) * (1 - rate) ** (len(kept) - sum(kept))
        part = exponential_law([v for v, k in zip(values, kept, strict=True) if k], 0, high, spend)
        law = {s: law[s] + weight * p for s, p in part.items()}
    return law


def order_statistic(values, i, low, high):
    return low if i < 1 else high - 1 if i > len(values) else sorted(values)[i - 1]


def middle(values, low, high):
    n = len(values)
    return sum(order_statistic(values, i, low, high) for i in ((n + 1) // 2, n // 2 + 1)) / 2


def local_sensitivity_at(values, k, low, high):
    n = len(values)
    starts = {(n - k) // 2, (n - k + 1) // 2}
    return (
        max(order_statistic(values, i + k + 1, low, high) - order_statistic(values, i, low, high) for i in starts) / 2
    )


def smooth_sensitivity(values, low, high, beta):
    return max(math.exp(-k * beta) * local_sensitivity_at(values, k, low, high) for k in range(len(values) + 1))


def cauchy_law(values, low, high, beta, scale):
    """P(s) of every line of floor(median + 1 + scale S* Z), clipped."""
    size = scale * smooth_sensitivity(values, low, high, beta)
    centre = middle(values, low, high) + 1
    law = {}
    for s in range(low + 1, high):
        a = -math.inf if s == low + 1 else (s - centre) / size
        b = math.inf if s == high - 1 else (s + 1 - centre) / size
        if a > 0 or b < 0:  # far from the centre: subtract small angles, not nearly right ones
            law[s] = (math.atan(1 / a) - math.atan(1 / b)) / math.pi
        else:
            law[s] = (math.atan(b) - math.atan(a)) / math.pi
    return law


def smooth_law(values, low, high, epsilon):
    beta, scale = smooth_constants(Fraction(epsilon))
    return cauchy_law(values, low, high, float(beta), float(scale))
