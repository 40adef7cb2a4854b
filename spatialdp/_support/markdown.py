"""Tables for people: Markdown with columns that line up."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["markdown"]


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first line is its head.

    Examples
    --------
    >>> print(markdown([["name", "n"], ["a", "12"]]))
    | name | n  |
    |------|----|
    | a    | 12 |
    """
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    head, *body = (
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([head, rule, *body])
