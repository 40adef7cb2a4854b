"""Ledgers of tests lie in memory if the system has such a folder."""

from __future__ import annotations

from tests.privacy.ledger.conftest import folder, ledger

__all__ = ["folder", "ledger"]
