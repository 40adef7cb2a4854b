"""Where is the value that a share p of the records lies below? Quantiles of places, and of a column's values.

A quantile is drawn by the exponential mechanism: a line s between two values has the score |r - p n|, r being the
number of records below it and n that of all. One record more or less moves the score by at most max(p, 1 - p), and a
replaced one by at most 1. The draw is that of private medians (`privacy.noise.medians`): with p = a / b, every value
counts b times, and |b - 2 a| n more values at one end move the median to the quantile.

Many records may have the same value, and then no line between values has the right rank. So there is a line at each
value, too, below which a value counts a times and above which b - a times. See ``docs/design/curator.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.override import override
from spatialdp.curator.answers import Answers, NoInterval
from spatialdp.curator.asks import Ask
from spatialdp.curator.counts import Areas
from spatialdp.curator.values import Bounds
from spatialdp.errors import ParameterError
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.ledger.cost import Cost
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.medians import Median, check_epsilon, medians
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.statement import Privacy
from spatialdp.records.rows.held import HeldRecords
from spatialdp.space.lattice import LATTICE, Axis
from spatialdp.wording import parameter

__all__ = ["AXES", "Quantile", "quantile_share"]

AXES = ("x", "y")
_MOST_PARTS = 1000  # the largest denominator of a share

_NO_INTERVAL = NoInterval(
    "how far off a quantile is depends on how densely records lie around it, so there is no honest interval; count the "
    "records below and above it with the rest of the budget, or read quantiles off a release."
)


def quantile_share(share: Number) -> Fraction:
    """Return which share of the records lies below a quantile, as a short fraction.

    Examples
    --------
    >>> quantile_share(0.9)
    Fraction(9, 10)
    """
    value = exact(share, "share")
    if not (0 < value < 1 and value.denominator <= _MOST_PARTS):
        raise ParameterError(
            f"{parameter('share')} is {share}; it must lie between 0 and 1, with at most three digits, such as 0.9."
        )
    return value


@dataclass(frozen=True)
class Quantile(Ask[Answers]):
    """A line that about a given share of the values lies below: of an axis, or of a column within public bounds.

    Privacy
    -------
    Neighbours, unit and cost: those of the account. Let p = a / b, and ε₁ be the ε for one record: ε, or ε / L if a
    person has at most L. The line is drawn as the median of weights: b for each record, at its value, and |b - 2 a| for
    each record, at one end. A median at ε' costs ε' for each unit of weight that changes. Adding or removing a record
    changes b + |b - 2 a| = 2 max(a, b - a) units; replacing one changes 2 b, or as much as removing it. So
    ε' = ε₁ / (2 max(a, b - a)), or ε₁ / 2b. Worst ratios by enumeration: ``tests/curator/test_medians.py``.
    """

    values: str  # an axis, or a column
    share: Fraction
    bounds: Bounds | None  # of a column's values
    area: Areas
    name = "quantile"

    @property
    @override
    def cost(self) -> Cost:
        return Cost.selection(self.spending.amount, exponential=True)

    @cached_property
    def unit_epsilon(self) -> Fraction:
        """The ε' that a unit of weight may cost."""
        a, b = self.share.numerator, self.share.denominator
        changed = 2 * max(a, b - a) if self.frame.neighbours is Neighbours.ADD_REMOVE else 2 * b
        epsilon = self.spending.amount / self.frame.records / changed
        check_epsilon(Median.EXPONENTIAL, epsilon)
        return epsilon

    @override
    def facts(self) -> dict[str, Any]:
        bounds = {} if self.bounds is None else {"bounds": self.bounds}
        return {"values": self.values, "share": str(self.share), **bounds, "epsilon of a unit": str(self.unit_epsilon)}

    @override
    def check(self, held: HeldRecords) -> None:
        if self.bounds is not None:
            held.check_numbers(self.values)

    @override
    def answer(self, held: HeldRecords, noise: Noise, statement: Privacy) -> Answers:
        inside = held.only(self.area.first(held) >= 0)
        low, high = self._range
        values, weights = self._weighted(self._positions(inside), low, high)
        (line,) = medians(
            values,
            [0, values.size],
            [2 * low],
            [2 * high],
            method=Median.EXPONENTIAL,
            epsilon=self.unit_epsilon,
            neighbours=Neighbours.ADD_REMOVE,
            noise=noise,
            weights=weights,
        )
        place = float(line) / (2 * LATTICE)
        return Answers(self._axis.low * (1 - place) + self._axis.high * place, statement, _NO_INTERVAL)

    @property
    def _axis(self) -> Axis:
        """The axis on which a line is drawn."""
        return self.frame.domain.axes[AXES.index(self.values)] if self.bounds is None else Axis(*self.bounds)

    @property
    def _range(self) -> tuple[int, int]:
        """The public lines between which the quantile lies: all of a column's, or those of the area."""
        if self.bounds is not None:
            return 0, LATTICE
        low, high = self.area.extent[AXES.index(self.values) :: 2]
        return low, high

    def _positions(self, held: HeldRecords) -> Integers:
        """Return the lattice positions of the values; records without a number count nowhere."""
        if self.bounds is None:
            return (held.columns, held.rows)[AXES.index(self.values)].astype(np.int64)
        numbers = held.numbers(self.values)
        return np.asarray(np.minimum(self._axis.positions(numbers[~np.isnan(numbers)]), LATTICE - 1))

    def _weighted(self, positions: Integers, low: int, high: int) -> tuple[Integers, Integers]:
        """Return places on a lattice twice as fine, in order, and weights of which the quantile is the median."""
        a, b = self.share.numerator, self.share.denominator
        values, counts = np.unique(positions, return_counts=True)
        places = (2 * values[:, None] + [0, 1]).ravel()
        weights = (counts[:, None] * [a, b - a]).ravel()
        at, end = (0, 2 * low) if 2 * a < b else (places.size, 2 * high - 1)
        return np.insert(places, at, end), np.insert(weights, at, positions.size * abs(b - 2 * a))
