"""Which numbers can a release of ours hold? Checks of numbers and trees that come from a file.

A file comes from anywhere, so whatever a release relies on later is checked here, once: an estimate that is a number,
noise that some law has, a tree whose nodes divide their parents. The limits are public and lie beyond what any
mechanism can make. Each function raises ValueError if a claim cannot be true.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats
from spatialdp.space.boxes.tree import Tree
from spatialdp.trees.shape import TreeShape

__all__ = [
    "HIGHEST_TREE",
    "WIDEST_STEP",
    "check_estimates",
    "check_moments",
    "check_ratios",
    "check_sums",
    "check_tree",
    "check_weights",
]

HIGHEST_TREE = 64  # levels below the root; quadtrees and kd-trees have 14, blocks on a lattice 31
WIDEST_STEP = 1.0  # of the lattice on which noise lies: whole counts

# Laws draw noise with a scale of at most 2^100. The variance of a law is 0 or above 1e-151, and its kurtosis is at most
# one over the variance, or 3.
_LARGEST_ESTIMATE = 1e45
_LEAST_VARIANCE, _LARGEST_VARIANCE = 1e-155, 1e65
_LARGEST_KURTOSIS = 1e155
_LARGEST_FOURTH = 1e140  # kurtosis times squared variance

# Parents are fitted sums of their children, in doubles.
_ROUNDING = 1e-6
_LARGEST_RATIO = 32.0  # of the mean square of noise, given what its count led to, over its variance
_WHOLE = 1e-9  # tolerance for shares that must add up to 1
_FEW_CHILDREN = 64  # up to this number, siblings are compared pair by pair; an adaptive tree has no more


def check_estimates(values: Array) -> None:
    """Check that estimates are numbers of a size that counts with noise can have."""
    if values.dtype != np.float64 or not np.all(np.abs(values) <= _LARGEST_ESTIMATE):
        raise ValueError("an estimate is not a finite number that noise can make")


def check_moments(variances: Floats, kurtosis: Floats) -> None:
    """Check that some law of noise can have each variance and excess kurtosis."""
    sound = (variances == 0) | ((variances >= _LEAST_VARIANCE) & (variances <= _LARGEST_VARIANCE))
    sound &= (kurtosis >= 0) & (kurtosis <= _LARGEST_KURTOSIS)
    if not np.all(sound) or not np.all(kurtosis * np.where(sound, variances, 0.0) ** 2 <= _LARGEST_FOURTH):
        raise ValueError("no law of noise has these moments")


def check_ratios(ratios: Floats) -> None:
    """Check mean squares of noise over its variance, given what counts led to."""
    if ratios.dtype != np.float64 or not np.all((ratios >= 0) & (ratios <= _LARGEST_RATIO)):
        raise ValueError("a ratio of noise is not between 0 and its limit")


def check_weights(shape: TreeShape, own: Floats, shares: Floats | None, measured: Booleans) -> None:
    """Check the weights of a fit that is not by least squares; raise ValueError if there is no such fit."""
    for weights in (own,) if shares is None else (own, shares):
        if weights.dtype != np.float64 or not np.all((weights >= 0) & (weights <= 1)):
            raise ValueError("a weight is not between 0 and 1")
    if np.any((own > 0) & ~measured):
        raise ValueError("a count that was not measured has a weight")
    if shares is None:
        return
    families = (shape.family_sums(d, shares[shape.level(d + 1)], empty=1.0) for d in range(shape.height))
    if not all(np.allclose(family, 1.0, rtol=0, atol=_WHOLE) for family in families):
        raise ValueError("the shares of a family do not add up to 1")


def check_tree(tree: Tree, values: Floats, variances: Floats, *, consistent: bool) -> None:
    """Check that children lie in their parents and do not overlap, that all leaves were measured, and that sums agree.

    Parameters
    ----------
    tree : Tree
    values : (nodes,) array
    variances : array
        One for each node or one for each level; infinite where nothing was measured.
    consistent : bool
        Whether parents are said to be the sums of their children.
    """
    parents = tree.boxes[tree.parent[1:]]
    children = tree.boxes[1:]
    if not (np.all(children[:, :2] >= parents[:, :2]) and np.all(children[:, 2:] <= parents[:, 2:])):
        raise ValueError("a node lies outside its parent")
    if tree.n_nodes > 1 and _siblings_overlap(tree):
        raise ValueError("two children of a node overlap")
    of_nodes = variances if variances.size == tree.n_nodes else variances[tree.depth]
    if np.any(np.isinf(of_nodes[tree.leaves])):
        raise ValueError("a leaf was not measured")
    if consistent:
        check_sums(tree, values)


def check_sums(tree: TreeShape, values: Floats) -> None:
    """Check that the estimate of every node is the sum of its children's."""
    for depth in range(tree.height):
        parent, sums = values[tree.level(depth)], tree.family_sums(depth, values[tree.level(depth + 1)])
        inner = tree.n_children[tree.level(depth)] > 0
        if np.any(np.abs(parent - sums)[inner] > _ROUNDING * (1 + np.abs(values).max())):
            raise ValueError("the estimates do not add up")


def _siblings_overlap(tree: Tree) -> bool:
    most = int(tree.n_children.max())
    if most <= _FEW_CHILDREN:
        return any(_pairs_overlap(tree, distance) for distance in range(1, most))
    broken = [_unsorted_families(tree, first) for first in (0, 1)]
    return bool(np.any(broken[0] & broken[1]))


def _pairs_overlap(tree: Tree, distance: int) -> bool:
    """Whether nodes overlap that lie this far from each other among the children of one parent."""
    one, other = tree.boxes[1:-distance], tree.boxes[1 + distance :]
    overlap = tree.parent[1:-distance] == tree.parent[1 + distance :]
    for low, high in ((0, 2), (1, 3)):
        overlap &= (one[:, low] < other[:, high]) & (other[:, low] < one[:, high])
    return bool(overlap.any())


def _unsorted_families(tree: Tree, first: int) -> Booleans:
    """Which parents have children that are not rows of columns (first = 0) or columns of rows (first = 1), (nodes,).

    Large families are blocks of a grid. Sorted by column and then by row, a child begins where the one before it ends,
    or later, in its own column or in another one.
    """
    boxes, parent, second = tree.boxes[1:], tree.parent[1:], 1 - first
    order = np.lexsort((boxes[:, second], boxes[:, first], parent))
    one, other = boxes[order[:-1]], boxes[order[1:]]
    family = parent[order]
    alike = (one[:, first] == other[:, first]) & (one[:, first + 2] == other[:, first + 2])
    after = np.where(alike, other[:, second] >= one[:, second + 2], other[:, first] >= one[:, first + 2])
    broken = np.zeros(tree.n_nodes, dtype=bool)
    broken[family[1:][~after & (family[1:] == family[:-1])]] = True
    return broken
