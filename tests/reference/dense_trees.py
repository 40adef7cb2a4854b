"""Fits and variances of answers on trees with every node visited, to compare the fast ones with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError
from spatialdp.trees.least_squares import Fit, divisor, own_weight
from spatialdp.trees.shape import TreeShape
from tests.helpers.trees import dense_membership

__all__ = [
    "box_moments",
    "closed_form_variance",
    "complete_up_variances",
    "dense_map",
    "given_map",
    "query_coefficients",
    "query_variance",
]

_ONE, _UNKNOWN = np.asarray(1.0), np.asarray(np.inf)


def dense_map(tree: TreeShape, variances: np.ndarray) -> np.ndarray:
    """The matrix that takes measurements to the estimates of all nodes.

    Weighted least squares; among several minimisers, the one with the least Σ x² / area over the leaves.
    """
    members = dense_membership(tree)
    sizes = tree.leaf_sizes(np.flatnonzero(tree.leaves))
    root_area = np.sqrt(sizes / sizes.max())
    root_weight = np.where(np.isinf(variances), 0.0, 1 / np.sqrt(variances))
    design = root_weight[:, None] * members * root_area
    return members @ (root_area[:, None] * np.linalg.pinv(design, rcond=1e-11)) * root_weight


def given_map(tree: TreeShape, own_weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The matrix that takes measurements to estimates that are made with given weights, node by node."""
    subtree, result = np.zeros((tree.n_nodes, tree.n_nodes)), np.zeros((tree.n_nodes, tree.n_nodes))
    children = [np.flatnonzero(tree.parent == node) for node in range(tree.n_nodes)]
    for node in reversed(range(tree.n_nodes)):
        own = own_weights[node] if children[node].size else 1.0
        subtree[node] = (1 - own) * subtree[children[node]].sum(axis=0)
        subtree[node, node] += own
    result[0] = subtree[0]
    for node in range(tree.n_nodes):
        for child in children[node]:
            excess = result[node] - subtree[children[node]].sum(axis=0)
            result[child] = subtree[child] + shares[child] * excess
    return result


def query_variance(tree: TreeShape, fit: Fit, leaf_coverage: npt.ArrayLike) -> Floats:
    """Variance of weighted sums of leaf estimates.

    Parameters
    ----------
    tree : TreeShape
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


def query_coefficients(tree: TreeShape, fit: Fit, leaf_coverage: npt.ArrayLike) -> Floats:
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
    tree: TreeShape, fit: Fit, leaf_coverage: npt.ArrayLike, kurtosis: npt.ArrayLike = 0.0
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


def _averages(tree: TreeShape, fit: Fit, leaf_coverage: npt.ArrayLike) -> Floats:
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


def _cumulant(tree: TreeShape, coefficients: Floats, variances: Floats, power: int, factor: Floats = _ONE) -> Floats:
    """Σ k^power s^(power / 2) factor over the measured nodes."""
    total = np.zeros(coefficients.shape[:-1])
    for d in range(tree.height + 1):
        variance = _of_level(tree, variances, d)
        scale = np.where(np.isinf(variance), 0.0, variance) ** (power // 2) * _of_level(tree, factor, d)
        total += np.sum(coefficients[..., tree.level(d)] ** power * scale, axis=-1)
    return total


def _harmonic(a, b):
    """1 / (1/a + 1/b), right for 0 and infinity too."""
    with np.errstate(divide="ignore"):
        return 1.0 / (np.divide(1.0, a) + np.divide(1.0, b))


def _of_level(tree: TreeShape, values: Floats, d: int) -> Floats:
    """One depth's part of an array that holds one number in all, for each level or for each node."""
    if values.ndim == 0:
        return values
    return values[tree.level(d)] if values.size == tree.n_nodes else np.asarray(values[d])
