"""Does the sparse vector technique cost what it says? All lists of answers, exact ratios, and wrong variants."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from spatialdp.privacy.noise.sparse_vector import SparseVector, SparseVectorTerms
from tests.audit.selection import (
    BOTH_WAYS,
    CRUMBS,
    ONE_WAY,
    Dictated,
    law_of_answers,
    worst_answers,
)

ONE = Fraction(1)


@pytest.mark.parametrize(
    ("limit", "monotone", "expected"),
    [
        (1, False, [0.387, 1, 1]),
        (1, True, [0.5, 1, 1]),
        (2, False, [0.284, 0.642, 1]),
        (2, True, [0.387, 0.693, 1]),
    ],
)
def test_answers_cost_epsilon_and_no_more(limit, monotone, expected):
    for questions, share in enumerate(expected, 1):
        worst = worst_answers(ONE, limit, questions, monotone, ONE_WAY if monotone else BOTH_WAYS)
        assert worst == pytest.approx(share, abs=0.001)
        assert worst <= 1 + CRUMBS


@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(3)])
@pytest.mark.parametrize("monotone", [False, True])
def test_answers_cost_no_more_at_other_budgets(epsilon, monotone):
    moves = ONE_WAY if monotone else BOTH_WAYS
    assert 0.6 * epsilon < worst_answers(epsilon, 2, 3, monotone, moves) <= epsilon + CRUMBS


def test_monotone_questions_that_are_not_cost_more():
    assert worst_answers(ONE, 1, 3, True, BOTH_WAYS) == pytest.approx(1.5, abs=0.001)
    assert worst_answers(ONE, 2, 3, True, BOTH_WAYS) == pytest.approx(1.613, abs=0.001)


def test_laws_add_up_to_one():
    terms = SparseVectorTerms(ONE, 1, 2, False)
    law = law_of_answers(terms, 1, (0, 2, 1))
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
    assert {answers for answers in law if sum(answers) == 2 and not answers[-1]} == set()


def test_noise_of_the_threshold_is_added_to_it():
    """The laws are read off with a threshold of 0 and noise of 0; the class knows their sum alone."""
    terms = SparseVectorTerms(ONE, 1, 1, False)
    for threshold, drawn in ((7, 0), (4, 3), (0, 7)):
        asked = [SparseVector(terms, threshold, Dictated(drawn, 0)).above(value) for value in range(20)]
        assert asked == [value >= 7 + terms.offset for value in range(20)]


# --- the slide's variant, which publishes the noisy value ---------------------------------------------


def worst_of_the_slide(below, epsilon=1.0):
    """Return the log-ratio of `below` answers below and then the noisy value 0, if all values grow by 1.

    The threshold has Laplace noise of scale 2/ε, each value of scale 2/ε, and what is above is published with its
    noise, as on the slide "privacy efficiency" of a well-known deck.
    """
    scale, noise = 2 / epsilon, np.arange(-200, 1)  # a published 0 is above a threshold of 0 with noise of at most 0

    def less(margin):
        """P(noise < margin) for margins that are not positive."""
        return np.exp((margin - 1) / scale) / (1 + math.exp(-1 / scale))

    def likely(value):
        threshold = np.exp(-np.abs(noise) / scale)
        published = math.exp(-abs(0 - value) / scale)
        return float((threshold * less(noise - value) ** below).sum()) * published

    return math.log(likely(1) / likely(2))


def test_the_slides_variant_exceeds_epsilon_and_ours_does_not():
    assert worst_of_the_slide(1) == pytest.approx(1.0, abs=1e-9)
    assert worst_of_the_slide(10) == pytest.approx(5.5, abs=1e-9)
    assert worst_of_the_slide(50) == pytest.approx(25.5, abs=1e-9)
    terms = SparseVectorTerms(ONE, 1, 1, True)
    for values in ((0,) * 10, (2,) * 10):
        laws = [law_of_answers(terms, 1, tuple(value + more for value in values)) for more in (0, 1)]
        assert max(abs(math.log(laws[0][each] / laws[1][each])) for each in laws[0]) <= 1 + CRUMBS
