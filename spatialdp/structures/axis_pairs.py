"""How does a pair of axis transforms measure a grid? By products of measurements along x and along y.

The sensitivity of a product follows from the column norms of both axes, over the region's cells. This
module sees counts, never records, and draws no noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.grid_noise import NoiseModel, SeparableNoise
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.space.domain import Grid
from spatialdp.structures.base import GridStructure, Laws, noise_of, step_of
from spatialdp.transforms.axis import AxisTransform

__all__ = ["AxisPairs", "forward", "inverse"]


@dataclass(frozen=True, eq=False)
class AxisPairs(GridStructure):
    """Products of a transform along x and one along y; every pair of an x group and a y group is a group.

    Attributes
    ----------
    grid : Grid
    x, y : AxisTransform
    """

    grid: Grid
    x: AxisTransform
    y: AxisTransform

    @cached_property
    @override
    def groups(self) -> tuple[str, ...]:
        # The y group changes fastest.
        return tuple(f"coefficients of x group {i}, y group {j}" for i, j in self._pairs)

    @override
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """How far one record can move a group: the largest product of column norms over the region's cells.

        Replacing a record removes one and adds another. That doubles the L1 norm. The squared L2 norm
        doubles as well, or is four times as large if the two records can enter a measurement with
        opposite signs. Where the group is the same for all cells (`constant`), replacing a record can
        only change it by a record that leaves or enters the domain, as in adding or removing.
        """
        (i, j), x, y = self._pairs[group], self.x, self.y
        l1, l2_squared = (
            _largest_product(along, across, self.grid.mask)
            for along, across in zip(y.column_norms(j), x.column_norms(i), strict=True)
        )
        if neighbours is Neighbours.ADD_REMOVE or (x.constant[i] and y.constant[j]):
            return Sensitivity(l1, l2_squared)
        return Sensitivity(2 * l1, (4 if self._signed(group) else 2) * l2_squared)

    @override
    def once_each(self, group: int, neighbours: Neighbours, most: int) -> int:
        """Bound the squared L2 norm for a person who is counted once in each of `most` cells.

        Where each cell enters one coefficient, by ±1, the norm is largest if the person's cells fill coefficients with
        one sign. Elsewhere ‖Ac‖² is a sum over pairs of the person's cells of what they have in common, at most `most`
        times the largest sum over `most` cells of what they have in common with one cell.
        """
        (i, j), x, y = self._pairs[group], self.x, self.y
        along, across = x.cells_together(i), y.cells_together(j)
        if along is None or across is None:
            moved = most * _largest_sum(x.overlaps(i), y.overlaps(j), most)
        else:
            together = max(along * across // (2 if self._signed(group) else 1), 1)
            filled, rest = divmod(most, together)
            moved = filled * together**2 + rest**2
        if neighbours is Neighbours.ADD_REMOVE or (x.constant[i] and y.constant[j]):
            return moved
        return (4 if self._signed(group) else 2) * moved

    def _signed(self, group: int) -> bool:
        """Whether two cells can enter a measurement of a group with opposite signs."""
        i, j = self._pairs[group]
        return (self.x.signed and not self.x.constant[i]) or (self.y.signed and not self.y.constant[j])

    @override
    def measure(self, counts: Integers) -> Iterator[Integers]:
        table = forward(counts, (self.x, self.y))
        return (table[part] for part in self._parts)  # views

    @override
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - each axis fits with equal weights
        table = np.empty((self.y.n_coefficients, self.x.n_coefficients))
        for part, values in zip(self._parts, noisy, strict=True):
            table[part] = values
        return inverse(table, (self.x, self.y))

    @override
    def noise_model(self, laws: Laws) -> NoiseModel:
        shape = self.x.n_groups, self.y.n_groups
        variances, kurtosis = (moments.reshape(shape) for moments in noise_of(laws))
        return SeparableNoise(self.x, self.y, variances, kurtosis, step_of(laws))

    def mean_squares(self) -> Floats:
        """Mean over all boxes of the sum of squares of each group's weights, (groups,)."""
        return np.outer(_mean_squares(self.x), _mean_squares(self.y)).ravel()

    @property
    @override
    def memory(self) -> int:
        return 5 * 8 * self.x.n_coefficients * self.y.n_coefficients

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(product(range(self.x.n_groups), range(self.y.n_groups)))

    @property
    def _parts(self) -> list[tuple[slice, slice]]:
        """Rows and columns of each group in the table of coefficients."""
        return [(rows, columns) for columns, rows in product(self.x.groups, self.y.groups)]


def _largest_product(rows: Integers, columns: Integers, mask: Booleans) -> int:
    """The largest product of a row's and a column's number over the cells of a mask, (rows, columns)."""
    if mask.all() or (rows.min() == rows.max() and columns.min() == columns.max()):
        return int(rows.max()) * int(columns.max())
    in_row = np.where(mask, columns, 0).max(axis=1)
    return int((rows.astype(object) * in_row).max())


def _largest_sum(x: Floats, y: Floats, most: int) -> int:
    """The sum of the `most` largest products of a number of x and a number of y, rounded up.

    If the first n numbers of x add up to at least those of every row of a matrix along x, for all n, and likewise for
    y, then the sum is at least that of any `most` products of a row's and a column's numbers: a sum of the largest
    products grows with both, and with how unequal their numbers are.
    """
    products = np.outer(x, y).ravel()
    largest = products if most >= products.size else np.partition(products, products.size - most)[-most:]
    return math.ceil(float(largest.sum()) * (1 + 1e-9))  # far above the error of sums of doubles


@lru_cache(maxsize=32)
def _mean_squares(axis: AxisTransform) -> Floats:
    """Mean squares of an axis; cached, because computing them takes longer than a release."""
    return axis.mean_squares()


def forward(counts: Integers, axes: tuple[AxisTransform, AxisTransform]) -> Integers:
    """Exact coefficients of counts along both axes: from (rows, columns) to (y coefficients, x coefficients)."""
    return axes[1].forward(axes[0].forward(counts).T).T


def inverse(coefficients: Floats, axes: tuple[AxisTransform, AxisTransform]) -> Floats:
    """Estimates of the cells along both axes: from (y coefficients, x coefficients) to (rows, columns)."""
    return axes[0].inverse(axes[1].inverse(coefficients.T).T)
