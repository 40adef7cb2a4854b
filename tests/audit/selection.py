"""How likely is each list of answers of the sparse vector technique? Read off the class, and compared for neighbours.

An answer is monotone in its noise, so bisection finds from which noise on it is "above", for each noise of the
threshold. No formula is trusted but the law of geometric noise, whose scale is the one that the class asks for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from spatialdp.errors import BudgetError
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.sparse_vector import SparseVector, SparseVectorTerms
from tests.audit.enumeration import log_ratio

Answers = tuple[bool, ...]

_TAIL = 45  # noise of the threshold that is larger than this many scales is left out
_FAR = 2**40
_THRESHOLD = 1
_VALUES = (0, 2)
CRUMBS = 1e-9


class Dictated(Noise):
    """A source that returns given geometric noise and remembers the scales."""

    def __init__(self, *drawn: int) -> None:
        self.drawn, self.scales = list(drawn), []

    def random_bytes(self, count: int) -> bytes:
        raise AssertionError("nothing but geometric noise is drawn")

    def geometric(self, scale: Any, size: Any) -> Any:
        assert size == 1
        assert self.drawn, "noise is drawn once for the threshold and once for each answer"
        self.scales.append(float(scale))
        return np.array([self.drawn.pop(0)])


def law_of_answers(terms: SparseVectorTerms, threshold: int, values: tuple[int, ...]) -> dict[Answers, float]:
    """Return the probability of every list of answers; a list ends where the class gives no more answers."""
    noise, weights = _threshold_noise(terms)
    law: dict[Answers, float] = {}
    open_: list[tuple[Answers, Any]] = [((), weights)]
    while open_:
        before, likely = open_.pop()
        if len(before) == len(values) or _is_closed(terms, before):
            law[before] = math.fsum(likely)
            continue
        margins = (threshold - values[len(before)] + noise).tolist()
        above = np.array([_above(terms, margin, before) for margin in margins])
        open_ += [((*before, True), likely * above), ((*before, False), likely * (1 - above))]
    return law


def _threshold_noise(terms: SparseVectorTerms) -> tuple[Any, Any]:
    """Return the noise of the threshold and its law."""
    source = Dictated(0)
    SparseVector(terms, 0, source)
    (scale,) = source.scales
    noise = np.arange(math.ceil(_TAIL * scale) + 1)
    return noise, np.exp(-noise / scale) * -math.expm1(-1 / scale)


def _after(terms: SparseVectorTerms, before: Answers, *drawn: int) -> tuple[SparseVector, Dictated]:
    """Return a vector with a threshold of 0 that gave these answers, to values that are far below and above."""
    source = Dictated(0, *[0] * len(before), *drawn)
    vector = SparseVector(terms, 0, source)
    for answer in before:
        assert vector.above(_FAR if answer else -_FAR) == answer
    return vector, source


def _is_closed(terms: SparseVectorTerms, before: Answers) -> bool:
    try:
        _after(terms, before, 0)[0].above(0)
    except BudgetError:
        return True
    return False


@cache
def _above(terms: SparseVectorTerms, margin: int, before: Answers) -> float:
    """Return P(above) for a value that is so far below the noisy threshold."""
    low, high = 0, 2**12
    while low < high:
        middle = (low + high) // 2
        vector, source = _after(terms, before, middle)
        low, high = (low, middle) if vector.above(-margin) else (middle + 1, high)
        scale = source.scales[-1]
    assert low < 2**12
    return math.exp(-low / scale)


def worst_answers(epsilon: Fraction, limit: int, questions: int, monotone: bool, moves: tuple[int, ...]) -> float:
    """Return the largest log-ratio of all lists of answers between values and values that moved.

    Parameters
    ----------
    epsilon, limit, monotone
        As in `SparseVectorTerms`, with a sensitivity of 1.
    questions : int
    moves : tuple of int
        What may be added to each value.
    """
    terms, worst = SparseVectorTerms(epsilon, 1, limit, monotone), 0.0
    for values in itertools.product(_VALUES, repeat=questions):
        mine = law_of_answers(terms, _THRESHOLD, values)
        for move in itertools.product(moves, repeat=questions):
            moved = tuple(value + more for value, more in zip(values, move, strict=True))
            worst = max(worst, log_ratio(mine, law_of_answers(terms, _THRESHOLD, moved)))
    return worst


BOTH_WAYS, ONE_WAY = (-1, 1), (0, 1)


@cache
def answers_cost_no_more_than_epsilon(questions: int = 3, limit: int = 1, monotone: bool = False) -> Callable[[], None]:
    """Return a check of all lists of answers to some questions."""

    def check() -> None:
        worst = worst_answers(Fraction(1), limit, questions, monotone, ONE_WAY if monotone else BOTH_WAYS)
        assert worst <= 1 + CRUMBS, f"a log-ratio of {worst}"

    return check
