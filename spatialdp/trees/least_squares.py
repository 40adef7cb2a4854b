"""How the noisy counts of a tree are fitted, so that the estimates of children add up to that of their parent.

The noisy counts of a tree contradict each other. The best linear unbiased estimate that adds up is a weighted
least-squares fit, and on a tree it needs no matrix, only a pass up and a pass down. `three_pass` is the published form
for complete trees with one budget for each level. `two_pass` is the general form: any tree, any variance for each node,
unmeasured nodes, exactly known nodes. `subtree_variances` computes how accurate the fit is, before anything is
measured.

Notation
--------
This is the notation of the tree algebra here, in `trees.tree_noise` and in the explorer's JavaScript; a change of
one must change all. For a node v with children c:

    y, s   the measurement of v and its variance; s is infinite if v is not measured
    z, V   the best estimate of v from the measurements at and below v, and its variance: 1/V = 1/s + 1/VS
    S, VS  the sums of z and of V over the children of v; VS is infinite for a leaf
    w      weight of y in z, V / s; the children's sum S has weight 1 - w
    x      the fitted estimate of v; x_v is the sum of x_c
    A      share of x_v in an answer: the covered share of a leaf, and the mean of A_c weighted by V_c above leaves
    g      weight of z_v in an answer: g_c = A_c - A_v + (1 - w) g_v

The derivation is in ``docs/design/tree-noise.md``. Nothing here sees a record. For non-negative or whole numbers see
`spatialdp.trees.adjust`.

References
----------
.. [1] G. Cormode, C. Procopiuc, D. Srivastava, E. Shen, T. Yu, "Differentially private spatial
   decompositions", ICDE 2012, section 5.
.. [2] M. Hay, V. Rastogi, G. Miklau, D. Suciu, "Boosting the accuracy of differentially private histograms
   through consistency", PVLDB 3, 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError
from spatialdp.trees.levels import ByLevel, at_places, joined
from spatialdp.trees.shape import TreeShape, level_sums, locked

Variances = npt.ArrayLike | list[Floats]

# Nodes whose parents are settled at a time: they stay in the processor's cache.
_BLOCK = 2**16

__all__ = [
    "Fit",
    "SubtreeVariances",
    "checked_variances",
    "divisor",
    "own_weight",
    "subtree_variances",
    "three_pass",
    "two_pass",
]


@dataclass(frozen=True, eq=False)
class SubtreeVariances:
    """How accurately the measurements at and below each node of a tree determine the node's count.

    Everything is kept by level, as a single number where all nodes of a level have the same.

    Attributes
    ----------
    tree : TreeShape
    own : tuple of arrays
        s of the measurements of each level: a number, or one for each node.
    up : tuple of arrays
        V of each level; infinite if the measurements at and below a node do not determine its count.
    below : tuple of arrays
        VS of the nodes with children of each level above the lowest one: a number, or one for each of them.
    parts : tuple of arrays
        For each level, the proportions in which siblings share the difference between their parent's estimate and their
        own sum. The same tuple as `up`, unless some leaves are unmeasured or some families known exactly; see
        `two_pass`.
    """

    tree: TreeShape
    own: ByLevel
    up: ByLevel
    below: ByLevel
    parts: ByLevel

    @cached_property
    def variances(self) -> Floats:
        """The s of the measurements, one for each level or one for each node."""
        by_level = np.array([level for level in self.own if not level.ndim])
        return locked(by_level if by_level.size == len(self.own) else joined(self.tree, self.own))

    @cached_property
    def up_variance(self) -> Floats:
        """V of each node."""
        return locked(joined(self.tree, self.up))

    @cached_property
    def children_variance(self) -> Floats:
        """VS of the nodes above the lowest level; infinite for leaves."""
        values = np.full(int(self.tree.offsets[-2]), np.inf)
        for d, level in enumerate(self.below):
            values[self.tree.levels[d]][self.tree.inner[d]] = level
        return locked(values)

    @cached_property
    def shares(self) -> Floats:
        """The `parts` of all nodes."""
        return self.up_variance if self.parts is self.up else locked(joined(self.tree, self.parts))

    @cached_property
    def weights(self) -> ByLevel:
        """For each level above the lowest one, w of its nodes with children: a number, or one for each of them."""
        levels = zip(self.own[:-1], self.tree.inner, self.below, strict=True)
        return tuple(own_weight(at_places(own, inner), below) for own, inner, below in levels)

    @cached_property
    def child_shares(self) -> ByLevel:
        """For each level below the root, its nodes' shares in the difference between their parent and their own sum.

        A number, or one for each family if siblings share alike, or one for each node.
        """
        shares = []
        for parts, below, sizes in zip(self.parts[1:], self.below, self.tree.family_sizes, strict=True):
            whole = divisor(below)
            shares.append(np.asarray(parts / (np.repeat(whole, sizes) if parts.ndim and whole.ndim else whole)))
        return tuple(shares)

    @cached_property
    def is_determined(self) -> bool:
        """Whether, for every node, the measurements at and below it determine its count."""
        return self.parts is self.up or not any(np.isinf(level).any() for level in self.up)


@dataclass(frozen=True, eq=False)
class Fit(SubtreeVariances):
    """Consistent estimates on a tree: each parent is the sum of its children.

    Attributes
    ----------
    estimates : float array
        x of each node.
    """

    estimates: Floats

    def __post_init__(self) -> None:
        locked(self.estimates)

    def estimate_variances(self) -> Floats:
        """Variance of the noise of each estimate; all nodes must have been measured with noise.

        Children share what is known of their parent beside their own sum in proportion to V, and so does the gain in
        variance: with P for the variance of the parent's estimate, that of a child's is V - (V / VS)² (VS - P).
        `TreeNoise.fitted_variances` also knows unmeasured and exact nodes, and takes longer.
        """
        tree, result = self.tree, np.empty(self.tree.n_nodes)
        result[0] = self.up[0].item()
        for d, below in enumerate(self.below):
            gain = (below - result[tree.levels[d]][tree.inner[d]]) / below**2
            children = result[tree.levels[d + 1]]
            np.multiply(np.repeat(gain, tree.family_sizes[d]), self.up[d + 1], out=children)
            np.subtract(1.0, children, out=children)
            children *= self.up[d + 1]
        return result


def three_pass(levels: Sequence[npt.ArrayLike], weights: Sequence[float], fan_out: int) -> list[Floats]:
    """Fit least-squares estimates to a complete tree with one variance for each level.

    Parameters
    ----------
    levels : sequence of arrays, root first
        Noisy counts of each level; the children of a node are `fan_out` successive entries.
    weights : sequence of float, root first
        1 / variance of each level. A level of weight 0 was not measured, and its values are not read.
    fan_out : int

    Returns
    -------
    list of arrays, root first
        Estimates of each level; each node is the sum of its children.

    Notes
    -----
    Cormode et al. [1]_ with 1/s, the weights, for their ε²: with l counted from the leaves and
    E_l = Σ_{j≤l} fan_out^j / s_j,

    1. down: alpha_v = alpha_parent + y_v / s_v;
    2. up: Z_leaf = alpha_leaf, Z_v = Σ Z_c;
    3. down: F_v = F_parent + x_parent / s_parent and x_v = (Z_v - fan_out^l F_v) / E_l.

    Examples
    --------
    >>> [x.tolist() for x in three_pass([[10.0], [3.0, 4.0]], [1.0, 1.0], 2)]
    [[9.0], [4.0, 5.0]]
    """
    counts = [np.asarray(level, dtype=np.float64) for level in levels]
    _check_levels(counts, weights, fan_out)
    cumulated = _cumulate_down(counts, weights, fan_out)
    estimates = level_sums(cumulated, [fan_out] * (len(counts) - 1))
    _remove_ancestors(estimates, weights, fan_out)
    return estimates


def two_pass(tree: TreeShape, measured: npt.ArrayLike, variances: Variances, *, in_place: bool = False) -> Fit:
    """Fit least-squares estimates to any tree with any variances.

    Parameters
    ----------
    tree : TreeShape
    measured : float array
        Noisy count y_v of each node; not read where the variance is infinite.
    variances : float array, or list of arrays
        s_v of each node, or one for each level, or for each level a number or an array of its nodes'; infinite for a
        node that was not measured, zero for one that is known exactly.
    in_place : bool
        Whether `measured`, an array of doubles, may become the estimates: large trees spend half of a fit on copies.

    Returns
    -------
    Fit

    Raises
    ------
    ParameterError
        If a leaf is not measured and neither is any node above it, or a value or variance is not a number.

    Notes
    -----
    Minimises Σ_v (x_v - y_v)² / s_v over all x that add up. With z = y, V = s at the leaves,

    - up: S = Σ z_c, VS = Σ V_c over the children; 1/V = 1/s + 1/VS; z = V (y / s + S / VS);
    - down: x_root = z_root and x_c = z_c + (V_c / VS) (x_v - S_v).

    An unmeasured leaf has an infinite V. The difference between its nearest measured ancestor and the determined nodes
    below that ancestor is divided among all such leaves below the ancestor, in proportion to their sizes; the
    determined nodes keep their values. (Among the minimisers, this is the one with the least Σ x² / area over
    unmeasured leaves.)

    Where an exactly known count contradicts exactly known children, the upper one wins, and the difference is
    divided evenly among the children.

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> fit = two_pass(quadtree(1), [10.0, 1, 2, 3, 2], [1.0, 1.0])
    >>> fit.estimates.round(3).tolist()
    [9.6, 1.4, 2.4, 3.4, 2.4]
    >>> two_pass(quadtree(1), [10.0, 1, 2, 0, 0], [1, 1, 1, np.inf, np.inf]).estimates.tolist()
    [10.0, 1.0, 2.0, 3.5, 3.5]
    """
    noise = subtree_variances(tree, variances)
    estimates = _measured_or_zero(tree, measured, noise.own, in_place)
    with np.errstate(invalid="ignore"):
        child_sums = [_merge_up(tree, d, estimates, noise) for d in reversed(range(tree.height))]
    _check_finite(estimates[0])
    for d, child_sum in enumerate(reversed(child_sums)):
        _settle_down(tree, d, estimates, child_sum, noise)
    return Fit(tree, noise.own, noise.up, noise.below, noise.parts, estimates)


def subtree_variances(tree: TreeShape, variances: Variances) -> SubtreeVariances:
    """Compute how accurate `two_pass` will be, by the same pass up, without values.

    Parameters
    ----------
    tree : TreeShape
    variances : float array
        As for `two_pass`.

    Raises
    ------
    ParameterError
        If a leaf is not measured and neither is any node above it.

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> subtree_variances(quadtree(1), [1.0, 1.0]).up_variance.tolist()
    [0.8, 1.0, 1.0, 1.0, 1.0]
    """
    own = _by_level(tree, variances)
    up = [own[-1]]  # V and VS, from the lowest level up
    below: list[Floats] = []
    for d in reversed(range(tree.height)):
        below.append(_family_variances(tree, d, up[-1]))
        up.append(_with_below(tree, d, own[d], below[-1]))
    _check_determined(float(up[-1].max()))
    levels = tuple(reversed(up)), tuple(reversed(below))
    return SubtreeVariances(tree, own, *levels, _parts(tree, *levels))


def checked_variances(tree: TreeShape, variances: npt.ArrayLike) -> Floats:
    """Return a copy of the variances, checked to be one for each level or one for each node."""
    array = np.array(variances, dtype=np.float64)
    if array.shape not in {(tree.n_nodes,), (tree.height + 1,)} or not np.all(array >= 0):
        raise ParameterError(
            f"variances have shape {array.shape}, or one of them is negative or NaN; give {tree.n_nodes}, one for each "
            f"node, or {tree.height + 1}, one for each level. Use np.inf for nodes that were not measured."
        )
    return array


def _check_levels(counts: list[Floats], weights: Sequence[float], fan_out: int) -> None:
    sizes = [level.size for level in counts]
    if not sizes or len(weights) != len(sizes) or any(b != a * fan_out for a, b in pairwise(sizes)):
        raise ParameterError(
            f"levels have sizes {sizes}, with {len(weights)} weights and fan-out {fan_out}; each level must be "
            "fan_out times the one above and have one weight. Use two_pass for an incomplete tree."
        )
    if not (all(0 <= weight < np.inf for weight in weights) and weights[-1] > 0):
        raise ParameterError(
            f"weights are {list(weights)}; they must be finite and not negative, and that of the leaves positive. "
            "Use two_pass for exactly known nodes or unmeasured leaves."
        )


def _cumulate_down(counts: list[Floats], weights: Sequence[float], fan_out: int) -> Floats:
    """First pass: return for each leaf the sum of weight x count along its path."""
    cumulated = np.zeros(counts[0].size)
    for d, (level, weight) in enumerate(zip(counts, weights, strict=True)):
        cumulated = np.repeat(cumulated, fan_out) if d else cumulated
        if weight:
            cumulated += weight * level
    return cumulated


def _remove_ancestors(sums: list[Floats], weights: Sequence[float], fan_out: int) -> None:
    """Third pass, in place: turn Z into x."""
    sizes = float(fan_out) ** np.arange(len(sums))[::-1]
    energies = np.cumsum((sizes * weights)[::-1])[::-1]
    above = np.zeros(sums[0].size)
    for d, (level, weight) in enumerate(zip(sums, weights, strict=True)):
        above = np.repeat(above, fan_out) if d else above
        level -= sizes[d] * above
        level /= energies[d]
        above += weight * level


def _merge_up(tree: TreeShape, d: int, values: Floats, noise: SubtreeVariances) -> Floats:
    """Combine the nodes of one depth with their children's sums, in place, and return these sums: from y to z."""
    level, inner = values[tree.levels[d]], tree.inner[d]
    child_sum = tree.inner_sums(d, values[tree.levels[d + 1]])
    merged = level[inner] - child_sum
    merged *= noise.weights[d]
    merged += child_sum
    level[inner] = merged
    return child_sum


