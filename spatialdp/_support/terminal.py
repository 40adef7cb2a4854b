"""What may reach a terminal? Progress of loops whose number of steps is public, and foreign text that can be seen.

Loops over records must not show progress: a bar shows the total and the rate.

Files hold names of steps, parameters and coordinate systems, and error messages quote them. An escape sequence in such
a name could clear a terminal or make a promise look like another. Whoever shows foreign text to people must pass it
through `printable`; JSON for programs goes through `printable_json`, which loses nothing.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

__all__ = ["is_printable", "printable", "printable_json", "progress"]

T = TypeVar("T")

# Control characters, invisible formatting (such as a change of the direction of writing), halves of characters, and
# separators of lines and paragraphs.
_HARMFUL = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_NOT_ASCII = re.compile(r"[^\x20-\x7e]")
_LONGEST = 2000


def is_printable(text: str) -> bool:
    r"""Whether a text has no harmful character; line ends and tabs are harmful too.

    Examples
    --------
    >>> is_printable("Straße 7 α"), is_printable("a\x1b[2Jb")
    (True, False)
    """
    return not any(map(_harmful, _NOT_ASCII.findall(text)))


def printable(text: object, *, keep: str = "") -> str:
    r"""Return a text for people: each harmful character, except those in `keep`, is replaced by one that can be seen.

    A text of more than 2000 characters is cut short, unless it may have several lines.

    Examples
    --------
    >>> printable("level\x1b[2J 1") == "level\ufffd[2J 1"
    True
    """
    replaced = _NOT_ASCII.sub(
        lambda found: "\ufffd" if _harmful(found[0]) and found[0] not in keep else found[0], str(text)
    )
    return replaced if keep or len(replaced) <= _LONGEST else f"{replaced[:_LONGEST]}…"


def printable_json(value: Any, *, indent: int | None = None) -> str:
    r"""Return JSON in which every harmful character is written as its number, so that a program reads the same text.

    Examples
    --------
    >>> print(printable_json({"step": "α \x9b2J"}))
    {"step": "α \u009b2J"}
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _NOT_ASCII.sub(
        lambda found: f"\\u{ord(found[0]):04x}" if _harmful(found[0]) and found[0] != "\n" else found[0], text
    )


def _harmful(character: str) -> bool:
    return unicodedata.category(character) in _HARMFUL


def progress(steps: Sequence[T], label: str) -> Iterator[T]:
    """Yield the steps one by one; on a terminal, show a progress bar once they take more than two seconds.

    Privacy
    -------
    The bar shows the number of steps and their rate, so both must be public.
    """
    from tqdm import tqdm

    yield from tqdm(steps, desc=label, delay=2, leave=False, disable=None, file=sys.stderr)
