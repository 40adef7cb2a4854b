"""Checks of public parameters: booleans, whole numbers and pairs, in whatever type a caller gives them.

Each function returns the value in one plain type, so that nobody has to check it again, or raises a `ParameterError`
that says what was given and what is required. Values of records never come here: the messages quote what they check.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from spatialdp.errors import ParameterError
from spatialdp.wording import either, parameter, quoted

__all__ = ["positive_pair", "true_or_false", "whole_number", "whole_pair"]


def true_or_false(value: Any, name: str) -> bool:
    """Return a bool; anything else is refused, because Python treats the string "no" as true."""
    if not isinstance(value, bool):
        raise ParameterError(
            f"{parameter(name)} is {quoted(value)}; it must be {either('True or False', 'yes or no')}."
        )
    return value


def whole_number(value: Any, name: str, least: int, most: int) -> int:
    """Return an int from `least` to `most`, given any integer type but bool."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise ParameterError(f"{parameter(name)} is {quoted(value)}; it must be a whole number from {least} to {most}.")
    return number


def whole_pair(value: Any, name: str) -> tuple[int, int]:
    """Return two ints of at least 1, such as the numbers of columns and rows of a grid."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ParameterError(
            f"{parameter(name)} is {quoted(value)}; it must be two whole numbers {either('(nx, ny)', 'NX,NY')}."
        ) from None
    return whole_number(first, name, 1, 2**30), whole_number(second, name, 1, 2**30)


def positive_pair(value: Any, name: str) -> tuple[float, float]:
    """Return two positive finite floats, given two numbers or one number for both."""
    try:
        first, second = (float(item) for item in value) if hasattr(value, "__len__") else (float(value),) * 2
    except (TypeError, ValueError, OverflowError):
        first = second = math.nan
    if not (0 < first < math.inf and 0 < second < math.inf):
        raise ParameterError(f"{parameter(name)} is {quoted(value)}; it must be one or two positive finite numbers.")
    return first, second
