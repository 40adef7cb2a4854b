"""Exact lookup tables: how a stream of random bits becomes a discrete random variable.

An outcome is drawn by comparing a uniform number with the cumulative probabilities F_0 < F_1 < ... of a law. These are
irrational, so a table holds their first bits, T_j = floor(2^bits F_j), as exact integers. A uniform word w of that many
bits decides the draw unless it equals some T_j; then (and only then) more bits of both are needed. See
``docs/design/noise.md``.

Nothing here may draw random bits or use floating point: `decimal` gives correctly rounded exponentials to any
precision, and everything else is integer arithmetic.

Error bound. Numbers are fixed point with a guard of at least 256 bits below the bits that are returned. Each
multiplication truncates, so after k of them a power is off by at most 3k + 2 units in the last place, and a Gaussian
weight, whose ratio is itself a running power, by at most 3(k + 1)². With fewer than 2^14 entries per 64 bits (`source`
chooses the digits so), a cumulative sum is off by less than 2^46 units; dividing by the whole, D >= 2^-100, multiplies
that by 2/D only for `low_digit`, which has at most 2^10 entries and so stays below 2^114. Squaring a number below 1
adds at most 1 unit to twice its error, so the 62 squarings of `binomial` leave less than 2^66 units. `_floors` accepts
a floor only if everything within 2^128 units agrees with it; otherwise the table is built again with a longer guard.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Integers

__all__ = [
    "AMBIGUOUS",
    "WORD_BITS",
    "Table",
    "binomial",
    "exp_floor",
    "exp_floors",
    "exp_floors_of",
    "gaussian",
    "gaussian_digits",
    "gaussian_low_bits",
    "half_gaussian",
    "laplace_digits",
    "low_digit",
    "two_sided",
]

WORD_BITS = 64
GUIDE_BITS = 16
AMBIGUOUS = np.int16(-(2**15))  # marks the words that 16 bits do not decide

GAUSSIAN_DIGIT = 256  # greatest standard deviation that one table draws

_GUARD = 256
_TOLERANCE_BITS = 128
_HIGH_DIGIT_SCALE = 64  # greatest scale of the high digit of Laplace noise
_LOW_DIGIT_BITS = 10
_POWER_BITS = 8  # binary digits of a whole number that one table of powers covers

Thresholds = Callable[[int], tuple[int, list[int]]]  # from a number of bits to the first outcome and T_0, T_1, ...


class _UncertainError(Exception):
    """A threshold lies too close to an integer for the working precision."""


@dataclass(frozen=True)
class Table:
    """The lookup table of a discrete law, from which most outcomes are drawn with 16 bits.

    Attributes
    ----------
    thresholds : callable
        `bits -> (first, [T_0, T_1, ...])`: T_j is the upper end of outcome `first + j`, to so many bits.
    guide : int16 array
        The outcome for each value of a word's top 16 bits, or `AMBIGUOUS`.
    words : uint64 array
        The thresholds to 64 bits.
    """

    thresholds: Thresholds
    first: int = field(init=False)
    guide: npt.NDArray[np.int16] = field(init=False, repr=False)
    words: npt.NDArray[np.uint64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first, values = self.thresholds(WORD_BITS)
        words = np.array(values, dtype=np.uint64)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "guide", _guide(first, words))

    def find(self, words: npt.NDArray[np.uint64]) -> tuple[Integers, Booleans]:
        """Return the outcomes of 64-bit words, and which words tie with a threshold."""
        index = np.searchsorted(self.words, words, side="left")
        tied = self.words.take(index, mode="clip") == words
        return index + self.first, tied

    def resolve(self, word: int, more_bits: Callable[[], int]) -> int:
        """Return the outcome of a 64-bit word that ties, adding 64 bits at a time until it no longer does."""
        bits = WORD_BITS
        while True:
            bits += WORD_BITS
            word = word << WORD_BITS | more_bits()
            first, values = self.thresholds(bits)
            index = bisect_left(values, word)
            if index == len(values) or values[index] != word:
                return first + index


def _guide(first: int, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int16]:
    shift = np.uint64(WORD_BITS - GUIDE_BITS)
    buckets = np.arange(2**GUIDE_BITS, dtype=np.uint64) << shift
    guide = (np.searchsorted(words, buckets, side="left") + first).astype(np.int16)
    guide[(words >> shift).astype(np.intp)] = AMBIGUOUS
    return guide


# --- laws ------------------------------------------------------------------------------------------


def two_sided(rate: Fraction, step_rate: Fraction) -> Table:
    """Make the table of the high digit of a discrete Laplace variable X with P(X = x) ∝ exp(-rate |x|).

    X >= 0 with probability 1/(1+a), a = exp(-rate); X and -X-1 are then geometric. So
    q = floor(X / L), with step_rate = L rate and A = exp(-step_rate), has

        P(q <= j) = A^(-j-1) a/(1+a)  for j < 0,      1 - A^(j+1)/(1+a)  for j >= 0.

    With L = 1, q is X itself.
    """

    def thresholds(bits: int, precision: int) -> tuple[int, list[int]]:
        one = 1 << precision
        base = _exp(rate, precision)
        powers = list(_powers(_exp(step_rate, precision), precision, stop=1 << (precision - bits)))
        lower = [power * base // (one + base) for power in reversed(powers)]
        upper = [one - (power << precision) // (one + base) for power in powers[1:]]
        # The tails beyond the last power weigh less than 2^-bits each.
        return -len(powers) - 1, [0, *_floors(lower + upper, precision, bits), (1 << bits) - 1]

    return Table(_certified(thresholds))


def low_digit(rate: Fraction, digits: int) -> Table:
    """Make the table of a low digit r of a geometric variable: P(r) ∝ exp(-rate r) for r in 0..digits-1.

    The digit is independent of all other digits.
    """

    def thresholds(bits: int, precision: int) -> tuple[int, list[int]]:
        one = 1 << precision
        powers = list(_powers(_exp(rate, precision), precision, count=digits + 1))
        whole = one - powers[-1]
        return 0, _floors([((one - p) << precision) // whole for p in powers[1:-1]], precision, bits)

    return Table(_certified(thresholds))


@lru_cache(maxsize=128)
def laplace_digits(scale: Fraction) -> tuple[Table, tuple[tuple[int, Table], ...]]:
    """Return the table of the two-sided high digit, and the low digits' numbers of bits and tables, highest first."""
    rate = 1 / scale
    low_bits = max(0, math.ceil(scale / _HIGH_DIGIT_SCALE) - 1).bit_length()
    digits = []
    below = low_bits
    while below:
        bits = min(below, _LOW_DIGIT_BITS)
        below -= bits
        digits.append((bits, low_digit(rate * 2**below, 2**bits)))
    return two_sided(rate, rate * 2**low_bits), tuple(digits)


