"""How noisy is an answer from a tree? One algebra: for all nodes, for walked boxes and polygons, and in closed form.

An answer is a weighted sum of independent measurements, so its second and fourth cumulants are the
sums of k² and of k⁴ times those of the measurements. The weights k come from the least-squares fit,
in the notation of `trees.least_squares` (s, V, VS, w, A, g): k = w g. The derivation is in
``docs/design/tree-noise.md``.

Cumulants must depend on variances and never on a value, so that they are known before anything is
measured. The explorer's ``tree.mjs`` computes the same in the browser and must change with this
module. It reads no record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats
from spatialdp.trees.given_weights import given_variances
from spatialdp.trees.least_squares import SubtreeVariances, own_weight, subtree_variances
from spatialdp.trees.levels import ByLevel, at_places, by_level, joined
from spatialdp.trees.pairs import OpenedNodes, Pairs
from spatialdp.trees.shape import TreeShape

__all__ = ["GivenWeights", "TreeNoise", "or_zero"]


@dataclass(frozen=True, eq=False)
class GivenWeights:
    """The weights of a fit that is not by least squares, all fixed before anything below them was measured.

    Attributes
    ----------
    own : (nodes,) array
        The weight w of each inner node's own measurement.
    share : (nodes,) array
        Share of each node in the difference between its parent and its family; 1 for the root.
    """

    own: Floats
    share: Floats


@dataclass(frozen=True, eq=False)
class TreeNoise:
    """The noise of the measurements on a tree, and of the estimates that are fitted to them.

    Attributes
    ----------
    tree : TreeShape
    variances, kurtosis : float arrays
        Variance s and excess kurtosis of each measurement: one for each node or one for each level.
        The variance of an unmeasured node is infinite.
    given : GivenWeights, optional
        The weights of the fit, if it is not by least squares.
    """

    tree: TreeShape
    variances: Floats
    kurtosis: Floats
    given: GivenWeights | None = None

    def at(self, values: Floats, nodes: Array) -> Floats:
        """Values of some nodes, out of an array with one value for each node or for each level."""
        if values.size == self.tree.n_nodes:
            return values.take(nodes)
        return values.take(self.tree.depth.take(nodes))

    @property
    def by_level(self) -> bool:
        """Whether all nodes of a level have the same noise."""
        return self.variances.size == self.tree.height + 1

    @cached_property
    def unmeasured(self) -> Booleans:
        """Whether each node lacks a measurement, (nodes,)."""
        return np.isinf(joined(self.tree, self._own))

    @cached_property
    def subtree(self) -> SubtreeVariances:
        """V and VS of all nodes of a least-squares fit."""
        return subtree_variances(self.tree, list(self._own))

    @cached_property
    def up_variance(self) -> Floats:
        """V of all nodes."""
        if self.given is None:
            return self.subtree.up_variance
        return given_variances(self.tree, joined(self.tree, self._own), self.given.own)

    @cached_property
    def family_share(self) -> Floats:
        """Share of each node in the difference between its parent and its family, (nodes,); 1 for the root."""
        if self.given is not None:
            return self.given.share
        share = np.ones(self.tree.n_nodes)
        for depth, shares in enumerate(self._child_shares):
            share[self.tree.levels[depth + 1]] = self._of_children(depth, shares)
        return share

    @cached_property
    def own_weight(self) -> Floats:
        """The weight w of every node's own measurement."""
        if self.given is not None:
            return np.where(self.tree.leaves, 1.0, self.given.own)
        weight = np.ones(self.tree.n_nodes)
        for level, inner, weights in zip(self.tree.levels, self.tree.inner, self._weights, strict=False):
            weight[level][inner] = weights
        return weight

    def own_second(self, nodes: Array) -> Floats:
        """Second cumulant s of some nodes' own noise, and 0 where nothing was measured."""
        return or_zero(self.at(self.variances, nodes))

    @cached_property
    def own_fourth(self) -> Floats:
        """Fourth cumulant of each node's own noise."""
        return joined(self.tree, self._own_fourth)

    @cached_property
    def subtree_fourth(self) -> Floats:
        """Fourth cumulant K of each node's best estimate from its own subtree."""
        return joined(self.tree, self._subtree_fourth)

    # --- the same by level: a number where all nodes of a level have the same ---

    @cached_property
    def _own(self) -> ByLevel:
        """S of each level."""
        return by_level(self.tree, self.variances)

    @cached_property
    def _own_second(self) -> ByLevel:
        return tuple(or_zero(level) for level in self._own)

    @cached_property
    def _own_fourth(self) -> ByLevel:
        levels = zip(self._own_second, by_level(self.tree, self.kurtosis), strict=True)
        return tuple(np.asarray(second**2 * kurtosis) for second, kurtosis in levels)

    @cached_property
    def _up(self) -> ByLevel:
        """V of each level."""
        return self.subtree.up if self.given is None else by_level(self.tree, self.up_variance)

    @cached_property
    def _subtree_fourth(self) -> ByLevel:
        """K of each level."""
        levels = [self._own_fourth[-1]]
        for depth in reversed(range(self.tree.height)):
            own, inner, weight = self._own_fourth[depth], self.tree.inner[depth], self._weights[depth]
            fourth = _fourth_power(weight) * at_places(own, inner)
            fourth = fourth + _fourth_power(1 - weight) * self._family_sum(depth, levels[-1])
            levels.append(fourth if isinstance(inner, slice) else self._with_inner(depth, own, fourth))
        return tuple(reversed(levels))

    @cached_property
    def _weights(self) -> ByLevel:
        """The weight w of the nodes with children of each level above the lowest one."""
        if self.given is None:
            return self.subtree.weights
        own = self.given.own
        return tuple(own[level][inner] for level, inner in zip(self.tree.levels, self.tree.inner, strict=False))

    @cached_property
    def _child_shares(self) -> ByLevel:
        """The `family_share` of the nodes of each level below the root: a number, one for each family, or for each."""
        if self.given is None:
            return self.subtree.child_shares
        return tuple(self.given.share[level] for level in self.tree.levels[1:])

    def _family_sum(self, depth: int, values: Floats) -> Floats:
        """The sums of the children's values, for each node of one depth that has children."""
        if values.ndim:
            return self.tree.inner_sums(depth, values)
        return np.asarray(values * self.tree.family_sizes[depth])

    def _of_children(self, depth: int, values: Floats) -> Floats:
        """One number for each child of the nodes of one depth, from one for all, for each family, or for each child."""
        children = self.tree.levels[depth + 1]
        if not values.ndim or values.size == children.stop - children.start:
            return values
        return np.repeat(values, self.tree.family_sizes[depth])

    def _with_inner(self, depth: int, leaves: Floats, inner: Floats) -> Floats:
        """The numbers of one depth, from those of its leaves, and those of its nodes with children."""
        level = np.array(np.broadcast_to(leaves, self.tree.offsets[depth + 1] - self.tree.offsets[depth]))
        level[self.tree.inner[depth]] = inner
        return level

    def fitted_nodes(self) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of the noise in every node's fitted estimate."""
        return self.fitted_variances(), self._power_sums(_fourth_power, self._own_fourth, self._subtree_fourth)

    def fitted_variances(self) -> Floats:
        """Variance of the noise in every node's fitted estimate."""
        return self._power_sums(np.square, self._own_second, self._up)

    def raw_nodes(self) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of every node without a fit.

        They are those of the node's own measurement, or of its children's sum if it was not measured.
        """
        second, fourth = joined(self.tree, self._own_second), self.own_fourth.copy()
        for depth in reversed(range(self.tree.height)):
            level, children = self.tree.levels[depth], self.tree.levels[depth + 1]
            for cumulant in (second, fourth):
                below = self.tree.family_sums(depth, cumulant[children])
                np.copyto(cumulant[level], below, where=self.unmeasured[level])
        return second, fourth

    def _power_sums(self, power: Callable[[Floats], Floats], own: ByLevel, subtree: ByLevel) -> Floats:
        """For every node's fitted estimate, the sum over all measurements of weight^power times the cumulant.

        With z the best estimate from a node's own subtree and S the sum of the children's z, the fit is
        x_c = z_c + J (x_v - S), J being the child's share. So if x_v has the weight b on its own z, and
        thus a = b (1 - w) on S, then x_c has the weight 1 - J (1 - a) on its own z, -J (1 - a) on each
        sibling's z, and J times the weights that x_v has elsewhere.

        Siblings that share alike and have the same noise have the same weights, which are then computed for families.

        Parameters
        ----------
        power : function
            The square, or the fourth power.
        own, subtree : numbers by level
            Cumulant of this order of each node's measurement, and of its best estimate z.
        """
        tree, result = self.tree, np.empty(self.tree.n_nodes)
        result[0] = subtree[0].item()
        weight, elsewhere = np.ones(1), np.zeros(1)  # b of each node, and the part of the sum outside its subtree
        for depth in range(tree.height):
            inner, child = tree.inner[depth], subtree[depth + 1]
            weight, elsewhere = at_places(weight, inner), at_places(elsewhere, inner)
            kept = weight * self._weights[depth]
            above = elsewhere + power(kept) * at_places(own[depth], inner)
            share, free, family = self._child_shares[depth], 1 - weight + kept, self._family_sum(depth, child)
            if (share.ndim and share.size > free.size) or child.ndim:
                free, above, family = (self._of_children(depth, each) for each in (free, above, family))
                share = self._of_children(depth, share)
            passed = share * free  # J (1 - a)
            weight, elsewhere = 1 - passed, power(share) * above + power(passed) * (family - child)
            found = power(weight) * child + elsewhere
            result[tree.levels[depth + 1]] = self._of_children(depth, found)
            if depth + 1 < tree.height:
                weight, elsewhere = self._of_children(depth, weight), self._of_children(depth, elsewhere)
        return result

    def fitted_walk(self, levels: Sequence[Pairs], opened: OpenedNodes | None, count: int) -> tuple[Floats, Floats]:
        """Exact second and fourth cumulants of the fitted answers to `count` walked boxes or polygons.

        The pass up computes A of each pair of a box and a node, the pass down g. A subtree that the box
        does not cut contributes g² V and g⁴ times its fourth cumulant, both known beforehand; a cut node
        contributes its own measurement.

        Parameters
        ----------
        levels : sequence of Pairs
            The pairs of a box and a node at each depth, root first.
        opened : OpenedNodes, optional
            Families of leaves below the last depth's pairs that were not visited one by one.
        count : int
            Number of boxes or polygons.
        """
        averages = self._averages(levels)  # A of each depth's pairs
        second, fourth = np.zeros((2, count))
        weight = averages[0].copy()  # g
        for depth, pairs in enumerate(levels):
            own = np.where(pairs.divided, self.own_weight.take(pairs.node), 1.0)
            variance = np.where(pairs.divided, self.own_second(pairs.node), self.up_variance[pairs.node])
            fourths = np.where(pairs.divided, self.own_fourth.take(pairs.node), self.subtree_fourth.take(pairs.node))
            second += np.bincount(pairs.box, (own * weight) ** 2 * variance, minlength=count)
            fourth += np.bincount(pairs.box, (own * weight) ** 4 * fourths, minlength=count)
            passed = (1 - own) * weight - averages[depth]
            if depth + 1 < len(levels):
                weight = averages[depth + 1] + passed[pairs.divided][levels[depth + 1].parent]
            elif opened is not None:
                box, nodes = pairs.box[opened.pairs], pairs.node[opened.pairs]
                squares, fourths = _shifted(opened.powers, passed[opened.pairs], self.tree.n_children[nodes])
                second += np.bincount(box, self.variances[-1] * squares, minlength=count)
                fourth += np.bincount(box, self.own_fourth[-1] * fourths, minlength=count)
        return second, fourth

    def _averages(self, levels: Sequence[Pairs]) -> list[Floats]:
        """A of every pair: its coverage where the walk ends, the weighted mean of its children where it goes on."""
        result = [pairs.coverage.copy() for pairs in levels]
        for depth in reversed(range(len(levels) - 1)):
            pairs, below = levels[depth], levels[depth + 1]
            weighted = result[depth + 1] * self.family_share[below.node]
            result[depth][pairs.divided] = np.bincount(below.parent, weighted, minlength=int(pairs.divided.sum()))
        return result

    def level_weights(self) -> Floats:
        """The weight w of each level, root first, of a tree with one variance and one fan-out for each level."""
        own, up = np.ones(self.variances.size), self.variances[-1]
        for depth in reversed(range(self.tree.height)):
            below = self.tree.fan_outs[depth] * up
            own[depth] = own_weight(self.variances[depth], below)
            up = own[depth] * self.variances[depth] if own[depth] else below
        return own

    def complete(
        self, area: Floats, level_squares: Sequence[Floats], block_sides: Sequence[tuple[int, int]]
    ) -> tuple[Floats, Floats]:
        """Second cumulants of fitted answers in closed form, and close upper bounds of the fourth, on a complete tree.

        Let S be the sum over a level's nodes of their squared covered shares, f the fan-out above the
        level, and P the sum of the nodes' squared weights g. Deviations from the mean of a family add up
        to zero, so P_root = S_root and P = S - f S_above + f (1 - w_above)² P_above; the variance is the
        sum over levels of w² s P. For the fourth cumulant the largest g of a level is bounded: a child's
        share is at most 1 - 1/f away from its parent's, and no larger than the box's area over the node's.

        Parameters
        ----------
        area : (queries,) array
            Area of each box or polygon, in cells.
        level_squares : sequence of (queries,) arrays
            S of each level, root first.
        block_sides : sequence of (width, height)
            Width and height of each level's nodes, in cells.
        """
        own = self.level_weights()
        squares = largest = above = np.zeros(area.size)
        second, fourth = np.zeros((2, area.size))
        for depth, (variance, (width, height), here) in enumerate(
            zip(or_zero(self.variances), block_sides, level_squares, strict=True)
        ):
            passed, fan_out = (1 - own[depth - 1], self.tree.fan_outs[depth - 1]) if depth else (0.0, 0)
            squares = here - fan_out * above + fan_out * passed**2 * squares
            deviation = np.minimum(area / (width * height), 1 - 1 / fan_out if depth else 1.0)
            largest = np.minimum(deviation + passed * largest, 1.0)
            above = here
            second += own[depth] ** 2 * variance * squares
            fourth += own[depth] ** 4 * variance**2 * self.kurtosis[depth] * squares * largest**2
        return np.maximum(second, 0.0), np.maximum(fourth, 0.0)


def or_zero(values: Floats) -> Floats:
    """Variances, with 0 in place of the infinite ones of unmeasured nodes."""
    return np.where(np.isfinite(values), values, 0.0)


def _fourth_power(values: Floats) -> Floats:
    squares = values * values
    return np.asarray(squares * squares)


def _shifted(powers: Floats, shift: Floats, count: Array) -> tuple[Floats, Floats]:
    """Σ (A + shift)² and Σ (A + shift)⁴ over the `count` leaves of each family, from the sums of powers of A."""
    first, second, third, fourth = powers
    squares = second + shift * (2 * first + shift * count)
    fourths = fourth + shift * (4 * third + shift * (6 * second + shift * (4 * first + shift * count)))
    return np.maximum(squares, 0.0), np.maximum(fourths, 0.0)
