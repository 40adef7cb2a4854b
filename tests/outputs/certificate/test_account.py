"""Part 3: everything that the account paid for, its parts and its limits, from a ledger that is whole."""

from __future__ import annotations

import re
from unittest import mock

import pytest

import spatialdp as sdp
from spatialdp.errors import LedgerError
from spatialdp.outputs.certificate import account as module
from spatialdp.outputs.certificate.account import account_state
from tests.helpers.certificates import DOMAIN, OWNED, RELEASES, XY, part, text_of
from tests.helpers.ledgers import alter, forge_chain, pay


def facts(text):
    return dict(re.findall(r"^- \*\*(.*?)\*\*: (.*)$", text, re.MULTILINE))


def tables(text):
    """All tables: rows of cells by the name of their column."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines())
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def test_all_releases_of_the_account_are_listed_with_what_was_left(ledger):
    account = ledger.open("crashes", epsilon=2)
    pay(ledger.open("others", epsilon=9), 5, mechanism="not ours")
    pay(account, 0.25, method="by hand")
    release = RELEASES["grid"](account=account)
    pay(account, 0.5)
    limits, releases = tables(part(text_of(release), 3))
    assert [row["what"] for row in releases] == ["by hand", "flat (this release)", ""]
    assert [row["ε"] for row in releases] == ["0.25", "1", "0.5"]
    assert [row["ε left"] for row in releases] == ["1.75", "0.75", "0.25"]
    assert [row["state"] for row in releases] == ["paid", "paid", "paid"]
    assert list(releases[0]) == ["entry", "time (UTC)", "what", "ε", "ε left", "state"]
    assert [row["why"] for row in limits] == ["account opened"]
    assert facts(part(text_of(release), 3))["Spent, ε"] == "1.75, of 2; left is 0.25"


def test_releases_of_which_a_file_was_noted_are_released(ledger, tmp_path):
    account = ledger.open("crashes", epsilon=2)
    release = RELEASES["grid"](account=account)
    release.save(tmp_path / "map.parquet")
    assert tables(part(text_of(release), 3))[1][0]["state"] == "released"


def test_limits_say_who_set_them_and_when_and_why(ledger):
    account = ledger.open("crashes", epsilon=2)
    ledger.limit("crashes", epsilon=3, who="B. Officer", why="winter")
    ledger.limit("crashes", epsilon=4, delta=1e-9, pure=3, who="C. Officer", why="spring")
    limits = tables(part(text_of(RELEASES["grid"](account=account)), 3))[0]
    assert [row["limit"] for row in limits] == ["ε = 2", "ε = 3", "ε = 4, δ = 1e-09"]
    assert [row["who"] for row in limits][1:] == ["B. Officer", "C. Officer"]
    assert [row["why"] for row in limits] == ["account opened", "winter", "spring"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row["time (UTC)"]) for row in limits)
    assert "The limit was changed." in part(text_of(RELEASES["grid"](account=account)), 3)


def test_parts_say_why_they_do_not_add_up(ledger):
    account = ledger.open("crashes", epsilon=2)
    states = account.partition("state", ["Iowa", "Ohio"])
    states["Iowa"].partition("kind", ["fatal", "other"])
    release = RELEASES["grid"](account=states["Ohio"])
    text = part(text_of(release), 3)
    partitions = tables(text)[2]
    assert [row["partition"] for row in partitions] == ["state", "state Iowa kind"]
    assert [row["parts"] for row in partitions] == ["Iowa, Ohio", "fatal, other"]
    assert "do not add up: the largest counts" in text
    assert tables(text)[1][0]["part"] == "state Ohio"


def test_under_replacement_the_two_largest_parts_count(ledger):
    account = ledger.open("crashes", epsilon=4, neighbours="replace")
    states = account.partition("state", ["Iowa", "Ohio"])
    RELEASES["replace"](account=states["Iowa"])
    text = part(text_of(RELEASES["replace"](account=states["Ohio"])), 3)
    assert "the two largest are added" in text
    assert facts(text)["Spent, ε"].startswith("2,")


@pytest.mark.parametrize(
    ("records", "stays", "promise", "why"),
    [
        (None, True, "only releases that protect persons are paid for", "all records of a person are in one part"),
        (3, False, "with at most 3 records in all these data: declared by the curator, not enforced",
         "a person is in at most 3 parts, and each costs that many times as much"),
        (1, True, "with at most 1 record in all", "all records of a person are in one part (declared)"),
    ],
)  # fmt: skip
def test_accounts_of_persons_say_what_is_declared(ledger, records, stays, promise, why):
    account = ledger.open("visits", epsilon=9, unit="person", records=records)
    home = account.partition("home", ["Iowa", "Ohio"], person_stays=stays)["Iowa"]
    release = sdp.Flat((2, 2)).release(OWNED, DOMAIN, epsilon=1, person=sdp.Person(cells=2), account=home)
    text = part(text_of(release), 3)
    assert promise in facts(text)["Promise"]
    assert why in tables(text)[2][0]["why parts are apart"]


def test_two_pots_are_shown_each_by_itself(ledger):
    account = ledger.open("crashes", epsilon=3, delta=1e-6, pure=1)
    RELEASES["grid"](account=account)
    text = part(text_of(RELEASES["gaussian"](account=account)), 3)
    assert facts(text)["Limit"] == "ε = 3 and δ = 1e-06, for everything together"
    assert facts(text)["Spent, ε"] == "1, of 1; left is 0"
    assert "Spent, ρ (zCDP, for Gaussian noise)" in facts(text)
    assert list(tables(text)[1][0]) == ["entry", "time (UTC)", "what", "ε", "ρ", "ε left", "ρ left", "state"]


def test_without_a_ledger_the_page_says_what_it_does_not_know(ledger, tmp_path):
    alone = part(text_of(RELEASES["grid"]()), 3)
    assert "does not know what else was published" in alone
    assert "Sum of their ε and δ: ____" in alone
    paid = RELEASES["grid"](account=ledger.open("crashes", epsilon=2))
    paid.save(tmp_path / "map.parquet")
    loaded = part(text_of(sdp.load(tmp_path / "map.parquet")), 3)
    assert f"Entry {paid.privacy.ledger.entry} of a ledger paid for this release, but the ledger was not at" in loaded
    assert "no account can pay for it" in part(text_of(RELEASES["invariants"]()), 3)


def test_long_accounts_are_cut_and_say_so(ledger):
    account = ledger.open("crashes", epsilon=20)
    for number in range(4):
        pay(account, 0.5, mechanism=f"step-{number}")
        ledger.limit("crashes", epsilon=21 + number, who="B", why=f"because {number}")
    parts = account.partition("zone", [f"z{number}" for number in range(60)])
    release = RELEASES["grid"](account=parts["z7"])
    account.partition("kind", ["fatal", "other"])
    with mock.patch.multiple(module, _MOST_RELEASES=3, _MOST_LIMITS=2, _MOST_PARTITIONS=1):
        text = part(text_of(release), 3)
    assert "1 more partitions are left out here" in text
    limits, releases, partitions = tables(text)
    assert [row["what"] for row in releases] == ["step-2", "step-3", "flat (this release)"]
    assert [row["why"] for row in limits] == ["account opened", "because 2", "because 3"]
    assert "2 earlier entries are left out here" in text
    assert "2 earlier changes are left out here" in text
    assert partitions[0]["parts"].endswith("z49 and 10 more")


def test_steps_without_a_name_show_their_facts(ledger):
    account = ledger.open("crashes", epsilon=2)
    pay(account, 0.25, question="how many", boxes=3)
    pay(account, 0.25, mechanism={"name": "odd"})
    pay(account, 0.25, prepaid="odd")
    found = tables(part(text_of(RELEASES["grid"](account=account)), 3))[1]
    assert found[0]["what"] == "boxes: 3; question: how many"
    assert found[1]["what"] == "mechanism: name: odd"
    assert found[2]["what"] == "prepaid:"


def test_a_ledger_that_was_altered_makes_no_certificate(ledger, folder):
    account = ledger.open("crashes", epsilon=2)
    release = RELEASES["grid"](account=account)
    alter(folder / "privacy.ledger", "UPDATE entry SET body = replace(body, '\"1\"', '\"1/2\"') WHERE seq = 2")
    with pytest.raises(LedgerError, match="does not follow from the entries before it"):
        text_of(release)
    forge_chain(folder / "privacy.ledger")
    with pytest.raises(LedgerError):
        text_of(release)


def test_the_state_is_that_of_one_moment(ledger):
    account = ledger.open("crashes", epsilon=2)
    release = RELEASES["grid"](account=account)
    state = account_state(ledger, release.privacy)
    pay(account, 0.5)
    assert state.spent.epsilon == 1
    assert state.checked.head.entry == 2
    assert account_state(ledger, release.privacy).spent.epsilon == 1.5


def test_releases_from_a_prepaid_amount_are_those_of_its_entry(ledger):
    account = ledger.open("crashes", epsilon=2)
    prepaid = account.prepay(sdp.Cost.pure(1), neighbours="add-remove", unit="record", what={"method": "two maps"})
    with prepaid:
        release = sdp.Flat((2, 2)).release(XY, DOMAIN, epsilon=0.5, account=prepaid)
    (row,) = tables(part(text_of(release), 3))[1]
    assert (row["what"], row["ε"]) == ("prepaid: two maps (this release)", "1")
