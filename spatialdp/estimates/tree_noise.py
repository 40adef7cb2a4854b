"""What is known of the noise in a tree's nodes: in measurements, in best estimates of subtrees, in the fit.

With powers p = 2 (variances) and p = 4 (fourth cumulants), every quantity is a sum of (weight)^p over independent
measurements, so one pass up and one down give it for all nodes at once. Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp.trees.least_squares import Fit, divisor, own_weight, two_pass
from spatialdp.trees.tree import Tree

__all__ = ["NodeNoise", "or_zero"]


@dataclass(frozen=True, eq=False)
class NodeNoise:
    """Noise of the nodes of a tree.

    Attributes
    ----------
    tree : Tree
    values : float array
        Estimate of each node; only the fit reads them.
    variances, kurtosis : float arrays
        Of the noise in each node's measurement: one for each node or one for each level. Infinite variance: the node
        was not measured.
    """

    tree: Tree
    values: Floats
    variances: Floats
    kurtosis: Floats

    def of(self, values: Floats, nodes: Array) -> Floats:
        """Values of nodes, from an array with one for each node or one for each level."""
        if values.size == self.tree.n_nodes:
            return values.take(nodes)
        return values.take(self.tree.depth.take(nodes))

    @cached_property
    def fit(self) -> Fit:
        """The fit's variances; fitting consistent values again does not change them."""
        return two_pass(self.tree, self.values, self.variances)

    @cached_property
    def own_weight(self) -> Floats:
        """w: weight of a node's own measurement in its subtree's best estimate."""
        below = np.full(self.tree.n_nodes, np.inf)
        below[: self.fit.children_variance.size] = self.fit.children_variance
        return own_weight(self.of(self.variances, self._every), below)

    @cached_property
    def own_fourth(self) -> Floats:
        """Fourth cumulant of each node's own noise."""
        return or_zero(self.of(self.variances, self._every)) ** 2 * self.of(self.kurtosis, self._every)

    @cached_property
    def subtree_fourth(self) -> Floats:
        """Fourth cumulant of each subtree's best estimate of its root."""
        result = self.own_weight**4 * self.own_fourth
        for depth in reversed(range(self.tree.height)):
            level = self.tree.level(depth)
            below = self.tree.family_sums(depth, result[self.tree.level(depth + 1)])
            result[level] += (1 - self.own_weight[level]) ** 4 * below
        return result

    def fitted_cumulants(self) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of the noise in every node's estimate, after the fit."""
        second = self._settled(2, or_zero(self.of(self.variances, self._every)), self.fit.up_variance)
        return second, self._settled(4, self.own_fourth, self.subtree_fourth)

    def raw_cumulants(self) -> tuple[Floats, Floats]:
        """The same without a fit: of the node's own measurement, or of its children's sum if it was not measured."""
        unmeasured = np.isinf(self.of(self.variances, self._every))
        second = or_zero(self.of(self.variances, self._every))
        fourth = self.own_fourth.copy()
        for depth in reversed(range(self.tree.height)):
            level, children = self.tree.level(depth), self.tree.level(depth + 1)
            for cumulant in (second, fourth):
                below = self.tree.family_sums(depth, cumulant[children])
                np.copyto(cumulant[level], below, where=unmeasured[level])
        return second, fourth

    def _settled(self, power: int, own: Floats, subtree: Floats) -> Floats:
        """Sums of (weight)^power over all measurements, for every node's fitted estimate.

        With z the best estimate from a node's own subtree and S the sum of the children's z, the fit says
        x_c = z_c + J (x_v - S), J the child's share. So if x_v has weight b on its z, and thus a = b (1 - w) on S,
        the child has 1 - J (1 - a) on its own z, -J (1 - a) on each sibling's, and J times what x_v has elsewhere.
        """
        tree, weight = self.tree, np.ones(self.tree.n_nodes)
        elsewhere = np.zeros(tree.n_nodes)
        for depth in range(tree.height):
            level, children = tree.level(depth), tree.level(depth + 1)
            share = self.fit.shares[children] / tree.to_children(depth, divisor(self.fit.children_variance[level]))
            taken = share * tree.to_children(depth, 1 - weight[level] * (1 - self.own_weight[level]))
            above = elsewhere[level] + (weight[level] * self.own_weight[level]) ** power * own[level]
            siblings = tree.to_children(depth, tree.family_sums(depth, subtree[children])) - subtree[children]
            weight[children] = 1 - taken
            elsewhere[children] = share**power * tree.to_children(depth, above) + taken**power * siblings
        return weight**power * subtree + elsewhere

    @property
    def _every(self) -> Integers:
        return np.arange(self.tree.n_nodes)


def or_zero(values: Floats) -> Floats:
    """Variances, with 0 for what was not measured."""
    return np.where(np.isfinite(values), values, 0.0)
