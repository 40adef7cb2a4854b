"""The square root of summation is exact in rationals, and rounding changes next to nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from spatialdp.errors import ParameterError
from spatialdp.strategies.frames.square_root import LONGEST_HORIZON, SquareRoot, coefficients


def matrix(entries):
    """The lower triangular matrix with these entries on its diagonals."""
    size = len(entries)
    return [
        [entries[row - column] if row >= column else 0 * entries[0] for column in range(size)] for row in range(size)
    ]


@pytest.mark.parametrize("months", [1, 2, 12, 40])
def test_the_square_is_summation_exactly(months):
    root = matrix(coefficients(months))
    for row in range(months):
        for column in range(months):
            product = sum((root[row][k] * root[k][column] for k in range(months)), Fraction(0))
            assert product == (1 if row >= column else 0)


def test_entries_are_binomials_over_powers_of_four():
    from math import comb

    assert coefficients(30) == [Fraction(comb(2 * k, k), 4**k) for k in range(30)]


@pytest.mark.parametrize("months", [1, 5, 60])
def test_measurements_come_back_exactly(months):
    root, rng = SquareRoot(months), np.random.default_rng(months)
    counts = rng.integers(0, 1000, months)
    measured = np.array(matrix(root.entries.tolist())) @ counts / 2.0**root.bits
    for first in range(months):
        for last in range(first + 1, months + 1, 7):
            weights = root.weights(first, last)
            assert weights @ measured[:last] == pytest.approx(counts[first:last].sum(), abs=1e-8)


@pytest.mark.parametrize("months", [1, 12, 365])
def test_norms_are_those_of_the_first_column_and_the_largest(months):
    root = SquareRoot(months)
    columns = np.array(matrix([int(each) for each in root.entries]), dtype=object)
    squares = (columns**2).sum(axis=0)
    assert root.norm_squared == squares[0] == squares.max()
    assert root.norm == columns.sum(axis=0)[0]


@pytest.mark.parametrize(
    ("months", "mean", "largest", "month"), [(12, 2.9, 3.4, 2.3), (60, 4.9, 5.6, 3.0), (365, 7.7, 8.7, 3.8)]
)
def test_variances_are_those_of_the_design(months, mean, largest, month):
    root = SquareRoot(months)
    totals, months_alone = root.variances_of_totals(), root.variances_of_months()
    assert (round(totals.mean(), 1), round(totals.max(), 1)) == (mean, largest)
    assert round(months_alone.mean(), 1) == pytest.approx(month, abs=0.11)


def test_coarser_entries_are_hardly_noisier():
    fine, coarse = SquareRoot(60, bits=30), SquareRoot(60, bits=10)
    assert coarse.variances_of_totals() == pytest.approx(fine.variances_of_totals(), rel=0.01)
    assert SquareRoot(60).variances_of_totals() == pytest.approx(fine.variances_of_totals(), rel=1e-5)


@pytest.mark.parametrize("horizon", [0, -1, 1.5, LONGEST_HORIZON + 1, True])
def test_horizons_that_are_none_are_refused(horizon):
    with pytest.raises(ParameterError, match="horizon"):
        SquareRoot(horizon)
