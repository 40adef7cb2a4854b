"""Which bugs could choices, thresholds and functions of blocks have? Patches; `mutants` names the check."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.curator.aggregate import aggregation
from spatialdp.curator.aggregate.aggregation import SampleAndAggregate
from spatialdp.curator.selections.choice import Choice, Weights
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise import selection
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


# --- choices ------------------------------------------------------------------------------------------


def monotone_for_all_weights() -> Patch:
    """Draw with half the noise, although weights of both signs move scores both ways."""
    return mock.patch.object(Weights, "mixed", property(lambda weights: False))


def monotone_under_replace() -> Patch:
    """Draw with half the noise, although a replaced record leaves one region for another."""
    return mock.patch.object(Choice, "monotone", property(lambda ask: not ask.weights.mixed))


def weights_forgotten() -> Patch:
    """Take a record to move every score by one step, whatever the weights."""
    return mock.patch.object(Choice, "sensitivity", property(lambda ask: 1))


# How it is planted, and the weights and the relation at which it shows.
CHOICE_BUGS: dict[str, tuple[Any, tuple[str, str]]] = {
    "signed weights with the monotone rule": (monotone_for_all_weights, ("signed", "add-remove")),
    "monotone rule under replace": (monotone_under_replace, ("plain", "replace")),
    "sensitivity of a choice without the weights": (weights_forgotten, ("prices", "add-remove")),
}


# --- functions of blocks ------------------------------------------------------------------------------


def blocks_by_position() -> Patch:
    """Put records into blocks by their place in the table, so that one record moves all that follow."""
    return mock.patch.object(
        aggregation, "coins", lambda held, blocks, by_person, noise: np.arange(held.columns.size) % blocks
    )


def median_without_the_two() -> Patch:
    """Draw the median of blocks as if one result moved the gaps of all places in one direction."""
    real = selection.decide
    return mock.patch.object(
        selection, "decide", lambda sizes, gaps, rate, word, more_bits: real(sizes, gaps, 2 * rate, word, more_bits)
    )


def half_the_bounds() -> Patch:
    """Take a result to move by half the distance of the bounds, as if it began in the middle."""

    def law(self: SampleAndAggregate) -> Any:
        return self.spending.noise(Sensitivity(aggregation.STEPS // 2, aggregation.STEPS // 2))

    return mock.patch.object(SampleAndAggregate, "law", property(law))


def results_not_clipped() -> Patch:
    """Let results lie beyond the bounds."""

    def places(self: SampleAndAggregate, returned: Any) -> Any:
        return np.array(
            [aggregation.STEPS // 2 if each is None else int(each * aggregation.STEPS) for each in returned]
        )

    return mock.patch.object(SampleAndAggregate, "places", places)


AGGREGATE_BUGS: dict[str, Any] = {
    "blocks by position": blocks_by_position,
    "median of blocks without the factor 2": median_without_the_two,
    "mean of blocks with half the noise": half_the_bounds,
    "results of blocks are not clipped": results_not_clipped,
}
