"""In which order is a question answered? Everything public first, then payment, then records and noise.

An `Ask` is a question about which everything public is decided: what it measures, how far one record can move that, by
which law noise is drawn, and what it costs. It is made without records. `carried_out` pays for it, durably, and only
then lets it see the records and draw. So an ask is refused before it costs anything, or it is paid for and answered;
whatever fails after the payment, nothing is given back. See ``docs/design/curator.md``.

To add a question, write a subclass of `Ask` and a method of `session.Curator` that makes one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Generic, TypeVar

from spatialdp._version import __version__
from spatialdp.errors import ParameterError
from spatialdp.privacy.budget import Budget, Number
from spatialdp.privacy.ledger.account import Spender
from spatialdp.privacy.ledger.cost import Cost
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate, spendable
from spatialdp.privacy.noise.source import Noise, is_system_noise
from spatialdp.privacy.receipt import Receipt
from spatialdp.privacy.statement import Privacy
from spatialdp.privacy.unit import Person, unit_of
from spatialdp.records.formats.base import forgetful
from spatialdp.records.rows.held import HeldRecords
from spatialdp.space.domain import Domain
from spatialdp.wording import either, parameter, quoted

__all__ = ["Ask", "Frame", "Purse", "Spending", "carried_out", "law_facts"]

T = TypeVar("T")


@dataclass(frozen=True)
class Frame:
    """The public facts about a curator, which are the same for all questions.

    Attributes
    ----------
    domain : Domain
    neighbours : Neighbours
        Those of the account.
    person : Person or None
        The bound on the records of one person, if persons are the unit.
    columns : tuple of str
        The names of the columns beside the points.
    """

    domain: Domain
    neighbours: Neighbours
    person: Person | None = None
    columns: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """Whom a question protects: one ``"record"`` or one ``"person"``."""
        return unit_of(self.person)

    @property
    def records(self) -> int:
        """How many records a unit of privacy has at most."""
        return 1 if self.person is None else self.person.most

    def sensitivity(self, one_record: Sensitivity) -> Sensitivity:
        """Return how far a unit moves a sum over records, given how far one record moves it under the same relation."""
        return one_record if self.person is None else self.person.sensitivity(one_record)

    def column(self, name: str) -> str:
        """Return the name of a column; refuse one that is not beside the points."""
        if name not in self.columns:
            there = f"the columns are {quoted(list(self.columns))}" if self.columns else "there are no columns"
            raise ParameterError(
                f"{quoted(name)} is no column beside the points, where {there}; give the columns of values together "
                f"with the points: {either('Curator(Rows(points, name=values), domain, account)', 'columns')}."
            )
        return name


@dataclass(frozen=True)
class Spending:
    """What a question spends, and on noise of which law.

    Attributes
    ----------
    budget : Budget
    law : Law
        Gaussian noise needs a δ and spends ρ (zCDP), from an account with a pot for it; the others spend ε.
    """

    budget: Budget
    law: Law = Law.DISCRETE_LAPLACE

    @classmethod
    def of(cls, epsilon: Number, delta: Number = 0, law: str = Law.DISCRETE_LAPLACE) -> Spending:
        """Return what a caller wants to spend, checked."""
        try:
            return _spending(epsilon, delta, law)
        except TypeError:  # something that cannot be kept, such as a list, and is refused in words
            return _checked(epsilon, delta, law)

    @cached_property
    def amount(self) -> Fraction:
        """ε, or ρ for Gaussian noise."""
        return spendable(self.law, self.budget)

    @cached_property
    def cost(self) -> Cost:
        """What it costs an account."""
        return Cost.zcdp(self.amount) if self.law is Law.GAUSSIAN else Cost.pure(self.amount)

    def noise(self, sensitivity: Sensitivity) -> NoiseLaw:
        """Return the noise that the whole amount pays for, given how far a unit moves the measurements."""
        return _calibrated(self.law, self.amount, sensitivity)


def _checked(epsilon: Number, delta: Number, law: str) -> Spending:
    spending = Spending(Budget(epsilon, delta), Law.parse(law, "law"))
    spendable(spending.law, spending.budget)  # refuses a δ that the law does not need
    return spending


# Small questions that are prepaid ask for the same ε again and again.
_spending = lru_cache(maxsize=256, typed=True)(_checked)
_calibrated = lru_cache(maxsize=256)(calibrate)


@dataclass(frozen=True)
class Ask(ABC, Generic[T]):
    """A question about which everything public is decided. Subclasses are frozen dataclasses, too.

    Attributes
    ----------
    frame : Frame
    spending : Spending

    Notes
    -----
    Subclasses have a `name`, say with `facts` what readers of the ledger and of the statement should know, and with
    `answer` what is made of the records. `answer` alone sees records. All that it returns must depend on them through
    noise that `spending` pays for: by `NoiseLaw.add_to`, `medians` or `exponential`, where the audit takes hold.
    """

    frame: Frame
    spending: Spending
    name: ClassVar[str]

    @property
    def cost(self) -> Cost:
        """What the question costs an account."""
        return self.spending.cost

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return public parameters by name, as numbers and texts, with the law of the noise (`law_facts`).

        They are worked out before the payment, so that noise which no source draws is refused in time.
        """

    def check(self, held: HeldRecords) -> None:
        """Refuse columns whose declared type does not fit; nothing may depend on a value."""

    @abstractmethod
    def answer(self, held: HeldRecords, noise: Noise, statement: Privacy) -> T:
        """Look at the records, draw noise, and return the answer with its statement. It has been paid for."""

    def statement(self, facts: Mapping[str, Any], *, private: bool, receipt: Receipt | None) -> Privacy:
        """Return the privacy statement of the answer, given its `facts`."""
        return Privacy(
            epsilon=self.spending.budget.epsilon,
            delta=self.spending.budget.delta,
            neighbours=str(self.frame.neighbours),
            unit=self.frame.unit,
            mechanism=self.name,
            parameters=facts,
            currency="rho" if self.spending.law is Law.GAUSSIAN else "epsilon",
            budget={self.name: self.spending.amount},
            private=private,
            version=__version__,
            person=self.frame.person,
            ledger=receipt,
        )


