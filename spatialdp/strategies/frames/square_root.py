"""With which correlated noise do running totals of many months stay accurate? With the square root of summation.

Let L be the lower triangular matrix of ones, so that L x are the running totals of the months x. The lower triangular
matrix M with the entries f_k = C(2k, k) / 4^k on its k-th diagonal is the square root of L: M M = L, because the
generating function of f is (1 - z)^(-1/2). What is measured is M x, with independent Gaussian noise of a scale that
follows from the norm of M's first column; the running totals are M times that, and their noise is M z. For T months the
largest variance is about (ln T / π)² in units of a single count's, where independent months would have T.

The entries are rationals. Measured is F x, with the whole numbers F_k nearest to 2^b f_k: a public matrix, whose column
norm is exact. The fit inverts F itself, so rounding makes it no less exact, only a little noisier. This module reads no
record. See ``docs/design/running.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.checks import whole_number

__all__ = ["BITS", "LONGEST_HORIZON", "SquareRoot", "coefficients"]

BITS = 20  # of the whole numbers that entries are rounded to
LONGEST_HORIZON = 4096


def coefficients(horizon: int) -> list[Fraction]:
    """Return f_0, f_1, ... of the square root of summation.

    Examples
    --------
    >>> [str(each) for each in coefficients(4)]
    ['1', '1/2', '3/8', '5/16']
    """
    entries = [Fraction(1)]
    for k in range(1, horizon):
        entries.append(entries[-1] * Fraction(2 * k - 1, 2 * k))
    return entries


@dataclass(frozen=True)
class SquareRoot:
    """The square root of summation over a number of months, in whole numbers.

    Attributes
    ----------
    horizon : int
        Number of months.
    bits : int
        Entries are whole numbers of 2^-bits.

    Examples
    --------
    >>> root = SquareRoot(12)
    >>> variances = root.variances_of_totals()
    >>> round(float(variances.mean()), 1), round(float(variances.max()), 1)
    (2.9, 3.4)
    """

    horizon: int
    bits: int = BITS

    def __post_init__(self) -> None:
        whole_number(self.horizon, "horizon", 1, LONGEST_HORIZON)

    @cached_property
    def entries(self) -> Integers:
        """F_0, F_1, ...: the entries of the diagonals, as whole numbers of 2^-bits."""
        return np.array([round(each * 2**self.bits) for each in coefficients(self.horizon)], dtype=np.int64)

    @cached_property
    def norm_squared(self) -> int:
        """The exact square of the norm of the first column: how far one record moves the measurements, squared."""
        return sum(int(entry) ** 2 for entry in self.entries)

    @cached_property
    def norm(self) -> int:
        """The exact L1 norm of the first column."""
        return int(self.entries.sum())

    @cached_property
    def inverse(self) -> Floats:
        """The entries of the diagonals of the inverse of F 2^-bits: months from measurements, in counts."""
        entries = self.entries / 2.0**self.bits
        inverse = np.zeros(self.horizon)
        inverse[0] = 1 / entries[0]
        for k in range(1, self.horizon):
            inverse[k] = -(entries[1 : k + 1] @ inverse[k - 1 :: -1][:k]) / entries[0]
        return inverse

    def weights(self, first: int, last: int) -> Floats:
        """Return the weights of the measurements in the sum of the months from `first` to before `last`, from 0 on."""
        sums = np.concatenate([[0.0], np.cumsum(self.inverse)])
        places = np.arange(last)
        return np.asarray(sums[last - places] - sums[np.maximum(first - places, 0)])

    def variances_of_totals(self) -> Floats:
        """Return the variance of each running total, in units of that of a single count with the whole budget."""
        return np.asarray(np.cumsum(np.cumsum(self.inverse) ** 2) * self._unit)

    def variances_of_months(self) -> Floats:
        """Return the variance of each single month, in units of that of a single count with the whole budget."""
        return np.asarray(np.cumsum(self.inverse**2) * self._unit)

    @property
    def _unit(self) -> float:
        return self.norm_squared / 4.0**self.bits
