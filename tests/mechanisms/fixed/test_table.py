"""The mechanism: weights, plans, refusals. The audit has its privacy (`tests/audit/test_tables.py`)."""

from __future__ import annotations

from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError

GRID = sdp.Domain((0, 0, 4, 4)).grid((4, 4))
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
FRAME = sdp.Frame(GRID, blocks=2, kind=KINDS)


def test_weights_are_shares_of_products():
    plan = sdp.Table(budget={"box": (1, 3), "kind": (0, 0, 1)}).plan(FRAME, epsilon=1)
    assert list(plan.budget.values()) == [Fraction(1, 4), Fraction(3, 4)]
    assert list(plan.budget) == ["counts of blocks of 2 x categories", "counts of cells x categories"]


def test_other_axes_are_balanced():
    plan = sdp.Table(budget={"kind": (0, 1)}).plan(FRAME, epsilon=1)
    assert all("categories" in step for step in plan.budget)
    assert sum(plan.budget.values()) == 1


def test_cells_alone_have_the_least_noise_in_cells_and_sums_of_it():
    plan = sdp.Table(budget="cells").plan(FRAME, epsilon=1)
    assert list(plan.budget) == ["counts of cells x categories"]
    assert plan.standard_deviation == pytest.approx(1.357, abs=1e-3)
    assert plan.errors["the whole region x all categories"] == pytest.approx(plan.standard_deviation * 48**0.5)
    assert "answers about" in str(plan)


@pytest.mark.parametrize(
    "budget",
    ["even", {"sex": (1, 1)}, {"kind": (1,)}, {"kind": (1, 0)}, {"kind": (-1, 1)}, {"kind": ("a", "b")},
     {"kind": (1, float("inf"))}],
    ids=str,
)  # fmt: skip
def test_budgets_that_are_none_are_refused(budget):
    with pytest.raises(ParameterError, match="budget"):
        sdp.Table(budget=budget).check(FRAME, epsilon=1)


def test_another_frame_is_refused():
    with pytest.raises(ParameterError, match=r"needs a spatialdp\.Frame"):
        sdp.Table().check(GRID.domain, epsilon=1)
    with pytest.raises(BudgetError, match="delta"):
        sdp.Table().check(FRAME, epsilon=1, delta=1e-6)


def test_a_bound_that_is_chosen_privately_is_refused_in_words():
    with pytest.raises(ParameterError, match="given one"):
        sdp.Table().check(FRAME, epsilon=1, person=sdp.Person(cells=sdp.Chosen()))


def test_parameters_are_plain_values():
    assert sdp.Table().parameters() == {"budget": "balanced", "law": "discrete-laplace"}
    assert sdp.Table(budget={"kind": [1, 1]}) == sdp.Table(budget={"kind": (1, 1)})
