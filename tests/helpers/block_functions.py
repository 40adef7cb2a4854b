"""Functions of a block's records, well behaved and not, for processes of their own to load."""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

SECRET = "a record"
CALLS = []


def mean_x(table):
    return table[:, 0].mean()


def rows(table):
    return len(table)


def columns(table):
    return table.shape[1]


def loud(table):
    print(SECRET)
    print(SECRET, file=sys.stderr)
    for stream in (1, 2):
        os.write(stream, SECRET.encode())
    subprocess.run(["sh", "-c", f"echo {SECRET}; echo {SECRET} >&2"], check=False)
    return 0.25


def listens(table):
    return float(len(sys.stdin.read()) == 0)


def fails(table):
    raise ValueError(f"{SECRET}: {table}")


def leaves(table):
    os._exit(3)


def hangs(table):
    time.sleep(100)


def odd(table):
    return "0.75"


def remembers(table):
    CALLS.append(len(table))
    return len(CALLS)


class Begins:
    """Begins a process that outlives the function, and notes its id in a file."""

    def __init__(self, path: str, hang: bool) -> None:
        self.path, self.hang = path, hang

    def __call__(self, table):
        child = subprocess.Popen(["sleep", "100"])
        Path(self.path).write_text(str(child.pid))
        if self.hang:
            time.sleep(100)
        return 1.0


class Forges:
    """Writes a number of its own to whatever the process has open, past the process's own check, and ends."""

    def __init__(self, number):
        self.number = number

    def __call__(self, table):
        for stream in range(3, 20):
            with contextlib.suppress(OSError):
                os.write(stream, struct.pack("<d", self.number))
        os._exit(0)
