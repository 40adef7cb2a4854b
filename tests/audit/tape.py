"""How large is the exact privacy loss between two neighbours? Record a release, replay it, and add up the loss.

A release is a sequence of measurements. Each measurement applies a known law to private numbers, and everything else
must be a function of the outcomes. A `Tape` records every outcome while a mechanism runs on D. Then the mechanism runs
on D', gets the same outcomes, and the tape adds up the loss of each measurement, which follows from its law and the
change of its private inputs. If anything but these inputs differs (another law, another size, another order), the
replay fails. It also fails if noise is drawn outside of a measurement.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from spatialdp.privacy.noise.filter import Filter
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.medians import medians
from spatialdp.privacy.noise.selection import exponential
from spatialdp.privacy.noise.source import Noise, SeededNoise
from spatialdp.privacy.noise.wide import Wide
from tests.audit.seams import everywhere
from tests.audit.selection_tape import record_selections


class Tape(contextlib.ExitStack):
    """The measurements of a first run, for a second run to get again, while the context lasts.

    Attributes
    ----------
    epsilon, rho : Fraction
        Exact loss of the replay so far, as ε and as ρ of zCDP. Gaussian noise adds to ρ only; a choice adds to ρ by the
        range of its log-ratios.
    """

    def __init__(self) -> None:
        super().__init__()
        self._add_to, self._medians, self._exponential = NoiseLaw.add_to, medians, exponential
        self._passing = Filter.passing
        self.record(0)

    def __enter__(self) -> Tape:
        super().__enter__()
        NoiseLaw.add_to = lambda law, counts, noise: self._noisy(law, counts, noise)
        self.callback(setattr, NoiseLaw, "add_to", self._add_to)
        Filter.passing = lambda made, *records: self._listed(made, *records)
        self.callback(setattr, Filter, "passing", self._passing)
        self.enter_context(everywhere(medians, self._lines))
        self.enter_context(everywhere(exponential, self._choice))
        record_selections(self)
        return self

    def record(self, seed: int) -> Noise:
        """Begin a recording; return the source of noise for it."""
        self.entries: list[tuple[Any, Any, Any]] = []
        self._playing, self._noise = False, _Guarded(seed)
        return self._noise

    def play(self) -> Noise:
        """Begin a replay; return a source that refuses to draw."""
        self._place, self._playing, self._noise = 0, True, _Guarded(0)
        self.epsilon = self.rho = Fraction(0)
        return self._noise

    def finish(self) -> None:
        """Check that the replay made all measurements of the recording."""
        assert self._place == len(self.entries), "the second run measured less than the first"

    def _measured(self, public: Any, private: Any, draw: Callable[[], Any]) -> tuple[Any, Any]:
        """Return the outcome and, in a replay, the private inputs of the first run."""
        if not self._playing:
            self._noise.open = True
            outcome = draw()
            self._noise.open = False
            self.entries.append((public, private, outcome))
            return outcome, None
        assert self._place < len(self.entries), "the second run measured more than the first"
        first_public, first_private, outcome = self.entries[self._place]
        self._place += 1
        assert first_public == public, "the second run measured on other terms"
        return outcome, first_private

    def _noisy(self, law: NoiseLaw, counts: Any, noise: Noise) -> Any:
        whole = integers(counts)
        outcome, first = self._measured((law, whole.shape), whole, lambda: self._add_to(law, counts, noise))
        if first is not None:
            change = np.abs(first - whole)
            if law.law is Law.GAUSSIAN:
                self.rho += Fraction(int((change**2).sum())) / (2 * law.parameter)
            else:
                self._spend(Fraction(int(change.sum()) * (law.steps // law.counted)) / law.parameter)
        return outcome.copy()

    def _listed(self, filter_: Filter, occupied: Any, counts: Any, noise: Noise) -> Any:
        """Noise on the counts of all cells, of which few are known not to be 0, and dropping by a public threshold."""
        held = Counter(dict(zip(occupied.tolist(), counts.tolist(), strict=True)))
        outcome, first = self._measured(filter_, held, lambda: self._passing(filter_, occupied, counts, noise))
        if first is not None:
            change = sum(abs(first[cell] - held[cell]) for cell in first | held)
            self._spend(Fraction(change) / filter_.scale)
        return tuple(each.copy() for each in outcome)

    def _lines(self, values: Any, starts: Any, low: Any, high: Any, **terms: Any) -> Any:
        records = _by_node(values, terms.get("weights"), np.asarray(starts))
        private = ("noise", "weights")
        lines = np.asarray(low).tolist(), np.asarray(high).tolist()
        public = (*lines, {name: value for name, value in terms.items() if name not in private})
        outcome, first = self._measured(public, records, lambda: self._medians(values, starts, low, high, **terms))
        if first is not None:
            # `enumeration` shows that adding or removing a record, or a weight of 1, costs ε, or ε / 2 under replace.
            step = terms["epsilon"] / (2 if terms["neighbours"] == "replace" else 1)
            changed = sum(sum(((a - b) + (b - a)).values()) for a, b in zip(first, records, strict=True))
            self._spend(step * changed)
        return outcome.copy()

    def _choice(self, scores: Any, epsilon: Fraction, sensitivity: Fraction, noise: Noise) -> Any:
        public = (epsilon, sensitivity, len(scores))
        chosen, first = self._measured(
            public, scores, lambda: self._exponential(scores, epsilon, sensitivity, noise)
        )  # fmt: skip
        if first is not None:
            change = max(abs(a - b) for a, b in zip(first, scores, strict=True))
            assert change <= sensitivity, "a score changes by more than the sensitivity"
            before, after = (log_probabilities(each, epsilon, sensitivity) for each in (first, scores))
            moves = before - after
            self.epsilon += Fraction(abs(moves[chosen]))
            # A choice whose log-ratios span r is r²/8-zCDP (Cesar, Rogers 2021).
            self.rho += Fraction(float(np.ptp(moves))) ** 2 / 8
        return chosen

    def _spend(self, epsilon: Fraction) -> None:
        self.epsilon += epsilon
        self.rho += epsilon**2 / 2


def _by_node(values: Any, weights: Any, starts: Any) -> list[Counter[int]]:
    """Return how often each value occurs in each node, or the sum of its weights."""
    weights = np.ones(len(values), dtype=np.int64) if weights is None else np.asarray(weights)
    counters = []
    for first, last in itertools.pairwise(starts.tolist()):
        counter: Counter[int] = Counter()
        for value, weight in zip(values[first:last].tolist(), weights[first:last].tolist(), strict=True):
            counter[value] += weight
        counters.append(counter)
    return counters


class _Guarded(SeededNoise):
    """A source that draws only during a measurement."""

    open = False

    def random_bytes(self, count: int) -> bytes:
        assert self.open, "noise was drawn outside of a measurement"
        return super().random_bytes(count)


def integers(counts: Any) -> Any:
    """Return a copy of exact measurements as integers, wide or not."""
    return counts.exact() if isinstance(counts, Wide) else np.array(counts)


def log_probabilities(scores: Any, epsilon: Fraction, sensitivity: Fraction) -> Any:
    """Return the log-probability of every candidate of an exponential mechanism."""
    best = max(scores)
    logits = np.array([float(epsilon * Fraction(score - best) / (2 * sensitivity)) for score in scores])
    return logits - math.log(math.fsum(np.exp(logits)))


def rho(log_p: Any, log_q: Any) -> float:
    """Return the least ρ of zCDP for two laws: the largest Rényi divergence divided by its order, at many orders."""
    orders = 1 + np.logspace(-4, 4, 81)[:, None]
    return float((np.logaddexp.reduce(orders * log_p + (1 - orders) * log_q, axis=1) / ((orders - 1) * orders).T).max())
