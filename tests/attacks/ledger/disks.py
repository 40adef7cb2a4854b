"""A disk that can lose its power or be full, for processes that are started with `disk.c` before their C library."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("disk.c")

# Pays for steps of 1/1000 each; says so once each is acknowledged, or refused, and waits for a line in between.
SPENDER = """
import sys
import spatialdp as sdp
from spatialdp.privacy.ledger.stores import sqlite
ledger, synchronous = sys.argv[1:]
sqlite._SETTINGS["synchronous"] = int(synchronous)
account = sdp.Ledger(ledger).open("crashes", epsilon=10)
print("ready", flush=True)
for _ in sys.stdin:
    try:
        account.spend(sdp.Cost.pure(0.001), neighbours="add-remove", unit="record", what={})
    except sdp.SpatialDPError as error:
        print(type(error).__name__, flush=True)
    else:
        print("paid", flush=True)
"""


class Disk:
    """A folder for a ledger, and what a power cut would leave of it."""

    def __init__(self, folder: Path) -> None:
        self.ledger = folder / "disk" / "privacy.ledger"
        self.synced = folder / "synced"
        self.library = folder / "disk.so"
        for made in (self.ledger.parent, self.synced):
            made.mkdir()
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None or not sys.platform.startswith("linux"):
            pytest.skip("needs Linux and a C compiler")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self.library, SOURCE, "-ldl"], check=True)

    def after_a_power_cut(self, folder: Path) -> Path:
        """Lay out in a folder what was synced: names as of the last sync of the folder, contents as of each file's."""
        folder.mkdir()
        names = (self.synced / f"folder.{self.ledger.parent.stat().st_ino}").read_text().splitlines()
        for inode, name in (line.split(" ", 1) for line in names):
            content = self.synced / f"inode.{inode}"
            (folder / name).write_bytes(content.read_bytes() if content.exists() else b"")
        return folder / self.ledger.name

    def fill(self) -> None:
        """From now on, nothing can be written."""
        (self.synced / "full").touch()

    def free(self) -> None:
        """There is space again."""
        (self.synced / "full").unlink()


class Spender:
    """A process that pays from an account whenever it is told to."""

    def __init__(self, disk: Disk, synchronous: int = 3) -> None:
        settings = {"LD_PRELOAD": str(disk.library), "DISK": str(disk.synced)}
        words = [sys.executable, "-c", SPENDER, str(disk.ledger), str(synchronous)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=os.environ | settings)
        assert self._answer() == "ready"

    def __enter__(self) -> Spender:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def pay(self) -> str:
        """Pay once; return "paid", or the name of the error."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()
