"""What is the true output law of a sampler, and how far apart are neighbours? Enumeration on tiny domains.

A sampler turns random words into an outcome. If the outcome is monotone in a word, bisection finds the words at which
it changes, and so its exact probabilities (to 2^-64). No formula is trusted. Then the laws of neighbours are compared,
outcome by outcome.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.medians import Median, medians
from spatialdp.privacy.noise.selection import exponential, permute_and_flip
from spatialdp.privacy.noise.source import Noise

LawOf = dict[Any, float]
Values = tuple[int, ...]


class Words(Noise):
    """A source that returns these 64-bit words, then ones, so that zeros never decide a number on a boundary."""

    def __init__(self, words: Any) -> None:
        self._first = np.asarray(words, dtype=np.uint64)

    def random_bytes(self, count: int) -> bytes:
        words, self._first = self._first[: count // 8], self._first[count // 8 :]
        rest = np.ones(count // 8 - words.size, dtype=np.uint64)
        return np.concatenate([words, rest]).astype("<u8").tobytes()


def boundaries(outcome: Callable[[Any], Any], last: int) -> list[tuple[int, int, Any]]:
    """Return the stretches (first, last, outcome) of words 0..last on which a monotone function is constant.

    The function takes an array of words; one call bisects all open stretches.
    """
    ends = outcome(np.array([0, last], dtype=np.uint64))
    open_, outcomes = [(0, ends[0], last, ends[1])], []
    while open_:
        middles = [(low + high) // 2 for low, _, high, _ in open_]
        values = outcome(np.array(middles, dtype=np.uint64))
        following = []
        for (low, at_low, high, at_high), middle, value in zip(open_, middles, values, strict=True):
            for a, at_a, b, at_b in ((low, at_low, middle, value), (middle, value, high, at_high)):
                if at_a == at_b or b - a <= 1:
                    outcomes += [(a, at_a), (b, at_b)]
                else:
                    following.append((a, at_a, b, at_b))
        open_ = following
    stretches: dict[Any, list[int]] = {}
    for word, value in outcomes:
        stretch = stretches.setdefault(value, [word, word])
        stretch[:] = min(stretch[0], word), max(stretch[1], word)
    return [(low, high, value) for value, (low, high) in stretches.items()]


# --- laws of lines -------------------------------------------------------------------------------------

RESIDUES = 12  # a multiple of every possible number of lines in a run of a tiny node


@cache
def line_law(values: Values, width: int, method: Median, epsilon: Fraction, relation: str) -> LawOf:
    """Return P(line) for a node [0, width) with sorted values."""
    laws = {Median.EXPONENTIAL: _exponential_law, Median.SMOOTH: _smooth_law, Median.NOISY_MEAN: _noisy_mean_law}
    return laws[method](values, width, epsilon, relation)


def _drawn(values: Values, width: int, times: int, noise: Noise, **terms: Any) -> Any:
    """Draw `times` lines of the same node in one call."""
    starts = np.arange(times + 1) * len(values)
    tiled = np.tile(np.array(values, dtype=np.int64), times)
    return medians(tiled, starts, np.zeros(times, dtype=int), np.full(times, width), noise=noise, **terms)


def _exponential_law(values: Values, width: int, epsilon: Fraction, relation: str) -> LawOf:
    """Return the law of the exponential median: one word chooses a run of lines, another one a line of the run."""
    terms = {"method": Median.EXPONENTIAL, "epsilon": epsilon, "neighbours": Neighbours.parse(relation)}
    law = dict.fromkeys(range(1, width), 0.0)
    runs = boundaries(lambda words: _drawn(values, width, words.size, Words(words), **terms).tolist(), 2**64 - 1)
    for low, high, _ in runs:
        words = np.full(RESIDUES, (low + high) // 2, dtype=np.uint64)
        for line in _drawn(values, width, RESIDUES, Words([*words, *range(RESIDUES)]), **terms).tolist():
            law[line] += (high - low + 1) / 2**64 / RESIDUES
    return law


def _smooth_law(values: Values, width: int, epsilon: Fraction, relation: str) -> LawOf:
    """Return the law of the smooth median.

    It draws a sign and a point of a quarter disc. The angle of the point is uniform, and the line is monotone in it.
    """
    terms = {"method": Median.SMOOTH, "epsilon": epsilon, "neighbours": Neighbours.parse(relation)}
    law = dict.fromkeys(range(1, width), 0.0)
    for sign in (0, 1):

        def lines(keys: Any, sign: int = sign) -> Any:
            points = [_point(int(key)) for key in keys]
            words = [part for across, along in points for part in (2 * across + sign, 2 * along)]
            return _drawn(values, width, len(points), Words(words), **terms).tolist()

        for low, high, line in boundaries(lines, 2**63 - 1):
            angles = [math.atan2(*_point(key)) for key in (low, high + 1)]
            law[line] += (angles[1] - angles[0]) / math.pi
    return law


def _point(key: int) -> tuple[int, int]:
    """Return a point whose angle grows with the key, for keys from 0 to 2^63."""
    half = 2**62
    return (key, half) if key <= half else (half, 2**63 - key)


class _Shifts(Noise):
    """A source that adds given shifts to sums and to counts."""

    def __init__(self, *arrays: Any) -> None:
        self._arrays, self.scales = list(arrays), []

    def random_bytes(self, count: int) -> bytes:
        raise AssertionError("a noisy mean draws no other bits")

    def laplace(self, scale: Any, size: Any) -> Any:
        self.scales.append(float(scale))
        return self._arrays.pop(0)


def _noisy_mean_law(values: Values, width: int, epsilon: Fraction, relation: str) -> LawOf:
    """Return the law of the noisy mean: for each noise of the count, the line is monotone in the noise of the sum."""
    terms = {"method": Median.NOISY_MEAN, "epsilon": epsilon, "neighbours": Neighbours.parse(relation)}
    probe = _Shifts(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    _drawn(values, width, 1, probe, **terms)
    sum_scale, count_scale = probe.scales
    far, reach = int(60 * sum_scale), int(45 * count_scale)
    counts = np.arange(-reach, reach + 1)
    column, line = (each.ravel() for each in np.meshgrid(counts, np.arange(2, width), indexing="ij"))
    low, high = np.full(column.size, -far), np.full(column.size, far + 1)  # the first shift that reaches each line
    while (low < high).any():
        middle = (low + high) // 2
        reached = _drawn(values, width, column.size, _Shifts(middle, column), **terms) >= line
        low, high = np.where(reached, low, np.minimum(middle + 1, high)), np.where(reached, middle, high)
    firsts = np.column_stack([np.full(counts.size, -far), low.reshape(counts.size, -1), np.full(counts.size, far + 1)])
    weights = math.tanh(1 / (2 * count_scale)) * np.exp(-np.abs(counts) / count_scale)
    return {
        k + 1: math.fsum(
            weight * _between(int(row[k]), int(row[k + 1]) - 1, far, sum_scale)
            for weight, row in zip(weights, firsts, strict=True)
            if row[k] < row[k + 1]
        )
        for k in range(width - 1)
    }


def _between(low: int, high: int, far: int, scale: float) -> float:
    """Return P(low <= X <= high) for discrete Laplace noise X; ends at `far` or beyond stand for infinity."""

    def above(value: int) -> float:  # P(X >= value), value > 0
        return math.exp(-value / scale) / (1 + math.exp(-1 / scale))

    if low > 0:
        return above(low) - (0.0 if high >= far else above(high + 1))
    if high < 0:
        return _between(-high, -low, far, scale)
    return 1 - (0.0 if high >= far else above(high + 1)) - (0.0 if low <= -far else above(1 - low))


# --- laws of selections --------------------------------------------------------------------------------


@cache
def exponential_law(scores: tuple[Any, ...], epsilon: Fraction, sensitivity: Fraction, monotone: bool = False) -> LawOf:
    """Return P(candidate) of the exponential mechanism."""

    def chosen(words: Any) -> list[int]:
        return [exponential(scores, epsilon, sensitivity, Words([word]), monotone) for word in words]

    law = dict.fromkeys(range(len(scores)), 0.0)
    for low, high, candidate in boundaries(chosen, 2**64 - 1):
        law[candidate] += (high - low + 1) / 2**64
    return law


class _Coins(Words):
    """A source of one word for each candidate's coin, which then takes one of those that are accepted."""

    def __init__(self, words: Any, taken: int = 0) -> None:
        super().__init__(words)
        self._taken = taken

    def below(self, bounds: Any) -> Any:
        (self.accepted,) = bounds.tolist()
        return np.array([min(self._taken, self.accepted - 1)])


