"""How is one axis measured by the sums over the parts of a tree, and fitted back? By passes along the last axis.

The cells of the axis are the leaves of a tree, and its levels may be measured: states, counties and tracts; days and
hours; groups of categories. Each measured node has the share of the budget of the levels that it stands for. A leaf
above the lowest level stands for all levels below it too, so that the shares on every path from the root to a leaf add
up to the whole. `forward` sums exact counts over families; `inverse` is the least-squares fit of `trees.least_squares`,
for all rows of an array at once: the weights of the fit are the same for all rows, because they follow from the shares.
In its symbols,

    s      variance of a measurement relative to that with the whole budget: share^-2 (Laplace) or share^-1 (Gaussian)
    V, VS  variance of the best estimate from the measurements at and below a node, and its sum over the children
    U      variance of the best estimate from everything outside a node's subtree
    w      V / s, the weight of a node's own measurement; 1 - w that of its children's sum

This module knows no budget in ε and reads no record. Everything before the noise is exact integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.trees.shape import TreeShape, sums

__all__ = ["TreeAxis"]

_AT_ONCE = 2**18  # numbers of a chunk of rows, so that work arrays stay in the processor's cache


@dataclass(frozen=True, eq=False)
class TreeAxis:
    """Sums over the parts of a public tree, as the transform of one axis of a table.

    Attributes
    ----------
    shape : TreeShape
        Its leaves are the cells of the axis.
    shares : tuple of Fraction
        Share of the budget of each level, the root first; they add up to 1. A level of share 0 is not measured. The
        lowest level must be.
    power : int
        How the variance falls with the budget: 2 for Laplace noise, 1 for Gaussian noise.
    spans : (2, nodes) int array, optional
        The first and the last level that each node stands for; by default its own, and for a leaf all below it.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> axis = TreeAxis(TreeShape([0, 1, 3], [2, 0, 0]), (half, half), 2)
    >>> [group.tolist() for group in axis.forward(np.array([[3, 4]]))]
    [[[7]], [[3, 4]]]
    >>> axis.inverse([np.array([[10.0]]), np.array([[3.0, 4]])]).tolist()
    [[4.0, 5.0]]
    """

    shape: TreeShape
    shares: tuple[Fraction, ...]
    power: int
    spans: Integers | None = None

    def __post_init__(self) -> None:
        if len(self.shares) != self.n_levels or sum(self.shares) != 1 or min(self.shares) < 0 or not self.shares[-1]:
            raise ParameterError(
                "the shares of an axis must be one for each level, not negative, with that of the cells above 0, and "
                "add up to 1; give such shares."
            )

    @property
    def n_levels(self) -> int:
        """Number of levels that nodes stand for."""
        return self.shape.height + 1 if self.spans is None else int(self.spans[1].max()) + 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.shape.n_leaves

    # --- groups ------------------------------------------------------------------------------------

    @cached_property
    def _spans(self) -> Integers:
        if self.spans is not None:
            return self.spans
        depth = self.shape.depth.astype(np.int64)
        return np.stack([depth, np.where(self.shape.leaves, self.shape.height, depth)])

    @cached_property
    def spanned(self) -> tuple[tuple[int, int], ...]:
        """The first and the last measured level that the nodes of each group stand for."""
        codes = np.unique(self._codes[self._codes >= 0])
        return tuple((int(code) // self.n_levels, int(code) % self.n_levels) for code in codes)

    @cached_property
    def group_shares(self) -> tuple[Fraction, ...]:
        """Share of the budget of each group."""
        return tuple(self._share(pair) for pair in self.spanned)

    @cached_property
    def group(self) -> Integers:
        """The group of each node; -1 for nodes that are not measured."""
        number = np.full(self.n_levels**2 + 1, -1)  # the last one is for nodes that are not measured
        for place, (first, last) in enumerate(self.spanned):
            number[first * self.n_levels + last] = place
        return number[self._codes]

    @cached_property
    def order(self) -> Integers | None:
        """The nodes in the order of their measurements, group by group; None if these are all nodes, as numbered."""
        (measured,) = np.nonzero(self.group >= 0)
        order = measured[np.argsort(self.group[measured], kind="stable")]
        return None if np.array_equal(order, np.arange(self.shape.n_nodes)) else order

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """The measurements of each group, as slices."""
        ends = np.cumsum(np.bincount(self.group[self.group >= 0], minlength=len(self.spanned))).tolist()
        return tuple(slice(start, stop) for start, stop in zip([0, *ends], ends, strict=False))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.spanned)

    @property
    def n_coefficients(self) -> int:
        """Number of measurements."""
        return int(self.groups[-1].stop)

    @cached_property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """How far one record moves each group: by one measurement, because its nodes do not overlap."""
        return (Sensitivity(1, 1),) * self.n_groups

    @cached_property
    def largest(self) -> tuple[int, ...]:
        """The most cells in one measurement of each group."""
        cells = sums(self.shape, np.ones(self.size, dtype=np.int64))
        return tuple(int(cells[self.group == number].max()) for number in range(self.n_groups))

    @cached_property
    def _codes(self) -> Integers:
        """A number for the first and the last measured level that each node stands for; -1 if there is none."""
        measured = np.flatnonzero([share > 0 for share in self.shares])
        first = np.searchsorted(measured, self._spans[0])
        last = np.searchsorted(measured, self._spans[1], side="right") - 1
        codes = measured[np.minimum(first, measured.size - 1)] * self.n_levels + measured[last]
        return np.where(first <= last, codes, -1)

    def _share(self, span: tuple[int, int]) -> Fraction:
        return sum(self.shares[span[0] : span[1] + 1], Fraction(0))

    # --- forward and back --------------------------------------------------------------------------

    @cached_property
    def is_identity(self) -> bool:
        """Whether just the cells are measured, so that there is nothing to transform."""
        return self.order is not None and np.array_equal(self.order, np.flatnonzero(self.shape.leaves))

    def forward(self, counts: Integers) -> list[Integers]:
        """Return the exact measurements of each group, along the last axis of exact counts."""
        if self.is_identity:
            return [counts]
        if self._measured_depths is not None:
            levels = {self.shape.height: counts}
            for depth in reversed(range(min(self._measured_depths), self.shape.height)):
                levels[depth] = self.shape.family_sums(depth, levels[depth + 1])
            return [levels[depth] for depth in self._measured_depths]
        totals = sums(self.shape, counts)
        ordered = totals if self.order is None else totals[..., self.order]
        return [ordered[..., part] for part in self.groups]

    def inverse(self, groups: Sequence[Floats]) -> Floats:
        """Return the least-squares estimates of the cells, from noisy measurements of each group along the last axis.

        The arrays may be overwritten.
        """
        if self.is_identity:
            return groups[0]
        shape = groups[0].shape[:-1]
        rows = [group.reshape(-1, group.shape[-1]) for group in groups]
        cells = rows[-1] if self._measured_depths is not None else np.empty((rows[0].shape[0], self.size))
        for part in _chunks(rows[0].shape[0], self.shape.n_nodes):
            levels = self._levels([group[part] for group in rows])
            self._settle(levels, self._merge(levels))
            if self._measured_depths is None:
                cells[part] = self._leaves_of(levels)
        return cells.reshape(*shape, self.size)

    @cached_property
    def _measured_depths(self) -> tuple[int, ...] | None:
        """The depths that are the groups, if each group is one whole depth and all leaves are on the lowest one."""
        lowest = self.shape.level(self.shape.height)
        depths = [int(self.shape.depth[self.group == number].min()) for number in range(self.n_groups)]
        of_depth = np.full(self.shape.height + 1, -1)
        of_depth[depths] = np.arange(self.n_groups)
        whole = np.array_equal(of_depth[self.shape.depth], self.group)
        return tuple(depths) if whole and self.size == lowest.stop - lowest.start else None

    def _levels(self, groups: list[Floats]) -> list[Floats | None]:
        """Return the measurements of each depth, of some rows; None for a depth without any."""
        levels: list[Floats | None] = [None] * (self.shape.height + 1)
        if self._measured_depths is not None:
            for depth, group in zip(self._measured_depths, groups, strict=True):
                levels[depth] = group
            return levels
        nodes = np.zeros((groups[0].shape[0], self.shape.n_nodes))
        nodes[:, slice(None) if self.order is None else self.order] = np.concatenate(groups, axis=1)
        return [nodes[:, self.shape.level(depth)] for depth in range(self.shape.height + 1)]

    def _merge(self, levels: list[Floats | None]) -> list[Floats]:
        """Go up: replace measurements by the best estimates from them and from below; return the sums from below."""
        child_sums: list[Floats] = [np.empty(0)] * self.shape.height
        for depth in reversed(range(self.shape.height)):
            below, level = levels[depth + 1], levels[depth]
            assert below is not None
            summed = self.shape.family_sums(depth, below)
            if level is None:
                levels[depth] = summed.copy()
            else:
                level -= summed
                level *= self._own[self.shape.level(depth)]
                level += summed
            child_sums[depth] = summed
        return child_sums

    def _settle(self, levels: list[Floats | None], child_sums: list[Floats]) -> None:
        """Go down: divide what the children of each node lack, or have too much, in proportion to their variances."""
        for depth, summed in enumerate(child_sums):
            level, below = levels[depth], levels[depth + 1]
            assert level is not None
            assert below is not None
            change = self.shape.to_children(depth, level - summed)
            change *= self._parts[self.shape.level(depth + 1)]
            below += change

    def _leaves_of(self, levels: list[Floats | None]) -> Floats:
        nodes = np.concatenate([level for level in levels if level is not None], axis=1)
        return nodes[:, self._leaves]

    @cached_property
    def _leaves(self) -> slice | Integers:
        """The leaves among the nodes; a slice if all are on the lowest level."""
        lowest = self.shape.level(self.shape.height)
        return lowest if self.size == lowest.stop - lowest.start else np.flatnonzero(self.shape.leaves)

    @property
    def own_weights(self) -> Floats:
        """The weight w of each node's own measurement; 1 for leaves, 0 for nodes that are not measured."""
        return self._own

    @property
    def family_shares(self) -> Floats:
        """Share of each node in what its family lacks, or has too much; 1 for the root."""
        return self._parts

    # --- variances ---------------------------------------------------------------------------------

    @cached_property
    def _measured(self) -> Floats:
        """S of each node."""
        shares = np.array([float(share) for share in self.group_shares] + [0.0])
        with np.errstate(divide="ignore"):
            return np.asarray(shares[self.group] ** -float(self.power))

    @cached_property
    def _up(self) -> tuple[Floats, Floats]:
        """V of each node, and VS, which is infinite for leaves."""
        up, below = self._measured.copy(), np.full(self.shape.n_nodes, np.inf)
        for depth in reversed(range(self.shape.height)):
            level = self.shape.level(depth)
            below[level] = self.shape.family_sums(depth, up[self.shape.level(depth + 1)], empty=np.inf)
            up[level] = _parallel(up[level], below[level])
        return up, below

    @cached_property
    def _own(self) -> Floats:
        """W of each node."""
        return np.asarray(self._up[0] / self._measured)

    @cached_property
    def _parts(self) -> Floats:
        """V / VS of each node, with the VS of its parent; 1 for the root."""
        up, below = self._up
        parts = np.ones(self.shape.n_nodes)
        for depth in range(self.shape.height):
            children = self.shape.level(depth + 1)
            parts[children] = up[children] / self.shape.to_children(depth, below[self.shape.level(depth)])
        return parts

    def weights(self, cells: Floats) -> Floats:
        """Return the weights of the measurements in weighted sums of cells: (sums, cells) to (sums, measurements).

        They are the transposed inverse: with A the share of each node's estimate in a sum, and g the weight of its
        best estimate from below, g of a child is A - A of the parent + (1 - w) g of the parent.
        """
        if self.is_identity:
            return cells
        share = np.zeros((cells.shape[0], self.shape.n_nodes))  # A
        share[:, self._leaves] = cells
        for depth in reversed(range(self.shape.height)):
            children = self.shape.level(depth + 1)
            level = share[:, self.shape.level(depth)]
            level += self.shape.family_sums(depth, share[:, children] * self._parts[children])
        weight = share.copy()  # g
        for depth in range(self.shape.height):
            above, children = self.shape.level(depth), self.shape.level(depth + 1)
            passed = (1 - self._own[above]) * weight[:, above] - share[:, above]
            weight[:, children] += self.shape.to_children(depth, passed)
        weight *= self._own
        return weight if self.order is None else weight[:, self.order]

    def powers(self, sets: Iterator[Floats]) -> tuple[Floats, Floats]:
        """Return the sums of squares and of fourth powers of the weights in sums of cells, each (groups, sums).

        Parameters
        ----------
        sets : iterator of (sums, cells) arrays
            Weights of the cells, some sums at a time.
        """
        starts = [part.start for part in self.groups]
        squares, fourths = [], []
        for cells in sets:
            weights = self.weights(cells)
            weights = weights * weights
            squares.append(np.add.reduceat(weights, starts, axis=1).T)
            weights *= weights
            fourths.append(np.add.reduceat(weights, starts, axis=1).T)
        empty = np.zeros((self.n_groups, 0))
        return np.concatenate([empty, *squares], axis=1), np.concatenate([empty, *fourths], axis=1)

    @cached_property
    def node_powers(self) -> tuple[Floats, Floats]:
        """The same for the estimates of all nodes, each (groups, nodes), in two passes over the tree.

        The estimate of a node is that from below (weight U / (U + V)) and that from outside (V / (U + V)), which have
        no measurement in common. The estimate of a child from outside is that of its parent from its own measurement
        and from outside, less the estimates of the siblings from below.
        """
        return self._node_squares, self._node_powers(4)

    @cached_property
    def _node_squares(self) -> Floats:
        return self._node_powers(2)

    def _node_powers(self, power: int) -> Floats:
        up, from_below = self._up[0], self._powers_below(power)
        above, outside = np.full(self.shape.n_nodes, np.inf), np.zeros_like(from_below)  # U, and its powers
        for depth in range(self.shape.height):
            level, children = self.shape.level(depth), self.shape.level(depth + 1)
            own = _parallel(self._measured[level], above[level])
            passed = outside[:, level] * _ratio(own, above[level]) ** power
            passed += self._indicator[:, level] * _ratio(own, self._measured[level]) ** power
            siblings = self.shape.family_sums(depth, up[children])
            above[children] = self.shape.to_children(depth, own + siblings) - up[children]
            passed += self.shape.family_sums(depth, from_below[:, children])
            outside[:, children] = self.shape.to_children(depth, passed) - from_below[:, children]
        both = _parallel(up, above)
        np.maximum(outside, 0.0, out=outside)  # rounding errors of the differences above
        return from_below * _ratio(both, up) ** power + outside * _ratio(both, above) ** power

    def _powers_below(self, power: int) -> Floats:
        """Return the sums of powers of the weights in the estimates from below, (groups, nodes)."""
        powers = self._indicator * self._own**power
        for depth in reversed(range(self.shape.height)):
            level = self.shape.level(depth)
            below = self.shape.family_sums(depth, powers[:, self.shape.level(depth + 1)])
            powers[:, level] += below * (1 - self._own[level]) ** power
        return powers

    @cached_property
    def _indicator(self) -> Floats:
        """1 for the group of each node, (groups, nodes)."""
        return np.asarray(self.group == np.arange(self.n_groups)[:, None], dtype=np.float64)

    def level_variances(self) -> Floats:
        """Return the mean over the nodes of each level of each group's squares, (groups, levels).

        A node counts at each level that it stands for. Multiplied by the variances of the groups, and added up, it is
        the mean variance of the estimates of a level.
        """
        squares = self._node_squares
        first, last = self._spans
        inside = [(first <= level) & (level <= last) for level in range(self.n_levels)]
        return np.stack([squares[:, nodes].mean(axis=1) for nodes in inside], axis=1)


def _parallel(one: Floats, other: Floats) -> Floats:
    """Return 1 / (1 / a + 1 / b), also if a or b is infinite."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (1.0 / one + 1.0 / other))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, 0 if the whole is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(whole), 0.0, part / whole)


def _chunks(rows: int, width: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // width)
    return (slice(start, start + step) for start in range(0, rows, step))
