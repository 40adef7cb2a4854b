"""How a tree's budget is divided over its levels.

Levels are given root first everywhere. The nodes of a level are disjoint, so a level costs its own budget once, and a
path from the root to a leaf costs their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from spatialdp._support.options import Option
from spatialdp.errors import ParameterError
from spatialdp.privacy.budget import Number, divide, exact
from spatialdp.privacy.noise.laws import Law

__all__ = ["BudgetRule", "LevelBudget", "check_budget", "level_costs"]


BudgetRule = str | tuple[Number, ...]


class LevelBudget(Option):
    """How a tree's budget is divided over its levels."""

    UNIFORM = "uniform"
    GEOMETRIC = "geometric"
    LEAVES = "leaves"


def check_budget(budget: BudgetRule | Sequence[Number], height: int) -> BudgetRule:
    """A named rule, or one weight for each level, root first, with the leaves' above zero."""
    if isinstance(budget, str):
        return LevelBudget.parse(budget)
    try:
        weights = tuple(float(w) if isinstance(w, float | np.floating) else exact(w, "budget") for w in budget)
    except TypeError:
        raise ParameterError(f"budget is {budget!r}; give a rule's name, or one number for each level.") from None
    if min(weights, default=0) < 0 or not all(np.isfinite(float(w)) for w in weights):
        raise ParameterError(f"budget is {budget!r}; no weight may be negative or infinite.")
    if len(weights) != height + 1:
        raise ParameterError(
            f"budget has {len(weights)} weights; a tree of height {height} has {height + 1} levels: give one for each, "
            "root first."
        )
    if not weights[-1] > 0:
        raise ParameterError(f"the leaves' budget is {weights[-1]}; it must be above 0. Choose a lower height instead.")
    return weights


def level_costs(budget: BudgetRule, height: int, whole: Fraction, law: Law) -> tuple[Fraction, ...]:
    """Cost of each level, root first; they add up to the whole, exactly.

    Notes
    -----
    Geometric: a box takes about 2^d nodes of depth d, so the best budgets grow towards the leaves, by 2^(1/3) a level
    where the variance falls with the budget's square (Laplace; Cormode et al. 2012) and by 2^(1/2) where it falls with
    the budget itself (Gaussian, in ρ).

    Examples
    --------
    >>> [round(float(cost), 3) for cost in level_costs("geometric", 2, Fraction(1), Law.DISCRETE_LAPLACE)]
    [0.26, 0.327, 0.413]
    """
    if not isinstance(budget, str):
        costs = divide(whole, budget)
        if not costs[-1]:
            raise ParameterError("the leaves' weight is so small that nothing of the budget is left to them; raise it.")
        return costs
    rule = LevelBudget.parse(budget)
    if rule is LevelBudget.LEAVES:
        return (*[Fraction(0)] * height, whole)
    if rule is LevelBudget.UNIFORM:
        return divide(whole, [1] * (height + 1))
    ratio = 2 ** (1 / 2) if law is Law.GAUSSIAN else 2 ** (1 / 3)
    return divide(whole, [ratio**depth for depth in range(height + 1)])
