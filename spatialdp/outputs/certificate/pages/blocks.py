"""What is a page made of, whatever the format? Sections of paragraphs, facts, tables, boxes to tick and lines to sign.

Texts are plain and may come from anywhere: a forged file has parameters of any length, and names that look like HTML.
Whoever writes a page must pass each text through `shown`, and then escape it for the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from spatialdp._support.terminal import printable

__all__ = [
    "Blanks",
    "Block",
    "Boxes",
    "Bullets",
    "Command",
    "Facts",
    "Page",
    "Paragraph",
    "Section",
    "Table",
    "at_most",
    "plain",
    "shown",
]

T = TypeVar("T")

_LONGEST_TEXT = 4000  # characters
_LONGEST_VALUE = 600  # of a cell, or of one value in a sentence


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows under a head; the columns that `numbers` lists hold numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Bullets:
    """Points of a list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Boxes:
    """Sentences for people to confirm, each with a box to tick."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Blanks:
    """Lines for people to fill in and to sign."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """What is typed in a terminal, line by line."""

    lines: tuple[str, ...]


Block = Paragraph | Facts | Table | Bullets | Boxes | Blanks | Command


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """A page: its title, what stands below it, and its parts. A page with a `warning` has nothing else.

    Attributes
    ----------
    title : str
    lead : str
        Smaller than the rest, below the title.
    sections : tuple of Section
    warning : str
        Loud, in the place of everything else.
    """

    title: str
    lead: str
    sections: tuple[Section, ...] = ()
    warning: str = ""


def shown(text: str) -> str:
    r"""Return a text in which every character can be seen, of a length that somebody may read.

    Examples
    --------
    >>> shown("a\u202eb\x07") == "a\ufffdb\ufffd"
    True
    >>> len(shown("a" * 10**6))
    4001
    """
    return _cut(printable(text, keep="\u00a0"), _LONGEST_TEXT)  # a sentence may be longer than a line


def plain(value: object) -> str:
    """Return a value that stands within a sentence or in a cell, cut short if it is long.

    Examples
    --------
    >>> plain((64, 64)), plain(None), plain(True), plain({"state": {"37": 5}})
    ('64, 64', 'none', 'yes', 'state: 37: 5')
    """
    return _cut(_plain(value), _LONGEST_VALUE)


def _plain(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_plain(each)}" for name, each in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_plain, value))
    return f"{value:.16g}" if isinstance(value, float) else str(value)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def at_most(items: Sequence[T] | Iterable[T], most: int) -> tuple[tuple[T, ...], int]:
    """Return the first items, and how many were left out.

    Examples
    --------
    >>> at_most("abcd", 3)
    (('a', 'b', 'c'), 1)
    """
    every = tuple(items)
    return every[:most], max(0, len(every) - most)
