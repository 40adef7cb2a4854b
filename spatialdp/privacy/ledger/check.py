"""Is a ledger whole? Checks of its chain of hashes, its totals, rebuilt from the entries, and the releases it paid for.

The chain tells whether an entry was changed, removed or inserted. The totals that the store keeps are compared with
totals that are worked out from the entries alone, by the rule and not step by step. Releases tell whether the ledger is
the one that paid for them. A clock that went back is noted; the order of entries is their number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from spatialdp.errors import LedgerError
from spatialdp.privacy.ledger.books import POTS, Partition, Place, charged, parts_json, totals_json
from spatialdp.privacy.ledger.cost import Cost, Pots, in_short
from spatialdp.privacy.ledger.entries import WRONG, Entry, Kind, canonical, entry_hash, first_hash
from spatialdp.privacy.ledger.rules import UNUSED, Parts, Totals, rebuilt
from spatialdp.privacy.ledger.stores.base import Transaction
from spatialdp.privacy.ledger.terms import Terms
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.receipt import Receipt
from spatialdp.privacy.statement import Privacy

__all__ = ["Checked", "check_entries", "check_releases"]

_FORGED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, RecursionError)
_KINDS = frozenset(map(str, Kind))
_MOST_CLOCKS = 10  # that are told one by one


@dataclass(frozen=True)
class Checked:
    """A ledger that was found whole.

    Attributes
    ----------
    entries : int
        How many entries there are.
    head : Receipt or None
        The last entry; None if there is none. Whoever notes it down can tell later that nothing was taken away.
    spent : mapping of str to Pots
        What was spent from each account.
    releases : int
        How many releases were compared with their entries.
    notes : tuple of str
        What is worth knowing and no damage, such as a clock that went back.
    """

    entries: int
    head: Receipt | None
    spent: Mapping[str, Pots]
    releases: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        last = "" if self.head is None else f"; the last one is {self.head.entry}, {self.head.hash}"
        lines = [f"The ledger is whole: {self.entries:,} {'entry' if self.entries == 1 else 'entries'}{last}."]
        for account, spent in self.spent.items():
            rho = f", ρ = {in_short(spent.rho)}" if spent.rho else ""
            lines.append(f"Spent from {account!r}: ε = {in_short(spent.epsilon)}{rho}.")
        if self.releases:
            lines.append(
                f"{self.releases:,} {'release was' if self.releases == 1 else 'releases were'} paid for by it."
            )
        return "\n".join([*lines, *self.notes])


@dataclass
class _Rebuilt:
    """What the entries add up to, without the store's own table."""

    terms: dict[str, Terms] = field(default_factory=dict)
    partitions: dict[Place, Partition] = field(default_factory=dict)
    places: set[Place] = field(default_factory=set)
    # What was spent on each place as a whole, by account and pot. Amounts of one denominator are added up as they come.
    own: dict[tuple[str, str], dict[Place, dict[int, int]]] = field(default_factory=dict)

    def apply(self, kind: str, body: Mapping[str, Any]) -> None:
        """Take in one entry; one that contradicts those before it raises an error."""
        if kind == "spend":
            self._spend(body["account"], body["at"], body["charged"])
        elif kind == "open":
            _require(body["account"] not in self.terms)
            self.terms[body["account"]] = Terms.from_json(body["terms"])
            self.places.add((body["account"],))
            self.own |= {(body["account"], pot): {} for pot in POTS}
        elif kind == "limit":
            self.check_limit(body["account"])
            self.terms[body["account"]] = Terms.from_json(body["terms"])
            self.check_limit(body["account"])
        elif kind == "partition":
            self._divide((body["account"], *body["at"]), body)

    def _spend(self, account: str, at: list[list[str]], amounts: Mapping[str, str]) -> None:
        paid = [(self.own[account, pot], *_amount(amounts[pot])) for pot in POTS]
        for names in at:
            place = (account, *names)
            if place not in self.places:
                self._require_place(place)
            for own, numerator, denominator in paid:
                if numerator:
                    sums = own.setdefault(place, {})
                    sums[denominator] = sums.get(denominator, 0) + numerator

    def _require_place(self, place: Place) -> None:
        """Refuse a place that no entry before has made."""
        for length in range(len(place), 1, -2):
            _require(place[length - 1] in self.partitions[place[: length - 1]].labels)
        _require(place[:1] in self.places)
        self.places.add(place)

    def _divide(self, place: Place, body: Mapping[str, Any]) -> None:
        self._require_place(place)
        key = (*place, body["partition"])
        new = Partition.from_json(body)
        known = self.partitions.get(key, Partition((), new.person_stays))
        grown = known.grown(new)
        _require(known.person_stays == new.person_stays and len(set(grown.labels)) == len(grown.labels))
        _require(known.rule is None or new.rule in (None, known.rule))
        self.partitions[key] = grown

    def totals(self, account: str, pot: str) -> tuple[dict[Place, Totals], dict[Place, Parts]]:
        """Return the totals of all places of an account in one pot, and what is known of its partitions."""
        return rebuilt(
            {
                place: sum((Fraction(top, bottom) for bottom, top in sums.items()), Fraction(0))
                for place, sums in self.own[account, pot].items()
            }
        )

    def spent(self, account: str) -> Pots:
        """Return what was spent from an account."""
        nodes = [self.totals(account, pot)[0].get((account,), UNUSED) for pot in POTS]
        added = self.terms[account].neighbours == Neighbours.ADD_REMOVE
        return Pots(*(totals.cost if added else totals.pair for totals in nodes))

    def check_limit(self, account: str) -> None:
        """Refuse an account that spent more than its limit."""
        _require(self.spent(account).fits(self.terms[account].limit))


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError


