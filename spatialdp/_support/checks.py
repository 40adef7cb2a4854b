"""Public parameters, read once: whole numbers and pairs in whatever form they come, errors in three parts."""

from __future__ import annotations

import math
import operator
from typing import Any

from spatialdp.errors import ParameterError

__all__ = ["positive_pair", "true_or_false", "whole_number", "whole_pair"]


def true_or_false(value: Any, name: str) -> bool:
    """A bool and nothing else: "no" would be taken for yes."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} is {value!r}; it must be True or False.")
    return value


def whole_number(value: Any, name: str, least: int, most: int) -> int:
    """An int within bounds, from anything that is one."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number from {least} to {most}.")
    return number


def whole_pair(value: Any, name: str) -> tuple[int, int]:
    """Two ints of at least 1."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ParameterError(f"{name} is {value!r}; it must be two whole numbers (nx, ny).") from None
    return whole_number(first, name, 1, 2**30), whole_number(second, name, 1, 2**30)


def positive_pair(value: Any, name: str) -> tuple[float, float]:
    """Two positive finite floats, from one or two numbers."""
    try:
        first, second = (float(item) for item in value) if hasattr(value, "__len__") else (float(value),) * 2
    except (TypeError, ValueError, OverflowError):
        first = second = math.nan
    if not (0 < first < math.inf and 0 < second < math.inf):
        raise ParameterError(f"{name} is {value!r}; it must be one or two positive finite numbers.")
    return first, second
