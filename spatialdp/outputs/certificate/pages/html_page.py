"""How does a page look in a browser and on paper? One HTML file that loads nothing and runs nothing.

The content policy names the style sheet by its hash and refuses everything else: no script, no picture, no font, no
request. On paper it is A4, and neither a table's row nor a box to tick is torn apart.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from functools import singledispatch
from importlib import resources
from string import Template

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

__all__ = ["html_page"]

_SPACE = "\u00a0"  # at which no line ends
_LONGEST_WORD = 24  # characters; longer ones may be broken anywhere
_SHORT = 12  # rows of a table that stays on one page
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_DIGEST = re.compile(r"[0-9a-f]{32,}")


def html_page(page: Page) -> str:
    """Return a page as HTML; equal pages give equal texts.

    Examples
    --------
    >>> print(html_page(Page("A < B", "Lead."))[:15])
    <!DOCTYPE html>
    """
    style = _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    warning = f'<p class="warning">{_words(page.warning)}</p>\n' if page.warning else ""
    parts = {
        "policy": policy,
        "style": style,
        "title": _words(page.title),
        "lead": f'<p class="lead">{_words(page.lead)}</p>\n' if page.lead else "",
        "body": warning + "".join(map(_section, page.sections)),
    }
    return Template(_asset("page.html")).substitute(parts)


def _asset(name: str) -> str:
    return (resources.files("spatialdp.outputs.certificate") / "assets" / name).read_text(encoding="utf-8")


def _words(text: str) -> str:
    # A line must not begin with a percent sign or an equals sign.
    return html.escape(shown(text)).replace(" %", f"{_SPACE}%").replace(" = ", f"{_SPACE}={_SPACE}")


def _cell(text: str, *, element: str = "td", kinds: str = "", scope: str = "") -> str:
    """Return a cell; times stay on one line, digests are set so that their digits can be compared.

    A word that no column could hold may be broken anywhere; other words are not broken.
    """
    longest = max(map(len, text.split()), default=0)
    look = "time" if _TIME.fullmatch(text) else "long" if longest > _LONGEST_WORD else ""
    classes = " ".join(filter(None, (kinds, look)))
    given = f' class="{classes}"' * bool(classes) + f' scope="{scope}"' * bool(scope)
    words = f"<code>{_words(text)}</code>" if _DIGEST.fullmatch(text) else _words(text)
    return f"<{element}{given}>{words}</{element}>"


def _section(section: Section) -> str:
    blocks = "".join(_block(block) for block in section.blocks)
    return f"<section>\n<h2>{_words(section.title)}</h2>\n{blocks}</section>\n"


@singledispatch
def _block(block: Block) -> str:
    raise TypeError(f"no page has a {type(block).__name__}")


@_block.register
def _(block: Paragraph) -> str:
    return f"<p>{_words(block.text)}</p>\n"


@_block.register
def _(block: Facts) -> str:
    rows = (f"<tr>{_cell(name, element='th', scope='row')}{_cell(value)}</tr>\n" for name, value in block.rows)
    return f'<table class="facts"><tbody>\n{"".join(rows)}</tbody></table>\n'


@_block.register
def _(block: Table) -> str:
    kinds = ["number" * (place in block.numbers) for place in range(len(block.head))]
    head = "".join(
        _cell(name, element="th", kinds=kind, scope="col") for name, kind in zip(block.head, kinds, strict=True)
    )
    rows = ("".join(_cell(cell, kinds=kind) for cell, kind in zip(row, kinds, strict=True)) for row in block.rows)
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    short = ' class="short"' if len(block.rows) <= _SHORT else ""
    return f"<table{short}><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>\n"


@_block.register
def _(block: Bullets) -> str:
    return f"<ul>\n{''.join(f'<li>{_words(item)}</li>{chr(10)}' for item in block.items)}</ul>\n"


@_block.register
def _(block: Boxes) -> str:
    return f'<ul class="boxes">\n{"".join(f"<li>{_words(item)}</li>{chr(10)}" for item in block.items)}</ul>\n'


@_block.register
def _(block: Blanks) -> str:
    lines = "".join(f"<div>{_words(name)}<span></span></div>\n" for name in block.names)
    return f'<div class="blanks">\n{lines}</div>\n'


@_block.register
def _(block: Command) -> str:
    lines = "\n".join(map(_words, block.lines))
    return f"<pre>{lines}</pre>\n"
