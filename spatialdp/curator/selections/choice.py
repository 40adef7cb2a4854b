"""Which of many public regions is best? A private choice by the weighted number of records in each.

The score of a region is its public weight times the number of records in it. How far one record can move a score
follows from the weights, so nobody has to declare it. Prices are of this kind: the region of a price is where all bids
of at least that price are, and its weight is the price. See ``docs/design/selection.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.options import Option
from spatialdp._support.override import override
from spatialdp.curator.answers import Answers, NoInterval
from spatialdp.curator.asks import Ask
from spatialdp.curator.counts import Areas, Polygons
from spatialdp.errors import ParameterError
from spatialdp.privacy.budget import exact
from spatialdp.privacy.ledger.cost import Cost
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.selection import exponential, permute_and_flip
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.statement import Privacy
from spatialdp.records.rows.held import HeldRecords
from spatialdp.records.truth import count_polygons
from spatialdp.wording import parameter

__all__ = ["Choice", "Selection", "Weights"]

_NO_INTERVAL = NoInterval(
    "a choice is one of the regions and has no interval; ask for the count of the chosen region, which costs again."
)


class Selection(Option):
    """How a candidate is drawn: both ways cost the same ε, and permute-and-flip is never worse on average.

    In an account that pays for choices from its pot of zCDP, the exponential mechanism costs a quarter.
    """

    PERMUTE_AND_FLIP = "permute-and-flip"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True)
class Weights:
    """Public weights of regions, as whole numbers of a common step.

    Attributes
    ----------
    steps : tuple of int
    step : Fraction

    Examples
    --------
    >>> Weights.of([0.5, 2, -1.5], 3)
    Weights(steps=(1, 4, -3), step=Fraction(1, 2))
    >>> Weights.of(None, 3).largest
    1
    """

    steps: tuple[int, ...]
    step: Fraction

    @classmethod
    def of(cls, weights: Iterable[Any] | None, count: int) -> Weights:
        """Return the weights that a caller gave, 1 for each region if there are none; floats are taken as typed."""
        if weights is None:
            return cls((1,) * count, Fraction(1))
        given = weights.tolist() if isinstance(weights, np.ndarray) else list(weights)
        values = [exact(weight, "weights") for weight in given]
        if len(values) != count or not any(values):
            raise ParameterError(
                f"{parameter('weights')} has {len(values)} numbers for {count} regions, or all of them are 0; give one "
                "number for each region, at least one of them not 0."
            )
        common = math.lcm(*{value.denominator for value in values})
        return cls(tuple(value.numerator * (common // value.denominator) for value in values), Fraction(1, common))

    @property
    def largest(self) -> int:
        """The most steps by which one record in a region moves its score."""
        return max(map(abs, self.steps))

    @property
    def mixed(self) -> bool:
        """Whether one record may move some scores up and others down."""
        return min(self.steps) < 0 < max(self.steps)


@dataclass(frozen=True)
class Choice(Ask[Answers]):
    """The region with the largest weighted number of records, up to noise.

    Privacy
    -------
    Neighbours, unit and cost: those of the account. One record moves the score of each region by at most the weight of
    that region, however many regions it is in and under both relations, so Δ is the largest weight without its sign,
    and a person with at most L records moves scores by L times that. If all weights have one sign and neighbours
    differ by adding or removing, all scores move in one direction (or not at all), and the draw needs half the noise.
    The draws are those of `privacy.noise.selection`. Exact ratios for all neighbours: ``tests/audit/test_choice.py``.
    """

    areas: Areas
    weights: Weights
    selection: Selection
    name = "choose"

    @property
    @override
    def cost(self) -> Cost:
        return Cost.selection(self.spending.amount, exponential=self.selection is Selection.EXPONENTIAL)

    @property
    def sensitivity(self) -> int:
        """The most by which a unit moves a score, in steps of the weights."""
        return self.frame.sensitivity(Sensitivity(self.weights.largest, self.weights.largest**2)).l1

    @property
    def monotone(self) -> bool:
        """Whether one unit moves all scores in one direction."""
        return self.frame.neighbours is Neighbours.ADD_REMOVE and not self.weights.mixed

    @override
    def facts(self) -> dict[str, Any]:
        largest = self.weights.largest * self.weights.step
        return {
            "regions": self.areas.size,
            "largest weight": str(largest),
            "monotone": self.monotone,
            "selection": str(self.selection),
        }

    @override
    def answer(self, held: HeldRecords, noise: Noise, statement: Privacy) -> Answers:
        counts = in_each(self.areas, held).tolist()
        scores = [weight * count for weight, count in zip(self.weights.steps, counts, strict=True)]
        draw = exponential if self.selection is Selection.EXPONENTIAL else permute_and_flip
        chosen = draw(scores, self.spending.amount, Fraction(self.sensitivity), noise, self.monotone)
        return Answers(chosen, statement, _NO_INTERVAL)


def in_each(areas: Areas, held: HeldRecords) -> Integers:
    """Return the exact number of records in each area; a record counts in every area that contains it.

    In answers to `Curator.counts`, a record counts in the first of several polygons alone, so that it moves one count.
    A choice is not about a sum over regions, so nothing is gained by that here.
    """
    if isinstance(areas, Polygons):
        return count_polygons(held.points(), held.domain, areas.polygons)
    return areas.sums(held)
