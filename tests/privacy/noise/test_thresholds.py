"""Exact lookup tables: every threshold is the first bits of the exact law, as `decimal` has it."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from spatialdp.privacy.noise import thresholds as tables


def exact_laplace_cdf(scale: Fraction, k: int) -> Decimal:
    context = Context(prec=120)
    a = context.exp(context.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))
    power = context.power(a, abs(k) if k < 0 else k + 1)
    tail = context.divide(power, context.add(Decimal(1), a))
    return tail if k < 0 else context.subtract(Decimal(1), tail)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(50), Fraction(64)], ids=str)
def test_table_holds_the_first_64_bits_of_the_exact_law(scale):
    table = tables.two_sided(1 / scale, 1 / scale)
    context = Context(prec=120)
    for index in range(0, table.words.size, max(1, table.words.size // 50)):
        exact = context.multiply(exact_laplace_cdf(scale, table.first + index), Decimal(2**64))
        assert int(table.words[index]) == int(exact)


def test_exp_floor_is_exact():
    context = Context(prec=100)
    for rate in (Fraction(1, 3), Fraction(7), Fraction(1, 10**12), Fraction(200)):
        exact = context.exp(context.divide(Decimal(-rate.numerator), Decimal(rate.denominator)))
        assert tables.exp_floor(rate, 64) == int(context.multiply(exact, Decimal(2**64)))
    assert tables.exp_floor(Fraction(0), 16) == 2**16


@pytest.mark.parametrize("bits", [16, 64])
@pytest.mark.parametrize("step", [Fraction(1, 3000), Fraction(7, 5)])
def test_exp_floors_are_those_one_by_one(step, bits):
    found = tables.exp_floors(step / 2, step, 300, bits)
    assert found == [tables.exp_floor((2 * k + 1) * step / 2, bits) for k in range(300)]


@pytest.mark.parametrize("bits", [16, 64, 192])
@pytest.mark.parametrize("rate", [Fraction(1, 3000), Fraction(7, 5), Fraction(1, 10**12), Fraction(500)])
def test_floors_of_many_powers_are_those_one_by_one(rate, bits):
    numbers = {0, 1, 2, 255, 256, 257, 70_000, 10**9, int(bits / rate), int(bits / rate) + 1}
    found = tables.exp_floors_of(rate, numbers, bits)
    assert found == {k: tables.exp_floor(k * rate, bits) if k * rate < 1000 else 0 for k in numbers}


def test_no_powers_have_no_floors():
    assert tables.exp_floors_of(Fraction(1), [], 64) == {}
    assert tables.exp_floors_of(Fraction(1), [0], 64) == {0: 2**64}


def test_floor_that_is_not_certain_is_computed_again_with_more_digits():
    tried = []

    def build(bits, precision):
        tried.append(precision)
        # 1/2 exactly on the boundary of its first bit, until the precision grows.
        value = (1 << (precision - 1)) + (0 if precision < 300 else 1 << (precision - 20))
        return 0, tables._floors([value], precision, bits)

    assert tables._certified(build)(10) == (0, [512])
    assert len(tried) > 1


def test_guide_agrees_with_search_everywhere_it_answers():
    table = tables.two_sided(Fraction(1, 20), Fraction(1, 20))
    answered = np.nonzero(table.guide != tables.AMBIGUOUS)[0].astype(np.uint64)
    for offset in (0, 2**48 - 1):
        found, tied = table.find((answered << np.uint64(48)) + np.uint64(offset))
        assert not tied.any()
        assert np.array_equal(found, table.guide[answered.astype(np.intp)])


@pytest.mark.parametrize("rate", [Fraction(1, 2**100), Fraction(3, 2**90 + 1), Fraction(1, 2**41)])
@pytest.mark.parametrize("digits", [2, 1024])
def test_thresholds_of_the_lowest_digits_are_exact(rate, digits):
    """floor(2^bits (1 - a^j) / (1 - a^n)) with a = exp(-rate), from Decimal at many more digits."""
    context = Context(prec=260)
    a = context.exp(context.divide(Decimal(-rate.numerator), Decimal(rate.denominator)))
    whole = context.subtract(1, context.power(a, digits))
    table = tables.low_digit(rate, digits)
    for bits in (64, 128, 192):
        first, found = table.thresholds(bits)
        assert first == 0
        for j in {1, 2, digits // 2, digits - 1} - {0, digits}:
            share = context.divide(context.subtract(1, context.power(a, j)), whole)
            assert found[j - 1] == int(context.multiply(share, Decimal(2**bits)))
