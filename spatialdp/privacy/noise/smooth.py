"""Medians by smooth sensitivity: noise in proportion to how far the median could move near the records.

The method is that of Nissim, Raskhodnikova and Smith (2007), derived anew for adding and removing records and with
tight constants for Cauchy noise. One call of `smooth_lines` draws the lines of all nodes of a tree level. Callers use
`medians.medians`, which checks the input. Doubles may only filter: a line that they do not settle is decided again in
integers. See ``docs/design/noise.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.privacy.noise import thresholds
from spatialdp.privacy.noise.source import Noise

__all__ = ["smooth_constants", "smooth_lines"]

# β = 7ε/10 makes S* times the noise scale about as small as it can be.
_SMOOTHING = Fraction(7, 10)
_MOST_SMOOTH = 64  # a larger ε is treated as this one; the noise is then 10^-20 of S*
_POINT_BITS = 63
_ROUNDING = 2.0**-48
_TINY = 5e-324  # the smallest positive double


@dataclass(frozen=True)
class _Cauchy:
    """For each node the law of the line floor(start + half / 2 + scale S* Z), and the terms that S* is the maximum of.

    Node i has the rows rows[i] to rows[i+1]; row k holds 2 A_k in `gaps` and ln(exp(-β k) A_k) in `scores`. `log` is
    the largest score, ln S* in doubles. Lines are clipped to `least` and `most`.
    """

    start: Integers
    half: Integers
    log: Floats
    scores: Floats
    gaps: Integers
    rows: Integers
    least: Integers
    most: Integers


def smooth_lines(
    values: Integers, starts: Integers, low: Integers, high: Integers, epsilon: Fraction, noise: Noise
) -> Integers:
    """Draw a line for each node: its median plus Cauchy noise in proportion to the median's smooth sensitivity.

    Parameters
    ----------
    values, starts, low, high
        As for `medians.medians`, checked; every node is at least two wide.
    epsilon : Fraction
        Cost of the level, for adding or removing one record.
    noise : Noise

    Returns
    -------
    int64 array
        A line s for each node, low < s < high.

    Privacy
    -------
    Neighbours: add or remove one record. With x_1 <= ... <= x_n, x_i = low for i < 1 and high - 1 for i > n, the
    median is f = (x_a + x_b) / 2, a = floor((n+1)/2), b = floor(n/2) + 1. Adding or removing one
    record moves f by at most half a gap next to it. At most k additions and removals can bring a gap
    (x_i, x_j) to the middle iff j - i - 1 <= k (records to remove between) and i + j is within
    k - (j - i - 1) + 1 of n + 1 (every other step shifts the middle by one half). This leaves, for
    the local sensitivity at distance k = 0..n,

        A_k = max over i in {floor((n-k)/2), ceil((n-k)/2)} of (x_{i+k+1} - x_i) / 2,     S* = max_k exp(-β k) A_k.

    S* bounds |f - f'| at both neighbours, and ln S* moves by at most β; `smooth_constants` says why noise
    scale * S* * Z, Z standard Cauchy, is then ε-private. Rounding and clipping are post-processing. Brute force over
    all data sets: ``tests/privacy/noise/test_smooth.py::test_smooth_sensitivity_brute_force``; ratios:
    ``test_smooth_ratio`` in the same file.

    Notes
    -----
    Z = ±X / Y, (X, Y) uniform in the quarter disc, so that Z is compared with a line by products alone. A line s splits
    between values s - 1 and s, hence floor(f + 1/2 + noise + 1/2).
    """
    beta, scale = smooth_constants(epsilon)
    law = _cauchy_law(_padded(values, starts, low, high), starts, beta)
    signs, across, along = _disc(law.start.size, noise)
    nearest, farthest = _filter(law, signs, across, along, scale)
    sure = _inside(across, along) & (nearest == farthest)
    for node in np.flatnonzero(~sure):
        point = (int(across[node]), int(along[node]))
        nearest[node] = _decide_line(law, int(node), int(signs[node]), point, beta, scale, noise)
    return nearest


@lru_cache(maxsize=64)
def smooth_constants(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return β and c for which f + c S* Z is ε-private, if S* is β-smooth and Z has the density 1 / (π (1 + z²)).

    Privacy
    -------
    The largest log-ratio d of two Cauchy densities with centres δ apart and scales g, g' has
    cosh d = ((g² + g'²) + δ²) / (2 g g'): the ratio is one of quadratic forms in (z, 1) whose matrices have the same
    determinant, so its extremes are a pair of eigenvalues exp(±d) with that sum. With g = c S, g' = c S exp(λ),
    0 <= λ <= β and δ <= S, cosh d <= cosh λ + exp(-λ) / (2 c²), which is convex in λ: it is enough that both
    ends, λ = 0 and λ = β, stay below cosh ε. Checked by ``tests/privacy/noise/test_smooth.py::test_cauchy_log_ratio``.

    Notes
    -----
    The constants of the paper, β = ε/6 and c = 6/ε, are private too, but their log-ratio never exceeds ε/3.
    Where S* is about a constant over β, these give 1/18 of that noise.

    Examples
    --------
    >>> [round(float(constant), 4) for constant in smooth_constants(Fraction(1))]
    [0.7, 0.9595]
    """
    epsilon = min(epsilon, Fraction(_MOST_SMOOTH))
    beta = _SMOOTHING * epsilon
    with localcontext(Context(prec=120)):
        growth, decay = _exp(epsilon), 1 / _exp(beta)
        whole = growth + 1 / growth
        # 1 / c² at the two ends: 2 (cosh ε - 1), and 2 (cosh ε - cosh β) exp(β). Correct to 60 digits or more.
        bound = min(whole - 2, (whole - decay - 1 / decay) / decay)
        scale = (1 / bound).sqrt() * (1 + Decimal(10) ** -30)
    return beta, Fraction(Context(prec=15, rounding=ROUND_CEILING).plus(scale))


