"""Record every private measurement of a release, replay it on a neighbour, and add up the exact privacy loss.

A release is a sequence of measurements, each a known law applied to private numbers, and everything else must be a
function of their outcomes. A `Tape` listens while a mechanism runs on D and remembers every outcome; then, on D', it
hands out the same outcomes and adds up what each measurement's law says of the change in its private inputs. If
anything but the inputs differs (another law, another size, another order), the replay fails. So does noise that is
drawn outside of a measurement.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.medians import medians
from spatialdp.privacy.noise.selection import exponential
from spatialdp.privacy.noise.source import Noise, SeededNoise
from spatialdp.privacy.noise.wide import Wide
from tests.audit.seams import everywhere


class Tape(contextlib.ExitStack):
    """What a first run measured, for a second to hear again. Listens as long as the context lasts.

    Attributes
    ----------
    epsilon, rho : Fraction
        Exact loss of the replay so far, in the two currencies; `rho` counts Gaussian noise, and choices by their range.
    """

    def __init__(self) -> None:
        super().__init__()
        self._add_to, self._medians, self._exponential = NoiseLaw.add_to, medians, exponential
        self.record(0)

    def __enter__(self) -> Tape:
        super().__enter__()
        NoiseLaw.add_to = lambda law, counts, noise: self._noisy(law, counts, noise)
        self.callback(setattr, NoiseLaw, "add_to", self._add_to)
        self.enter_context(everywhere(medians, self._lines))
        self.enter_context(everywhere(exponential, self._choice))
        return self

    def record(self, seed: int) -> Noise:
        """Begin a recording; gives the noise to record with."""
        self.entries: list[tuple[Any, Any, Any]] = []
        self._playing, self._noise = False, _Guarded(seed)
        return self._noise

    def play(self) -> Noise:
        """Begin a replay; gives a source that refuses to draw."""
        self._place, self._playing, self._noise = 0, True, _Guarded(0)
        self.epsilon = self.rho = Fraction(0)
        return self._noise

    def finish(self) -> None:
        """The replay must have heard everything."""
        assert self._place == len(self.entries), "the second run measured less than the first"

    def _measured(self, public: Any, private: Any, draw: Callable[[], Any]) -> tuple[Any, Any]:
        """The outcome, and in a replay also what the first run held in private."""
        if not self._playing:
            self._noise.open = True
            outcome = draw()
            self._noise.open = False
            self.entries.append((public, private, outcome))
            return outcome, None
        assert self._place < len(self.entries), "the second run measured more than the first"
        before, held, outcome = self.entries[self._place]
        self._place += 1
        assert before == public, "the second run measured on other terms"
        return outcome, held

    def _noisy(self, law: NoiseLaw, counts: Any, noise: Noise) -> Any:
        whole = integers(counts)
        outcome, held = self._measured((law, whole.shape), whole, lambda: self._add_to(law, counts, noise))
        if held is not None:
            change = np.abs(held - whole)
            if law.law is Law.GAUSSIAN:
                self.rho += Fraction(int((change**2).sum())) / (2 * law.parameter)
            else:
                self._spend(Fraction(int(change.sum()) * law.steps) / law.parameter)
        return outcome.copy()

    def _lines(self, values: Any, starts: Any, low: Any, high: Any, **terms: Any) -> Any:
        records = [Counter(part.tolist()) for part in np.split(np.asarray(values), np.asarray(starts)[1:-1])]
        public = (low.tolist(), high.tolist(), {name: value for name, value in terms.items() if name != "noise"})
        outcome, held = self._measured(public, records, lambda: self._medians(values, starts, low, high, **terms))
        if held is not None:
            # `enumeration` shows that adding or removing a record costs ε, or ε / 2 under replace.
            step = terms["epsilon"] / (2 if terms["neighbours"] == "replace" else 1)
            changed = sum(sum(((a - b) + (b - a)).values()) for a, b in zip(held, records, strict=True))
            self._spend(step * changed)
        return outcome.copy()

    def _choice(self, scores: Any, epsilon: Fraction, sensitivity: Fraction, noise: Noise) -> Any:
        public = (epsilon, sensitivity, len(scores))
        chosen, held = self._measured(
            public, scores, lambda: self._exponential(scores, epsilon, sensitivity, noise)
        )  # fmt: skip
        if held is not None:
            assert max(abs(a - b) for a, b in zip(held, scores, strict=True)) <= sensitivity, "scores move by more"
            before, after = (log_probabilities(each, epsilon, sensitivity) for each in (held, scores))
            moves = before - after
            self.epsilon += Fraction(abs(moves[chosen]))
            # A choice whose log-ratios span r is r²/8-zCDP (Cesar, Rogers 2021).
            self.rho += Fraction(float(np.ptp(moves))) ** 2 / 8
        return chosen

    def _spend(self, epsilon: Fraction) -> None:
        self.epsilon += epsilon
        self.rho += epsilon**2 / 2


class _Guarded(SeededNoise):
    """Draws only while a measurement is under way."""

    open = False

    def random_bytes(self, count: int) -> bytes:
        assert self.open, "noise was drawn outside of a measurement"
        return super().random_bytes(count)


def integers(counts: Any) -> Any:
    """A copy of exact measurements, of whatever width."""
    return counts.exact() if isinstance(counts, Wide) else np.array(counts)


def log_probabilities(scores: Any, epsilon: Fraction, sensitivity: Fraction) -> Any:
    """Of every candidate of an exponential mechanism."""
    best = max(scores)
    logits = np.array([float(epsilon * Fraction(score - best) / (2 * sensitivity)) for score in scores])
    return logits - math.log(math.fsum(np.exp(logits)))


def rho(log_p: Any, log_q: Any) -> float:
    """The least ρ of zCDP for two laws: Rényi divergences over their orders, at many orders."""
    orders = 1 + np.logspace(-4, 4, 81)[:, None]
    return float((np.logaddexp.reduce(orders * log_p + (1 - orders) * log_q, axis=1) / ((orders - 1) * orders).T).max())
