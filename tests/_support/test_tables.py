"""Tables for people: what goes in comes out, and columns line up."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from spatialdp._support.tables import html_table, markdown

cells = st.text("abc 0123.", max_size=12).map(str.strip)
tables = st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=6))


@given(tables)
def test_every_cell_comes_back_and_all_lines_have_one_length(lines):
    head, rule, *body = markdown(lines).split("\n")
    assert len({len(line) for line in (head, rule, *body)}) == 1
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in (head, *body)] == lines


def test_the_rule_stands_below_the_head():
    assert markdown([["a", "long"], ["1", "2"]]).split("\n")[1] == "|---|------|"


@given(st.text(max_size=30), st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=4))
def test_html_tables_escape_every_text(heading, rows):
    text = html_table(heading, rows, warning=heading, note=heading)
    tree = ElementTree.fromstring(re.sub(r"[^\x20-\x7e\xa0-\ud7ff]", "?", text))
    assert {element.tag for element in tree.iter()} <= {"div", "strong", "p", "table", "tbody", "tr", "th", "td"}
    assert len(list(tree.iter("tr"))) == len(rows)
