"""How counts of a tree are made consistent with weights that are given, not the best ones.

On a tree whose nodes were divided because of their noisy counts, least squares is biased: the weight of a count depends
on what became of its node, and so on the count itself. Weights that were fixed before each count was drawn leave the
estimates exactly unbiased, at the price of a little more noise. What became of a node also says something about the
noise of its count; intervals use that (`noise_ratios`). ``docs/design/adaptive.md`` has the proof. Nothing here sees a
record.

The notation is that of `least_squares`, with w given and V the variance of z under it; differences between a node and
its children are divided in proportion to areas.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.trees.shape import TreeShape

__all__ = ["given_variances", "given_weights_fit", "noise_ratios"]

_BELOW = 0.5  # share of the noise of the sum below a node that makes the node's own noise uncertain
_FARTHEST = 5.0  # standard deviations from 0 beyond which no bound of the noise is believed


def given_weights_fit(tree: TreeShape, measured: Floats, own_weights: Floats, shares: Floats) -> Floats:
    """Return consistent estimates x of all nodes.

    Parameters
    ----------
    tree : TreeShape
    measured : (nodes,) array
        Noisy counts y.
    own_weights : (nodes,) array
        The weight w of each inner node's own count; leaves keep theirs, whatever is given.
    shares : (nodes,) array
        Share of each node in the difference between its parent and its family; those of a family add up to 1.

    Notes
    -----
    Up: z = w y + (1 - w) S, S being the sum of the children's z. Down: x_root = z_root, x_c = z_c + share (x_v - S_v).

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> weights, shares = np.array([0.5, 1, 1, 1, 1]), np.array([1, 0.25, 0.25, 0.25, 0.25])
    >>> given_weights_fit(quadtree(1), np.array([10.0, 1, 2, 3, 2]), weights, shares).tolist()
    [9.0, 1.25, 2.25, 3.25, 2.25]
    """
    own = _own(tree, own_weights)
    values, below = _upwards(tree, own * np.asarray(measured, dtype=np.float64), 1 - own)
    for depth in range(tree.height):
        children, level = tree.level(depth + 1), tree.level(depth)
        values[children] += shares[children] * tree.to_children(depth, values[level] - below[level])
    return values


def given_variances(tree: TreeShape, variances: Floats, own_weights: Floats) -> Floats:
    """Return the variance V of z for all nodes; the variances of measurements that have no weight are not read."""
    return _variances(tree, variances, _own(tree, own_weights))[0]


def noise_ratios(
    tree: TreeShape, measured: Floats, variances: Floats, own_weights: Floats, lowest: Floats, highest: Floats
) -> Floats:
    """Return the mean square of the noise in each measurement over its variance, given what the measurement led to.

    A count that was repeated did not come out very high, and a count that was divided did not come out very low. What
    this says about its noise follows from the sum of what was measured below the node, which is free of that noise.

    All noise is taken to be normal. If all true counts were equally likely, the sum's own noise would count in full.
    Small counts are more frequent, and then the ratios would be too small. If the sum were taken for the truth, they
    would be too large. With half of the sum's noise, they are 1 on average (measured; ``docs/design/adaptive.md``).

    Parameters
    ----------
    tree : TreeShape
    measured, variances, own_weights
        As for `given_weights_fit` and `given_variances`.
    lowest, highest : (nodes,) arrays
        Between which numbers each measurement could have been and led to the same; infinite where it led to nothing.

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> measured, far = np.array([10.0, 1, 2, 3, 2]), np.full(5, np.inf)
    >>> weights, highest = np.array([0.5, 1, 1, 1, 1]), np.array([11.0, *far[1:]])
    >>> noise_ratios(quadtree(1), measured, np.array([4.0, 0, 0, 0, 0]), weights, -far, highest).round(2).tolist()
    [0.79, 1.0, 1.0, 1.0, 1.0]
    """
    own = _own(tree, own_weights)
    _, below = _upwards(tree, own * measured, 1 - own)
    _, noise_below = _variances(tree, variances, own)
    told = np.flatnonzero(np.isfinite(lowest) | np.isfinite(highest))
    noise = variances[told] + _BELOW * noise_below[told]
    told, noise = told[noise > 0], noise[noise > 0]
    low, high = ((ends[told] - below[told]) / np.sqrt(noise) for ends in (lowest, highest))
    ratios = np.ones(tree.n_nodes)
    ratios[told] += variances[told] / noise * (_mean_square(low, high) - 1)
    return ratios


def _upwards(tree: TreeShape, own: Floats, passed: Floats) -> tuple[Floats, Floats]:
    """For all nodes, its own number plus a share of the children's sum, and that sum, which is 0 for leaves."""
    result, below = own.copy(), np.zeros(tree.n_nodes)
    for depth in reversed(range(tree.height)):
        level = tree.level(depth)
        below[level] = tree.family_sums(depth, result[tree.level(depth + 1)])
        result[level] += passed[level] * below[level]
    return result, below


def _variances(tree: TreeShape, variances: Floats, own: Floats) -> tuple[Floats, Floats]:
    """The variance V of z for all nodes, and the sum VS of the children's."""
    return _upwards(tree, own**2 * np.where(own > 0, variances, 0.0), (1 - own) ** 2)


def _mean_square(low: Floats, high: Floats) -> Floats:
    """Mean square of a standard normal variable between two numbers."""
    from scipy.special import ndtr

    low = np.clip(low, -4 * _FARTHEST, _FARTHEST)
    high = np.clip(high, -_FARTHEST, 4 * _FARTHEST)
    ends = (end * np.exp(-(end**2) / 2) / np.sqrt(2 * np.pi) for end in (low, high))
    change = np.subtract(*ends)
    return np.asarray(np.maximum(1 + change / (ndtr(high) - ndtr(low)), 0.0))


def _own(tree: TreeShape, own_weights: Floats) -> Floats:
    return np.where(tree.leaves, 1.0, own_weights)
