"""The terms of an account: its limits, whom it protects, and how much it is charged for a step, in its own unit.

A limit of (ε, δ) becomes two pots, of ε and of ρ (zCDP), when the account is opened; the division must not follow from
answers. Names of accounts and parts are public by declaration.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from spatialdp._support.checks import whole_number
from spatialdp._support.json_values import fraction, texts, whole
from spatialdp._support.terminal import is_printable
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget, Number, exact
from spatialdp.privacy.ledger.cost import Cost, Pots, in_short
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.unit import MOST
from spatialdp.wording import parameter, quoted

__all__ = ["UNITS", "Terms", "agreed", "charge", "checked_name", "checked_stays"]

UNITS = ("record", "person")
_LONGEST_NAME = 200
_MOST_BITS = 6400  # of the denominator of a cost


@dataclass(frozen=True)
class Terms:
    """The terms of an account: what its limits promise, to whom, and what lies in its pots."""

    epsilon: Fraction
    delta: Fraction
    pure: Fraction
    rho: Fraction
    neighbours: str
    unit: str
    records: int | None
    about: str = ""

    @property
    def limit(self) -> Pots:
        """What the pots held at the start."""
        return Pots(self.pure, self.rho)

    def with_limit(self, epsilon: Number | None, delta: Number | None, pure: Number | None) -> Terms:
        """Return the terms with another limit; what is not given stays."""
        new_delta = self.delta if delta is None else delta
        same = self.pure if self.delta and new_delta else None
        limit = (self.epsilon if epsilon is None else epsilon, new_delta, same if pure is None else pure)
        return agreed(*limit, self.neighbours, self.unit, self.records, self.about)

    def check_same(self, terms: Terms, account: str) -> None:
        """Refuse terms that are not those of the account; words about it may be left out."""
        old, new = self.to_json(), terms.to_json()
        compared = set(new) - {"rho"} - ({"about"} if not terms.about else set())
        if not self.delta and not terms.delta:
            compared.remove("pure")  # which is all of ε
        different = sorted(name for name in compared if old[name] != new[name])
        if different:
            listed = " and ".join(f"{parameter(name, old[name])}, not {quoted(new[name])}" for name in different)
            raise ParameterError(
                f"the account {account!r} exists and has {listed}; give the terms that it has, or get it by its name "
                "alone."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the terms as plain values for JSON; fractions as exact texts."""
        return {name: str(value) if isinstance(value, Fraction) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Terms:
        """Rebuild the terms that `to_json` wrote; a `ValueError`, `TypeError` or `KeyError` is raised for others."""
        amounts = {name: fraction(data[name]) for name in ("epsilon", "delta", "pure", "rho")}
        neighbours, unit, about = texts(data, "neighbours", "unit", "about")
        if neighbours not in set(Neighbours) or unit not in UNITS:
            raise ValueError("not the terms of an account")
        records = None if data["records"] is None and unit == "person" else whole(data["records"], 1, MOST)
        return cls(**amounts, neighbours=neighbours, unit=unit, records=records, about=about)


def agreed(
    epsilon: Number, delta: Number, pure: Number | None, neighbours: str, unit: str, records: int | None, about: str
) -> Terms:
    """Return the terms of an account, checked."""
    limit = Budget(epsilon, delta)
    share = _pure(limit, pure)
    rest = Budget(limit.epsilon - share, limit.delta) if limit.delta else None
    if unit not in UNITS:
        raise ParameterError(f"{parameter('unit')} is {quoted(unit)}; it must be 'record' or 'person'.")
    number = _records(unit, records)
    relation = str(Neighbours.parse(neighbours, "neighbours"))
    words = checked_name(about, "about") if about else ""
    rho = rho_for(rest) if rest else limit.delta
    return Terms(limit.epsilon, limit.delta, share, rho, relation, unit, number, words)


def _records(unit: str, records: int | None) -> int | None:
    """Return the most records of a person; 1 if records are the unit, and None if nothing is declared."""
    number = None if records is None else whole_number(records, "records", 1, MOST)
    if unit == "person":
        return number
    if number not in (None, 1):
        raise ParameterError(
            f"{parameter('records')} is {number}, but the account protects single records; give "
            f"{parameter('unit', 'person')}, or leave {parameter('records')} out."
        )
    return 1


def _pure(limit: Budget, pure: Number | None) -> Fraction:
    """Return the pot for pure steps: all of ε, unless there is a δ."""
    if not limit.delta:
        if pure is not None and exact(pure, "pure") != limit.epsilon:
            raise ParameterError(
                f"{parameter('pure')} is {quoted(pure)}, but without a {parameter('delta')} all of "
                f"{parameter('epsilon')} is for pure steps; leave it out, or give a {parameter('delta')}."
            )
        return limit.epsilon
    share = exact(pure, "pure") if pure is not None else Fraction(-1)
    if not 0 <= share < limit.epsilon:
        raise ParameterError(
            f"{parameter('pure')} is {quoted(pure)}; with a {parameter('delta')}, {parameter('epsilon')} is divided "
            f"once and for all. Give the part that is for pure steps, from 0 to below {in_short(limit.epsilon)}; the "
            "rest is for Gaussian noise."
        )
    return share


def charge(cost: Cost, unit: str, neighbours: str, terms: Terms, *, stays: bool) -> Pots:
    """Return what a step costs an account in the account's own unit.

    A person with k records changes k records: k ε, and k² ρ for zCDP. A step that protects whole persons costs its ε
    once; but if a person may have records in several parts, a step in each of these parts moves with the same person,
    who has records in k parts at most, so that each costs k times as much.
    """
    if neighbours != terms.neighbours:
        raise ParameterError(
            f"{parameter('neighbours')} is {quoted(neighbours)}, but the account compares data sets by "
            f"{terms.neighbours!r}; release with {parameter('neighbours', terms.neighbours)}."
        )
    if unit not in UNITS:
        raise ParameterError(f"{parameter('unit')} is {quoted(unit)}; it must be 'record' or 'person'.")
    if terms.unit == "record" and unit == "person":
        raise ParameterError(
            "the account protects single records, but the release protects persons, and adding a record to a person is "
            f"not adding a person; release without {parameter('person')}, or open an account of persons."
        )
    if max(cost.epsilon.denominator, cost.rho.denominator).bit_length() > _MOST_BITS:
        raise BudgetError("the cost has a denominator of more than 1,900 digits; spend amounts with short decimals.")
    if terms.unit == "record" or (unit == "person" and stays):
        return cost.pots
    if terms.records is None:
        raise ParameterError(
            "the account protects persons and does not say how many records a person may have, so it cannot pay for a "
            f"release that protects single records; release with {parameter('person')}, or open an account with "
            f"{parameter('records')}."
        )
    more = 1 if unit == "person" else terms.records
    return Pots(terms.records * cost.epsilon, more * terms.records * cost.rho)


def checked_stays(person_stays: bool | None, terms: Terms) -> bool | None:
    """Return whether all records of a person share a part; refuse a partition that an account cannot have."""
    if terms.unit == "record" and person_stays is not None:
        raise ParameterError(
            f"{parameter('person_stays')} is {quoted(person_stays)}, but the account protects single records, each "
            "of which is in one part; leave it out."
        )
    if terms.unit == "person" and not isinstance(person_stays, bool):
        raise ParameterError(
            f"{parameter('person_stays')} is {quoted(person_stays)}, but must be known in an account of persons. "
            f"Give {parameter('person_stays', True)} if all records of a person are in one part, and "
            f"{parameter('person_stays', False)} if they may be in several parts and {parameter('records')} of the "
            f"account bounds all of them together. If it bounds those in each part by itself, such as a month, "
            "parts add up: make no partition, and spend on the account."
        )
    if person_stays is False and terms.records is None:
        raise ParameterError(
            f"{parameter('person_stays')} is {quoted(person_stays)}, but the account does not say how many records "
            f"a person may have, which bounds the number of parts that a person is in; open an account with "
            f"{parameter('records')}, or make no partition."
        )
    return person_stays


def checked_name(name: object, what: str) -> str:
    """Return a name that is public, printable and in one form of Unicode; `what` names the parameter."""
    text = unicodedata.normalize("NFC", name) if isinstance(name, str) else ""
    if not text.strip() or text != text.strip() or len(text) > _LONGEST_NAME or not is_printable(text):
        raise ParameterError(
            f"{parameter(what)} is {quoted(name)}; names are texts of 1 to {_LONGEST_NAME} printable characters, and "
            "neither start nor end with a blank. They are public: choose one that says nothing about a record."
        )
    return text
