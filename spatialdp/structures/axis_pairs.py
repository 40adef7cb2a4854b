"""Products of a transform along x and one along y."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.estimates.grid_noise import NoiseModel, SeparableNoise
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.space.domain import Grid
from spatialdp.structures.base import GridStructure, Laws, noise_of
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
    def groups(self) -> tuple[str, ...]:
        """Pairs, the y group changing fastest."""
        return tuple(f"coefficients of x group {i}, y group {j}" for i, j in self._pairs)

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """A product over the axes: the largest one in any of the region's cells.

        Replacing a record takes one away and adds another. That is twice the L1 norm; the squared L2 norm doubles, or,
        if the two can enter a measurement with opposite signs, is four times as large. Where all cells look alike it is
        the same as removing a record, which then leaves the domain.
        """
        (i, j), x, y = self._pairs[group], self.x, self.y
        l1, l2_squared = (
            _largest_product(along, across, self.grid.mask)
            for along, across in zip(y.column_norms(j), x.column_norms(i), strict=True)
        )
        if neighbours is Neighbours.ADD_REMOVE or (x.constant[i] and y.constant[j]):
            return Sensitivity(l1, l2_squared)
        signed = (x.signed and not x.constant[i]) or (y.signed and not y.constant[j])
        return Sensitivity(2 * l1, (4 if signed else 2) * l2_squared)

    def measure(self, counts: Integers) -> Iterator[Integers]:
        """Views of one table of coefficients."""
        table = forward(counts, (self.x, self.y))
        return (table[part] for part in self._parts)

    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - the pairs are fitted one by one
        """The inverse, or least squares along each axis."""
        table = np.empty((self.y.n_coefficients, self.x.n_coefficients))
        for part, values in zip(self._parts, noisy, strict=True):
            table[part] = values
        return inverse(table, (self.x, self.y))

    def noise_model(self, laws: Laws) -> NoiseModel:
        """The weight of a measurement in a box is a product over the axes."""
        shape = self.x.n_groups, self.y.n_groups
        return SeparableNoise(self.x, self.y, *(moments.reshape(shape) for moments in noise_of(laws)))

    def mean_squares(self) -> Floats:
        """Mean over all boxes of the sum of squares of each group's weights."""
        return np.outer(_mean_squares(self.x), _mean_squares(self.y)).ravel()

    @property
    def memory(self) -> int:
        """Of tables of coefficients."""
        return 5 * 8 * self.x.n_coefficients * self.y.n_coefficients

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(product(range(self.x.n_groups), range(self.y.n_groups)))

    @property
    def _parts(self) -> list[tuple[slice, slice]]:
        """Rows and columns of each group in the table of coefficients."""
        return [(rows, columns) for columns, rows in product(self.x.groups, self.y.groups)]


def _largest_product(rows: Integers, columns: Integers, mask: Booleans) -> int:
    """Over the cells of a mask, (rows, columns)."""
    if mask.all() or (rows.min() == rows.max() and columns.min() == columns.max()):
        return int(rows.max()) * int(columns.max())
    in_row = np.where(mask, columns, 0).max(axis=1)
    return int((rows.astype(object) * in_row).max())


@lru_cache(maxsize=32)
def _mean_squares(axis: AxisTransform) -> Floats:
    """Kept, as it takes longer than a release."""
    return axis.mean_squares()


def forward(counts: Integers, axes: tuple[AxisTransform, AxisTransform]) -> Integers:
    """(y coefficients, x coefficients) of an array of (rows, columns)."""
    return axes[1].forward(axes[0].forward(counts).T).T


def inverse(coefficients: Floats, axes: tuple[AxisTransform, AxisTransform]) -> Floats:
    """Estimates of the cells (rows, columns) from (y coefficients, x coefficients)."""
    return axes[0].inverse(axes[1].inverse(coefficients.T).T)
