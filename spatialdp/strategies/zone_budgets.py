"""How should the budget be divided over the levels of a tree of zones? Each level gets the share that it causes.

A tree of zones has unequal fan-outs, so no rule in closed form is best for it. With s the variance of a measurement and
x the least-squares fit, the objective is a weighted sum over zones

    f = Σ u_v Var(x_v),   with weights u that say how much each zone matters.

Variances are homogeneous in s, so f is the sum of C_v = s_v ∂f/∂s_v: what the noise of each measurement causes. At the
optimum the share of a level in the budget is the share of f that the level causes, both for Laplace noise, whose
variance falls with the square of the budget ε, and for Gaussian noise, whose variance falls with ρ. The shares move
there in steps that would arrive at once if each level stood alone. All C are found by one pass up the tree and one
down, and by these passes backwards. The notation is that of `trees.least_squares`, with precisions P = 1/V and
Q = 1/U, where U is the variance of the best estimate of v from everything outside its subtree. The derivation is in
``docs/design/zones.md``. This module reads no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, expand_ranges
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.objective import moved_shares
from spatialdp.trees.shape import TreeShape

__all__ = ["ZoneObjective", "best_shares", "importance_of_levels"]

# Levels with a smaller share of the budget are not worth measuring.
_SMALLEST_SHARE = 1e-4
# The optimiser ends when no share moves by more than this, or after so many steps.
_SETTLED, _STEPS = 2e-8, 400
_COARSE = 8  # steps after which it is seen whether a level is better left out
# Above so many different nodes the search begins on a part of the tree.
_MANY = 2**16
# The precision of totals that are known, in units in which measurements have about 1.
_KNOWN = 1e24


@dataclass(frozen=True, eq=False)
class ZoneObjective:
    """Mean variances of fitted zones, as a function of the shares that the levels have of the budget.

    Attributes
    ----------
    shape : TreeShape
        The merged tree, whose nodes are measured.
    group : int array
        The group of each node; the nodes of a group are measured alike.
    spans : (groups, 2) int array
        The first and last level that a group spans: it costs what these levels cost together.
    importance : float array
        The weight u of each node.
    law : Law
    scales : (groups,) float array
        Variance of a group's noise if it had the whole budget, in any unit.
    known : bool array, optional
        Nodes whose totals are known.
    certain, copies : arrays
        Whether a node's total is known. Of siblings that are leaves and alike in all, one node is kept here, and stands
        for so many.

    Examples
    --------
    >>> shape = TreeShape([0, 1, 3], [2, 0, 0])
    >>> levels = np.array([[0, 0], [1, 1]])
    >>> zones = ZoneObjective(shape, shape.depth, levels, np.array([0.0, 0.5, 0.5]), Law.LAPLACE, np.ones(2))
    >>> zones.at([0.0, 1.0])[0], round(zones.at([0.5, 0.5])[0], 3)
    (1.0, 2.667)
    """

    shape: TreeShape
    group: Array
    spans: Integers
    importance: Floats
    law: Law
    scales: Floats
    known: Booleans | None = None
    certain: Booleans = field(init=False)
    copies: Floats = field(init=False)

    def __post_init__(self) -> None:
        known = np.zeros(self.shape.n_nodes, dtype=bool) if self.known is None else self.known
        keep, copies = _distinct(self.shape, self.group, self.importance, known)
        self._set(keep, known, copies, copies)

    def _set(self, keep: Integers, certain: Booleans, copies: Floats, weights: Floats) -> None:
        """Keep some of the nodes, each for so many siblings, and with its importance multiplied by a weight."""
        values = {
            "shape": self.shape if keep.size == self.shape.n_nodes else _part(self.shape, keep),
            "group": self.group[keep].astype(np.int64),
            "importance": self.importance[keep] * weights,
            "certain": certain[keep],
            "copies": copies,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def thinned(self, most: int) -> ZoneObjective:
        """Return an objective that is much like this one, for a tree of about `most` nodes, or of the fewest possible.

        Of the children of each node some stand for all, evenly chosen, and their subtrees with them. All levels stay.
        """
        widest, apart = int(self.shape.n_children.max()), self._stand_apart()
        while True:
            keep, copies, weights = _some(self.shape, apart, widest)
            if keep.size <= most or widest == 1:
                break
            widest = -(-widest // 2)
        part = copy(self)
        part._set(keep, self.certain, self.copies[keep] * copies, weights)
        return part

    def _stand_apart(self) -> Booleans:
        """Which nodes stand for no others: they, or nodes below them, are known, or matter more than their group."""
        each = self.importance / self.copies
        least = np.full(len(self.spans), np.inf)
        np.minimum.at(least, self.group, each)
        apart = self.certain | (each > least[self.group] * (1 + 1e-9))
        for depth in reversed(range(self.shape.height)):
            below = self.shape.family_sums(depth, apart[self.shape.level(depth + 1)].astype(np.int64))
            apart[self.shape.level(depth)] |= below > 0
        return apart

    @property
    def power(self) -> int:
        """The power of the budget with which variances fall."""
        return 1 if self.law is Law.GAUSSIAN else 2

    def at(self, shares: Sequence[float] | Floats) -> tuple[float, Floats]:
        """The value f at some shares of the levels, root first, and the part C of it that each level causes."""
        share = np.asarray(shares, dtype=np.float64)
        paid = np.concatenate([[0.0], np.cumsum(share)])
        costs = paid[self.spans[:, 1] + 1] - paid[self.spans[:, 0]]  # (groups,)
        costs[costs < 1e-15] = 0.0  # of differences of sums
        value, causes = self._causes(costs**self.power / self.scales)
        levels = np.zeros(share.size)
        each = np.divide(causes, costs, out=np.zeros_like(costs), where=costs > 0)
        for (first, last), cause in zip(self.spans.tolist(), each.tolist(), strict=True):
            levels[first : last + 1] += cause
        return value, levels * share

    def _causes(self, precisions: Floats) -> tuple[float, Floats]:
        """The value f, and C of each group, given the precision of each group's measurements."""
        passes = _Passes.of(self.shape, self.copies, np.where(self.certain, _KNOWN, precisions[self.group]))
        variance = passes.variances
        slopes = passes.slopes(-self.importance * variance**2)
        caused = np.where(self.certain, 0.0, -passes.own * slopes)
        return float(self.importance @ variance), np.asarray(np.bincount(self.group, caused, precisions.size))


