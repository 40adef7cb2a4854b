"""Pages in HTML: every block, escaped, and with digests that can be compared."""

from __future__ import annotations

import html.parser

import pytest

from spatialdp.outputs.certificate.pages import html_page as module
from spatialdp.outputs.certificate.pages.blocks import (
    Blanks,
    Boxes,
    Bullets,
    Command,
    Facts,
    Page,
    Paragraph,
    Section,
    Table,
)
from spatialdp.outputs.certificate.pages.html_page import html_page

BAD = "<b>&\"'"
GOOD = "&lt;b&gt;&amp;&quot;&#x27;"
BLOCKS = [
    Paragraph(BAD),
    Facts(((BAD, BAD),)),
    Table((BAD, BAD), ((BAD, BAD),), numbers=(1,)),
    Bullets((BAD,)),
    Boxes((BAD,)),
    Blanks((BAD,)),
    Command((BAD, BAD)),
]
TEXTS = [1, 2, 4, 1, 1, 1, 2]


def page(*blocks, **options):
    return html_page(Page("Title", "", (Section("Part", blocks),), **options))


@pytest.mark.parametrize(("block", "count"), list(zip(BLOCKS, TEXTS, strict=True)))
def test_every_text_of_every_block_is_escaped(block, count):
    text = page(block)
    assert text.count(GOOD) == count
    assert "<b>" not in text


def test_titles_leads_and_warnings_are_escaped_too():
    assert html_page(Page(BAD, BAD, (Section(BAD, ()),), warning=BAD)).count(GOOD) == 5  # the title stands twice


def test_elements_are_closed_in_their_order():
    class Checker(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, attrs):
            self.open += [] if tag == "meta" else [tag]

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    checker = Checker()
    checker.feed(html_page(Page(BAD, BAD, (Section(BAD, tuple(BLOCKS)),), warning=BAD)))
    assert checker.open == []


def test_digests_are_set_as_code_and_other_values_are_not():
    text = page(Facts((("hash", "a1" * 32), ("name", "crashes"))))
    assert f'<td class="long"><code>{"a1" * 32}</code></td>' in text
    assert "<td>crashes</td>" in text


def test_words_are_broken_only_where_no_column_could_hold_them():
    text = page(Table(("a", "b"), (("released", "x" * 25), ("counts of cells", "2026-11-02 09:30:00"))))
    assert "<td>released</td>" in text
    assert f'<td class="long">{"x" * 25}</td>' in text
    assert '<td class="time">2026-11-02 09:30:00</td>' in text


def test_short_tables_stay_on_one_page():
    assert '<table class="short">' in page(Table(("a",), (("1",),) * 12))
    assert '<table class="short">' not in page(Table(("a",), (("1",),) * 13))


def test_numbers_stand_below_each_other():
    assert '<th scope="col">a</th><th class="number" scope="col">b</th>' in page(
        Table(("a", "b"), (("x", "1"),), numbers=(1,))
    )


def test_a_line_begins_neither_with_a_percent_sign_nor_with_an_equals_sign():
    assert "50\u00a0% and ε\u00a0=\u00a01" in page(Paragraph("(50 % and ε = 1)"))


def test_unknown_blocks_are_an_error():
    with pytest.raises(TypeError, match="no page has a str"):
        module._block("text")
