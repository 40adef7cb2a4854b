"""How do benchmarks measure time and memory, and report them? Functions that all benchmarks share."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Result:
    """One target, and the value that this run measured."""

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
    """Return the least time of several runs, which other programs on the machine disturbed least."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def in_turn(*works: Callable[[], object], repeat: int = 5) -> list[float]:
    """Return the least time of each work; they are run in turn, so that other programs disturb all of them alike."""
    rounds = [[seconds(work, 1) for work in works] for _ in range(repeat)]
    return [min(times) for times in zip(*rounds, strict=True)]


def peak_gigabytes() -> float:
    """Return the peak memory of this process since its program started.

    `ru_maxrss` is not used, because it includes the memory of the parent at the time of the fork.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1e6  # type: ignore[index]  # Linux has it
