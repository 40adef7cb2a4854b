"""Estimates on a tree of boxes, and how any box is answered from them.

A box takes whole nodes where it covers them and shares of the leaves it cuts. If the estimates are consistent (a
parent is the sum of its children) it does not matter which nodes are taken, and the variance of the answer is exact by
the algebra of the least-squares fit (see `consistency`). If they are not, the fewest and largest nodes are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32
from spatialdp._support.options import Option
from spatialdp.errors import ReleaseError
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.tree_noise import NodeNoise, or_zero
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.lattice import cells_of
from spatialdp.space.polygons import Polygons, scan
from spatialdp.trees.adjust import non_negative, project_families, round_consistent
from spatialdp.trees.leaf_families import Families, Opened
from spatialdp.trees.least_squares import Fit, divisor, own_weight
from spatialdp.trees.tree import Tree
from spatialdp.trees.walk import Pairs, chunks, walk, walk_polygons

__all__ = ["Decomposition", "NonNegative"]


class NonNegative(Option):
    """How negative estimates of a tree are removed."""

    FAMILIES = "families"
    LEAST_SQUARES = "least-squares"


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Estimates of the counts in a tree of boxes.

    Attributes
    ----------
    domain : Domain
    tree : Tree
        Every leaf measured.
    values : float array
        Estimate of each node: consistent ones, or the noisy counts as they were measured.
    variances, kurtosis : float arrays
        Of the noise in each node's measurement: one for each node or one for each level. Infinite variance: the node
        was not measured.
    step : float
        Width of the lattice the noise lives on; 0 for estimates that are weighted sums of many.
    consistent : bool
        Whether parents are the sums of their children.
    biased : bool
        Whether the estimates were altered so that their errors no longer average out.
    shape : (nx, ny), optional
        Says that the leaves, all of the greatest depth, are cells of the domain's grid of this shape. Quadtrees need
        not be told.
    """

    kind: ClassVar[str] = "tree"

    domain: Domain
    tree: Tree
    values: Floats
    variances: Floats
    kurtosis: Floats
    step: float
    consistent: bool
    biased: bool = False
    shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name in ("values", "variances", "kurtosis"):
            array = np.asarray(getattr(self, name), dtype=np.float64).view()
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def n_cells(self) -> int:
        """Number of leaves."""
        return self.tree.n_leaves

    @cached_property
    def total(self) -> float:
        """Estimated number of records."""
        return float(self.answer(self.tree.boxes[:1].astype(np.int64))[0])

    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes, records taken as evenly spread within a leaf."""
        if self.consistent and self._leaf_grid is not None:
            return self._leaf_grid.answer(boxes)
        if self._families is not None and self._leaf_grid is not None:
            leaves = self._leaf_grid
            return self._summed_families(
                boxes, lambda nodes: self.values.take(nodes), lambda opened: leaves.answer(opened.boxes)
            )
        return np.asarray(self.answers(boxes, [self.values])[0])

    def answers(self, boxes: Integers, values: Sequence[Array]) -> Floats:
        """What several sets of node values answer, one row each, for little more than the time of one."""
        totals = np.zeros((len(values), boxes.shape[0]))
        for chunk in chunks(boxes):
            for pairs in walk(self.tree, boxes[chunk], self._unmeasured):
                ended = np.flatnonzero(~pairs.divided & (pairs.coverage > 0))
                box, node, coverage = pairs.box.take(ended), pairs.node.take(ended), pairs.coverage.take(ended)
                for total, held in zip(totals[:, chunk], values, strict=True):
                    total += np.bincount(box, coverage * held.take(node), minlength=total.size)
        return totals

    def uniformity(self, boxes: Integers) -> Floats:
        """About how far an answer can be off because records are not evenly spread within the leaves it cuts.

        The sum, over cut leaves, of the (noisy) estimate times the larger of the covered and the uncovered share.
        """
        if self._leaf_grid is not None:
            return self._leaf_grid.uniformity(boxes)

        def worst(pairs: Pairs) -> Floats:
            cut = (pairs.coverage > 0) & (pairs.coverage < 1)
            share = np.where(cut, np.maximum(pairs.coverage, 1 - pairs.coverage), 0.0)
            return share * np.maximum(self.values.take(pairs.node), 0.0)

        return self._summed(boxes, worst)

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each answer."""
        if not self.consistent:
            return _with_kurtosis(*self._raw_cumulants(boxes))
        if self._is_complete:
            return self._complete_moments(*self._box_squares(boxes))
        parts = [self._fitted_cumulants(*self._visited(boxes[chunk]), len(boxes[chunk])) for chunk in chunks(boxes)]
        second, fourth = (np.concatenate([np.empty(0), *part]) for part in zip(*parts, strict=True)) if parts else _NONE
        return _with_kurtosis(second, fourth)

    def answer_polygons(self, polygons: Polygons) -> Floats:
        """Estimated counts of polygons, records taken as evenly spread within a leaf."""
        if self.consistent and self._leaf_grid is not None:
            return self._leaf_grid.answer_polygons(polygons)
        return self._summed(polygons, lambda pairs: pairs.coverage * self.values.take(pairs.node))

    def polygon_moments(self, polygons: Polygons) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each polygon's answer."""
        if not self.consistent:
            return _with_kurtosis(*self._node_cumulants(polygons))
        if self._is_complete:
            return self._complete_moments(*self._polygon_squares(polygons))
        second, fourth = np.zeros((2, polygons.size))
        for chunk in chunks(polygons):
            levels = list(self._walk(polygons[chunk]))
            second[chunk], fourth[chunk] = self._fitted_cumulants(levels, None, polygons[chunk].size)
        return _with_kurtosis(second, fourth)

    def leaf_boxes(self, chosen: Integers | slice = slice(None)) -> Integers:
        """Lattice boxes of the leaves; all, or some by their numbers."""
        return self.tree.boxes[np.flatnonzero(self.tree.leaves)[chosen]].astype(np.int64)

    def leaf_values(self) -> Floats:
        """Estimates of the leaves."""
        return self.values[self.tree.leaves]

    def pruned(self, threshold: float) -> Decomposition:
        """Drop everything below nodes whose consistent estimate is under a public threshold.

        A node that becomes a leaf keeps its estimate, and with it what the measurements below it contributed: its
        variance is that of its subtree's best estimate.
        """
        tree, index = self.tree.prune(self.values >= threshold)
        cut = tree.leaves & ~self.tree.leaves[index]
        every = np.arange(self.tree.n_nodes)
        variances, kurtosis = (self._noise.of(values, every)[index] for values in (self.variances, self.kurtosis))
        subtree = self.fit.up_variance[index]
        with np.errstate(divide="ignore", invalid="ignore"):
            subtree_kurtosis = np.where(subtree > 0, self._noise.subtree_fourth[index] / subtree**2, 0.0)
        return replace(
            self,
            tree=tree,
            values=self.values[index],
            variances=np.where(cut, subtree, variances),
            kurtosis=np.where(cut, subtree_kurtosis, kurtosis),
        )

    def non_negative(self, method: NonNegative) -> Decomposition:
        """Consistent estimates without negative ones; biased."""
        self._require_consistent()
        if method is NonNegative.LEAST_SQUARES:
            values = non_negative(self.tree, self.values, self.variances)
        else:
            values = project_families(self.tree, self.values, self.fit.shares)
        return replace(self, values=values, biased=True)

    def rounded(self) -> Decomposition:
        """Whole numbers that add up, each within 1 of the estimate."""
        self._require_consistent()
        return replace(self, values=round_consistent(self.tree, self.values).astype(np.float64), biased=True)

    def _require_consistent(self) -> None:
        if not self.consistent:
            raise ReleaseError("the estimates are not consistent; release with consistent=True, then adjust them.")

    # --- sums over covered nodes ---------------------------------------------------------------

    def _walk(self, queries: Array, descend: Booleans | None = None) -> Iterator[Pairs]:
        """Go down the tree with boxes (m, 4) or polygons (m,)."""
        if queries.ndim == 2:
            return walk(self.tree, queries, descend)
        return walk_polygons(self.tree, self.domain, queries, descend)

    def _summed(self, queries: Array, weigh: Any) -> Floats:
        """Add up, for every box or polygon, what the pairs that end weigh."""
        total = np.zeros(queries.shape[0])
        for chunk in chunks(queries):
            for pairs in self._walk(queries[chunk], self._unmeasured):
                ended = ~pairs.divided
                weights = np.where(ended, weigh(pairs), 0.0)
                total[chunk] += np.bincount(pairs.box, weights, minlength=total[chunk].size)
        return total

    def _summed_families(
        self, boxes: Integers, whole: Callable[[Integers], Floats], part: Callable[[Opened], Floats]
    ) -> Floats:
        """Add up, for every box, what whole nodes weigh, and the parts of those above the leaves that are opened."""
        assert self._families is not None
        total = np.zeros(boxes.shape[0])
        for chunk in chunks(boxes):
            for pairs, opened in self._families.walk(boxes[chunk], self._unmeasured):
                weights = np.where(~pairs.divided & (pairs.coverage > 0), whole(pairs.node), 0.0)
                if opened is not None:
                    weights[opened.pairs] = part(opened)
                total[chunk] += np.bincount(pairs.box, weights, minlength=total[chunk].size)
        return total

    def _raw_cumulants(self, boxes: Integers) -> tuple[Floats, Floats]:
        if self._families is not None:
            leaf = or_zero(self.variances[-1:]), self.kurtosis[-1:]
            second = self._summed_families(
                boxes, lambda node: or_zero(self._noise.of(self.variances, node)), lambda o: leaf[0] * o.powers[1]
            )
            fourth = self._summed_families(
                boxes, lambda node: self._noise.own_fourth.take(node), lambda o: leaf[0] ** 2 * leaf[1] * o.powers[3]
            )
            return np.maximum(second, 0.0), np.maximum(fourth, 0.0)
        return self._node_cumulants(boxes)

    def _node_cumulants(self, queries: Array) -> tuple[Floats, Floats]:
        second = self._summed(queries, lambda p: p.coverage**2 * or_zero(self._noise.of(self.variances, p.node)))
        fourth = self._summed(queries, lambda p: p.coverage**4 * self._noise.own_fourth.take(p.node))
        return second, fourth

    # --- variance of a fitted answer -----------------------------------------------------------

    def _fitted_cumulants(self, levels: Sequence[Pairs], opened: Opened | None, count: int) -> tuple[Floats, Floats]:
        """Second and fourth cumulants, exactly, for a few boxes or polygons, from the pairs of each depth.

        Up: A, the share of each cut node's estimate that enters the answer. Down: g, the weight of each node's
        best estimate from its own subtree; g_c = A_c - A_v + (1 - w_v) g_v. A subtree that the box does not cut
        contributes g² V and g⁴ K, both known beforehand; a cut node its own measurement.
        """
        averages = self._averages(levels)
        second, fourth = np.zeros((2, count))
        weight = averages[0].copy()
        for depth, pairs in enumerate(levels):
            own = np.where(pairs.divided, self._noise.own_weight.take(pairs.node), 1.0)
            variance = np.where(
                pairs.divided, or_zero(self._noise.of(self.variances, pairs.node)), self.fit.up_variance[pairs.node]
            )
            fourths = np.where(
                pairs.divided, self._noise.own_fourth.take(pairs.node), self._noise.subtree_fourth.take(pairs.node)
            )
            second += np.bincount(pairs.box, (own * weight) ** 2 * variance, minlength=second.size)
            fourth += np.bincount(pairs.box, (own * weight) ** 4 * fourths, minlength=second.size)
            if depth + 1 < len(levels):
                passed = ((1 - own) * weight - averages[depth])[pairs.divided]
                weight = averages[depth + 1] + passed[levels[depth + 1].parent]
            elif opened is not None:
                shift = ((1 - own) * weight - averages[depth])[opened.pairs]
                box, nodes = pairs.box[opened.pairs], pairs.node[opened.pairs]
                squares, fourths = _shifted(opened.powers, shift, self.tree.n_children[nodes])
                second += np.bincount(box, self.variances[-1] * squares, minlength=second.size)
                fourth += np.bincount(box, self._noise.own_fourth[-1] * fourths, minlength=second.size)
        return second, fourth

    def _visited(self, boxes: Integers) -> tuple[list[Pairs], Opened | None]:
        """The pairs of each depth; families of grid cells are left together, their parents' coverage being the mean."""
        if self._families is None:
            return list(walk(self.tree, boxes)), None
        visited = list(self._families.walk(boxes))
        levels, opened = [pairs for pairs, _ in visited], visited[-1][1] if visited else None
        if opened is not None:
            coverage = levels[-1].coverage.copy()
            coverage[opened.pairs] = opened.powers[0] / self.tree.n_children[levels[-1].node[opened.pairs]]
            levels[-1] = replace(levels[-1], coverage=coverage)
        return levels, opened

    def _averages(self, levels: Sequence[Pairs]) -> list[Floats]:
        """A of every pair: its coverage where it ends, the weighted mean of its children where it is divided."""
        result = [pairs.coverage.copy() for pairs in levels]
        for depth in reversed(range(len(levels) - 1)):
            pairs, below = levels[depth], levels[depth + 1]
            weighted = result[depth + 1] * self.fit.shares[below.node]
            sums = np.bincount(below.parent, weighted, minlength=int(pairs.divided.sum()))
            result[depth][pairs.divided] = sums / divisor(self.fit.children_variance[pairs.node[pairs.divided]])
        return result

    @property
    def fit(self) -> Fit:
        """The fit's variances; fitting consistent values again does not change them."""
        return self._noise.fit

    @cached_property
    def _noise(self) -> NodeNoise:
        return NodeNoise(self.tree, self.values, self.variances, self.kurtosis)

    def node_moments(self, nodes: Array) -> tuple[Floats, Floats]:
        """What `moments` says of the boxes of nodes, for all of them at once."""
        if self.consistent and self._is_complete:  # all nodes of a depth are alike
            variance, kurtosis = self.moments(self.tree.boxes[self.tree.offsets[:-1]].astype(np.int64))
            return variance[self.tree.depth[nodes]], kurtosis[self.tree.depth[nodes]]
        second, fourth = self._noise.fitted_cumulants() if self.consistent else self._noise.raw_cumulants()
        return _with_kurtosis(second[nodes], fourth[nodes])

    def leaf_moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each leaf's estimate."""
        return self.node_moments(np.flatnonzero(self.tree.leaves))

    # --- leaves that are the cells of a grid ---------------------------------------------------

    @cached_property
    def _leaf_grid(self) -> Histogram | None:
        """The leaves as a histogram, if they are cells of one grid: then any box is a few prefix sums."""
        height, tree = self.tree.height, self.tree
        if tree.n_leaves != tree.offsets[-1] - tree.offsets[-2] or (self.shape is None and height > 14):
            return None
        grid = Domain(self.domain.bounds).grid(self.shape or (2**height, 2**height))
        place = _places(grid, tree.boxes[tree.level(height)], (1, 1))
        if place is None:
            return None
        values = np.zeros(grid.mask.shape)
        values.ravel()[place] = self.values[tree.level(height)]
        return Histogram(grid, values, IndependentNoise(grid, 0.0, 0.0, 0.0))

    @cached_property
    def _families(self) -> Families | None:
        """The tree above its leaves, if these are cells of one grid and measured alike."""
        if self._leaf_grid is None or not self.tree.height or self.variances.size != self.tree.height + 1:
            return None
        grid, leaves = self._leaf_grid.grid, np.zeros(self._leaf_grid.values.shape)
        place = _places(grid, self.tree.boxes[self.tree.level(self.tree.height)], (1, 1))
        leaves.ravel()[place] = 1.0
        return Families.of(self.tree, grid, leaves)

    @cached_property
    def _block_sides(self) -> tuple[tuple[int, int], ...] | None:
        """Width and height in cells of each depth's nodes, if all are whole blocks of a full grid measured by level."""
        if self._leaf_grid is None or self.variances.size != self.tree.height + 1:
            return None
        grid = self._leaf_grid.grid
        sides = [_block_side(grid, self.tree.boxes[self.tree.level(d)]) for d in range(self.tree.height + 1)]
        return None if None in sides else tuple(side for side in sides if side)

    @property
    def _is_complete(self) -> bool:
        """Whether the closed form holds, and the tree is large enough for it to pay."""
        return self.tree.n_leaves >= _CLOSED_FORM and self._block_sides is not None

    def closed_form(self) -> dict[str, Any] | None:
        """What the closed form of `moments` is made of, where it is used: numbers for each level, root first."""
        if not (self.consistent and self._is_complete) or self._leaf_grid is None:
            return None
        nx, ny = self._leaf_grid.grid.shape
        return {
            "nx": nx,
            "ny": ny,
            "own": self._level_weights().tolist(),
            "variances": or_zero(self.variances).tolist(),
            "kurtosis": self.kurtosis.tolist(),
            "sides": self._block_sides,
            "fanOuts": self.tree.fan_outs,
        }

    def _level_weights(self) -> Floats:
        """W of each level of a tree with one variance and one fan-out for each."""
        own, up = np.ones(self.variances.size), self.variances[-1]
        for depth in reversed(range(self.tree.height)):
            below = self.tree.fan_outs[depth] * up
            own[depth] = own_weight(self.variances[depth], below)
            up = own[depth] * self.variances[depth] if own[depth] else below
        return own

    def _box_squares(self, boxes: Integers) -> tuple[Floats, list[Floats]]:
        """Boxes' areas in cells, and the sum of the nodes' squared covered shares on each level."""
        assert self._leaf_grid is not None
        x, y = self._leaf_grid.coverages(boxes)
        squares = [x.squares(width) * y.squares(height) for width, height in self._block_sides or ()]
        return (x.stop - x.start) * (y.stop - y.start), squares

    def _polygon_squares(self, polygons: Polygons) -> tuple[Floats, list[Floats]]:
        """The same of polygons: the nodes of a level are the cells of a coarser grid."""
        assert self._leaf_grid is not None
        grid, area, squares = self._leaf_grid.grid, np.zeros(polygons.size), []
        for width, height in self._block_sides or ():
            nodes, level = grid.domain.grid((grid.shape[0] // width, grid.shape[1] // height)), np.zeros(polygons.size)
            for part, runs in scan(polygons, nodes):
                shares, level[part] = runs.areas
                area[part] = shares * (width * height)
            squares.append(level)
        return area, squares

    def _complete_moments(self, area: Floats, level_squares: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Closed form of the variance, and a close upper bound of the kurtosis.

        Let S be the sum over a level's nodes of their squared covered shares (a product over the axes), f the fan-out
        above it, and P the sum of the nodes' squared weights g. Deviations from the mean of a family add up to zero, so
        P_root = S_root and P = S - f S_above + f (1 - w_above)² P_above; the variance is the sum over levels of w² s P.
        For the fourth cumulant the largest weight of a level is bounded: a child's share is at most 1 - 1/f away from
        its parent's, and no larger than the box.
        """
        assert self._block_sides is not None
        own = self._level_weights()
        squares = largest = above = np.zeros(area.size)
        second, fourth = np.zeros((2, area.size))
        for depth, (variance, (width, height), here) in enumerate(
            zip(or_zero(self.variances), self._block_sides, level_squares, strict=True)
        ):
            passed, fan_out = (1 - own[depth - 1], self.tree.fan_outs[depth - 1]) if depth else (0.0, 0)
            squares = here - fan_out * above + fan_out * passed**2 * squares
            deviation = np.minimum(area / (width * height), 1 - 1 / fan_out if depth else 1.0)
            largest = np.minimum(deviation + passed * largest, 1.0)
            above = here
            second += own[depth] ** 2 * variance * squares
            fourth += own[depth] ** 4 * variance**2 * self.kurtosis[depth] * squares * largest**2
        variance, kurtosis = _with_kurtosis(np.maximum(second, 0.0), np.maximum(fourth, 0.0))
        return variance, np.minimum(kurtosis, self.kurtosis.max())

    @cached_property
    def _unmeasured(self) -> Booleans | None:
        unmeasured = np.isinf(self._noise.of(self.variances, np.arange(self.tree.n_nodes)))
        return unmeasured if not self.consistent and unmeasured.any() else None


# From so many leaves on walking along boundaries is slow, and the bound of the kurtosis close.
_CLOSED_FORM = 4**7

_NONE = (np.empty(0), np.empty(0))


def _places(grid: Grid, boxes: Integers32, side: tuple[int, int]) -> Integers | None:
    """Row-major places of the cells in the boxes' lower left corners, if the boxes are blocks of so many cells."""
    low = []
    for axis, (lines, cells) in enumerate(zip((grid.x_lines, grid.y_lines), side, strict=True)):
        first = cells_of(boxes[:, axis].astype(np.int64), lines.size - 1)
        last = np.minimum(first + cells, lines.size - 1)
        if not (np.array_equal(lines[first], boxes[:, axis]) and np.array_equal(lines[last], boxes[:, axis + 2])):
            return None
        low.append(first)
    return np.asarray(low[1] * grid.shape[0] + low[0])


def _block_side(grid: Grid, boxes: Integers32) -> tuple[int, int] | None:
    """Width and height in cells of equal boxes that fill the grid; None if they are not such boxes."""
    nx, ny = grid.shape
    width, height = (int(np.searchsorted(lines, boxes[0, i])) for i, lines in ((2, grid.x_lines), (3, grid.y_lines)))
    fills = width * height * len(boxes) == nx * ny and nx % width == 0 == ny % height
    return (width, height) if fills and _places(grid, boxes, (width, height)) is not None else None


def _shifted(powers: Floats, shift: Floats, count: Array) -> tuple[Floats, Floats]:
    """Σ (A + shift)² and Σ (A + shift)⁴ over families, from the sums of the powers of A."""
    first, second, third, fourth = powers
    squares = second + shift * (2 * first + shift * count)
    fourths = fourth + shift * (4 * third + shift * (6 * second + shift * (4 * first + shift * count)))
    return np.maximum(squares, 0.0), np.maximum(fourths, 0.0)


def _with_kurtosis(second: Floats, fourth: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return second, np.where(second > 0, fourth / second**2, 0.0)
