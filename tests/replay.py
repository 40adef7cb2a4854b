"""Record every private measurement of a release, replay it on a neighbour, and add up the exact privacy loss.

A release is a sequence of measurements, each a known law applied to private numbers, and everything else must be a
function of their outcomes. `loss` runs a mechanism on D and remembers every outcome; then it runs on D', hands out the
same outcomes, and adds what each measurement's law says of the change in its private inputs. If anything but the
inputs differs (another law, another size, another order), the replay fails.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from spatialdp.mechanisms import fourier, growth
from spatialdp.privacy.laws import Law, NoiseLaw
from spatialdp.privacy.noise import SeededNoise
from spatialdp.privacy.selection import exponential


class Tape:
    """What a first run measured, for a second to hear again."""

    def __init__(self, monkeypatch, concentrated=False) -> None:
        self._entries, self._place, self._playing = [], 0, False
        self._concentrated = concentrated  # whether the loss is counted in ρ
        self.loss = Fraction(0)
        self._add_to, self._medians = NoiseLaw.add_to, growth.medians
        monkeypatch.setattr(NoiseLaw, "add_to", lambda law, counts, noise: self._noisy(law, counts, noise))
        monkeypatch.setattr(growth, "medians", self._lines)
        monkeypatch.setattr(fourier, "exponential", self._choice)

    def rewind(self) -> None:
        self._place, self._playing = 0, True

    @property
    def finished(self) -> bool:
        return self._playing and self._place == len(self._entries)

    def _next(self):
        assert self._place < len(self._entries), "the second run measured more than the first"
        self._place += 1
        return self._entries[self._place - 1]

    def _noisy(self, law, counts, noise):
        counts = np.array(counts)
        if not self._playing:
            outcome = self._add_to(law, counts, noise)
            self._entries.append((law, counts, outcome))
            return outcome.copy()
        before, held, outcome = self._next()
        assert before == law, "the second run used another law"
        assert held.shape == counts.shape, "the second run measured something of another size"
        change = np.abs(held - counts)
        if law.law is Law.GAUSSIAN:
            self.loss += Fraction(int((change**2).sum())) / (2 * law.parameter)
        else:
            self.loss += Fraction(int(change.sum()) * law.steps) / law.parameter
        return outcome.copy()

    def _lines(self, values, starts, low, high, **terms):
        records = [Counter(part.tolist()) for part in np.split(np.asarray(values), np.asarray(starts)[1:-1])]
        public = (low.tolist(), high.tolist(), {k: v for k, v in terms.items() if k != "noise"})
        if not self._playing:
            outcome = self._medians(values, starts, low, high, **terms)
            self._entries.append((public, records, outcome))
            return outcome.copy()
        before, held, outcome = self._next()
        assert before == public, "the second run drew lines for other boxes or on other terms"
        # Tests of the medians prove that adding or removing a record costs ε, or ε / 2 under replace.
        step = terms["epsilon"] / (2 if terms["neighbours"] == "replace" else 1)
        self.loss += step * sum(sum(((a - b) + (b - a)).values()) for a, b in zip(held, records, strict=True))
        return outcome.copy()

    def _choice(self, scores, epsilon, sensitivity, noise):
        if not self._playing:
            chosen = exponential(scores, epsilon, sensitivity, noise)
            self._entries.append(((epsilon, sensitivity, len(scores)), scores, chosen))
            return chosen
        public, held, chosen = self._next()
        assert public == (epsilon, sensitivity, len(scores)), "the second run chose on other terms"
        before, after = (log_probabilities(each, epsilon, sensitivity) for each in (held, scores))
        lost = max(rho(before, after), rho(after, before)) if self._concentrated else abs(before - after)[chosen]
        self.loss += Fraction(lost)
        return chosen


def log_probabilities(scores, epsilon, sensitivity):
    """Of all outcomes of the exponential mechanism."""
    logits = np.array([float(epsilon * score / (2 * sensitivity)) for score in scores])
    return logits - np.logaddexp.reduce(logits)


def rho(log_p, log_q):
    """The least ρ of zCDP for two laws: Rényi divergences over their orders, at many orders."""
    orders = 1 + np.logspace(-4, 4, 81)[:, None]
    return float((np.logaddexp.reduce(orders * log_p + (1 - orders) * log_q, axis=1) / ((orders - 1) * orders).T).max())


def loss(monkeypatch, mechanism, domain, first, second, seed, **terms):
    """Exact privacy loss between two data sets for the outcomes that the first produced, and both releases."""
    with monkeypatch.context() as patch:
        tape = Tape(patch, concentrated=mechanism.law is Law.GAUSSIAN)
        one = mechanism.release(first, domain, noise=SeededNoise(seed), **terms)
        tape.rewind()
        two = mechanism.release(second, domain, noise=SeededNoise(seed + 1), **terms)
        assert tape.finished, "the second run measured less than the first"
    return tape.loss, one, two
