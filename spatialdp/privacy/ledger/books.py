"""What do the entries of a ledger add up to? Accounts with their terms, partitions, and totals of every part.

These are kept in the store's table, worked out from the entries, so that a spend does not have to read all entries.
`check` rebuilds them. A place is an account, or a part of one: the account's name, followed by the names of partitions
and the labels of parts on the way. Fractions of entries are decimal texts; totals may have long denominators and are
texts in base 16, which Python reads and writes in linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

from spatialdp._support.json_values import flag, text
from spatialdp.errors import BudgetError, LedgerError, ParameterError
from spatialdp.privacy.ledger.cost import Pots
from spatialdp.privacy.ledger.entries import Kind, canonical, stamp
from spatialdp.privacy.ledger.rules import EMPTY, UNUSED, Parts, Room, Step, Totals, spend
from spatialdp.privacy.ledger.stores.base import Table, Transaction
from spatialdp.privacy.ledger.terms import Terms, checked_name
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.receipt import Receipt
from spatialdp.wording import parameter

__all__ = [
    "DAMAGED",
    "POTS",
    "Books",
    "Partition",
    "Place",
    "charged",
    "checked_labels",
    "divide",
    "parts_json",
    "record",
    "totals_json",
]

T = TypeVar("T")

Place = tuple[str, ...]  # account, then pairs of a partition and a label

POTS = ("epsilon", "rho")
DAMAGED = (
    "the ledger holds values that spatialdp does not write, so it was damaged or altered; restore the last good copy, "
    "and check it with the releases made since."
)
_MOST_LABELS = 100_000
_MOST_BITS = 2**17  # of the denominator of a total
_CHARGED = re.compile(r"\d{1,2000}(/\d{1,2000})?")
_TOTAL = re.compile(r"[0-9a-f]{1,40000}/[0-9a-f]{1,40000}")


@dataclass(frozen=True)
class Partition:
    """The parts of a node: their labels, whether the records of a person share a part, and by which rule, if known."""

    labels: tuple[str, ...]
    person_stays: bool | None
    rule: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the partition as plain values for JSON."""
        rule = {} if self.rule is None else {"rule": self.rule}
        return {"labels": list(self.labels), "person_stays": self.person_stays, **rule}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Partition:
        """Rebuild the partition from plain values for JSON."""
        stays, rule = data["person_stays"], data.get("rule")
        labels = tuple(map(text, data["labels"]))
        return cls(labels, None if stays is None else flag(stays), None if rule is None else text(rule))

    def grown(self, new: Partition) -> Partition:
        """Return the partition with more labels, and with a rule if it had none."""
        return Partition((*self.labels, *new.labels), new.person_stays, self.rule or new.rule)


class Books:
    """The accounts, partitions and totals of a ledger, in a table of texts."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def apply(self, kind: str, body: Mapping[str, Any]) -> None:
        """Bring the books up to date with an entry; entries for readers change nothing."""
        account = body.get("account", "")
        if kind in (Kind.OPEN, Kind.LIMIT):
            self._put(body["terms"], "account", account)
        elif kind == Kind.PARTITION:
            self._divide((account, *body["at"]), body)
        elif kind == Kind.SPEND:
            for place in body["at"]:
                self._charge((account, *place), body["charged"])

    def _divide(self, place: Place, body: Mapping[str, Any]) -> None:
        """Make a partition, or add labels to one."""
        new = Partition.from_json(body)
        known = self.partition(place, body["partition"])
        grown = new if known is None else known.grown(new)
        self._put(grown.to_json(), "partition", *place, body["partition"])

    def _charge(self, place: Place, amounts: Mapping[str, str]) -> None:
        """Add amounts to what was spent on a place."""
        for pot, amount in amounts.items():
            if amount != "0":
                self._spend(place, pot, charged(amount))

    def terms(self, account: str) -> Terms | None:
        """Return the terms of an account; None if there is no such account."""
        return self._get(Terms.from_json, "account", account)

    def terms_of(self, account: str) -> Terms:
        """Return the terms of an account that was opened."""
        terms = self.terms(account)
        if terms is None:
            raise LedgerError(f"the ledger has no account {account!r} any more; use the ledger that it was opened in.")
        return terms

    def partition(self, place: Place, name: str) -> Partition | None:
        """Return a partition of a place; None if there is none of that name."""
        return self._get(Partition.from_json, "partition", *place, name)

    def totals(self, place: Place, pot: str) -> Totals:
        """Return what was spent on a place and below it, in one pot."""
        return self._get(lambda data: Totals(*map(_number, data)), "node", pot, *place) or UNUSED

    def _parts(self, key: Place, pot: str) -> Parts:
        return self._get(lambda data: Parts(text(data[0]), *map(_number, data[1:])), "parts", pot, *key) or EMPTY

    def _spend(self, place: Place, pot: str, amount: Fraction) -> None:
        places = [place[:length] for length in range(len(place), 0, -2)]  # from the part up to the account
        steps = [
            Step(part[-1], self._parts(part[:-1], pot), self.totals(above, pot)) for part, above in pairwise(places)
        ]
        nodes, partitions = spend(amount, self.totals(place, pot), steps)
        for each, totals in zip(places, nodes, strict=True):
            self._put(totals_json(totals), "node", pot, *each)
        for each, parts in zip(places[:-1], partitions, strict=True):
            self._put(parts_json(parts), "parts", pot, *each[:-1])

    def spent(self, places: Sequence[Place], neighbours: str) -> Pots:
        """Return the cost to one record of the given places; or to two, one of which replaces the other."""
        return Pots(*(self._spent(places, neighbours, pot) for pot in POTS))

    def _spent(self, places: Sequence[Place], neighbours: str, pot: str) -> Fraction:
        together = EMPTY
        for place in places:
            together = together.after(canonical(place), self.totals(place, pot))
        return together.first if neighbours == Neighbours.ADD_REMOVE else together.double

    def left(self, places: Sequence[Place], terms: Terms) -> Pots:
        """Return the most that may be spent on the given places, which are one place or parts of one partition."""
        return Pots(*(self._left(places, terms, pot) for pot in POTS))

    def _left(self, places: Sequence[Place], terms: Terms, pot: str) -> Fraction:
        limit = getattr(terms.limit, pot)
        first = places[0]
        room = Room(limit, None) if terms.neighbours == Neighbours.ADD_REMOVE else Room(None, limit)
        for length in range(1, len(first), 2):
            key, labels = first[: length + 1], {first[length + 1]}
            if length + 2 == len(first):
                labels = {place[-1] for place in places}
            parts = self._parts(key, pot)
            room = room.below(self.totals(first[:length], pot), parts, self._others(key, parts, labels, pot))
        return room.left_together([self.totals(place, pot) for place in places])

    def _others(self, key: Place, parts: Parts, labels: set[str], pot: str) -> Fraction:
        """Return the largest cost of a part that has none of the labels."""
        if len(labels) == 1 or parts.label not in labels:
            return parts.others(next(iter(labels)))
        partition = self.partition(key[:-1], key[-1])
        assert partition is not None
        outside = (self.totals((*key, label), pot).cost for label in partition.labels if label not in labels)
        return max(outside, default=Fraction(0))

    def _get(self, build: Callable[[Any], T], *key: str) -> T | None:
        """Return what the store's table has under a key; a `LedgerError` is raised if it was not written here."""
        found = self._table.get(canonical(key))
        try:
            return None if found is None else build(json.loads(found))
        except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError, RecursionError):
            raise LedgerError(DAMAGED) from None

    def _put(self, value: Any, *key: str) -> None:
        self._table.put(canonical(key), canonical(value))


