"""A decorator for methods that override a base class's method: the base class has the docstring.

Ruff accepts a missing docstring on methods that are marked with it (``ignore-decorators`` in ``pyproject.toml``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["override"]

C = TypeVar("C", bound=Callable[..., object])


def override(method: C) -> C:
    """Mark a method that overrides a method of a base class; the base class's docstring describes both.

    Python's own ``typing.override`` exists from version 3.12 on; the package supports 3.11.
    """
    return method
