"""What quadtrees and kd-trees share: parameters, and the way from noisy counts to a release."""

from __future__ import annotations

import numpy as np

from spatialdp.consistency import three_pass, two_pass
from spatialdp.decomposition import Decomposition
from spatialdp.domain import Domain
from spatialdp.errors import ParameterError
from spatialdp.mechanisms.levels import Measured
from spatialdp.tree import Tree

__all__ = ["check_tree_options", "decompose"]

HIGHEST = 14


def check_tree_options(height: int, prune: float | None, stop: float | None, *, consistent: bool) -> None:
    """Refuse public parameters that make no tree."""
    if isinstance(height, bool) or not isinstance(height, int | np.integer) or not 0 <= height <= HIGHEST:
        raise ParameterError(f"height is {height!r}; it must be a whole number from 0 to {HIGHEST}.")
    for name, threshold in (("prune", prune), ("stop", stop)):
        if threshold is not None and not np.isfinite(threshold):
            raise ParameterError(f"{name} is {threshold}; it must be a finite number of records, or None.")
    if prune is not None and not consistent:
        raise ParameterError("prune needs consistent=True: it compares consistent estimates with the threshold.")


def decompose(
    domain: Domain, tree: Tree, measured: Measured, *, step: float, consistent: bool, prune: float | None
) -> Decomposition:
    """Fit noisy counts, if asked to, and prune; reads no records."""
    values = _fitted(tree, measured) if consistent else measured.values
    estimate = Decomposition(
        domain, tree, values, measured.variances, measured.kurtosis, 0.0 if consistent else step, consistent
    )
    return estimate if prune is None else estimate.pruned(prune)


def _fitted(tree: Tree, measured: Measured) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    by_level = measured.variances.size == tree.height + 1
    fan_outs = set(tree.fan_outs[:-1])
    if by_level and len(fan_outs) == 1 and 0 not in fan_outs and np.all(measured.variances > 0):
        levels = [measured.values[tree.level(depth)] for depth in range(tree.height + 1)]
        return np.concatenate(three_pass(levels, (1 / measured.variances).tolist(), fan_outs.pop()))
    return two_pass(tree, measured.values, measured.variances).estimates
