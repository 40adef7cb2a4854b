"""Checking: every alteration of a ledger is found, by the chain, by the totals, or by the releases that it paid for."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp import Cost
from spatialdp.errors import FileFormatError, LedgerError, ParameterError
from spatialdp.privacy.ledger import entries
from spatialdp.privacy.ledger.books import record
from spatialdp.privacy.ledger.entries import Kind
from tests.helpers.ledgers import RECORD, alter, forge_chain, pay
from tests.privacy.test_receipt import STATEMENT


@pytest.fixture
def path(folder):
    """A ledger with every kind of entry, partitions that cross and nest, and both pots."""
    path = folder / "privacy.ledger"
    ledger = sdp.Ledger(path)
    account = ledger.open("crashes", epsilon=2, delta=1e-9, pure=1, neighbours="replace", about="2024")
    ledger.open("unused", epsilon=1)
    states = account.partition("state", ["Iowa", "Ohio"])
    account.partition("month", ["May", "June"])
    states["Ohio"].partition("county", ["Adams", "Butler"])
    receipt = pay(account, 0.1)
    account.released(receipt, {"a.parquet": "0" * 64})
    pay(account.parts("state", ["Iowa", "Ohio"]), 0.1)
    pay(states["Ohio"].part("county", "Adams"), 0.1)
    pay(account.part("month", "May"), Fraction(1, 7))
    account.spend(Cost.zcdp(0.001), neighbours="replace", unit="record", what={})
    ledger.limit("crashes", epsilon=3, pure=2, who="A. Keeper", why="a second year")
    account.partition("month", ["July"])
    account.note({"about": "nothing"})
    return path


def rows(path, query):
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.execute(query))


def test_a_whole_ledger_is_found_whole(path):
    ledger = sdp.Ledger(path)
    checked = ledger.check()
    assert checked.entries == 14
    assert (checked.head.entry, checked.head.hash) == (14, ledger.entries[-1].hash)
    assert checked.spent["crashes"] == ledger.account("crashes").spent
    assert checked.spent["unused"].epsilon == 0
    assert checked.notes == ()
    assert f"14 entries; the last one is 14, {checked.head.hash}" in str(checked)
    assert "Spent from 'crashes': ε = 19/35, ρ = 0.001." in str(checked)


def test_an_empty_ledger_is_whole(folder):
    checked = sdp.Ledger(folder / "new.ledger").check()
    assert (checked.entries, checked.head, str(checked)) == (0, None, "The ledger is whole: 0 entries.")


@pytest.mark.parametrize("seq", range(1, 15))
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET body = replace(body, '\"account\"', '\"Account\"') WHERE seq = {seq}",
        "UPDATE entry SET body = body || ' ' WHERE seq = {seq}",
        "UPDATE entry SET kind = 'notes' WHERE seq = {seq}",
        "UPDATE entry SET prev = hash WHERE seq = {seq}",
        "UPDATE entry SET hash = prev WHERE seq = {seq}",
        "UPDATE entry SET seq = seq + 100 WHERE seq = {seq}",
    ],
)
def test_every_alteration_of_an_entry_breaks_the_chain(path, seq, statement):
    alter(path, statement.format(seq=seq))
    with pytest.raises(LedgerError, match=r"does not follow from the entries before it"):
        sdp.Ledger(path).check()


@pytest.mark.parametrize("seq", range(1, 14))
def test_an_entry_that_is_missing_breaks_the_chain(path, seq):
    alter(path, f"DELETE FROM entry WHERE seq = {seq}")
    with pytest.raises(LedgerError, match="does not follow"):
        sdp.Ledger(path).check()


def test_entries_that_change_places_break_the_chain(path):
    alter(path, *(f"UPDATE entry SET seq = {new} WHERE seq = {old}" for old, new in ((9, 99), (10, 9), (99, 10))))
    with pytest.raises(LedgerError, match="entry 9 does not follow"):
        sdp.Ledger(path).check()


def test_entries_of_another_ledger_do_not_fit(path):
    alter(path, "UPDATE meta SET value = 'ffffffffffffffffffffffffffffffff' WHERE key = 'ledger'")
    with pytest.raises(LedgerError, match="entry 1 does not follow"):
        sdp.Ledger(path).check()


def test_every_alteration_of_a_total_is_found(path):
    keys = [key for (key,) in rows(path, "SELECT key FROM state")]
    assert len(keys) == 14
    kept = path.read_bytes()
    for key in keys:
        for statement in (
            "DELETE FROM state WHERE key = ?",
            "UPDATE state SET value = replace(replace(value, '1', '2'), 'o', 'a') WHERE key = ?",
            "UPDATE state SET value = '[]' WHERE key = ?",
            "UPDATE state SET key = key || 'x' WHERE key = ?",
        ):
            path.write_bytes(kept)
            alter(path, statement, values=(key,))
            with pytest.raises(LedgerError):
                sdp.Ledger(path).check()


def test_a_total_that_is_too_much_is_found(path):
    alter(path, """INSERT INTO state VALUES ('["node","epsilon","other"]', '["1/1","1/1","1/1"]')""")
    with pytest.raises(LedgerError, match="not those of its entries"):
        sdp.Ledger(path).check()


def test_the_last_entry_taken_away_is_found_by_the_totals_or_not_at_all(path):
    """A chain that ends early is a chain; so anchors are needed outside of the ledger."""
    alter(path, "DELETE FROM entry WHERE seq = 14")  # a note
    assert sdp.Ledger(path).check().entries == 13
    alter(path, "DELETE FROM entry WHERE seq = 13")  # a partition
    with pytest.raises(LedgerError, match="not those of its entries"):
        sdp.Ledger(path).check()


FORGED = [
    (3, {"account": "other"}),
    (3, {"at": ["state", "Ohio"]}),
    (3, {"labels": ["Iowa", "Iowa"]}),
    (3, {"labels": 7}),
    (3, {"person_stays": "yes"}),
    (13, {"labels": ["May"]}),
    (13, {"person_stays": True}),
    (6, {"charged": {"epsilon": "-1/10", "rho": "0"}}),
    (6, {"charged": {"epsilon": "1/10"}}),
    (6, {"charged": {"epsilon": "100", "rho": "0"}}),
    (6, {"at": [["state", "Utah"]]}),
    (6, {"at": [["state"]]}),
    (6, {"at": [["other", "Iowa"]]}),
    (6, {"at": 7}),
    (6, {"account": ["crashes"]}),
    (6, {"time": 7}),
    (6, {"time": None}),
    (2, {"account": "crashes"}),
    (2, {"terms": {}}),
    (12, {"account": "other"}),
    (12, {"terms": None}),
]


@pytest.mark.parametrize(("seq", "change"), FORGED, ids=str)
def test_forged_entries_with_a_whole_chain_are_found_by_what_they_say(path, seq, change):
    """Somebody worked out all hashes again; entries still have to follow from those before them."""
    ((body,),) = rows(path, f"SELECT body FROM entry WHERE seq = {seq}")
    alter(path, f"UPDATE entry SET body = ? WHERE seq = {seq}", values=(json.dumps({**json.loads(body), **change}),))
    forge_chain(path)
    with pytest.raises(LedgerError):
        sdp.Ledger(path).check()


@pytest.mark.parametrize("body", ["[]", "7", "{", "[" * 10**5, "{}"])
def test_bodies_of_another_form_are_found(path, body):
    alter(path, "UPDATE entry SET body = ? WHERE seq = 14", values=(body,))
    forge_chain(path)
    with pytest.raises(LedgerError, match="entry 14 does not say"):
        sdp.Ledger(path).check()


def test_a_second_rule_of_a_partition_is_found(folder):
    ledger = sdp.Ledger(folder / "privacy.ledger")
    account = ledger.open("crashes", epsilon=1)
    account.partition("part", ["a"], rule="the column 'state'")
    body = {"account": "crashes", "at": [], "partition": "part", "labels": ["b"], "person_stays": None, "rule": "other"}
    ledger.change(lambda each: record(each, Kind.PARTITION, body))
    with pytest.raises(LedgerError, match="entry 3 does not say"):
        ledger.check()


def test_an_unknown_kind_is_found(path):
    alter(path, "UPDATE entry SET kind = 'refund' WHERE seq = 14")
    forge_chain(path)
    with pytest.raises(LedgerError, match="entry 14 does not say"):
        sdp.Ledger(path).check()


def test_a_limit_below_what_was_spent_is_found(path):
    """A forged limit, with all hashes and totals put right."""
    ((body,),) = rows(path, "SELECT body FROM entry WHERE seq = 12")
    facts = json.loads(body)
    facts["terms"]["pure"] = "1/10"
    alter(path, "UPDATE entry SET body = ? WHERE seq = 12", values=(json.dumps(facts),))
    forge_chain(path)
    with pytest.raises(LedgerError, match="entry 12 does not say"):
        sdp.Ledger(path).check()


def test_an_account_that_spent_more_than_its_limit_is_found(folder):
    """As a ledger leaves it that reads the limit outside of the lock: everything else is in order."""
    ledger = sdp.Ledger(folder / "privacy.ledger")
    account = ledger.open("crashes", epsilon=1)
    cost = Cost.pure(0.6)
    for _ in range(2):
        ledger.change(lambda each: record(each, Kind.SPEND, account._entry(cost, cost.pots, *RECORD.values(), {})))
    with pytest.raises(LedgerError, match="more was spent from the account 'crashes' than its limit"):
        ledger.check()


def test_a_clock_that_went_back_is_told(folder, monkeypatch):
    class Clock(datetime):
        years = iter([2030, 2029, 2028, 2031])

        @classmethod
        def now(cls, zone=None):
            return datetime(next(cls.years), 1, 1, tzinfo=zone)

    ledger = sdp.Ledger(folder / "privacy.ledger")
    with monkeypatch.context() as patch:
        patch.setattr(entries, "datetime", Clock)
        account = ledger.open("crashes", epsilon=2)
        for _ in range(3):
            pay(account, 0.1)
    (note,) = ledger.check().notes
    assert note == "The clock went back before entry 2, 3. The order of entries is their number."
    assert account.spent.epsilon == Fraction(3, 10)


def test_a_clock_that_always_goes_back_is_told_in_short(folder, monkeypatch):
    class Clock(datetime):
        years = iter(range(2500, 2000, -1))

        @classmethod
        def now(cls, zone=None):
            return datetime(next(cls.years), 1, 1, tzinfo=zone)

    monkeypatch.setattr(entries, "datetime", Clock)
    account = sdp.Ledger(folder / "privacy.ledger").open("crashes", epsilon=2)
    for _ in range(15):
        pay(account, 0.1)
    (note,) = sdp.Ledger(folder / "privacy.ledger").check().notes
    assert "10, 11, ..." in note


# --- releases --------------------------------------------------------------------------------------


def release_of(account, epsilon=0.5):
    """A release as mechanisms make it with an account."""
    release = sdp.Flat(shape=(2, 2)).release([[0.1, 0.1]], sdp.Domain((0, 0, 1, 1)), epsilon=epsilon)
    receipt = account.spend(Cost.of(release.privacy), **RECORD, what={})
    return sdp.Release(release.domain, replace(release.privacy, ledger=receipt), release.estimate)


def test_releases_find_the_entries_that_paid_for_them(folder):
    ledger = sdp.Ledger(folder / "privacy.ledger")
    release = release_of(ledger.open("crashes", epsilon=2))
    release.save(folder / "release.parquet")
    release.save(folder / "release.csv")
    paths = [folder / "release.parquet", str(folder / "release.csv")]
    checked = ledger.check(releases=[release, release.privacy, *paths])
    assert checked.releases == 4
    assert "4 releases were paid for by it." in str(checked)
    assert sdp.load(paths[0]).privacy.ledger == release.privacy.ledger


def test_a_rollback_of_everything_is_found_by_the_releases(folder):
    """The content of an older copy, in place: the file is the same one, and there is no witness."""
    path = folder / "privacy.ledger"
    account = sdp.Ledger(path).open("crashes", epsilon=2)
    old = path.read_bytes()
    release = release_of(account)
    path.write_bytes(old)
    ledger = sdp.Ledger(path)
    assert ledger.check().entries == 1
    with pytest.raises(LedgerError, match="was paid for by entry 2, which is missing"):
        ledger.check(releases=[release])
    pay(account, 0.5)
    with pytest.raises(LedgerError, match="entry 2, which is another one now"):
        ledger.check(releases=[release])


def test_a_forged_home_is_found_by_the_releases(folder):
    path, copy = folder / "privacy.ledger", folder / "copy.ledger"
    account = sdp.Ledger(path).open("crashes", epsilon=2)
    shutil.copy(path, copy)
    release = release_of(account)
    os.replace(copy, path)
    with pytest.raises(LedgerError, match="put in the ledger's place"):
        sdp.Ledger(path)
    alter(path, "UPDATE meta SET value = ? WHERE key = 'home'", values=(str(path.stat().st_ino),))
    with pytest.raises(LedgerError, match="is missing"):
        sdp.Ledger(path).check(releases=[release])


def test_releases_of_others_are_told_apart(folder):
    ledger = sdp.Ledger(folder / "privacy.ledger")
    account = ledger.open("crashes", epsilon=2)
    release = release_of(account)
    other = release_of(sdp.Ledger(folder / "other.ledger").open("crashes", epsilon=2))
    opened = replace(release.privacy.ledger, entry=1, hash=account.entries[0].hash)
    for statement, words in (
        (STATEMENT, "was released without an account"),
        (other.privacy, "by another ledger"),
        (replace(release.privacy, epsilon=Fraction(1)), "costs more than entry 2 paid"),
        (replace(release.privacy, neighbours="replace"), "or has other terms"),
        (replace(release.privacy, ledger=opened), "costs more than entry 1 paid, or has other terms"),
    ):
        with pytest.raises(LedgerError, match=words):
            ledger.check(releases=[release, statement])


def test_other_values_are_no_releases(folder):
    ledger = sdp.Ledger(folder / "privacy.ledger")
    with pytest.raises(ParameterError, match="has a int"):
        ledger.check(releases=[7])
    (folder / "x.csv").write_text("x,y\n")
    with pytest.raises(FileFormatError):
        ledger.check(releases=[folder / "x.csv"])
