"""What does a step cost an account, and in which of its two pots? Exact fractions, added up without rounding.

An account has a pot of ε for pure steps and, if it allows a δ, a pot of ρ (zCDP) for Gaussian noise. The two pots add
up: what is spent from one says nothing about the other (the proof is in ``docs/design/ledger.md``). A pure step may
also be paid in zCDP: at ε²/8 if it is a draw of the exponential mechanism, and at ε²/2 if it is any other. A cost must
never be rounded down.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.statement import Privacy
from spatialdp.wording import parameter

__all__ = ["NOTHING", "Cost", "Pots", "in_decimals", "in_short"]

_MOST_EXACT_BITS = 12_000  # of a denominator that is written out: Python writes no more than 4,300 digits


@dataclass(frozen=True, slots=True)
class Pots:
    """Amounts of the two pots of an account: what was spent, what is left, or the limits.

    Attributes
    ----------
    epsilon : Fraction
        Of the pot for pure steps.
    rho : Fraction
        Of the pot for Gaussian noise, in zCDP; 0 in an account without one.

    Examples
    --------
    >>> Pots(Fraction(1), Fraction(0)) + Pots(Fraction(1, 2), Fraction(0))
    Pots(epsilon=Fraction(3, 2), rho=Fraction(0, 1))
    """

    epsilon: Fraction
    rho: Fraction

    def __add__(self, other: Pots) -> Pots:
        return Pots(self.epsilon + other.epsilon, self.rho + other.rho)

    def __sub__(self, other: Pots) -> Pots:
        # Prepaid amounts are used up by many small steps, most of which leave one pot alone.
        epsilon = self.epsilon - other.epsilon if other.epsilon else self.epsilon
        return Pots(epsilon, self.rho - other.rho if other.rho else self.rho)

    def fits(self, limit: Pots) -> bool:
        """Whether neither amount is above the limit's; there is no tolerance."""
        return self.epsilon <= limit.epsilon and self.rho <= limit.rho

    def to_json(self, *, down: bool = False) -> dict[str, str]:
        """Return the amounts as texts: exactly, or with six digits if they have thousands of them, rounded up or down.

        Examples
        --------
        >>> Pots(Fraction(1, 3), Fraction(0)).to_json()
        {'epsilon': '1/3', 'rho': '0'}
        """
        return {name: _exact_text(getattr(self, name), down) for name in ("epsilon", "rho")}


