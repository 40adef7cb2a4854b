"""Does a rehearsal follow the rules of an account, and promise nothing?"""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.curator.rehearsal import practice_account
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.ledger.terms import agreed
from tests.helpers.curators import DOMAIN, rehearsing


def practice(**terms):
    full = {"epsilon": 2, "delta": 0, "pure": None, "neighbours": "add-remove", "unit": "record", "records": None}
    return practice_account(agreed(*(full | terms).values(), ""))


def test_a_rehearsal_refuses_what_an_account_would_refuse():
    curator = rehearsing([[1, 1]], epsilon=1)
    curator.count(epsilon=0.75)
    with pytest.raises(BudgetError, match=r"only 0\.25 is left"):
        curator.count(epsilon=0.5)
    with pytest.raises(BudgetError, match="no pot for Gaussian noise"):
        curator.count(epsilon=0.1, delta=1e-6, law="gaussian")


def test_an_account_in_memory_keeps_entries_and_parts_like_one_in_a_ledger():
    account = practice()
    parts = account.partition("state", ["Iowa", "Ohio"])
    for part in parts.values():
        part.spend(sdp.Cost.pure(1), neighbours="add-remove", unit="record", what={})
    account.note({"about": "this"})
    assert account.spent.epsilon == 1
    assert [entry.kind for entry in account.entries] == ["open", "partition", "spend", "spend", "note"]
    receipt = parts["Ohio"].spend(sdp.Cost.pure(0.5), neighbours="add-remove", unit="record", what={})
    account.released(receipt, {"file": "0" * 64})
    assert [each.prev for each in account.entries[1:]] == [each.hash for each in account.entries[:-1]]


def test_the_table_in_memory_can_be_read():
    keeper = practice()._keeper
    assert dict(keeper.table())
    assert keeper.entry(99) is None
    assert keeper.entry(1).kind == "open"


def test_a_seed_repeats_all_answers_and_none_has_a_receipt():
    answers = [rehearsing([[1, 1]] * 9, seed=3).counts([(0, 0, 4, 4)] * 5, epsilon=1) for _ in range(2)]
    assert answers[0].values.tolist() == answers[1].values.tolist()
    assert not answers[0].privacy.private
    assert answers[0].privacy.ledger is None


def test_neighbours_and_persons_are_those_of_the_rehearsal():
    points = sdp.Points([[1, 1]], person=["ann"])
    answers = rehearsing(points, person=sdp.Person(records=2), neighbours="replace").counts(
        [(0, 0, 1, 1), (1, 1, 2, 2)], epsilon=1
    )
    assert answers.privacy.parameters["scale"] == "4"
    assert answers.privacy.unit == "person"


def test_the_systems_noise_makes_no_rehearsal_private():
    assert not sdp.Curator.rehearsal([[1, 1]], DOMAIN).count(epsilon=1).privacy.private


def test_a_seed_alone_is_no_source():
    with pytest.raises(ParameterError, match="noise"):
        sdp.Curator.rehearsal([[1, 1]], DOMAIN, noise=7)
