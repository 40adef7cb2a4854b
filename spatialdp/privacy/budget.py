"""Exact privacy budgets: how much a release may spend, and how that is divided over its steps.

A budget is a rational number, so "the parts never add up to more than the whole" is a statement about integers and not
about rounding. A float is read as it was typed (0.1 is one tenth), and the parts of a division always add up to the
whole. No other module may divide a budget in floating point. See ``docs/design/noise.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational

from spatialdp.errors import BudgetError
from spatialdp.wording import parameter, quoted

__all__ = ["Budget", "Number", "divide", "exact"]

Number = int | float | Fraction | Decimal

LARGEST_EPSILON = Fraction(1000)
SMALLEST_EPSILON = Fraction(1, 10**9)
SMALLEST_DELTA = Fraction(1, 10**300)
_SHARE_BITS = 40
_MOST_DIGITS = 400


def exact(value: Number, name: str) -> Fraction:
    """Return a number as the exact fraction that was typed; `name` is for the error message.

    Examples
    --------
    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    """
    if isinstance(value, bool) or not isinstance(value, Rational | float | Decimal):
        raise BudgetError(
            f"{parameter(name)} is {value!r} of type {type(value).__name__}; it must be a number "
            f"(int, float, decimal.Decimal or fractions.Fraction). Convert it first."
        )
    if not isinstance(value, Rational) and not Decimal(value).is_finite():
        raise BudgetError(f"{parameter(name)} is {value}; it must be finite. Give a number such as 0.1.")
    if isinstance(value, Decimal) and abs(value.adjusted()) > _MOST_DIGITS:
        raise BudgetError(
            f"{parameter(name)} is {value}; it must not be absurdly large or small. Give a number such as 0.1."
        )
    number = _as_typed(value)
    if max(abs(number.numerator), number.denominator) >= 10**_MOST_DIGITS:
        raise BudgetError(f"{parameter(name)} has more than {_MOST_DIGITS} digits; round it to fewer.")
    return number


def _as_typed(value: Number) -> Fraction:
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(value) if isinstance(value, Decimal) else Fraction(repr(float(value)))


@dataclass(frozen=True)
class Budget:
    """The privacy budget of a release: ε, and δ if the noise law needs one.

    Parameters
    ----------
    epsilon : int, float, Decimal or Fraction
        Between 1e-9 and 1000. Floats are taken as typed.
    delta : int, float, Decimal or Fraction, optional
        From 0 (pure differential privacy) up to, not including, 1.

    Raises
    ------
    BudgetError
        If a value is zero (ε), negative, NaN, infinite or out of range.

    Examples
    --------
    >>> budget = Budget(0.3)
    >>> budget.epsilon
    Fraction(3, 10)
    >>> budget.split({"medians": 1, "counts": 2})
    {'medians': Fraction(1, 10), 'counts': Fraction(1, 5)}
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "epsilon", _checked_epsilon(epsilon))
        object.__setattr__(self, "delta", _checked_delta(delta))

    def split(self, weights: Mapping[str, Number]) -> dict[str, Fraction]:
        """Divide ε over named steps in proportion to their weights.

        Examples
        --------
        >>> Budget(1).split({"lines": 3, "counts": 7})
        {'lines': Fraction(3, 10), 'counts': Fraction(7, 10)}
        """
        return dict(zip(weights, divide(self.epsilon, list(weights.values())), strict=True))

    def levels(self, weights: Sequence[Number]) -> tuple[Fraction, ...]:
        """Divide ε over levels in proportion to their weights; a level of weight 0 gets 0 and is not measured.

        Examples
        --------
        >>> Budget(0.6).levels([0, 1, 2])
        (Fraction(0, 1), Fraction(1, 5), Fraction(2, 5))
        """
        return divide(self.epsilon, weights)


def divide(whole: Fraction, weights: Sequence[Number]) -> tuple[Fraction, ...]:
    """Divide a budget in proportion to weights; the parts add up to the whole, exactly.

    Integer and Fraction weights are divided exactly. If any weight is a float (they come from roots such as 2^(1/3)),
    every share is rounded down to a multiple of whole/2^40, which keeps the noise scales short fractions, and the
    largest share also gets the remainder.

    Examples
    --------
    >>> divide(Fraction(1), [1, 2])
    (Fraction(1, 3), Fraction(2, 3))
    >>> sum(divide(Fraction(1), [1.0, 2 ** (1 / 3)]))
    Fraction(1, 1)
    """
    parts = [exact(weight, "weight") for weight in weights]
    total = sum(parts, Fraction(0))
    if min(parts, default=Fraction(-1)) < 0 or total == 0:
        raise BudgetError(
            f"weights are {quoted(list(weights))}; give at least one, none of them negative and not all zero."
        )
    shares = [part / total for part in parts]
    if any(isinstance(weight, float) for weight in weights):
        shares = [Fraction(math.floor(share * 2**_SHARE_BITS), 2**_SHARE_BITS) for share in shares]
        shares[parts.index(max(parts))] += 1 - sum(shares)
    return tuple(whole * share for share in shares)


def _checked_epsilon(epsilon: Number) -> Fraction:
    value = exact(epsilon, "epsilon")
    if not SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
        raise BudgetError(
            f"{parameter('epsilon')} is {epsilon}; it must lie between 1e-9 and 1000. "
            "Typical values are 0.01 (strong privacy) to 10 (weak)."
        )
    return value


def _checked_delta(delta: Number) -> Fraction:
    value = exact(delta, "delta")
    if value != 0 and not SMALLEST_DELTA <= value < 1:
        raise BudgetError(
            f"{parameter('delta')} is {delta}; it must be 0, or at least 1e-300 and below 1. "
            "Typical values are far below one over the size of the population, such as 1e-9."
        )
    return value
