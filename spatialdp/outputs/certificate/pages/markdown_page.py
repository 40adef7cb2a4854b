"""How is a page written as Markdown? As plain text that reads well by itself, in which foreign text stays text."""

from __future__ import annotations

import re
from functools import singledispatch

from spatialdp._support.tables import markdown
from spatialdp.outputs.certificate.pages.blocks import (
    Blanks,
    Block,
    Boxes,
    Bullets,
    Command,
    Facts,
    Page,
    Paragraph,
    Section,
    Table,
    shown,
)

__all__ = ["markdown_page"]

# What Markdown or HTML could take for something else than text, wherever it stands in a line.
_MEANT = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
_AT_THE_START = re.compile(r"^(\s*\d*)([-+=.)])")
_LINE = "_" * 40


def markdown_page(page: Page) -> str:
    r"""Return a page as Markdown; equal pages give equal texts.

    Examples
    --------
    >>> print(markdown_page(Page("A < B", "", (Section("1. What", (Paragraph("Some *words*."),)),))))
    # A \< B
    <BLANKLINE>
    ## 1. What
    <BLANKLINE>
    Some \*words\*.
    <BLANKLINE>
    """
    lead = [_words(page.lead)] if page.lead else []
    warning = [f"**{_words(page.warning)}**"] if page.warning else []
    parts = [f"# {_escaped(page.title)}", *lead, *warning, *(part for each in page.sections for part in _section(each))]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    return [f"## {_escaped(section.title)}", *map(_block, section.blocks)]


def _escaped(text: str) -> str:
    return _MEANT.sub(r"\\\1", shown(text))


def _words(text: str) -> str:
    """Return a text that begins a line, where more has a meaning."""
    return _AT_THE_START.sub(r"\1\\\2", _escaped(text))


@singledispatch
def _block(block: Block) -> str:
    raise TypeError(f"no page has a {type(block).__name__}")


@_block.register
def _(block: Paragraph) -> str:
    return _words(block.text)


@_block.register
def _(block: Facts) -> str:
    return "\n".join(f"- **{_escaped(name)}**: {_escaped(value)}" for name, value in block.rows)


@_block.register
def _(block: Table) -> str:
    return markdown([[_escaped(cell) for cell in row] for row in (block.head, *block.rows)])


@_block.register
def _(block: Bullets) -> str:
    return "\n".join(f"- {_words(item)}" for item in block.items)


@_block.register
def _(block: Boxes) -> str:
    return "\n".join(f"- [ ] {_words(item)}" for item in block.items)


@_block.register
def _(block: Blanks) -> str:
    return "\n\n".join(f"{_words(name)}: {_LINE}" for name in block.names)


@_block.register
def _(block: Command) -> str:
    lines = [shown(line) for line in block.lines]
    longest = max((len(ticks) for line in lines for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}sh", *lines, fence])
