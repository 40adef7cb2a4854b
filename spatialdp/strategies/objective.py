"""How good a strategy of one axis is, and how its weights become whole numbers.

All queries of a workload have the mean variance tr((A'A)⁻¹ G) times that of one measurement, A being the strategy and G
the workload's Gram matrix.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.axis_workload import AxisWorkload
from spatialdp.transforms.matrices import WindowAxis

__all__ = ["SCALE", "cells_alone", "mean_variance", "rounded", "unit_variance"]

# Weights are multiples of 1/SCALE: fine enough that rounding costs well below 0.5 % of the variance.
SCALE = 1024


def mean_variance(axis: WindowAxis, workload: AxisWorkload, law: Law) -> float:
    """Mean variance of the workload's queries, in units of that of a single count measured with the whole budget."""
    return unit_variance(axis, law) * axis.mean_square(workload.gram(axis.size))


def unit_variance(axis: WindowAxis, law: Law) -> float:
    """Variance of the axis' measurements, in units of that of a single count measured with the whole budget."""
    sensitivity = axis.sensitivities[0]
    return float(sensitivity.l2_squared if law is Law.GAUSSIAN else sensitivity.l1**2)


def cells_alone(size: int) -> WindowAxis:
    """The strategy without windows."""
    return WindowAxis(np.ones(size, dtype=np.int64), np.zeros((0, size), dtype=np.int64))


def rounded(weights: Floats, law: Law) -> WindowAxis:
    """[I; B] D in whole multiples of 1/SCALE; a cell's own weight takes what its windows leave of a norm of SCALE."""
    gaussian = law is Law.GAUSSIAN
    norms = np.sqrt(1 + (weights**2).sum(axis=0)) if gaussian else 1 + weights.sum(axis=0)
    exact = weights / norms * SCALE
    power = 2 if gaussian else 1
    windows = np.rint(exact).astype(np.int64)
    full = (windows**power).sum(axis=0) >= SCALE**power
    windows[:, full] = exact[:, full].astype(np.int64)  # rounded down, something is always left
    left = SCALE**power - (windows**power).sum(axis=0)
    return WindowAxis(np.sqrt(left).astype(np.int64) if gaussian else left, windows)
