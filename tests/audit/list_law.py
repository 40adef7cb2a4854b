"""What is the exact law of the filter on few cells? Its lists, with chances that are polynomials in a = e^(-1/scale).

Everything that the filter draws is enumerated: how many empty cells pass in each block (the words at which that changes
are found by bisection), at which places, and all noise. Noise beyond a reach is one outcome with its whole chance, so
nothing is cut off. Each list that comes of it has a chance that is a sum of terms

    weight · a^power · p^passing (1 - p)^(trials - passing) · (1 - a)^single / (1 + a)^noisy

with p = a^threshold / (1 + a).

Times a power of 1 + a, that is a polynomial with whole coefficients (weights of ordered places are fractions). Two
polynomials with small coefficients are the same if they agree at one huge number. So laws are compared for every a, and
so for every ε, and log-ratios need no tolerance: at a rational a, all chances are fractions.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from spatialdp.privacy.noise.filter import Filter
from spatialdp.privacy.noise.source import Noise
from tests.audit.enumeration import boundaries

Listed = tuple[tuple[int, int], ...]  # cells and values; values from the reach on count as one
Term = tuple[int, int, int, int]  # passing, power, single, noisy
Law = dict[Listed, Counter[Term]]

Chances = dict[Listed, Fraction]

HUGE = 2**400  # of the polynomials that are compared, coefficients are smaller


class Scripted(Noise):
    """Returns given words, and given noise in place of Laplace noise; it must be asked for exactly as much."""

    def __init__(self, words: Any, excess: Any, own: Any) -> None:
        self.given, self.left = list(words), [excess, own]

    def random_bytes(self, count: int) -> bytes:
        taken, self.given = self.given[: count // 8], self.given[count // 8 :]
        assert len(taken) == count // 8, "more words were asked for"
        return np.array(taken, dtype="<u8").tobytes()

    def laplace(self, scale: Any, size: Any) -> Any:
        drawn = self.left.pop(0)
        assert len(drawn) == size, "noise was asked for that is not for one cell each"
        return np.array(drawn, dtype=np.int64)


@dataclass(frozen=True)
class Enumerated:
    """A filter on few cells with exact counts, of which everything that it can draw is enumerated.

    Attributes
    ----------
    filter : Filter
    counts : tuple of int
    reach : int
        Noise from here on, and down to minus that, is one outcome.
    top : int
        Values from here on are taken together; at most what `reaches` says. From here on, the chance of the next value
        is a times as large, whatever the count.
    ordered : bool
        Whether places of a block come in all orders; else in one, because they are put in order.
    """

    filter: Filter
    counts: tuple[int, ...]
    reach: int
    top: int
    ordered: bool = False

    @classmethod
    def of(cls, made: Filter, counts: tuple[int, ...], reach: int, *, ordered: bool = False) -> Enumerated:
        return cls(made, counts, reach, reaches(made, counts, reach), ordered)

    @property
    def trials(self) -> int:
        """Number of coins: of all blocks, also those of numbers beyond the last cell."""
        blocks = -(-self.filter.cells >> self.filter._doublings)
        return blocks << self.filter._doublings

    def law(self) -> Law:
        """Return the terms of the chance of every list."""
        occupied = np.flatnonzero(self.counts)
        held = np.array(self.counts)[occupied]
        assert all(count - self.reach < self.filter.threshold for count in self.counts), "the reach is too short"
        assert self.filter.threshold <= self.top <= reaches(self.filter, self.counts, self.reach), (
            "the reach is too short"
        )
        law: Law = defaultdict(Counter)
        for words, numbers, weight in self._coins():
            passed = sum(number < self.filter.cells for number in numbers)
            for excess in itertools.product(self._noise(), repeat=passed):
                for own in itertools.product(self._noise(), repeat=held.size):
                    found = self.filter.passing(occupied, held, Scripted(words, excess, own))
                    cells, values = (each.tolist() for each in found)
                    listed = tuple((cell, min(value, self.top)) for cell, value in zip(cells, values, strict=True))
                    law[listed][(len(numbers), *_of_noise((*excess, *own), self.reach))] += weight  # type: ignore[assignment]
        return law

    def _noise(self) -> range:
        return range(-self.reach, self.reach + 1)

    def _coins(self) -> Iterator[tuple[list[int], list[int], Fraction]]:
        """Yield the words that draw every choice of passing numbers, the numbers, and the weight of the choice."""
        bits = self.filter._doublings
        table = self.filter._table
        stretches = boundaries(lambda words: table.find(words)[0].tolist(), 2**64 - 1)
        middles = {number: (low + high) // 2 for low, high, number in stretches}
        assert set(middles) == set(range(2**bits + 1)), "a number of cells is too rare to be enumerated"
        ways = itertools.permutations if self.ordered else itertools.combinations
        block = [places for number in range(2**bits + 1) for places in ways(range(2**bits), number)]
        for chosen in itertools.product(block, repeat=self.trials >> bits):
            words = [middles[len(places)] for places in chosen]
            words += [place << 64 - bits if bits else 0 for places in chosen for place in places]
            numbers = [number << bits | place for number, places in enumerate(chosen) for place in places]
            orders = math.prod(math.factorial(len(places)) for places in chosen) if self.ordered else 1
            yield words, numbers, Fraction(1, orders)

    def dense(self) -> Law:
        """Return the same if every cell gets noise, and those below the threshold are dropped."""
        law: Law = defaultdict(Counter)
        for outcomes in itertools.product(*(self._of_cell(count) for count in self.counts)):
            listed = tuple((cell, value) for cell, (value, _) in enumerate(outcomes) if value is not None)
            for terms in itertools.product(*(terms for _, terms in outcomes)):
                signs = math.prod(sign for sign, _ in terms)
                powers = np.sum([term for _, term in terms], axis=0).tolist()
                law[listed][(0, *powers)] += signs
        return law

    def _of_cell(self, count: int) -> list[tuple[int | None, list[tuple[int, tuple[int, int, int]]]]]:
        """Return the values that a cell can have, None if it is not listed, with the terms of their chances."""
        low, found = self.filter.threshold, []
        for value in range(low, self.top):
            found.append((value, [(1, (abs(value - count), 1, 1))]))
        found.append((self.top, [(1, (self.top - count, 0, 1))]))
        missing = [(1, (count - low + 1, 0, 1))] if count >= low else [(1, (0, 0, 0)), (-1, (low - count, 0, 1))]
        return [*found, (None, missing)]

    def is_dense(self) -> bool:
        """Whether every list is as likely as with noise on every cell, for every a."""
        mine, dense = self.law(), self.dense()
        times = 2 * self.trials + len(self.counts)  # no term has a higher power of 1 + a below its line
        terms = [term for law in (mine, dense) for terms in law.values() for term in terms.items()]
        largest = sum(abs(weight) for _, weight in terms) * 3**self.trials * 2 ** (2 * times)
        assert largest * math.factorial(self.trials) < HUGE / 2, "coefficients may be too large"
        one, other = (self._chances(law, HUGE, times, trials) for law, trials in ((mine, self.trials), (dense, 0)))
        return one == other

    def chances(self, a: Fraction) -> Chances:
        """Return the chance of every list."""
        return self._chances(_law_of(self), a, 0, self.trials)

    def _chances(self, law: Law, a: Fraction | int, times: int, trials: int) -> Chances:
        """Return chances times a power of 1 + a; `trials` is 0 for terms without coins."""
        tail, plus = a**self.filter.threshold, Fraction(1 + a)

        @cache
        def of(passing: int, power: int, single: int, noisy: int) -> Fraction:
            coins = tail**passing * (plus - tail) ** (trials - passing)
            return coins * Fraction(a) ** power * Fraction(1 - a) ** single * plus ** (times - trials - noisy)

        return {
            listed: sum((weight * of(*term) for term, weight in terms.items()), Fraction(0))
            for listed, terms in law.items()
        }


@cache
def _law_of(made: Enumerated) -> Law:
    return made.law()


def reaches(made: Filter, counts: tuple[int, ...], reach: int) -> int:
    """Return the largest value that may be the top: below, all noise is told apart."""
    return min([made.threshold + reach - 1, *(count + reach for count in counts if count)])


def worst_ratios(made: Filter, one: tuple[int, ...], other: tuple[int, ...], reach: int, a: Fraction) -> list[Fraction]:
    """Return the largest ratio of chances of a list, either way, for two vectors of counts; exactly."""
    top = min(reaches(made, counts, reach) for counts in (one, other))
    mine, theirs = (Enumerated(made, counts, reach, top).chances(a) for counts in (one, other))
    assert mine.keys() == theirs.keys(), "a list is possible for one of them only"
    assert sum(mine.values()) == sum(theirs.values()) == 1, "something is not enumerated"
    return [max(mine[each] / theirs[each] for each in mine), max(theirs[each] / mine[each] for each in mine)]


def _of_noise(noise: tuple[int, ...], reach: int) -> tuple[int, int, int]:
    """Return the exponents of the chance of discrete Laplace noise, of which the ends stand for all beyond."""
    single = sum(abs(each) < reach for each in noise)
    return sum(map(abs, noise)), single, len(noise)