def _settle_down(tree: TreeShape, d: int, values: Floats, child_sum: Floats, noise: SubtreeVariances) -> None:
    """Divide the difference between each node of one depth and its children among them, in place: from z to x."""
    children, parts, sizes = values[tree.levels[d + 1]], noise.parts[d + 1], tree.family_sizes[d]
    excess = values[tree.levels[d]][tree.inner[d]] - child_sum
    excess /= divisor(noise.below[d])
    if not parts.ndim:
        excess *= parts
    ends = np.concatenate([[0], np.cumsum(np.broadcast_to(sizes, excess.shape), dtype=np.int64)])
    blocks = np.unique(np.append(np.searchsorted(ends, np.arange(0, children.size, _BLOCK)), ends.size - 1))
    for first, last in pairwise(blocks.tolist()):
        part = slice(ends[first], ends[last])
        change = np.repeat(excess[first:last], sizes if isinstance(sizes, int) else sizes[first:last])
        if parts.ndim:
            change *= parts[part]
        children[part] += change


def _family_variances(tree: TreeShape, d: int, up: Floats) -> Floats:
    """Return VS of the nodes with children of one depth, from the V of the next one."""
    if up.ndim:
        return tree.inner_sums(d, up)
    return np.asarray(up * tree.family_sizes[d])


