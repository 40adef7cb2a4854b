"""Cells that pass a threshold are listed as if noise had been added to all of them, though few are visited.

The exact law of few cells is enumerated in ``tests/audit/test_list_law.py``.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.noise import filter as filters
from spatialdp.privacy.noise import thresholds
from spatialdp.privacy.noise.filter import Filter, distinct_places
from spatialdp.privacy.noise.source import SeededNoise
from tests.audit.enumeration import Words, boundaries
from tests.audit.sparse import agrees
from tests.helpers.sources import ScriptedWords

EMPTY = np.empty(0, dtype=np.int64)
EXACT = Context(prec=400)


def exact_chance(scale, threshold):
    """P(discrete Laplace >= threshold), to 400 digits."""
    a = EXACT.exp(EXACT.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))
    return EXACT.divide(EXACT.power(a, threshold), EXACT.add(1, a))


# --- thresholds ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("false", "threshold", "expected"), [(1, 42, 0.5), (1000, 35, 531), (10**5, 30, 78871), (10**6, 28, 582782)]
)
def test_threshold_on_the_whole_lattice(false, threshold, expected):
    made = Filter.expecting(false, scale=Fraction(1), cells=2**60)
    assert made.threshold == threshold
    assert made.expected == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(17, 2), Fraction(10**9)], ids=str)
@pytest.mark.parametrize("cells", [1, 7, 10**6, 2**60])
@pytest.mark.parametrize("false", [Fraction(1, 1000), Fraction(1), Fraction(50)], ids=str)
def test_threshold_is_the_least_that_keeps_what_is_expected(scale, cells, false):
    threshold = Filter.expecting(false, scale=scale, cells=cells).threshold
    limit = EXACT.divide(Decimal(false.numerator), Decimal(false.denominator * cells))
    assert exact_chance(scale, threshold) <= limit
    assert threshold == 1 or exact_chance(scale, threshold - 1) > limit


def test_threshold_that_is_not_certain_is_decided_with_more_bits():
    low, high = filters._chance(Fraction(3), 9, filters._BITS)
    chance = exact_chance(Fraction(3), 9)
    for limit in (low, (low + high) / 2, high):
        smaller = chance <= EXACT.divide(Decimal(limit.numerator), Decimal(limit.denominator))
        assert filters._is_at_most(Fraction(3), 9, limit) == smaller


@pytest.mark.parametrize("count", [0, 4, 9, 10, 30])
def test_chance_of_a_count_is_that_of_the_noise(count):
    made = Filter(Fraction(3), 100, 9)
    noise = np.exp(-np.abs(np.arange(-2000, 2001)) / 3)
    assert made.chance_of(count) == pytest.approx(noise[np.arange(-2000, 2001) + count >= 9].sum() / noise.sum())


@pytest.mark.parametrize("cells", [0, 2**60 + 1])
def test_number_of_cells_has_limits(cells):
    with pytest.raises(ParameterError, match="from 1 to"):
        Filter(Fraction(1), cells, 1)


@pytest.mark.parametrize("scale", [Fraction(1, 10**7), Fraction(2**41)])
def test_noise_that_is_too_narrow_or_too_wide_is_refused(scale):
    with pytest.raises(BudgetError, match="scale"):
        Filter.expecting(1, scale=scale, cells=10)


def test_filter_that_lists_too_many_empty_cells_is_refused():
    with pytest.raises(ParameterError, match="at most 100,000,000"):
        Filter(Fraction(1), 2**60, 20)


# --- the table of blocks ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "threshold", "doublings"),
    [(Fraction(1), 42, 60), (Fraction(1), 1, 1), (Fraction(5), 3, 1), (Fraction(1, 9), 2, 20), (Fraction(7), 30, 4)],
)
@pytest.mark.parametrize("bits", [64, 128])
def test_table_of_blocks_has_the_sums_of_exact_binomials(scale, threshold, doublings, bits):
    p, trials = exact_chance(scale, threshold), 2**doublings
    first, found = thresholds.binomial(1 / scale, threshold, doublings).thresholds(bits)
    below, binomial = Decimal(0), Decimal(1)
    assert first == 0
    for successes, bound in enumerate(found[:-1]):
        weight = EXACT.multiply(EXACT.power(p, successes), EXACT.power(EXACT.subtract(1, p), trials - successes))
        below = EXACT.add(below, EXACT.multiply(binomial, weight))
        assert bound == int(EXACT.multiply(below, Decimal(2**bits)))
        binomial = EXACT.divide(EXACT.multiply(binomial, trials - successes), successes + 1)
    # The last bound is that of everything: of the last number of successes, or of one whose tail is lost in the bits.
    assert found[-1] == 2**bits - 1
    assert len(found) - 1 <= trials


def test_blocks_have_one_cell_or_less_on_average():
    for cells, threshold in itertools.product((1, 2, 3, 100, 2**60), (30, 42)):
        made = Filter(Fraction(1), cells, threshold)
        assert made.chance * 2**made._doublings <= 1
        assert made.chance * 2 ** (made._doublings + 1) > 1 or 2**made._doublings >= cells


def test_word_on_a_boundary_is_decided_by_more_bits():
    made = Filter(Fraction(2), 2, 1)
    word = int(made._table.words[0])
    _, bounds = made._table.thresholds(128)
    rest = bounds[0] - (word << 64)
    for more, cells in ((rest - 1, 0), (rest + 1, 1)):
        noise = ScriptedWords([word, more, *[2**63] * cells])
        assert made._passing_in(np.array([0]), noise).size == cells
        assert not noise.words


# --- places ----------------------------------------------------------------------------------------


def test_block_with_a_repetition_is_drawn_again_as_a_whole():
    words = [place << 62 for place in (1, 1, 3, 0, 2)]  # places of 2 bits: block 4 repeats 1 and is drawn again
    noise = ScriptedWords([*words[:2], words[2], *words[3:]])
    assert distinct_places(np.array([4, 4, 9]), 2, noise).tolist() == [4 * 4 + 0, 4 * 4 + 2, 9 * 4 + 3]


def test_places_of_no_bits_are_the_blocks():
    assert distinct_places(np.array([3, 8]), 0, SeededNoise(1)).tolist() == [3, 8]


@pytest.mark.statistical
def test_all_sets_of_places_are_equally_likely():
    blocks = np.repeat(np.arange(60_000), 2)
    pairs = distinct_places(blocks, 2, SeededNoise(5)).reshape(-1, 2) % 4
    counts = Counter(map(tuple, pairs.tolist()))
    assert set(counts) == set(itertools.combinations(range(4), 2))
    assert stats.chisquare(list(counts.values())).pvalue > 1e-6


# --- the law, in many draws ------------------------------------------------------------------------


def lists(made, counts, runs, seed):
    """How often each set of cells is listed, and the listed values of empty cells above the threshold."""
    noise, sets, excess = SeededNoise(seed), np.zeros(2 ** len(counts)), []
    occupied = np.flatnonzero(counts)
    held = np.array(counts)[occupied]
    for _ in range(runs):
        numbers, values = made.passing(occupied, held, noise)
        sets[(1 << numbers).sum()] += 1
        excess.append(values[np.array(counts)[numbers] == 0] - made.threshold)
    return sets, np.concatenate(excess)


def chances_of_sets(made, counts):
    single = [made.chance_of(count) for count in counts]
    return [
        math.prod(p if subset >> cell & 1 else 1 - p for cell, p in enumerate(single))
        for subset in range(2 ** len(counts))
    ]


COUNTS = (0, 0, 3, 0, 0, 1, 0, 0)


@pytest.mark.statistical
def test_sets_of_cells_have_the_law_of_dense_noise():
    made = Filter(Fraction(2), len(COUNTS), 3)
    sets, excess = lists(made, COUNTS, 20_000, seed=2)
    expected = 20_000 * np.array(chances_of_sets(made, COUNTS))
    assert stats.chisquare(sets, expected * sets.sum() / expected.sum()).pvalue > 1e-6
    # A wrong threshold, or another scale, is noticed.
    for wrong in (Filter(Fraction(2), len(COUNTS), 4), Filter(Fraction(9, 4), len(COUNTS), 3)):
        other = np.array(chances_of_sets(wrong, COUNTS))
        assert stats.chisquare(sets, other * sets.sum() / other.sum()).pvalue < 1e-6
    a = math.exp(-1 / 2)
    bins = np.bincount(np.minimum(excess, 8), minlength=9)
    geometric = np.array([(1 - a) * a**j for j in range(8)] + [a**8])
    assert stats.chisquare(bins, geometric * bins.sum()).pvalue > 1e-6
    assert stats.chisquare(np.roll(bins, 1), geometric * bins.sum()).pvalue < 1e-6


SIXTEEN = (0, 3, 0, 0, 1, 0, 0, 0, 7, 0, 0, 2, 0, 0, 0, 1)
BLOCKS = {2: Filter(Fraction(4), 16, 1), 4: Filter(Fraction(2), 16, 3), 16: Filter(Fraction(1), 16, 3)}
AT_ONCE = 2**16


def sets_of_sixteen(made, counts, lists, seed):
    """How often each of 2^16 sets is listed. Many lists are drawn in one call: 16 numbers for each, in whole blocks."""
    many, sets, noise = Filter(made.scale, 16 * AT_ONCE, made.threshold), np.zeros(2**16, dtype=int), SeededNoise(seed)
    assert many._doublings == made._doublings
    occupied = np.flatnonzero(counts)
    numbers = (16 * np.arange(AT_ONCE)[:, None] + occupied).ravel()
    held = np.tile(np.array(counts)[occupied], AT_ONCE)
    for _ in range(lists // AT_ONCE):
        listed, _ = many.passing(numbers, held, noise)
        found = np.bincount(listed >> 4, weights=1 << (listed & 15), minlength=AT_ONCE).astype(int)
        sets += np.bincount(found, minlength=2**16)
    return sets


def chances_of_sixteen(made, counts):
    bits = (np.arange(2**16)[:, None] >> np.arange(16)) & 1
    single = np.array([made.chance_of(count) for count in counts])
    return np.where(bits == 1, single, 1 - single).prod(axis=1)


@pytest.mark.statistical
@pytest.mark.parametrize("counts", [(0,) * 16, SIXTEEN], ids=["empty", "occupied"])
@pytest.mark.parametrize("lists", [2**19, pytest.param(2**24, marks=pytest.mark.audit)], ids=["daily", "long"])
@pytest.mark.parametrize("cells", BLOCKS)
def test_all_sets_of_sixteen_cells_have_the_law_of_dense_noise(cells, lists, counts):
    """A false alarm has a chance of 1e-6. Sets that are expected less than 8 times are taken together.

    A scale that is wrong by an eighth is noticed, and so is another threshold.
    """
    made = BLOCKS[cells]
    assert 2**made._doublings == cells
    sets = sets_of_sixteen(made, counts, lists, seed=6)
    assert sets.sum() == lists
    assert agrees(sets, chances_of_sixteen(made, counts)) > 1e-6
    for scale, threshold in ((made.scale * Fraction(9, 8), made.threshold), (made.scale, made.threshold + 1)):
        wrong = Filter(scale, 16, threshold)
        assert agrees(sets, chances_of_sixteen(wrong, counts)) < 1e-6


def test_the_cells_of_a_list_may_end_within_a_block():
    made = Filter(Fraction(1, 2), 13, 1)  # blocks of 8 cells
    assert 2**made._doublings < made.cells
    sets, _ = lists(made, (0,) * 13, 3000, seed=4)
    singles = [sets[[subset for subset in range(2**13) if subset >> cell & 1]].sum() for cell in range(13)]
    assert stats.chisquare(singles).pvalue > 1e-6


def test_many_blocks_are_drawn_a_few_at_a_time(monkeypatch):
    made = Filter(Fraction(1), 10**6, 5)
    monkeypatch.setattr(filters, "_BLOCKS", 64)
    numbers, values = made.passing(EMPTY, EMPTY, SeededNoise(7))
    assert np.all(np.diff(numbers) > 0)
    assert numbers[-1] < made.cells
    assert abs(numbers.size - made.expected) < 6 * made.expected**0.5
    assert values.min() == made.threshold


def test_occupied_cells_get_their_own_noise_and_are_listed_once():
    made = Filter(Fraction(1, 20), 1000, 1)  # next to no noise
    occupied = np.array([3, 500, 999])
    numbers, values = made.passing(occupied, np.array([7, 0, 2]), SeededNoise(3))
    assert dict(zip(numbers.tolist(), values.tolist(), strict=True)) == {3: 7, 999: 2}
    noise = SeededNoise(9)
    crowded = Filter(Fraction(3), 40, 1)
    for _ in range(50):
        numbers, _ = crowded.passing(np.arange(0, 40, 2), np.full(20, 2), noise)
        assert np.all(np.diff(numbers) > 0)


def test_coins_of_empty_cells_do_not_depend_on_the_occupied_ones():
    """The words that decide which empty cells pass are the same ones, whatever is occupied."""
    made = Filter(Fraction(2), 64, 2)
    alone, _ = made.passing(EMPTY, EMPTY, SeededNoise(8))
    for occupied in (np.array([5]), np.arange(10, 30)):
        numbers, _ = made.passing(occupied, np.ones(occupied.size, dtype=np.int64), SeededNoise(8))
        assert set(alone.tolist()) - set(occupied.tolist()) == set(numbers.tolist()) - set(occupied.tolist())


def test_words_are_those_that_the_table_says():
    """The number of successes is monotone in the word, so that boundaries of words are exact chances."""
    made = Filter(Fraction(1), 2**40, 20)
    for low, high, number in boundaries(lambda words: made._table.find(words)[0].tolist(), 2**64 - 1)[:4]:
        chance = stats.binom.pmf(number, 2**made._doublings, float(made.chance))
        assert (high - low + 1) / 2**64 == pytest.approx(chance, rel=1e-6)
    assert Words([5]).uniform_words(1).tolist() == [5]


@pytest.mark.statistical
def test_single_cell_passes_with_its_chance():
    made, noise, runs = Filter(Fraction(1), 1, 1), SeededNoise(6), 20_000
    passed = sum(made.passing(EMPTY, EMPTY, noise)[0].size for _ in range(runs))
    assert stats.binomtest(passed, runs, float(made.chance)).pvalue > 1e-6
    assert stats.binomtest(passed, runs, 0.9 * float(made.chance)).pvalue < 1e-6
