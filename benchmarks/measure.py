"""How do benchmarks measure time and memory, and report them? Functions that all benchmarks share."""

from __future__ import annotations

import re
import time
import tracemalloc
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


Clock = Callable[[], float]


def seconds(work: Callable[[], object], repeat: int = 5, clock: Clock = time.perf_counter) -> float:
    """Return the least time of several runs, which other programs on the machine disturbed least."""
    best = float("inf")
    for _ in range(repeat):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best


def in_turn(*works: Callable[[], object], repeat: int = 5, clock: Clock = time.perf_counter) -> list[float]:
    """Return the least time of each work; they are run in turn, so that other programs disturb all of them alike."""
    rounds = [[seconds(work, 1, clock) for work in works] for _ in range(repeat)]
    return [min(times) for times in zip(*rounds, strict=True)]


def cpu_ratio(work: Callable[[], object], yardstick: Callable[[], object], repeat: int = 5) -> float:
    """Return the processor time of a work over that of another one; the least of several runs in turn."""
    ours, theirs = in_turn(work, yardstick, repeat=repeat, clock=time.process_time)
    return ours / theirs


def most_bytes(work: Callable[[], object]) -> int:
    """Return the most memory that a work takes at a time for arrays and other objects, beyond what is there before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peak_gigabytes() -> float:
    """Return the peak memory of this process since its program started.

    `ru_maxrss` is not used, because it includes the memory of the parent at the time of the fork.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1e6  # type: ignore[index]  # Linux has it
