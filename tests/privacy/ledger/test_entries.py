"""Entries: one canonical text, one hash, and public facts alone."""

from __future__ import annotations

import getpass
import hashlib
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.errors import LedgerError, ParameterError
from spatialdp.privacy.ledger import entries
from spatialdp.privacy.ledger.entries import Entry, Kind, canonical, checked_facts, entry_hash, first_hash, stamp

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("aö7 -"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("aö7 -"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc"), PLAIN, max_size=4))
def test_equal_facts_have_one_text(facts):
    text = canonical(facts)
    assert text.isascii()
    assert json.loads(text) == facts
    assert canonical(dict(reversed(facts.items()))) == text


def test_the_hash_is_of_the_whole_entry():
    digest = entry_hash(3, "prev", "note", "{}")
    assert digest == hashlib.sha256(b"3\nprev\nnote\n{}").hexdigest()
    others = [(4, "prev", "note", "{}"), (3, "p", "note", "{}"), (3, "prev", "spend", "{}"), (3, "prev", "note", "[]")]
    assert len({digest, *(entry_hash(*other) for other in others)}) == 5


def test_chains_of_two_ledgers_differ_from_the_start():
    assert first_hash("0" * 32) != first_hash("1" * 32)


def test_an_entry_says_what_its_body_says():
    assert Entry(1, "note", '{"a":[1]}', "", "").facts == {"a": [1]}


@pytest.mark.parametrize("body", ["", "[]", "1", "null", "{", '{"a":NaN}', "[" * 10**5, '{"a":"\\ud800"}'])
def test_a_body_that_was_not_written_here_is_an_error_of_the_ledger(body):
    with pytest.raises(LedgerError, match="entry 7 does not say what spatialdp writes"):
        _ = Entry(7, "note", body, "", "").facts


def test_facts_become_plain_values():
    facts = {"shape": (4, np.int64(4)), "share": Fraction(1, 3), "law": "laplace", "x": 0.5, "none": None, "yes": True}
    plain = {"shape": [4, 4], "share": "1/3", "law": "laplace", "x": 0.5, "none": None, "yes": True}
    assert checked_facts(facts) == plain


@pytest.mark.parametrize(
    "facts",
    [
        None,
        [],
        "text",
        {1: 2},
        {"a": math.nan},
        {"a": math.inf},
        {"a": object()},
        {"a": b"bytes"},
        {"a": "\x1b[2J"},
        {"\x1b": 1},
        {"a": {1, 2}},
        {"a": np.zeros(3)},
        {"a": 10**500},
        {"a": Fraction(1, 10**500)},
        {"a": "x" * 2**16},
    ],
)
def test_other_facts_are_refused(facts):
    with pytest.raises(ParameterError, match="public facts"):
        checked_facts(facts)


def test_facts_that_lie_too_deep_are_refused():
    deep = {}
    for _ in range(20):
        deep = {"a": deep}
    with pytest.raises(ParameterError, match="public facts"):
        checked_facts(deep)


def test_a_process_without_a_login_name_makes_entries(monkeypatch):
    def nobody():
        raise KeyError("no such user")

    monkeypatch.setattr(getpass, "getuser", nobody)
    entries._login.cache_clear()
    assert stamp()["by"] == ""
    entries._login.cache_clear()


def test_times_are_in_utc():
    assert stamp()["time"].endswith("+00:00")


def test_kinds_are_those_of_the_documentation():
    assert {str(kind) for kind in Kind} == {"open", "partition", "spend", "released", "limit", "adopted", "note"}


def test_the_same_step_has_another_hash_every_time():
    """So that an entry made again after a rollback is not the one that a release names."""
    assert stamp()["nonce"] != stamp()["nonce"]
