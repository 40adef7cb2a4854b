"""How a tree's budget is divided over its levels."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.errors import ParameterError
from spatialdp.mechanisms.level_budgets import check_budget, level_costs
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


weights = st.lists(st.one_of(st.integers(0, 1000), st.floats(0, 1e6, allow_subnormal=False)), min_size=1, max_size=9)


@given(weights, st.fractions(Fraction(1, 10**6), 10**3), st.sampled_from(list(Law)))
def test_costs_add_up_to_the_whole_exactly_and_keep_their_proportions(given_weights, whole, law):
    height = len(given_weights) - 1
    for budget in ("uniform", "geometric", "leaves"):
        costs = level_costs(budget, height, whole, law)
        assert sum(costs) == whole
        assert len(costs) == height + 1
        assert list(costs) == sorted(costs)
    if given_weights[-1] > 1e-6 * sum(given_weights):
        costs = level_costs(check_budget(given_weights, height), height, whole, law)
        assert sum(costs) == whole
        assert min(costs) >= 0
        shares = np.array(given_weights, dtype=float) / sum(given_weights)
        assert [float(cost / whole) for cost in costs] == pytest.approx(shares, abs=1e-9)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ((1, 2), "has 2 weights"),
        ((1, -1, 2), "negative"),
        ((1, 2, 0), "leaves"),
        (5, "budget is 5"),
        ("steep", "uniform"),
    ],
    ids=str,
)
def test_budgets_that_are_none_are_refused(budget, said):
    with pytest.raises(ParameterError, match=said):
        check_budget(budget, 2)


def test_names_are_read_whatever_their_case():
    assert check_budget("Geometric", 3) == "geometric"
    assert check_budget(np.array([1, 2]), 1) == (1, 2)
