"""Writing files, killed at every line of the code that writes them.

`python -m tests.attacks.killed HOW FOLDER NAME...` fills each named file of FOLDER with "new", in a forked process that
kills itself with signal 9 at its first line, then in a process that does so at its second line, and so on until one
process comes to its end. Each process finds the folder as it was given. The contents of the named files after each
process are printed as JSON, with the number of other files that are left. Between two lines there is at most one system
call whose effect can be seen from outside, so no moment is left out.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from spatialdp._support import atomic

NEW = b"new" * 100_000


def _all(paths: list[Path], overwrite: bool) -> None:
    atomic.write_all(dict.fromkeys(paths, NEW), overwrite=overwrite)


def _whole(paths: list[Path], overwrite: bool) -> None:
    atomic.write_all({paths[0]: NEW}, overwrite=overwrite)


WRITERS: dict[str, Callable[[list[Path], bool], None]] = {"all": _all, "whole": _whole}


def die_at(line: int) -> None:
    """End this process when so many lines of `atomic` have been run."""
    seen = count()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != atomic.__file__:
            return None
        if event != "call" and next(seen) == line:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def survives(line: int, write: Callable[[], None]) -> bool:
    """Whether a process that is killed at this line has come to its end before."""
    child = os.fork()
    if child == 0:
        try:
            die_at(line)
            write()
            sys.settrace(None)
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), f"line {line}: the process ended with {code}"
    return code == 0


def moments(how: str, given: Path, names: list[str], overwrite: bool) -> Iterator[dict[str, Any]]:
    """What is found after each kill, and at last after none."""
    work = given.with_name("work")
    for line in count():
        shutil.copytree(given, work)
        done = survives(line, lambda: WRITERS[how]([work / name for name in names], overwrite))
        held = {path.name: path.read_bytes() for path in work.iterdir()}
        told = ["none" if name not in held else {NEW: "new", b"old": "old"}.get(held[name], "broken") for name in names]
        others = [name for name in held if name not in names]
        yield {"held": told, "others": others, "done": done}
        shutil.rmtree(work)
        if done:
            return


if __name__ == "__main__":
    way, folder, *rest = sys.argv[1:]
    if "named" in way:
        del os.O_TMPFILE
    writer = way.split("-")[0]
    print(json.dumps(list(moments(writer, Path(folder), rest, "overwrite" in way))))