def _with_below(tree: TreeShape, d: int, own: Floats, below: Floats) -> Floats:
    """Return V of one depth, from s, and from VS of the nodes with children."""
    inner = tree.inner[d]
    if isinstance(inner, slice):
        return _harmonic(own, below)
    up = np.array(np.broadcast_to(own, tree.offsets[d + 1] - tree.offsets[d]))
    up[inner] = _harmonic(at_places(own, inner), below)
    return up


def _harmonic(a: Floats, b: Floats) -> Floats:
    """Return 1 / (1/a + 1/b), also if a or b is 0 or infinite."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (np.divide(1.0, a) + np.divide(1.0, b)))


def own_weight(own: Floats, below: Floats) -> Floats:
    """Return w, the weight of a node's own measurement beside its children's sum; 1 if the measurement is exact."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.asarray(own / below)
    np.copyto(ratio, np.where(own == 0, 0.0, np.inf), where=np.isnan(ratio))
    return np.asarray(1.0 / (1.0 + ratio))


def divisor(below: Floats) -> Floats:
    """Return VS, or 1 for the families whose `shares` already add up to 1."""
    return np.where((below > 0) & (below < np.inf), below, 1.0)


def _parts(tree: TreeShape, up: ByLevel, below: ByLevel) -> ByLevel:
    """Return V, but parts that add up to 1 in families that are undetermined (by area) or exactly known (evenly)."""
    if not any(np.isinf(each).any() or (each == 0).any() for each in below):
        return up
    parts = [np.array(np.broadcast_to(each, tree.offsets[d + 1] - tree.offsets[d])) for d, each in enumerate(up)]
    area = _undetermined_area(tree, joined(tree, up))
    for d in range(tree.height):
        level, children = tree.levels[d], tree.levels[d + 1]
        with np.errstate(invalid="ignore"):
            share = area[children] / tree.to_children(d, tree.family_sums(d, area[children]))
        undetermined, exact = np.zeros((2, tree.n_children[level].size), dtype=bool)
        undetermined[tree.inner[d]], exact[tree.inner[d]] = np.isinf(below[d]), below[d] == 0
        np.copyto(parts[d + 1], share, where=tree.to_children(d, undetermined))
        evenly = 1.0 / np.maximum(tree.n_children[level], 1)
        np.copyto(parts[d + 1], tree.to_children(d, evenly), where=tree.to_children(d, exact))
    return tuple(parts)


