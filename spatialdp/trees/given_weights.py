"""How counts of a tree are made consistent with weights that are given, not the best ones.

On a tree whose nodes were divided because of their noisy counts, least squares is biased: the weight of a count depends
on what became of its node, and so on the count itself. Weights that were fixed before each count was drawn leave the
estimates exactly unbiased, at the price of a little more noise. ``docs/design/adaptive.md`` has the proof. Nothing here
sees a record.

The notation is that of `least_squares`, with w given and V the variance of z under it; differences between a node and
its children are divided in proportion to areas.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.trees.shape import TreeShape

__all__ = ["given_variances", "given_weights_fit"]


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
    values, own = np.array(measured, dtype=np.float64), _own(tree, own_weights)
    below = []
    for depth in reversed(range(tree.height)):
        level = tree.level(depth)
        child_sum = tree.family_sums(depth, values[tree.level(depth + 1)])
        values[level] = own[level] * values[level] + (1 - own[level]) * child_sum
        below.append(child_sum)
    for depth, child_sum in enumerate(reversed(below)):
        children = tree.level(depth + 1)
        values[children] += shares[children] * tree.to_children(depth, values[tree.level(depth)] - child_sum)
    return values


def given_variances(tree: TreeShape, variances: Floats, own_weights: Floats) -> Floats:
    """Return the variance V of z for all nodes; the variances of measurements that have no weight are not read."""
    own = _own(tree, own_weights)
    result = np.where(own > 0, own**2 * np.where(own > 0, variances, 0.0), 0.0)
    for depth in reversed(range(tree.height)):
        level = tree.level(depth)
        below = tree.family_sums(depth, result[tree.level(depth + 1)])
        result[level] += (1 - own[level]) ** 2 * below
    return result


def _own(tree: TreeShape, own_weights: Floats) -> Floats:
    return np.where(tree.leaves, 1.0, own_weights)
