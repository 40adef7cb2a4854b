"""Texts that may come from anywhere: seen as they are, and no longer than somebody may read."""

from __future__ import annotations

import pytest

from spatialdp.outputs.certificate.pages.blocks import at_most, plain, shown


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "none"),
        (True, "yes"),
        (False, "no"),
        (3, "3"),
        (0.1, "0.1"),
        (1e-9, "1e-09"),
        ("text", "text"),
        ((64, 32), "64, 32"),
        ([("a", 1), None], "a, 1, none"),
        ({"state": {"37": 5, "45": 1.5}}, "state: 37: 5; 45: 1.5"),
    ],
)
def test_values_read_like_words(value, words):
    assert plain(value) == words


def test_texts_of_any_length_and_kind_are_cut_and_cleaned():
    assert plain("a" * 10**6) == "a" * 600 + "…"
    assert shown("a" * 10**6) == "a" * 4000 + "…"
    assert shown("a\nb\x00\u202e\ud800c\u00a0d") == "a\ufffdb\ufffd\ufffd\ufffdc\u00a0d"
    assert shown("ε δ ρ Straße 中文") == "ε δ ρ Straße 中文"


def test_first_items_say_how_many_were_left_out():
    assert at_most(range(5), 2) == ((0, 1), 3)
    assert at_most((), 2) == ((), 0)
