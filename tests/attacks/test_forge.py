"""Forged releases: each behaves or is refused with one error of ours, in little memory, whatever is done with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attacks.forge import MEGABYTES, SECONDS

ROOT = Path(__file__).parents[2]
PARTS = 4


def check(first, count, folder):
    """Forge in another process, which must come back."""
    command = [sys.executable, "-m", "tests.attacks.forge", str(first), str(count), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300 + SECONDS * count, check=False)
    number = folder / "number"
    last = number.read_text() if number.exists() else "none"
    assert done.returncode == 0, f"forgery {last} ended the process ({done.returncode}): {done.stderr[-2000:]}"
    found = json.loads(done.stdout)
    assert not found["wrong"], "not an error of ours, or a number that is none"
    assert not found["seen"], "things that a reader of files does not do"
    assert found["megabytes"] < MEGABYTES, found["peaks"]
    assert sum(found["results"].values()) == count
    return found["results"]


@pytest.mark.unmeasured
@pytest.mark.parametrize("part", range(2))
def test_forged_releases_behave_or_are_refused(part, tmp_path):
    """Enough to have a forgery of every kind."""
    results = check(50 * part, 30, tmp_path)
    assert set(results) == {"behaves", "FileFormatError"}


@pytest.mark.audit
@pytest.mark.parametrize("part", range(PARTS))
def test_many_forged_releases_behave_or_are_refused(part, tmp_path):
    """2,500 forgeries."""
    check(1000 + 625 * part, 625, tmp_path)


def test_harm_would_be_seen(tmp_path):
    """The same process with a release that misbehaves: errors of others, and numbers that are none."""
    code = (
        "import json, pathlib, sys; import numpy as np; from tests.attacks import forge\n"
        "from spatialdp.release import Release\n"
        "answer, outcome = Release.answer, forge._outcome\n"
        "def harmed(path, folder):\n"
        "    odd = int((folder / 'number').read_text().split(',')[0]) % 2\n"
        "    Release.answer = (lambda *_, **__: np.full(3, np.nan)) if odd else (lambda *_, **__: {}['not ours'])\n"
        "    try: return outcome(path, folder)\n"
        "    finally: Release.answer = answer\n"
        "forge.FORGERIES, forge._outcome = (forge.numbers,), harmed\n"
        "forge.told = lambda path: None\n"
        "print(json.dumps(forge.run(0, 30, pathlib.Path(sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    wrong = " ".join(json.loads(done.stdout)["wrong"])
    assert "a number is not finite" in wrong
    assert "KeyError" in wrong
