"""Estimates on a tree for maps and tables: made non-negative or whole, and still adding up.

Both steps bias the estimates, so they are for display and not for statistics: they come last, after the fit, and must
not be combined with intervals. Both work on all families of a level at the same time. Nothing here sees a record.

References
----------
.. [1] R. Chandrasekaran, "A special case of the complementary pivot problem", Opsearch 7, 1970.
.. [2] S. Martínez, G. Michon, J. San Martín, "Inverse of strictly ultrametric matrices are of Stieltjes type",
   SIAM J. Matrix Anal. Appl. 15, 1994.
.. [3] C. Michelot, "A finite algorithm for finding the projection of a point onto the canonical simplex of
   R^n", J. Optim. Theory Appl. 50, 1986.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp._support.options import Option
from spatialdp.errors import ParameterError
from spatialdp.trees.least_squares import checked_variances, two_pass
from spatialdp.trees.shape import TreeShape, sums

__all__ = ["NonNegative", "non_negative", "project_families", "project_rows", "round_consistent"]


class NonNegative(Option):
    """The method by which negative estimates of a tree are removed."""

    FAMILIES = "families"
    LEAST_SQUARES = "least-squares"


# Weight of an exactly known child in a projection: it moves only if all its siblings are exactly known or zero.
_LEAST_WEIGHT = 1e-100

# By how much estimates may contradict each other or exactly known counts, relative to the largest estimate plus the
# largest standard deviation. It only distinguishes wrong input from rounding errors; the fit has no tolerance.
_ROUNDING = 1e-6


def non_negative(tree: TreeShape, estimates: npt.ArrayLike, variances: npt.ArrayLike) -> Floats:
    """Return the least-squares fit without negative estimates.

    Parameters
    ----------
    tree : TreeShape
    estimates : float array
        x̂_v of each node: `Fit.estimates`, the least-squares fit without the condition.
    variances : float array
        s_v of the measurements, `Fit.variances`: one for each node, or one for each level; infinite for a node that was
        not measured, zero for one that is known exactly.

    Returns
    -------
    float array
        Each parent is the sum of its children, as `sums` adds them, and no estimate is negative. The estimates are
        biased: negative leaves gain more than other leaves lose, so totals rise, those of large regions by many of
        their standard deviations. To keep the root's estimate, if it is not negative, give the root variance 0.

    Raises
    ------
    ParameterError
        If the estimates do not add up, or exactly known counts leave a leaf no value of at least 0.

    Notes
    -----
    Minimises Σ_v (x_v - x̂_v)² / s_v over all x ≥ 0 that add up. The residuals of the measurements, y - x̂, are
    orthogonal to everything that adds up, so the same x minimises Σ_v (x_v - y_v)² / s_v. Unmeasured leaves
    that this leaves undetermined have the least Σ (x - x̂)² / area. If no leaf is negative, all keep their values.

    The method: fix the negative leaves at zero (known exactly) and fit the others again with `two_pass`; repeat until
    no leaf is negative. No leaf has to be freed again, so there are at most as many rounds as leaves. Noisy clustered
    counts on quadtrees of height 6 to 10 took 5 to 10 rounds.

    Proof. In terms of the leaves the quadratic form has the matrix H, where H_ij is the sum of 1 / s over the common
    ancestors of i and j. It is ultrametric, therefore M = H⁻¹ has no positive element off its diagonal [2]_, nor
    has the inverse of a principal submatrix M_FF any negative element. With multipliers μ, the x of the leaves is
    x̂ + M μ: raising one leaf lowers the others. Let μ ≥ 0 and x belong to one round and μ', x' to the next,
    which fixes the leaves F. Then M_FF (μ' - μ)_F = x'_F - x_F = -x_F ≥ 0, hence μ' ≥ μ ≥ 0. In the last round x ≥ 0,
    μ ≥ 0 and x μ = 0, the conditions of Karush, Kuhn and Tucker. Infinite and zero variances are limits. This is
    Chandrasekaran's method [1]_, fixing all negative leaves at a time. A leaf fixed or not because of a rounding
    error changes the result by no more than that error, and fixed leaves stay fixed: there is no tolerance to choose.

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> non_negative(quadtree(1), [8.0, -2, 1, 3, 6], [np.inf, 1.0]).tolist()
    [10.0, 0.0, 1.0, 3.0, 6.0]
    >>> non_negative(quadtree(1), [8.0, -2, 1, 3, 6], [0.0, 1.0]).round(3).tolist()
    [8.0, 0.0, 0.333, 2.333, 5.333]
    """
    start = tree.node_values(estimates, "estimates").astype(np.float64)
    variances = checked_variances(tree, variances)
    tolerance = _ROUNDING * (np.abs(start).max() + np.sqrt(variances[np.isfinite(variances)].max(initial=0.0)))
    _check_adds_up(tree, start, tolerance)
    variances = variances if variances.size == tree.n_nodes else variances[tree.depth]
    _check_known(tree, start, variances == 0, tolerance)
    fitted, fixed = start, np.zeros(tree.n_nodes, dtype=bool)
    while np.any(negative := tree.leaves & ~fixed & (fitted < 0)):
        fixed |= negative
        change = two_pass(tree, np.where(fixed, -start, 0.0), np.where(fixed, 0.0, variances))
        fitted = start + change.estimates
    return np.asarray(sums(tree, np.where(fixed, 0.0, fitted)[tree.leaves]))


def project_families(tree: TreeShape, estimates: npt.ArrayLike, shares: npt.ArrayLike) -> Floats:
    """Remove negative estimates family by family, from the root down; each family still adds up to its parent.

    Parameters
    ----------
    tree : TreeShape
    estimates : float array
        Consistent estimates of each node.
    shares : float array
        How freely each node may move, relative to its siblings: `Fit.shares`, V in the notes.

    Returns
    -------
    float array
        Consistent estimates, none negative. They are biased: negative ones were raised at the expense of their positive
        siblings.

    Notes
    -----
    The projection starts with n_root = max(x_root, 0) and goes down. Given n_v, the children's values minimise
    Σ_c (n_c - x_c)² / V_c subject to n_c ≥ 0 and Σ n_c = n_v, exactly: n_c = max(x_c + V_c λ, 0), λ by Michelot's
    method [3]_, all families of a level at once: solve, fix the negative ones at zero, repeat. The result is not that
    of `non_negative`, and better for clustered data: totals of large regions keep their accuracy, whereas in the fit
    the many leaves that are raised to zero push these totals up.

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> project_families(quadtree(1), [8.0, -2, 1, 3, 6], np.ones(5)).round(9).tolist()
    [8.0, 0.0, 0.333333333, 2.333333333, 5.333333333]
    """
    result = tree.node_values(estimates, "estimates").astype(np.float64)
    if not np.all(np.isfinite(result)):
        raise ParameterError("estimates are not all finite; give the estimates of a fit.")
    weights = _checked_weights(tree, shares)
    result[0] = max(result[0], 0.0)
    for d in range(tree.height):
        children = tree.level(d + 1)
        result[children] = _project(tree, d, result[children], weights[children], result[tree.level(d)])
    return result


def project_rows(tree: TreeShape, rows: npt.ArrayLike) -> Floats:
    """Remove negative values from rows that all lie over the leaves of one tree, and keep what they add up to.

    Parameters
    ----------
    tree : TreeShape
        The tree over the values of each row, such as blocks over cells.
    rows : (m, leaves) float array
        One row for each map, such as one for each category.

    Returns
    -------
    (m, leaves) float array
        None negative. From the total down, families keep the sum of their parent, as in `project_families`: first the
        rows share the total, then the nodes of each row its own. Sums that were not negative are kept, as far as those
        above them allow.

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> project_rows(quadtree(1), [[6.0, 1, 1, -2], [1, 0, 1, 0]]).round(9).tolist()
    [[5.333333333, 0.333333333, 0.333333333, 0.0], [1.0, 0.0, 1.0, 0.0]]
    """
    values = np.asarray(rows, dtype=np.float64)
    count, depths = values.shape[0], tree.depth[tree.leaves]
    levels = [tree.n_children[tree.level(depth)] for depth in range(tree.height + 1)]
    children = np.concatenate([[count], *(np.tile(level, count) for level in levels)]).astype(np.int32)
    wide = TreeShape(np.cumsum([0, 1, *(count * level.size for level in levels)]), children)
    starts = np.arange(count)[:, None] * tree.n_leaves
    places = [(starts + np.flatnonzero(depths == depth)).ravel() for depth in range(tree.height + 1)]
    order = np.concatenate(places)
    projected = project_families(wide, sums(wide, values.ravel()[order]), np.ones(wide.n_nodes))
    result = np.empty(values.size)
    result[order] = projected[wide.leaves]
    return result.reshape(values.shape)


def round_consistent(tree: TreeShape, estimates: npt.ArrayLike) -> Integers:
    """Round consistent estimates to whole numbers that still add up.

    Parameters
    ----------
    tree : TreeShape
    estimates : float array
        Consistent estimates of each node; may be negative.

    Returns
    -------
    int64 array
        Each parent is exactly the sum of its children. Each number is the estimate rounded up or down, hence less than
        1 away from it, and a whole estimate keeps its value.

    Notes
    -----
    The root is rounded to the nearest whole number (half to even). Then, level by level, children are rounded down, and
    as many of them as are needed to reach their parent's number are raised by one: those with the largest remainders,
    the first among equals. If the parent's number is within 1 of the sum of the estimates, at least 0 and at most as
    many are raised as there are fractional children, so the property carries down. If the estimates are not consistent,
    the result still is, but may be further away from them.

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> round_consistent(quadtree(1), [2.0, 0.5, 0.5, 1.3, -0.3]).tolist()
    [2, 1, 0, 1, 0]
    """
    values = tree.node_values(estimates, "estimates").astype(np.float64, copy=False)
    if not np.all(np.abs(values) < 2**53):
        raise ParameterError(
            "estimates are not all finite and below 2^53; above, doubles skip whole numbers. Give smaller estimates."
        )
    rounded = np.floor(values).astype(np.int64)
    remainders = values - rounded
    rounded[0] = np.rint(values[0])
    for d in range(tree.height):
        children = tree.level(d + 1)
        _round_up(tree, d, rounded[tree.level(d)], rounded[children], remainders[children])
    return rounded


def _round_up(tree: TreeShape, d: int, totals: Integers, rounded: Integers, remainders: Floats) -> None:
    """Raise numbers by one, in place, so that each family adds up to its total."""
    missing = totals - tree.family_sums(d, rounded)
    n_children = np.maximum(tree.n_children[tree.level(d)], 1)
    for_all, for_some = np.divmod(missing, n_children)
    rounded += tree.to_children(d, for_all)
    rounded += _ranks(tree, d, remainders) < tree.to_children(d, for_some)


def _ranks(tree: TreeShape, d: int, values: Floats) -> Integers:
    """Return the rank of each child among its siblings, the largest value first, the first among equals."""
    rank = np.empty(values.size, dtype=np.int64)
    if fan_out := tree.fan_outs[d]:
        order = np.argsort(-values.reshape(-1, fan_out), axis=1, kind="stable")
        np.put_along_axis(rank.reshape(-1, fan_out), order, np.arange(fan_out)[None, :], axis=1)
        return rank
    n_children = tree.n_children[tree.level(d)]
    family = np.repeat(np.arange(n_children.size), n_children)
    starts = np.cumsum(n_children) - n_children
    rank[np.lexsort((-values, family))] = np.arange(values.size) - np.repeat(starts, n_children)
    return rank


def _check_adds_up(tree: TreeShape, estimates: Floats, tolerance: float) -> None:
    if not np.all(np.isfinite(estimates)):
        raise ParameterError("estimates are not all finite; give the estimates of a fit.")
    gap = np.abs(sums(tree, estimates[tree.leaves]) - estimates)
    if gap.max() > tolerance:
        raise ParameterError(
            f"estimates do not add up: node {gap.argmax()} and the leaves below it differ by {gap.max():.6g}. "
            "Give the estimates of a fit, not the measured values."
        )


def _check_known(tree: TreeShape, estimates: Floats, known: Booleans, tolerance: float) -> None:
    """Check that no exactly known node is less than the sum of the exactly known nodes below it."""
    below, least = np.zeros(tree.n_nodes), np.where(known, estimates, 0.0)
    for d in reversed(range(tree.height)):
        level = tree.level(d)
        below[level] = tree.family_sums(d, least[tree.level(d + 1)])
        np.copyto(least[level], below[level], where=~known[level])
    lacking = np.where(known, below - estimates, 0.0)
    if lacking.max() > tolerance:
        node = lacking.argmax()
        raise ParameterError(
            f"node {node} is known exactly to be {estimates[node]:.6g}, but the exactly known nodes below it, with "
            f"other leaves of at least 0, add up to {below[node]:.6g} or more. Correct them, or give them a variance."
        )


def _project(tree: TreeShape, d: int, values: Floats, weights: Floats, totals: Floats) -> Floats:
    """Return, for each family, the closest non-negative values that add up to the parent's total."""
    active = np.ones(values.size, dtype=bool)  # children that are not fixed at zero
    while True:
        # Solve without the condition: each active child moves by the same multiple of its weight.
        free = np.where(active, weights, 0.0)
        excess = totals - tree.family_sums(d, np.where(active, values, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = excess / tree.family_sums(d, free)
        trial = values + free * tree.to_children(d, np.where(np.isfinite(shift), shift, 0.0))
        negative = active & (trial < 0)
        if not negative.any():
            return _rescaled(tree, d, np.where(active, trial, 0.0), totals)
        active &= ~negative


def _rescaled(tree: TreeShape, d: int, values: Floats, totals: Floats) -> Floats:
    """Rescale families so that they add up to their totals without rounding errors."""
    family_sums = tree.family_sums(d, values)
    evenly = totals / np.maximum(tree.n_children[tree.level(d)], 1)
    empty = family_sums <= 0  # these cannot be rescaled: their total is divided evenly
    factor = np.where(empty, 0.0, totals / np.where(empty, 1.0, family_sums))
    return values * tree.to_children(d, factor) + tree.to_children(d, np.where(empty, evenly, 0.0))


def _checked_weights(tree: TreeShape, variances: npt.ArrayLike) -> Floats:
    array = tree.node_values(variances, "variances").astype(np.float64, copy=False)
    if not np.all(array >= 0) or np.any(np.isinf(array[1:])):
        raise ParameterError("variances are not all finite and at least 0; give Fit.shares, which are.")
    return np.maximum(array, _LEAST_WEIGHT)
