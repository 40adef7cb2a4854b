"""The witness: a ledger that was rolled back is refused, and one that is ahead of its witness is not."""

from __future__ import annotations

import shutil

import pytest

import spatialdp as sdp
from spatialdp.errors import LedgerError
from spatialdp.privacy.ledger.stores import witness as witnesses
from tests.helpers.ledgers import pay


@pytest.fixture
def watched(folder):
    """A ledger with a witness, an account and one spend."""
    ledger = sdp.Ledger(folder / "privacy.ledger", witness=folder / "witness.json")
    pay(ledger.open("crashes", epsilon=2), 0.5)
    return ledger


def test_a_ledger_and_its_witness_agree(watched, folder):
    again = sdp.Ledger(folder / "privacy.ledger", witness=folder / "witness.json")
    assert again.check().entries == 2
    assert (folder / "witness.json").stat().st_mode & 0o777 == 0o600


def test_a_ledger_that_was_rolled_back_in_place_is_refused(watched, folder):
    """With the content of an older copy, written in place so that the file is the same one."""
    old = (folder / "privacy.ledger").read_bytes()
    account = watched.account("crashes")
    pay(account, 0.5)
    (folder / "privacy.ledger").write_bytes(old)
    sdp.Ledger(folder / "privacy.ledger")  # without its witness, the ledger cannot know
    with pytest.raises(LedgerError, match="rolled back"):
        sdp.Ledger(folder / "privacy.ledger", witness=folder / "witness.json")
    with pytest.raises(LedgerError, match="rolled back"):
        pay(account, 0.5)


def test_another_history_of_the_same_length_is_refused(watched, folder):
    old = (folder / "privacy.ledger").read_bytes()
    pay(watched.account("crashes"), 0.5)
    (folder / "privacy.ledger").write_bytes(old)
    pay(sdp.Ledger(folder / "privacy.ledger").account("crashes"), 0.25)
    with pytest.raises(LedgerError, match="rolled back"):
        watched.account("crashes")


def test_a_ledger_ahead_of_its_witness_is_fine(watched, folder):
    """A process was stopped before it wrote the witness, or did not know of it."""
    pay(sdp.Ledger(folder / "privacy.ledger").account("crashes"), 0.25)
    (note,) = watched.check().notes
    assert "1 entry behind" in note
    pay(watched.account("crashes"), 0.25)
    assert watched.check().notes == ()


def test_a_witness_is_made_for_a_ledger_that_has_none(folder):
    pay(sdp.Ledger(folder / "privacy.ledger").open("crashes", epsilon=2), 1)
    ledger = sdp.Ledger(folder / "privacy.ledger", witness=folder / "new.json")
    assert ledger.check().notes == ("The witness is 2 entries behind; the next spend brings it up to date.",)
    pay(ledger.account("crashes"), 1)
    assert ledger.check().notes == ()


def test_an_empty_ledger_has_nothing_to_remember(folder):
    ledger = sdp.Ledger(folder / "privacy.ledger", witness=folder / "witness.json")
    assert ledger.check().head is None
    ledger.change(lambda _: None)
    assert not (folder / "witness.json").exists()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"id":"x","entry":1,"hash":"y"}'])
def test_other_files_are_no_witness(watched, folder, content):
    (folder / "witness.json").write_bytes(content)
    with pytest.raises(LedgerError, match="cannot be read as the witness"):
        watched.account("crashes")


def test_the_witness_of_another_ledger_is_refused(watched, folder):
    with pytest.raises(LedgerError, match="witness of another ledger"):
        sdp.Ledger(folder / "other.ledger", witness=folder / "witness.json")


def test_a_witness_that_cannot_be_written_stops_the_release(watched, folder, monkeypatch):
    """What was spent stays spent, and no receipt is given: no noise is drawn."""

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(witnesses, "write_all", full)
    with pytest.raises(LedgerError, match="No space left on device"):
        pay(watched.account("crashes"), 0.5)
    monkeypatch.undo()
    assert watched.account("crashes").spent.epsilon == 1


def test_adopting_a_copy_needs_the_witness_to_agree(watched, folder):
    shutil.copy(folder / "privacy.ledger", folder / "old.ledger")
    pay(watched.account("crashes"), 0.5)
    shutil.copy(folder / "privacy.ledger", folder / "new.ledger")
    who = {"who": "A. Keeper", "why": "moved to another disk"}
    with pytest.raises(LedgerError, match="rolled back"):
        sdp.Ledger.adopt(folder / "old.ledger", witness=folder / "witness.json", **who)
    assert sdp.Ledger(folder / "privacy.ledger").check().entries == 3
    adopted = sdp.Ledger.adopt(folder / "new.ledger", witness=folder / "witness.json", **who)
    assert adopted.account("crashes").spent.epsilon == 1
    assert adopted.entries[-1].facts["why"] == "moved to another disk"
