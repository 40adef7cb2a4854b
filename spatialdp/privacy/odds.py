"""How sure can somebody become of one record? The odds that ε and δ allow, rounded up.

Somebody who knows everything but one record, and holds two values of it to be equally likely, does so afterwards with
odds of at most e^ε to 1: with a probability of at most e^ε / (1 + e^ε), whatever the outcome. With a δ, outcomes that
say more have a small probability, and the chance to guess right, on average over the outcomes, is at most
(e^ε + δ) / (1 + e^ε). Both must never be rounded down.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

__all__ = ["chance", "factor", "percent"]

_DIGITS = Context(prec=60)
_LARGEST = 2000  # from this ε on, the probability is 1 to all digits that are kept
_FINEST = 6  # digits of a percentage after the point


def chance(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Fraction:
    """Return an upper bound of (e^ε + δ) / (1 + e^ε), which is less than 10^-50 above it.

    It is the largest chance to guess right between two values of a record that are equally likely beforehand: with
    P and Q the laws of the release under the two and S the outcomes after which one guesses P, P(S) ≤ e^ε Q(S) + δ and
    1 - Q(S) ≤ e^ε (1 - P(S)) + δ, so that (P(S) + 1 - Q(S)) / 2 is at most this.

    Examples
    --------
    >>> float(chance(Fraction(1))), float(chance(Fraction(1), Fraction(1, 10)))
    (0.7310585786300049, 0.7579527207670044)
    """
    if epsilon >= _LARGEST:
        return Fraction(1)
    return 1 - (1 - delta) / (1 + Fraction(_exponential(epsilon)))


def percent(epsilon: Fraction, delta: Fraction = Fraction(0)) -> str:
    """Return `chance` in percent, rounded up, with up to six digits after the point to differ from 100.

    Examples
    --------
    >>> percent(Fraction(1)), percent(Fraction(1, 10)), percent(Fraction(10)), percent(Fraction(50))
    ('73.2 %', '52.5 %', '99.996 %', '100 %')
    """
    most = chance(epsilon, delta)
    for digits in range(1, _FINEST + 1):
        rounded = math.ceil(most * 100 * 10**digits)
        if rounded < 100 * 10**digits:
            return f"{rounded // 10**digits}.{rounded % 10**digits:0{digits}d} %"
    return "100 %"


def factor(epsilon: Fraction) -> str:
    """Return e^ε for people, rounded up.

    Examples
    --------
    >>> factor(Fraction(1)), factor(Fraction("13.819"))  # e^13.819 is 1,003,496
    ('2.719', '1.01e+06')
    """
    value = _exponential(epsilon)
    if value < 10**6:
        return f"{math.ceil(Fraction(value) * 1000) / 1000:,.3f}"
    return f"{Context(prec=3, rounding=ROUND_CEILING).plus(value):.2e}".replace("e+", "e+0" if value < 10**10 else "e+")


def _exponential(epsilon: Fraction) -> Decimal:
    """Return e^ε, rounded up: decimals round to the nearest, so the next larger number is an upper bound."""
    upper = Context(prec=60, rounding=ROUND_CEILING).divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return _DIGITS.next_plus(_DIGITS.exp(upper))