def record(transaction: Transaction, kind: Kind, body: Mapping[str, Any]) -> Receipt:
    """Add an entry, with its time and who makes it, and bring the books up to date with it."""
    facts = {**stamp(), **body}
    Books(transaction).apply(kind, facts)
    return transaction.append(kind, facts)


def charged(value: object) -> Fraction:
    """Return the amount that an entry charges; it may have some more digits than what was asked for.

    Examples
    --------
    >>> charged("1/200")
    Fraction(1, 200)
    """
    digits = text(value)
    if not _CHARGED.fullmatch(digits):
        raise ValueError("not an amount")
    return Fraction(digits)


def totals_json(totals: Totals) -> list[str]:
    """Return totals as texts."""
    return [_text(totals.own), _text(totals.cost), _text(totals.pair)]


def parts_json(parts: Parts) -> list[str]:
    """Return what is known of the parts of a partition as texts."""
    return [parts.label, _text(parts.first), _text(parts.second), _text(parts.pair)]


def _text(value: Fraction) -> str:
    if value.denominator.bit_length() > _MOST_BITS:
        raise BudgetError(
            "the total of this account would have a denominator of more than 39,000 digits; spend amounts with short "
            "decimals, such as 0.1."
        )
    return f"{value.numerator:x}/{value.denominator:x}"


def _number(value: object) -> Fraction:
    digits = text(value)
    if not _TOTAL.fullmatch(digits):
        raise ValueError
    numerator, denominator = digits.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))


def checked_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of parts, checked: public names, each of them once."""
    listed = [] if isinstance(labels, str) else [checked_name(label, "labels") for label in labels]
    if not 1 <= len(listed) <= _MOST_LABELS or len(set(listed)) < len(listed):
        raise ParameterError(
            f"{parameter('labels')} must be at least one and at most {_MOST_LABELS:,} different public names of parts, "
            "in a list; give each of them once."
        )
    return tuple(listed)


def divide(transaction: Transaction, place: Place, name: str, new: Partition) -> None:
    """Make a partition, or add labels or a rule to one; nothing is written if all of it is known already."""
    books = Books(transaction)
    known = books.partition(place, name) or Partition((), new.person_stays)
    if known.person_stays != new.person_stays:
        raise ParameterError(
            f"the partition {name!r} was made with {parameter('person_stays', known.person_stays)}; that cannot be "
            "changed. Give the same, or make another partition."
        )
    if known.rule is not None and new.rule not in (None, known.rule):
        raise ParameterError(
            f"the partition {name!r} divides the records by {known.rule}, and now by {new.rule}; by two rules, a "
            "record could be in two parts, whose costs would have to be added. Give the same rule, or another name."
        )
    added = [label for label in new.labels if label not in set(known.labels)]
    rule = {} if known.rule == new.rule or new.rule is None else {"rule": new.rule}
    if added or rule:
        body = {
            "account": place[0],
            "at": list(place[1:]),
            "partition": name,
            "labels": added,
            "person_stays": new.person_stays,
            **rule,
        }
        record(transaction, Kind.PARTITION, body)
