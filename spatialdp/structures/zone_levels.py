"""How are zones measured? By counts of each level, where a zone that spans several levels is measured once.

A node of the merged tree (`space.zones.chains`) spans the levels on which its area is a zone. Nodes that span the same
levels are a group: they are disjoint, and a group costs what its levels cost together. On the path from the root to any
leaf each level is spanned exactly once, so every path costs the whole budget, although all groups together may cost
more. That is why sensitivities here hold for paths, not for one group after the other (``docs/design/zones.md``).

Totals that are known from elsewhere, and invariants, are nodes without noise: the fit keeps them. This module sees
counts, never records, and draws no noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, read_only
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity
from spatialdp.space.zones.chains import Chains
from spatialdp.space.zones.frame import Zones
from spatialdp.space.zones.hierarchy import ALL_ZONES
from spatialdp.structures.base import Laws, Structure, fullest, noise_of, step_of
from spatialdp.trees.least_squares import two_pass
from spatialdp.trees.shape import TreeShape, sums
from spatialdp.wording import parameter

__all__ = ["KnownTotals", "ZoneLevels", "level_step"]

_ROUNDING = 1e-9  # tolerance for known totals that must add up, relative to the larger one


@dataclass(frozen=True, eq=False)
class KnownTotals:
    """Totals of zones that come from elsewhere and are public.

    Attributes
    ----------
    nodes : int64 array
        Declared zones.
    values : float array
        Their totals.
    """

    nodes: Integers
    values: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", read_only(self.nodes, np.int64))
        object.__setattr__(self, "values", read_only(self.values, np.float64))


@dataclass(frozen=True, eq=False)
class ZoneLevels(Structure):
    """Counts of the zones of each level, root first.

    A record is in at most one zone of each level.

    Attributes
    ----------
    zones : Zones
    consistent : bool
        Whether the fit makes every zone the sum of its parts.
    known : KnownTotals, optional
        Totals that the fit keeps.
    exact_depth : int
        Zones of this level and of those above it are published without noise: invariants. None by default, -1.
    """

    zones: Zones
    consistent: bool = True
    known: KnownTotals | None = None
    exact_depth: int = -1

    def __post_init__(self) -> None:
        if self.known is not None:
            self._check_known()

    @property
    def chains(self) -> Chains:
        """The merged tree, whose nodes are measured."""
        return self.zones.chains

    @property
    def tree(self) -> TreeShape:
        """The shape of the merged tree."""
        return self.chains.shape

    @property
    @override
    def n_cells(self) -> int:
        return self.zones.shape.n_nodes

    @property
    @override
    def n_disjoint(self) -> int:
        return self.zones.n_leaves

    @property
    @override
    def groups(self) -> tuple[str, ...]:
        return tuple(self._name(first, last) for first, last in self.chains.spans.tolist())

    def _name(self, first: int, last: int) -> str:
        step = level_step(self.zones, first)
        return step if first == last else f"{step} to {self.zones.levels[last]}, one zone"

    def costs_of(self, levels: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Cost of each group, given those of the levels; what is published without noise costs nothing."""
        return tuple(
            Fraction(0) if first <= self.exact_depth else sum(levels[first : last + 1], Fraction(0))
            for first, last in self.chains.spans.tolist()
        )

    # --- how far one record, or one person, can move a group ---

    @override
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """How far one record can move a group.

        A record that is replaced leaves the nodes of one path and enters those of another, which may be in other
        groups. So a group pays for half of each, even one with a single node. The root is in both paths.
        """
        return count_sensitivity(neighbours, 1 if self._is_root(group) else 2)

    @override
    def in_cells(self, group: int, neighbours: Neighbours, most: int) -> int:
        """Bound the squared L2 norm for a person in `most` leaves, such that costs of every path add up to the whole.

        Let a person be counted once in each of L leaves, k of them in node v, which has s leaves. If squared noise is
        calibrated to L min(L, s), v costs this person ρ k² / (L min(L, s)) <= ρ k / L, and the sum over all nodes is
        the mean cost of the paths of the person's leaves. Where each level is in one group only, costs add up group by
        group, and less noise will do: see `once_each`.
        """
        if self._groups_add_up:
            return self.once_each(group, neighbours, most)
        together = min(most, int(self._leaves_of_nodes(group).max()))
        return self.sensitivity(group, neighbours).l2_squared * most * together

    @override
    def once_each(self, group: int, neighbours: Neighbours, most: int) -> int:
        moved = fullest(self._leaves_of_nodes(group), most)
        return moved if neighbours is Neighbours.ADD_REMOVE or self._is_root(group) else 2 * moved

    @cached_property
    def _groups_add_up(self) -> bool:
        """Whether each level is spanned by one group only, so that all groups together cost the whole."""
        first, last = self.chains.spans.T
        return int((last - first + 1).sum()) == self.zones.shape.height + 1

    def _is_root(self, group: int) -> bool:
        return int(self.chains.spans[group, 0]) == 0

    def _leaves_of_nodes(self, group: int) -> Integers:
        """Number of leaves at or below each node of a group."""
        return self._leaves_below[self._nodes[group]]

    @cached_property
    def _leaves_below(self) -> Integers:
        leaves: Integers = sums(self.tree, np.ones(self.tree.n_leaves, dtype=np.int64))
        return leaves

    # --- the measurements, and the fit ---

    @cached_property
    def _nodes(self) -> list[Integers]:
        """The nodes of each group."""
        return [group.nodes for group in self.chains.groups]

    def node_counts(self, counts: Integers) -> Integers:
        """Exact counts of all merged nodes, from the counts of the leaves in the frame's order."""
        places = self.chains.place[self.zones.leaf_nodes]
        nodes = np.zeros(self.tree.n_nodes, dtype=np.int64)
        nodes[places] = counts
        totals: Integers = sums(self.tree, nodes[self.tree.leaves])
        return totals

    @override
    def measure(self, counts: Integers) -> Iterator[Integers]:
        totals = self.node_counts(counts)
        return (nodes.of(totals) for nodes in self.chains.groups)

    @override
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:
        values = np.empty(self.tree.n_nodes)
        for nodes, part in zip(self.chains.groups, noisy, strict=True):
            nodes.put(values, part)
        if not self.consistent:
            return values
        if self.known is not None:
            values[self._known_places] = self.known.values
        return two_pass(self.tree, values, self._variances(laws), in_place=True).estimates

    def noise(self, laws: Laws) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of each merged node's measurement; 0 where a total is known or exact."""
        variances, kurtosis = (self._of_groups(values) for values in noise_of(laws))
        variances[self.certain] = kurtosis[self.certain] = 0.0
        return variances, kurtosis

    def _of_groups(self, values: Floats) -> Floats:
        """One number for each merged node, from one for each group."""
        result = np.empty(self.tree.n_nodes)
        for nodes, value in zip(self.chains.groups, values.tolist(), strict=True):
            nodes.fill(result, value)
        return result

    def _variances(self, laws: Laws) -> list[Floats]:
        """The variances of `noise` by level: a number where all nodes of a level have the same."""
        of_group = noise_of(laws)[0]
        levels: list[Floats] = []
        for depth, only in enumerate(self.chains.group_of_level):
            level = self.tree.level(depth)
            if only >= 0 and not self.certain[level].any():
                levels.append(np.asarray(of_group[only]))
            else:
                levels.append(np.where(self.certain[level], 0.0, of_group[self.chains.group[level]]))
        return levels

    @cached_property
    def certain(self) -> Booleans:
        """Which merged nodes have no noise, because their totals are known or are invariants."""
        certain = self.chains.first <= self.exact_depth
        certain[self._known_places] = True
        return certain

    def is_exact(self, group: int) -> bool:
        """Whether a group is published without noise: its zones are invariants."""
        return int(self.chains.spans[group, 0]) <= self.exact_depth

    @override
    def estimate(self, values: Floats, laws: Laws) -> ZoneCounts:
        return ZoneCounts(self.zones, values, *self.noise(laws), step=step_of(laws), consistent=self.consistent)

    @override
    def blank(self, laws: Laws) -> ZoneCounts:
        return self.estimate(np.zeros(self.tree.n_nodes), laws)

    @override
    def needs(self, group: int) -> bool:
        # Only the leaves must be measured, unless they are published without noise.
        return int(self.chains.spans[group, 1]) == self.zones.shape.height and not self.is_exact(group)

    @property
    @override
    def memory(self) -> int:
        return 80 * self.tree.n_nodes + 16 * self.zones.shape.n_nodes

    # --- totals that are known ---

    @cached_property
    def _known_places(self) -> Integers:
        """The merged nodes whose totals are known."""
        return np.zeros(0, dtype=np.int64) if self.known is None else self.chains.place[self.known.nodes]

    def _check_known(self) -> None:
        """Refuse known totals that cannot all be right."""
        assert self.known is not None
        tree, place = self.tree, self._known_places
        total = np.full(tree.n_nodes, np.nan)
        total[place] = self.known.values
        if not _agree(total[place], self.known.values).all():
            self._refuse(place[~_agree(total[place], self.known.values)][0])
        least, settled = np.where(np.isnan(total), 0.0, total), ~np.isnan(total)
        for d in reversed(range(tree.height)):
            level, children = tree.level(d), tree.level(d + 1)
            below = tree.family_sums(d, least[children])
            whole = tree.family_sums(d, (~settled[children]).astype(np.int64), empty=1) == 0
            wrong = settled[level] & ~_agree(least[level], below) & (whole | (below > least[level]))
            if wrong.any():
                self._refuse(int(np.flatnonzero(wrong)[0]) + level.start)
            least[level] = np.where(settled[level], least[level], below)
            settled[level] |= whole

    def _refuse(self, node: int) -> None:
        zone = self.zones.codes[np.flatnonzero(self.chains.place == node)[0]]
        raise ParameterError(
            f"the totals in {parameter('known')} contradict each other: that of zone {zone!r} is not what those of its "
            "parts add up to. Correct them, or leave some of them out."
        )


def _agree(one: Floats, other: Floats) -> Booleans:
    """Whether totals are the same up to rounding."""
    return np.asarray(np.abs(one - other) <= _ROUNDING * np.maximum(np.abs(one), np.abs(other)))


def level_step(zones: Zones, depth: int) -> str:
    """The name of a level's counts, as budgets show it.

    Examples
    --------
    >>> zones = Zones.from_codes(["37063", "37001", "11001"], None, {"state": 2, "county": 5})
    >>> [level_step(zones, depth) for depth in range(3)]
    ['count of all zones', 'counts by state', 'counts by county']
    """
    level = zones.levels[depth]
    return f"count of {ALL_ZONES}" if level == ALL_ZONES else f"counts by {level}"
