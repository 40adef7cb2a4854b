"""Estimates on a tree of boxes, and how any box is answered from them.

A box takes whole nodes where it covers them and shares of the leaves it cuts. If the estimates are consistent (a
parent is the sum of its children) it does not matter which nodes are taken, and the variance of the answer is exact by
the algebra of the least-squares fit (see `consistency`). If they are not, the fewest and largest nodes are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spatialdp._options import Option
from spatialdp.adjust import non_negative, project_families, round_consistent
from spatialdp.consistency import Fit, complete_up_variances, divisor, own_weight, two_pass
from spatialdp.covariance import IndependentNoise
from spatialdp.coverage import Coverage
from spatialdp.domain import LATTICE, LATTICE_BITS, Domain
from spatialdp.errors import ReleaseError
from spatialdp.histogram import Histogram
from spatialdp.traversal import Pairs, chunks, walk
from spatialdp.tree import Tree

__all__ = ["Decomposition", "NonNegative"]

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
        return self._summed(boxes, lambda pairs: pairs.coverage * self.values.take(pairs.node))

    def uniformity(self, boxes: Integers) -> Floats:
        """About how far an answer can be off because records are not evenly spread within the leaves it cuts.

        The sum, over cut leaves, of the (noisy) estimate times the larger of the covered and the uncovered share.
        """

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
            return self._complete_moments(boxes)
        parts = [self._fitted_cumulants(boxes[chunk]) for chunk in chunks(boxes)]
        second, fourth = (np.concatenate([np.empty(0), *part]) for part in zip(*parts, strict=True)) if parts else _NONE
        return _with_kurtosis(second, fourth)

    def leaf_boxes(self) -> Integers:
        """Lattice boxes of the leaves."""
        return self.tree.boxes[self.tree.leaves].astype(np.int64)

    def pruned(self, threshold: float) -> Decomposition:
        """Drop everything below nodes whose consistent estimate is under a public threshold.

        A node that becomes a leaf keeps its estimate, and with it what the measurements below it contributed: its
        variance is that of its subtree's best estimate.
        """
        tree, index = self.tree.prune(self.values >= threshold)
        cut = tree.leaves & ~self.tree.leaves[index]
        every = np.arange(self.tree.n_nodes)
        variances, kurtosis = (self._of(values, every)[index] for values in (self.variances, self.kurtosis))
        subtree = self.fit.up_variance[index]
        with np.errstate(divide="ignore", invalid="ignore"):
            subtree_kurtosis = np.where(subtree > 0, self._subtree_fourth[index] / subtree**2, 0.0)
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
            values = project_families(self.tree, self.values, self.fit.spread)
        return replace(self, values=values, biased=True)

    def rounded(self) -> Decomposition:
        """Whole numbers that add up, each within 1 of the estimate."""
        self._require_consistent()
        return replace(self, values=round_consistent(self.tree, self.values).astype(np.float64), biased=True)

    def _require_consistent(self) -> None:
        if not self.consistent:
            raise ReleaseError("the estimates are not consistent; release with consistent=True, then adjust them.")

    # --- sums over covered nodes ---------------------------------------------------------------

    def _summed(self, boxes: Integers, weigh: Any) -> Floats:
        """Add up, for every box, what the pairs that end weigh."""
        total = np.zeros(boxes.shape[0])
        for chunk in chunks(boxes):
            for pairs in walk(self.tree, boxes[chunk], self._unmeasured):
                ended = ~pairs.divided
                weights = np.where(ended, weigh(pairs), 0.0)
                total[chunk] += np.bincount(pairs.box, weights, minlength=total[chunk].size)
        return total

    def _raw_cumulants(self, boxes: Integers) -> tuple[Floats, Floats]:
        second = self._summed(boxes, lambda p: p.coverage**2 * _or_zero(self._of(self.variances, p.node)))
        fourth = self._summed(
            boxes,
            lambda p: p.coverage**4 * _or_zero(self._of(self.variances, p.node)) ** 2 * self._of(self.kurtosis, p.node),
        )
        return second, fourth

    # --- variance of a fitted answer -----------------------------------------------------------

    def _fitted_cumulants(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Second and fourth cumulants, exactly, for a few boxes.

        Up: A, the share of each cut node's estimate that enters the answer. Down: g, the weight of each node's
        best estimate from its own subtree; g_c = A_c - A_v + (1 - w_v) g_v. A subtree that the box does not cut
        contributes g² V and g⁴ K, both known beforehand; a cut node its own measurement.
        """
        levels = list(walk(self.tree, boxes))
        averages = self._averages(levels)
        second, fourth = np.zeros(boxes.shape[0]), np.zeros(boxes.shape[0])
        weight = averages[0].copy()
        for depth, pairs in enumerate(levels):
            own = np.where(pairs.divided, self._own_weight.take(pairs.node), 1.0)
            variance = np.where(
                pairs.divided, _or_zero(self._of(self.variances, pairs.node)), self.fit.up_variance[pairs.node]
            )
            fourths = np.where(pairs.divided, self._own_fourth.take(pairs.node), self._subtree_fourth.take(pairs.node))
            second += np.bincount(pairs.box, (own * weight) ** 2 * variance, minlength=second.size)
            fourth += np.bincount(pairs.box, (own * weight) ** 4 * fourths, minlength=second.size)
            if depth + 1 < len(levels):
                passed = ((1 - own) * weight - averages[depth])[pairs.divided]
                weight = averages[depth + 1] + passed[levels[depth + 1].parent]
        return second, fourth

    def _averages(self, levels: Sequence[Pairs]) -> list[Floats]:
        """A of every pair: its coverage where it ends, the weighted mean of its children where it is divided."""
        result = [pairs.coverage.copy() for pairs in levels]
        for depth in reversed(range(len(levels) - 1)):
            pairs, below = levels[depth], levels[depth + 1]
            weighted = result[depth + 1] * self.fit.spread[below.node]
            sums = np.bincount(below.parent, weighted, minlength=int(pairs.divided.sum()))
            result[depth][pairs.divided] = sums / divisor(self.fit.children_variance[pairs.node[pairs.divided]])
        return result

    @cached_property
    def fit(self) -> Fit:
        """The fit's variances; fitting consistent values again does not change them."""
        return two_pass(self.tree, self.values, self.variances)

    @cached_property
    def _own_weight(self) -> Floats:
        """w: weight of a node's own measurement in its subtree's best estimate."""
        below = np.full(self.tree.n_nodes, np.inf)
        below[: self.fit.children_variance.size] = self.fit.children_variance
        return own_weight(self._of(self.variances, np.arange(self.tree.n_nodes)), below)

    @cached_property
    def _own_fourth(self) -> Floats:
        """Fourth cumulant of each node's own noise."""
        every = np.arange(self.tree.n_nodes)
        return _or_zero(self._of(self.variances, every)) ** 2 * self._of(self.kurtosis, every)

    @cached_property
    def _subtree_fourth(self) -> Floats:
        """Fourth cumulant of each subtree's best estimate of its root."""
        result = self._own_weight**4 * self._own_fourth
        for depth in reversed(range(self.tree.height)):
            level = self.tree.level(depth)
            below = self.tree.family_sums(depth, result[self.tree.level(depth + 1)])
            result[level] += (1 - self._own_weight[level]) ** 4 * below
        return result

    # --- complete quadtrees --------------------------------------------------------------------

    @cached_property
    def _is_complete(self) -> bool:
        """A quadtree with all its nodes and one variance for each level, high enough for the closed form to pay."""
        height = self.tree.height
        whole = self.tree.n_nodes == (4 ** (height + 1) - 1) // 3 and self.variances.size == height + 1
        return height >= _CLOSED_FORM and whole and self._leaf_grid is not None

    def _complete_moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Closed form of the variance, and a close upper bound of the kurtosis.

        Let S be the sum over a level's nodes of their squared covered shares (a product over the axes), and P the sum
        of their squared weights g. Deviations from the mean of a family add up to zero, so P_root = S_root
        and P = S - 4 S_above + 4 (1 - w_above)² P_above; the variance is the sum over levels of w² s P. For the fourth
        cumulant the largest weight of a level is bounded: a child's share is at most 3/4 away from its parent's,
        and no larger than the box.
        """
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]) / 2**60
        below = np.append(4 * complete_up_variances(self.variances, 4)[1:], np.inf)
        own = own_weight(self.variances, below)
        squares = largest = above = np.zeros(boxes.shape[0])
        second, fourth = np.zeros(boxes.shape[0]), np.zeros(boxes.shape[0])
        for depth, spread in enumerate(_or_zero(self.variances)):
            passed = 1 - own[depth - 1] if depth else 0.0
            here = _squared_coverage(boxes, 2**depth)
            squares = here - 4 * above + 4 * passed**2 * squares
            deviation = np.minimum(area * 4**depth, 0.75 if depth else 1.0)
            largest = np.minimum(deviation + passed * largest, 1.0)
            above = here
            second += own[depth] ** 2 * spread * squares
            fourth += own[depth] ** 4 * spread**2 * self.kurtosis[depth] * squares * largest**2
        variance, kurtosis = _with_kurtosis(np.maximum(second, 0.0), np.maximum(fourth, 0.0))
        return variance, np.minimum(kurtosis, self.kurtosis.max())

    @cached_property
    def _leaf_grid(self) -> Histogram | None:
        """The leaves as a histogram, if they are cells of one grid: then any box is a few prefix sums."""
        height, level = self.tree.height, self.tree.level(self.tree.height)
        boxes, side = self.tree.boxes[level], 2 ** (LATTICE_BITS - self.tree.height)
        one_level = self.tree.n_leaves == len(boxes)
        if not one_level or np.any(boxes[:, 2:] - boxes[:, :2] != side) or np.any(boxes[:, :2] % side):
            return None
        values = np.zeros((2**height, 2**height))
        values[boxes[:, 1] // side, boxes[:, 0] // side] = self.values[level]
        cells = Domain(self.domain.bounds).grid((2**height, 2**height))
        return Histogram(cells, values, IndependentNoise(cells, 0.0, 0.0, 0.0))

    @cached_property
    def _unmeasured(self) -> Booleans | None:
        unmeasured = np.isinf(self._of(self.variances, np.arange(self.tree.n_nodes)))
        return unmeasured if not self.consistent and unmeasured.any() else None

    def _of(self, values: Floats, nodes: npt.NDArray[Any]) -> Floats:
        """Values of nodes, from an array with one for each node or one for each level."""
        if values.size == self.tree.n_nodes:
            return values.take(nodes)
        return values.take(self.tree.depth.take(nodes))


# From this height on walking along boundaries is slow, and the bound of the kurtosis close.
_CLOSED_FORM = 7

_NONE = (np.empty(0), np.empty(0))


def _squared_coverage(boxes: Integers, cells: int) -> Floats:
    """Sum over the cells of a grid of the squared covered share of each."""
    lines = np.arange(cells + 1, dtype=np.int64) * (LATTICE // cells)
    squares = np.ones(boxes.shape[0])
    for low, high in ((0, 2), (1, 3)):
        coverage = Coverage.of(boxes[:, low], boxes[:, high], lines)
        squares *= (coverage.parts**2 * np.diff(coverage.knots, axis=0)).sum(axis=0)
    return squares


def _with_kurtosis(second: Floats, fourth: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return second, np.where(second > 0, fourth / second**2, 0.0)


def _or_zero(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)
