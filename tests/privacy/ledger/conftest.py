"""Where tests keep ledgers: in memory if the system has such a folder, because a disk takes long to be sure."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

import spatialdp as sdp

MEMORY = Path("/dev/shm")


@pytest.fixture
def folder():
    """A folder of the test's own."""
    place = Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    yield place
    shutil.rmtree(place)


@pytest.fixture
def ledger(folder):
    """An empty ledger."""
    return sdp.Ledger(folder / "privacy.ledger")
