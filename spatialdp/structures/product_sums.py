"""What is measured of a table? Sums over products of parts: a county in an hour, a state on a day of one kind.

Each axis of the table has a transform (`transforms.tree_axis`), whose groups are its levels. A group of the table is a
group of each axis, and its measurements are the products. A record is in one cell, hence in at most one measurement of
each group: it moves a group by 1. Where leaves lie above the lowest level, or zones are their parent's only part,
groups exclude each other: every cell is in groups that cost the whole budget together, whichever these are
(``docs/design/frames.md``). This module sees counts, never records, and draws no noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.tables.noise import TableNoise
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.space.frames.frame import Frame
from spatialdp.structures.base import Laws, Structure, noise_of, step_of
from spatialdp.transforms.tree_axis import TreeAxis

__all__ = ["ProductSums"]


@dataclass(frozen=True, eq=False)
class ProductSums(Structure):
    """Sums over products of parts of the axes of a frame.

    Attributes
    ----------
    frame : Frame
    axes : tuple of TreeAxis
        The transform of each axis, in the order of arrays: space last.
    """

    frame: Frame
    axes: tuple[TreeAxis, ...]

    @property
    @override
    def n_cells(self) -> int:
        return self.frame.n_cells

    @cached_property
    def group_numbers(self) -> tuple[tuple[int, ...], ...]:
        """The group of each axis, for each group of the table; that of the last axis changes fastest."""
        return tuple(product(*(range(axis.n_groups) for axis in self.axes)))

    @cached_property
    @override
    def groups(self) -> tuple[str, ...]:
        return tuple(self._named([axis.spanned[g] for axis, g in self._pairs(group)]) for group in self.group_numbers)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """Share of the budget of each group: the product of its axes' shares."""
        groups = (self._pairs(group) for group in self.group_numbers)
        return tuple(prod((axis.group_shares[g] for axis, g in pairs), start=Fraction(1)) for pairs in groups)

    def steps(self, whole: Fraction) -> dict[str, Fraction]:
        """Return the cost of each product of levels; these add up to the whole, and so do the groups of every cell."""
        levels = [[(level, share) for level, share in enumerate(axis.shares) if share] for axis in self.axes]
        return {
            self._named([(level, level) for level, _ in step]): whole * prod((s for _, s in step), start=Fraction(1))
            for step in product(*levels)
        }

    def _named(self, spans: list[tuple[int, int]]) -> str:
        """Return the name of a product of levels, space first."""
        names = {}
        for (name, axis), (first, last) in zip(self.frame.axes.items(), spans, strict=True):
            levels = axis.names
            names[name] = levels[first] if first == last else f"{levels[first]} to {levels[last]}, one part"
        return "counts of " + " x ".join(names[name] for name in self.frame.names)

    def _pairs(self, group: tuple[int, ...]) -> list[tuple[TreeAxis, int]]:
        return list(zip(self.axes, group, strict=True))

    # --- sensitivities -----------------------------------------------------------------------------

    @override
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """How far one record can move a group: the product of what it moves along each axis, which is 1.

        Replacing a record takes it out of one measurement and puts it into another, unless the group is the total: then
        a record can only enter or leave. (A single measurement that is not the total still counts twice, because a
        record that leaves it pays for other groups where it arrives.)
        """
        pairs = self._pairs(self.group_numbers[group])
        l1 = prod(axis.sensitivities[g].l1 for axis, g in pairs)
        l2_squared = prod(axis.sensitivities[g].l2_squared for axis, g in pairs)
        if neighbours is Neighbours.ADD_REMOVE or self._cells_together(group) == self.frame.n_cells:
            return Sensitivity(l1, l2_squared)
        return Sensitivity(2 * l1, 2 * l2_squared)

    @override
    def in_cells(self, group: int, neighbours: Neighbours, most: int) -> int:
        """Bound the squared L2 norm for a person who is counted once in each of `most` cells.

        No measurement has more than min(L, s) of the L cells, s being the most cells of one measurement: L min(L, s).
        This holds group by group and along every path (`TreeLevels.path_sensitivity` has the argument).
        """
        return most * min(most, self._cells_together(group)) * self.sensitivity(group, neighbours).l2_squared

    def _cells_together(self, group: int) -> int:
        """Return the most cells in one measurement of a group."""
        return prod(axis.largest[g] for axis, g in self._pairs(self.group_numbers[group]))

    # --- measuring and fitting ---------------------------------------------------------------------

    @override
    def measure(self, counts: Integers) -> Iterator[Integers]:
        groups = [counts]
        for place, axis in enumerate(self.axes):
            groups = [part for group in groups for part in _forward(axis, group, place)]
        return iter(groups)

    @override
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - the shares are the weights
        groups = list(noisy)
        for place, axis in reversed(list(enumerate(self.axes))):
            starts = range(0, len(groups), axis.n_groups)
            groups = [_inverse(axis, groups[start : start + axis.n_groups], place) for start in starts]
        return groups[0]

    @override
    def estimate(self, values: Floats, laws: Laws) -> TableCounts:
        shape = tuple(axis.n_groups for axis in self.axes)
        variances, kurtosis = (moments.reshape(shape) for moments in noise_of(laws))
        return TableCounts(self.frame, values, TableNoise(self.axes, variances, kurtosis, step_of(laws)))

    @override
    def blank(self, laws: Laws) -> TableCounts:
        return self.estimate(np.broadcast_to(0.0, self.frame.shape), laws)

    @property
    @override
    def memory(self) -> int:
        return 8 * (2 * self.frame.n_cells + 3 * prod(axis.n_coefficients for axis in self.axes))


def _forward(axis: TreeAxis, counts: Integers, place: int) -> list[Integers]:
    """Return the measurements of each group of an axis, which has the given place in the array."""
    if axis.is_identity:
        return [counts]
    groups = axis.forward(np.ascontiguousarray(np.moveaxis(counts, place, -1)))
    return [np.moveaxis(group, -1, place) for group in groups]


def _inverse(axis: TreeAxis, groups: list[Floats], place: int) -> Floats:
    """Return the fitted cells of an axis, from the measurements of its groups."""
    if axis.is_identity:
        return groups[0]
    turned = [np.ascontiguousarray(np.moveaxis(group, place, -1)) for group in groups]
    return np.moveaxis(axis.inverse(turned), -1, place)
