"""Private selection: exact ratios, exact samplers, and wrong variants that must be caught.

Statistical tests run with fixed seeds and reject at p < 1e-6, so a correct sampler would fail a fresh seed once in
a million runs; for every sampler a parameter that is 10 or 20 % off is rejected as well.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp.errors import ParameterError
from spatialdp.privacy.noise import selection
from spatialdp.privacy.noise.selection import (
    _gaps,
    _rate,
    amplified_epsilon,
    decide,
    exponential,
    middle,
    permute_and_flip,
)
from spatialdp.privacy.noise.source import SeededNoise
from tests.audit.tape import rho
from tests.helpers.laws import FALSE_ALARM, boundaries, fits, worst_log_ratio
from tests.helpers.medians import ADD_REMOVE, neighbouring
from tests.helpers.sources import ScriptedWords
from tests.reference.median_laws import sampled_law

REFUSED = 2**64 - 1  # the word of a coin that only a best candidate is sure to pass

# --- exponential mechanism and permute-and-flip ---


def rates_of(scores, epsilon, sensitivity, monotone):
    gaps, step = _gaps(scores)
    return [_rate(epsilon, sensitivity, monotone) * step * gap for gap in gaps]


def law_of_exponential(scores, epsilon, sensitivity, monotone=False):
    weights = [math.exp(-rate) for rate in rates_of(scores, epsilon, sensitivity, monotone)]
    return dict(enumerate(np.array(weights) / math.fsum(weights)))


def law_of_permute_and_flip(scores, epsilon, sensitivity, monotone=False):
    accept = [math.exp(-rate) for rate in rates_of(scores, epsilon, sensitivity, monotone)]
    law = dict.fromkeys(range(len(scores)), 0.0)
    for order in itertools.permutations(range(len(scores))):
        still = 1.0
        for o in order:
            law[o] += still * accept[o] / math.factorial(len(scores))
            still *= 1 - accept[o]
    return law


def ratios(law, moves, monotone):
    worst = 0.0
    for scores in itertools.product(range(5), repeat=3):
        base = law(scores, Fraction(1), Fraction(1), monotone)
        for move in itertools.product(moves, repeat=3):
            moved = law([a + b for a, b in zip(scores, move, strict=True)], Fraction(1), Fraction(1), monotone)
            worst = max(worst, worst_log_ratio(base, moved))
    return worst


def test_exponential_ratio():
    assert 0.7 < ratios(law_of_exponential, (-1, 0, 1), False) <= 1 + 1e-12
    assert 0.7 < ratios(law_of_exponential, (0, 1), True) <= 1 + 1e-12
    assert ratios(law_of_exponential, (-1, 0, 1), True) > 1.2  # exp(ε q / Δ) for scores that move both ways


def test_exponential_is_concentrated():
    """Rényi divergences over many orders: at most ε²/8 for each, and almost reached."""
    worst = 0.0
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(4)):
        for scores in itertools.product((0, 1, 5), repeat=3):
            for move in itertools.product((-1, 0, 1), repeat=3):
                moved = [a + b for a, b in zip(scores, move, strict=True)]
                p, q = (
                    np.log(list(law_of_exponential(each, epsilon, Fraction(1)).values())) for each in (scores, moved)
                )
                worst = max(worst, rho(p, q) / float(epsilon**2 / 8))
    assert 0.9 < worst <= 1 + 1e-6  # at orders near 1 doubles leave six digits


def test_permute_and_flip_ratio():
    assert 0.7 < ratios(law_of_permute_and_flip, (-1, 0, 1), False) <= 1 + 1e-12
    assert ratios(law_of_permute_and_flip, (0, 1), True) <= 1 + 1e-12
    assert ratios(law_of_permute_and_flip, (-1, 0, 1), True) > 1.2


@given(st.lists(st.fractions(0, 9), min_size=1, max_size=5), st.fractions(Fraction(1, 10), 5))
@settings(max_examples=60, deadline=None)
def test_permute_and_flip_is_never_worse(scores, epsilon):
    def mean(law):
        return sum(float(scores[o]) * p for o, p in law(scores, epsilon, Fraction(1)).items())

    assert mean(law_of_permute_and_flip) >= mean(law_of_exponential) - 1e-12


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("draw", "law"), [(exponential, law_of_exponential), (permute_and_flip, law_of_permute_and_flip)]
)
def test_selection_sampler(draw, law):
    scores, epsilon, noise = [Fraction(1, 3), 2, 4, Fraction(7, 2)], Fraction(2), SeededNoise(5)
    drawn = [draw(scores, epsilon, Fraction(1), noise) for _ in range(15_000)]
    assert fits(drawn, law(scores, epsilon, Fraction(1))) > FALSE_ALARM
    assert fits(drawn, law(scores, epsilon * Fraction(12, 10), Fraction(1))) < FALSE_ALARM


def test_selection_refuses_what_is_not_exact():
    for wrong in ([], [0.5], [True]):
        with pytest.raises(ParameterError):
            exponential(wrong, Fraction(1), Fraction(1), SeededNoise(0))
    with pytest.raises(ParameterError):
        permute_and_flip([1], Fraction(0), Fraction(1), SeededNoise(0))


def word_below(rate, bits):
    """The first bits of exp(-rate)."""
    with mpmath.workprec(bits + 100):
        return int(mpmath.floor(mpmath.exp(-mpmath.mpf(rate)) * mpmath.mpf(2) ** bits))


def test_permute_and_flip_follows_a_coin_to_its_last_bit():
    """A candidate 10 below the best is accepted with probability exp(-5); then one of the two is taken."""
    limit = word_below(5, 192)
    for number, accepted in ((limit - 1, True), (limit + 1, False)):
        coins = [number >> 128, REFUSED, number >> 64 & REFUSED, number & REFUSED]
        for taken in (0, 1):
            noise = ScriptedWords([*coins, taken])
            assert permute_and_flip([0, 10], Fraction(1), Fraction(1), noise) == (taken if accepted else 1)
            assert not noise.words


def test_choices_among_many_candidates_are_those_among_the_best():
    scores = [*range(1000), 10**9, *range(1000), 10**9, Fraction(1, 3)]
    noise = SeededNoise(3)
    for draw in (exponential, permute_and_flip):
        assert {draw(scores, Fraction(1), Fraction(1), noise) for _ in range(40)} == {1000, 2001}


@given(st.lists(st.fractions(0, 9), min_size=1, max_size=6))
def test_scores_become_whole_steps_below_the_best(scores):
    gaps, step = _gaps(scores)
    assert [max(scores) - gap * step for gap in gaps] == scores


# --- a place near the median ---


def law_of_middle(values, places, epsilon):
    gaps = [max(0, *(sum(side) - len(values) / 2 for side in _sides(values, k))) for k in range(places)]
    weights = np.exp(-epsilon * np.array(gaps) / 2)
    return dict(enumerate(weights / weights.sum()))


def _sides(values, k):
    return [value < k for value in values], [value > k for value in values]


@pytest.mark.statistical
@pytest.mark.parametrize("values", [[5, 5, 5, 0, 9], [3, 4], [9, 9, 9, 9], [0, 0, 1]])
def test_middle_follows_its_law_and_no_other(values):
    noise = SeededNoise(6)
    drawn = [middle(np.array(values), 10, Fraction(2), noise) for _ in range(15_000)]
    assert fits(drawn, law_of_middle(values, 10, 2)) > FALSE_ALARM
    assert fits(drawn, law_of_middle(values, 10, 2.5)) < FALSE_ALARM


@pytest.mark.parametrize(
    ("values", "place"), [([0], 0), ([9], 9), ([4] * 7, 4), ([1, 2, 2, 8, 9], 2), ([9, 2, 5], 5), ([0, 0, 9], 0)]
)
def test_middle_of_much_budget_is_the_median(values, place):
    assert middle(np.array(values), 10, Fraction(1000), SeededNoise(1)) == place


def test_middle_needs_a_budget():
    with pytest.raises(ParameterError, match="epsilon is 0"):
        middle(np.array([1]), 10, Fraction(0), SeededNoise(1))


# --- deciding by as many bits as it takes ---


def decided(sizes, rates, word, more_bits):
    gaps, step = _gaps([-rate for rate in rates])
    return decide(sizes, gaps, step, word, more_bits)


@given(
    st.lists(st.tuples(st.integers(1, 2**40), st.fractions(0, 30)), min_size=1, max_size=6), st.integers(0, 2**64 - 1)
)
@settings(max_examples=100, deadline=None)
def test_decide_follows_the_cumulative_sums(pairs, word):
    sizes, rates = [p[0] for p in pairs], [p[1] for p in pairs]
    rates = [rate - min(rates) for rate in rates]
    limits = boundaries(sizes, rates, 128)
    assert decided(sizes, rates, word, lambda: 2**63) == sum(limit < (word << 64 | 2**63) for limit in limits)


def test_decide_takes_more_bits_at_a_boundary():
    sizes, rates = [3, 5, 1, 2], [Fraction(2), Fraction(0), Fraction(1, 7), Fraction(5)]
    for j, limit in enumerate(boundaries(sizes, rates, 192)):
        first, second, third = limit >> 128, limit >> 64 & (2**64 - 1), limit & (2**64 - 1)
        for tail, outcome in (
            ([second - 1], j),
            ([second + 1], j + 1),
            ([second, third - 1], j),
            ([second, third + 1], j + 1),
        ):
            bits = iter(tail)
            assert decided(sizes, rates, first, lambda bits=bits: next(bits)) == outcome
            assert next(bits, None) is None


def test_decide_is_right_with_any_working_precision(monkeypatch):
    """With no guard bits the sums are off by several words, and more bits settle it all the same."""
    monkeypatch.setattr(selection, "_GUARD", 0)
    sizes, rates, rest = [3, 5, 1, 2], [Fraction(2), Fraction(0), Fraction(1, 7), Fraction(5)], 2**63
    limits = boundaries(sizes, rates, 128)
    for word in {(limit >> 64) + off for limit in limits for off in range(-20, 21)}:
        assert decided(sizes, rates, word, lambda: rest) == sum(limit < (word << 64 | rest) for limit in limits)


# --- amplification by sampling ---


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 3), Fraction(99, 100), Fraction(1)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(30)])
def test_amplified_epsilon_is_rounded_down(epsilon, rate):
    found = amplified_epsilon(epsilon, rate)
    with mpmath.workdps(60):
        exact = mpmath.log(
            1 + mpmath.expm1(mpmath.mpf(epsilon.numerator) / epsilon.denominator) * rate.denominator / rate.numerator
        )
        found = mpmath.mpf(found.numerator) / found.denominator
        assert exact * (1 - mpmath.mpf(10) ** -14) <= found <= exact * (1 + mpmath.mpf(10) ** -55)


def worst_sampled_ratio(spend, rate):
    rng, worst = np.random.default_rng(54), 0.0
    for _ in range(300):
        values, other, high = neighbouring(rng, ADD_REMOVE)
        worst = max(
            worst, worst_log_ratio(sampled_law(values, high, spend, rate), sampled_law(other, high, spend, rate))
        )
    return worst


def test_amplification_ratio():
    epsilon, rate = Fraction(1), Fraction(1, 4)
    spend = float(amplified_epsilon(epsilon, rate))
    assert 0.3 < worst_sampled_ratio(spend, float(rate)) <= 1

    def worst_case(spend):
        """A rare output, exp(spend) times as likely with the record than without, uses all that is allowed."""
        return math.log(1 - float(rate) + float(rate) * math.exp(spend))

    assert worst_case(spend) == pytest.approx(1, rel=1e-12)
    assert worst_case(float(epsilon / rate)) > 1  # ε / rate, a common wrong rule
