"""What is published of the results of many blocks? Their median or their mean, with noise for one block that changes.

Results are clipped to public bounds and put on a lattice of 2^20 steps between them. A block that is empty, fails or
takes too long has the result in the middle. One record changes one block, in whatever way, so it replaces one number
between the bounds, under both relations. That holds for any function: nobody has to prove a sensitivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.options import Option
from spatialdp._support.override import override
from spatialdp.curator.aggregate.blocks import coins, tables
from spatialdp.curator.aggregate.processes import Function, results
from spatialdp.curator.answers import Accuracy, Answers, LawNoise, NoInterval
from spatialdp.curator.asks import Ask, law_facts
from spatialdp.privacy.ledger.cost import Cost
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.noise.selection import middle
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.statement import Privacy
from spatialdp.records.rows.held import HeldRecords

__all__ = ["STEPS", "Aggregate", "SampleAndAggregate"]

STEPS = 2**20  # of the lattice between the bounds
_NO_INTERVAL = NoInterval(
    "the median of blocks has no interval that is known beforehand: how far it is off depends on how much the blocks' "
    "results differ. Use the mean for an interval about the mean of the blocks."
)


class Aggregate(Option):
    """What is published of the blocks' results."""

    MEDIAN = "median"
    MEAN = "mean"


@dataclass(frozen=True)
class SampleAndAggregate(Ask[Answers]):
    """A function of a user's own, on blocks of records, and the median or the mean of what it returns.

    Privacy
    -------
    Neighbours, unit and cost: those of the account. The coins of the records are independent of the records, so
    couple neighbours by giving all common records the same coins, and a replaced record that of the old one. Then all
    blocks but one are the same, and whatever the function does, one result changes, by at most the lattice's length
    (Nissim, Raskhodnikova, Smith 2007). Median: `privacy.noise.selection.middle`. Mean: noise for 2^20 - 1 steps
    in the sum. For each coupling the ratio of probabilities is at most exp(ε), and so it is on average over all
    coins; so it is with ε²/8 of zCDP for the median (``docs/design/selection.md``). The function must not depend on
    anything private but its argument, and the block's process reaches nobody (`processes`). Enumerated over all coins:
    ``tests/audit/test_aggregate.py``.
    """

    function: Function
    blocks: int
    bounds: tuple[Fraction, Fraction]
    aggregate: Aggregate
    seconds: float
    columns: tuple[str, ...]
    name = "sample and aggregate"

    @property
    @override
    def cost(self) -> Cost:
        if self.aggregate is Aggregate.MEAN:
            return self.spending.cost
        return Cost.selection(self.spending.amount, exponential=True)

    @property
    def law(self) -> NoiseLaw:
        """The noise in the sum of all results, in steps of the lattice."""
        return self.spending.noise(Sensitivity(STEPS - 1, (STEPS - 1) ** 2))

    @override
    def facts(self) -> dict[str, Any]:
        low, high = self.bounds
        return {
            "function": getattr(self.function, "__qualname__", type(self.function).__name__),
            "blocks": self.blocks,
            "bounds": [str(low), str(high)],
            "aggregate": str(self.aggregate),
            "seconds": self.seconds,
            **(law_facts(self.law) if self.aggregate is Aggregate.MEAN else {}),
        }

    @override
    def check(self, held: HeldRecords) -> None:
        for name in self.columns:
            held.check_numbers(name)

    @override
    def answer(self, held: HeldRecords, noise: Noise, statement: Privacy) -> Answers:
        block = coins(held, self.blocks, self.frame.person is not None, noise)
        returned = results(self.function, tables(held, self.columns, block, self.blocks), self.seconds)
        value, accuracy = self.combined(self.places(returned), noise)
        return Answers(value, statement, accuracy)

    def places(self, returned: Sequence[float | None]) -> Integers:
        """Return results as steps of the lattice, from 0 to 2^20 - 1; the middle where there is none."""
        low, high = (float(each) for each in self.bounds)
        values = np.array([low + (high - low) / 2 if each is None else each for each in returned])
        shares = (np.clip(values, low, high) - low) / (high - low)
        return np.asarray(np.clip((shares * STEPS).astype(np.int64), 0, STEPS - 1))

    def combined(self, places: Integers, noise: Noise) -> tuple[float, Accuracy]:
        """Return the noisy median or mean of results on the lattice, and how far off it may be."""
        if self.aggregate is Aggregate.MEAN:
            return self._mean(places, noise)
        place = middle(places, STEPS, self.spending.amount, noise)
        return self._value(place), _NO_INTERVAL

    def _mean(self, places: Integers, noise: Noise) -> tuple[float, Accuracy]:
        low, high = (float(each) for each in self.bounds)
        total = float(self.law.add_to(np.array([(places - STEPS // 2).sum()]), noise)[0])
        value = self._value(total / self.blocks + STEPS // 2)
        return min(max(value, low), high), LawNoise(self.law, (high - low) / STEPS / self.blocks, low, high)

    def _value(self, place: float) -> float:
        """Return the result that is in the middle of a step of the lattice."""
        low, high = (float(each) for each in self.bounds)
        return low + (high - low) * ((place + 0.5) / STEPS)
