"""Files are there completely or not at all, at whichever line writing is killed."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spatialdp._support import atomic

ROOT = Path(__file__).parent.parent.parent
# Ways to write: with a name from the start or without one, where nothing is yet or over what there is.
WAYS = [
    f"{how}{named}{overwrite}"
    for how in ("all", "whole")
    for named in (("", "-named") if how == "all" else ("",))
    for overwrite in ("", "-overwrite")
]


def moments(way, folder, names, old=()):
    """What the names hold when writing them is killed at each of its lines, first to last."""
    given = folder / "given"
    given.mkdir()
    for name in old:
        (given / name).write_bytes(b"old")
    command = [sys.executable, "-m", "tests.attacks.killed", way, str(given), *names]
    found = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    assert len(found) > 10
    assert found[-1] == {"held": ["new"] * len(names), "others": [], "done": True}
    for moment in found:  # a whole copy under a hidden name is all else that can be left
        assert all(other.startswith(".") and other.endswith(".partial") for other in moment["others"])
    return found


def stages(found):
    """What the names hold, each state once, in the order in which they come about."""
    return [list(state) for state, _ in itertools.groupby(tuple(moment["held"]) for moment in found)]


@pytest.mark.parametrize(("way", "old"), [(way, old) for way in WAYS for old in (False, True)[: 1 + ("over" in way)]])
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(way, old, tmp_path):
    found = moments(way, tmp_path, ["map.gpkg"], ["map.gpkg"] if old else [])
    assert stages(found) == [["old" if old else "none"], ["new"]]
    if way == "all" and hasattr(os, "O_TMPFILE"):
        assert not any(moment["others"] for moment in found)
    # Not only at the very beginning or end: the new file is there some lines before all is done.
    assert sum(moment["held"] == ["new"] for moment in found) > 3


@pytest.mark.parametrize("old", [(), ("map.privacy.json", "map.csv")], ids=["nothing", "old"])
def test_a_kill_between_two_files_leaves_the_statement_first(old, tmp_path):
    before = "old" if old else "none"
    found = moments("all-overwrite", tmp_path, ["map.privacy.json", "map.csv"], old)
    assert stages(found) == [[before, before], ["new", before], ["new", "new"]]


@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("old", [True, False])
def test_private_files_are_for_their_owner(nameless, old, tmp_path, monkeypatch):
    """Whatever the mask allows, and whatever the mode of a file that is replaced."""
    if not nameless:
        monkeypatch.setattr(atomic, "_nameless", lambda folder, mode: None)
    path, mask = tmp_path / "errors.csv", os.umask(0)
    try:
        if old:
            path.write_bytes(b"old")
        atomic.write_all({path: b"new"}, overwrite=old, private=True)
        assert path.stat().st_mode & 0o777 == 0o600
        atomic.write_all({path: b"public"}, overwrite=True)
        assert path.stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(mask)
