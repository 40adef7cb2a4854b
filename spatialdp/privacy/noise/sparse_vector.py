"""Which of many questions have an answer above a threshold? The sparse vector technique tells, at the price of a few.

The threshold gets noise once, each answer gets fresh noise, and only "above" or "below" is said. Answers below cost
nothing more, however many there are; after `limit` answers above, it ends. Questions may follow from earlier answers.
Two things that are often done are wrong: to publish the noisy value, and to draw the threshold's noise again. All noise
here is one-sided, because the proof moves it upwards only; its variance is half of that of two-sided noise. See
``docs/design/selection.md``.
"""

from __future__ import annotations

import math
import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from spatialdp.errors import BudgetError, LedgerError, ParameterError
from spatialdp.privacy.noise.source import WIDEST, Noise
from spatialdp.wording import parameter

__all__ = ["SparseVector", "SparseVectorTerms"]

_ROOT_BITS = 10  # binary places of the ratio of the two shares of ε, so that the scales stay short fractions


@dataclass(frozen=True)
class SparseVectorTerms:
    """The public terms of the sparse vector technique, and the noise that follows from them.

    Attributes
    ----------
    epsilon : Fraction
        Cost of all answers together.
    sensitivity : int
        Δ: the most that one record can move the value of any question.
    limit : int
        How many answers "above" are given before it ends.
    monotone : bool
        Whether one record moves the values of all questions in one direction (up or down, or not at all), as it does
        for counts if neighbours differ by adding or removing it.

    Examples
    --------
    >>> terms = SparseVectorTerms(Fraction(1), sensitivity=1, limit=1, monotone=True)
    >>> terms.shares
    (Fraction(1, 2), Fraction(1, 2))
    >>> terms.threshold_scale, terms.question_scale
    (Fraction(2, 1), Fraction(2, 1))
    """

    epsilon: Fraction
    sensitivity: int
    limit: int
    monotone: bool

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or self.sensitivity < 1 or self.limit < 1:
            raise ParameterError(
                f"epsilon is {self.epsilon}, sensitivity is {self.sensitivity} and limit is {self.limit}; give an "
                "epsilon above 0, and whole numbers from 1 on."
            )
        if max(self.threshold_scale, self.question_scale) > WIDEST:
            raise BudgetError(
                f"{parameter('epsilon')} is {float(self.epsilon):.3g}, which requires noise of scale "
                f"{float(self.question_scale):.3g} for a {parameter('limit')} of {self.limit}; it must be at most "
                f"{WIDEST:.3g}. Choose a larger {parameter('epsilon')}, or a smaller {parameter('limit')}."
            )

    @property
    def _steps(self) -> int:
        """By how many sensitivities the noise of an answer "above" must be able to hide a move of the margin."""
        return self.limit if self.monotone else 2 * self.limit

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """ε of the threshold and ε of the answers, in the ratio 1 : k^(2/3), k = `limit`, or twice that in general.

        The exact sum of both is ε. The ratio, which minimises the variance of their difference, is rounded down to ten
        binary places.
        """
        ratio = Fraction(_cube_root(self._steps**2 << 3 * _ROOT_BITS), 1 << _ROOT_BITS)
        first = self.epsilon / (1 + ratio)
        return first, self.epsilon - first

    @property
    def threshold_scale(self) -> Fraction:
        """Scale of the noise of the threshold, Δ / ε₁."""
        return self.sensitivity / self.shares[0]

    @property
    def question_scale(self) -> Fraction:
        """Scale of the noise of each answer, 2 c Δ / ε₂ in general and c Δ / ε₂ if monotone, c the limit."""
        return self._steps * self.sensitivity / self.shares[1]

    @property
    def offset(self) -> int:
        """By how much the mean noise of an answer exceeds the mean noise of the threshold, rounded."""
        return round(_mean(self.question_scale) - _mean(self.threshold_scale))


