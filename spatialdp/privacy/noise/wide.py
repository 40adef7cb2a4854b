"""Whole numbers of up to 125 bits, as pairs of 64-bit words, for measurements that one word cannot hold.

A number is ``high · 2^62 + low`` with ``0 <= low < 2^62``, so that two low words can be added without overflow and the
bit above them is the carry. Nothing is rounded before `floats`, which must be called only after the noise was added.
See ``docs/design/noise.md``.
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
_BLOCK = 2**15  # numbers at a time: the work arrays stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Wide:
    """An array of wide integers.

    Attributes
    ----------
    high, low : int64 arrays of the same shape

    Examples
    --------
    >>> fives = Wide.shifted(np.array([5, -5]), 60)
    >>> (fives + fives).exact().tolist() == [10 * 2**60, -10 * 2**60]
    True
    """

    high: Integers
    low: Integers

    @classmethod
    def shifted(cls, values: Integers, bits: int = 0) -> Wide:
        """Return values times 2^bits, which must stay below 2^124."""
        if bits >= LOW_BITS:
            return cls(values << (bits - LOW_BITS), np.zeros_like(values))
        return cls(values >> (LOW_BITS - bits), (values & (_LOW >> bits)) << bits)

    @classmethod
    def by_rows(cls, shape: tuple[int, ...], compute: Callable[[Any], Wide]) -> Wide:
        """Compute an array a few rows at a time, so that the work arrays stay in the processor's cache.

        `compute` gets an index (a slice of rows) and returns the numbers of these rows.
        """
        high, low = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        for rows in _few_rows(shape):
            part = compute(rows)
            high[rows], low[rows] = part.high, part.low
        return cls(high, low)

    @classmethod
    def joined(cls, digits: Iterable[tuple[int, Integers]]) -> Wide:
        """Join digits, highest first, each with its number of bits (below 62); the first digit may be negative."""
        (_, first), *rest = digits
        number = cls.shifted(first)
        for bits, digit in rest:
            carry = number.low >> (LOW_BITS - bits)
            number = cls(number.high << bits | carry, (number.low & (_LOW >> bits)) << bits | digit)
        return number

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.high.shape

    def __add__(self, other: Wide) -> Wide:
        low = self.low + other.low
        return Wide(self.high + other.high + (low >> LOW_BITS), low & _LOW)

    def __getitem__(self, chosen: Any) -> Wide:
        return Wide(self.high[chosen], self.low[chosen])

    def floats(self) -> Floats:
        """Return the numbers as doubles, within a few units in the last place; the only step that rounds."""
        doubles = np.empty(self.shape)
        for rows in _few_rows(self.shape):
            sign = self.high[rows] >> 63  # -1 or 0. Both words get one sign: otherwise small numbers would cancel
            high, low = self.high[rows] ^ sign, (self.low[rows] ^ sign & _LOW) - sign
            doubles[rows] = (high * 2.0**LOW_BITS + low) * (1 + 2 * sign)
        return doubles

    def exact(self) -> Objects:
        """Return the numbers as Python integers, which takes memory and time for each."""
        return np.asarray(self.high.astype(object) * 2**LOW_BITS + self.low.astype(object))


def _few_rows(shape: tuple[int, ...]) -> Iterator[Any]:
    if not shape:
        return iter([...])
    rows = max(_BLOCK // max(math.prod(shape[1:]), 1), 1)
    return (slice(start, start + rows) for start in range(0, shape[0], rows))
