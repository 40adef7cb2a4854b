"""Markdown tables for people to read: the columns line up in plain text too."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["markdown"]


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Format lines of cells as a Markdown table; the first line is the header.

    Examples
    --------
    >>> print(markdown([["name", "n"], ["a", "12"]]))
    | name | n  |
    |------|----|
    | a    | 12 |
    """
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    header, *body = (
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([header, rule, *body])
