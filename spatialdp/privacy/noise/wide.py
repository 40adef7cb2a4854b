"""Whole numbers of up to 125 bits, as pairs of 64-bit words: for measurements too fine for one.

A number is ``high · 2^62 + low`` with ``0 <= low < 2^62``, so that two low words can be added without overflow and the
bit above them is the carry. Nothing is rounded before `floats`, which comes after the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers, Objects

__all__ = ["LOW_BITS", "Wide"]


LOW_BITS = 62
_LOW = 2**LOW_BITS - 1
_BLOCK = 2**15


@dataclass(frozen=True, eq=False)
class Wide:
    """Arrays of wide integers.

    Attributes
    ----------
    high, low : int64 arrays of the same shape

    Examples
    --------
    >>> third = Wide.shifted(np.array([5, -5]), 60)
    >>> (third + third).exact().tolist() == [10 * 2**60, -10 * 2**60]
    True
    """

    high: Integers
    low: Integers

    @classmethod
    def shifted(cls, values: Integers, bits: int = 0) -> Wide:
        """Values times 2^bits; must be below 2^124."""
        if bits >= LOW_BITS:
            return cls(values << (bits - LOW_BITS), np.zeros_like(values))
        return cls(values >> (LOW_BITS - bits), (values & (_LOW >> bits)) << bits)

    @classmethod
    def by_rows(cls, shape: tuple[int, ...], some: Callable[[Any], Wide]) -> Wide:
        """Put together from a few rows at a time, so that what they are computed with stays in the cache."""
        high, low = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        for rows in _few_rows(shape):
            found = some(rows)
            high[rows], low[rows] = found.high, found.low
        return cls(high, low)

    @classmethod
    def joined(cls, digits: Iterable[tuple[int, Integers]]) -> Wide:
        """Binary digits, highest first, each with its number of bits (below 62); the first one may be negative."""
        (_, first), *rest = digits
        found = cls.shifted(first)
        for bits, digit in rest:
            over = found.low >> (LOW_BITS - bits)
            found = cls(found.high << bits | over, (found.low & (_LOW >> bits)) << bits | digit)
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the arrays."""
        return self.high.shape

    def __add__(self, other: Wide) -> Wide:
        low = self.low + other.low
        return Wide(self.high + other.high + (low >> LOW_BITS), low & _LOW)

    def __getitem__(self, chosen: Any) -> Wide:
        return Wide(self.high[chosen], self.low[chosen])

    def floats(self) -> Floats:
        """As doubles: of each word the nearest."""
        found = np.empty(self.shape)
        for rows in _few_rows(self.shape):
            sign = self.high[rows] >> 63  # -1 or 0: what is added up has one sign, or little numbers would be lost
            high, low = self.high[rows] ^ sign, (self.low[rows] ^ sign & _LOW) - sign
            found[rows] = (high * 2.0**LOW_BITS + low) * (1 + 2 * sign)
        return found

    def exact(self) -> Objects:
        """Python's integers, for whom they are few."""
        return np.asarray(self.high.astype(object) * 2**LOW_BITS + self.low.astype(object))


def _few_rows(shape: tuple[int, ...]) -> Iterator[Any]:
    if not shape:
        return iter([...])
    rows = max(_BLOCK // max(math.prod(shape[1:]), 1), 1)
    return (slice(start, start + rows) for start in range(0, shape[0], rows))
