"""Values out of foreign JSON, refused unless they are what they should be.

Every function raises ValueError or TypeError; whoever reads a file turns that into an error about the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction

__all__ = ["amount", "flag", "fraction", "fractions", "text", "texts"]

# No exponents: a short text must not be able to ask for a huge number.
_RATIONAL = re.compile(r"\d{1,400}(/\d{1,400})?")


def amount(value: object) -> float:
    """A finite number of at least 0."""
    if not isinstance(value, float | int) or not 0 <= value < math.inf:
        raise ValueError("not a finite number of at least 0")
    return float(value)


def flag(value: object) -> bool:
    """True or false, and nothing that merely counts as such."""
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def text(value: object) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def texts(values: Mapping[str, object], *names: str) -> list[str]:
    """The strings that a mapping holds under some names."""
    return [text(values[name]) for name in names]


def fraction(value: object) -> Fraction:
    """An exact fraction out of a text such as ``"1/10"``.

    Examples
    --------
    >>> fraction("1/10")
    Fraction(1, 10)
    """
    written = text(value)
    if not _RATIONAL.fullmatch(written):
        raise ValueError("not a fraction of whole numbers")
    return Fraction(written)


def fractions(values: Mapping[str, object]) -> dict[str, Fraction]:
    """A mapping of names to exact fractions."""
    return {text(name): fraction(value) for name, value in values.items()}
