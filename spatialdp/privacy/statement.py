"""The privacy statement: what a release promises, as a value that is saved with every file of the release.

`Privacy` prints the promise in figures and in words, and is written to and read from JSON. Reading refuses a statement
that contradicts itself. A statement must hold public values alone. Words must never promise more than the numbers do:
factors and numbers are rounded up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, NoReturn

from spatialdp._support.checks import whole_number
from spatialdp._support.json_values import exact_number, exact_numbers, flag, texts, with_exact
from spatialdp._support.tables import html_table
from spatialdp._support.terminal import is_printable
from spatialdp.errors import FileFormatError, ReleaseError
from spatialdp.privacy.accounting import Promise, promise_for_records, rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.chosen import CHOICE_STEP
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.stated import StatedNoise, stated_from_json
from spatialdp.privacy.odds import factor
from spatialdp.privacy.receipt import Receipt
from spatialdp.privacy.unit import MOST, Person, unit_of
from spatialdp.wording import parameter

__all__ = ["NOT_PRIVATE", "Privacy", "listed"]

# The mark of everything that is made from a release that is not private.
NOT_PRIVATE = "NOT PRIVATE (seeded noise or true medians)"

_NAME = re.compile(r"[a-z][a-z-]{0,40}")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,40}")


@dataclass(frozen=True)
class Privacy:
    """The privacy statement of a release: what it promises, and how the budget was spent.

    Attributes
    ----------
    epsilon, delta : Fraction
        The promise: (ε, δ)-differential privacy.
    neighbours : str
        ``"add-remove"`` or ``"replace"``: which two data sets the promise compares.
    unit : str
        The unit by which neighbouring data sets differ: one ``"record"``, or all records of one ``"person"``.
    mechanism : str
        Name of the mechanism, as on the command line.
    parameters : mapping
        Public parameters of the mechanism.
    currency : str
        ``"epsilon"`` or ``"rho"`` (zCDP): the unit of the costs in `budget`.
    budget : mapping of str to Fraction
        Cost of each step.
    private : bool
        False if the noise can be reproduced (a seeded source) or the mechanism is a reference that is not private;
        then nothing is promised.
    version : str
        Version of spatialdp that made the release.
    person : Person, optional
        The bound on what one person contributes, if the unit is a person.
    invariants : tuple of str
        Levels of zones whose totals are published exactly, root first. They are outside of the promise, which then
        compares data sets with the same totals alone: this is not ε-differential privacy in the plain sense.
    ledger : Receipt, optional
        The entry of a ledger that paid for the release, if an account did.
    noise : mapping of str to StatedNoise
        Law and exact parameter of the noise of each step that draws noise; empty in files of older versions. Steps that
        choose something have laws of their own.

    Privacy
    -------
    A statement holds public values only: the budget and how it was divided, never a measured number.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> privacy = sdp.Quadtree(height=1).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.1).privacy
    >>> privacy.epsilon, privacy.neighbours, privacy.private
    (Fraction(1, 10), 'add-remove', True)
    >>> sum(privacy.budget.values()) == privacy.epsilon
    True
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: str
    unit: str
    mechanism: str
    parameters: Mapping[str, Any]
    currency: str
    budget: Mapping[str, Fraction]
    private: bool
    version: str
    person: Person | None = None
    invariants: tuple[str, ...] = ()
    ledger: Receipt | None = None
    noise: Mapping[str, StatedNoise] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", FrozenDict(self.parameters))
        object.__setattr__(self, "budget", FrozenDict(self.budget))
        object.__setattr__(self, "noise", FrozenDict(self.noise))

    def __str__(self) -> str:
        delta = f", δ = {format_exact(self.delta)}" if self.delta else ""
        whom = f"{self.neighbours} one {self.unit}{self._bounded}{self._excepted}"
        promise = f"ε = {format_exact(self.epsilon)}{delta} ({whom})"
        if not self.private:
            promise = f"{NOT_PRIVATE}, would be {promise}"
        paid = "" if self.ledger is None else f", paid by {self.ledger}"
        return f"{promise}, {self.mechanism}, spatialdp {self.version}{paid}"

    def in_words(self) -> str:
        """Return the promise in plain words.

        The factor and δ are rounded up. If single records are the unit, `for_records` says what a person with k of them
        is promised.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.5)
        >>> print(release.privacy.in_words())
        If any one record were left out or added, the probability of any outcome would change by a factor of at most
        e^ε = 1.649 (rounded up). The promise is about one record: for a person with k records, the factor grows to
        e^(kε).
        """
        if not self.private:
            return "NOT PRIVATE: the noise can be reproduced or records show through. For experiments; do not publish."
        if self.invariants:
            return self._in_words_with_invariants()
        change = "were left out or added" if self.neighbours == Neighbours.ADD_REMOVE else "had any other value"
        whom = f"one {self.unit}" if self.person is None else "one person, with all of their records,"
        return (
            f"If any {whom} {change}, the probability of any outcome would change by a factor of at most "
            f"{self._change_of_probability()}. {self._reach()}"
        )

    def _change_of_probability(self) -> str:
        delta = f", and by at most δ = {format_exact(self.delta)} on top of that" if self.delta else ""
        return f"e^ε = {factor(self.epsilon)} (rounded up){delta}"

    def _in_words_with_invariants(self) -> str:
        """The promise if some totals are published exactly."""
        totals, zone = listed(self.invariants), self.invariants[-1]
        return (
            f"This is not ε-differential privacy in the plain sense, because the {totals} totals are exact. Compared "
            f"are data sets that have the same {totals} totals: if any one record were replaced by another of the same "
            f"{zone}, the probability of any outcome would change by a factor of at most "
            f"{self._change_of_probability()}. Nothing is promised about the totals, nor about what they imply "
            "together with outside knowledge."
        )

    def _reach(self) -> str:
        """Whom the promise covers, in words."""
        if self.person is not None:
            return f"The promise is about whole persons: {self.person.in_words()}."
        delta_grows = ", and δ grows too" if self.delta else ""
        return f"The promise is about one record: for a person with k records, the factor grows to e^(kε){delta_grows}."

    @property
    def _excepted(self) -> str:
        """What is outside of the promise, as the short form of the statement shows it."""
        if not self.invariants:
            return ""
        totals = listed(self.invariants)
        return f" of the same {self.invariants[-1]}; not plain ε-DP: {totals} totals are exact"

    @property
    def _bounded(self) -> str:
        """The bound on a person's contribution, as the short form of the statement shows it."""
        return "" if self.person is None else f", {self.person.in_short()}"

    @property
    def counted(self) -> str:
        """What the estimates count, as a noun for labels: ``"records"``, ``"presences"`` or ``"persons"``.

        See `Person.counted_in_words` for what these words mean.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.5).privacy.counted
        'records'
        """
        return "records" if self.person is None else self.person.counted

    def counted_in_words(self) -> str:
        """Return what the estimates count and leave out; nothing if single records are the unit.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> points = sdp.Points([0.2, 0.7], [0.3, 0.8], person=["ann", "ann"])
        >>> terms = {"epsilon": 1, "person": sdp.Person(records=1)}
        >>> privacy = sdp.Flat(shape=(2, 2)).release(points, sdp.Domain((0, 0, 1, 1)), **terms).privacy
        >>> print(privacy.counted_in_words())
        Records above the bound were left out, and no estimate or interval makes up for them.
        """
        return "" if self.person is None else self.person.counted_in_words()

    def for_persons(self, persons: int) -> Promise:
        """Return the ε and δ that a group of persons is promised, however many records they have.

        Parameters
        ----------
        persons : int
            The number k of persons, such as those of a household. ε grows to kε, and δ as `for_records` says.

        Raises
        ------
        ReleaseError
            If single records are the unit of privacy, or if the release is not private.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> points = sdp.Points([0.2, 0.7], [0.3, 0.8], person=["ann", "ann"])
        >>> terms = {"epsilon": 0.5, "person": sdp.Person(cells=3)}
        >>> sdp.Flat(shape=(2, 2)).release(points, sdp.Domain((0, 0, 1, 1)), **terms).privacy.for_persons(4).epsilon
        Fraction(2, 1)
        """
        if self.person is None:
            raise ReleaseError(
                "this release protects single records and bounds nothing of a person, so it promises nothing to a "
                f"number of persons; ask about a number of their records, or release with {parameter('person')}."
            )
        return self._for_group(whole_number(persons, "persons", 1, MOST))

    def for_records(self, records: int) -> Promise:
        """Return the ε and δ that a person, or a group, with several records in the data is promised.

        If persons are the unit, all records of one person are promised (ε, δ) already: ask `for_persons`. The result
        here is then for k records of k different persons.

        For k records ε grows to kε. δ grows faster than k: Gaussian noise is accounted in zCDP, where ρ becomes k²ρ,
        and the result is the smallest δ that this proves at kε, rounded up. `spatialdp.budget_per_record` goes the
        other way: it says with which ε and δ to release.

        Parameters
        ----------
        records : int
            The number k of records.

        Returns
        -------
        Promise
            A named pair of fractions, `epsilon` and `delta`.

        Raises
        ------
        ReleaseError
            If the release is not private and promises nothing.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> domain = sdp.Domain((0, 0, 1, 1))
        >>> sdp.Flat(shape=(2, 2)).release([], domain, epsilon=0.5).privacy.for_records(4).epsilon
        Fraction(2, 1)
        >>> gaussian = sdp.Flat(shape=(2, 2), law="gaussian").release([], domain, epsilon=0.5, delta=1e-6)
        >>> promise = gaussian.privacy.for_records(4)
        >>> float(promise.epsilon), float(f"{float(promise.delta):.2g}")
        (2.0, 8.3e-06)
        """
        return self._for_group(records)

    def _for_group(self, units: int) -> Promise:
        """Return what several units of privacy together are promised."""
        if not self.private:
            raise ReleaseError(
                f"this release is not private, so it promises nothing, to one {self.unit} or to several; release with "
                "SystemNoise and without true medians."
            )
        if self.invariants:
            raise ReleaseError(
                f"this release publishes the {listed(self.invariants)} totals exactly, so it promises nothing about "
                f"groups of records, which can change these totals; release without {parameter('invariants')}."
            )
        spent = sum(self.budget.values(), Fraction(0)) if self.currency == "rho" else None
        return promise_for_records(Budget(self.epsilon, self.delta), spent, units)

    def _repr_html_(self) -> str:
        """The statement as a table, for notebooks."""
        unit = "ε" if self.currency == "epsilon" else "ρ (zCDP)"
        rows = [
            ("ε", format_exact(self.epsilon)),
            ("δ", format_exact(self.delta)),
            ("neighbours", f"{self.neighbours} one {self.unit}{self._bounded}{self._excepted}"),
            ("method", self.mechanism),
            *((f"parameter {name}", str(value)) for name, value in self.parameters.items() if value is not None),
            *((f"spent on {step}", f"{unit} = {format_exact(cost)}") for step, cost in self.budget.items()),
            *((f"noise of {step}", str(noise)) for step, noise in self.noise.items()),
            *([] if self.ledger is None else [("paid by", str(self.ledger))]),
            ("version", f"spatialdp {self.version}"),
        ]
        return html_table("Privacy", rows, warning="" if self.private else NOT_PRIVATE, note=self.in_words())

    def to_json(self) -> dict[str, Any]:
        """Return the statement as plain values for JSON: numbers for programs, and beside them the exact fractions.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.1)
        >>> statement = release.privacy.to_json()
        >>> statement["epsilon"], statement["epsilon_exact"]
        (0.1, '1/10')
        >>> statement["budget"], statement["budget_exact"]
        ({'counts': 0.1}, {'counts': '1/10'})
        """
        members = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "unit": self.unit,
            **({} if self.person is None else {"person": self.person.to_json()}),
            **({"invariants": list(self.invariants)} if self.invariants else {}),
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "currency": self.currency,
            "budget": self.budget,
            **({"noise": {step: noise.members for step, noise in self.noise.items()}} if self.noise else {}),
            "private": self.private,
            "version": self.version,
            **({} if self.ledger is None else {"ledger": self.ledger.to_json()}),
        }
        return with_exact(members)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Privacy:
        """Rebuild the statement that `to_json` wrote; anything else is refused.

        Files of older versions have the exact fractions alone, under the names of the numbers.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> privacy = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.1).privacy
        >>> Privacy.from_json(privacy.to_json()) == privacy
        True
        """
        try:
            neighbours, unit, mechanism, currency, version = texts(
                data, "neighbours", "unit", "mechanism", "currency", "version"
            )
            statement = cls(
                epsilon=exact_number(data, "epsilon"),
                delta=exact_number(data, "delta"),
                neighbours=neighbours,
                unit=unit,
                mechanism=mechanism,
                parameters={name: _frozen(value) for name, value in data["parameters"].items()},
                currency=currency,
                budget=exact_numbers(data, "budget"),
                private=flag(data["private"]),
                version=version,
                person=Person.from_json(data["person"]) if "person" in data else None,
                invariants=_listed_levels(data["invariants"]) if "invariants" in data else (),
                ledger=Receipt.from_json(data["ledger"]) if "ledger" in data else None,
                noise=stated_from_json(data.get("noise", {})),
            )
            statement._check()
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
            raise FileFormatError(
                "the privacy statement is incomplete, not in the expected form, or contradicts itself; "
                "the file was not written by spatialdp, or was altered. Ask for the original."
            ) from None
        return statement

    def _check(self) -> None:
        spent = sum(self.budget.values())
        names = [*self.parameters, *self.budget, *self.noise]
        sound = (
            all(isinstance(name, str) for name in names)
            and is_printable("".join([*names, *_texts(list(self.parameters.values()))]))
            and self.unit == unit_of(self.person)
            and self._says_whether_the_bound_was_chosen()
            and (not self.invariants or (self.neighbours == Neighbours.REPLACE and self.person is None))
            and (self.ledger is None or (self.private and not self.invariants))
            and self.neighbours in set(Neighbours)
            and _NAME.fullmatch(self.mechanism)
            and _VERSION.fullmatch(self.version)
            and all(cost >= 0 for cost in self.budget.values())
            and 0 < spent <= self._granted()
        )
        if not sound:
            raise ValueError

    def _says_whether_the_bound_was_chosen(self) -> bool:
        """Whether the bound is a number, and was paid for exactly if it was chosen."""
        if self.person is None:
            return CHOICE_STEP not in self.budget
        return self.person.choice is None and (self.person.chosen is not None) == (CHOICE_STEP in self.budget)

    def _granted(self) -> Fraction:
        """The most that the promise allows to be spent, in the statement's currency."""
        budget = Budget(self.epsilon, self.delta)
        return {"epsilon": lambda: budget.epsilon, "rho": lambda: rho_for(budget)}[self.currency]()


