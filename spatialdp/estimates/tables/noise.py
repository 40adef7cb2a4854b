"""How noisy is the answer to a product of sets, such as a county in some hours of one kind? Exactly known, by products.

An answer is a product of weighted sums along the axes, and so are the weights of the measurements in it. The sum of the
squares of the weights in a group of the table is the product of those of its axes' groups, and so is the sum of their
fourth powers. Hence, over the groups (g, h, ...) of the table with variance v and fourth cumulant c,

    variance = Σ v[g, h, ...] P2_1[g] P2_2[h] ...,    fourth cumulant = Σ c[g, h, ...] P4_1[g] P4_2[h] ...

This holds whatever the variances are. See ``docs/design/frames.md``. This module reads no record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Booleans, Floats
from spatialdp.estimates.base import moments_of
from spatialdp.space.frames.selection import Selection
from spatialdp.transforms.tree_axis import TreeAxis

__all__ = ["TableNoise", "cut_sets"]

_AT_ONCE = 2**22  # weights that are made at a time


@dataclass(frozen=True, eq=False)
class TableNoise:
    """The noise of a table.

    Attributes
    ----------
    axes : tuple of TreeAxis
        In the order of arrays.
    variances, kurtosis : (groups of the first axis, groups of the second, ...) arrays
        Variance and excess kurtosis of each measurement of a group.
    step : float
        Width of the lattice on which the noise lies.
    """

    axes: tuple[TreeAxis, ...]
    variances: Floats
    kurtosis: Floats
    step: float

    def moments(self, selections: Sequence[Selection]) -> tuple[Floats, Floats]:
        """Return variance and excess kurtosis of all products of sets, (sets of the first axis, of the second, ...)."""
        powers = [_powers(axis, each) for axis, each in zip(self.axes, selections, strict=True)]
        fourths = self.kurtosis * self.variances**2
        pairs = ((self.variances, [two for two, _ in powers]), (fourths, [four for _, four in powers]))
        second, fourth = (_product(cumulants, factors) for cumulants, factors in pairs)
        return moments_of(second, fourth)

    def of_last_axis(self, selections: Sequence[Selection]) -> tuple[Floats, Floats]:
        """Return variance and excess kurtosis of the noise in each measurement of the last axis, for one set of others.

        The noise of a sum along the other axes is independent in each measurement of the last one, because each of them
        takes the noise of other measurements.

        Parameters
        ----------
        selections : sequence of Selection
            One set along each axis but the last.
        """
        powers = [_powers(axis, each) for axis, each in zip(self.axes[:-1], selections, strict=True)]
        fourths = self.kurtosis * self.variances**2
        pairs = ((self.variances, [two for two, _ in powers]), (fourths, [four for _, four in powers]))
        second, fourth = (_product(cumulants, factors).ravel() for cumulants, factors in pairs)
        return moments_of(second, fourth)

    def level_variances(self) -> Floats:
        """Return the mean variance over all products of parts, (levels of the first axis, of the second, ...)."""
        return _product(self.variances, [axis.level_variances() for axis in self.axes])

    @property
    def by_cell(self) -> bool:
        """Whether each cell was measured by itself and nothing else was, so that noise comes in whole steps."""
        return all(axis.is_identity for axis in self.axes)

    def in_steps(self, selections: Sequence[Selection]) -> Booleans:
        """Whether the noise of all products of these sets is a whole multiple of the step."""
        return self.by_cell & ~cut_sets(selections)


def cut_sets(selections: Sequence[Selection]) -> Booleans:
    """Whether each product of sets holds shares of cells, (sets of the first axis, sets of the second, ...)."""
    cut = np.zeros((), dtype=bool)
    for each in selections:
        cut = np.logical_or.outer(cut, each.cut)
    return cut


def _product(cumulants: Floats, factors: Sequence[Floats]) -> Floats:
    """Return Σ cumulants[g, h, ...] P_1[g, i] P_2[h, j] ... over the groups, as an array over i, j, ..."""
    for factor in factors:  # each step takes the first axis of groups away and puts sets last
        cumulants = np.tensordot(cumulants, factor, axes=(0, 0))
    return np.maximum(cumulants, 0.0)


def _powers(axis: TreeAxis, selection: Selection) -> tuple[Floats, Floats]:
    """Return the sums of squares and fourth powers of an axis' weights in each set, each (groups, sets)."""
    if axis.is_identity:
        shares = np.ones(selection.cells.size) if selection.shares is None else selection.shares
        owner = np.repeat(np.arange(selection.count), selection.sizes)
        two, four = (np.bincount(owner, shares**power, selection.count).astype(np.float64) for power in (2, 4))
        return two[None, :], four[None, :]
    if selection.nodes is not None:
        squares, fourths = axis.node_powers
        return squares[:, selection.nodes], fourths[:, selection.nodes]
    return axis.powers(_dense(axis, selection))


def _dense(axis: TreeAxis, selection: Selection) -> Iterator[Floats]:
    step = max(1, _AT_ONCE // axis.shape.n_nodes)
    for first in range(0, selection.count, step):
        yield selection.rows(first, min(first + step, selection.count))