@dataclass(frozen=True, eq=False)
class _Passes:
    """The fit's variances on a tree: one pass up, one down, and both of them backwards.

    Attributes
    ----------
    shape : TreeShape
    copies : float array
        How many alike siblings each node stands for.
    own : float array
        1/s of each node, 0 where nothing is measured.
    up, below : float arrays
        V and VS.
    outside : float array
        Q, the precision of the best estimate from everything outside the node's subtree.
    apart : float array
        D, the variance of the sum of the node's siblings, each estimated from its own subtree.
    """

    shape: TreeShape
    copies: Floats
    own: Floats
    up: Floats
    below: Floats
    outside: Floats
    apart: Floats

    @classmethod
    def of(cls, shape: TreeShape, copies: Floats, own: Floats) -> _Passes:
        """Do both passes."""
        up, below = np.empty(own.size), np.full(own.size, np.inf)
        outside, apart = np.zeros(own.size), np.zeros(own.size)
        for d in reversed(range(shape.height + 1)):
            level = shape.level(d)
            if d < shape.height:
                children = shape.level(d + 1)
                below[level] = shape.family_sums(d, up[children] * copies[children], empty=np.inf)
            up[level] = 1 / (own[level] + 1 / below[level])
        for d in range(shape.height):
            level, children = shape.level(d), shape.level(d + 1)
            above = shape.to_children(d, own[level] + outside[level])  # 1/s + Q of the parent
            apart[children] = shape.to_children(d, below[level]) - up[children]
            outside[children] = above / (1 + apart[children] * above)
        return cls(shape, copies, own, up, below, outside, apart)

    @property
    def variances(self) -> Floats:
        """Variance of each node's fitted estimate."""
        return np.asarray(1 / (1 / self.up + self.outside))

    def slopes(self, slope: Floats) -> Floats:
        """Slope of a function of all nodes in each node's 1/s, given its slopes in the nodes' P + Q."""
        of_own, of_below = np.zeros(slope.size), np.zeros(slope.size)
        of_up, of_outside = np.zeros(slope.size), slope.copy()
        self._down_backwards(of_own, of_below, of_up, of_outside)
        for d in range(self.shape.height + 1):
            level = self.shape.level(d)
            of_precision = slope[level] - of_up[level] * self.up[level] ** 2
            of_own[level] += of_precision
            if d < self.shape.height:
                children = self.shape.level(d + 1)
                of_sum = of_below[level] - of_precision / self.below[level] ** 2
                of_up[children] += self.copies[children] * self.shape.to_children(d, of_sum)
        return of_own

    def _down_backwards(self, of_own: Floats, of_below: Floats, of_up: Floats, of_outside: Floats) -> None:
        """Add to the slopes in 1/s, VS, V and Q what the pass down makes of the slopes in Q; in place."""
        shape = self.shape
        for d in reversed(range(shape.height)):
            level, children = shape.level(d), shape.level(d + 1)
            above = shape.to_children(d, self.own[level] + self.outside[level])
            of_above = of_outside[children] / (1 + self.apart[children] * above) ** 2
            of_apart = -(self.outside[children] ** 2) * of_outside[children]
            moved = shape.family_sums(d, of_above)
            of_own[level] += moved
            of_outside[level] += moved
            of_below[level] += shape.family_sums(d, of_apart)
            of_up[children] -= of_apart


