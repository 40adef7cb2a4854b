"""How do choices, thresholds and functions of blocks go onto a tape? As measurements whose loss is known.

The loss of a choice follows from the law of its draw. Answers of a threshold, and the median of blocks, lose at most
their ε if values change by no more than was declared (`selection` and `aggregates` show it by enumeration), which is
checked here. Coins of blocks are coupled: a record that both neighbours have keeps its coin, and another one takes the
coin that is left. Functions of blocks run in this process.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from spatialdp.curator.aggregate import aggregation
from spatialdp.curator.selections import choice, questions, threshold
from spatialdp.privacy.noise.selection import exponential, permute_and_flip
from spatialdp.privacy.noise.sparse_vector import SparseVector, SparseVectorTerms

if TYPE_CHECKING:
    from tests.audit.tape import Tape

_ROUNDING = 1 - Fraction(1, 10**12)  # of losses that are computed in doubles


def record_selections(tape: Tape) -> None:
    """Let a tape record and replay what these questions draw, as long as it lasts."""
    patches = {
        choice: {
            "exponential": _draw(tape, exponential, _law_of_exponential),
            "permute_and_flip": _draw(tape, permute_and_flip, _law_of_permute_and_flip),
        },
        aggregation: {"coins": _coins(tape), "middle": _middle(tape), "results": _results},
        questions: {"check_function": lambda function: None},
        threshold: {"SparseVector": lambda terms, level, noise: _Vector(tape, terms, level, noise)},
    }
    for module, names in patches.items():
        tape.enter_context(mock.patch.multiple(module, **names))


# --- choices ------------------------------------------------------------------------------------------


def _draw(tape: Tape, real: Callable[..., int], law: Callable[[Any], Any]) -> Callable[..., int]:
    def drawn(scores: Any, epsilon: Fraction, sensitivity: Fraction, noise: Any, monotone: bool) -> int:
        public = (real.__name__, epsilon, sensitivity, len(scores), monotone)
        chosen, first = tape._measured(
            public, list(scores), lambda: real(scores, epsilon, sensitivity, noise, monotone)
        )
        if first is not None:
            moves = [b - a for a, b in zip(first, scores, strict=True)]
            assert max(map(abs, moves)) <= sensitivity, "a score changes by more than the sensitivity"
            assert not monotone or min(moves) >= 0 or max(moves) <= 0, "scores move both ways"
            rate = float(epsilon / sensitivity) / (1 if monotone else 2)
            before, after = (law([math.exp(rate * (each - max(side))) for each in side]) for side in (first, scores))
            tape._spend(Fraction(abs(math.log(before[chosen] / after[chosen]))) * _ROUNDING)
        return chosen

    return drawn


def _law_of_exponential(weights: list[float]) -> list[float]:
    return [weight / math.fsum(weights) for weight in weights]


def _law_of_permute_and_flip(weights: list[float]) -> list[float]:
    law = [0.0] * len(weights)
    for accepted in itertools.product((False, True), repeat=len(weights)):
        likely = math.prod(p if yes else 1 - p for p, yes in zip(weights, accepted, strict=True))
        for place in np.flatnonzero(accepted):
            law[place] += likely / sum(accepted)
    return law


# --- thresholds ---------------------------------------------------------------------------------------


class _Vector:
    """A sparse vector whose answers are recorded, and replayed for values that moved."""

    def __init__(self, tape: Tape, terms: SparseVectorTerms, level: int, noise: Any) -> None:
        self._tape, self._terms, self._moves = tape, terms, [0]
        self._real, _ = tape._measured((terms, level), None, lambda: SparseVector(terms, level, noise))
        self.left = terms.limit

    def check(self) -> None:
        """Refuse nothing here: the real vector does, when it is asked."""

    def above(self, value: int) -> bool:
        answer, first = self._tape._measured("above", value, lambda: self._real.above(value))
        if first is not None:
            if first != value and not any(self._moves):
                self._tape._spend(self._terms.epsilon)
            self._moves.append(value - first)
            assert max(map(abs, self._moves)) <= self._terms.sensitivity, "a value changes by more than declared"
            one_way = min(self._moves) >= 0 or max(self._moves) <= 0
            assert one_way or not self._terms.monotone, "values move both ways"
        self.left -= answer
        return bool(answer)

    def close(self) -> None:
        self.left = 0


# --- functions of blocks ------------------------------------------------------------------------------


def _coins(tape: Tape) -> Callable[..., Any]:
    real = aggregation.coins

    def coins(held: Any, blocks: int, by_person: bool, noise: Any) -> Any:
        units = held.persons.to_pylist() if by_person else _alike(zip(held.columns, held.rows, strict=True))
        if not tape._playing:
            drawn, _ = tape._measured((blocks, by_person), units, lambda: real(held, blocks, by_person, noise))
            return drawn
        drawn, first = tape._measured((blocks, by_person), units, lambda: None)
        known = dict(zip(first, drawn.tolist(), strict=True))
        rest = [coin for unit, coin in known.items() if unit not in set(units)] + [0]
        return np.array([known.get(unit, rest[0]) for unit in units], dtype=np.int64)

    return coins


def _alike(squares: Any) -> list[Any]:
    """Return squares with how often each occurred before, so that all records are different."""
    seen: Counter[Any] = Counter()
    found = []
    for column, row in squares:
        found.append((int(column), int(row), seen[column, row]))
        seen[column, row] += 1
    return found


def _middle(tape: Tape) -> Callable[..., int]:
    real = aggregation.middle

    def middle(values: Any, places: int, epsilon: Fraction, noise: Any) -> int:
        public = (len(values), places, epsilon)
        found, first = tape._measured(public, values, lambda: real(values, places, epsilon, noise))
        if first is not None:
            tape._spend(epsilon * int((first != values).sum()))
        return found

    return middle


def _results(function: Any, tables: Any, seconds: float) -> list[float | None]:
    return [float(function(table)) if len(table) else None for table in tables]
