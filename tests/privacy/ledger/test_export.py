"""Exports: one line for each entry, what was left after it, and a chain that anybody can check."""

from __future__ import annotations

import csv
import hashlib
import html.parser
import json
from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp import Cost
from spatialdp.errors import LedgerError, ParameterError
from spatialdp.privacy.ledger.entries import first_hash
from spatialdp.privacy.ledger.export import COLUMNS
from tests.helpers.ledgers import RECORD, alter, pay


@pytest.fixture
def told(ledger):
    """A ledger with something to tell."""
    account = ledger.open("=crashes", epsilon=2, delta=1e-9, pure=1)
    account.partition("state", ["Iowa", "<b>Ohio</b>"])
    receipt = pay(account.part("state", "Iowa"), Fraction(1, 3), mechanism="flat")
    account.released(receipt, {"a.parquet": "0" * 64})
    pay(account.parts("state", ["Iowa", "<b>Ohio</b>"]), 0.1)
    account.spend(Cost.zcdp(0.001), **RECORD, what={})
    ledger.limit("=crashes", epsilon=3, pure=2, who="A. Keeper", why="a second year")
    return ledger


def table(told, folder):
    told.export(folder / "ledger.csv")
    with open(folder / "ledger.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_has_a_line_for_each_entry(told, folder):
    lines = table(told, folder)
    assert list(lines[0]) == list(COLUMNS)
    assert [line["entry"] for line in lines] == [str(number) for number in range(1, 8)]
    assert [line["kind"] for line in lines] == ["open", "partition", "spend", "released", "spend", "spend", "limit"]
    assert [line["state"] for line in lines] == ["", "", "released", "", "paid", "paid", ""]
    assert [line["part"] for line in lines[2:5:2]] == ["state Iowa", "state Iowa; state <b>Ohio</b>"]


def test_costs_are_exact_and_rounded_up_and_what_is_left_is_rounded_down(told, folder):
    first, _, second = table(told, folder)[2:5]
    assert (first["epsilon"], first["epsilon_rounded_up"], first["epsilon_left"]) == ("1/3", "0.333334", "0.666666")
    assert second["epsilon_left"] == "0.566666"
    gaussian, limit = table_again(told, folder)[5:]
    assert gaussian["rho"] == "1/1000"
    assert float(gaussian["rho_left"]) < float(told.account("=crashes").limit.rho)
    assert limit["epsilon_left"] == "1.56666"


def table_again(told, folder):
    (folder / "ledger.csv").unlink()
    return table(told, folder)


def test_spreadsheets_see_no_formulas(told, folder):
    assert {line["account"] for line in table(told, folder)} == {"'=crashes"}


def test_json_lines_prove_the_chain_by_themselves(told, folder):
    told.export(folder / "ledger.jsonl")
    prev = first_hash(told.id)
    for number, line in enumerate((folder / "ledger.jsonl").read_text().splitlines(), 1):
        entry = json.loads(line)
        text = f"{entry['seq']}\n{prev}\n{entry['kind']}\n{entry['body']}"
        assert entry["seq"] == number
        assert entry["prev"] == prev
        assert entry["hash"] == hashlib.sha256(text.encode()).hexdigest()
        prev = entry["hash"]
    assert prev == told.check().head.hash


def test_a_page_shows_every_entry_and_runs_nothing(told, folder):
    told.export(folder / "ledger.html")
    page = (folder / "ledger.html").read_text()

    class Tags(html.parser.HTMLParser):
        found: list[str] = []  # noqa: RUF012 - of this one test

        def handle_starttag(self, tag, attrs):
            self.found.append(tag)
            assert not {"src", "href", "onclick"} & {name for name, _ in attrs}

    Tags().feed(page)
    assert Tags.found.count("tr") == 8
    assert not {"script", "link", "img", "b"} & set(Tags.found)
    assert "The ledger is whole: 7 entries" in page
    assert "&lt;b&gt;Ohio&lt;/b&gt;" in page


def test_other_formats_are_named(told, folder):
    with pytest.raises(ParameterError, match=r"\.csv, \.jsonl, \.html"):
        told.export(folder / "ledger.xlsx")


def test_files_are_replaced_on_request_alone(told, folder):
    told.export(folder / "ledger.csv")
    with pytest.raises(FileExistsError):
        told.export(folder / "ledger.csv")
    told.export(folder / "ledger.csv", overwrite=True)


def test_a_ledger_that_is_not_whole_is_not_exported(told, folder):
    alter(folder / "privacy.ledger", "UPDATE entry SET body = '{}' WHERE seq = 3")
    with pytest.raises(LedgerError):
        told.export(folder / "ledger.csv")
    assert not (folder / "ledger.csv").exists()


def test_entries_about_the_whole_ledger_have_no_account(told, folder):
    sdp.Ledger.adopt(folder / "privacy.ledger", who="A. Keeper", why="restored")
    assert (table(told, folder)[-1]["kind"], table_again(told, folder)[-1]["account"]) == ("adopted", "")


def test_an_empty_ledger_is_exported(folder):
    sdp.Ledger(folder / "new.ledger").export(folder / "new.csv")
    assert (folder / "new.csv").read_text() == ",".join(COLUMNS) + "\n"
