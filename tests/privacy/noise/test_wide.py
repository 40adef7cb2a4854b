"""Wide integers and wide noise: Python's integers agree, and the law is the one that was asked for."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.noise import thresholds as tables
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import SeededNoise, SystemNoise
from spatialdp.privacy.noise.wide import LOW_BITS, Wide
from tests.helpers.sources import ScriptedNoise

DRAWS = 400_000
THRESHOLD = 1e-6  # of p values, with seeds that are fixed and were not chosen
SCALES = [Fraction(2**41), Fraction(2**66 + 1, 3), Fraction(3**45), Fraction(2**100)]

words = st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=5)


def wide(values, bits=0):
    return Wide.shifted(np.array(values, dtype=np.int64), bits)


# --- integers ------------------------------------------------------------------------------------------


@given(words, st.integers(0, 62))
def test_shifting_is_multiplying(values, bits):
    found = wide(values, bits)
    assert found.exact().tolist() == [value * 2**bits for value in values]
    assert ((found.low >= 0) & (found.low < 2**LOW_BITS)).all()


@given(words, st.integers(0, 60), st.integers(0, 60))
def test_sums_are_exact(values, one, other):
    found = wide(values, one) + wide(values[::-1], other)
    expected = [a * 2**one + b * 2**other for a, b in zip(values, values[::-1], strict=True)]
    assert found.exact().tolist() == expected
    assert ((found.low >= 0) & (found.low < 2**LOW_BITS)).all()


@given(st.integers(-(2**14), 2**14), st.lists(st.tuples(st.integers(1, 47), st.integers(0)), max_size=2))
def test_digits_are_joined_as_binary_numbers(first, rest):
    digits, expected = [(0, np.array([first]))], first
    for bits, digit in rest:
        digits.append((bits, np.array([digit % 2**bits])))
        expected = expected * 2**bits + digit % 2**bits
    assert Wide.joined(digits).exact().tolist() == [expected]


@given(words, st.integers(0, 62))
def test_doubles_are_as_good_as_doubles_can_be(values, bits):
    both = wide(values, bits) + wide(values)
    expected = np.array([float(int(value)) for value in both.exact()])
    assert np.allclose(both.floats(), expected, rtol=2.0**-51, atol=0)


def test_small_numbers_of_either_sign_are_exact_as_doubles():
    values = [-5, -1, 0, 1, 7, 2**52, -(2**52)]
    assert wide(values).floats().tolist() == values


def test_parts_are_taken_like_those_of_arrays():
    table = wide(np.arange(6).reshape(2, 3), 60)
    assert table.shape == (2, 3)
    assert table[1, :2].exact().tolist() == [3 * 2**60, 4 * 2**60]
    assert table[np.array([[True, False, False], [False, False, True]])].exact().tolist() == [0, 5 * 2**60]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3), (70_000,), (5, 40_000), (300, 2, 100)])
def test_arrays_of_any_shape_are_computed_a_few_rows_at_a_time(shape):
    values = np.random.default_rng(3).integers(-(2**40), 2**40, shape)
    found = Wide.by_rows(shape, lambda rows: Wide.shifted(values[rows], 30))
    assert np.array_equal(found.exact(), values.astype(object) * 2**30)
    assert np.array_equal(found.floats(), values * 2.0**30)
    assert found.floats().shape == shape


# --- noise ---------------------------------------------------------------------------------------------


def test_wide_draws_are_the_narrow_ones_where_both_can_be():
    for scale in (Fraction(1, 3), Fraction(100), Fraction(2**39)):
        assert SeededNoise(3).wide_laplace(scale, 1000).exact().tolist() == SeededNoise(3).laplace(scale, 1000).tolist()
        variance = scale**2
        one, other = (draw(variance, 1000) for draw in (SeededNoise(3).wide_gaussian, SeededNoise(3).gaussian))
        assert one.exact().tolist() == other.tolist()


def p_value(draws, cdf):
    """χ² of draws in bins of about equal probability."""
    edges = np.linspace(-4, 4, 60)
    expected = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]])) * draws.size
    return float(stats.chisquare(np.bincount(np.searchsorted(edges, draws), minlength=61), expected).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_wide_noise_follows_its_law_and_no_other(scale):
    """At these scales a discrete law is the continuous one to all digits of a double."""
    laplace = SeededNoise(1).wide_laplace(scale, DRAWS).floats() / float(scale)
    gaussian = SeededNoise(2).wide_gaussian(scale**2, DRAWS).floats() / float(scale)
    for factor, right in ((1.0, True), (0.95, False), (1.05, False)):
        assert (p_value(laplace, lambda x, f=factor: stats.laplace.cdf(x / f)) > THRESHOLD) == right
        assert (p_value(gaussian, lambda x, f=factor: stats.norm.cdf(x / f)) > THRESHOLD) == right


@pytest.mark.statistical
@pytest.mark.parametrize("draw", ["wide_laplace", "wide_gaussian"])
def test_every_bit_below_the_scale_is_a_coin(draw):
    scale = Fraction(2**100)
    found = getattr(SeededNoise(5), draw)(scale if draw == "wide_laplace" else scale**2, DRAWS)
    bits = [found.low >> place & 1 for place in range(LOW_BITS)] + [found.high >> place & 1 for place in range(30)]
    heads = np.array([coin.sum() for coin in bits])
    assert np.abs(heads - DRAWS / 2).max() < 5.5 * np.sqrt(DRAWS) / 2
    # Neighbours and bits of different words agree as often as not.
    alike = np.array([(a == b).sum() for a, b in [*pairwise(bits), (bits[0], bits[70])]])
    assert np.abs(alike - DRAWS / 2).max() < 5.5 * np.sqrt(DRAWS) / 2


@pytest.mark.parametrize("kept", [True, False])
def test_a_proposal_whose_coin_ties_is_decided_by_its_exact_value(kept):
    """The coin's 16 bits are the first ones of exp(-rate); the next 64 lie just below it, or just above."""
    variance, bits = Fraction(2**140), 63
    table, _ = tables.gaussian_digits(variance, bits)
    top = 40_000
    q, low = int(table.guide[top]), (2**47 - 1, 2**16 - 1)
    x = (q << bits) + (low[0] << 16) + low[1]
    rate = Fraction((x + 1) ** 2 - (q << bits) ** 2) / (2 * variance)  # of -x - 1: the sign is negative
    coin, next_bits = tables.exp_floor(rate, 16), tables.exp_floor(rate, 80) % 2**64
    word = 1 << 63 | coin << 47 | low[0]
    decisive = next_bits - 1 if kept else next_bits + 1
    script = [np.array([top], dtype="<u2"), *(np.array([each], dtype="<u8") for each in (word, low[1], decisive))]
    source = ScriptedNoise(*(each.tobytes() for each in script))
    found = Wide.joined(source._gaussian_proposals(variance, 1)).exact().tolist()
    assert found == ([-x - 1] if kept else [])
    assert source.used_up


def test_wide_noise_has_its_limits():
    for draw, most in (("wide_laplace", 2**100), ("wide_gaussian", 2**200)):
        with pytest.raises(ParameterError, match="between 1e-6 and"):
            getattr(SystemNoise(), draw)(Fraction(most + 1), 3)
    with pytest.raises(BudgetError, match="Choose another epsilon"):
        NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(2**100 + 1))
