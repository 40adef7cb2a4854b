"""`spatialdp ledger export`: all entries in a file."""

from __future__ import annotations

import pytest

from tests.helpers.commands import refused, run


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "html"])
def test_entries_are_written(account, place, suffix):
    run("ledger", "export", "privacy.ledger", "-o", f"ledger.{suffix}")
    assert "police records" in (place / f"ledger.{suffix}").read_text()
    assert "--force" in refused(["ledger", "export", "privacy.ledger", "-o", f"ledger.{suffix}"])
    run("ledger", "export", "privacy.ledger", "-o", f"ledger.{suffix}", "--force")


def test_the_ledger_is_never_replaced(place):
    run("ledger", "open", "privacy.csv", "--account=crashes", "--epsilon=2")
    assert "would replace" in refused(["ledger", "export", "privacy.csv", "-o", "privacy.csv", "--force"])
