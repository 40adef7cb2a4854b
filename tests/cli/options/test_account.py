"""Options that let an account of a ledger pay."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest

import spatialdp as sdp
from spatialdp.cli.options.account import Payer
from spatialdp.cli.options.points import PointsFile
from spatialdp.errors import LedgerError
from spatialdp.records.points import Points
from tests.helpers.commands import command, refused, run
from tests.helpers.zone_cases import FRAMES

PAYING = {"ledger": "privacy.ledger", "account": "crashes"}


@pytest.fixture
def account(place):
    return sdp.Ledger("privacy.ledger").open("crashes", epsilon=2)


def test_a_release_is_paid_for_and_says_so(account):
    told = run(*command(**PAYING, epsilon="0.5")).stderr
    assert "ledger   crashes, ε: 0.5 spent, 1.5 left, limit 2" in told
    release = sdp.load("out.parquet")
    assert release.privacy.ledger.hash == account.entries[1].hash
    assert [entry.kind for entry in account.entries] == ["open", "spend", "released"]


def test_without_a_ledger_one_line_says_that_nothing_is_recorded(place):
    told = run(*command()).stderr
    assert told.count("ledger   none: nothing records what was spent on these records; see --ledger") == 1


def test_a_refused_spend_reads_no_record_and_writes_nothing(account):
    with mock.patch.object(PointsFile, "read") as read:
        assert "only 2 is left" in refused(command(**PAYING, epsilon="3"))
    assert not read.called
    assert len(account.entries) == 1


def test_all_files_of_a_release_are_noted_in_one_entry(account):
    run(*command(**PAYING), "-o", "out.csv")
    assert set(account.entries[-1].facts["files"]) == {"out.parquet", "out.csv", "out.privacy.json"}


def test_a_ledger_that_cannot_note_the_files_is_told(account, place, monkeypatch):
    """The files are there, so the exit code is not that of wrong input."""

    def fail(*_):
        raise LedgerError("the disk is full.")

    monkeypatch.setattr(sdp.Account, "released", fail)
    told = run(*command(**PAYING), code=1).stderr
    assert (
        "out.parquet is written, and was paid for, but the ledger has not noted its digest: the disk is full." in told
    )
    assert sdp.load("out.parquet").privacy.ledger.entry == 2


def test_files_of_one_name_are_noted_apart(account, place):
    (place / "folder").mkdir()
    run(*command(**PAYING), "-o", "folder/out.parquet")
    assert list(account.entries[-1].facts["files"]) == ["out.parquet", "out.parquet (2)"]


def test_a_failure_before_noise_costs_nothing(account, monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(Points, "_kept", fail)
    monkeypatch.setattr("spatialdp.mechanisms.recipe.count_cells", fail)
    refused(command(**PAYING), code=1)
    assert len(account.entries) == 1


def test_a_ledger_that_is_missing_is_not_made(place):
    told = refused(command(**PAYING))
    assert "there is no ledger privacy.ledger" in told
    assert "privacy.ledger" not in os.listdir()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"ledger": "privacy.ledger"}, "--ledger was given without --account"),
        ({"account": "crashes"}, "--account was given without --ledger"),
        ({"witness": "witness"}, "--witness was given without --ledger"),
        ({**PAYING, "account": "visits"}, "no account 'visits'"),
        ({**PAYING, "neighbours": "replace"}, "--neighbours add-remove"),
        ({**PAYING, "o": "privacy.ledger.parquet"}, None),
    ],
)
def test_options_that_do_not_fit_are_named(account, given, told):
    words = command(**given)
    if told is None:
        run(*words)
    else:
        assert told in refused(words)
        assert len(account.entries) == 1


@pytest.mark.parametrize("name", ["seed", "true medians"])
def test_only_private_releases_are_paid_for(account, name):
    more = ["--seed=1"] if name == "seed" else ["--median=true"]
    method = {} if name == "seed" else {"method": "kd-tree"}
    told = refused([*command(**PAYING, **method), *more, "--not-private"])
    assert "no account pays for it" in told
    assert "leave --ledger out" in told


def test_the_ledger_and_its_witness_are_never_replaced(place):
    sdp.Ledger("privacy.parquet", witness="witness.parquet").open("crashes", epsilon=2)
    paying = {"ledger": "privacy.parquet", "account": "crashes", "witness": "witness.parquet"}
    for output in ("privacy.parquet", "witness.parquet"):
        assert "would replace the input" in refused([*command(**paying, o=output), "--force"])


def test_a_witness_is_asked(account, place):
    run(*command(**PAYING, witness="witness", o="one.parquet"))
    old = (place / "privacy.ledger").read_bytes()
    run(*command(**PAYING, witness="witness", o="two.parquet", epsilon="0.5"))
    with (place / "privacy.ledger").open("r+b") as file:  # the old content in place
        file.write(old)
        file.truncate()
    assert "witness" in refused(command(**PAYING, witness="witness", o="three.parquet", epsilon="0.5"))


def test_zones_and_tables_are_paid_for(account, place):
    zones = FRAMES["regular"]
    codes = [code for code in zones.codes if len(code) == 3]
    (place / "codes.csv").write_text("\n".join(["tract", *codes, *codes]) + "\n")
    (place / "zones.csv").write_text("\n".join(["state,county,tract", *(f"{c[0]},{c[:2]},{c}" for c in codes)]) + "\n")
    given = ["--zones=zones.csv", "--levels=state,county,tract", "--code-column=tract", "--epsilon=0.5"]
    run("release", "codes.csv", *given, "--ledger=privacy.ledger", "--account=crashes", "-o", "zones.parquet")
    assert sdp.load("zones.parquet").privacy.ledger.entry == 2


def test_the_address_of_a_database_is_no_file():
    payer = Payer("postgresql://ann@host/privacy", "crashes", Path("witness"))
    assert payer.files == (Path("witness"),)
    assert Payer(None, None, None).files == ()
    assert Payer(None, None, None).find() is None