class SparseVector:
    """Says of one value after the other whether it is above a threshold; see `SparseVectorTerms` for the cost.

    Whoever makes one has paid the whole ε before. The noisy threshold stays in memory: it is not shown, and neither
    copied nor sent to another process.

    Parameters
    ----------
    terms : SparseVectorTerms
    threshold : int
        Public.
    noise : Noise

    Privacy
    -------
    Neighbours: those for which the terms' sensitivity, and whether values are monotone, were found. All answers
    together cost ε = ε₁ + ε₂. Let D and D' be neighbours and fix the answers. Add Δ to the threshold's noise ρ, which
    costs ε₁. Under D' with ρ + Δ each answer "below" is at least as likely as under D with ρ, because values are at
    most Δ larger. Each of at most c answers "above" needs noise that is larger by at most 2 Δ, which costs ε₂ / c.
    If values are monotone, Δ is enough: either all values are larger, or ρ can stay as it is. All moves are
    upwards, where one-sided noise has all its support (Lyu, Su, Li 2017, for two-sided noise). The law of all answers,
    read off this class, is compared for neighbours in ``tests/audit/test_selection.py``.

    Examples
    --------
    >>> from spatialdp.privacy.noise.source import SystemNoise
    >>> terms = SparseVectorTerms(Fraction(1), sensitivity=1, limit=1, monotone=True)
    >>> vector = SparseVector(terms, 500, SystemNoise())
    >>> vector.above(0), vector.above(1000)
    (False, True)
    >>> vector
    <SparseVector: threshold 500, 0 of 1 answers above left>
    """

    def __init__(self, terms: SparseVectorTerms, threshold: int, noise: Noise) -> None:
        self._scale, self._limit, self._threshold, self._noise = terms.question_scale, terms.limit, threshold, noise
        self._process, self._lock = os.getpid(), threading.Lock()
        drawn = int(noise.geometric(terms.threshold_scale, 1)[0])
        self._noisy_threshold = threshold + drawn + terms.offset
        self._left = terms.limit

    @property
    def left(self) -> int:
        """How many answers "above" are left."""
        return self._left

    def above(self, value: int) -> bool:
        """Whether a value is above the threshold, or equal to it, up to noise.

        Raises
        ------
        BudgetError
            If all answers "above" have been given.
        LedgerError
            If this is another process, such as a fork.
        """
        self.check()  # before the lock, which somebody may have held when the process forked
        with self._lock:
            self.check()
            drawn = int(self._noise.geometric(self._scale, 1)[0])
            answer = int(value) + drawn >= self._noisy_threshold
            self._left -= answer
        return answer

    def check(self) -> None:
        """Refuse what `above` refuses, whatever the value is: ask before it is computed."""
        if self._process != os.getpid():
            raise LedgerError(
                "the threshold was made in another process, which may give the same answers again; ask there, or pay "
                "for another one here."
            )
        if not self._left:
            raise BudgetError(
                f"{parameter('limit')} was {self._limit}, and that many answers above the threshold have been given; "
                "open another threshold, which costs again."
            )

    def close(self) -> None:
        """Forget the noisy threshold; no answers are left."""
        with self._lock:
            self._left, self._noisy_threshold = 0, self._threshold

    def __repr__(self) -> str:
        return f"<SparseVector: threshold {self._threshold}, {self._left} of {self._limit} answers above left>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a noisy threshold cannot be copied or sent to another process: it would answer twice")


def _cube_root(value: int) -> int:
    """Return the largest whole number whose cube is not above the value."""
    root = 1 << -(-value.bit_length() // 3)
    while root**3 > value:
        root = (2 * root + value // root**2) // 3
    return root


def _mean(scale: Fraction) -> float:
    """Return the mean of geometric noise; 0 for a scale so small that it hardly differs from 0."""
    rate = float(1 / scale)
    return 1 / math.expm1(rate) if rate < 700 else 0.0