@lru_cache(maxsize=128)
def gaussian(variance: Fraction) -> Table:
    """Make the table of the discrete Gaussian: P(X = x) ∝ exp(-x² / (2 variance))."""

    def thresholds(bits: int, precision: int) -> tuple[int, list[int]]:
        weights = list(_gaussian_weights(variance, precision))
        both = [*reversed(weights[1:]), *weights]
        return -len(weights), [0, *_cumulative(both, precision, bits), (1 << bits) - 1]

    return Table(_certified(thresholds))


def half_gaussian(variance: Fraction) -> Table:
    """Make the table of the discrete Gaussian on x >= 0: P(X = x) ∝ exp(-x² / (2 variance)), 0 included."""

    def thresholds(bits: int, precision: int) -> tuple[int, list[int]]:
        weights = list(_gaussian_weights(variance, precision))
        return 0, [*_cumulative(weights, precision, bits), (1 << bits) - 1]

    return Table(_certified(thresholds))


def binomial(rate: Fraction, threshold: int, doublings: int) -> Table:
    """Make the table of how many of 2^doublings independent discrete Laplace variables reach a threshold of at least 1.

    With P(X = x) ∝ exp(-rate |x|) and a = exp(-rate), a variable reaches it with probability p = a^threshold / (1 + a).
    P(none) is 1 - p squared `doublings` times, and P(j + 1) = P(j) (trials - j) / (j + 1) · p / (1 - p). There are at
    most 2^62 trials, and on average they give at most one success, so few numbers of successes matter.
    """
    trials = 1 << doublings

    def thresholds(bits: int, precision: int) -> tuple[int, list[int]]:
        one, most = 1 << precision, (1 << bits) - 1
        p = (_exp(rate * threshold, precision) << precision) // (one + _exp(rate, precision))
        weight = one - p
        for _ in range(doublings):
            weight = weight * weight >> precision
        below, floors = 0, [0]
        for successes in range(trials):
            below += weight
            floors += _floors([below], precision, bits)
            if floors[-1] == most:
                break
            weight = weight * (trials - successes) * p // ((successes + 1) * (one - p))
        # The words that are left belong to the last outcome: there is no other one, or it weighs less than 2^-bits.
        return 0, [*floors[1:], *([] if floors[-1] == most else [most])]

    return Table(_certified(thresholds))


