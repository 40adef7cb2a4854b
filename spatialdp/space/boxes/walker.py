"""How do queries go down one tree, and what do they add up to there? In chunks, and past leaves that are grid cells.

`walk` goes down any tree with some boxes or polygons. A `Walker` knows one tree: which region its leaves lie in, which
nodes must be divided because they were not measured, and whether families of leaves can be summed without a visit
(`leaf_families`). It takes long lists of queries in chunks. Nothing here sees a record or a count: whoever asks weighs
the nodes at which walks end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.space.boxes.leaf_families import Families
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.boxes.walk import chunks, walk, walk_polygons
from spatialdp.space.domain import Domain
from spatialdp.space.regions.borders import RegionArea
from spatialdp.trees.pairs import OpenedNodes, Pairs
from spatialdp.trees.tree_noise import TreeNoise

__all__ = ["Walker"]


@dataclass(frozen=True, eq=False)
class Walker:
    """A tree of boxes, and what decides how boxes (m, 4) and polygons (m,) go down it.

    Attributes
    ----------
    tree : Tree
    domain : Domain
    area : RegionArea or None
        The region, if leaves lie in it in part.
    families : Families or None
        The tree above its leaves, if the leaves are whole cells of one grid and each level has one variance.
    unmeasured : bool array or None
        The nodes below which sums go on, because they were not measured; None if there are none.
    """

    tree: Tree
    domain: Domain
    area: RegionArea | None
    families: Families | None
    unmeasured: Booleans | None

    def walk(self, queries: Array, descend: Booleans | None = None) -> list[Pairs]:
        """The pairs of each depth of some queries, few enough to be walked together."""
        if queries.ndim == 2:
            return walk(self.tree, queries, descend, self.area)
        return walk_polygons(self.tree, self.domain, queries, descend, self.area)

    def walks(self, queries: Array) -> Iterator[tuple[slice, list[Pairs]]]:
        """Yield the pairs of each depth, for some of the queries at a time."""
        for chunk in chunks(self.tree, queries):
            yield chunk, self.walk(queries[chunk])

    def summed(self, queries: Array, *weigh: Callable[[Pairs], Floats]) -> Floats:
        """For every query, the sums of each `weigh` over the measured nodes at which its walk ends, (sums, queries)."""
        totals = np.zeros((len(weigh), queries.shape[0]))
        for chunk in chunks(self.tree, queries):
            for pairs in self.walk(queries[chunk], self.unmeasured):
                for total, weights in zip(totals[:, chunk], weigh, strict=True):
                    kept = np.where(~pairs.divided, weights(pairs), 0.0)
                    total += np.bincount(pairs.box, kept, minlength=total.size)
        return totals

    def summed_values(self, boxes: Integers, *values: Array) -> Floats:
        """For every box, the sums of each set of node values by covered shares, (sets, boxes)."""
        totals = np.zeros((len(values), boxes.shape[0]))
        for chunk in chunks(self.tree, boxes):
            for pairs in walk(self.tree, boxes[chunk], self.unmeasured, self.area):
                ended = np.flatnonzero(~pairs.divided & (pairs.coverage > 0))
                box, node, coverage = pairs.box.take(ended), pairs.node.take(ended), pairs.coverage.take(ended)
                for total, counts in zip(totals[:, chunk], values, strict=True):
                    total += np.bincount(box, coverage * counts.take(node), minlength=total.size)
        return totals

    def summed_families(
        self, boxes: Integers, whole: Callable[[Integers], Floats], part: Callable[[OpenedNodes], Floats]
    ) -> Floats:
        """For every box, the sum of `whole` over covered nodes and of `part` over families of leaves that it cuts."""
        assert self.families is not None
        total = np.zeros(boxes.shape[0])
        for chunk in chunks(self.tree, boxes):
            levels, opened = self.families.walk(boxes[chunk], self.unmeasured)
            for pairs in levels:
                weights = np.where(~pairs.divided & (pairs.coverage > 0), whole(pairs.node), 0.0)
                if opened is not None and pairs is levels[-1]:
                    weights[opened.pairs] = part(opened)
                total[chunk] += np.bincount(pairs.box, weights, minlength=total[chunk].size)
        return total

    def fitted_cumulants(self, queries: Array, noise: TreeNoise) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of the answers from estimates that are fitted to noisy measurements."""
        second, fourth = np.zeros((2, queries.shape[0]))
        for chunk in chunks(self.tree, queries):
            levels, opened = self._visited(queries[chunk])
            second[chunk], fourth[chunk] = noise.fitted_walk(levels, opened, queries[chunk].shape[0])
        return second, fourth

    def _visited(self, queries: Array) -> tuple[list[Pairs], OpenedNodes | None]:
        """The pairs of a query and a node at each depth, and the families of leaves that are not visited.

        Families of leaves that are grid cells are not visited: their parent gets the cells' mean coverage.
        """
        if self.families is None or queries.ndim == 1:
            return self.walk(queries), None
        levels, opened = self.families.walk(queries)
        if opened is not None:
            coverage = levels[-1].coverage.copy()
            coverage[opened.pairs] = opened.powers[0] / self.tree.n_children[levels[-1].node[opened.pairs]]
            levels[-1] = replace(levels[-1], coverage=coverage)
        return levels, opened
