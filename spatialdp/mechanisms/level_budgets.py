"""How is a tree's budget divided over its levels? By a named rule, or by one weight for each level.

Levels are given root first everywhere. The nodes of a level are disjoint, so a level costs its own
budget once, and a path from the root to a leaf costs the sum over the levels. That sum must be the
whole budget, exactly. This module reads no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from spatialdp._support.options import Option
from spatialdp.errors import ParameterError
from spatialdp.privacy.budget import Number, divide, exact
from spatialdp.privacy.noise.laws import Law
from spatialdp.wording import parameter, quoted

__all__ = ["BudgetRule", "LevelBudget", "check_budget", "level_costs"]


BudgetRule = str | tuple[Number, ...]


class LevelBudget(Option):
    """Rules that divide a tree's budget over its levels."""

    UNIFORM = "uniform"
    GEOMETRIC = "geometric"
    LEAVES = "leaves"


def check_budget(budget: BudgetRule | Sequence[Number], height: int) -> BudgetRule:
    """Check a budget: a named rule, or one weight for each level, root first, with that of the leaves above 0."""
    if isinstance(budget, str):
        return LevelBudget.parse(budget, "budget")
    try:
        weights = tuple(float(w) if isinstance(w, float | np.floating) else exact(w, "budget") for w in budget)
    except TypeError:
        names = ", ".join(repr(str(rule)) for rule in LevelBudget)
        raise ParameterError(
            f"{parameter('budget')} is {budget!r}; give one of {names}, or one number for each level."
        ) from None
    if min(weights, default=0) < 0 or not all(np.isfinite(float(w)) for w in weights):
        raise ParameterError(
            f"{parameter('budget')} is {quoted(budget)}, but no weight may be negative or infinite; give finite "
            "weights from 0 up."
        )
    if len(weights) != height + 1:
        raise ParameterError(
            f"{parameter('budget')} has {len(weights)} weights, but a tree of height {height} has {height + 1} levels; "
            "give one weight for each level, root first."
        )
    if not weights[-1] > 0:
        raise ParameterError(
            f"the leaves' weight in {parameter('budget')} is {weights[-1]}; it must be above 0. Raise it, or choose a "
            f"lower {parameter('height')}."
        )
    return weights


def level_costs(budget: BudgetRule, height: int, whole: Fraction, law: Law) -> tuple[Fraction, ...]:
    """Cost of each level, root first; the costs add up to the whole budget, exactly.

    Notes
    -----
    The geometric rule: a box takes about 2^d nodes of depth d, so the best budgets grow towards the
    leaves. They grow by 2^(1/3) a level where the variance falls with the budget's square (Laplace;
    Cormode et al. 2012) and by 2^(1/2) where it falls with the budget itself (Gaussian, in ρ).

    Examples
    --------
    >>> [round(float(cost), 3) for cost in level_costs("geometric", 2, Fraction(1), Law.DISCRETE_LAPLACE)]
    [0.26, 0.327, 0.413]
    """
    if not isinstance(budget, str):
        costs = divide(whole, budget)
        if not costs[-1]:
            raise ParameterError(
                f"the leaves' weight in {parameter('budget')} is {budget[-1]}, which is so small that nothing of the "
                "budget is left to the leaves; raise it."
            )
        return costs
    rule = LevelBudget(budget)  # `check_budget` has parsed it
    if rule is LevelBudget.LEAVES:
        return (*[Fraction(0)] * height, whole)
    if rule is LevelBudget.UNIFORM:
        return divide(whole, [1] * (height + 1))
    ratio = 2 ** (1 / 2) if law is Law.GAUSSIAN else 2 ** (1 / 3)
    return divide(whole, [ratio**depth for depth in range(height + 1)])