def _exp(value: Fraction) -> Decimal:
    return (Decimal(value.numerator) / Decimal(value.denominator)).exp()


def _padded(values: Integers, starts: Integers, low: Integers, high: Integers) -> Integers:
    """Return the values of each node with low put before them and high - 1 behind them."""
    before = np.insert(values.astype(np.int64), starts[:-1], low)
    return np.insert(before, starts[1:] + np.arange(1, starts.size), high - 1)


def _cauchy_law(padded: Integers, starts: Integers, beta: Fraction) -> _Cauchy:
    counts = np.diff(starts)
    origin = starts[:-1] + 2 * np.arange(counts.size)
    twice = padded[origin + (counts + 1) // 2] + padded[origin + counts // 2 + 1]
    rows = np.concatenate([[0], np.cumsum(counts + 1)])
    steps = np.arange(rows[-1]) - np.repeat(rows[:-1], counts + 1)
    gaps = _widest_gaps(padded, np.repeat(origin, counts + 1), np.repeat(counts, counts + 1), steps)
    with np.errstate(divide="ignore"):
        scores = np.log(gaps) - math.log(2) - float(beta) * steps
    log = np.maximum.reduceat(scores, rows[:-1])
    least, most = padded[origin] + 1, padded[origin + counts + 1]
    return _Cauchy((twice >> 1) + 1, twice & 1, log, scores, gaps, rows, least, most)


def _widest_gaps(padded: Integers, origin: Integers, counts: Integers, steps: Integers) -> Integers:
    """Return 2 A_k for every node and k."""
    lower = origin + ((counts - steps) >> 1)
    upper = origin + ((counts - steps + 1) >> 1)
    steps = steps + 1
    return np.asarray(np.maximum(padded[lower + steps] - padded[lower], padded[upper + steps] - padded[upper]))


def _slack(log: Floats) -> Floats:
    """Return a bound on the absolute error of `log`.

    log gap < 28 and β k <= 28 + |log| for every row that can be the largest, and each of logarithm, product and
    difference is off by at most 16 units in the last place of those (2^-48 of them).
    """
    return (256 + np.abs(log)) * 2.0**-46


def _disc(count: int, noise: Noise) -> tuple[Integers, Integers, Integers]:
    """Draw signs, and 63-bit points of the quarter disc; points that are surely outside are drawn again."""
    signs, across, along = (np.empty(count, dtype=np.int64) for _ in range(3))
    undecided = np.arange(count)
    while undecided.size:
        words = noise.uniform_words(2 * undecided.size)
        signs[undecided] = 1 - 2 * (words[::2] & np.uint64(1)).astype(np.int64)
        across[undecided], along[undecided] = (words.reshape(-1, 2).T >> np.uint64(1)).astype(np.int64)
        undecided = undecided[_squared_radius(across[undecided], along[undecided]) > 1 + _ROUNDING]
    return signs, across, along


def _squared_radius(across: Integers, along: Integers) -> Floats:
    x, y = across * 2.0**-_POINT_BITS, along * 2.0**-_POINT_BITS
    return np.asarray(x * x + y * y)


def _inside(across: Integers, along: Integers) -> Booleans:
    return np.asarray(_squared_radius(across, along) < 1 - _ROUNDING)


def _filter(
    law: _Cauchy, signs: Integers, across: Integers, along: Integers, scale: Fraction
) -> tuple[Integers, Integers]:
    """Return the lines at the two ends of an interval that surely contains the noise."""
    slack = _slack(law.log) + 2 * _ROUNDING
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        size = np.exp(np.maximum(law.log, -600.0)) * float(scale)
        least = np.where(law.log < -600, 0.0, size) * (1 - slack) * across / (along + 1.0)
        most = size * (1 + slack) * ((across + 1.0) / along)
    # A noise of 0 has probability 0, and its sign decides the line where half is 0.
    return _line(law, np.copysign(np.maximum(least, _TINY), signs)), _line(law, np.copysign(most, signs))


def _line(law: _Cauchy, shift: Floats) -> Integers:
    """Return floor(start + half / 2 + shift), clipped.

    The fraction of the shift is compared with 1/2, which is exact; adding 1/2 would round.
    """
    shift = np.clip(shift, -(2.0**50), 2.0**50)
    whole = np.floor(shift)
    carry = (shift - whole >= 0.5) & (law.half == 1)
    return np.asarray(np.clip(law.start + whole.astype(np.int64) + carry, law.least, law.most))


def _decide_line(
    law: _Cauchy, node: int, sign: int, point: tuple[int, int], beta: Fraction, scale: Fraction, noise: Noise
) -> int:
    """Return the line of a point given by its first 63 bits, in integers; bits are drawn until the line is certain."""
    (across, along), bits = point, _POINT_BITS
    low, high = int(law.least[node]), int(law.most[node])
    start = int(law.start[node]) + Fraction(int(law.half[node]), 2)
    while True:
        if across**2 + along**2 >= 4**bits:
            across, along, bits = _word(noise), _word(noise), thresholds.WORD_BITS
        elif along and (across + 1) ** 2 + (along + 1) ** 2 <= 4**bits:
            least, most = _exact_sensitivity(law, node, beta, bits)
            ends = least * across / (along + 1), most * (across + 1) / along
            lines = {min(max(math.floor(start + sign * scale * end), low), high) for end in ends}
            if len(lines) == 1:
                return lines.pop()
        across, along = (part << thresholds.WORD_BITS | _word(noise) for part in (across, along))
        bits += thresholds.WORD_BITS


def _exact_sensitivity(law: _Cauchy, node: int, beta: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return two bounds of S* that agree to more than `bits` bits, from the rows that can be the largest."""
    part = slice(law.rows[node], law.rows[node + 1])
    close = np.flatnonzero(law.scores[part] >= law.log[node] - 2 * _slack(law.log[node]))
    bounds = []
    for k in close.tolist():
        gap, rate = int(law.gaps[part][k]), k * beta
        precision = bits + 2 * math.ceil(rate) + 64  # exp(-rate) > 4^-rate: 64 more bits than `bits` count
        floor = thresholds.exp_floor(rate, precision)
        bounds.append([Fraction(gap * end, 2 << precision) for end in (floor, floor + 1)])
    return max(least for least, _ in bounds), max(most for _, most in bounds)


def _word(noise: Noise) -> int:
    return int(noise.uniform_words(1)[0])
