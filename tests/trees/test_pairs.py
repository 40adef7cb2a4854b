"""Queries need no geometry: pairs of a query and a node say all that answers and their noise depend on."""

from __future__ import annotations

import numpy as np

from spatialdp.trees.pairs import Pairs
from spatialdp.trees.shape import TreeShape
from spatialdp.trees.tree_noise import TreeNoise

LOPSIDED = TreeShape([0, 1, 3, 6], [2, 3, 0, 0, 0, 0])


def test_a_query_of_one_node_has_the_noise_of_that_node():
    """Three queries: nodes 1, 2 and 4. All divide the root; the third divides node 1 as well."""
    every, none = np.ones(3, dtype=bool), np.zeros(3, dtype=bool)
    query = np.repeat(np.arange(3), 2)
    levels = [
        Pairs(np.arange(3), np.zeros(3, dtype=int), np.zeros(3, dtype=int), np.full(3, 0.5), every),
        Pairs(query, np.tile([1, 2], 3), query, np.array([1, 0, 0, 1, 0.3, 0.0]), np.arange(6) == 4),
        Pairs(np.full(3, 2), np.array([3, 4, 5]), np.zeros(3, dtype=int), np.array([0.0, 1, 0]), none),
    ]
    noise = TreeNoise(LOPSIDED, np.array([4.0, 2, 1, 3, 1, 5]), np.array([3.0, 3, 3, 2, 2, 1]))
    second, fourth = noise.fitted_walk(levels, None, 3)
    nodes = np.array([1, 2, 4])
    of_nodes, fourth_of_nodes = noise.fitted_nodes()
    np.testing.assert_allclose(second, of_nodes[nodes])
    np.testing.assert_allclose(fourth, fourth_of_nodes[nodes])
