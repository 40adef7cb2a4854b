"""Terminals: text of others shows nothing but what can be seen, and a bar never changes what is gone through."""

from __future__ import annotations

import io
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp._support.terminal import is_printable, printable, printable_json, progress

HARMFUL = [
    "\x1b[2J",
    "\x9b2J",
    "\x00",
    "\x7f",
    "\r",
    "\n",
    "\t",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u2028",
    "\ud800",
    "\xad",
]
HARMLESS = ["", "EPSG:4326", "ε = 1, δ = 0", "Straße 7", "東京", "a b\xa0c", "é", "👍"]


@pytest.mark.parametrize("text", HARMFUL, ids=ascii)
def test_harmful_characters_are_replaced(text):
    assert not is_printable(f"a{text}b")
    shown = printable(f"a{text}b")
    assert is_printable(shown)
    assert shown[0] == "a"
    assert shown[-1] == "b"
    assert "\ufffd" in shown


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays_as_it_is(text):
    assert is_printable(text)
    assert printable(text) == text


@given(st.text(st.characters(exclude_categories=[])))
def test_no_text_moves_the_cursor(text):
    shown = printable(text, keep="\n")
    assert {unicodedata.category(character) for character in shown.replace("\n", "")}.isdisjoint(
        {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )
    assert shown.count("\n") == text.count("\n")
    if "\ud800" <= max(text, default="") <= "\udfff":
        return
    written = printable_json({text: [text]}, indent=2)
    assert printable(written, keep="\n") == written
    assert json.loads(written) == {text: [text]}


def test_long_names_are_cut_short():
    assert len(printable("a" * 10**6)) == 2001
    assert len(printable("a" * 10**6, keep="\n")) == 10**6
    assert printable(None) == "None"


# --- progress --------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_steps_come_one_by_one_in_their_order(capsys):
    steps = progress([3, 1, 2], "counting")
    assert next(steps) == 3
    assert list(steps) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_no_bar_even_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress(range(100), "counting")) == list(range(100))
    assert sys.stderr.getvalue() == ""


def test_long_work_shows_its_label_on_a_terminal(monkeypatch):
    """The clock jumps by an hour with every look at it."""
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("tqdm.std.time", lambda: next(hours))
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress(range(5), "counting")) == list(range(5))
    assert "counting" in sys.stderr.getvalue()
