"""Fits of zone trees by dense matrices, and merged chains found node by node, to compare the fast ones with."""

from __future__ import annotations

import numpy as np

from spatialdp.trees.shape import TreeShape

__all__ = ["answer_map", "coverage_of", "cumulants", "membership", "merged_slowly"]


def membership(shape: TreeShape) -> np.ndarray:
    """(nodes, leaves) matrix: is the leaf at or below the node."""
    below = np.eye(shape.n_nodes)
    for node in range(shape.n_nodes - 1, 0, -1):
        below[shape.parent[node]] += below[node]
    return below[:, shape.leaves]


def answer_map(shape: TreeShape, variances: np.ndarray) -> np.ndarray:
    """The (leaves, nodes) matrix that takes measurements to the leaves' estimates.

    Weighted least squares over the nodes with a finite variance, subject to the nodes with variance 0: the conditions
    of Lagrange, solved as one system.
    """
    members = membership(shape)
    known, measured = variances == 0, np.isfinite(variances) & (variances > 0)
    weights = np.where(measured, 1 / np.where(measured, variances, 1.0), 0.0)
    normal = members.T @ (weights[:, None] * members)
    exact = members[known]
    size = len(normal) + len(exact)
    system = np.zeros((size, size))
    system[: len(normal), : len(normal)] = normal
    system[len(normal) :, : len(normal)] = exact
    system[: len(normal), len(normal) :] = exact.T
    right = np.zeros((size, shape.n_nodes))
    right[: len(normal)] = members.T * weights
    right[np.arange(len(normal), size), np.flatnonzero(known)] = 1.0
    return (np.linalg.pinv(system, rcond=1e-13) @ right)[: len(normal)]


def coverage_of(shape: TreeShape, nodes) -> np.ndarray:
    """1 for each leaf at or below one of the nodes, (leaves,)."""
    return np.minimum(membership(shape)[np.asarray(nodes, dtype=int)].sum(axis=0), 1.0)


def cumulants(shape: TreeShape, variances, kurtosis, coverage) -> tuple[np.ndarray, np.ndarray]:
    """Second and fourth cumulants of weighted sums of leaves, (q,) each, from coverage (q, leaves)."""
    finite = np.where(np.isfinite(variances), variances, 0.0)
    weights = np.asarray(coverage) @ answer_map(shape, variances)
    return weights**2 @ finite, weights**4 @ (finite**2 * kurtosis)


def merged_slowly(shape: TreeShape) -> tuple[list[int], list[list[int]]]:
    """Chains of only children, node by node: the first node of each node's chain, and the chains by these."""
    first = list(range(shape.n_nodes))
    for node in range(1, shape.n_nodes):
        if shape.n_children[shape.parent[node]] == 1:
            first[node] = first[shape.parent[node]]
    return first, [[v for v in range(shape.n_nodes) if first[v] == head] for head in sorted(set(first))]
