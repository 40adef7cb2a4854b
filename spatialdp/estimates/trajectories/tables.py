"""How many trajectories are of each length, and of each distance or extent? Noisy counts, with intervals of sums.

Every trajectory is in one cell of a table, so the errors of cells are independent, and sums over rows or columns have
the noise of as many cells. This module sees released numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.estimates.base import moments_of
from spatialdp.estimates.flows.counts import Answers
from spatialdp.estimates.flows.fit import CountNoise
from spatialdp.space.paths.systems import length_edges

__all__ = ["LengthTable"]

_LEAST = 1e-3  # trajectories of every kind and length, so that each is possible


@dataclass(frozen=True, eq=False)
class LengthTable:
    """Noisy counts of trajectories by some kind, such as the extent, and by length.

    Attributes
    ----------
    values : (kinds, classes of lengths) float array
    noise : CountNoise
        Of each count.

    Examples
    --------
    >>> table = LengthTable(np.array([[3.0, -1.0], [5.0, 1.0]]), CountNoise(2.0, 0.0, 1.0))
    >>> table.by_length.values.tolist(), table.by_kind.values.tolist(), table.total.variance.tolist()
    ([8.0, 0.0], [2.0, 6.0], [8.0])
    """

    values: Floats
    noise: CountNoise

    @property
    def by_length(self) -> Answers:
        """The counts of all lengths."""
        return self._sums(self.values)

    @property
    def by_kind(self) -> Answers:
        """The counts of all kinds."""
        return self._sums(self.values.T)

    @property
    def total(self) -> Answers:
        """The count of all trajectories, as an array of one."""
        return self._sums(self.values.reshape(-1, 1))

    @property
    def lengths_of_kinds(self) -> Floats:
        """The distribution of lengths for each kind, in rows."""
        weights = np.maximum(self.values, 0.0) + _LEAST
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def steps(self, longest: int) -> Floats:
        """Return the distribution of steps, from 0 to the most, whatever the kind."""
        edges = length_edges(longest)
        weights = np.maximum(self.values.sum(axis=0), 0.0)
        weights /= max(float(weights.sum()), 1e-300)
        return np.repeat(weights / np.diff(edges), np.diff(edges))

    @property
    def kinds_of_lengths(self) -> Floats:
        """The distribution of kinds for each length, in columns."""
        weights = _without_negative(self.values) + _LEAST
        return np.asarray(weights / weights.sum(axis=0))

    def _sums(self, values: Floats) -> Answers:
        count, width = values.shape
        noise = self.noise
        moments = moments_of(np.full(width, count * noise.variance), np.full(width, count * noise.fourth))
        return Answers(values.sum(axis=0), *moments, noise.step, whole=True)


def _without_negative(values: Floats) -> Floats:
    """Return the nearest values that are not negative and have the same sum, if that is positive."""
    ordered = np.sort(values, axis=None)[::-1]
    over = (np.cumsum(ordered) - max(float(values.sum()), 0.0)) / np.arange(1, ordered.size + 1)
    return np.asarray(np.maximum(values - over[np.flatnonzero(ordered >= over)[-1]], 0.0))
