"""How the benchmarks measure and report."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Result:
    """One target, and what this run measured against it."""

    what: str
    value: float
    target: float
    at_least: bool = True
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.value >= self.target if self.at_least else self.value <= self.target

    def __str__(self) -> str:
        bound = "at least" if self.at_least else "at most"
        verdict = "ok  " if self.met else "MISS"
        return f"{verdict}  {self.what}: {self.value:.3g} {self.unit} ({bound} {self.target:g})"


def seconds(work: Callable[[], object], repeat: int = 5) -> float:
    """Least time of a few runs: the one least disturbed by the rest of the machine."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def peak_gigabytes() -> float:
    """The most memory this process has had since it began to run its program.

    Not `ru_maxrss`, which starts with what the parent had when it forked.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1e6  # type: ignore[index]  # Linux has it
