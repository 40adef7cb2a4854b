"""Which bugs could the sparse vector technique have? Patches that plant them; `mutants` names the check."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any
from unittest import mock

from spatialdp.privacy.noise.sparse_vector import SparseVector, SparseVectorTerms

Patch = contextlib.AbstractContextManager[Any]


def monotone_scale_for_all() -> Patch:
    """Give answers the noise of monotone questions, although a record may move them both ways."""
    return mock.patch.object(SparseVectorTerms, "_steps", property(lambda terms: terms.limit))


def noise_of_one_answer() -> Patch:
    """Forget that noise must do for `limit` answers."""
    return mock.patch.object(SparseVectorTerms, "_steps", property(lambda terms: 1 if terms.monotone else 2))


def never_ends() -> Patch:
    """Go on after `limit` answers above."""
    real = SparseVector.above

    def above(self: SparseVector, value: int) -> bool:
        answer = real(self, value)
        self._left = 1
        return answer

    return mock.patch.object(SparseVector, "above", above)


def threshold_drawn_again() -> Patch:
    """Draw the threshold's noise again after each answer, without paying for it."""
    real = SparseVector.above

    def above(self: SparseVector, value: int) -> bool:
        self._noisy_threshold = self._threshold + int(self._noise.geometric(self._scale, 1)[0])
        return real(self, value)

    return mock.patch.object(SparseVector, "above", above)


def shares_twice() -> Patch:
    """Pay the whole ε for the threshold, and again for the answers."""
    return mock.patch.object(SparseVectorTerms, "shares", property(lambda terms: (terms.epsilon, terms.epsilon)))


def exact_threshold() -> Patch:
    """Compare with the threshold itself: the noise of the answers alone has to do."""
    tiny = Fraction(1, 1000)
    return mock.patch.object(SparseVectorTerms, "threshold_scale", property(lambda terms: tiny))


# How it is planted, and the terms (questions, limit, monotone) at which it shows.
BUGS: dict[str, tuple[Any, tuple[int, int, bool]]] = {
    "noise of monotone questions for all": (monotone_scale_for_all, (3, 1, False)),
    "answers above share the noise of one": (noise_of_one_answer, (3, 2, True)),
    "no end after the last answer above": (never_ends, (3, 1, True)),
    "threshold's noise drawn again after each answer": (threshold_drawn_again, (2, 1, True)),
    "whole ε for the threshold and again for the answers": (shares_twice, (3, 1, False)),
    "threshold without noise": (exact_threshold, (3, 1, True)),
}