REFUSED = 2**64 - 1


@cache
def permute_and_flip_law(
    scores: tuple[Any, ...], epsilon: Fraction, sensitivity: Fraction, monotone: bool = False
) -> LawOf:
    """Return P(candidate), from the words at which each coin is accepted, and from what is chosen for all coins."""
    candidates = range(len(scores))

    def chosen(words: Any, taken: int = 0) -> tuple[int, int]:
        coins = _Coins(words, taken)
        return permute_and_flip(scores, epsilon, sensitivity, coins, monotone), coins.accepted

    def numbers(candidate: int, words: Any) -> list[int]:
        return [chosen([word if o == candidate else REFUSED for o in candidates])[1] for word in words]

    law = dict.fromkeys(candidates, 0.0)
    (surely,) = numbers(0, [REFUSED])
    likely = []
    for candidate in candidates:
        stretches = boundaries(lambda words, candidate=candidate: numbers(candidate, words), REFUSED)
        likely.append(sum(high - low + 1 for low, high, number in stretches if number > surely) / 2**64)
    for accepted in itertools.product((False, True), repeat=len(scores)):
        weight = math.prod(p if yes else 1 - p for p, yes in zip(likely, accepted, strict=True))
        words = [0 if yes else REFUSED for yes in accepted]
        number = chosen(words)[1]
        for taken in range(number):
            law[chosen(words, taken)[0]] += weight / number
    return law