class FrozenDict(dict[str, Any]):
    """A dictionary that can be copied and pickled but not changed."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a privacy statement cannot be changed")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


def format_exact(value: Fraction) -> str:
    """Format a number for people: exactly if it is short, and otherwise rounded up to six digits."""
    if Fraction(repr(float(value))) == value:
        return f"{float(value):.16g}"
    if len(str(value)) <= 12:
        return str(value)
    return str(Context(prec=6, rounding=ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator)))


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> listed(["state"]), listed(["state", "county", "tract"])
    ('state', 'state, county and tract')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _listed_levels(value: Any) -> tuple[str, ...]:
    """Return the names of levels that JSON holds; a `ValueError` or `TypeError` is raised for anything else."""
    if not (isinstance(value, list) and value and all(isinstance(name, str) and is_printable(name) for name in value)):
        raise ValueError
    return tuple(value)


def _texts(value: Any) -> list[str]:
    """Return the texts that lie in a parameter; a `ValueError` is raised if it holds other things than numbers."""
    if isinstance(value, Mapping):
        return _texts([*value, *value.values()])
    if isinstance(value, tuple | list):
        return [text for item in value for text in _texts(item)]
    if not (value is None or isinstance(value, str | bool | int | float)):
        raise ValueError
    return [value] if isinstance(value, str) else []


def _frozen(value: Any) -> Any:
    """Turn lists, which JSON has for tuples, into tuples."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
