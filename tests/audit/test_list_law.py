"""Have lists exactly the law of noise on every cell, and is no ratio of chances above e^ε? By enumeration."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.privacy.noise import filter as filters
from spatialdp.privacy.noise.filter import Filter
from tests.audit.list_law import Enumerated, worst_ratios

POWERS = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))  # values of a = e^(-ε)
TWO = Filter(Fraction(1, 2), 2, 1)  # one block of two cells
THREE = Filter(Fraction(2), 3, 1)  # two blocks of two cells, of which the last one reaches beyond the cells
FAR = Filter(Fraction(1, 2), 2, 3)


@pytest.mark.parametrize("made", [TWO, FAR], ids=["threshold 1", "threshold 3"])
@pytest.mark.parametrize("counts", [(0, 0), (1, 0), (0, 4), (2, 1)], ids=str)
def test_every_list_of_two_cells_is_exactly_as_likely_as_with_noise_on_both(made, counts):
    assert Enumerated.of(made, counts, 5, ordered=True).is_dense()


@pytest.mark.parametrize("counts", [(0, 0, 0), (0, 1, 0), (0, 0, 2)], ids=str)
def test_every_list_of_cells_in_two_blocks_is_exactly_as_likely(counts):
    made = Enumerated.of(THREE, counts, 3)
    assert made.trials == 4
    assert made.is_dense()


def filter_of_flows(scale, threshold):
    """The filter of a release of flows, as if there were six pairs of places."""
    design = sdp.Flows("listed").prepare(sdp.Domain((0, 0, 1, 1)).grid((3, 1)), epsilon=1).design
    return replace(design.filter, scale=scale, cells=6, threshold=threshold)


@pytest.mark.parametrize(
    ("scale", "threshold", "counts", "reach"),
    [
        (Fraction(2), 1, (0, 0, 0, 0, 0, 0), 2),  # three blocks of two pairs
        (Fraction(2), 1, (0, 1, 0, 0, 1, 0), 1),
        (Fraction(2), 2, (0, 0, 0, 0, 0, 0), 1),  # two blocks of four pairs, two of which are no pairs
        pytest.param(Fraction(2), 1, (0, 0, 2, 0, 0, 0), 2, marks=pytest.mark.audit),
        pytest.param(Fraction(2), 2, (0, 0, 2, 0, 0, 0), 1, marks=pytest.mark.audit),
    ],
    ids=str,
)
def test_every_list_of_six_pairs_of_flows_is_exactly_as_likely(scale, threshold, counts, reach):
    made = Enumerated.of(filter_of_flows(scale, threshold), counts, reach)
    assert 2**made.filter._doublings < 6
    assert made.is_dense()


@pytest.mark.parametrize("a", POWERS, ids=str)
@pytest.mark.parametrize(
    ("made", "one", "other", "reach"),
    [
        (TWO, (0, 0), (1, 0), 4),
        (FAR, (1, 0), (2, 0), 4),
        (FAR, (0, 3), (0, 4), 4),
        (TWO, (2, 1), (2, 2), 4),
        (THREE, (0, 0, 0), (0, 0, 1), 2),
        (filter_of_flows(Fraction(2), 1), (0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1), 1),
    ],
    ids=str,
)
def test_no_list_tells_a_record_by_more_than_epsilon(made, one, other, reach, a):
    """A record more or less changes the chance of a list by at most 1 / a = e^ε, and of some list by as much."""
    assert max(worst_ratios(made, one, other, reach, a)) == 1 / a


@pytest.mark.parametrize("a", POWERS, ids=str)
@pytest.mark.parametrize(
    ("made", "one", "other"), [(TWO, (1, 0), (0, 1)), (FAR, (3, 1), (2, 2)), (THREE, (0, 1, 0), (0, 0, 1))], ids=str
)
def test_no_list_tells_a_replaced_record_by_more_than_twice_that(made, one, other, a):
    """Two cells change; a release under replace has noise of twice the scale."""
    worst = max(worst_ratios(made, one, other, 2 if made is THREE else 4, a))
    assert 1 / a < worst <= 1 / a**2


def test_numbers_that_pass_have_the_chances_of_the_binomial():
    """What the enumeration takes for granted: the words of each number of cells, to the last bit."""
    for made in (TWO, FAR, THREE, filter_of_flows(Fraction(2), 2)):
        trials, chance = 2**made._doublings, made.chance  # known to 190 bits
        below, binomial = Fraction(0), Fraction(1)
        for number, word in enumerate(made._table.words.tolist()[:-1]):
            below += binomial * chance**number * (1 - chance) ** (trials - number)
            assert abs(below * 2**64 - word) <= 1 + Fraction(1, 2**60)
            binomial = binomial * (trials - number) / (number + 1)


# --- what is wrong is noticed, however little ---------------------------------------------------------


def test_an_occupied_cell_with_two_chances_is_noticed():
    with mock.patch.object(filters, "lookup", lambda numbers, _: (np.zeros(numbers.size, dtype=bool), None)):
        assert not Enumerated.of(TWO, (1, 0), 3).is_dense()


def test_excess_that_begins_one_too_high_is_noticed():
    real = Filter.passing

    def passing(made, occupied, counts, noise):
        numbers, values = real(made, occupied, counts, noise)
        return numbers, values + ~np.isin(numbers, occupied)

    with mock.patch.object(Filter, "passing", passing):
        assert not Enumerated.of(TWO, (1, 0), 4).is_dense()


def test_a_cell_that_is_never_listed_is_noticed():
    real = Filter.passing

    def passing(made, occupied, counts, noise):
        numbers, values = real(made, occupied, counts, noise)
        return numbers[numbers != 1], values[numbers != 1]

    with mock.patch.object(Filter, "passing", passing):
        assert not Enumerated.of(TWO, (0, 0), 3).is_dense()