@lru_cache(maxsize=4096)
def _amount(digits: str) -> tuple[int, int]:
    return charged(digits).as_integer_ratio()


def check_entries(transaction: Transaction) -> Checked:
    """Return what a ledger says if it is whole; a `LedgerError` says what is wrong with it."""
    books, back = _Rebuilt(), list[int]()
    seq, prev, time = 0, first_hash(transaction.ledger), ""
    for seq, entry in enumerate(transaction.entries(), 1):
        if entry.seq != seq or entry.prev != prev or entry.hash != entry_hash(seq, prev, entry.kind, entry.body):
            raise LedgerError(
                f"entry {seq} does not follow from the entries before it: it, or one before it, was changed, removed "
                "or inserted. Restore the last good copy, and check it with the releases made since."
            )
        now = _take_in(books, entry)
        if now < time:
            back.append(seq)
        prev, time = entry.hash, now
    _check_books(books, transaction)
    head = Receipt(transaction.ledger, seq, prev) if seq else None
    return Checked(seq, head, {name: books.spent(name) for name in books.terms}, notes=_clock_notes(back))


def _take_in(books: _Rebuilt, entry: Entry) -> str:
    """Bring the rebuilt books up to date; return the time of the entry."""
    try:
        _require(entry.kind in _KINDS)
        body = json.loads(entry.body)
        books.apply(entry.kind, body)
        time = body["time"]
        _require(isinstance(time, str))
    except _FORGED:
        raise LedgerError(f"entry {entry.seq} {WRONG}") from None
    return str(time)


def _check_books(books: _Rebuilt, transaction: Transaction) -> None:
    """Compare the store's table with what the entries add up to."""
    for account in books.terms:
        if not books.spent(account).fits(books.terms[account].limit):
            raise LedgerError(f"more was spent from the account {account!r} than its limit; {_DIFFERENT}")
    expected, parts = _table(books)
    for key, value in transaction.table():
        if expected.pop(key, None) != value and not _same_parts(parts.pop(key, None), value):
            raise LedgerError(f"the totals that the ledger keeps are not those of its entries; {_DIFFERENT}")
    if expected or parts:
        raise LedgerError(f"the ledger lacks some of the totals of its entries; {_DIFFERENT}")


_DIFFERENT = (
    "so the ledger was altered; restore the last good copy, and check it with the releases that were made since."
)


def _table(books: _Rebuilt) -> tuple[dict[str, str], dict[str, tuple[set[str], list[str]]]]:
    """Return what the store's table should hold: texts by key; and of partitions, the largest parts and the amounts."""
    expected = {canonical(["account", name]): canonical(terms.to_json()) for name, terms in books.terms.items()}
    for place, partition in books.partitions.items():
        expected[canonical(["partition", *place])] = canonical(partition.to_json())
    known: dict[str, tuple[set[str], list[str]]] = {}
    for account, pot in books.own:
        nodes, partitions = books.totals(account, pot)
        expected |= {canonical(["node", pot, *place]): canonical(totals_json(each)) for place, each in nodes.items()}
        labels: dict[Place, set[str]] = {key: set() for key in partitions}
        for place, totals in nodes.items():
            if len(place) > 1 and totals.cost == partitions[place[:-1]].first:
                labels[place[:-1]].add(place[-1])
        for key, parts in partitions.items():
            known[canonical(["parts", pot, *key])] = labels[key], parts_json(parts)[1:]
    return expected, known


def _same_parts(parts: tuple[set[str], list[str]] | None, value: str) -> bool:
    """Whether a text says the same of a partition; of several largest parts, it may name any."""
    try:
        label, *amounts = json.loads(value)
        return parts is not None and label in parts[0] and amounts == parts[1]
    except _FORGED:
        return False


def _clock_notes(back: list[int]) -> tuple[str, ...]:
    if not back:
        return ()
    listed = ", ".join(map(str, back[:_MOST_CLOCKS])) + (", ..." if len(back) > _MOST_CLOCKS else "")
    return (f"The clock went back before entry {listed}. The order of entries is their number.",)


def check_releases(transaction: Transaction, statements: Iterable[tuple[str, Privacy]]) -> int:
    """Compare releases with the entries that paid for them, by their statements; return how many there are.

    Raises
    ------
    LedgerError
        If a release was paid by no entry of this ledger, or by another entry than it says, or cost more.
    """
    found = [(name, _missing(transaction, statement)) for name, statement in statements]
    wrong = [f"{name} {problem}" for name, problem in found if problem]
    if wrong:
        raise LedgerError(
            f"{'; '.join(wrong)}. Leave out releases that this ledger did not pay for. If it did, it was rolled back "
            "or replaced: restore the ledger that paid for them."
        )
    return len(found)


def _missing(transaction: Transaction, statement: Privacy) -> str:
    """Return what is wrong with the entry that a release names; nothing if it paid for the release."""
    receipt = statement.ledger
    if receipt is None:
        return "was released without an account"
    if receipt.ledger != transaction.ledger:
        return f"was paid for by another ledger, {receipt.ledger}"
    entry = transaction.entry(receipt.entry)
    if entry is None or entry.hash != receipt.hash:
        return f"was paid for by entry {receipt.entry}, which {'is missing' if entry is None else 'is another one now'}"
    return "" if _pays(entry, statement) else f"costs more than entry {receipt.entry} paid, or has other terms"


def _pays(entry: Entry, statement: Privacy) -> bool:
    cost = Cost.of(statement)
    try:
        facts = entry.facts
        paid = Pots(charged(facts["cost"]["epsilon"]), charged(facts["cost"]["rho"]))
        return facts["neighbours"] == statement.neighbours and cost.pots.fits(paid)
    except _FORGED:
        return False
