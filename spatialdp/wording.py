"""How does one message speak to users of Python and to users of the command line? By naming what differs.

A message is an ordinary f-string. Wherever its words depend on who reads it, it calls `parameter`, `quoted` or
`either`, which put a mark with both wordings into the text. `split` takes the marks out again: the errors and warnings
of spatialdp (`Worded`) do it once, show Python's words as their text, and keep the parts, from which the command line
makes its own words (`spatialdp.cli.wording`). Messages without marks read alike for everybody.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Mention", "Worded", "as_typed", "either", "parameter", "quoted", "split"]

# Control characters, which no message has otherwise: start, separator and end of a mark.
_START, _NEXT, _END = "\x02", "\x1f", "\x03"
_MARK = re.compile(f"{_START}([^{_START}{_END}]*){_END}")
_SEPARATORS = ",;/"
_NOTHING = object()


@dataclass(frozen=True)
class Mention:
    """A part of a message that has one wording for Python and another one for the command line.

    Attributes
    ----------
    python : str
        The words for users of Python, such as ``cell_size=0.5``.
    name : str
        The parameter that is meant, such as ``cell_size``; empty if none is.
    typed : str
        The value as it is typed on the command line, such as ``0.5``; empty if only the name is mentioned. Without a
        name, the words for users of the command line.
    """

    python: str
    name: str
    typed: str


class Worded(Exception):  # noqa: N818 - a base of errors and of warnings
    """An error or a warning whose message has words for Python and words for the command line.

    Attributes
    ----------
    parts : tuple of str and Mention
        The message in parts: those that read alike for everybody, and those that have two wordings.

    Examples
    --------
    >>> str(Worded(f"{parameter('height')} is 99."))
    'height is 99.'
    """

    def __init__(self, message: str = "") -> None:
        parts = split(message)
        super().__init__("".join(part.python if isinstance(part, Mention) else part for part in parts))
        self.parts = parts


def parameter(name: str, value: object = _NOTHING, *, typed: str | None = None) -> str:
    """Name a parameter in a message, with a value or without.

    A value that stands for any value, such as ``(nx, ny)``, is a text and needs the text for the command line, `typed`.

    Examples
    --------
    >>> split(f"use {parameter('cell_size')}, or {parameter('shape', (64, 64))}.")[1]
    Mention(python='cell_size', name='cell_size', typed='')
    >>> split(f"use {parameter('cell_size')}, or {parameter('shape', (64, 64))}.")[3]
    Mention(python='shape=(64, 64)', name='shape', typed='64,64')
    >>> split(parameter("shape", "(nx, ny)", typed="NX,NY"))[1]
    Mention(python='shape=(nx, ny)', name='shape', typed='NX,NY')
    """
    if value is _NOTHING:
        return _mark(name, name, "")
    if typed is not None:
        return _mark(f"{name}={value}", name, typed)
    return _mark(f"{name}={(str(value) if isinstance(value, str) else value)!r}", name, as_typed(value))


def quoted(value: object) -> str:
    """Quote the value of a parameter in a message: as Python writes it, or as it is typed.

    Examples
    --------
    >>> split(f"shape is {quoted((64, 0))}.")[1]
    Mention(python='(64, 0)', name='', typed='64,0')
    """
    if isinstance(value, str):
        return _mark(repr(str(value)), "", repr(str(value)))
    return _mark(repr(value), "", as_typed(value))


def either(python: str, command_line: str) -> str:
    """Say the same in two ways: to users of Python, and to users of the command line.

    Examples
    --------
    >>> split(f"draw it with {either('plot()', '`spatialdp map`')}.")[1]
    Mention(python='plot()', name='', typed='`spatialdp map`')
    """
    return _mark(python, "", command_line)


def as_typed(value: Any) -> str:
    """Return a value as it is typed on the command line.

    Examples
    --------
    >>> [as_typed(value) for value in ((1, 8, 32), [(4, 4), (8, 8)], 0.5, True, "cells", None, {"zone": (0, 1)})]
    ['1,8,32', '4,4;8,8', '0.5', 'yes', 'cells', 'none', 'zone=0,1']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ";".join(f"{name}={as_typed(each)}" for name, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _SEPARATORS[min(_depth(value), len(_SEPARATORS)) - 1].join(as_typed(item) for item in value)
    if isinstance(value, float):
        return "missing" if math.isnan(value) else str(value).removesuffix(".0")
    return "none" if value is None else str(value)


def _depth(value: Any) -> int:
    """Return how deeply lists are nested in a value."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return 0
    return 1 + max(map(_depth, value), default=0)


def split(message: str) -> tuple[str | Mention, ...]:
    """Split a message at its marks into texts and mentions, alternately; the first and the last are texts.

    Examples
    --------
    >>> split("epsilon is 0.")
    ('epsilon is 0.',)
    """
    texts = _MARK.split(message)
    return tuple(Mention(*text.split(_NEXT, 2)) if number % 2 else text for number, text in enumerate(texts))


def _mark(python: str, name: str, typed: str) -> str:
    fields = (_without_marks(text) for text in (python, name, typed))
    return f"{_START}{_NEXT.join(fields)}{_END}"


def _without_marks(text: str) -> str:
    return re.sub(f"[{_START}{_NEXT}{_END}]", "", text)
