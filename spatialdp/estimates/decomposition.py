"""How does a tree of estimates answer any box or polygon? By whole nodes, and shares of the leaves that it cuts.

If the estimates are consistent (a parent is the sum of its children), it does not matter which nodes
an answer takes, and the noise of the answer follows from the algebra of the least-squares fit
(`trees.tree_noise`, ``docs/design/tree-noise.md``). If they are not consistent, an answer takes the fewest
and largest nodes. Walks are in `space.boxes.walker`, the algebra is in `trees.tree_noise`; this module chooses
among them and reads no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers, read_only
from spatialdp._support.override import override
from spatialdp.estimates.base import moments_of
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.leaf_grid import LeafGrid
from spatialdp.estimates.tree_counts import TreeCounts
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.estimates.unevenness.blocks import CellCounts
from spatialdp.estimates.unevenness.grid import GridUnevenness
from spatialdp.estimates.unevenness.tree import TreeUnevenness
from spatialdp.space.boxes.leaf_families import Families
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.boxes.walk import family_shares
from spatialdp.space.boxes.walker import Walker
from spatialdp.space.coverage import whole_cells
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import Polygons
from spatialdp.space.regions.borders import RegionArea
from spatialdp.trees.least_squares import two_pass
from spatialdp.trees.pairs import Pairs
from spatialdp.trees.tree_noise import GivenWeights, TreeNoise, or_zero

__all__ = ["Decomposition"]

# From this many leaves on, walking along boundaries is slow and the closed form's bound of the kurtosis is close.
_CLOSED_FORM = 4**7


@dataclass(frozen=True, eq=False)
class Decomposition(TreeCounts):
    """Estimated counts of the nodes of a tree of boxes; an `Estimate`.

    Attributes
    ----------
    domain : Domain
    tree : Tree
        Every leaf was measured.
    values : float array
        Estimated count of each node: consistent estimates, or the noisy counts as they were measured.
    variances, kurtosis : float arrays
        Variance and excess kurtosis of the noise in each node's measurement: one for each node or one
        for each level. The variance of an unmeasured node is infinite.
    step : float
        Width of the lattice on which the noise of the measurements lies.
    consistent : bool
        Whether parents are the sums of their children.
    biased : bool
        Whether the errors of the estimates no longer average out.
    shape : (nx, ny), optional
        Shape of the domain's grid whose cells are the leaves, all of the greatest depth. Quadtrees do
        not need it.
    own_weights : (nodes,) float array, optional
        The weight of each node's own measurement in the fit, if it was fixed before the measurement was made. By
        default the fit is by least squares.
    shares : (nodes,) float array, optional
        With `own_weights`: the share of each node in the difference between its parent and its family. By default
        differences are divided by area.
    noise_ratios : (nodes,) float array, optional
        With `own_weights`: mean square of the noise in each node's measurement over its variance, given what the
        measurement led to (`trees.given_weights.noise_ratios`); by default 1.
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
    own_weights: Floats | None = None
    shares: Floats | None = None
    noise_ratios: Floats | None = None

    def __post_init__(self) -> None:
        for name in ("values", "variances", "kurtosis", "own_weights", "shares", "noise_ratios"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name), np.float64))

    @property
    @override
    def nodes(self) -> Tree:
        return self.tree

    @property
    def n_cells(self) -> int:
        """Number of leaves."""
        return self.tree.n_leaves

    @cached_property
    def total(self) -> float:
        """Estimated number of records."""
        return float(self.answer(self.tree.boxes[:1].astype(np.int64))[0])

    @cached_property
    @override
    def noise(self) -> TreeNoise:
        variances = self.variances if self.noise_ratios is None else self.variances * self.noise_ratios
        return TreeNoise(self.tree, variances, self.kurtosis, self._fixed_weights)

    @property
    def _fixed_weights(self) -> GivenWeights | None:
        """The weights of the fit, if they were fixed beforehand and are not those of least squares."""
        if self.own_weights is None:
            return None
        by_area = self.shares is None
        shares = family_shares(self.tree, RegionArea.of(self.domain)) if by_area else self.shares
        return GivenWeights(self.own_weights, np.asarray(shares))

    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes; records are assumed to be evenly spread within a leaf."""
        leaves = self._leaf_values
        if leaves is not None and self.consistent:
            return leaves.answer(boxes)
        if leaves is not None and self._walker.families is not None:
            return self._walker.summed_families(boxes, self.values.take, lambda opened: leaves.answer(opened.boxes))
        return np.asarray(self.answers(boxes, [self.values])[0])

    def answers(self, boxes: Integers, values: Sequence[Array]) -> Floats:
        """Answers to lattice boxes from several sets of node values, (sets, boxes), in little more time than one."""
        return self._walker.summed_values(boxes, *values)

    def uniformity(self, boxes: Integers) -> Floats:
        """About how far each answer can be off because records are not evenly spread within the leaves that a box cuts.

        The bound is the sum over cut leaves of the (noisy) estimate times the larger of the covered
        and the uncovered share.
        """
        if self._leaf_values is not None:
            return self._leaf_values.uniformity(boxes)

        def worst(pairs: Pairs) -> Floats:
            cut = (pairs.coverage > 0) & (pairs.coverage < 1)
            share = np.where(cut, np.maximum(pairs.coverage, 1 - pairs.coverage), 0.0)
            return share * np.maximum(self.values.take(pairs.node), 0.0)

        return np.asarray(self._walker.summed(boxes, worst)[0])

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each answer."""
        return self._moments(boxes)

    @property
    def extrapolates(self) -> bool:
        """Whether an allowance may shift an answer: leaves are not cells of one grid, and estimates are unbiased.

        With weights that were fixed beforehand, answers stay as they are, because their errors average out.
        """
        return self.leaf_grid is None and not self.biased and self.own_weights is None

    def allowance(self, boxes: Integers) -> Allowance:
        """What uneven spread within cut leaves adds to the error of each answer."""
        return self._allowance(boxes)

    def polygon_allowance(self, polygons: Polygons) -> Allowance:
        """What uneven spread within cut leaves adds to the error of each polygon's answer."""
        return self._allowance(polygons)

    def leaf_allowance(self) -> Allowance:
        """What uneven spread adds to the errors of whole leaves: nothing."""
        return Allowance(np.zeros(self.n_cells))

    def answer_polygons(self, polygons: Polygons) -> Floats:
        """Estimated counts of polygons; records are assumed to be evenly spread within a leaf."""
        if self.consistent and self._leaf_values is not None:
            return self._leaf_values.answer_polygons(polygons)
        return np.asarray(self._walker.summed(polygons, lambda pairs: pairs.coverage * self.values.take(pairs.node))[0])

    def polygon_moments(self, polygons: Polygons) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each polygon's answer."""
        return self._moments(polygons)

    def leaf_boxes(self, numbers: Integers | slice = slice(None)) -> Integers:
        """Lattice boxes of all leaves, or of some leaves by their numbers."""
        return self.tree.boxes[np.flatnonzero(self.tree.leaves)[numbers]].astype(np.int64)

    def leaf_values(self) -> Floats:
        """Estimated counts of the leaves, in the tree's order."""
        return self.values[self.tree.leaves]

    def leaf_moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each leaf's estimate."""
        return self.node_moments(np.flatnonzero(self.tree.leaves))

    def node_moments(self, nodes: Array) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in some nodes' estimates: `moments` of their boxes, faster."""
        if self.consistent and self._is_complete:  # all nodes of a depth are alike
            variance, kurtosis = self.moments(self.tree.boxes[self.tree.offsets[:-1]].astype(np.int64))
            return variance[self.tree.depth[nodes]], kurtosis[self.tree.depth[nodes]]
        second, fourth = self.noise.fitted_nodes() if self.consistent else self.noise.raw_nodes()
        return moments_of(second[nodes], fourth[nodes])

    def pruned(self, threshold: float) -> Decomposition:
        """Drop all nodes below those whose consistent estimate is under a public threshold.

        A node that becomes a leaf keeps its estimate, to which the measurements below the node
        contributed: its variance is that of its subtree's best estimate.
        """
        tree, index = self.tree.prune(self.values >= threshold)
        cut = tree.leaves & ~self.tree.leaves[index]
        every = np.arange(self.tree.n_nodes)
        variances, kurtosis = (self.noise.at(values, every)[index] for values in (self.variances, self.kurtosis))
        subtree, subtree_kurtosis = moments_of(self.noise.up_variance[index], self.noise.subtree_fourth[index])
        return replace(
            self,
            tree=tree,
            values=self.values[index],
            variances=np.where(cut, subtree, variances),
            kurtosis=np.where(cut, subtree_kurtosis, kurtosis),
            own_weights=None if self.own_weights is None else self.own_weights[index],
            shares=None if self.shares is None else self.shares[index],
            noise_ratios=None if self.noise_ratios is None else np.where(cut, 1.0, self.noise_ratios[index]),
        )

    @cached_property
    def area(self) -> RegionArea | None:
        """The region, if leaves lie in it in part."""
        if self.leaf_grid is None:
            return RegionArea.of(self.domain)
        return None if self.leaf_grid.border is None else self.leaf_grid.border.area

    @cached_property
    def _walker(self) -> Walker:
        # Sums of consistent estimates are the same wherever walks end.
        unmeasured = None if self.consistent or not self.noise.unmeasured.any() else self.noise.unmeasured
        return Walker(self.tree, self.domain, self.area, self._families, unmeasured)

    def _moments(self, queries: Array) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in the answers to boxes (m, 4) or polygons (m,)."""
        if not self.consistent:
            return moments_of(*self._raw_cumulants(queries))
        grid = self.leaf_grid if self._is_complete else None
        sides = None if grid is None else grid.block_sides
        if grid is None or sides is None:
            return moments_of(*self._walker.fitted_cumulants(queries, self.noise))
        squares = grid.box_squares(queries) if queries.ndim == 2 else grid.polygon_squares(queries)
        variance, kurtosis = moments_of(*self.noise.complete(*squares, sides))
        return variance, np.minimum(kurtosis, self.kurtosis.max())

    def _raw_cumulants(self, queries: Array) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of the answers to boxes from the nodes as they were measured."""
        noise, walker = self.noise, self._walker
        if walker.families is None or queries.ndim == 1:
            second, fourth = walker.summed(
                queries,
                lambda pairs: pairs.coverage**2 * noise.own_second(pairs.node),
                lambda pairs: pairs.coverage**4 * noise.own_fourth.take(pairs.node),
            )
            return second, fourth
        leaf_second, leaf_kurtosis = or_zero(self.variances[-1:]), self.kurtosis[-1:]
        second = walker.summed_families(queries, noise.own_second, lambda o: leaf_second * o.powers[1])
        fourth = walker.summed_families(
            queries, noise.own_fourth.take, lambda o: leaf_second**2 * leaf_kurtosis * o.powers[3]
        )
        return np.maximum(second, 0.0), np.maximum(fourth, 0.0)

    def _allowance(self, queries: Array) -> Allowance:
        """What uneven spread adds to the errors of the answers to boxes (m, 4) or polygons (m,)."""
        variance, shift = np.zeros((2, queries.shape[0]))
        # Where no leaf is cut, there is no allowance, and nothing has to be known of unevenness, which takes long.
        if self.leaf_grid is not None:
            if queries.ndim == 2 and whole_cells(self.leaf_grid.grid, queries).all():
                return Allowance(variance)
            return self.leaf_grid.allowance(self.leaf_unevenness, queries)
        along_axes = queries.ndim == 2  # polygons have slanting edges
        for chunk, levels in self._walker.walks(queries):
            if any(pairs.cut_leaves.any() for pairs in levels):
                part = self.unevenness.allowance(levels, queries[chunk].shape[0], along_axes=along_axes)
                variance[chunk], shift[chunk] = part.variance, part.shift
        return Allowance(variance, shift)

    @cached_property
    def unevenness(self) -> TreeUnevenness:
        """What the released nodes say about the spread of records within leaves, if the leaves follow no grid."""
        fit = self.fit
        variances = fit.noise.fitted_variances()
        noise = lambda boxes: fit.moments(boxes)[0]  # noqa: E731
        return TreeUnevenness.of(self.tree, fit.values, variances, self._walker.walk, self.area, noise)

    @cached_property
    def leaf_unevenness(self) -> GridUnevenness:
        """What the released leaves say about the spread of records within them, if they are the cells of a grid."""
        assert self.leaf_grid is not None
        fit, grid = self.fit, self.leaf_grid
        cells = grid.histogram(fit.values)
        variance = lambda blocks: fit.moments(cells.grid.lattice_boxes(blocks))[0]  # noqa: E731
        return GridUnevenness.of(CellCounts(cells.values, grid.leaves, variance))

    @cached_property
    def fit(self) -> Decomposition:
        """The estimates, made consistent if they are not."""
        if self.consistent:
            return self
        return replace(self, values=two_pass(self.tree, self.values, self.variances).estimates, consistent=True)

    @property
    def leaf_shape(self) -> tuple[int, int] | None:
        """Columns and rows of the grid whose cells the leaves are; None if they follow no grid."""
        return None if self.leaf_grid is None else self.leaf_grid.grid.shape

    @cached_property
    def leaf_grid(self) -> LeafGrid | None:
        """The grid whose cells the leaves are; None if they follow no grid."""
        return LeafGrid.of(self.tree, self.domain, self.shape)

    @cached_property
    def _leaf_values(self) -> Histogram | None:
        """The leaves as a histogram, if they are cells of one grid: any box is then a few prefix sums."""
        return None if self.leaf_grid is None else self.leaf_grid.histogram(self.values)

    @cached_property
    def _families(self) -> Families | None:
        """The tree above its leaves, if the leaves are whole cells of one grid and each level has one variance."""
        if self.leaf_grid is None or self.leaf_grid.border or not self.tree.height or not self.noise.by_level:
            return None
        return self.leaf_grid.families

    @cached_property
    def _is_complete(self) -> bool:
        """Whether the closed form, which is of least squares, holds, and the tree is large enough for it to pay."""
        if self.own_weights is not None:
            return False
        if self.tree.n_leaves < _CLOSED_FORM or self.leaf_grid is None or self.leaf_grid.border:
            return False
        return self.noise.by_level and self.leaf_grid.block_sides is not None

    def closed_form(self) -> dict[str, Any] | None:
        """Numbers of each level, root first, for the closed form of `moments`; None where it is not used."""
        if not (self.consistent and self._is_complete) or self.leaf_grid is None:
            return None
        nx, ny = self.leaf_grid.grid.shape
        return {
            "nx": nx,
            "ny": ny,
            "own": self.noise.level_weights().tolist(),
            "variances": or_zero(self.variances).tolist(),
            "kurtosis": self.kurtosis.tolist(),
            "sides": self.leaf_grid.block_sides,
            "fanOuts": self.tree.fan_outs,
        }
