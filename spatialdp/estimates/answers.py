"""Between which numbers does the truth lie? Answers with their noise and allowance, and intervals of any level.

An interval about noise covers what the answer would be without noise. An interval about the truth also
has an allowance for records that are not evenly spread within the cells or leaves that a query cuts
(`unevenness`). This module reads no record: all numbers come from a release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp._support.options import Option
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.intervals import half_width
from spatialdp.estimates.unevenness.allowance import Allowance, Bracket
from spatialdp.space.polygons import Polygons

__all__ = ["About", "Answers"]

_ROUNDING = 1e-6  # counts squared: smaller allowances are rounding errors of sums


class About(Option):
    """What an interval is to cover: the true count, or the answer without noise."""

    TRUTH = "truth"
    NOISE = "noise"


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers to queries, and what is known of their errors.

    Attributes
    ----------
    values : (m,) array
    variance, kurtosis : (m,) arrays
        Variance and excess kurtosis of the noise.
    step : float
        Width of the lattice of the measurements' noise.
    whole : (m,) bool array
        Whether the noise of an answer is a whole multiple of the step.
    allowance : Allowance, optional
        What uneven spread adds to the errors; None for intervals about noise.
    """

    values: Floats
    variance: Floats
    kurtosis: Floats
    step: float
    whole: Booleans
    allowance: Allowance | None

    @classmethod
    def of_boxes(cls, estimate: Estimate, boxes: Integers, about: About) -> Answers:
        """Answer lattice boxes without bias."""
        estimate = estimate.unbiased
        allowance = estimate.allowance(boxes) if about is About.TRUTH else None
        moments, whole = estimate.moments(boxes), estimate.in_steps(boxes)
        return cls(estimate.answer(boxes), *moments, estimate.step, whole, allowance)

    @classmethod
    def of_polygons(cls, estimate: Estimate, polygons: Polygons, about: About) -> Answers:
        """Answer polygons without bias."""
        estimate = estimate.unbiased
        allowance = estimate.polygon_allowance(polygons) if about is About.TRUTH else None
        moments, whole = estimate.polygon_moments(polygons), estimate.polygons_in_steps(polygons)
        return cls(estimate.answer_polygons(polygons), *moments, estimate.step, whole, allowance)

    @classmethod
    def of_leaves(cls, estimate: Estimate) -> Answers:
        """The unbiased estimates of all leaves, with intervals about the truth."""
        estimate = estimate.unbiased
        values = estimate.leaf_values()
        whole = np.full(values.size, estimate.leaf_steps)
        return cls(values, *estimate.leaf_moments(), estimate.step, whole, estimate.leaf_allowance())

    def ends(self, level: float) -> Floats:
        """Lower and upper ends of the intervals of a level, (m, 2).

        About the truth, variances of noise and allowance are added, the allowance has the tails of a
        Laplace law, and half a count is added, because the truth is a whole number. Queries that cut no
        cell have no allowance, and so the interval about noise. Ends are not below 0.
        """
        noise_half = half_width(self.variance, self.kurtosis, self.step, level, whole=self.whole)
        if self.allowance is None:
            return np.stack([self.values - noise_half, self.values + noise_half], axis=1)
        if self.allowance.bracket is not None:
            return self._bracketed(self.allowance.bracket, noise_half, level)
        uneven = np.where(self.allowance.variance > _ROUNDING, self.allowance.variance, 0.0)
        both = self.variance + uneven
        with np.errstate(invalid="ignore", divide="ignore"):
            tails = np.where(both > 0, (self.kurtosis * self.variance**2 + 3 * uneven**2) / both**2, 0.0)
        wider = half_width(both, np.minimum(tails, 3.0), 0.0, level) + 0.5
        half = np.where(uneven > 0, np.maximum(noise_half, wider), noise_half)
        centre = self.values + self.allowance.shift
        return np.maximum(np.stack([centre - half, centre + half], axis=1), 0.0)

    def _bracketed(self, bracket: Bracket, noise_half: Floats, level: float) -> Floats:
        """Ends about the truth, from the lower end of the leaves inside to the upper end of the leaves touched.

        A central interval misses by at most half of the error probability on either side, so the lower end of one sum
        and the upper end of another miss together by no more than a single interval does. Where noise turns the ends
        round, both are taken in order, which only makes the interval wider.
        """
        ends = []
        for sums, sign in ((bracket.inside, -1), (bracket.touched, 1)):
            half = half_width(sums.variance, sums.kurtosis, self.step, level)
            ends.append(np.where(bracket.cut, sums.values + sign * half, self.values + sign * noise_half))
        return np.asarray(np.maximum(np.sort(np.stack(ends, axis=1), axis=1), 0.0))
