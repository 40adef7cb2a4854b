"""What do quadtrees and kd-trees share? Their parameters, and the way from noisy counts to a release.

Everything after the noisy counts (fit, pruning) must read released values only.
"""

from __future__ import annotations

import math
from typing import Any

from spatialdp._support.checks import true_or_false, whole_number
from spatialdp.errors import ParameterError
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.mechanisms.base import Mechanism
from spatialdp.mechanisms.level_budgets import BudgetRule, LevelBudget, check_budget
from spatialdp.mechanisms.stopping import NoisyCounts
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.domain import Domain
from spatialdp.structures.tree_levels import fitted
from spatialdp.wording import either, parameter, quoted

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
        """Check the parameters that all trees share."""
        object.__setattr__(self, "height", whole_number(self.height, "height", 0, HIGHEST))
        object.__setattr__(self, "budget", check_budget(self.budget, self.height))
        true_or_false(self.consistent, "consistent")
        for name in ("prune", "stop"):
            object.__setattr__(self, name, _threshold(getattr(self, name), name))
        if self.prune is not None and not self.consistent:
            raise ParameterError(
                f"{parameter('prune')} is {self.prune} and {parameter('consistent', False)}, but only consistent "
                f"estimates are compared with the threshold; use {parameter('consistent', True)}, or leave "
                f"{parameter('prune')} out."
            )
        if self.stop is not None and self.budget == LevelBudget.LEAVES and self.height:
            raise ParameterError(
                f"{parameter('stop')} is {self.stop} and {parameter('budget')} is 'leaves', but "
                f"{parameter('stop')} needs counts above the leaves; choose another {parameter('budget')}, or leave "
                f"{parameter('stop')} out."
            )

    def _decompose(self, domain: Domain, tree: Tree, counts: NoisyCounts, step: float) -> Decomposition:
        """The estimate on a tree that was chosen while it was counted, fitted if `consistent`; reads no records.

        With `stop` the estimate is biased: nodes are divided more often where their noise was large.
        """
        return Decomposition(
            domain,
            tree,
            fitted(tree, counts.values, counts.variances) if self.consistent else counts.values,
            counts.variances,
            counts.kurtosis,
            step=step,
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
        raise ParameterError(
            f"{parameter(name)} is {quoted(value)}; it must be a finite number of records, or "
            f"{either('None', 'left out')}."
        )
    return number
