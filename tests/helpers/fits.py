"""Least-squares fits of random measurements on random trees."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from spatialdp.space.boxes.tree import Tree
from spatialdp.trees.least_squares import Fit, two_pass
from spatialdp.trees.shape import sums
from tests.helpers.trees import random_tree

FAN_OUTS = [(2, 5), (3, 4), (4, 3), (9, 2)]
seeds = st.integers(0, 2**32 - 1)


def random_variances(rng: np.random.Generator, tree: Tree, *, unmeasured: float = 0.3) -> np.ndarray:
    """Some inner nodes unmeasured, all leaves measured."""
    variances = np.exp(rng.uniform(-2, 3, tree.n_nodes))
    variances[(rng.random(tree.n_nodes) < unmeasured) & ~tree.leaves] = np.inf
    return variances


def per_node(tree: Tree, level_values: np.ndarray) -> np.ndarray:
    return np.asarray(level_values)[tree.depth]


def assert_adds_up(tree: Tree, values: np.ndarray, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(values, sums(tree, values[tree.leaves]), rtol=1e-12, atol=atol)


def random_fit(seed: int) -> tuple[np.random.Generator, Tree, np.ndarray, Fit]:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    measured = rng.normal(0, 10, tree.n_nodes)
    return rng, tree, measured, two_pass(tree, measured, random_variances(rng, tree))
