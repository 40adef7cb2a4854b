"""One set of numbers out of many noisy ones: estimates on a tree that add up.

A tree's noisy counts contradict each other: children do not add up to their parent. The best linear
unbiased estimate that does add up is a weighted least-squares fit, and on a tree it needs no matrix, only a pass
up and a pass down. `three_pass` is the published form for complete trees with one budget for each level, `two_pass`
the general one: any tree, any variance for each node, unmeasured nodes, exactly known nodes. The fit
also tells the exact variance, and the contribution of every single measurement, of any weighted sum of leaves.
Nothing here sees a record. For non-negative or whole numbers see `spatialdp.trees.adjust`.

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
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError
from spatialdp.trees.tree import Tree, level_sums

__all__ = [
    "Fit",
    "box_moments",
    "closed_form_variance",
    "complete_up_variances",
    "query_coefficients",
    "query_variance",
    "three_pass",
    "two_pass",
]


_ONE, _UNKNOWN = np.asarray(1.0), np.asarray(np.inf)


@dataclass(frozen=True, eq=False)
class Fit:
    """Consistent estimates on a tree, and what is needed for their variances.

    Attributes
    ----------
    estimates : float array
        x_v of each node; a parent's is the sum of its children's.
    variances : float array
        s_v of the measurements, as given: one for each level or one for each node.
    up_variance : float array
        V_v: variance of the best estimate of a node's count from the measurements at and below it;
        infinite if these do not determine it.
    children_variance : float array
        VS_v, the sum of V over v's children, of the nodes above the lowest level; infinite for leaves.
    shares : float array
        In which proportion siblings take up what their parent's estimate has in excess of their own sum. It is V,
        the same array, unless some leaves are unmeasured or some families known exactly; see `two_pass`.
    """

    estimates: Floats
    variances: Floats
    up_variance: Floats
    children_variance: Floats
    shares: Floats

    def __post_init__(self) -> None:
        for name in ("estimates", "variances", "up_variance", "children_variance", "shares"):
            getattr(self, name).setflags(write=False)

    @property
    def is_determined(self) -> bool:
        """Whether every node was determined by the measurements at and below it."""
        return self.shares is self.up_variance or not bool(np.any(np.isinf(self.up_variance)))


def three_pass(levels: Sequence[npt.ArrayLike], weights: Sequence[float], fan_out: int) -> list[Floats]:
    """Least-squares estimates on a complete tree with one variance for each level.

    Parameters
    ----------
    levels : sequence of arrays, root first
        Noisy counts of each level; the children of a node are `fan_out` successive entries.
    weights : sequence of float, root first
        1 / variance of each level. Weight 0: the level was not measured, its values are not read.
    fan_out : int

    Returns
    -------
    list of arrays, root first
        Estimates; each node is the sum of its children.

    Notes
    -----
    Cormode et al. [1]_ with w for their ε²: with l counted from the leaves and E_l = Σ_{j≤l} fan_out^j w_j,

    1. down: alpha_v = alpha_parent + w_v Y_v;
    2. up: Z_leaf = alpha_leaf, Z_v = Σ Z_child;
    3. down: F_v = F_parent + w_parent x_parent and x_v = (Z_v - fan_out^l F_v) / E_l.

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


def two_pass(tree: Tree, measured: npt.ArrayLike, variances: npt.ArrayLike) -> Fit:
    """Least-squares estimates on any tree with any variances.

    Parameters
    ----------
    tree : Tree
    measured : float array
        Noisy count y_v of each node; not read where the variance is infinite.
    variances : float array
        s_v of each node, or one for each level. Infinite: not measured. Zero: known exactly.

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

    An unmeasured leaf has infinite V. What its nearest measured ancestor has in excess of the determined parts
    below it is divided among all such leaves below it in proportion to their areas, and the determined parts keep their
    values. (Among the minimisers, this is the one with the least Σ x² / area over unmeasured leaves.)

    Where an exactly known count contradicts exactly known children, the upper one wins, and the difference is
    divided evenly among the children.

    Examples
    --------
    >>> from spatialdp.trees.quadtree import quadtree
    >>> fit = two_pass(quadtree(1), [10.0, 1, 2, 3, 2], [1.0, 1.0])
    >>> fit.estimates.round(3).tolist()
    [9.6, 1.4, 2.4, 3.4, 2.4]
    >>> two_pass(quadtree(1), [10.0, 1, 2, 0, 0], [1, 1, 1, np.inf, np.inf]).estimates.tolist()
    [10.0, 1.0, 2.0, 3.5, 3.5]
    """
    variances = checked_variances(tree, variances)
    estimates = _measured_or_zero(tree, measured, variances)
    up = np.empty(tree.n_nodes)
    below = np.empty(int(tree.offsets[-2]))
    up[tree.level(tree.height)] = _of_level(tree, variances, tree.height)
    with np.errstate(invalid="ignore"):
        child_sums = [_merge_up(tree, d, estimates, variances, up, below) for d in reversed(range(tree.height))]
    _check_determined(estimates[0], up[0])
    shares = _spread(tree, up, below)
    for d, child_sum in enumerate(reversed(child_sums)):
        _settle_down(tree, d, estimates, child_sum, shares, below)
    return Fit(estimates, variances, up, below, shares)