def law_facts(law: NoiseLaw) -> dict[str, Any]:
    """Return the law of the noise and its exact parameter, for readers of the ledger.

    Examples
    --------
    >>> law_facts(NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(20, 3)))
    {'noise': 'discrete-laplace', 'scale': '20/3'}
    """
    name = "variance" if law.law is Law.GAUSSIAN else "scale"
    return {"noise": str(law.law), name: str(law.parameter)}


@dataclass(frozen=True)
class Purse:
    """Who pays for questions, and where the noise of the answers comes from.

    Attributes
    ----------
    spender : Spender
    noise : Noise
    rehearsal : bool
        Whether nothing is paid for and nothing is private; then noise may be repeatable.
    checked : bool
        Whether the noise was looked at when an amount was prepaid, and need not be for each small question.
    """

    spender: Spender
    noise: Noise
    rehearsal: bool = False
    checked: bool = False

    @property
    def private(self) -> bool:
        """Whether answers are private; an account never pays for noise that somebody can repeat."""
        if self.checked:
            return not self.rehearsal
        private = is_system_noise(self.noise)
        if not private and not self.rehearsal:
            raise ParameterError(
                f"{parameter('noise')} is {quoted(self.noise)}, which can be repeated, so that an account cannot pay "
                "for it; use Curator.rehearsal for experiments, which spends nothing and promises nothing."
            )
        return private and not self.rehearsal


def carried_out(ask: Ask[T], held: HeldRecords, purse: Purse) -> T:
    """Pay for a question, then answer it.

    Raises
    ------
    BudgetError
        If less is left; nothing is spent, and no record is looked at.
    """
    private = purse.private
    ask.check(held)
    facts = ask.facts()
    what = {"ask": ask.name, **facts}
    receipt = purse.spender.spend(ask.cost, neighbours=str(ask.frame.neighbours), unit=ask.frame.unit, what=what)
    statement = ask.statement(facts, private=private, receipt=receipt if private else None)
    return _answered(ask, held, purse.noise, statement)


@forgetful  # an error must not tell the number of records
def _answered(ask: Ask[T], held: HeldRecords, noise: Noise, statement: Privacy) -> T:
    return ask.answer(held, noise, statement)
