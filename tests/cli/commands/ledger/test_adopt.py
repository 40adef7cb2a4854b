"""`spatialdp ledger adopt`: a copy becomes the ledger."""

from __future__ import annotations

import shutil

import spatialdp as sdp
from tests.helpers.commands import refused, run


def test_a_copy_is_adopted(account):
    shutil.copy("privacy.ledger", "moved.ledger")
    assert "copy" in refused(["ledger", "show", "moved.ledger"])
    told = run("ledger", "adopt", "moved.ledger", "--who=A. Officer", "--why=a new server").stdout
    assert "The ledger is whole: 2 entries" in told
    assert sdp.Ledger("moved.ledger").entries[-1].kind == "adopted"


def test_a_file_that_is_no_ledger_is_not_adopted(place):
    (place / "text.ledger").write_text("no ledger")
    assert "ledger" in refused(["ledger", "adopt", "text.ledger", "--who=A. Officer", "--why=no reason"])
    refused(["ledger", "adopt", "none.ledger", "--who=A. Officer", "--why=no reason"])
