"""How the benchmarks measure and report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


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
