"""Noise laws: how much noise a measurement needs, and the variance and kurtosis of that noise.

A structure says how far one record can move its measurements; `calibrate` turns that sensitivity and a cost into a
`NoiseLaw`, which draws the noise and knows its moments. Measurements and noise are integers, in steps of a public
lattice: whole counts for the discrete laws, fractions of a count for the finely divided Laplace law. A value must not
become a double before its noise has been added. See ``docs/design/noise.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.options import Option
from spatialdp.errors import BudgetError
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.source import NARROWEST, WIDEST, WIDEST_OF_WIDE, Noise
from spatialdp.privacy.noise.wide import Wide
from spatialdp.wording import parameter

__all__ = ["Law", "NoiseLaw", "calibrate", "choice_epsilon", "laws_for", "noisy", "spendable"]

# Steps in one count of the finely divided Laplace law: fine enough that its moments agree with the continuous law's to
# seven digits at ε = 1, coarse enough for exact doubles.
FINE_STEPS = 1024

_BLOCK = 2**15  # numbers that are added up at a time
# From this rate (1 / scale) on, variance and kurtosis are taken as 0: the variance is below 1e-129.
_NEGLIGIBLE = 300.0


class Law(Option):
    """The shape of the noise: discrete Laplace, finely divided Laplace, or discrete Gaussian."""

    DISCRETE_LAPLACE = "discrete-laplace"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True)
class NoiseLaw:
    """One noise distribution: a law, its parameter, and the lattice that it is drawn on.

    Attributes
    ----------
    law : Law
    parameter : Fraction
        Scale (Laplace laws) or variance parameter (Gaussian), in steps.
    steps : int
        Steps of the lattice in one count; a power of two.
    counted : int
        Steps in one count of what the noise is added to; `steps` is a multiple of it. Records are counted in whole
        counts, shares of persons in fractions.
    """

    law: Law
    parameter: Fraction
    steps: int = 1
    counted: int = 1

    def __post_init__(self) -> None:
        widest = WIDEST_OF_WIDE ** (2 if self.law is Law.GAUSSIAN else 1)
        if not NARROWEST <= self.parameter <= widest:
            raise BudgetError(
                f"the budget requires {self.law} noise of parameter {float(self.parameter):.3g}; it must lie between "
                f"1e-6 and {widest:.3g}. Choose another {parameter('epsilon')}, or another {parameter('law')}."
            )

    def add_to(self, counts: Integers | Wide, noise: Noise) -> Floats:
        """Return the counts with noise added.

        The sum of integers is exact, and so is the division by a power of two. Wide sums are exact too, and are rounded
        to doubles only when the noise is in them.
        """
        gaussian = self.law is Law.GAUSSIAN
        if not isinstance(counts, Wide):
            if self.parameter <= WIDEST ** (2 if gaussian else 1):
                draw = noise.gaussian if gaussian else noise.laplace
                return self._in_counts(counts, draw(self.parameter, counts.shape))
            # The noise needs wide integers, so the counts become wide first: a product that wraps around in 64 bits is
            # harmless only if the noise wraps around with it.
            counts = Wide.shifted(counts, (self.steps // self.counted).bit_length() - 1)
        draw_wide = noise.wide_gaussian if gaussian else noise.wide_laplace
        return (counts + draw_wide(self.parameter, counts.shape)).floats() / self.steps

    def _in_counts(self, counts: Integers, drawn: Integers) -> Floats:
        """Return counts plus noise in steps, as numbers in counts, which take the place of the noise.

        Block by block, so that the sums of large tables never leave the processor's cache before they are doubles.
        """
        finer = self.steps // self.counted
        result = drawn.view(np.float64)
        if not counts.flags.c_contiguous:
            counts = np.ascontiguousarray(counts)
        exact, noise, numbers = counts.reshape(-1), drawn.reshape(-1), result.reshape(-1)
        for start in range(0, numbers.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            whole = noise[part] + (exact[part] if finer == 1 else exact[part] * finer)
            numbers[part] = whole if self.steps == 1 else whole / self.steps
        return result

    @property
    def step(self) -> float:
        """Spacing of the lattice, in counts."""
        return 1 / self.steps

    @cached_property
    def variance(self) -> float:
        """Exact variance of the drawn noise, in counts squared."""
        return self._moments[0] / self.steps**2

    @cached_property
    def kurtosis(self) -> float:
        """Excess kurtosis of the drawn noise."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if self.law is Law.GAUSSIAN:
            return _gaussian_moments(float(self.parameter))
        rate = float(1 / self.parameter)
        if rate > _NEGLIGIBLE:
            return 0.0, 0.0
        return 0.5 / math.sinh(rate / 2) ** 2, 2 + math.cosh(rate)


