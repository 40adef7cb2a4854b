"""What quadtrees and kd-trees share: parameters, and the way from noisy counts to a release."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spatialdp._checks import whole_number
from spatialdp.consistency import three_pass, two_pass
from spatialdp.decomposition import Decomposition
from spatialdp.domain import Domain
from spatialdp.errors import ParameterError
from spatialdp.mechanisms.base import Mechanism
from spatialdp.mechanisms.levels import BudgetRule, LevelBudget, Measured, check_budget
from spatialdp.tree import Tree

__all__ = ["TreeMechanism", "decompose"]

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
        if not isinstance(self.consistent, bool):
            raise ParameterError(f"consistent is {self.consistent!r}; it must be True or False.")
        for name in ("prune", "stop"):
            object.__setattr__(self, name, _threshold(getattr(self, name), name))
        if self.prune is not None and not self.consistent:
            raise ParameterError("prune needs consistent=True: it compares consistent estimates with the threshold.")
        if self.stop is not None and self.budget == LevelBudget.LEAVES and self.height:
            raise ParameterError("stop needs counts above the leaves; choose another budget than 'leaves'.")

    def _decompose(self, domain: Domain, tree: Tree, measured: Measured, step: float) -> Decomposition:
        return decompose(
            domain,
            tree,
            measured,
            step=step,
            consistent=self.consistent,
            prune=self.prune,
            stopped=self.stop is not None,
        )


def _threshold(value: Any, name: str) -> float | None:
    try:
        number = None if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, str | bool) or (number is not None and not math.isfinite(number)):
        raise ParameterError(f"{name} is {value!r}; it must be a finite number of records, or None.")
    return number


def decompose(
    domain: Domain,
    tree: Tree,
    measured: Measured,
    *,
    step: float,
    consistent: bool,
    prune: float | None = None,
    stopped: bool = False,
) -> Decomposition:
    """Fit noisy counts, if asked to, and prune; reads no records.

    A tree that stopped where its noisy counts were small has kept those that came out too large: it is biased.
    """
    estimate = Decomposition(
        domain,
        tree,
        _fitted(tree, measured) if consistent else measured.values,
        measured.variances,
        measured.kurtosis,
        step=0.0 if consistent else step,
        consistent=consistent,
        biased=stopped,
    )
    return estimate if prune is None else estimate.pruned(prune)


def _fitted(tree: Tree, measured: Measured) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    by_level = measured.variances.size == tree.height + 1
    fan_outs = set(tree.fan_outs[:-1])
    if by_level and len(fan_outs) == 1 and 0 not in fan_outs and np.all(measured.variances > 0):
        levels = [measured.values[tree.level(depth)] for depth in range(tree.height + 1)]
        return np.concatenate(three_pass(levels, (1 / measured.variances).tolist(), fan_outs.pop()))
    return two_pass(tree, measured.values, measured.variances).estimates
