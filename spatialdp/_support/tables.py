"""Tables for people to read: Markdown whose columns line up in plain text too, and HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["html_table", "markdown", "percent"]


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


def html_table(heading: str, rows: Iterable[tuple[str, str]], *, warning: str = "", note: str = "") -> str:
    """Format names and texts as an HTML table under a heading, for notebooks; every text is escaped.

    Examples
    --------
    >>> "a &lt; b" in html_table("Numbers", [("a < b", "12")])
    True
    """
    left = ' style="text-align:left"'
    loud = ' style="color:#a11616;font-weight:bold"'
    cells = "".join(
        f"<tr><th{left}>{html.escape(name)}</th><td{left}>{html.escape(text)}</td></tr>" for name, text in rows
    )
    parts = [
        f"<strong>{html.escape(heading)}</strong>",
        f"<p{loud}>{html.escape(warning)}</p>" if warning else "",
        f"<table><tbody>{cells}</tbody></table>",
        f"<p>{html.escape(note)}</p>" if note else "",
    ]
    return f'<div class="spatialdp">{"".join(parts)}</div>'


def percent(share: float) -> str:
    """Write a share in percent with one digit after the point.

    Examples
    --------
    >>> percent(0.4402)
    '44.0 %'
    """
    return f"{100 * share:.1f} %"