# --- neighbours ----------------------------------------------------------------------------------------


def log_ratio(one: LawOf, other: LawOf) -> float:
    """Return the largest log-ratio of two laws; infinite if only one of them has an outcome."""
    assert one.keys() == other.keys()
    pairs = [(one[o], other[o]) for o in one]
    if any((a > 0) != (b > 0) for a, b in pairs):
        return math.inf
    return max((abs(math.log(a / b)) for a, b in pairs if a > 0), default=0.0)


def multisets(values: Iterable[Any], most: int) -> Iterator[tuple[Any, ...]]:
    """Yield all data sets of up to `most` records."""
    places = list(values)
    return itertools.chain.from_iterable(itertools.combinations_with_replacement(places, n) for n in range(most + 1))


def neighbours(data: tuple[Any, ...], values: Iterable[Any], relation: str) -> Iterator[tuple[Any, ...]]:
    """Yield all data sets with one record more, or with one record replaced."""
    for value in values:
        if relation == "add-remove":
            yield tuple(sorted((*data, value)))
        else:
            yield from (tuple(sorted((*data[:i], value, *data[i + 1 :]))) for i in range(len(data)))


def worst_line_ratio(method: Median, epsilon: Fraction, relation: str, width: int = 5, most: int = 3) -> float:
    """Return the largest log-ratio over all neighbours of up to `most` records on a node with width - 1 lines."""
    worst = 0.0
    for data in multisets(range(width), most if relation == "replace" else most - 1):
        mine = line_law(data, width, method, epsilon, relation)
        for other in set(neighbours(data, range(width), relation)):
            worst = max(worst, log_ratio(mine, line_law(other, width, method, epsilon, relation)))
    return worst


def worst_level_ratio(method: Median, epsilon: Fraction, width: int = 5, most: int = 3) -> float:
    """Return the largest log-ratio under replace for a level of two nodes: a record moves from one to the other."""
    worst = [0.0, 0.0]
    for data in multisets(range(width), most - 1):
        mine = line_law(data, width, method, epsilon, "replace")
        for other in set(neighbours(data, range(width), "add-remove")):
            theirs = line_law(other, width, method, epsilon, "replace")
            for side, (a, b) in enumerate(((mine, theirs), (theirs, mine))):
                if any(not b[o] for o in a if a[o]):
                    return math.inf
                worst[side] = max(worst[side], *(math.log(a[o] / b[o]) for o in a if a[o]))
    return sum(worst)
