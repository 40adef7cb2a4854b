"""Exact enumeration of whole mechanisms: every structure that can come out, and what the counts then add."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.domain import Domain
from spatialdp.mechanisms import Mechanism
from spatialdp.privacy.laws import Law, NoiseLaw
from spatialdp.privacy.medians import medians
from spatialdp.privacy.selection import exponential
from tests.audit.cases import terms
from tests.audit.enumeration import Words, boundaries, exponential_law, multisets, neighbours
from tests.audit.seams import everywhere
from tests.audit.tape import integers
from tests.sources import ZeroNoise

UNIT = Domain((0, 0, 1, 1))
CORNERS = ((0.2, 0.3), (0.2, 0.8), (0.7, 0.3), (0.7, 0.8))


class Forced:
    """Runs a mechanism with outcomes that are dictated, and writes down what it held in private.

    Attributes
    ----------
    noisy, lines, choices : list
        Laws and inputs of the counts; arguments of the lines; arguments of the choices.
    """

    def __init__(self, lines: Any = (), choices: Any = (), counts: Any = None) -> None:
        self._lines, self._choices, self._counts = list(lines), list(choices), counts
        self.noisy: list[tuple[NoiseLaw, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.choices: list[tuple[Any, ...]] = []

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        with (
            everywhere(medians, self._line),
            everywhere(exponential, self._choice),
            mock.patch.object(NoiseLaw, "add_to", lambda law, counts, noise: self._count(law, counts)),
        ):
            yield

    def run(self, mechanism: Mechanism, records: Any, relation: str) -> Forced:
        with self._at_work():
            data = np.array(records, dtype=float).reshape(-1, 2)
            mechanism.release(data, UNIT, noise=ZeroNoise(), **terms(mechanism, relation))
        return self

    def _count(self, law: NoiseLaw, counts: Any) -> Any:
        self.noisy.append((law, integers(counts)))
        return np.zeros(np.shape(counts)) if self._counts is None else np.full(np.shape(counts), self._counts)

    def _line(self, values: Any, starts: Any, low: Any, high: Any, **given: Any) -> Any:
        self.lines.append({"values": values, "starts": starts, "low": low, "high": high, **given})
        wanted = self._lines.pop(0) if self._lines else 0
        return np.clip(np.broadcast_to(wanted, low.shape), low + 1, high - 1)

    def _choice(self, scores: Any, epsilon: Any, sensitivity: Any, noise: Any) -> int:
        self.choices.append((tuple(scores), epsilon, sensitivity))
        return int(self._choices.pop(0)) if self._choices else 0


def count_loss(one: Forced, other: Forced) -> float:
    """What the counts add at most, over all noise."""
    assert len(one.noisy) == len(other.noisy)
    loss = Fraction(0)
    for (law, mine), (same, theirs) in zip(one.noisy, other.noisy, strict=True):
        assert law == same, "the noise depends on the records"
        assert law.law is not Law.GAUSSIAN
        loss += Fraction(int(np.abs(mine - theirs).sum()) * law.steps) / law.parameter
    return float(loss)


# --- kd-trees ------------------------------------------------------------------------------------------


def log_weights(call: dict[str, Any], node: int) -> list[tuple[int, int, float]]:
    """Runs (first line, last line, log P(line)) of one node of a call, read off the sampler."""
    starts, low, high = call["starts"], int(call["low"][node]), int(call["high"][node])
    values = np.asarray(call["values"][starts[node] : starts[node + 1]], dtype=np.int64)

    def lines(words: Any) -> Any:
        times = words.size
        return medians(
            np.tile(values, times),
            np.arange(times + 1) * values.size,
            np.full(times, low),
            np.full(times, high),
            method=call["method"],
            epsilon=call["epsilon"],
            neighbours=call["neighbours"],
            noise=Words(words),
        ).tolist()

    # A run is shown by its second line, because the word after the first is 1.
    runs = sorted((line - 1, last - first + 1) for first, last, line in boundaries(lines, 2**64 - 1))
    assert runs[0][0] == low + 1
    ends = [line for line, _ in runs[1:]] + [high]
    return [
        (line, end - 1, math.log(words / 2**64 / (end - line))) for (line, words), end in zip(runs, ends, strict=True)
    ]


def common_runs(one: list[Any], other: list[Any]) -> Iterator[tuple[int, float]]:
    """A line of every stretch on which neither law changes, and the log-ratio there."""
    firsts = sorted({first for first, _, _ in one} | {first for first, _, _ in other})
    for line in firsts:
        a, b = (next(log for first, last, log in law if first <= line <= last) for law in (one, other))
        yield line, a - b


def kd_loss(mechanism: Mechanism, one: Any, other: Any, relation: str) -> float:
    """The largest log-ratio of a kd-tree of height 1, in both directions: over all x lines and both halves' y lines."""
    return max(_kd_loss(mechanism, *pair, relation) for pair in ((one, other), (other, one)))


def _kd_loss(mechanism: Mechanism, one: Any, other: Any, relation: str) -> float:
    worst = -math.inf
    root = [Forced().run(mechanism, data, relation).lines[0] for data in (one, other)]
    for x, ratio in common_runs(*(log_weights(call, 0) for call in root)):
        calls = [Forced([x]).run(mechanism, data, relation).lines[1] for data in (one, other)]
        halves = [list(common_runs(*(log_weights(call, half) for call in calls))) for half in (0, 1)]
        for (left, more), (right, most) in itertools.product(*halves):
            runs = [Forced([x, np.array([left, right])]).run(mechanism, data, relation) for data in (one, other)]
            worst = max(worst, ratio + more + most + count_loss(*runs))
    return worst


# --- stopping quadtrees --------------------------------------------------------------------------------


def stop_loss(mechanism: Any, one: Any, other: Any, relation: str) -> float:
    """The largest log-ratio of a quadtree of height 1 that may stop at its root: over the root's noisy counts."""
    worst = 0.0
    for outcome in (-(10**6), mechanism.stop - 1, mechanism.stop, 10**6):
        runs = [Forced(counts=outcome).run(mechanism, data, relation) for data in (one, other)]
        (law, mine), (_, theirs) = (run.noisy.pop(0) for run in runs)
        ratio = (abs(outcome - int(theirs[0])) - abs(outcome - int(mine[0]))) / float(law.parameter)
        worst = max(worst, abs(ratio) + count_loss(*runs))
    return worst


# --- chosen blocks -------------------------------------------------------------------------------------


def choice_loss(mechanism: Mechanism, one: Any, other: Any, relation: str) -> float:
    """The largest log-ratio of a mechanism that chooses once and then counts: over all choices."""
    (mine,), (theirs,) = (Forced().run(mechanism, data, relation).choices for data in (one, other))
    laws = [exponential_law(*call) for call in (mine, theirs)]
    losses = []
    for chosen in laws[0]:
        runs = [Forced(choices=[chosen]).run(mechanism, data, relation) for data in (one, other)]
        losses.append(abs(math.log(laws[0][chosen] / laws[1][chosen])) + count_loss(*runs))
    return max(losses)


def all_pairs(most: int, relation: str) -> Iterator[tuple[Any, Any]]:
    """All neighbours of up to so many records in four places."""
    for data in multisets(CORNERS, most if relation == "replace" else most - 1):
        for other in set(neighbours(data, CORNERS, relation)):
            if data != other:
                yield data, other
