"""Frames, rows and dense algebra for tests of tables."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

import spatialdp as sdp
from spatialdp.transforms.tree_axis import TreeAxis
from spatialdp.trees.shape import TreeShape

DOMAIN = sdp.Domain((0, 0, 4, 2))
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})


def random_shape(rng: np.random.Generator, height: int = 3, most: int = 4, *, even: bool = False) -> TreeShape:
    """Return a tree of unequal fan-out; unless it is even, with leaves at several depths."""
    rows, sizes = [], [1]
    for depth in range(height):
        children = rng.integers(1, most + 1, sizes[-1])
        if not even and depth:
            children[rng.random(children.size) < 0.3] = 0
        children[0] = max(children[0], 2)  # so that there is a next level
        rows.append(children)
        sizes.append(int(children.sum()))
    n_children = np.concatenate([*rows, np.zeros(sizes[-1], dtype=np.int64)])
    return TreeShape(np.concatenate([[0], np.cumsum(sizes)]), n_children.astype(np.int32))


def random_shares(rng: np.random.Generator, levels: int) -> tuple[Fraction, ...]:
    """Return shares of levels, some of them 0, but not that of the cells."""
    weights = rng.integers(0, 4, levels)
    weights[-1] = max(weights[-1], 1)
    return tuple(Fraction(int(each), int(weights.sum())) for each in weights)


def measured_matrix(axis: TreeAxis) -> Any:
    """Return the matrix of an axis' measurements, (measurements, cells), by unit vectors."""
    return np.concatenate(axis.forward(np.eye(axis.size, dtype=np.int64)), axis=1).T


def working_variances(axis: TreeAxis) -> Any:
    """Return the variance of each measurement of an axis relative to that with the whole budget."""
    sizes = [part.stop - part.start for part in axis.groups]
    return np.repeat([float(share) ** -axis.power for share in axis.group_shares], sizes)


def dense_fit(axes: list[TreeAxis]) -> Any:
    """Return the generalised least-squares inverse of the products of axes, (cells, measurements)."""
    matrix = reduce(np.kron, [measured_matrix(axis).astype(float) for axis in axes])
    weights = 1 / reduce(np.kron, [working_variances(axis) for axis in axes])
    return np.linalg.solve(matrix.T @ (weights[:, None] * matrix), matrix.T * weights)
