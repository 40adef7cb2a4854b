"""`spatialdp ledger show`: what an officer reads, and what a program reads."""

from __future__ import annotations

import json

import pytest

import spatialdp as sdp
from tests.helpers.commands import command, refused, run
from tests.helpers.ledgers import alter, pay

SHOW = ("ledger", "show", "privacy.ledger")


@pytest.fixture
def told(account, paying):
    """A ledger with a saved release, a spend of which no more is known, a part, a note, and another account."""
    run(*command(**paying, epsilon="1/3"))
    pay(account.partition("state", ["Iowa", "Ohio"])["Ohio"], 0.5, ask="count")
    account.note({"about": "a review"})
    sdp.Ledger("privacy.ledger").limit("crashes", epsilon=3, who="A. Officer", why="a new year")
    mixed = sdp.Ledger("privacy.ledger").open("visits", epsilon=2, delta=1e-9, pure=1)
    prepared = sdp.Flat((2, 2), law="gaussian").prepare(sdp.Domain((0, 0, 1, 1)), epsilon=0.1, delta=1e-9)
    prepared.release([], account=mixed)


def test_each_entry_has_a_line(told):
    text = run(*SHOW).stdout
    lines = [line for line in text.splitlines() if line[:2].strip().isdecimal()]
    assert [int(line[:2]) for line in lines] == list(range(1, 10))
    assert "limit ε 2, police records, 2024" in lines[0]
    assert "released" in lines[1]
    assert "ε 1/3 (at most 0.333334), left ε 1.66666: quadtree budget geometric, consistent true, height 3" in lines[1]
    assert "saved " in lines[2]
    assert "entry 2: out.parquet " in lines[2]
    assert "crashes, state Ohio  paid, no file noted  ε 1/2 (at most 0.5), left ε 1.16666: ask count" in lines[4]
    assert "a review" in lines[5]
    assert "limit ε 3, who 'A. Officer', why 'a new year'" in lines[6]
    assert "limit ε 2, δ 1/1000000000" in lines[7]
    assert "ρ at most 0.00" in lines[8]
    assert "crashes: ε: 5/6 spent, 13/6 left, limit 3; add-remove one record" in text
    assert "\nThe ledger is whole: 9 entries; the last one is 9, " in text


def test_one_account_is_shown_alone(told):
    text = run(*SHOW, "--account=visits").stdout
    assert "crashes" not in text
    assert "visits: ε: 0 spent" in text
    assert "no account 'trips'" in refused([*SHOW, "--account=trips"])


def test_programs_get_the_same(told):
    facts = json.loads(run(*SHOW, "--json").stdout)
    assert facts["whole"]
    assert facts["ledger"] == sdp.Ledger("privacy.ledger").id
    assert facts["accounts"]["crashes"]["spent"] == {"epsilon": "5/6", "rho": "0"}
    assert facts["accounts"]["crashes"]["left"] == {"epsilon": "13/6", "rho": "0"}
    assert [entry["kind"] for entry in facts["entries"]][:3] == ["open", "spend", "released"]
    assert facts["entries"][1]["facts"]["what"]["mechanism"] == "quadtree"


def test_long_entries_are_shown(account):
    account.partition("county", [f"county number {number}" for number in range(500)])
    assert "county number 17" in run(*SHOW).stdout
    facts = json.loads(run(*SHOW, "--json").stdout)
    assert len(facts["entries"][-1]["facts"]["labels"]) == 500


def test_an_empty_ledger_is_shown(place):
    sdp.Ledger("privacy.ledger")
    assert "The ledger is whole: 0 entries." in run(*SHOW).stdout


def test_a_ledger_that_is_not_whole_is_told(told, place):
    alter(place / "privacy.ledger", "UPDATE entry SET body = replace(body, '1/3', '1/4') WHERE seq = 2")
    assert "entry 2 does not follow" in refused(list(SHOW))


def test_a_ledger_that_is_missing_is_not_made(place):
    assert "there is no ledger privacy.ledger" in refused(list(SHOW))
