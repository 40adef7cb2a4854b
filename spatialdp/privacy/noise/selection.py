"""Private selection: draw one of finitely many public candidates by a score that depends on the records.

Two mechanisms, both exact: `exponential` and `permute_and_flip`; and `middle`, an exponential mechanism that draws a
place near the median of a fixed number of values. Scores are exact rationals, so the probabilities are
known numbers; a draw compares uniform numbers with them in fixed point, and takes more bits of both if a comparison is
not certain. Scores become whole numbers of steps below the best one, and equal ones are looked up once, so that 10^5
candidates take about a tenth of a second. Scores must not be floats. `amplified_epsilon` says how much a step may spend
on a secret sample of the records. Private medians, which are selections too, are in `medians`. See
``docs/design/noise.md`` and ``docs/design/selection.md``.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from numbers import Rational

import numpy as np

from spatialdp._support.arrays import Booleans, Integers
from spatialdp.errors import ParameterError
from spatialdp.privacy.noise import thresholds
from spatialdp.privacy.noise.source import Noise

__all__ = ["amplified_epsilon", "decide", "exponential", "middle", "permute_and_flip"]

_GUARD = 128  # bits of the working precision beyond those that are compared
_DIGITS = 15  # of ε', which is rounded down
_WORKING_DIGITS = 80


def exponential(
    scores: Sequence[Rational], epsilon: Fraction, sensitivity: Fraction, noise: Noise, monotone: bool = False
) -> int:
    """Draw a candidate with probability proportional to exp(ε score / (2 Δ)).

    Parameters
    ----------
    scores : sequence of int or Fraction
        One for each public candidate; larger is better.
    epsilon : Fraction
        Cost of the draw.
    sensitivity : Fraction
        Δ: the most that one record can move any score.
    noise : Noise
    monotone : bool
        Whether one record moves all scores in one direction (up or down, or not at all). The probability is then
        proportional to exp(ε score / Δ).

    Returns
    -------
    int
        The position of the candidate in `scores`.

    Privacy
    -------
    Neighbours: those that Δ was computed for. A weight changes by at most the factor exp(ε/2), and so does the sum of
    weights, hence ε (McSherry, Talwar 2007, theorem 6). Monotone: weight and sum change in the same direction, so one
    of the two lowers the ratio of probabilities or leaves it, and the other raises it by at most exp(ε). Distribution
    and worst ratio are enumerated by ``tests/privacy/noise/test_selection.py::test_exponential_ratio``, which also
    catches the rule without the 2.

    The draw also costs no more than ρ = ε²/8 of zCDP (Cesar, Rogers, ALT 2021; ranges are from Durfee, Rogers, NeurIPS
    2019, and Dong, Durfee, Rogers, ICML 2020). Let L(o) = ln P(o) / Q(o) between neighbours. The sums of weights are
    the same for all o, so max L - min L is the spread of ε Δscore / (2 Δ), at most ε: the range that the theorem asks
    for is ε itself in this parametrisation (also if monotone). The rest is Hoeffding's lemma: K(t) = ln E_Q exp(t L)
    has K(0) = K(1) = 0, and K''(t) is the variance of a variable in an interval of length ε, at most ε²/4. So
    K(t) - ε²/8 · t (t - 1) is concave and 0 at 0 and 1, hence not above 0 for t > 1, and the Rényi divergence of order
    t is K(t) / (t - 1) <= t ε²/8. This argument does not hold for `permute_and_flip`. Computed for many orders by
    ``tests/privacy/noise/test_selection.py::test_exponential_is_concentrated``.

    Examples
    --------
    >>> from spatialdp.privacy.noise.source import SystemNoise
    >>> exponential([0, 0, 1000], Fraction(1), Fraction(1), SystemNoise())
    2
    """
    gaps, step = _gaps(scores)
    rate = _rate(epsilon, sensitivity, monotone) * step
    return decide([1] * len(gaps), gaps, rate, _word(noise), lambda: _word(noise))


def permute_and_flip(
    scores: Sequence[Rational], epsilon: Fraction, sensitivity: Fraction, noise: Noise, monotone: bool = False
) -> int:
    """Draw a candidate by tossing a coin for one after the other, in random order, until one is accepted.

    Candidate o is accepted with probability exp(-ε (best - score) / (2 Δ)), so a best one is always accepted.

    Parameters
    ----------
    scores, epsilon, sensitivity, noise, monotone
        As for `exponential`.

    Returns
    -------
    int
        The position of the candidate in `scores`.

    Notes
    -----
    Which candidates would be accepted does not depend on their order, and a random order begins with any of these
    equally often. So all coins are tossed at once, and one of the accepted candidates is drawn.

    Privacy
    -------
    The same ε as `exponential`, and the expected score is never worse (McKenna, Sheldon 2020, theorems 1 and 2).
    Monotone: see ``docs/design/selection.md``. Enumerated over all orders by
    ``tests/privacy/noise/test_selection.py::test_permute_and_flip_ratio``.

    Examples
    --------
    >>> from spatialdp.privacy.noise.source import SystemNoise
    >>> permute_and_flip([7], Fraction(1), Fraction(1), SystemNoise())
    0
    """
    gaps, step = _gaps(scores)
    rate = _rate(epsilon, sensitivity, monotone) * step
    (accepted,) = np.nonzero(_accepted(gaps, rate, noise))
    return int(accepted[noise.below(np.array([accepted.size]))[0]])


def middle(values: Integers, places: int, epsilon: Fraction, noise: Noise) -> int:
    """Draw a place near the median of a public number of values, by the exponential mechanism.

    Place k has the weight exp(-ε gap / 2). The gap is the number of values beyond half of them that are all below k, or
    all above it: max(0, #{values < k} - n/2, #{values > k} - n/2).

    Parameters
    ----------
    values : int array
        From 0 to places - 1, in any order; their number n is public.
    places : int
    epsilon : Fraction
        Cost of the draw.
    noise : Noise

    Returns
    -------
    int
        From 0 to places - 1.

    Privacy
    -------
    Neighbours: lists of which one value is different. That moves both numbers of each place, and so its gap, by at most
    1. Read off the sampler for all neighbours: ``tests/audit/test_aggregate.py``.

    Notes
    -----
    Places between two values have one gap, so runs of places are drawn first. Other than split lines (`medians`),
    places may be values, so that many equal values have a median.

    Examples
    --------
    >>> from spatialdp.privacy.noise.source import SystemNoise
    >>> middle(np.array([3, 5, 5, 5, 7]), 10, Fraction(1000), SystemNoise())
    5
    """
    if epsilon <= 0:
        raise ParameterError(f"epsilon is {epsilon}; it must be above 0.")
    known, numbers = np.unique(values, return_counts=True)
    upto = np.cumsum(numbers)
    # Runs in order: the places before the first value, the first value, the places after it, and so on.
    starts, below, above = (np.zeros(2 * known.size + 1, dtype=np.int64) for _ in range(3))
    starts[1::2], starts[2::2] = known, known + 1
    below[1::2], below[2::2] = upto - numbers, upto
    above[0], above[1::2], above[2::2] = values.size, values.size - upto, values.size - upto
    sizes = np.diff(starts, append=places)
    twice = np.maximum(0, 2 * np.maximum(below, above) - values.size)
    twice = np.maximum(0, twice - twice[sizes > 0].min())  # runs without places have no weight anyway
    run = decide(sizes.tolist(), twice.tolist(), epsilon / 4, _word(noise), lambda: _word(noise))
    return int(starts[run] + noise.below(sizes[run : run + 1])[0])


def decide(sizes: Sequence[int], gaps: Sequence[int], rate: Fraction, word: int, more_bits: Callable[[], int]) -> int:
    """Return the outcome j that a uniform number selects, P(j) ∝ sizes[j] exp(-rate gaps[j]), by its first 64 bits.

    Parameters
    ----------
    sizes : sequence of int
        Non-negative, with a sum below 2^63.
    gaps : sequence of int
        Non-negative; some candidate of positive size has a gap of 0.
    rate : Fraction
        Above 0.
    word : int
        The number's first 64 bits.
    more_bits : callable
        Returns the next 64 bits of the number.

    Notes
    -----
    Weights are floors of 2^precision exp(-rate gap), so a cumulative sum S stands for a true sum in [S, S + slack],
    slack = sum of sizes. The number u lies in [word, word + 1] / 2^bits. `first` counts the boundaries that are surely
    at most u, `last` those that may be; when they agree, the outcome is certain. As the true whole is at least
    2^precision, slack is 2^-65 of a word's last bit, so a second round is needed for a fraction of about len(sizes) /
    2^64 of the words.
    """
    bits, slack, different = thresholds.WORD_BITS, sum(sizes), set(gaps)
    while True:
        weights = thresholds.exp_floors_of(rate, different, bits + _GUARD)
        sums = list(accumulate(size * weights[gap] for size, gap in zip(sizes, gaps, strict=True)))
        whole = sums.pop()
        first = bisect_right(sums, (word * whole >> bits) - slack)
        last = bisect_right(sums, (word + 1) * (whole + slack) >> bits)
        if first == last:
            return first
        bits += thresholds.WORD_BITS
        word = word << thresholds.WORD_BITS | more_bits()


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return the ε' that a step may spend on a secret Poisson sample of the records so that it costs ε on all of them.

    It is ε' = ln(1 + (exp(ε) - 1) / rate), rounded down to 15 digits; ε itself at rate 1.

    Parameters
    ----------
    epsilon : Fraction
        Cost on all records, above 0.
    rate : Fraction
        Probability with which each record is sampled, independently; above 0, at most 1.

    Privacy
    -------
    Neighbours: add or remove one record. With probability 1 - rate the record is not sampled and nothing
    differs; otherwise the samples are neighbours. So the ratio of output probabilities is at most
    (1 - rate) + rate exp(ε') (and at least its inverse), which is exp(ε). The sample must stay secret. Enumerated over
    all samples by ``tests/privacy/noise/test_selection.py::test_amplification_ratio``. The argument fails if neighbours
    differ by replacing a record.

    Examples
    --------
    >>> round(float(amplified_epsilon(Fraction(1), Fraction(1, 100))), 4)
    5.1523
    """
    if not 0 < rate <= 1:
        raise ParameterError(f"rate is {rate}; a sampling rate must be above 0 and at most 1.")
    if rate == 1:
        return epsilon
    context = Context(prec=_WORKING_DIGITS)
    growth = context.subtract(context.exp(_decimal(epsilon, context)), Decimal(1))
    inner = context.add(Decimal(1), context.divide(growth, _decimal(rate, context)))
    # Each step is right to 80 digits; subtracting 1 and taking the logarithm near 1 lose at most 30.
    safe = context.multiply(context.ln(inner), Decimal(1) - Decimal(10) ** -40)
    return max(epsilon, Fraction(Context(prec=_DIGITS, rounding=ROUND_FLOOR).plus(safe)))


def _gaps(scores: Sequence[Rational]) -> tuple[list[int], Fraction]:
    """Return how far each score is below the best one, as whole numbers of a step, and the step."""
    kinds = set(map(type, scores))
    if not kinds or any(issubclass(kind, bool | np.bool_) or not issubclass(kind, Rational) for kind in kinds):
        raise ParameterError(
            "scores are empty or not exact; give one int or Fraction for each candidate, and convert floats."
        )
    common = math.lcm(*{int(score.denominator) for score in scores})
    steps = [int(score.numerator) * (common // int(score.denominator)) for score in scores]
    best = max(steps)
    return [best - each for each in steps], Fraction(1, common)


def _rate(epsilon: Fraction, sensitivity: Fraction, monotone: bool) -> Fraction:
    """Return by how much the logarithm of a weight falls for each 1 that a score is lower."""
    if epsilon <= 0 or sensitivity <= 0:
        raise ParameterError(f"epsilon is {epsilon} and sensitivity is {sensitivity}; both must be above 0.")
    return Fraction(epsilon) / (sensitivity if monotone else 2 * sensitivity)


def _accepted(gaps: Sequence[int], rate: Fraction, noise: Noise) -> Booleans:
    """Toss a coin for each candidate, true with probability exp(-rate gap), exactly; at least one is true."""
    floors = thresholds.exp_floors_of(rate, set(gaps), thresholds.WORD_BITS)
    words = noise.uniform_words(len(gaps))
    # A gap of 0 has the probability 1, whose floor would not fit into a word.
    limits = np.fromiter((floors[gap] if gap else 0 for gap in gaps), dtype=np.uint64, count=len(gaps))
    best = np.fromiter((gap == 0 for gap in gaps), dtype=bool, count=len(gaps))
    kept: Booleans = (words < limits) | best
    for place in np.flatnonzero((words == limits) & ~best).tolist():
        kept[place] = _lies_below(rate * gaps[place], int(words[place]), noise)
    return kept


def _lies_below(rate: Fraction, word: int, noise: Noise) -> bool:
    """Whether a uniform number lies below exp(-rate), if the first 64 bits of both are the given word."""
    bits = thresholds.WORD_BITS
    while True:
        bits += thresholds.WORD_BITS
        word = word << thresholds.WORD_BITS | _word(noise)
        if word != (limit := thresholds.exp_floor(rate, bits)):
            return word < limit


def _word(noise: Noise) -> int:
    return int(noise.uniform_words(1)[0])


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
