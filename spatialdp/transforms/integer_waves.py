"""How are coefficients of cosines measured as exact integers? With functions rounded to whole numbers.

A cosine or sine, times 2^bits and rounded to whole numbers, *is* the function that is measured. So
a coefficient is an integer combination of integer counts, a record moves the coefficient by one
entry of a public table, and no floating-point error has to be argued about. Matrix products in
doubles do the work: all values are split into digits so short that every sum of products stays
below 2^53, where doubles are exact in whatever order they are added up. The number of digits, and
so the time, depends on the counts; the result does not depend on the number of digits.

The derivation is in ``docs/design/fourier.md``. Nothing here may round a coefficient before its
noise is added, and nothing here reads a record.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.privacy.noise.wide import Wide
from spatialdp.transforms.spectral import Basis, angles, walsh_sums

__all__ = [
    "Spectrum",
    "constant_gain",
    "spectrum",
    "wave_bits",
    "wave_error",
    "whole_waves",
]


_DIGIT = 19  # bits of a digit
_LARGEST_SUM = 2**52  # of products; together with a carry the sum is still below 2^53
# Binary places of the fixed-point table of cosines: an error of a few size² / 2^224 is far below a rounding step.
_POINT = 224
_PI = 31415926535897932384626433832795028841971693993751058209749445923078164062862  # times 10^76
_PI_DIGITS = 76
# Matrices with fewer rows or columns are multiplied without folding, which would take longer.
_SMALLEST_FOLD = 64
# Larger matrices are never in memory as a whole.
_LARGEST_MATRIX = 2**24


@lru_cache(maxsize=64)
def wave_bits(size: int) -> int:
    """Binary places to which functions of `size` cells are rounded: as many as exact sums of digits allow.

    Examples
    --------
    >>> wave_bits(1), wave_bits(1024)
    (33, 28)
    """
    bits = 40
    while (2**_DIGIT - 1) * _reach(size, bits) > _LARGEST_SUM:
        bits -= 1
    return bits


def _reach(size: int, bits: int) -> int:
    """A bound on Σ|function| in units of 2^-bits.

    Σφ² = 1 implies Σ|φ| <= √size, and rounding adds less than 1 for each cell.
    """
    return math.isqrt(size * 4**bits) + 1 + size


def wave_error(sizes: tuple[int, int]) -> Fraction:
    """A bound on the length by which rounding the functions moves the vector of one record's coefficients.

    Along an axis each of n functions is off by at most (½ + 2^-60) 2^-bits, so the vector of their
    values in one cell is off by e = √n 2^-bits (½ + 2^-60) at most. A record's coefficients are
    products of an x and a y vector of length 1, hence the bound e_x + e_y + e_x e_y.
    """
    half = Fraction(1, 2) + Fraction(1, 1 << 60)
    x, y = (half * Fraction(math.isqrt(n << 64) + 1, 1 << (32 + wave_bits(n))) for n in sizes)
    return x + y + x * y


def whole_waves(basis: Basis, size: int, orders: slice, cells: slice | Integers = slice(None)) -> Floats:
    """Values of some functions in some cells, (orders, cells), times 2^bits and rounded to whole numbers.

    Examples
    --------
    >>> whole_waves(Basis.DCT, 4, slice(2)) / 2.0 ** wave_bits(4)
    array([[ 0.5       ,  0.5       ,  0.5       ,  0.5       ],
           [ 0.65328148,  0.27059805, -0.27059805, -0.65328148]])
    """
    steps, flat = angles(basis, size, orders, cells)
    waves, flat_waves = _turn(size)
    return np.asarray(np.where(flat[:, None], flat_waves[steps], waves[steps]) if flat.any() else waves[steps])


def constant_gain(basis: Basis, size: int) -> float:
    """The rounded constant function over the exact one, √(1/size).

    Its rounding error is the same in every cell and adds up; those of the other functions do not.
    Dividing coefficients of the constant function by this ratio keeps totals unbiased.
    """
    if basis is Basis.WALSH:
        return 1.0
    return float(whole_waves(basis, size, slice(1), slice(1))[0, 0]) * math.sqrt(size) / 2.0 ** wave_bits(size)


@lru_cache(maxsize=8)
def _turn(size: int) -> tuple[Floats, Floats]:
    """√(2/size) cos and √(1/size) cos at the 4 size steps of a full turn, times 2^bits and rounded.

    One quarter is computed and then mirrored, so that functions are exactly even or odd where cosines are.
    """
    quarter, bits = _quarter(size), wave_bits(size)
    shift = 2 * _POINT - bits
    waves = []
    for square in (2, 1):
        amplitude = math.isqrt(square * 4**_POINT // size)
        first = np.array([(amplitude * value + 2 ** (shift - 1)) >> shift for value in quarter], dtype=np.float64)
        half = np.concatenate([first, -first[-2::-1]])
        waves.append(np.concatenate([half, half[-2:0:-1]]))
    return waves[0], waves[1]


def _quarter(size: int) -> list[int]:
    """cos(π m / (2 size)) times 2^224 for m from 0 to size.

    With c(m) for the cosine, c(m + 1) = 2 c(1) c(m) - c(m - 1). An error of c(1), or one made on the
    way, grows no faster than m².
    """
    one = 2**_POINT
    angle = (_PI << _POINT) // (10**_PI_DIGITS * 2 * size)
    square = angle * angle >> _POINT
    first, term, order = 0, one, 0
    while term:
        first += term
        order += 2
        term = -(term * square >> _POINT) // (order * (order - 1))
    cosines = [one, first]
    for _ in range(size - 1):
        cosines.append((first * cosines[-1] >> (_POINT - 1)) - cosines[-2])
    return [*cosines[:size], 0]


@dataclass(frozen=True)
class Spectrum:
    """Coefficients of a grid of counts as exact integers Σ parts[j] 2^(19 j), in units of 2^-bits.

    Attributes
    ----------
    parts : tuple of (y, x) arrays
        Doubles that hold whole numbers below 2^53.
    bits : int
        0 for Walsh functions: their coefficients are sums with signs.
    """

    parts: tuple[Floats, ...]
    bits: int

    def whole(self, rows: slice = slice(None), columns: slice = slice(None)) -> Wide:
        """The coefficients as wide integers; at most 2^106 for counts up to 2^40."""
        parts = [part[rows, columns] for part in self.parts]

        def joined(some_rows: Any) -> Wide:
            first, *rest = (Wide.shifted(part[some_rows].astype(np.int64), _DIGIT * j) for j, part in enumerate(parts))
            return sum(rest, start=first)

        return Wide.by_rows(parts[0].shape, joined)


def spectrum(counts: Integers, basis: Basis, orders: tuple[int, int]) -> Spectrum:
    """Exact coefficients of the first (x, y) functions, for counts as (rows, columns).

    Counts must be at least 0; for Walsh functions their sum must be below 2^53.
    """
    kx, ky = orders
    if basis is Basis.WALSH:
        return Spectrum((walsh_sums(walsh_sums(counts.astype(np.float64), 0)[:ky], 1)[:, :kx],), 0)
    ny, nx = counts.shape
    along_x = [_multiply(digit.T, basis, nx, kx) for digit in _digits([counts.astype(np.float64)])]
    along_both = [_multiply(digit.T, basis, ny, ky) for digit in _digits(along_x)]
    return Spectrum(tuple(along_both), wave_bits(nx) + wave_bits(ny))


def _digits(parts: list[Floats]) -> Iterator[Floats]:
    """Digits of Σ parts[j] 2^(19 j): from 0 to 2^19 - 1, the last one with a sign. Overwrites `parts`.

    Multiplying by a power of two, rounding down and subtracting are exact for whole numbers below 2^53.
    """
    rest = parts.pop(0)
    while parts or max(rest.max(), -rest.min()) >= 2**_DIGIT:
        carry = rest * 2.0**-_DIGIT
        np.floor(carry, out=carry)
        rest -= carry * 2.0**_DIGIT
        yield rest
        rest = carry
        if parts:
            rest += parts.pop(0)
    yield rest


def _multiply(values: Floats, basis: Basis, size: int, orders: int) -> Floats:
    """Exact product of the first functions and columns of digits, (orders, columns). Overwrites `values`."""
    out = np.empty((orders, values.shape[1]))
    step = max(1, _LARGEST_MATRIX // size)
    if orders <= step and values.shape[1] >= _SMALLEST_FOLD:
        _folded(basis, size, orders).times(values, out)
        return out
    for start in range(0, orders, step):
        rows = slice(start, min(start + step, orders))
        waves = whole_waves(basis, size, rows)
        if values.shape[1] < _SMALLEST_FOLD:  # where folding takes longer than multiplying
            np.matmul(waves, values, out=out[rows])
        else:
            _fold(waves, int(basis is Basis.DFT)).times(values.copy(), out[rows])
    return out


@lru_cache(maxsize=4)
def _folded(basis: Basis, size: int, orders: int) -> _Folded:
    return _fold(whole_waves(basis, size, slice(orders)), int(basis is Basis.DFT))


@dataclass(frozen=True)
class _Folded:
    """A matrix whose rows are even or odd about their middle; that halves the work of products.

    Attributes
    ----------
    matrix : array, or None
        The matrix itself, if it is not folded.
    alone : int
        Number of cells at the beginning that are their own mirror image.
    rows : pair of slices or index arrays
        The even rows, and the odd rows.
    halves : pair of _Folded
        The matrix that multiplies sums of cells and their mirror images, and the one that multiplies
        their differences. Each may be folded again.
    """

    matrix: Floats | None
    alone: int = 0
    rows: tuple[slice | Integers, ...] = ()
    halves: tuple[_Folded, ...] = ()

    def times(self, values: Floats, out: Floats) -> None:
        """Write the product of the matrix and `values`, (cells, columns), into `out`. Overwrites `values`.

        Partial sums are at most Σ|entry| max|value|, as without folding.
        """
        if self.matrix is not None:
            np.matmul(self.matrix, values, out=out)
            return
        n, pairs = values.shape[0], (values.shape[0] - self.alone) // 2
        left, right = values[self.alone : self.alone + pairs], values[: -pairs - 1 : -1]
        differences = left - right
        left += right
        for rows, half, folded in zip(self.rows, self.halves, (values[: n - pairs], differences), strict=True):
            if isinstance(rows, slice):
                half.times(folded, out[rows])
            else:
                part = np.empty((rows.size, values.shape[1]))
                half.times(folded, part)
                out[rows] = part


def _fold(matrix: Floats, alone: int = 0) -> _Folded:
    """The matrix, folded if that pays and all rows are exactly even or odd."""
    n = matrix.shape[1]
    if min(matrix.shape) < _SMALLEST_FOLD:
        return _Folded(matrix)
    mirrored = np.concatenate([matrix[:, :alone], matrix[:, : alone - 1 if alone else None : -1]], axis=1)
    even = (matrix == mirrored).all(axis=1)
    if not (even | (matrix == -mirrored).all(axis=1)).all():
        return _Folded(matrix)
    pairs = (n - alone) // 2
    halves = _fold(matrix[even, : n - pairs]), _fold(matrix[~even, alone : alone + pairs])
    return _Folded(None, alone, (_span(even), _span(~even)), halves)


def _span(mask: Booleans) -> slice | Integers:
    """The places where an array is true; as a slice, which is faster, if they are evenly spaced."""
    places = np.flatnonzero(mask)
    steps = np.unique(np.diff(places))
    return slice(int(places[0]), int(places[-1]) + 1, int(steps[0])) if steps.size == 1 else places
