"""Functions in processes of their own: what fails, speaks, hangs or goes on reaches nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from spatialdp.curator.aggregate import processes, worker
from spatialdp.curator.aggregate.processes import check_function, results
from spatialdp.errors import ParameterError
from tests.helpers import block_functions as functions

TABLE = np.array([[1.0, 2.0], [2.0, 5.0]])
LONG = 60.0


def test_results_are_those_of_the_function_block_by_block():
    blocks = [TABLE, np.empty((0, 2)), TABLE[:1]]
    assert results(functions.rows, blocks, LONG) == [2.0, None, 1.0]
    assert results(np.max, blocks[:1], LONG) == [5.0]


@pytest.mark.parametrize("function", [functions.fails, functions.leaves, functions.odd])
def test_what_fails_gives_nothing_and_says_nothing(function, capfd):
    assert results(function, [TABLE], LONG) == [None]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_function_cannot_bring_out_anything_but_a_finite_number(number):
    """Not a number would become a place of -2^63 on the lattice: one block could move the mean as far as it likes."""
    assert results(functions.Forges(number), [TABLE], LONG) == [None]
    assert results(functions.Forges(0.5), [TABLE], LONG) == [0.5]


def test_streams_lead_nowhere(capfd):
    assert results(functions.loud, [TABLE], LONG) == [0.25]
    assert results(functions.listens, [TABLE], LONG) == [1.0]
    assert capfd.readouterr() == ("", "")


def test_blocks_share_nothing():
    assert results(functions.remembers, [TABLE, TABLE, TABLE], LONG) == [1.0, 1.0, 1.0]
    assert functions.CALLS == []


@pytest.mark.parametrize("hang", [False, True])
def test_processes_end_with_all_that_they_started(tmp_path, hang):
    noted = tmp_path / "pid"
    seconds = 3.0 if hang else LONG
    assert results(functions.Begins(str(noted), hang), [TABLE], seconds) == [None if hang else 1.0]
    assert _has_ended(int(noted.read_text()))


def _has_ended(pid):
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":  # ended, and waits for whoever adopted it
            return True
        time.sleep(0.05)
    return False


def test_a_function_that_hangs_ends_in_time():
    begun = time.monotonic()
    assert results(functions.hangs, [TABLE], 1.0) == [None]
    assert time.monotonic() - begun < 20


def test_a_process_that_cannot_begin_gives_nothing(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert results(functions.rows, [TABLE], LONG) == [None]


def test_without_process_groups_the_process_alone_is_ended(monkeypatch):
    monkeypatch.delattr(os, "killpg")
    assert results(functions.hangs, [TABLE], 1.0) == [None]


def local():
    return lambda table: 1


@pytest.mark.parametrize("function", [local(), 5, "print"])
def test_functions_that_cannot_be_loaded_are_refused(function):
    with pytest.raises(ParameterError, match="cannot be loaded in a new process"):
        check_function(function)
    check_function(functions.rows)


def test_a_process_of_a_block_begins_no_others(monkeypatch):
    monkeypatch.setattr(worker, "_BEGUN", True)
    with pytest.raises(ParameterError, match="__main__"):
        results(functions.rows, [TABLE], LONG)


SCRIPT = """
    import numpy as np
    import spatialdp as sdp

    def least(table):
        return table[:, 0].min()

    {guard}
    curator = sdp.Curator.rehearsal(np.full((50, 2), 0.75), sdp.Domain((0, 0, 1, 1)))
    print(0.6 < curator.sample_and_aggregate(least, blocks=2, bounds=(0, 1), epsilon=50, aggregate="mean").values)
"""


@pytest.mark.parametrize("guarded", [True, False])
def test_functions_of_a_script_are_found_if_the_script_is_guarded(tmp_path, guarded):
    script, body = tmp_path / "script.py", textwrap.dedent(SCRIPT)
    if guarded:
        head, tail = body.split("{guard}")
        body = head + "if __name__ == '__main__':" + textwrap.indent(tail, "    ")
    script.write_text(body.replace("{guard}", ""))
    path = {"PYTHONPATH": str(Path(processes.__file__).parents[3])}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=os.environ | path)
    assert done.stdout == ("True\n" if guarded else "")
    assert guarded or "cannot be loaded in a new process" in done.stderr
