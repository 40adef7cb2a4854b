"""`spatialdp ledger check`: whole or not, and which releases it paid for."""

from __future__ import annotations

import json
import shutil

import spatialdp as sdp
from tests.helpers.commands import command, refused, run

CHECK = ("ledger", "check", "privacy.ledger")


def test_releases_are_compared_with_their_entries(account, paying):
    run(*command(**paying))
    told = run(*CHECK, "out.parquet").stdout
    assert "The ledger is whole: 3 entries" in told
    assert "1 release was paid for by it." in told
    facts = json.loads(run(*CHECK, "out.parquet", "--json").stdout)
    assert (facts["whole"], facts["entries"], facts["releases"]) == (True, 3, 1)
    assert facts["spent"] == {"crashes": {"epsilon": "1", "rho": "0"}}
    assert facts["head"]["entry"] == 3


def test_a_release_that_another_ledger_paid_for_is_told(account, paying):
    run(*command(**paying))
    sdp.Ledger("other.ledger")
    assert "out.parquet" in refused(["ledger", "check", "other.ledger", "out.parquet"])
    assert json.loads(run("ledger", "check", "other.ledger", "--json").stdout)["head"] is None


def test_a_copy_is_told(account, place):
    shutil.copy("privacy.ledger", "copy.ledger")
    assert "ledger adopt" in refused(["ledger", "check", "copy.ledger"])