NOTHING = Pots(Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a step, or of several: the ε of pure steps, and the ρ (zCDP) of Gaussian ones.

    Make one with `Cost.pure`, `Cost.selection`, `Cost.zcdp` or `Cost.of`. Costs add up with ``+``.

    Attributes
    ----------
    epsilon : Fraction
        ε of the pure steps.
    rho : Fraction
        ρ of the Gaussian steps.
    concentrated : Fraction
        ρ that the pure steps cost if they are paid in zCDP, too; see `in_zcdp`.

    Privacy
    -------
    Costs are public: they follow from the terms of a release, never from its records.

    Examples
    --------
    >>> Cost.pure(0.5) + Cost.zcdp(0.01)
    Cost(epsilon=1/2, rho=1/100)
    """

    epsilon: Fraction
    rho: Fraction
    concentrated: Fraction

    def __repr__(self) -> str:
        return f"Cost(epsilon={self.epsilon}, rho={self.rho})"

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.epsilon + other.epsilon, self.rho + other.rho, self.concentrated + other.concentrated)

    @classmethod
    def pure(cls, epsilon: Number) -> Cost:
        """Return the cost of a step that is ε-differentially private, such as Laplace noise.

        Examples
        --------
        >>> Cost.pure(0.1).in_zcdp()
        Cost(epsilon=0, rho=1/200)
        """
        value = _positive(epsilon, "epsilon")
        return cls(value, Fraction(0), value**2 / 2)

    @classmethod
    def selection(cls, epsilon: Number, exponential: bool) -> Cost:
        """Return the cost of a private choice; one by the exponential mechanism costs less in zCDP.

        Parameters
        ----------
        epsilon : int, float, Decimal or Fraction
        exponential : bool
            Whether the exponential mechanism draws, monotone or not. Permute-and-flip is another law, whose privacy
            loss does not lie in a range of width ε, so that ε²/8 would understate it.

        Examples
        --------
        >>> Cost.selection(1, exponential=True).in_zcdp(), Cost.selection(1, exponential=False).in_zcdp()
        (Cost(epsilon=0, rho=1/8), Cost(epsilon=0, rho=1/2))
        """
        value = _positive(epsilon, "epsilon")
        return cls(value, Fraction(0), value**2 / (8 if exponential else 2))

    @classmethod
    def zcdp(cls, rho: Number) -> Cost:
        """Return the cost of a step that is ρ-zCDP, such as Gaussian noise.

        Examples
        --------
        >>> Cost.zcdp(0.02)
        Cost(epsilon=0, rho=1/50)
        """
        return cls(Fraction(0), _positive(rho, "rho"), Fraction(0))

    @classmethod
    def of(cls, statement: Privacy) -> Cost:
        """Return the cost of a release, given its privacy statement: its ε, or the ρ that its steps spent.

        Raises
        ------
        ParameterError
            If the statement promises nothing that an account can add up: it is not private, or some totals are exact.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> Cost.of(sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.5).privacy)
        Cost(epsilon=1/2, rho=0)
        """
        _check_promise(statement)
        if statement.currency == "rho":
            return cls.zcdp(sum(statement.budget.values(), Fraction(0)))
        return cls.pure(statement.epsilon)

    def in_zcdp(self) -> Cost:
        """Return the cost if the pure steps are paid in zCDP, too: ε²/8 for exponential mechanisms, ε²/2 for others.

        Examples
        --------
        >>> (Cost.pure(0.1) + Cost.zcdp(0.02)).in_zcdp()
        Cost(epsilon=0, rho=1/40)
        """
        return Cost(Fraction(0), self.rho + self.concentrated, Fraction(0))

    @property
    def pots(self) -> Pots:
        """The amounts by themselves."""
        return Pots(self.epsilon, self.rho)


def _positive(value: Number, name: str) -> Fraction:
    amount = exact(value, name)
    if amount <= 0:
        raise BudgetError(
            f"{parameter(name)} is {value}; the cost of a step must be above 0. Give what the step spends."
        )
    return amount


def _check_promise(statement: Privacy) -> None:
    if not statement.private:
        raise ParameterError(
            "the release is not private (seeded noise or true medians), so an account cannot pay for it; release with "
            "the system's own noise, or without an account."
        )
    if statement.invariants:
        raise ParameterError(
            f"the release publishes some totals exactly, which has no cost that could be added up; release without "
            f"{parameter('invariants')}, or without an account."
        )
    if statement.currency == "epsilon" and statement.delta:
        raise ParameterError(
            f"the release has a {parameter('delta')} that is not spent on Gaussian noise, which no pot of an account "
            f"holds; release with {parameter('delta', 0)}, or without an account."
        )


def in_short(value: Fraction, *, down: bool = False) -> str:
    """Format an amount for people: exactly if it is short, else with six digits, rounded up or down.

    Examples
    --------
    >>> in_short(Fraction(1, 10)), in_short(Fraction(10**400, 3 * 10**400 + 1)), in_short(Fraction(2, 3**20), down=True)
    ('0.1', '0.333334', '5.73594E-10')
    """
    if max(value.numerator, value.denominator) < 10**6 and not _is_short_decimal(value):
        return str(value)
    return in_decimals(value, down=down)


def in_decimals(value: Fraction, *, down: bool = False) -> str:
    """Format an amount as a decimal number: exactly if it is a short one, else with six digits, rounded up or down.

    Examples
    --------
    >>> in_decimals(Fraction(1, 10)), in_decimals(Fraction(1, 3)), in_decimals(Fraction(1, 3), down=True)
    ('0.1', '0.333334', '0.333333')
    """
    if _is_short_decimal(value):
        return f"{float(value):.16g}"
    rounded = Context(prec=6, rounding=ROUND_FLOOR if down else ROUND_CEILING)
    return str(rounded.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _exact_text(value: Fraction, down: bool) -> str:
    return str(value) if value.denominator.bit_length() <= _MOST_EXACT_BITS else in_decimals(value, down=down)


def _is_short_decimal(value: Fraction) -> bool:
    return value < 10**15 and value.denominator < 10**12 and Fraction(repr(float(value))) == value