def _distinct(shape: TreeShape, group: Array, importance: Floats, known: Booleans) -> tuple[Integers, Floats]:
    """Nodes that differ: of leaves that are siblings and alike in all, one; and how many nodes each stands for."""
    nodes, copies = [np.zeros(1, dtype=np.int64)], [np.ones(1)]
    for depth in range(shape.height):
        level = shape.level(depth + 1)
        families = shape.level(depth)
        parents = np.flatnonzero(shape.n_children[families])
        if not shape.n_children[level].any() and _is_one(group[level], importance[level], known[level]):
            nodes.append(shape.first_child[families][parents].astype(np.int64))
            copies.append(shape.n_children[families][parents].astype(np.float64))
            continue
        inner = np.flatnonzero(shape.n_children[level])
        parent = shape.to_children(depth, np.arange(families.stop - families.start))
        place, count = _alike(level, parent, shape.leaves, group, importance, known)
        order = np.argsort(np.concatenate([inner, place]))
        nodes.append(np.concatenate([inner, place])[order] + level.start)
        copies.append(np.concatenate([np.ones(inner.size), count])[order])
    return np.concatenate(nodes), np.concatenate(copies)


def _is_one(group: Array, importance: Floats, known: Booleans) -> bool:
    """Whether all nodes are measured alike and matter equally."""
    return bool(group.min() == group.max() and np.all(importance == importance[0]) and known.min() == known.max())


def _alike(
    level: slice, parent: Integers, leaves: Booleans, group: Array, importance: Floats, known: Booleans
) -> tuple[Integers, Floats]:
    """Of the leaves of a level that are siblings and alike in all, the place of the first one, and their number."""
    places = np.flatnonzero(leaves[level])
    if not places.size:
        return places, np.zeros(0)
    nodes = places + level.start
    kinds = _kinds(group[nodes], importance[nodes], known[nodes])
    key = parent[places] * (int(kinds.max()) + 1) + kinds
    order = np.arange(key.size) if np.all(key[1:] >= key[:-1]) else np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=key[order[0]] - 1))
    return places[order[first]], np.diff(first, append=places.size).astype(np.float64)


def _kinds(group: Array, importance: Floats, known: Booleans) -> Integers:
    """A number for each leaf; leaves with the same number are measured alike and matter equally."""
    kinds = 2 * group.astype(np.int64) + known
    if importance.min() == importance.max():
        return kinds
    import pandas as pd

    place = pd.factorize(importance)[0].astype(np.int64)  # a hash table, faster than sorting
    return np.asarray(place * (int(kinds.max()) + 1) + kinds)


def _part(shape: TreeShape, keep: Integers) -> TreeShape:
    """The tree of some nodes: all inner ones, and at least one leaf of each family that has leaves."""
    place = np.zeros(shape.n_nodes, dtype=np.int64)
    place[keep] = np.arange(keep.size)
    n_children = np.bincount(place[shape.parent[keep[1:]]], minlength=keep.size)
    return TreeShape(np.searchsorted(keep, shape.offsets), n_children.astype(np.int32))


def _some(shape: TreeShape, apart: Booleans, widest: int) -> tuple[Integers, Floats, Floats]:
    """Return some nodes, with at most so many children of each kind, and what they stand for.

    Kinds are leaves and others, and of both those that stand apart.

    Returns
    -------
    nodes : int array
    siblings, every : float arrays
        How many siblings each node stands for, and how many nodes of the whole tree.
    """
    nodes, siblings, every = [np.zeros(1, dtype=np.int64)], [np.ones(1)], [np.ones(1)]
    for _ in range(shape.height):
        first = shape.first_child[nodes[-1]].astype(np.int64)
        owner, children = expand_ranges(first, first + shape.n_children[nodes[-1]])
        chosen, stands = _evenly(4 * owner + 2 * shape.leaves[children] + apart[children], widest)
        nodes.append(children[chosen])
        siblings.append(stands)
        every.append(every[-1][owner[chosen]] * stands)
    return np.concatenate(nodes), np.concatenate(siblings), np.concatenate(every)


def _evenly(kinds: Integers, most: int) -> tuple[Integers, Floats]:
    """Choose at most so many members of each kind; return their places, in order, and how many each one stands for."""
    order = np.argsort(kinds, kind="stable")
    sizes = np.bincount(kinds)
    sizes = sizes[sizes > 0]
    kept = np.minimum(sizes, most)
    owner, number = expand_ranges(np.zeros_like(kept), kept)
    # The members are divided into as many parts, of nearly equal sizes, and the middle one of each part is chosen.
    middle = (2 * number + 1) * sizes[owner] // (2 * kept[owner])
    chosen = order[(np.cumsum(sizes) - sizes)[owner] + middle]
    again = np.argsort(chosen)
    return chosen[again], (sizes / kept)[owner][again]


