"""How is a user's function run, so that it can neither print nor hang? In a new process for each block, with a limit.

The guarantee of `sample_and_aggregate` does not rest on what the function computes, but a function that runs here could
print a record, raise an error that quotes one, remember what it saw for the next block, or never return. In a process
of its own it does none of this: the streams lead nowhere (`worker`), nothing is shared, and after a public number of
seconds the process ends, with all that it started. What comes back is one finite number, or nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from spatialdp._support.arrays import Floats
from spatialdp.curator.aggregate import worker
from spatialdp.curator.aggregate.worker import LOADED, NUMBER, message
from spatialdp.errors import ParameterError
from spatialdp.wording import parameter

__all__ = ["Function", "check_function", "results"]

Function = Callable[[Floats], Any]

_BEGIN = "from spatialdp.curator.aggregate.worker import main; main()"
_LOADING_SECONDS = 60.0  # for a process that sees no records
_MOST_PROCESSES = 8


def results(function: Function, tables: Iterable[Floats], seconds: float) -> list[float | None]:
    """Return the number that a function returns for each table; None where it returns none in time.

    Tables without a row are not given to the function.
    """
    processes = min(_MOST_PROCESSES, os.cpu_count() or 1)
    with ThreadPoolExecutor(processes) as threads:
        return list(threads.map(lambda table: _result(function, table, seconds), tables))


def _result(function: Function, table: Floats, seconds: float) -> float | None:
    if not len(table):
        return None
    answer = _answer(message(function, table), seconds)
    # The function can write to the process's answer itself, so what comes back is checked here again.
    return None if len(answer) != NUMBER.size else worker.number_of(NUMBER.unpack(answer)[0])


def check_function(function: Function) -> None:
    """Refuse what cannot be called in a new process; it is loaded in one, and sees no record."""
    try:
        text = message(function, None)
    except Exception:  # pickling raises errors of many kinds
        text = b""
    if not callable(function) or not text or _answer(text, _LOADING_SECONDS) != LOADED:
        raise ParameterError(
            f"{parameter('function')} is {_named(function)}, which cannot be loaded in a new process; give a function "
            "that is defined with def in a module or in a script, outside of other functions. A script must have its "
            "other code below ``if __name__ == '__main__':``."
        )


def _answer(text: bytes, seconds: float) -> bytes:
    """Return what a new process answers to a message; nothing if it fails or takes too long."""
    if worker.is_begun():
        raise ParameterError(
            f"{parameter('function')} is loaded from a script that asks again while it is loaded; put what the script "
            "does below ``if __name__ == '__main__':``."
        )
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {_BEGIN}"]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError:
        return b""
    with process:
        try:
            return process.communicate(text, timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            _end(process)
            return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that has not been waited for and, where sessions are known, everything that it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _named(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
