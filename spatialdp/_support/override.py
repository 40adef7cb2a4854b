"""A mark for methods whose base class says what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["override"]

C = TypeVar("C", bound=Callable[..., object])


def override(method: C) -> C:
    """Mark a method that overrides one of a base class; the docstring there holds for it too.

    Python has such a decorator from 3.12 on.
    """
    return method