def importance_of_levels(shape: TreeShape, place: Integers, n_nodes: int) -> Floats:
    """Weights u with which f is the sum over levels of the mean variance of the level's zones.

    Parameters
    ----------
    shape : TreeShape
        The tree of declared zones.
    place : int array
        The measured node of each zone.
    n_nodes : int
        Number of measured nodes.

    Examples
    --------
    >>> importance_of_levels(TreeShape([0, 1, 3], [2, 0, 0]), np.array([0, 1, 2]), 3).tolist()
    [1.0, 0.5, 0.5]
    """
    weights = np.repeat(1 / np.diff(shape.offsets), np.diff(shape.offsets))
    return np.asarray(np.bincount(place, weights, minlength=n_nodes))


def best_shares(objective: ZoneObjective) -> tuple[float, ...]:
    """Find the shares of the levels, root first, with the least value of an objective.

    For Gaussian noise the optimum is the only one. For Laplace noise there may be several: the search begins with equal
    shares, leaves out one level after the other as long as that helps, and compares with shares that grow towards the
    leaves and with leaves alone. Of a large tree a part is searched (`ZoneObjective.thinned`), and the steps end on the
    whole.

    Examples
    --------
    >>> shape = TreeShape([0, 1, 3], [2, 0, 0])
    >>> levels, importance = np.array([[0, 0], [1, 1]]), np.array([1.0, 0.5, 0.5])
    >>> best = best_shares(ZoneObjective(shape, shape.depth, levels, importance, Law.GAUSSIAN, np.ones(2)))
    >>> [round(share, 4) for share in best]
    [0.382, 0.618]
    """
    rules = _rules(objective)
    if objective.shape.n_nodes > _MANY:
        rough = np.array(best_shares(objective.thinned(_MANY // 4)))
        found = [*rules, _settled(objective, rough / rough.sum(), _STEPS)]
    else:
        found = [*rules, _settled(objective, rules[0], _STEPS)]
        if objective.power == 2:
            found.append(_with_fewer_levels(objective, found[-1]))
    best = _best(objective, found)
    if best is rules[1]:
        best = _settled(objective, best, _STEPS)
    # Seven digits, so that the last digits of a processor do not show in a release.
    return tuple(best.round(7).tolist())


def _rules(objective: ZoneObjective) -> list[Floats]:
    """Equal shares of the levels, shares that grow towards the leaves, and the leaves alone."""
    n_levels = int(objective.spans.max()) + 1
    growing = 2 ** (np.arange(n_levels) / (objective.power + 1))
    alone = np.append(np.zeros(n_levels - 1), 1.0)
    return [np.full(n_levels, 1 / n_levels), growing / growing.sum(), alone]


def _best(objective: ZoneObjective, candidates: Sequence[Floats]) -> Floats:
    """The shares with the least value; the first of equals."""
    return min(candidates, key=lambda shares: objective.at(shares)[0])


def _with_fewer_levels(objective: ZoneObjective, shares: Floats) -> Floats:
    """The shares without levels that are better left out, one after the other: the one that helps most comes first."""
    while True:
        fewer = [
            _settled(objective, _without(shares, level), _COARSE) for level in np.flatnonzero(shares[:-1]).tolist()
        ]
        best = _best(objective, [shares, *fewer])
        if best is shares:
            return shares
        shares = _settled(objective, best, _STEPS)


def _without(shares: Floats, level: int) -> Floats:
    """The shares without a level, whose share the others get in proportion."""
    rest = shares.copy()
    rest[level] = 0.0
    return np.asarray(rest / rest.sum())


def _settled(objective: ZoneObjective, shares: Floats, steps: int) -> Floats:
    """The shares to which the steps lead; levels that are not worth measuring are dropped on the way."""
    for _ in range(steps):
        before, shares = shares, _step(objective, shares)
        small = shares < _SMALLEST_SHARE
        small[-1] = False  # without the leaves nothing can be estimated
        if np.any(small & (shares > 0)) and np.all(shares[small] <= before[small]):
            shares = np.where(small, 0.0, shares)
            shares /= shares.sum()
        if np.abs(shares - before).max() < _SETTLED:
            break
    return shares


def _step(objective: ZoneObjective, shares: Floats) -> Floats:
    """The shares, moved towards what each level causes."""
    moved = moved_shares(shares, objective.at(shares)[1], objective.power)
    return np.asarray(moved / moved.sum())