def spendable(law: Law, budget: Budget) -> Fraction:
    """Return the amount of a budget that a law can spend: ε itself, or ρ for Gaussian noise."""
    if law is Law.GAUSSIAN:
        return rho_for(budget)
    if budget.delta:
        raise BudgetError(
            f"{parameter('delta')} is {float(budget.delta):g}, but {law} noise is purely epsilon-private and would not "
            f"use it. Leave {parameter('delta')} out, or choose the gaussian law."
        )
    return budget.epsilon


def choice_epsilon(law: Law, cost: Fraction) -> Fraction:
    """Return the ε of an exponential mechanism that costs no more than `cost`: ε itself, or ρ for Gaussian noise.

    An exponential mechanism of ε costs ε²/8 of ρ, so its ε is √(8ρ), rounded down to a multiple of 2^-40.

    Examples
    --------
    >>> choice_epsilon(Law.GAUSSIAN, Fraction(1, 200))
    Fraction(219902325555, 1099511627776)
    """
    return Fraction(math.isqrt(math.floor(8 * cost * 2**80)), 2**40) if law is Law.GAUSSIAN else cost


def calibrate(law: Law, cost: Fraction, sensitivity: Sensitivity) -> NoiseLaw:
    """Return the noise law with the least noise that costs no more than `cost` (ε, or ρ for Gaussian noise).

    Examples
    --------
    >>> calibrate(Law.DISCRETE_LAPLACE, Fraction(1, 10), Sensitivity(l1=1, l2_squared=1)).parameter
    Fraction(10, 1)
    """
    counted = sensitivity.steps
    if law is Law.GAUSSIAN:
        return NoiseLaw(law, Fraction(sensitivity.l2_squared) / (2 * cost), counted, counted)
    # A measurement that one record moves by 1024 steps or more is on a fine lattice already.
    finer = FINE_STEPS if law is Law.LAPLACE and sensitivity.l1 < FINE_STEPS else 1
    return NoiseLaw(law, finer * sensitivity.l1 / cost, finer * counted, counted)


def _gaussian_weights(variance: float) -> tuple[Floats, Floats]:
    # From a variance of 10^4 on, moments of the sum and of the integral agree to all digits: a coarser lattice will do.
    stride = max(1.0, math.sqrt(variance) / 100)
    reach = math.ceil(40 * math.sqrt(variance) / stride) + 2
    values: Floats = np.arange(-reach, reach + 1, dtype=np.float64) * stride
    weights: Floats = np.exp(-(values**2) / (2 * variance))
    return values, weights / weights.sum()


@lru_cache(maxsize=128)
def _gaussian_moments(variance: float) -> tuple[float, float]:
    values, weights = _gaussian_weights(variance)
    second = float(values**2 @ weights)
    if second < 1e-150:  # its square would underflow to 0
        return 0.0, 0.0
    return second, max(0.0, float(values**4 @ weights) / second**2 - 3)


def laws_for(law: Law, costs: Sequence[Fraction], sensitivities: Sequence[Sensitivity]) -> tuple[NoiseLaw | None, ...]:
    """Return the noise law of each group of measurements; None for a group of cost 0, which is not measured."""
    pairs = zip(costs, sensitivities, strict=True)
    return tuple(calibrate(law, cost, sensitivity) if cost else None for cost, sensitivity in pairs)


def noisy(exact: Integers | Wide, law: NoiseLaw | None, noise: Noise) -> Floats:
    """Return a group of measurements with noise added; zeros if it has no law, and the values are then not read."""
    return np.zeros(exact.shape) if law is None else law.add_to(exact, noise)
