"""How do counts of public zones answer zones, sets of zones, and areas that cut zones? An `Estimate` of kind "zones".

A tree of zones is measured with every chain of only children as one node (`space.zones.chains`), so values and noise
here are those of the merged nodes, and a declared zone has those of the node that it is part of. Zones and sets of
zones need no geometry: their sums and their noise follow from the tree alone, by the algebra of `trees.tree_noise`.
Boxes and polygons are sums of leaves, weighted by the shares of their areas that are covered.

The count of a zone does not tell where in the zone its records are, and its area says nothing about where people live.
So an interval about the truth of an area that cuts zones goes from the lower end for the zones inside to the upper end
for the zones that it touches. That is guaranteed, as the intervals of zones are.

This module reads no record.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers, read_only
from spatialdp._support.override import override
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import moments_of
from spatialdp.estimates.tree_counts import TreeCounts
from spatialdp.estimates.unevenness.allowance import Allowance, Bracket, Sums
from spatialdp.estimates.zones.sets import NodeSets, visited
from spatialdp.estimates.zones.shares import LeafAreas
from spatialdp.space.polygons import Polygons
from spatialdp.space.zones.chains import Chains
from spatialdp.trees.shape import TreeShape
from spatialdp.trees.tree_noise import GivenWeights, TreeNoise
from spatialdp.wording import either

if TYPE_CHECKING:
    from spatialdp.space.zones.frame import Zones

__all__ = ["LISTED", "ZoneCounts"]

LISTED = "listed zones"  # the beginning of the name of a frame that holds only listed zones


@dataclass(frozen=True, eq=False)
class ZoneCounts(TreeCounts):
    """Estimated counts of public zones; an `Estimate`.

    Attributes
    ----------
    zones : Zones
        The public frame.
    values : (nodes,) array
        Estimated count of each merged node: consistent estimates, or the noisy counts as they were measured.
    variances, kurtosis : (nodes,) arrays
        Variance and excess kurtosis of the noise in each merged node's measurement. The variance of an unmeasured node
        is infinite, that of a known total is 0.
    step : float
        Width of the lattice on which the noise of the measurements lies.
    consistent : bool
        Whether parents are the sums of their children.
    biased : bool
        Whether the errors of the estimates no longer average out.
    given : GivenWeights, optional
        The weights of the fit of merged nodes, if it is not by least squares under these variances.
    """

    kind: ClassVar[str] = "zones"

    zones: Zones
    values: Floats
    variances: Floats
    kurtosis: Floats
    step: float
    consistent: bool
    biased: bool = False
    given: GivenWeights | None = None

    def __post_init__(self) -> None:
        for name in ("values", "variances", "kurtosis"):
            object.__setattr__(self, name, read_only(getattr(self, name), np.float64))

    @property
    def chains(self) -> Chains:
        """Which merged node each declared zone is part of."""
        return self.zones.chains

    @property
    def shape(self) -> TreeShape:
        """The tree of merged nodes."""
        return self.chains.shape

    @cached_property
    @override
    def noise(self) -> TreeNoise:
        return TreeNoise(self.shape, self.variances, self.kurtosis, self.given)

    @property
    def listed(self) -> bool:
        """Whether the frame holds only those zones of a public one whose noisy count passed a threshold."""
        return (self.zones.name or "").startswith(LISTED)

    @property
    @override
    def nodes(self) -> TreeShape:
        return self.shape

    @property
    def n_cells(self) -> int:
        """Number of leaf zones."""
        return self.zones.n_leaves

    @cached_property
    def total(self) -> float:
        """Estimated number of records."""
        return float(self._node_values[0])

    # --- zones and sets of zones ---

    def of_nodes(self, nodes: Array) -> Sums:
        """Answer declared zones, by the numbers of their nodes in `zones.shape`."""
        places = self.chains.place[np.asarray(nodes, dtype=np.int64)]
        second, fourth = self._node_cumulants
        return Sums(self._node_values[places], *moments_of(second[places], fourth[places]))

    def of_sets(self, sets: Sequence[Array]) -> Sums:
        """Answer sets of declared zones, each given by the numbers of its nodes; a zone counts once in a set."""
        return self._sums(self._merged(NodeSets.of(sets)))

    def _merged(self, sets: NodeSets) -> NodeSets:
        """Turn members that are declared zones into members that are merged nodes."""
        return replace(sets, node=np.asarray(self.chains.place[sets.node], dtype=np.int64))

    def _sums(self, sets: NodeSets) -> Sums:
        """Answer sets of merged nodes and of shares of leaves."""
        values, second, fourth = np.zeros((3, sets.count))
        for part, few in sets.chunks():
            levels = visited(self.shape, few)
            for pairs in levels:
                share = np.where(pairs.divided, 0.0, pairs.coverage)
                values[part] += np.bincount(pairs.box, share * self._node_values.take(pairs.node), minlength=few.count)
            if self.consistent:
                second[part], fourth[part] = self.noise.fitted_walk(levels, None, few.count)
                continue
            for pairs in levels:
                share = np.where(pairs.divided, 0.0, pairs.coverage)
                for total, own, power in zip((second, fourth), self._node_cumulants, (2, 4), strict=True):
                    total[part] += np.bincount(pairs.box, share**power * own.take(pairs.node), minlength=few.count)
        return Sums(values, *moments_of(second, fourth))

    @cached_property
    def _node_values(self) -> Floats:
        """The answer to each merged node: its estimate, or the sum of its children if it was not measured."""
        if self.consistent or not self.noise.unmeasured.any():
            return self.values
        values = self.values.copy()
        for depth in reversed(range(self.shape.height)):
            level = self.shape.level(depth)
            below = self.shape.family_sums(depth, values[self.shape.level(depth + 1)])
            np.copyto(values[level], below, where=self.noise.unmeasured[level])
        return values

    @cached_property
    def _node_cumulants(self) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of the noise in the answer to each merged node."""
        return self.noise.fitted_nodes() if self.consistent else self.noise.raw_nodes()

    # --- boxes and polygons, by the shares of leaves ---

    @cached_property
    def areas(self) -> LeafAreas:
        """The areas of the leaf zones."""
        if self.zones.geometry is None or self.zones.domain is None:
            raise ReleaseError(
                "these zones were given as codes alone, without polygons, but boxes, polygons and maps need their "
                f"places; {either('ask for zones by their codes, such as answer(code)', 'ask with --codes')}, or join "
                "your own boundaries to the codes."
            )
        return LeafAreas(self.zones.geometry, self.zones.domain)

    @cached_property
    def _leaf_places(self) -> Integers:
        """The merged node of each leaf zone, in the order of the leaves."""
        return np.asarray(self.chains.place[np.flatnonzero(self.zones.shape.leaves)], dtype=np.int64)

    @cached_property
    def _latest(self) -> dict[Hashable, NodeSets]:
        """The queries that were clipped last: an interval needs the shares of one query three times."""
        return {}

    def covered(self, queries: Array) -> NodeSets:
        """Return the shares of merged leaves that boxes (m, 4) or polygons (m,) cover."""
        import shapely

        key = queries.tobytes() if queries.ndim == 2 else tuple(shapely.to_wkb(queries))
        latest = self._latest.get(key)
        if latest is None:
            latest = self._clipped(queries)
            self._latest.clear()
            self._latest[key] = latest
        return latest

    def _clipped(self, queries: Array) -> NodeSets:
        polygons = self.areas.boxes(queries) if queries.ndim == 2 else queries
        leaves = self.areas.of(polygons)
        return replace(leaves, node=self._leaf_places[leaves.node])

    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes; records are assumed to be evenly spread within a leaf."""
        return self._sums(self.covered(boxes)).values

    def answer_polygons(self, polygons: Polygons) -> Floats:
        """Estimated counts of polygons; records are assumed to be evenly spread within a leaf."""
        return self._sums(self.covered(polygons)).values

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each answer."""
        return self._moments(boxes)

    def polygon_moments(self, polygons: Polygons) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each polygon's answer."""
        return self._moments(polygons)

    def _moments(self, queries: Array) -> tuple[Floats, Floats]:
        sums = self._sums(self.covered(queries))
        return sums.variance, sums.kurtosis

    def allowance(self, boxes: Integers) -> Allowance:
        """Sums of whole zones between which the truth of each box lies."""
        return self._allowance(boxes)

    def polygon_allowance(self, polygons: Polygons) -> Allowance:
        """Sums of whole zones between which the truth of each polygon lies."""
        return self._allowance(polygons)

    def _allowance(self, queries: Array) -> Allowance:
        covered = self.covered(queries)
        bracket = Bracket(self._sums(covered.inside), self._sums(covered.touched), covered.cut)
        return Allowance(np.zeros(covered.count), bracket=bracket)

    def uniformity(self, boxes: Integers) -> Floats:
        """About how far each answer can be off because records are not evenly spread within the leaves that a box cuts.

        The bound is the sum over cut leaves of the (noisy) estimate times the larger of the covered
        and the uncovered share.
        """
        covered = self.covered(boxes)
        worst = np.where(covered.share < 1, np.maximum(covered.share, 1 - covered.share), 0.0)
        counts = np.maximum(self._node_values[covered.node], 0.0)
        return np.asarray(np.bincount(covered.owner, worst * counts, minlength=covered.count), dtype=np.float64)

    @property
    def extrapolates(self) -> bool:
        """Whether an allowance may shift an answer; it never does for zones."""
        return False

    # --- leaves ---

    def leaf_boxes(self, numbers: Integers | slice = slice(None)) -> Integers:
        """The smallest lattice boxes around all leaves, or around some leaves by their numbers."""
        return self.areas.lattice_boxes[numbers]

    def leaf_values(self) -> Floats:
        """Estimated counts of the leaves, in the order of `zones.geometry`."""
        return self._node_values[self._leaf_places]

    def leaf_moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each leaf's estimate."""
        second, fourth = self._node_cumulants
        return moments_of(second[self._leaf_places], fourth[self._leaf_places])

    def leaf_allowance(self) -> Allowance:
        """What uneven spread adds to the errors of whole leaves: nothing."""
        return Allowance(np.zeros(self.n_cells))
