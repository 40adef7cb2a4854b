"""How much zCDP (ρ) Gaussian noise may spend for a promise of (ε, δ), and what k records of one person are promised.

Gaussian noise is accounted in zero-concentrated differential privacy (zCDP), which adds up over steps without loss. A
release promises (ε, δ)-DP, so `rho_for` finds the largest ρ for which ρ-zCDP implies it, by the tight conversion of
Canonne, Kamath and Steinke (The discrete Gaussian for differential privacy, 2020),

    δ = min over α > 1 of  exp((α - 1)(αρ - ε)) (1 - 1/α)^α / (α - 1),

minimised numerically. Every α gives a valid bound, so the minimum need not be exact; ρ must never be rounded up. See
``docs/design/noise.md``.

A person with k records is k steps from a data set without them. Then ε becomes kε and ρ becomes k²ρ (Bun and Steinke,
Concentrated differential privacy, 2016), and (ε, δ) alone gives (kε, δ (e^(kε) - 1) / (e^ε - 1)). δ must never be
rounded down.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from spatialdp._support.checks import whole_number
from spatialdp.errors import BudgetError
from spatialdp.privacy.budget import SMALLEST_DELTA, Budget, Number
from spatialdp.wording import parameter

__all__ = ["Promise", "budget_per_record", "promise_for_records", "rho_for", "zcdp_log_delta"]

# The bound is evaluated in doubles, with a relative error of about 1e-13. Asking for slightly less than δ keeps the ρ
# that is returned on the safe side of that error.
_SAFETY = 1e-9
_SIGNIFICANT_BITS = 48
_MOST_RECORDS = 10**9  # of one person


class Promise(NamedTuple):
    """A promise of (ε, δ)-differential privacy; with δ = 1 nothing is promised."""

    epsilon: Fraction
    delta: Fraction


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
            f"{parameter('delta')} is 0; Gaussian noise needs a positive {parameter('delta')}. "
            f"Give one, such as {parameter('delta', 1e-9)}, or choose a Laplace law, which needs none."
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
            f"{parameter('epsilon')} and {parameter('delta')} are too small for Gaussian noise: no positive rho is "
            "allowed; raise either of them."
        )
    unit = Fraction(2) ** (math.frexp(value)[1] - _SIGNIFICANT_BITS)
    return math.floor(Fraction(value) / unit) * unit


def promise_for_records(budget: Budget, rho: Fraction | None, records: int) -> Promise:
    """Return what the promise to one record means for a person with several records: (kε, δ'), δ' rounded up.

    Parameters
    ----------
    budget : Budget
        The promise to one record.
    rho : Fraction, optional
        What was spent, if it is accounted in zCDP: then δ' is the smallest that k²ρ-zCDP proves at kε.
    records : int
        The number k of records.

    Examples
    --------
    >>> promise_for_records(Budget(0.5), None, 4)
    Promise(epsilon=Fraction(2, 1), delta=Fraction(0, 1))
    >>> budget = Budget(1, 1e-6)
    >>> [float(f"{float(promise_for_records(budget, rho, 4).delta):.2g}") for rho in (None, rho_for(budget))]
    [3.1e-05, 1.6e-05]
    """
    count = whole_number(records, "records", 1, _MOST_RECORDS)
    epsilon = count * budget.epsilon
    if count == 1 or not budget.delta:
        return Promise(epsilon, budget.delta)
    log_delta = math.log(budget.delta) + _log_expm1(epsilon) - _log_expm1(budget.epsilon)
    if rho is not None:
        log_delta = min(log_delta, zcdp_log_delta(float(count**2 * rho), float(epsilon)))
    return Promise(epsilon, min(Fraction(1), max(budget.delta, Fraction(math.exp(min(0.0, log_delta + _SAFETY))))))


def _log_expm1(value: Fraction) -> float:
    """Return log(e^value - 1), also where e^value is not a double."""
    return math.log(math.expm1(value)) if value < 30 else float(value) + math.log1p(-math.exp(-float(value)))


def budget_per_record(epsilon: Number, delta: Number = 0, *, records: int) -> Budget:
    """Return the ε and δ for one record with which a person with `records` records is promised (`epsilon`, `delta`).

    ε is divided by the number k of records. For Gaussian noise, δ has to become smaller too: dividing ε alone would
    leave the person with a δ several times as large as promised. The result leaves Gaussian noise 1/k² of the zCDP
    that (`epsilon`, `delta`) allows.

    If the records say who they are about, release with ``person=`` instead (`Person`). The bound is then enforced, so
    that the promise also holds for a person with more records than expected, and a bound on cells needs less Gaussian
    noise. This function is for records that do not say so; you must know that nobody has more than `records` of them.

    Parameters
    ----------
    epsilon, delta : int, float, Decimal or Fraction
        The promise to a person. A `delta` above 0 is for Gaussian noise.
    records : int
        The largest number of records that a person can have; public, never taken from the records.

    Returns
    -------
    Budget
        Give its `epsilon` and `delta` to `release`.

    Raises
    ------
    BudgetError
        If a value is out of range, or so small that no noise is wide enough.

    Privacy
    -------
    No record is read. `Privacy.for_records` says what a release with this budget promises to a person.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> sdp.budget_per_record(1, records=10)
    Budget(epsilon=Fraction(1, 10), delta=Fraction(0, 1))
    >>> budget = sdp.budget_per_record(1, 1e-6, records=10)
    >>> float(budget.epsilon), float(f"{float(budget.delta):.2g}")
    (0.1, 6.4e-08)
    """
    count = whole_number(records, "records", 1, _MOST_RECORDS)
    person = Budget(epsilon, delta)
    share = person.epsilon / count
    if count == 1 or not person.delta:
        return Budget(share, person.delta)
    allowed = rho_for(person) / count**2
    smaller = math.exp(zcdp_log_delta(float(allowed), float(share)))
    if smaller < SMALLEST_DELTA:
        raise BudgetError(
            f"{parameter('delta')} is {float(person.delta):g} for {count} records, so that less than 1e-300 is left "
            f"for one record; give a larger {parameter('delta')}, or choose a Laplace law, which needs none."
        )
    return Budget(share, _round_down(min(smaller, float(person.delta))))  # `rho_for` asks for slightly less still
