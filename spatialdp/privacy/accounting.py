"""How much zCDP (ρ) Gaussian noise may spend for a promise of (ε, δ).

Gaussian noise is accounted in zero-concentrated differential privacy (zCDP), which adds up over steps without loss. A
release promises (ε, δ)-DP, so `rho_for` finds the largest ρ for which ρ-zCDP implies it, by the tight conversion of
Canonne, Kamath and Steinke (The discrete Gaussian for differential privacy, 2020),

    δ = min over α > 1 of  exp((α - 1)(αρ - ε)) (1 - 1/α)^α / (α - 1),

minimised numerically. Every α gives a valid bound, so the minimum need not be exact; ρ must never be rounded up. See
``docs/design/noise.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from spatialdp.errors import BudgetError
from spatialdp.privacy.budget import Budget

__all__ = ["rho_for", "zcdp_log_delta"]

# The bound is evaluated in doubles, with a relative error of about 1e-13. Asking for slightly less than δ keeps the ρ
# that is returned on the safe side of that error.
_SAFETY = 1e-9
_SIGNIFICANT_BITS = 48


def zcdp_log_delta(rho: float, epsilon: float) -> float:
    """Return the logarithm of the smallest δ that the conversion proves for a ρ-zCDP mechanism at the given ε.

    Examples
    --------
    >>> zcdp_log_delta(0.01, 1.0) < math.log(1e-9) < zcdp_log_delta(0.02, 1.0)
    True
    """
    from scipy.optimize import minimize_scalar

    def log_delta(log_excess: float) -> float:
        excess = math.exp(log_excess)  # α - 1
        alpha = 1 + excess
        return excess * (alpha * rho - epsilon) - alpha * math.log1p(1 / excess) - log_excess

    best = minimize_scalar(log_delta, bounds=(-12.0, 25.0), method="bounded", options={"xatol": 1e-10})
    return min(0.0, float(best.fun))


@lru_cache(maxsize=1024)
def rho_for(budget: Budget) -> Fraction:
    """Return the largest ρ, rounded down, for which ρ-zCDP implies the budget's (ε, δ)-DP.

    Examples
    --------
    >>> rho = rho_for(Budget(1, 1e-9))
    >>> 0.014 < rho < 0.016
    True
    """
    if budget.delta == 0:
        raise BudgetError(
            "delta is 0; Gaussian noise needs a positive delta. "
            "Give one, such as delta=1e-9, or choose a Laplace law, which needs none."
        )
    epsilon, log_delta = float(budget.epsilon), math.log(budget.delta) - _SAFETY
    low, high = 0.0, epsilon + 1.0
    while zcdp_log_delta(high, epsilon) <= log_delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if zcdp_log_delta(middle, epsilon) <= log_delta else (low, middle)
    return _round_down(low)


def _round_down(value: float) -> Fraction:
    if value <= 0:
        raise BudgetError(
            "epsilon and delta are too small for Gaussian noise: no positive rho is allowed; raise either of them."
        )
    unit = Fraction(2) ** (math.frexp(value)[1] - _SIGNIFICANT_BITS)
    return math.floor(Fraction(value) / unit) * unit
