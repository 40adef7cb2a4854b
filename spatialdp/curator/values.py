"""What do the values of a column add up to, what is their mean, and how many lie in each bin? In exact whole numbers.

Values are clipped to public bounds and put on a public lattice, so that sums are sums of integers and noise is added
without rounding. A sum has 2^20 steps between the larger bound and its opposite. A mean comes from two sums: of how far
values are above the lower bound, and below the upper one, in 2^20 steps. A record moves both together by exactly 2^20
steps, whatever its value is, so both are measured for the price of one; see ``docs/design/curator.md``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.curator.answers import Answers, LawNoise
from spatialdp.curator.asks import Ask, law_facts
from spatialdp.curator.counts import Areas
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.intervals import HIGHEST_LEVEL, quantile_table
from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.statement import Privacy
from spatialdp.records.rows.held import HeldRecords
from spatialdp.wording import parameter, quoted

__all__ = ["STEPS", "Bounds", "Histogram", "Mean", "RatioNoise", "Sum", "read_edges", "value_bounds"]

STEPS = 2**20  # of the lattice of values
_MOST_BINS = 10**6
_HIGHEST_LEVEL = 1 - 2 * (1 - HIGHEST_LEVEL)  # of means: each of two sums covers half of what is left
_LARGEST = 1e150  # a bound, so that squares of values are doubles

Bounds = tuple[float, float]


def value_bounds(bounds: Any) -> Bounds:
    """Return public bounds of values, checked.

    Examples
    --------
    >>> value_bounds((0, 100))
    (0.0, 100.0)
    """
    try:
        low, high = (float(value) for value in bounds)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not (low < high and max(abs(low), abs(high)) <= _LARGEST and high - low >= 1 / _LARGEST):
        raise ParameterError(
            f"{parameter('bounds')} are {quoted(bounds)}; they must be two finite numbers, the lower one first, such "
            f"as {quoted((0, 100))}. They are public: never take them from the records."
        )
    return low, high


def read_edges(edges: npt.ArrayLike) -> Floats:
    """Return the public edges of bins, checked.

    Examples
    --------
    >>> read_edges([0, 1, 5])
    array([0., 1., 5.])
    """
    try:
        lines = np.array(edges, dtype=np.float64)  # a copy, which nobody else can change
    except (TypeError, ValueError, OverflowError):
        lines = np.empty(0)
    if lines.ndim != 1 or not 2 <= lines.size <= _MOST_BINS + 1 or not (np.diff(lines) > 0).all():
        raise ParameterError(
            f"{parameter('edges')} must be at least two and at most {_MOST_BINS + 1:,} rising numbers, such as "
            f"{quoted([0, 10, 20, 50])}. They are public: never take them from the records."
        )
    return lines


@dataclass(frozen=True)
class _OfColumn(Ask[Answers]):
    """A question about the numbers in a column."""

    column: str

    @override
    def check(self, held: HeldRecords) -> None:
        held.check_numbers(self.column)


@dataclass(frozen=True)
class _InAreas(_OfColumn):
    """A question about the numbers in a column, clipped to public bounds, in each of some public areas."""

    bounds: Bounds
    areas: Areas

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """The noise in each sum, in steps."""

    @override
    def facts(self) -> dict[str, Any]:
        return {"values": self.column, "bounds": self.bounds, **self.areas.facts(), **law_facts(self.law)}


@dataclass(frozen=True)
class Sum(_InAreas):
    """The sum of a column's values, clipped to public bounds, in each of some public areas.

    Privacy
    -------
    Neighbours, unit and cost: those of the account. With M the larger bound, a value v becomes the whole number nearest
    to 2^19 v / M, between k₀ and k₁. A record that is added or removed moves the sum of an area that it is in by at
    most max(|k₀|, |k₁|) = 2^19, and one that is replaced by at most max(2^19, k₁ - k₀), which is 2^20 for bounds as far
    below 0 as above it. `Areas.sensitivity` says how many areas it moves. Brute force:
    ``tests/curator/test_values.py``.
    """

    name = "sum"

    @property
    def unit(self) -> float:
        """What a step of the lattice is worth."""
        return 2 * max(map(abs, self.bounds)) / STEPS

    @cached_property
    @override
    def law(self) -> NoiseLaw:
        low, high = (int(step) for step in self._steps(np.array(self.bounds)))
        most, between = max(abs(low), abs(high)), high - low
        return self.spending.noise(self.frame.sensitivity(self.areas.sensitivity(self.frame.neighbours, most, between)))

    def _steps(self, values: Floats) -> Integers:
        """Return values within the bounds as steps of the lattice."""
        return np.rint(values / max(map(abs, self.bounds)) * (STEPS // 2)).astype(np.int64)

    @override
    def answer(self, held: HeldRecords, noise: Noise, statement: Privacy) -> Answers:
        counted, values = _clipped(held, self.column, self.bounds)
        law = self.law
        sums = law.add_to(self.areas.sums(counted, self._steps(values)), noise) * self.unit
        return Answers(self.areas.shaped(sums), statement, LawNoise(law, self.unit))


@dataclass(frozen=True)
class Mean(_InAreas):
    """The mean of a column's values, clipped to public bounds, in each of some public areas.

    Privacy
    -------
    Neighbours, unit and cost: those of the account. A value becomes k of R = 2^20 steps above the lower bound, and
    measured are the sums of k and of R - k. A record that is added or removed moves both sums of an area that it is in
    by k + (R - k) = R steps in L1, and by k² + (R - k)² <= R² in the square of L2. One that is replaced moves them by
    2 |k - k'| <= 2 R, and by 2 (k - k')² <= 2 R². The mean is post-processing. Brute force:
    ``tests/curator/test_values.py``.
    """

    name = "mean"

    @cached_property
    @override
    def law(self) -> NoiseLaw:
        moved = (1 if self.frame.neighbours is Neighbours.ADD_REMOVE else 2) * self.areas.depth
        return self.spending.noise(self.frame.sensitivity(Sensitivity(moved * STEPS, moved * STEPS**2)))

    @override
    def answer(self, held: HeldRecords, noise: Noise, statement: Privacy) -> Answers:
        counted, values = _clipped(held, self.column, self.bounds)
        low, high = self.bounds
        steps = np.rint((values - low) / (high - low) * STEPS).astype(np.int64)
        both = np.stack([self.areas.sums(counted, each) for each in (steps, STEPS - steps)])
        law = self.law
        above, below = law.add_to(both, noise)
        accuracy = RatioNoise(law, self.bounds, above, below, self.areas.single)
        return Answers(self.areas.shaped(accuracy.means(above, below)), statement, accuracy)


@dataclass(frozen=True, eq=False)
class RatioNoise:
    """Means from two noisy sums: of how far values are above the lower bound, and below the upper one.

    Attributes
    ----------
    law : NoiseLaw
        Of the noise in each sum.
    bounds : (low, high)
    above, below : arrays
        The released sums, in steps.
    single : bool
    """

    law: NoiseLaw
    bounds: Bounds
    above: Floats
    below: Floats
    single: bool

    def means(self, above: Floats, below: Floats) -> Floats:
        """Return the means that follow from two sums: the middle of the bounds where the sums say nothing."""
        low, high = self.bounds
        above, below = np.maximum(above, 0), np.maximum(below, 0)
        with np.errstate(invalid="ignore"):
            share = np.where(above + below > 0, above / (above + below), 0.5)
        return np.asarray(low * (1 - share) + high * share)

    @property
    def standard_deviation(self) -> float:
        """Refused: that of a ratio depends on the number of records."""
        raise ReleaseError(
            "how far off a mean is depends on the number of records, so no standard deviation is known; ask for "
            "intervals, which follow from what was released."
        )

    def ends(self, values: Floats, level: float) -> Floats:  # noqa: ARG002 - follow from the sums
        """Return the ends that both sums allow if they are within their own intervals, which hold together."""
        quantile_table(level)  # refuses what is no level
        if level > _HIGHEST_LEVEL:
            raise ParameterError(
                f"{parameter('level')} is {level!r}; for means, whose intervals come from two sums, it must be at most "
                f"{_HIGHEST_LEVEL}, such as 0.95."
            )
        width = LawNoise(self.law).half_width(1 - (1 - level) / 2)
        low, high = self.bounds
        most, least = (np.maximum(self.above + sign * width, 0) for sign in (1, -1))
        rest_most, rest_least = (np.maximum(self.below + sign * width, 0) for sign in (1, -1))
        with np.errstate(invalid="ignore", divide="ignore"):
            first = np.where(least > 0, least / (least + rest_most), 0.0)
            last = np.where(rest_least > 0, most / (most + rest_least), 1.0)
        half_step = (high - low) / STEPS / 2  # every value was rounded by at most so much
        ends = np.stack([low * (1 - first) + high * first - half_step, low * (1 - last) + high * last + half_step], -1)
        ends = np.clip(ends, low, high)
        return ends[0] if self.single else ends


@dataclass(frozen=True, eq=False)
class Histogram(_OfColumn):
    """The number of records in each public bin of a column's values.

    Privacy
    -------
    Neighbours, unit and cost: those of the account. A record is in one bin at most, which follows from its value alone,
    so it moves the counts as those of disjoint cells (`count_sensitivity`). Brute force:
    ``tests/curator/test_values.py``.
    """

    edges: Floats
    name = "histogram"

    @cached_property
    def law(self) -> NoiseLaw:
        """The noise in each count."""
        sensitivity = count_sensitivity(self.frame.neighbours, self.edges.size - 1)
        return self.spending.noise(self.frame.sensitivity(sensitivity))

    @override
    def facts(self) -> dict[str, Any]:
        return {
            "values": self.column,
            "bins": self.edges.size - 1,
            "from": _as_fact(self.edges[0]),
            "to": _as_fact(self.edges[-1]),
        } | law_facts(self.law)

    @override
    def answer(self, held: HeldRecords, noise: Noise, statement: Privacy) -> Answers:
        values = held.numbers(self.column)
        bins = np.searchsorted(self.edges, values, side="right") - 1
        bins[values == self.edges[-1]] = self.edges.size - 2
        inside = (values >= self.edges[0]) & (values <= self.edges[-1])
        law = self.law
        counts = law.add_to(np.bincount(bins[inside], minlength=self.edges.size - 1), noise)
        return Answers(counts, statement, LawNoise(law, least=0.0))


def _as_fact(edge: float) -> float | str:
    """Return an edge for statements and entries, which know no infinite numbers."""
    return float(edge) if math.isfinite(edge) else str(float(edge))


def _clipped(held: HeldRecords, column: str, bounds: Bounds) -> tuple[HeldRecords, Floats]:
    """Return the records that have a number in a column, and these numbers, clipped to public bounds."""
    values = held.numbers(column)
    has_number = ~np.isnan(values)
    return held.only(has_number), np.clip(values[has_number], *bounds)
