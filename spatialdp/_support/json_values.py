"""Typed values from JSON that somebody else may have written or altered.

Each function checks one value and returns it with its type, or raises ValueError or TypeError. The reader of a file
turns that error into one about the file; the messages here are not shown to users.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn

__all__ = [
    "amount",
    "exact_number",
    "exact_numbers",
    "flag",
    "fraction",
    "fractions",
    "parsed",
    "text",
    "texts",
    "whole",
    "with_exact",
]

# Far deeper than anything that is written here, and far from what Python's own stack takes.
_DEEPEST = 32

# No exponents: a short string such as 1e999999999 would otherwise become a huge number.
_RATIONAL = re.compile(r"\d{1,400}(/\d{1,400})?")


def parsed(content: bytes | str) -> Any:
    """Return the value that JSON states; nesting of more than 32 levels, NaN and halves of characters are refused.

    Examples
    --------
    >>> parsed(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    try:
        value = json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    inner = [value]
    for _ in range(_DEEPEST):
        inner = [each for item in inner for each in _parts(item)]
    if inner:
        raise ValueError("nested too deeply")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _parts(value: Any) -> list[Any]:
    """Return the values that lie in a list or object; a text must be one that can be written."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def whole(value: object, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"not a whole number from {least} to {most}")
    return value


def amount(value: object, most: float = math.inf) -> float:
    """Return a finite number from 0 to `most` as a float."""
    if isinstance(value, bool) or not isinstance(value, float | int) or not 0 <= value <= most or value == math.inf:
        raise ValueError(f"not a finite number from 0 to {most}")
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


def with_exact(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for JSON: each exact number as a number for programs and, under another name, as an exact text.

    Several exact numbers with names have their exact texts beside all of them.

    Examples
    --------
    >>> with_exact({"epsilon": Fraction(1, 10), "private": True})
    {'epsilon': 0.1, 'epsilon_exact': '1/10', 'private': True}
    >>> with_exact({"budget": {"counts": Fraction(1, 3)}})
    {'budget': {'counts': 0.3333333333333333}, 'budget_exact': {'counts': '1/3'}}
    """
    result: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Fraction):
            result |= {name: float(value), f"{name}_exact": str(value)}
        elif isinstance(value, Mapping) and value and all(isinstance(each, Fraction) for each in value.values()):
            result[name] = {step: float(each) for step, each in value.items()}
            result[f"{name}_exact"] = {step: str(each) for step, each in value.items()}
        else:
            result[name] = with_exact(value) if isinstance(value, Mapping) else value
    return result


def exact_number(values: Mapping[str, object], name: str) -> Fraction:
    """Return the exact number that `with_exact` wrote; files without numbers have the exact text under the name itself.

    Examples
    --------
    >>> exact_number({"epsilon": 0.1, "epsilon_exact": "1/10"}, "epsilon")
    Fraction(1, 10)
    >>> exact_number({"epsilon": "1/10"}, "epsilon")
    Fraction(1, 10)
    """
    if f"{name}_exact" not in values:
        return fraction(values[name])
    exact = fraction(values[f"{name}_exact"])
    _check_same(values[name], exact)
    return exact


def exact_numbers(values: Mapping[str, object], name: str) -> dict[str, Fraction]:
    """Return the exact numbers with names that `with_exact` wrote, or the exact texts of files without numbers."""
    if f"{name}_exact" not in values:
        return fractions(_mapping(values[name]))
    exact, numbers = fractions(_mapping(values[f"{name}_exact"])), _mapping(values[name])
    if set(exact) != set(numbers):
        raise ValueError("numbers and exact numbers have different names")
    for step, number in numbers.items():
        _check_same(number, exact[step])
    return exact


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    return value


def _check_same(number: object, exact: Fraction) -> None:
    if isinstance(number, bool) or amount(number) != float(exact):
        raise ValueError("a number contradicts the exact number beside it")