def gaussian_low_bits(variance: Fraction) -> int:
    """Return an m for which σ / 2^m lies between about 64 and 256."""
    return max(0, (math.isqrt(math.ceil(variance)) // GAUSSIAN_DIGIT).bit_length())


@lru_cache(maxsize=128)
def gaussian_digits(variance: Fraction, bits: int) -> tuple[Table, Integers]:
    """Return the table of the high digit, and for each of its values a coin below which a proposal is surely kept.

    The least likely proposal of digit q is at ((q+1) L)², with rate (2q+1) L² / 2σ².
    """
    reduced = variance / 4**bits
    table = half_gaussian(reduced)
    surely = exp_floors(1 / (2 * reduced), 1 / reduced, table.words.size, 16)
    return table, np.array([*surely, 0], dtype=np.int64)  # beyond the table no proposal is surely kept


# --- exact arithmetic ------------------------------------------------------------------------------


def exp_floor(rate: Fraction, bits: int) -> int:
    """Return floor(2^bits exp(-rate)) for a rational rate >= 0, exactly."""
    if rate == 0:
        return 1 << bits
    _, values = _certified(lambda b, precision: (0, _floors([_exp(rate, precision)], precision, b)))(bits)
    return values[0]


def exp_floors(first: Fraction, step: Fraction, count: int, bits: int) -> list[int]:
    """Return floor(2^bits exp(-first - k step)) for k = 0, 1, ..., count - 1 and first > 0, exactly."""
    assert first > 0, "exp(-0) is 1, and `_floors` needs values below 1"

    def thresholds(bits: int, precision: int) -> tuple[int, list[int]]:
        start = _exp(first, precision)  # one multiplication more than in a power: 3k + 5 units
        powers = _powers(_exp(step, precision), precision, count=count)
        return 0, _floors([start * power >> precision for power in powers], precision, bits)

    return _certified(thresholds)(bits)[1]


def exp_floors_of(rate: Fraction, multiples: Collection[int], bits: int) -> dict[int, int]:
    """Return floor(2^bits exp(-k rate)) for each of many different whole numbers k >= 0, exactly.

    A power is put together from its binary digits, eight at a time, because the exponential of a sum is a product.
    From k rate = bits on, floors are 0: exp(-bits) is below 2^-bits. A product of m table values is off by at most 2^10
    m units.
    """
    vanishing = math.ceil(bits / rate)
    near = [k for k in multiples if 0 < k < vanishing]

    def thresholds(bits: int, precision: int) -> tuple[int, list[int]]:
        places = range(0, max(near, default=0).bit_length(), _POWER_BITS)
        tables = [_digit_powers(rate * 2**place, precision) for place in places]
        return 0, _floors([_product(k, tables, precision) for k in near], precision, bits)

    floors = dict(zip(near, _certified(thresholds)(bits)[1], strict=True))
    return {k: floors.get(k, 0 if k else 1 << bits) for k in multiples}


@lru_cache(maxsize=128)
def _digit_powers(rate: Fraction, precision: int) -> tuple[int, ...]:
    """Return exp(-k rate) in fixed point for all values k of a digit."""
    return tuple(_powers(_exp(rate, precision), precision, count=2**_POWER_BITS))


def _product(number: int, tables: Sequence[tuple[int, ...]], precision: int) -> int:
    """Multiply the table values of the digits of a whole number, from the last digit on."""
    product = 1 << precision
    for table in tables:
        if digit := number & (2**_POWER_BITS - 1):
            product = product * table[digit] >> precision
        number >>= _POWER_BITS
    return product


def _certified(build: Callable[[int, int], tuple[int, list[int]]]) -> Thresholds:
    """Return a function that builds thresholds with a guard, and with a longer one if a floor is not certain."""

    def thresholds(bits: int) -> tuple[int, list[int]]:
        guard = _GUARD
        while True:
            try:
                return build(bits, bits + guard)
            except _UncertainError:
                guard *= 2

    return thresholds


def _floors(values: list[int], precision: int, bits: int) -> list[int]:
    """Return the floors of probabilities that lie strictly between 0 and 1, or raise if one of them is not certain."""
    slack, most, guard = 1 << _TOLERANCE_BITS, (1 << precision) - 1, precision - bits
    floors = [max(value - slack, 0) >> guard for value in values]
    if floors != [min(value + slack, most) >> guard for value in values]:
        raise _UncertainError
    return floors


def _exp(rate: Fraction, precision: int) -> int:
    """Return 2^precision exp(-rate), within two units in the last place (a decimal digit has more than three bits)."""
    context = Context(prec=precision // 3 + len(str(rate.numerator)) + 10)
    context.Emin, context.Emax = -(10**9), 10**9
    quotient = context.divide(Decimal(rate.numerator), Decimal(rate.denominator))
    return int(context.multiply(context.exp(quotient.copy_negate()), Decimal(1 << precision)))


def _powers(ratio: int, precision: int, *, count: int | None = None, stop: int | None = None) -> Iterator[int]:
    """Yield 1, ratio, ratio², ... in fixed point: `count` of them, or as long as they are at least `stop`."""
    power = 1 << precision
    while (count is None or count > 0) and (stop is None or power >= stop):
        yield power
        power = power * ratio >> precision
        count = None if count is None else count - 1


def _gaussian_weights(variance: Fraction, precision: int) -> Iterator[int]:
    """Yield exp(-k² / (2 variance)) for k = 0, 1, ... in fixed point, until they are lost in the last places."""
    weight, ratio = 1 << precision, _exp(1 / (2 * variance), precision)
    step = _exp(1 / variance, precision)
    while weight >> (_TOLERANCE_BITS // 4):
        yield weight
        weight, ratio = weight * ratio >> precision, ratio * step >> precision


def _cumulative(weights: list[int], precision: int, bits: int) -> list[int]:
    sums = list(accumulate(weights))
    return _floors([(part << precision) // sums[-1] for part in sums[:-1]], precision, bits)
