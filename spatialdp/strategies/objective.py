"""How good is a strategy of one axis? Its mean variance; and how its weights become whole numbers.

The queries of a workload have the mean variance tr((A'A)⁻¹ G) times the variance of one measurement,
A being the strategy and G the workload's Gram matrix (``docs/design/tailored.md``). Strategies must
leave this module as whole numbers, so that measurements and sensitivities are exact. It reads no
record.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.axis_workload import AxisWorkload
from spatialdp.transforms.matrices import WindowAxis

__all__ = ["SCALE", "cells_alone", "mean_variance", "moved_shares", "rounded", "unit_variance"]

# Weights are multiples of 1/SCALE: fine enough that rounding costs well below 0.5 % of the variance.
SCALE = 1024


def mean_variance(axis: WindowAxis, workload: AxisWorkload, law: Law) -> float:
    """Mean variance of the workload's queries; 1 is the variance of one count measured with the whole budget."""
    return unit_variance(axis, law) * axis.mean_square(workload.gram(axis.size))


def unit_variance(axis: WindowAxis, law: Law) -> float:
    """Variance of each of the axis' measurements; 1 is that of one count measured with the whole budget."""
    sensitivity = axis.sensitivities[0]
    return float(sensitivity.l2_squared if law is Law.GAUSSIAN else sensitivity.l1**2)


def moved_shares(shares: Floats, caused: Floats, power: int) -> Floats:
    """Move shares of a budget towards what each of them causes; they do not add up to 1 before they are divided by it.

    Let C_g be the part of an objective that is the noise of group g, whose variance falls with the `power` of its share
    (2 for Laplace noise, 1 for Gaussian noise). At the optimum the shares are in proportion to C. Each step takes them
    to the cube root of share² C, or to the square root of share x C.

    Examples
    --------
    >>> moved_shares(np.array([0.5, 0.5]), np.array([4.0, 0.5]), 2).round(3).tolist()
    [1.0, 0.5]
    """
    return np.cbrt(shares**2 * caused) if power == 2 else np.sqrt(shares * caused)


def cells_alone(size: int) -> WindowAxis:
    """The strategy that measures every cell and no windows."""
    return WindowAxis(np.ones(size, dtype=np.int64), np.zeros((0, size), dtype=np.int64))


def rounded(weights: Floats, law: Law) -> WindowAxis:
    """The strategy [I; B] D for the windows' weights B, in whole multiples of 1/SCALE.

    A cell's own weight takes what its windows leave of the norm SCALE.
    """
    gaussian = law is Law.GAUSSIAN
    norms = np.sqrt(1 + (weights**2).sum(axis=0)) if gaussian else 1 + weights.sum(axis=0)
    exact = weights / norms * SCALE
    power = 2 if gaussian else 1
    windows = np.rint(exact).astype(np.int64)
    full = (windows**power).sum(axis=0) >= SCALE**power
    windows[:, full] = exact[:, full].astype(np.int64)  # rounded down, so that the cell itself keeps a weight
    left = SCALE**power - (windows**power).sum(axis=0)
    return WindowAxis(np.sqrt(left).astype(np.int64) if gaussian else left, windows)
