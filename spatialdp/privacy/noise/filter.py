"""Which of very many cells have a noisy count of at least a threshold? Exactly, and without visiting the empty ones.

A `Filter` behaves as if discrete Laplace noise had been added to the count of every cell, and all cells below a public
threshold θ had been dropped. With a = exp(-1 / scale), an empty cell passes with probability p = a^θ / (1 + a), and its
noisy count is then θ + G with P(G = j) = (1 - a) a^j. So the cells that would pass if all were empty can be drawn at
once: the cells are numbered and cut into blocks of 2^k with p 2^k of at most 1; how many pass in a block is binomial,
by one exact table for all blocks (`thresholds.binomial`); which ones is uniform without repetition. Cells that are
occupied are then taken out again, and get noise of their own.

Time and memory grow with the cells that pass and the occupied cells, and not with the number of cells, of which there
may be 2^60. Between the random bits and the result there is no floating point. The blocks, the threshold and the table
follow from public values; nothing about an empty cell may depend on which cells are occupied. See
``docs/design/sparse.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Integers, lookup
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.noise import thresholds
from spatialdp.privacy.noise.source import NARROWEST, WIDEST, Noise
from spatialdp.wording import parameter

__all__ = ["MOST_FALSE", "Filter"]

MOST_FALSE = 10**8  # cells that may be expected to pass by their noise alone
_MOST_CELLS = 2**60
_BLOCKS = 2**18  # blocks of cells that are drawn together: the work arrays stay small
_BITS = 192  # to which probabilities are first known, below those of the cells' number


@dataclass(frozen=True)
class Filter:
    """Keep the cells whose noisy count is at least a threshold.

    Attributes
    ----------
    scale : Fraction
        Scale of the discrete Laplace noise: the sensitivity of all counts together over ε. From 1e-6 to 2^40.
    cells : int
        Number of cells, at most 2^60.
    threshold : int
        The least noisy count that passes; at least 1.

    Examples
    --------
    >>> filter = Filter.expecting(1, scale=Fraction(1), cells=2**60)
    >>> filter.threshold, round(filter.expected, 2)
    (42, 0.48)
    """

    scale: Fraction
    cells: int
    threshold: int

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= _MOST_CELLS:
            raise ParameterError(
                f"a filter was asked for {self.cells:,} cells; it takes from 1 to 2^60. Use larger cells."
            )
        _check_scale(self.scale)
        if self.expected > MOST_FALSE:
            raise ParameterError(
                f"about {self.expected:.3g} cells would be listed by their noise alone, but at most {MOST_FALSE:,} "
                f"are drawn; expect fewer with {parameter('false')}, or use larger cells or a larger "
                f"{parameter('epsilon')}."
            )

    @classmethod
    def expecting(cls, false: Fraction | int, *, scale: Fraction, cells: int) -> Filter:
        """Return the filter with the least threshold at which at most `false` empty cells are expected to pass.

        The threshold is public: it follows from the number of cells and the noise, and is exact.
        """
        _check_scale(scale)
        limit = Fraction(false) / cells
        high = 1
        while not _is_at_most(scale, high, limit):
            high *= 2
        low = high // 2  # 0, or a threshold at which too many are expected
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _is_at_most(scale, middle, limit) else (middle, high)
        return cls(scale, cells, high)

    @cached_property
    def chance(self) -> Fraction:
        """The probability with which an empty cell passes, or a number that is larger by less than 2^-190."""
        return _chance(self.scale, self.threshold, _BITS)[1]

    @property
    def expected(self) -> float:
        """The number of empty cells that are expected to pass, if all are empty."""
        return float(self.chance * self.cells)

    def chance_of(self, count: int) -> float:
        """Return the probability with which a cell of a given count passes; for readers, so in floating point.

        Examples
        --------
        >>> filter = Filter.expecting(1, scale=Fraction(1), cells=2**60)
        >>> [round(filter.chance_of(count), 3) for count in (40, 42, 45)]
        [0.099, 0.731, 0.987]
        """
        missing = self.threshold - count
        a, distance = np.exp(-1 / float(self.scale)), max(missing, 1 - missing)
        tail = float(np.exp(-distance / float(self.scale)) / (1 + a))
        return tail if missing > 0 else 1 - tail

    def passing(self, occupied: Integers, counts: Integers, noise: Noise) -> tuple[Integers, Integers]:
        """Return the numbers of the cells that pass, in order, and their noisy counts.

        Parameters
        ----------
        occupied : int array
            Numbers of the cells with records, in order and without repetition. They may lack cells without records,
            and hold some.
        counts : int array
            Exact counts of these cells, in the steps of the noise.
        noise : Noise

        Privacy
        -------
        The result follows the law of noise on the counts of all cells, of which those below θ were dropped: dropping is
        post-processing, so the cost is that of the noise. Every cell has its own coin "my noise is at least θ" and, if
        it fell, its own excess; for occupied cells both are thrown away and independent noise is used. The coins are
        drawn before anything is asked of the occupied cells. Laws are compared with those of dense noise by
        ``tests/privacy/noise/test_filter.py``, and exactly, by enumeration, by ``tests/audit/test_list_law.py``. Time
        and memory follow the number of occupied cells (see the threat model).
        """
        empty = self._empty(noise)
        excess = noise.geometric(self.scale, empty.size)
        free = ~lookup(empty, occupied)[0]
        noisy = counts + noise.laplace(self.scale, counts.size)
        kept = noisy >= self.threshold
        numbers = np.concatenate([empty[free], occupied[kept]])
        values = np.concatenate([excess[free] + self.threshold, noisy[kept]])
        order = np.argsort(numbers)
        return numbers[order], values[order]

    # --- empty cells -----------------------------------------------------------------------------

    @property
    def _doublings(self) -> int:
        """The k of blocks of 2^k cells: the largest with p 2^k of at most 1, or one block for all cells."""
        chance = self.chance
        most = (chance.denominator // chance.numerator).bit_length() - 1
        return min(most, (self.cells - 1).bit_length())

    @cached_property
    def _table(self) -> thresholds.Table:
        return thresholds.binomial(1 / self.scale, self.threshold, self._doublings)

    def _empty(self, noise: Noise) -> Integers:
        """Return the numbers of the cells that pass if all are empty, in order."""
        blocks = -(-self.cells >> self._doublings)
        parts = [
            self._passing_in(np.arange(start, min(start + _BLOCKS, blocks)), noise)
            for start in range(0, blocks, _BLOCKS)
        ]
        numbers = np.concatenate(parts)
        return numbers[: np.searchsorted(numbers, self.cells)]  # the last block may reach beyond the cells

    def _passing_in(self, blocks: Integers, noise: Noise) -> Integers:
        """Return the numbers of the cells that pass in some blocks, in order."""
        successes, tied = self._table.find(words := noise.uniform_words(blocks.size))
        for index in np.flatnonzero(tied):
            successes[index] = self._table.resolve(int(words[index]), lambda: int(noise.uniform_words(1)[0]))
        return distinct_places(np.repeat(blocks, successes), self._doublings, noise)


def distinct_places(blocks: Integers, bits: int, noise: Noise) -> Integers:
    """Return a number for each entry of `blocks`: a place in a block of 2^bits numbers, uniform without repetition.

    A block with a repetition is drawn again as a whole. What is left is uniform on the sets without repetition, because
    all ordered choices of places are equally likely, and each set has equally many.

    Parameters
    ----------
    blocks : int array
        Number of the block of each place, in order.
    bits : int
        At most 62, and block numbers leave room for them in 63 bits.
    """
    numbers = np.empty(blocks.size, dtype=np.int64)
    open_ = np.arange(blocks.size)
    while open_.size:
        numbers[open_] = blocks[open_] << bits | _uniform(open_.size, bits, noise)
        numbers.sort()  # within blocks, because blocks are in order and never mix
        repeated = blocks[1:][numbers[1:] == numbers[:-1]]
        open_ = np.flatnonzero(lookup(blocks, repeated)[0])
    return numbers


def _uniform(count: int, bits: int, noise: Noise) -> Integers:
    """Draw numbers of a given number of uniform bits, at most 63."""
    return (noise.uniform_words(count) >> np.uint64(1) >> np.uint64(63 - bits)).astype(np.int64)


def _check_scale(scale: Fraction) -> None:
    if not NARROWEST <= scale <= WIDEST:
        raise BudgetError(
            f"the budget requires noise of scale {float(scale):.3g} to choose cells; it must lie between 1e-6 and "
            f"{WIDEST:.3g}. Choose another {parameter('epsilon')}."
        )


def _chance(scale: Fraction, threshold: int, bits: int) -> tuple[Fraction, Fraction]:
    """Return two numbers between which a^threshold / (1 + a) lies, closer for more bits."""
    one = 1 << bits
    power, a = thresholds.exp_floor(threshold / scale, bits), thresholds.exp_floor(1 / scale, bits)
    return Fraction(power, one + a + 1), Fraction(power + 1, one + a)


def _is_at_most(scale: Fraction, threshold: int, limit: Fraction) -> bool:
    """Whether an empty cell passes with a probability of at most `limit`.

    The probability is never equal to a rational number, because a is not algebraic; so enough bits decide.
    """
    bits = _BITS
    while True:
        low, high = _chance(scale, threshold, bits)
        if high <= limit or low > limit:
            return high <= limit
        bits *= 2
