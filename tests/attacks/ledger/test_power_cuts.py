"""No spend that was acknowledged is lost in a power cut, and none is acknowledged that a full disk did not take."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.privacy.ledger.entries import Kind
from tests.attacks.ledger.disks import Disk, Spender

SPENDS = 30
EXTRA, FULL = 3, 2  # of SQLite's setting `synchronous`; FULL is what sqlite3.connect gives


def spends(path):
    """How many spends a ledger holds that was laid out anew."""
    ledger = sdp.Ledger.adopt(path, who="the tests", why="power was cut")
    return sum(entry.kind == Kind.SPEND for entry in ledger.entries)


def lost(tmp_path, synchronous):
    """How many of the spends would each be missing if power were cut just after it was acknowledged."""
    disk, missing = Disk(tmp_path), 0
    with Spender(disk, synchronous) as spender:
        for number in range(1, SPENDS + 1):
            assert spender.pay() == "paid"
            missing += spends(disk.after_a_power_cut(tmp_path / str(number))) < number
    return missing


def test_no_acknowledged_spend_is_lost_in_a_power_cut(tmp_path):
    assert lost(tmp_path, EXTRA) == 0


def test_with_sqlites_own_setting_spends_would_be_lost(tmp_path):
    """So the test can fail: the journal that was unlinked comes back, and rolls each spend back."""
    assert lost(tmp_path, FULL) == SPENDS


def test_a_full_disk_acknowledges_nothing(tmp_path):
    disk = Disk(tmp_path)
    with Spender(disk) as spender:
        assert [spender.pay() for _ in range(3)] == ["paid"] * 3
        disk.fill()
        assert [spender.pay() for _ in range(60)] == ["LedgerError"] * 60
        disk.free()
        assert [spender.pay() for _ in range(3)] == ["paid"] * 3
    account = sdp.Ledger(disk.ledger).account("crashes")
    assert float(account.spent.epsilon) == pytest.approx(6 / 1000)
    assert len([entry for entry in account.entries if entry.kind == Kind.SPEND]) == 6