def _undetermined_area(tree: TreeShape, up: Floats) -> Floats:
    """Return the total size of the unmeasured leaves at or below each undetermined node."""
    undetermined = np.isinf(up)
    leaves = np.flatnonzero(undetermined & tree.leaves)
    area = np.zeros(tree.n_nodes)
    area[leaves] = tree.leaf_sizes(leaves)
    for d in reversed(range(tree.height)):
        area[tree.levels[d]] += undetermined[tree.levels[d]] * tree.family_sums(d, area[tree.levels[d + 1]])
    return area


def _measured_or_zero(tree: TreeShape, measured: npt.ArrayLike, own: ByLevel, in_place: bool) -> Floats:
    """Return the measured values, or a copy of them, with zeros for the nodes that were not measured."""
    values = tree.node_values(measured, "measured").astype(np.float64, copy=not in_place)
    for d, level in enumerate(own):
        unmeasured = np.isinf(level)
        if unmeasured.any():
            np.copyto(values[tree.levels[d]], 0.0, where=unmeasured)
    return values


def _check_determined(root_variance: float) -> None:
    if np.isinf(root_variance):
        raise ParameterError(
            "a leaf is not measured (infinite variance) and neither is any node above it; its estimate would be "
            "arbitrary. Measure the leaves, or at least the root."
        )


def _check_finite(root: float) -> None:
    if not np.isfinite(root):
        raise ParameterError(
            "a measured value is not finite; every node with finite variance needs a number. Set the variance "
            "of nodes that were not measured to np.inf."
        )


def _by_level(tree: TreeShape, variances: Variances) -> ByLevel:
    """Return the variances of each level, a number or one for each node; checked, and copied where they are given."""
    if not isinstance(variances, list) or not any(np.ndim(level) for level in variances):
        array = checked_variances(tree, variances)
        by_node = array.size == tree.n_nodes
        return tuple(array[level] for level in tree.levels) if by_node else tuple(np.asarray(each) for each in array)
    own = tuple(np.array(level, dtype=np.float64) for level in variances)
    sizes = [level.stop - level.start for level in tree.levels]
    if len(own) != len(sizes) or any(
        level.shape not in {(), (size,)} or not np.all(level >= 0) for level, size in zip(own, sizes, strict=True)
    ):
        raise ParameterError(
            f"variances are given by level, but have shapes {[level.shape for level in own]}, or one of them is "
            f"negative or NaN; give a number or an array for each level, of the sizes {sizes}."
        )
    return own
