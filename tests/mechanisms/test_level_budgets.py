"""How a tree's budget is divided over its levels."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from spatialdp.mechanisms.level_budgets import level_costs
from spatialdp.privacy.noise.laws import Law


def test_geometric_budget_is_the_best_for_its_node_counts():
    height, nodes = 8, 2.0 ** np.arange(9)
    costs = np.array([float(c) for c in level_costs("geometric", height, Fraction(1), Law.DISCRETE_LAPLACE)])
    assert costs[-1] / costs[0] == pytest.approx(2 ** (height / 3), rel=1e-9)

    def total(c):
        return (nodes / c**2).sum()

    for i, j in product(range(9), repeat=2):
        if i != j:
            moved = costs.copy()
            moved[i] += 1e-4
            moved[j] -= 1e-4
            assert total(moved) > total(costs)
    upside_down = costs[::-1]
    assert total(upside_down) > 10 * total(costs)


def test_gaussian_levels_grow_by_the_square_root_of_two():
    costs = level_costs("geometric", 4, Fraction(1), Law.GAUSSIAN)
    assert float(costs[-1] / costs[0]) == pytest.approx(2**2, rel=1e-9)
