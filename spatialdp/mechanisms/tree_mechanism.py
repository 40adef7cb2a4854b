"""What quadtrees and kd-trees share: parameters, and the way from noisy counts to a release."""

from __future__ import annotations

import math
from typing import Any

from spatialdp._support.checks import true_or_false, whole_number
from spatialdp.errors import ParameterError
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.mechanisms.base import Mechanism
from spatialdp.mechanisms.level_budgets import BudgetRule, LevelBudget, check_budget
from spatialdp.mechanisms.stopping import NoisyCounts
from spatialdp.space.domain import Domain
from spatialdp.structures.tree_levels import fitted
from spatialdp.trees.tree import Tree

__all__ = ["TreeMechanism"]

HIGHEST = 14


class TreeMechanism(Mechanism):
    """A mechanism that releases a tree; subclasses are frozen dataclasses with these parameters."""

    height: int
    budget: BudgetRule
    consistent: bool
    prune: float | None
    stop: float | None

    def _check_tree(self) -> None:
        """Read the parameters all trees share, once, and refuse what makes no tree."""
        object.__setattr__(self, "height", whole_number(self.height, "height", 0, HIGHEST))
        object.__setattr__(self, "budget", check_budget(self.budget, self.height))
        true_or_false(self.consistent, "consistent")
        for name in ("prune", "stop"):
            object.__setattr__(self, name, _threshold(getattr(self, name), name))
        if self.prune is not None and not self.consistent:
            raise ParameterError("prune needs consistent=True: it compares consistent estimates with the threshold.")
        if self.stop is not None and self.budget == LevelBudget.LEAVES and self.height:
            raise ParameterError("stop needs counts above the leaves; choose another budget than 'leaves'.")

    def _decompose(self, domain: Domain, tree: Tree, measured: NoisyCounts, step: float) -> Decomposition:
        """Fit the noisy counts of a tree that was chosen on the way, if asked to; reads no records.

        A tree that stopped where its noisy counts were small has kept those that came out too large: it is biased.
        """
        return Decomposition(
            domain,
            tree,
            fitted(tree, measured.values, measured.variances) if self.consistent else measured.values,
            measured.variances,
            measured.kurtosis,
            step=0.0 if self.consistent else step,
            consistent=self.consistent,
            biased=self.stop is not None,
        )

    def _finished(self, estimate: Decomposition) -> Decomposition:
        return estimate if self.prune is None else estimate.pruned(self.prune)


def _threshold(value: Any, name: str) -> float | None:
    try:
        number = None if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, str | bool) or (number is not None and not math.isfinite(number)):
        raise ParameterError(f"{name} is {value!r}; it must be a finite number of records, or None.")
    return number
