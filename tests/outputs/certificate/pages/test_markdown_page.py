"""Pages in Markdown: every block, and foreign text that stays text."""

from __future__ import annotations

import pytest

from spatialdp.outputs.certificate.pages import markdown_page as module
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
from spatialdp.outputs.certificate.pages.markdown_page import markdown_page


def body(*blocks):
    text = markdown_page(Page("Title", "", (Section("Part", blocks),)))
    return text.removeprefix("# Title\n\n## Part\n\n")


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Paragraph("Some *words* <b>."), "Some \\*words\\* \\<b\\>.\n"),
        (Facts((("a_b", "c|d"), ("e", "f"))), "- **a\\_b**: c\\|d\n- **e**: f\n"),
        (Table(("a", "b"), (("c|", "`d`"),)), "| a   | b     |\n|-----|-------|\n| c\\| | \\`d\\` |\n"),
        (Bullets(("one", "- two")), "- one\n- \\- two\n"),
        (Boxes(("sure [x]",)), "- [ ] sure \\[x\\]\n"),
        (Command(("ls", "rm")), "```sh\nls\nrm\n```\n"),
    ],
)
def test_blocks_are_written_so_that_text_stays_text(block, text):
    assert body(block) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1. one", "1\\. one"),
        ("2) two", "2\\) two"),
        ("+ three", "\\+ three"),
        ("- four", "\\- four"),
        ("===", "\\==="),
        ("# five", "\\# five"),
        ("> six", "\\> six"),
        ("1,000 records", "1,000 records"),
        ("a - b", "a - b"),
        ("&copy; $x$ ~y~ {z}", "\\&copy; \\$x\\$ \\~y\\~ \\{z\\}"),
    ],
)
def test_no_line_begins_with_what_means_more_than_text(text, written):
    assert body(Paragraph(text)) == f"{written}\n"


def test_lines_to_sign_are_blank():
    assert body(Blanks(("Signature", "Date"))) == f"Signature: {'_' * 40}\n\nDate: {'_' * 40}\n"


def test_a_command_cannot_end_its_block():
    assert body(Command(("echo ```` a",))) == "`````sh\necho ```` a\n`````\n"


def test_a_warning_is_loud_and_alone():
    assert markdown_page(Page("Title", "", warning="Not *this*.")) == "# Title\n\n**Not \\*this\\*.**\n"


def test_unknown_blocks_are_an_error():
    with pytest.raises(TypeError, match="no page has a str"):
        module._block("text")
