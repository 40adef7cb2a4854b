"""What runs in the process of a block? A user's function, which may fail, print or never end; nobody sees any of that.

The process gets the function and the block through its standard input and gives one number back through its standard
output. Before the function is even imported, all three standard streams lead nowhere. Whatever else happens, nothing
comes out: an answer that is not one finite number is no answer.
"""

from __future__ import annotations

import io
import math
import multiprocessing.spawn
import os
import pickle
import signal
import struct
import sys
from typing import IO, Any

import numpy as np

from spatialdp._support.arrays import Floats

__all__ = ["LOADED", "NUMBER", "is_begun", "main", "message", "number_of"]

LOADED = b"loaded"  # what a process answers that was asked for no number
NUMBER = struct.Struct("<d")

_BEGUN = False


def message(function: Any, table: Floats | None) -> bytes:
    """Return the message to a new process: how to import what this one did, the function, and the block.

    Without a block, the process only says whether it can load the function.
    """
    called = pickle.dumps(function)
    own = multiprocessing.spawn.get_preparation_data("block")
    own.pop("authkey", None)  # of processes that talk to each other
    if b"__main__" not in called:  # a script is run again only if the function is in it
        own.pop("init_main_from_name", None)
        own.pop("init_main_from_path", None)
    parts = [pickle.dumps(own), called]
    if table is not None:
        parts.append(_packed(table))
    return pickle.dumps(parts)


def _packed(table: Floats) -> bytes:
    packed = io.BytesIO()
    np.save(packed, table, allow_pickle=False)
    return packed.getvalue()


def is_begun() -> bool:
    """Whether this process was started for a block; such a process starts no others."""
    return _BEGUN


def main() -> None:
    """Answer the message on standard input."""
    global _BEGUN
    _BEGUN = True
    text, answer = sys.stdin.buffer.read(), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "r+b") as nowhere:
        for stream in range(3):
            os.dup2(nowhere.fileno(), stream)
    try:
        carry_out(text, answer)
    finally:
        answer.close()
        if hasattr(os, "killpg"):
            os.killpg(os.getpid(), signal.SIGKILL)  # the process leads a group of all that the function started


def carry_out(text: bytes, answer: IO[bytes]) -> None:
    """Call the function of a message with its block, and write the number; or write that it can be called."""
    own, function, *table = pickle.loads(text)
    multiprocessing.spawn.prepare(pickle.loads(own))
    called = pickle.loads(function)
    if not table:
        answer.write(LOADED * callable(called))
    else:
        number = number_of(called(np.load(io.BytesIO(table[0]), allow_pickle=False)))
        if number is not None:
            answer.write(NUMBER.pack(number))
    answer.flush()


def number_of(result: Any) -> float | None:
    """Return a result as a finite number; None for anything else.

    Examples
    --------
    >>> number_of(3), number_of(np.float32(0.5)), number_of(math.nan), number_of("3"), number_of([1, 2])
    (3.0, 0.5, None, None, None)
    """
    if isinstance(result, str | bytes) or np.ndim(result) != 0:
        return None
    number = float(result)
    return number if math.isfinite(number) else None
