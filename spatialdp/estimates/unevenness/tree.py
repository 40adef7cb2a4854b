"""How uneven are records within the leaves of a tree? As uneven as released children are within their parents.

Leaves of a kd-tree are large where records are few, and a large leaf beside a town has its records on
the town's side. So whole edges of a box err together. What the nodes one level above the leaves would
have answered shows in which direction: the difference E between their answer and the leaves' is a sample
of the error that the leaves still have. Part of it is taken off the answer (`Allowance.shift`), and the
rest widens the interval. So does the contrast between a query and the leaves that it cuts (`contrast`).
The formulas and their measured coverage are in ``docs/design/unevenness.md``.

Everything here is computed from released numbers and public variances, so it costs nothing. The
explorer's ``uneven.mjs`` computes the same in the browser and must change with this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, even_points
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.estimates.unevenness.contrast import contrast_variance
from spatialdp.estimates.unevenness.leaf_lines import LeafLines, edge_length
from spatialdp.estimates.unevenness.shrinkage import (
    PRIOR,
    cell_weights,
    expected_squares,
    extrapolated,
    grown,
    heterogeneity,
    posterior,
    small_box,
)
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.boxes.walk import area_shares
from spatialdp.space.lattice import LATTICE
from spatialdp.space.regions.borders import RegionArea
from spatialdp.trees.pairs import Pairs
from spatialdp.trees.shape import sums as node_sums

__all__ = ["TreeUnevenness", "calibration_boxes"]

_CALIBRATION_BOXES = 600
_SHORTEST, _LONGEST = 0.01, 0.8  # sides of the calibration boxes, as shares of the domain's
_DEPTHS = 3  # depths above the leaves from which the growth is estimated

Walk = Callable[[Integers], Sequence[Pairs]]


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """Released counts of the nodes of a tree, made consistent, and what is known of their families.

    Attributes
    ----------
    tree : Tree
    values : (nodes,) array
    share : (nodes,) array
        Share of the parent's area that a node has; 1 for the root.
    area : (nodes,) array
        Share of the root's area that a node has.
    deviation_variance : (nodes,) array
        Variance of the noise in a node's count minus its share of the parent's count.
    four, half : (height,) arrays
        Heterogeneity of the families of each depth: of the children, and per halving of the area.
    squares, firsts : (nodes,) arrays
        Expected squared counts and expected counts.
    """

    tree: Tree
    values: Floats
    share: Floats
    area: Floats
    deviation_variance: Floats
    four: Floats
    half: Floats
    squares: Floats
    firsts: Floats

    @classmethod
    def of(cls, tree: Tree, values: Floats, variances: Floats, area: RegionArea | None) -> NodeCounts:
        """Estimate heterogeneities from the root down, and from them the expected squares of all nodes.

        Parameters
        ----------
        tree : Tree
        values, variances : (nodes,) arrays
            Consistent estimates, and the variances of their noise.
        area : RegionArea, optional
        """
        share = area_shares(tree, area)
        above = variances[tree.parent]
        fan_out = np.maximum(tree.n_children[tree.parent], 1)
        deviation = np.maximum(0.0, variances + share**2 * above - 2 * share * above / fan_out)
        deviation[0] = 0.0
        four = _heterogeneities(tree, values, variances, share, deviation)
        half = np.sqrt(1 + 3 * four) - 1
        squares, firsts = _expected(tree, values, variances, share, four)
        return cls(tree, values, share, _areas(tree, share), deviation, four, half, squares, firsts)

    def within(self) -> Floats:
        """Heterogeneity within each node if it is a leaf, extrapolated from the families above it, (nodes,)."""
        by_depth = np.full(self.tree.height + 1, PRIOR)
        for depth in range(1, self.tree.height + 1):
            finest = float(self.half[depth - 1])
            by_depth[depth] = extrapolated(finest, float(self.half[max(depth - 2, 0)]))
        return by_depth[self.tree.depth]


def _areas(tree: Tree, share: Floats) -> Floats:
    """Share of the root's area that each node has, from shares of the parents'."""
    result = share.copy()
    for depth in range(tree.height):
        below = tree.level(depth + 1)
        result[below] *= result[tree.parent[below]]
    return result


def _heterogeneities(tree: Tree, values: Floats, variances: Floats, share: Floats, deviation: Floats) -> Floats:
    """Variance of the children's shares of their parents' records, over share (1 - share), for each depth."""
    result, prior = np.full(max(tree.height, 1), PRIOR), PRIOR
    for depth in range(tree.height):
        child = np.arange(tree.n_nodes)[tree.level(depth + 1)]
        count, noise = values[tree.parent[child]], variances[tree.parent[child]]
        binomial = share[child] * (1 - share[child])
        difference = values[child] - share[child] * count
        weights = cell_weights(count, noise)
        numerator = weights @ (difference**2 - deviation[child] - count * binomial)
        denominator = weights @ (binomial * (count**2 - noise - count))
        error = weights**2 @ (3.75 * deviation[child] ** 2 + 2 * binomial**2 * np.maximum(count, 0.0) ** 2)
        result[depth] = prior = heterogeneity(float(numerator), float(denominator), float(error) ** 0.5, prior)
    return result


def _expected(tree: Tree, values: Floats, variances: Floats, share: Floats, four: Floats) -> tuple[Floats, Floats]:
    """Expected squares and cautious expected counts of all nodes, from the root down."""
    mean, spread = values.copy(), variances.copy()
    for depth in range(tree.height):
        child = np.arange(tree.n_nodes)[tree.level(depth + 1)]
        above = mean[tree.parent[child]], spread[tree.parent[child]]
        mean[child], spread[child] = posterior(above, share[child], four[depth], values[child], variances[child])
    return expected_squares(mean, spread)


@dataclass(frozen=True, eq=False)
class _Families:
    """Families that queries cut at one depth: the difference E between parents' and children's answers, and its noise.

    All are arrays (queries,). With a the covered share of a parent, `lines` is the sum of heterogeneity
    times expected square times a (1 - a), and `points` that of the expected count times a (1 - a).
    """

    difference: Floats
    noise: Floats
    lines: Floats
    points: Floats


def _families(nodes: NodeCounts, depth: int, upper: Pairs, lower: Pairs, chosen: Booleans, count: int) -> _Families:
    """Sums over the chosen ones among the divided pairs of a depth, for `count` queries."""
    divided = np.flatnonzero(upper.divided)
    box, node, covered = (values[divided] for values in (upper.box, upper.node, upper.coverage))
    each = chosen[lower.parent]
    child, parent = lower.node[each], lower.parent[each]
    parts = np.bincount(parent, lower.coverage[each] * nodes.values[child], minlength=divided.size)
    gap = (covered[parent] - lower.coverage[each]) ** 2 * nodes.deviation_variance[child]
    noise = np.bincount(parent, gap, minlength=divided.size)
    uncovered = covered * (1 - covered)
    half = nodes.half[depth]
    per_family = (
        covered * nodes.values[node] - parts,
        noise,
        half * uncovered * nodes.squares[node],
        uncovered * nodes.firsts[node],
    )
    sums = [np.bincount(box, np.where(chosen, part, 0.0), minlength=count).astype(np.float64) for part in per_family]
    return _Families(*sums)


@dataclass(frozen=True, eq=False)
class _CutLeaves:
    """The leaves that queries cover or cut, as sums over them for each query, all arrays (queries,).

    With a the covered share, `missed` is the sum of 1 - a, `spread` is the sum of heterogeneity times expected
    square times a (1 - a), `spread_small` has the heterogeneity squared, and `points` the expected count in place of
    both.
    """

    cut: Floats
    missed: Floats
    covered: Floats
    spread: Floats
    spread_small: Floats
    points: Floats


@dataclass(frozen=True, eq=False)
class TreeUnevenness:
    """What the released nodes of a tree say about the spread of records within leaves.

    Attributes
    ----------
    nodes : NodeCounts
    within : (nodes,) array
        Heterogeneity within each node, if it is a leaf.
    leaves : (nodes,) int array
        Number of leaves below each node; 1 for a leaf.
    growth : array
        How much more errors of L cut leaves add up than independent ones do, for L = 1, 2, 4, ...
    lines : LeafLines, optional
        What lines of records along the axes add for boxes, if the leaves are cells of grids.
    """

    nodes: NodeCounts
    within: Floats
    leaves: Integers
    growth: Floats
    lines: LeafLines | None = None

    @classmethod
    def of(
        cls,
        tree: Tree,
        values: Floats,
        variances: Floats,
        walk: Walk,
        area: RegionArea | None = None,
        variance: Callable[[Integers], Floats] | None = None,
    ) -> TreeUnevenness:
        """Estimate the unevenness from consistent estimates of all nodes.

        Parameters
        ----------
        tree : Tree
        values, variances : (nodes,) arrays
        walk : callable
            The pairs of lattice boxes and nodes, depth by depth.
        area : RegionArea, optional
            The region, if coverage is a share of the area in it.
        variance : callable, optional
            Variance of the noise in the estimates of lattice boxes; without it, lines are not looked for.
        """
        nodes = NodeCounts.of(tree, values, variances, area)
        leaves: Integers = node_sums(tree, np.ones(tree.n_leaves, dtype=np.int64))
        within = nodes.within()
        grew = within / nodes.half[np.maximum(tree.depth.astype(np.int64) - 1, 0)]
        lines = None if variance is None else LeafLines.of(tree, values, grew, variance)
        return cls(nodes, within, leaves, _growth(nodes, walk), lines)

    def allowance(self, levels: Sequence[Pairs], count: int, *, along_axes: bool = True) -> Allowance:
        """The allowance of `count` queries that were walked down the tree, with edges along the axes or without."""
        difference, noise, above = np.zeros((3, count))
        for depth, (upper, lower) in enumerate(pairwise(levels)):
            leaf = ~lower.divided & (lower.coverage > 0) & (lower.coverage < 1)
            chosen = np.bincount(lower.parent, leaf, minlength=int(upper.divided.sum())) > 0
            families = _families(self.nodes, depth, upper, lower, chosen, count)
            difference += families.difference
            noise += families.noise
            above += families.lines
        leaves = self._cut_leaves(levels, count)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(above > 0, leaves.spread / above, 0.0)
            certain = np.where(difference != 0, np.maximum(difference**2 - 2 * noise, 0.0) / difference**2, 0.0)
        taken = 0.5 * certain * np.minimum(1.0, 4 * ratio)
        local = np.maximum(difference**2 - noise, 0.0) * np.minimum(ratio, 1.0)
        small = small_box(leaves.covered)
        spread = grown(self.growth, leaves.cut / 4) * (leaves.spread + small * leaves.spread_small)
        variance = spread + local + leaves.points * (1 + small) + taken**2 * noise
        if along_axes and self.lines is not None:
            variance += self._along_lines(self.lines, levels, leaves)
        shift = -taken * difference
        if self.lines is None:  # leaves of unequal sizes
            contrast = contrast_variance(levels, shift, self.nodes.firsts, self.nodes.area)
            variance = np.maximum(variance, contrast)
        cuts = leaves.cut > 0
        return Allowance(np.where(cuts, variance, 0.0), np.where(cuts, shift, 0.0))

    def _along_lines(self, lines: LeafLines, levels: Sequence[Pairs], leaves: _CutLeaves) -> Floats:
        """Variance that lines along the axes add, from the cut leaves of each size."""
        count, sizes = leaves.cut.size, len(lines.tables)
        sums = np.zeros((2, count * sizes))
        for pairs in levels:
            cut = np.flatnonzero(~pairs.divided & (pairs.coverage > 0) & (pairs.coverage < 1))
            node, share = pairs.node[cut], pairs.coverage[cut]
            place = pairs.box[cut] * sizes + lines.sizes[node]
            weights = (None, share * (1 - share) * self.nodes.squares[node])
            sums += [np.bincount(place, weight, minlength=sums.shape[1]) for weight in weights]
        length = edge_length(leaves.missed, leaves.covered)
        return lines.added(length, *sums.reshape(2, count, sizes))

    def _cut_leaves(self, levels: Sequence[Pairs], count: int) -> _CutLeaves:
        totals = np.zeros((6, count))
        for pairs in levels:
            ended = ~pairs.divided & (pairs.coverage > 0)
            cut = ended & (pairs.coverage < 1)
            uncovered = np.where(cut, pairs.coverage * (1 - pairs.coverage), 0.0)
            within = self.within[pairs.node]
            lines = within * self.nodes.squares[pairs.node] * uncovered
            covered = np.where(ended, pairs.coverage * self.leaves[pairs.node], 0.0)
            missed = np.where(cut, 1 - pairs.coverage, 0.0)
            parts = (cut, missed, covered, lines, within * lines, self.nodes.firsts[pairs.node] * uncovered)
            totals += [np.bincount(pairs.box, part, minlength=count) for part in parts]
        return _CutLeaves(*totals)


def calibration_boxes() -> Integers:
    """Public lattice boxes of all sizes and places, the same ones each time, (boxes, 4)."""
    points = even_points(_CALIBRATION_BOXES, 4)
    sides = np.exp(np.log(_SHORTEST) + points[:, :2] * np.log(_LONGEST / _SHORTEST))
    low = points[:, 2:] * (1 - sides)
    boxes: Integers = np.rint(np.concatenate([low, low + sides], axis=1) * LATTICE).astype(np.int64)
    return boxes


def _growth(nodes: NodeCounts, walk: Walk) -> Floats:
    """How much more errors of L cut nodes add up than independent ones do, for L = 1, 2, 4, ...

    At each of the last depths, the difference between parents' and children's answers to public boxes is
    compared with what the heterogeneity of that depth makes one expect if families err independently.
    """
    boxes = calibration_boxes()
    levels, count = list(walk(boxes)), len(boxes)
    rows: list[Floats] = []
    for depth in range(max(0, nodes.tree.height - _DEPTHS), min(nodes.tree.height, len(levels) - 1)):
        rows.append(_expected_and_found(nodes, depth, levels[depth], levels[depth + 1], count))
    if not rows:
        return np.ones(1)
    bins, numerator, denominator, error = np.concatenate(rows, axis=1)
    return _monotone(bins.astype(np.int64), numerator, denominator, error)


def _expected_and_found(nodes: NodeCounts, depth: int, upper: Pairs, lower: Pairs, count: int) -> Floats:
    """Rows for `_monotone` from the families of one depth: bin, squared difference, expected square, squared error."""
    every = np.ones(int(upper.divided.sum()), dtype=bool)
    found = _families(nodes, depth, upper, lower, every, count)
    uncovered = lower.coverage * (1 - lower.coverage)
    lines_below = nodes.half[depth] * np.bincount(lower.box, uncovered * nodes.squares[lower.node], minlength=count)
    points_below = np.bincount(lower.box, uncovered * nodes.firsts[lower.node], minlength=count)
    lines = np.maximum(found.lines - lines_below, found.lines / 4)
    points = found.points - points_below
    weight = 1 / (found.lines + found.noise + found.points + 0.001)
    cuts = np.bincount(upper.box, upper.divided, minlength=count)
    bins = np.rint(np.log2(np.maximum(cuts / 4, 1.0)))
    numerator = weight * (found.difference**2 - found.noise - points)
    error = 2.5 * (weight * (found.noise + np.maximum(points, 0.0))) ** 2
    return np.stack([bins, numerator, weight * lines, error])[:, cuts > 0]


def _monotone(bins: Array, numerator: Floats, denominator: Floats, error: Floats) -> Floats:
    """The growth of each bin, never below the one before; shrunk where noise is large."""
    sums = [np.bincount(bins, values) for values in (numerator, denominator, error)]
    growth, before = [], 1.0
    for j, (above, below, squared) in enumerate(zip(*sums, strict=True)):
        slack = 3 * float(squared) ** 0.5 + 1
        prior = slack if j == 0 else 1.3 * before * slack
        value = (max(float(above), 0.0) + prior) / (float(below) + slack)
        before = float(np.clip(value, *((1.0, 1.5) if j == 0 else (before, 4 * before))))
        growth.append(before)
    return np.array(growth)