def query_variance(tree: Tree, fit: Fit, leaf_coverage: npt.ArrayLike) -> Floats:
    """Variance of weighted sums of leaf estimates.

    Parameters
    ----------
    tree : Tree
    fit : Fit
    leaf_coverage : (n_leaves,) or (q, n_leaves) array
        Weight a_l of each leaf in each sum, such as the fraction of it that a box covers.

    Returns
    -------
    float array, () or (q,)

    Notes
    -----
    From the leaves up, with (A, R) = (a_l, 0) there:

        A_v = Σ A_c V_c / VS_v,   R_v = Σ R_c + Σ (A_c - A_v)² V_c,   variance = A_root² V_root + R_root.

    A subtree covered everywhere alike, by a, has (a, 0). The dense reference: every node is visited. If leaves
    were unmeasured, the sum of squared `query_coefficients` times variances is taken instead.
    """
    if not fit.is_determined:
        return _cumulant(tree, query_coefficients(tree, fit, leaf_coverage), fit.variances, 2)
    average = _averages(tree, fit, leaf_coverage)
    residual = np.zeros(average.shape[:-1])
    for d in range(tree.height):
        children = tree.level(d + 1)
        deviation = average[..., children] - tree.to_children(d, average[..., tree.level(d)])
        residual += deviation**2 @ fit.up_variance[children]
    return np.asarray(average[..., 0] ** 2 * fit.up_variance[0] + residual)


def query_coefficients(tree: Tree, fit: Fit, leaf_coverage: npt.ArrayLike) -> Floats:
    """Weight of every raw measurement in weighted sums of leaf estimates.

    Parameters
    ----------
    tree, fit, leaf_coverage
        As for `query_variance`.

    Returns
    -------
    (n_nodes,) or (q, n_nodes) array
        k_v: the sum of leaf estimates is Σ k_v y_v. Zero for unmeasured nodes.

    Notes
    -----
    The passes of `two_pass`, transposed. With A as in `query_variance` and the weight w_v = V_v / s_v of a node's own
    measurement: g_root = A_root, g_c = A_c - A_v + (1 - w_v) g_v and k_v = w_v g_v.
    """
    result = _averages(tree, fit, leaf_coverage)
    for d in reversed(range(tree.height)):
        result[..., tree.level(d + 1)] -= tree.to_children(d, result[..., tree.level(d)])
    for d in range(tree.height + 1):
        level = result[..., tree.level(d)]
        below = fit.children_variance[tree.level(d)] if d < tree.height else _UNKNOWN
        own = own_weight(_of_level(tree, fit.variances, d), below)
        if d < tree.height:
            result[..., tree.level(d + 1)] += tree.to_children(d, (1 - own) * level)
        level *= own
    return result


