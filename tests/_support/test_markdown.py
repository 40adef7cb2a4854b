"""Tables for people: what goes in comes out, and columns line up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spatialdp._support.markdown import markdown

cells = st.text("abc 0123.", max_size=12).map(str.strip)
tables = st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=6))


@given(tables)
def test_every_cell_comes_back_and_all_lines_have_one_length(lines):
    head, rule, *body = markdown(lines).split("\n")
    assert len({len(line) for line in (head, rule, *body)}) == 1
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in (head, *body)] == lines


def test_the_rule_stands_below_the_head():
    assert markdown([["a", "long"], ["1", "2"]]).split("\n")[1] == "|---|------|"
