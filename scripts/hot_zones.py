"""How often are all hot zones found? The sparse vector technique, with one-sided and two-sided noise, and choices.

A thousand zones have some 20 records each, and a few hot ones have more. The sparse vector technique asks each zone
whether it is above a threshold half-way, in random order, and ends after as many answers "above" as there are hot
zones. Choices draw one zone after the other among those that are left, each for its share of ε. All ways know how many
hot zones there are and cost the same ε. A run counts if the zones that are found are exactly the hot ones.

Run it as ``python scripts/hot_zones.py --output figures``. Counts are made up, and noise has seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from numbers import Rational
from pathlib import Path

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.override import override
from spatialdp._support.tables import markdown
from spatialdp.errors import BudgetError
from spatialdp.privacy.noise.selection import permute_and_flip
from spatialdp.privacy.noise.source import Noise, SeededNoise
from spatialdp.privacy.noise.sparse_vector import SparseVector, SparseVectorTerms

ZONES = 1000
USUAL = 20


class TwoSided(SeededNoise):
    """Draws Laplace noise where one-sided noise is asked for, centred where that is: what most descriptions have."""

    @override
    def geometric(self, scale: Rational, size: int | tuple[int, ...]) -> Integers:
        mean = round(1 / np.expm1(float(1 / Fraction(scale))))
        return np.asarray(self.laplace(scale, size) + mean)


def by_threshold(counts: Integers, hot: int, threshold: int, epsilon: Fraction, noise: Noise) -> set[int]:
    """Return the zones that the sparse vector technique says are above the threshold."""
    vector, found = SparseVector(SparseVectorTerms(epsilon, 1, hot, monotone=True), threshold, noise), set()
    for zone, count in enumerate(counts.tolist()):
        try:
            if vector.above(count):
                found.add(zone)
        except BudgetError:
            break
    return found


def by_choices(counts: Integers, hot: int, epsilon: Fraction, noise: Noise) -> set[int]:
    """Return the zones that are chosen one after the other."""
    left = dict(enumerate(counts.tolist()))
    for _ in range(hot):
        zones, scores = list(left), list(left.values())
        del left[zones[permute_and_flip(scores, epsilon / hot, Fraction(1), noise, monotone=True)]]
    return set(range(len(counts))) - set(left)


def rows(trials: int) -> Iterator[list[str]]:
    """The lines of the table."""
    epsilon = Fraction(1)
    for hot, height in ((1, 40), (1, 60), (3, 80), (3, 120), (10, 200), (10, 300)):
        threshold, good = (USUAL + height) // 2, np.zeros(3)
        for trial in range(trials):
            rng = np.random.default_rng((trial, hot, height))
            counts, places = rng.poisson(USUAL, ZONES), rng.choice(ZONES, hot, replace=False)
            counts[places] = height
            found = (
                by_threshold(counts, hot, threshold, epsilon, TwoSided((trial, 1))),
                by_threshold(counts, hot, threshold, epsilon, SeededNoise((trial, 2))),
                by_choices(counts, hot, epsilon, SeededNoise((trial, 3))),
            )
            good += [zones == set(places.tolist()) for zones in found]
        yield [str(hot), str(height), str(threshold), *(f"{100 * share:.0f} %" for share in good / trials)]


def main() -> None:
    """Look for hot zones, and write `hot_zones.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--trials", type=int, default=200)
    settings = parser.parse_args()
    header = ["hot zones", "records in each", "threshold", "two-sided noise", "`above_threshold`", "`choose`"]
    table = markdown([header, *rows(settings.trials)])
    note = f"Share of {settings.trials} runs that find exactly the hot zones, at ε = 1. Seeded noise, not private."
    settings.output.mkdir(parents=True, exist_ok=True)
    (settings.output / "hot_zones.md").write_text(f"{table}\n\n{note}\n", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