def box_moments(
    tree: Tree, fit: Fit, leaf_coverage: npt.ArrayLike, kurtosis: npt.ArrayLike = 0.0
) -> tuple[Floats, Floats]:
    """Variance and excess kurtosis of weighted sums of leaf estimates.

    Parameters
    ----------
    tree, fit, leaf_coverage
        As for `query_variance`.
    kurtosis : float or array
        Excess kurtosis of the noise: one number, one for each level or one for each node; 3 for
        Laplace noise, 0 for normal noise.

    Notes
    -----
    Noises are independent, so cumulants add: the variance is Σ k² s, the fourth cumulant Σ k⁴ s² kurtosis.
    """
    coefficients = query_coefficients(tree, fit, leaf_coverage)
    variance = _cumulant(tree, coefficients, fit.variances, 2)
    fourth = _cumulant(tree, coefficients, fit.variances, 4, np.asarray(kurtosis, dtype=np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        return variance, np.where(variance > 0, fourth / variance**2, 0.0)


def complete_up_variances(variances: npt.ArrayLike, fan_out: int) -> Floats:
    """V of each level of a complete tree, root first.

    Parameters
    ----------
    variances : float array, root first
        Of one measurement of each level; infinite for an unmeasured level.
    fan_out : int

    Notes
    -----
    1 / V_l = 1 / s_l + 1 / (fan_out V_below); the lowest level has V = s. The root's is the variance of the total.

    Examples
    --------
    >>> complete_up_variances([1.0, 1.0], 4).tolist()
    [0.8, 1.0]
    """
    result = np.array(variances, dtype=np.float64)
    if result.ndim != 1 or not result.size or not np.all(result >= 0) or np.isinf(result[-1]):
        raise ParameterError(
            f"variances are {np.asarray(variances).tolist()}; give one for each level, none negative, and a finite "
            "one for the lowest. Leave out unmeasured levels at the bottom."
        )
    for d in reversed(range(result.size - 1)):
        result[d] = _harmonic(result[d], fan_out * result[d + 1])
    return result


def closed_form_variance(up_variances: npt.ArrayLike, squared_coverage: npt.ArrayLike, fan_out: int) -> Floats:
    """Variance of box queries on a complete tree with one variance for each level.

    Parameters
    ----------
    up_variances : (n_levels,) array, root first
        V of each level, from `complete_up_variances`.
    squared_coverage : (..., n_levels) array, root first
        S of each level: the sum, over its nodes, of the squared fraction of the node that the box covers. On
        a grid hierarchy that is the product of the sums along the two axes. The average over a workload
        gives the workload's mean variance.
    fan_out : int

    Returns
    -------
    float array, (...)

    Notes
    -----
    Var = V_root S_root + Σ_d V_d (S_d - fan_out S_{d-1}) over the depths d below the root.

    Examples
    --------
    >>> closed_form_variance([0.8, 1.0], [1.0, 4.0], 4).item()
    0.8
    """
    up, squares = np.asarray(up_variances, dtype=np.float64), np.asarray(squared_coverage, dtype=np.float64)
    within = squares[..., 1:] - fan_out * squares[..., :-1]
    return np.asarray(squares[..., 0] * up[0] + within @ up[1:])


def checked_variances(tree: Tree, variances: npt.ArrayLike) -> Floats:
    """A copy of the variances, checked to be one for each level or one for each node."""
    array = np.array(variances, dtype=np.float64)
    if array.shape not in {(tree.n_nodes,), (tree.height + 1,)} or not np.all(array >= 0):
        raise ParameterError(
            f"variances have shape {array.shape}; give {tree.n_nodes}, one for each node, or {tree.height + 1}, one "
            "for each level, none negative or NaN; use np.inf for what was not measured."
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
    """First pass: for each leaf the sum of weight x count along its path."""
    cumulated = np.zeros(counts[0].size)
    for d, (level, weight) in enumerate(zip(counts, weights, strict=True)):
        cumulated = np.repeat(cumulated, fan_out) if d else cumulated
        if weight:
            cumulated += weight * level
    return cumulated


def _remove_ancestors(sums: list[Floats], weights: Sequence[float], fan_out: int) -> None:
    """Third pass, in place: from Z to x."""
    sizes = float(fan_out) ** np.arange(len(sums))[::-1]
    energies = np.cumsum((sizes * weights)[::-1])[::-1]
    above = np.zeros(sums[0].size)
    for d, (level, weight) in enumerate(zip(sums, weights, strict=True)):
        above = np.repeat(above, fan_out) if d else above
        level -= sizes[d] * above
        level /= energies[d]
        above += weight * level


def _merge_up(tree: Tree, d: int, values: Floats, variances: Floats, up: Floats, below: Floats) -> Floats:
    """Combine the nodes of one depth with their children's sums, in place; return these sums."""
    level, children = tree.level(d), tree.level(d + 1)
    child_sum = tree.family_sums(d, values[children])
    below[level] = tree.family_sums(d, up[children], empty=np.inf)
    own = _of_level(tree, variances, d)
    up[level] = _harmonic(own, below[level])
    values[level] -= child_sum
    values[level] *= own_weight(own, below[level])
    values[level] += child_sum
    return child_sum


def _settle_down(tree: Tree, d: int, values: Floats, child_sum: Floats, shares: Floats, below: Floats) -> None:
    """Divide among the children what the nodes of one depth have in excess of them, in place."""
    excess = values[tree.level(d)] - child_sum
    excess /= divisor(below[tree.level(d)])
    change = tree.to_children(d, excess)
    change *= shares[tree.level(d + 1)]
    values[tree.level(d + 1)] += change


def _harmonic(a: Any, b: Any) -> Any:
    """1 / (1/a + 1/b), right for 0 and infinity too."""
    with np.errstate(divide="ignore"):
        return 1.0 / (np.divide(1.0, a) + np.divide(1.0, b))


def own_weight(own: Floats, below: Floats) -> Floats:
    """Weight of a node's own measurement against its children's sum; an exact measurement beats everything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.asarray(own / below)
    np.copyto(ratio, np.where(own == 0, 0.0, np.inf), where=np.isnan(ratio))
    return 1.0 / (1.0 + ratio)


def divisor(below: Floats) -> Floats:
    """VS, or 1 for the families whose `shares` already adds up to 1."""
    return np.where((below > 0) & (below < np.inf), below, 1.0)


def _spread(tree: Tree, up: Floats, below: Floats) -> Floats:
    """V, with shares that add up to 1 put into families that are undetermined (by area) or exactly known (evenly)."""
    inner = tree.n_children[: below.size] > 0
    undetermined, exact = np.isinf(below) & inner, (below == 0) & inner
    if not (undetermined.any() or exact.any()):
        return up
    shares, area = up.copy(), _undetermined_area(tree, up)
    for d in range(tree.height):
        level, children = tree.level(d), tree.level(d + 1)
        with np.errstate(invalid="ignore"):
            share = area[children] / tree.to_children(d, tree.family_sums(d, area[children]))
        np.copyto(shares[children], share, where=tree.to_children(d, undetermined[level]))
        evenly = 1.0 / np.maximum(tree.n_children[level], 1)
        np.copyto(shares[children], tree.to_children(d, evenly), where=tree.to_children(d, exact[level]))
    return shares


def _undetermined_area(tree: Tree, up: Floats) -> Floats:
    """Lattice area of the unmeasured leaves at or below each undetermined node."""
    undetermined = np.isinf(up)
    leaves = np.flatnonzero(undetermined & tree.leaves)
    xlo, ylo, xhi, yhi = tree.boxes[leaves].T.astype(np.float64)
    area = np.zeros(tree.n_nodes)
    area[leaves] = (xhi - xlo) * (yhi - ylo)
    for d in reversed(range(tree.height)):
        area[tree.level(d)] += undetermined[tree.level(d)] * tree.family_sums(d, area[tree.level(d + 1)])
    return area


def _averages(tree: Tree, fit: Fit, leaf_coverage: npt.ArrayLike) -> Floats:
    """A of each node: how much of its estimate enters the sum, through its leaves."""
    coverage = np.asarray(leaf_coverage, dtype=np.float64)
    if coverage.shape[-1:] != (tree.n_leaves,):
        raise ParameterError(
            f"leaf_coverage has shape {coverage.shape}; the tree has {tree.n_leaves} leaves: give (n_leaves,) "
            "or (q, n_leaves)."
        )
    average = np.zeros((*coverage.shape[:-1], tree.n_nodes))
    average[..., tree.leaves] = coverage
    for d in reversed(range(tree.height)):
        level, children = tree.level(d), tree.level(d + 1)
        weighted = tree.family_sums(d, average[..., children] * fit.shares[children])
        average[..., level] += weighted / divisor(fit.children_variance[level])
    return average


def _cumulant(tree: Tree, coefficients: Floats, variances: Floats, power: int, factor: Floats = _ONE) -> Floats:
    """Σ k^power s^(power / 2) factor over the measured nodes."""
    total = np.zeros(coefficients.shape[:-1])
    for d in range(tree.height + 1):
        variance = _of_level(tree, variances, d)
        scale = np.where(np.isinf(variance), 0.0, variance) ** (power // 2) * _of_level(tree, factor, d)
        total += np.sum(coefficients[..., tree.level(d)] ** power * scale, axis=-1)
    return total


def _measured_or_zero(tree: Tree, measured: npt.ArrayLike, variances: Floats) -> Floats:
    """A copy of the measured values, with zeros where nothing was measured."""
    values = tree.one_each(measured, "measured").astype(np.float64)
    for d in range(tree.height + 1):
        unmeasured = np.isinf(_of_level(tree, variances, d))
        if unmeasured.any():
            np.copyto(values[tree.level(d)], 0.0, where=unmeasured)
    return values


def _check_determined(root: float, root_variance: float) -> None:
    if np.isinf(root_variance):
        raise ParameterError(
            "a leaf is not measured (infinite variance) and neither is any node above it; its estimate would be "
            "arbitrary. Measure the leaves, or at least the root."
        )
    if not np.isfinite(root):
        raise ParameterError(
            "a measured value is not finite; every node with finite variance needs a number. Set the variance "
            "of nodes that were not measured to np.inf."
        )


def _of_level(tree: Tree, values: Floats, d: int) -> Floats:
    """One depth's part of an array that holds one number in all, for each level or for each node."""
    if values.ndim == 0:
        return values
    return values[tree.level(d)] if values.size == tree.n_nodes else np.asarray(values[d])
