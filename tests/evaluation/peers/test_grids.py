"""Uniform and adaptive grids: as many cells as the papers ask for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spatialdp.evaluation.peers import AdaptiveGrid, UniformGrid
from tests.helpers.peers import SHAPE, released


def test_a_uniform_grid_has_n_epsilon_over_ten_cells():
    estimate = released(UniformGrid(SHAPE, records="public")).estimate
    assert estimate.n_cells == round(math.sqrt(20_000 / 10)) ** 2
    paid = released(UniformGrid(SHAPE)).estimate
    assert paid.n_cells == pytest.approx(estimate.n_cells, rel=0.05)


def test_an_adaptive_grid_divides_cells_by_their_counts():
    estimate = released(AdaptiveGrid(SHAPE, records="public")).estimate
    tree = estimate.tree
    side = max(10, math.ceil(math.ceil(math.sqrt(2000)) / 4))
    assert tree.n_children[0] == side**2
    first = np.arange(tree.n_nodes)[tree.level(1)]
    counts = estimate.values[first]  # fitted ones, close to the noisy counts that decided
    wanted = np.minimum(np.ceil(np.sqrt(np.maximum(counts, 0) * 0.5 / 5)), 128 // side)  # cells that a block has
    children = np.sqrt(tree.n_children[first])
    assert np.abs(children - np.maximum(wanted, 1)).max() <= 2
    assert children.max() > 5
