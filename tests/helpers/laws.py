"""Drawn outcomes against exact laws: chi-square tests, log-ratios, and the bits at which an outcome changes."""

from __future__ import annotations

import math
from collections import Counter

import mpmath
import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6  # p values below it are findings; seeds are fixed and were not chosen


def fits(observed, probabilities):
    """Chi-square p-value of outcomes against a dict of probabilities; those expected less than 8 times are pooled."""
    counts, total = Counter(np.asarray(observed).tolist()), len(observed)
    assert set(counts) <= set(probabilities)
    seen, expected, rest = [], [], [0, 0.0]
    for outcome, probability in probabilities.items():
        if probability * total < 8:
            rest = [rest[0] + counts[outcome], rest[1] + probability * total]
        else:
            seen.append(counts[outcome])
            expected.append(probability * total)
    if rest[1] >= 1:
        seen.append(rest[0])
        expected.append(rest[1])
    expected = np.array(expected) * (sum(seen) / sum(expected))
    return stats.chisquare(seen, expected).pvalue


def worst_log_ratio(one_law, other_law):
    return max(abs(math.log(one_law[o] / other_law[o])) for o in one_law)


def boundaries(sizes, rates, bits):
    """floor(2^bits C_j / C), C_j the cumulative weights."""
    with mpmath.workprec(bits + 200):
        weights = [
            size * mpmath.exp(-mpmath.mpf(r.numerator) / r.denominator) for size, r in zip(sizes, rates, strict=True)
        ]
        whole, sums = sum(weights), np.cumsum(np.array(weights, dtype=object))
        return [int(mpmath.floor(part / whole * mpmath.mpf(2) ** bits)) for part in sums[:-1]]
