"""Typed values from JSON that somebody else may have written or altered.

Each function checks one value and returns it with its type, or raises ValueError or TypeError. The reader of a file
turns that error into one about the file; the messages here are not shown to users.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction

__all__ = ["amount", "flag", "fraction", "fractions", "text", "texts"]

# No exponents: a short string such as 1e999999999 would otherwise become a huge number.
_RATIONAL = re.compile(r"\d{1,400}(/\d{1,400})?")


def amount(value: object) -> float:
    """Return a finite number of at least 0 as a float."""
    if not isinstance(value, float | int) or not 0 <= value < math.inf:
        raise ValueError("not a finite number of at least 0")
    return float(value)


def flag(value: object) -> bool:
    """Return a boolean; values that Python merely treats as true or false (0, 1, "") are refused."""
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def text(value: object) -> str:
    """Return a string; anything else is refused."""
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def texts(values: Mapping[str, object], *names: str) -> list[str]:
    """Return the strings that a mapping has under the given names, in the order of the names."""
    return [text(values[name]) for name in names]


def fraction(value: object) -> Fraction:
    """Return the exact fraction that a string such as ``"1/10"`` states.

    Examples
    --------
    >>> fraction("1/10")
    Fraction(1, 10)
    """
    digits = text(value)
    if not _RATIONAL.fullmatch(digits):
        raise ValueError("not a fraction of whole numbers")
    return Fraction(digits)


def fractions(values: Mapping[str, object]) -> dict[str, Fraction]:
    """Return a mapping of names to exact fractions."""
    return {text(name): fraction(value) for name, value in values.items()}
