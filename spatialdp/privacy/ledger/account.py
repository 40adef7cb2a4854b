"""What may still be spent on these records, and what pays for it? An account of a ledger, or a part of one.

Whoever spends asks twice: `check` refuses what is public before a record is read, and `spend` pays, durably, before
noise is drawn. What is paid is never given back, whatever happens afterwards: whether a step failed may depend on
records. See ``docs/design/ledger.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Protocol, TypeVar, runtime_checkable

from spatialdp._support.tables import html_table
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.ledger.books import Books, Partition, Place, checked_labels, divide, record
from spatialdp.privacy.ledger.cost import Cost, Pots, in_short
from spatialdp.privacy.ledger.entries import Entry, Kind, checked_facts
from spatialdp.privacy.ledger.prepaid import Prepaid
from spatialdp.privacy.ledger.stores.base import Transaction
from spatialdp.privacy.ledger.terms import Terms, charge, checked_name, checked_stays
from spatialdp.privacy.receipt import Receipt
from spatialdp.wording import either, parameter, quoted

__all__ = ["Account", "Keeper", "Spender"]

T = TypeVar("T")

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Keeper(Protocol):
    """Keeps a ledger: carries out functions on it, and writes its witness."""

    def change(self, function: Callable[[Transaction], T]) -> T:
        """Carry out a function that may change the ledger; what it did is durable on return."""

    def read(self, function: Callable[[Transaction], T]) -> T:
        """Carry out a function that changes nothing."""


@runtime_checkable
class Spender(Protocol):
    """Pays for a step: an account, a part of one, or an amount that was paid beforehand."""

    @property
    def account(self) -> Account:
        """The account that pays in the end."""

    @property
    def neighbours(self) -> str:
        """Which pairs of data sets its promise compares."""

    @property
    def unit(self) -> str:
        """Whom its promise protects: one ``"record"`` or one ``"person"``."""

    def check(self, cost: Cost, *, neighbours: str, unit: str) -> None:
        """Refuse a step that could not be paid for now; nothing is written."""

    def spend(self, cost: Cost, *, neighbours: str, unit: str, what: Mapping[str, Any]) -> Receipt:
        """Pay for a step."""


class Account:
    """What was spent on one set of records, or on a part of it, and how much may still be spent.

    `Ledger.open` and `Ledger.account` make accounts, and `Account.part` makes parts. Give one to ``release`` as
    ``account=``.

    Privacy
    -------
    An account holds public values alone. All that is paid from it, on all its parts, has together at most the cost of
    its limit, by sequential composition, and by parallel composition over the parts of a partition. The rule and its
    proof are in ``docs/design/ledger.md``; ``tests/privacy/ledger/test_rules.py`` compares it with all records and
    all pairs of records of random accounts.

    Examples
    --------
    >>> import spatialdp as sdp, tempfile
    >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
    >>> account = ledger.open("crashes", epsilon=2)
    >>> receipt = account.spend(sdp.Cost.pure(0.5), neighbours="add-remove", unit="record", what={"method": "flat"})
    >>> account.left.epsilon
    Fraction(3, 2)
    """

    def __init__(
        self, keeper: Keeper, terms: Terms, places: tuple[Place, ...], stays: bool = True, zcdp: bool = False
    ) -> None:
        self._keeper = keeper
        self._terms = terms  # the limits in it may be out of date: they are read when they are needed
        self._places = places
        self._stays = stays  # whether all records of a person are in one of the parts on the way
        self._zcdp = zcdp  # whether pure steps are paid from the pot of zCDP, too

    @property
    def account(self) -> Account:
        """The account itself; a prepaid amount has the account that paid for it."""
        return self

    @property
    def name(self) -> str:
        """The account's name."""
        return self._places[0][0]

    @property
    def keeper(self) -> Keeper:
        """The ledger that the account was opened in."""
        return self._keeper

    @property
    def unit(self) -> str:
        """Whom the account's promise protects: one ``"record"`` or one ``"person"``."""
        return self._terms.unit

    @property
    def neighbours(self) -> str:
        """Which pairs of data sets the account's promise compares: ``"add-remove"`` or ``"replace"``."""
        return self._terms.neighbours

    @property
    def limit(self) -> Pots:
        """What the pots of the whole account may hold at most."""
        return self._keeper.read(lambda transaction: Books(transaction).terms_of(self.name).limit)

    @property
    def spent(self) -> Pots:
        """What was spent: the largest cost to one unit (a record, or a person) of the account, or of this part."""
        return self._keeper.read(lambda transaction: Books(transaction).spent(self._places, self.neighbours))

    @property
    def left(self) -> Pots:
        """The most that may still be spent here, given what was spent on other parts."""
        return self._keeper.read(lambda transaction: self._left(Books(transaction)))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of the ledger about the whole account."""
        found = self._keeper.read(lambda transaction: list(transaction.entries()))
        return tuple(entry for entry in found if entry.facts.get("account") == self.name)

    def __repr__(self) -> str:
        return f"Account({self._quoted()})"

    def _quoted(self) -> str:
        first, *others = self._places
        parts = [f"{name} {label!r}" for name, label in zip(first[1::2], first[2::2], strict=True)]
        more = f" and {len(others)} more" if others else ""
        return ", ".join([repr(self.name), *parts]) + more

    def _repr_html_(self) -> str:
        """What was spent and what is left as a table, for notebooks."""
        terms, spent, left = self._keeper.read(self._state)
        rows = [("ε", _amounts(spent.epsilon, left.epsilon, terms.pure))]
        if terms.rho:
            rows.append(("ρ (zCDP)", _amounts(spent.rho, left.rho, terms.rho)))
        rows += [("neighbours", self._compared()), *([("about", terms.about)] if terms.about else [])]
        return html_table(f"Account {self._quoted()}", rows)

    def in_words(self) -> str:
        """Return what was spent and what is left, in one line.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2).in_words()
        'ε: 0 spent, 2 left, limit 2; add-remove one record'
        """
        terms, spent, left = self._keeper.read(self._state)
        rho = f"; ρ: {_amounts(spent.rho, left.rho, terms.rho)}" if terms.rho else ""
        return f"ε: {_amounts(spent.epsilon, left.epsilon, terms.pure)}{rho}; {self._compared()}"

    def _state(self, transaction: Transaction) -> tuple[Terms, Pots, Pots]:
        books = Books(transaction)
        return books.terms_of(self.name), books.spent(self._places, self.neighbours), self._left(books)

    def _compared(self) -> str:
        most = self._terms.records if self.unit == "person" else None
        declared = "" if most is None else f" with at most {most:,} records (declared, not enforced)"
        return f"{self.neighbours} one {self.unit}{declared}"

    def _left(self, books: Books) -> Pots:
        return books.left(self._places, books.terms_of(self.name))

    def check(self, cost: Cost, *, neighbours: str, unit: str) -> None:
        """Refuse a step that could not be paid for now; nothing is written, and no record is needed.

        Parameters
        ----------
        cost : Cost
        neighbours : str
            Which pairs of data sets the step's promise compares; must be the account's.
        unit : str
            Whom the step protects by itself: one ``"record"`` or one ``"person"``. An account of persons with k records
            pays k ε and k² ρ for a step that protects records.

        Raises
        ------
        BudgetError
            If less is left.
        ParameterError
            If the step makes a promise that this account cannot add up.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
        >>> account.check(sdp.Cost.pure(3), neighbours="add-remove", unit="record")
        Traceback (most recent call last):
        spatialdp.errors.BudgetError: the step costs ε = 3, but of the limit of 2 ... only 2 is left; ...
        """
        self._keeper.read(lambda transaction: self._payable(Books(transaction), cost, neighbours, unit))

    def spend(self, cost: Cost, *, neighbours: str, unit: str, what: Mapping[str, Any]) -> Receipt:
        """Pay for a step. The entry is durable when this returns, and only then may noise be drawn.

        Parameters
        ----------
        cost, neighbours, unit
            As for `check`.
        what : mapping
            Public facts about the step, for readers: mechanism, parameters, noise.

        Returns
        -------
        Receipt
            For the statement of the release.

        Raises
        ------
        BudgetError
            If less is left; nothing is spent.
        LedgerError
            If the ledger cannot be written. The step may have been paid for or not, and must not be carried out.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
        >>> terms = {"neighbours": "add-remove", "unit": "record"}
        >>> receipt = account.spend(sdp.Cost.pure(0.5), **terms, what={"for": "a count"})
        >>> receipt.entry, account.left.epsilon
        (2, Fraction(3, 2))
        """
        facts = checked_facts(what)

        def pay(transaction: Transaction) -> Receipt:
            amount = self._payable(Books(transaction), cost, neighbours, unit)
            return record(transaction, Kind.SPEND, self._entry(cost, amount, neighbours, unit, facts))

        return self._keeper.change(pay)

    def charge(self, cost: Cost, *, neighbours: str, unit: str) -> Pots:
        """Return what a step costs in the account's own unit; refuse promises that the account cannot add up.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
        >>> account = ledger.open("visits", epsilon=2, unit="person", records=5)
        >>> account.charge(sdp.Cost.pure(0.1), neighbours="add-remove", unit="record").epsilon
        Fraction(1, 2)
        """
        return charge(cost.in_zcdp() if self._zcdp else cost, unit, neighbours, self._terms, stays=self._stays)

    def in_zcdp(self) -> Account:
        """Return this account as one that pays for pure steps from its pot of zCDP, too.

        A draw of the exponential mechanism then costs ρ = ε²/8, and any other pure step ε²/2: less than ε where there
        are many small steps, and much more where there are a few large ones.

        Raises
        ------
        ParameterError
            If the account has no such pot.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
        >>> account = ledger.open("crashes", epsilon=2, delta=1e-9, pure=1).in_zcdp()
        >>> account.charge(sdp.Cost.pure(0.1), neighbours="add-remove", unit="record")
        Pots(epsilon=Fraction(0, 1), rho=Fraction(1, 200))
        """
        if not self.limit.rho:
            raise ParameterError(
                f"the account {self.name!r} has no pot of zCDP; open one with a {parameter('delta')}, or pay in ε."
            )
        return Account(self._keeper, self._terms, self._places, self._stays, zcdp=True)

    def prepay(self, cost: Cost, *, neighbours: str, unit: str, what: Mapping[str, Any]) -> Prepaid:
        """Return an amount for many small questions, which is paid at once and then spent in memory; see `Prepaid`.

        Parameters
        ----------
        cost, neighbours, unit, what
            As for `spend`, of all questions together.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
        >>> terms = {"neighbours": "add-remove", "unit": "record"}
        >>> with account.prepay(sdp.Cost.pure(1), **terms, what={"for": "a dashboard"}) as prepaid:
        ...     _ = prepaid.spend(sdp.Cost.pure(0.25), **terms, what={"ask": "count"})
        >>> account.left.epsilon
        Fraction(1, 1)
        """
        self.check(cost, neighbours=neighbours, unit=unit)
        return Prepaid(self, self._terms, cost, unit, what)

    def note(self, facts: Mapping[str, Any]) -> None:
        """Add public facts for readers; nothing is spent.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
        >>> account.note({"reviewed by": "A. Ng"})
        >>> account.spent.epsilon
        Fraction(0, 1)
        """
        body = {"account": self.name, "note": checked_facts(facts)}
        self._keeper.change(lambda transaction: record(transaction, Kind.NOTE, body))

    def _payable(self, books: Books, cost: Cost, neighbours: str, unit: str) -> Pots:
        """Return what a step costs here; refuse what cannot be paid for."""
        terms = books.terms_of(self.name)
        amount = self.charge(cost, neighbours=neighbours, unit=unit)
        left = books.left(self._places, terms)
        if amount.rho and not terms.rho:
            raise BudgetError(
                f"the account {self.name!r} has no pot for Gaussian noise, which costs ρ = {in_short(amount.rho)}; "
                f"use a Laplace law, or an account that was opened with a {parameter('delta')}."
            )
        for pot, symbol in (("epsilon", "ε"), ("rho", "ρ")):
            asked, rest, limit = (getattr(each, pot) for each in (amount, left, terms.limit))
            if asked > rest:
                raise BudgetError(
                    f"the step costs {symbol} = {in_short(asked)}, but of the limit of {in_short(limit)} of the "
                    f"account {self._quoted()} only {in_short(rest, down=True)} is left; spend less, or ask the "
                    "person responsible for the records whether the limit may be raised "
                    f"({either('Ledger.limit', '`spatialdp ledger limit`')})."
                )
        return amount

    def _entry(self, cost: Cost, amount: Pots, neighbours: str, unit: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        charged = {"epsilon": str(amount.epsilon), "rho": str(amount.rho)}
        return {
            "account": self.name,
            "at": [list(place[1:]) for place in self._places],
            "charged": charged,
            "cost": {"epsilon": str(cost.epsilon), "rho": str(cost.rho)},
            "neighbours": neighbours,
            "unit": unit,
            "what": facts,
        }

    def released(self, receipt: Receipt, files: Mapping[str, str]) -> None:
        """Note the files of a release that this account paid for. The entry is for readers and changes no total.

        Parameters
        ----------
        receipt : Receipt
            Of the spend.
        files : mapping of str to str
            The SHA-256 of each file, by its name.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
        >>> terms = {"neighbours": "add-remove", "unit": "record"}
        >>> receipt = account.spend(sdp.Cost.pure(0.5), **terms, what={"for": "a map"})
        >>> account.released(receipt, {"map.parquet": "0" * 64})
        """
        names = {checked_name(name, "files"): digest for name, digest in files.items()}
        if not names or not all(isinstance(digest, str) and _SHA256.fullmatch(digest) for digest in names.values()):
            raise ParameterError(
                f"{parameter('files')} is {quoted(dict(files))}; give the SHA-256 of each file, 64 hexadecimal digits, "
                "by the file's name."
            )

        def add(transaction: Transaction) -> None:
            self._check_receipt(transaction, receipt)
            record(transaction, Kind.RELEASED, {"account": self.name, "entry": receipt.entry, "files": names})

        self._keeper.change(add)

    def _check_receipt(self, transaction: Transaction, receipt: Receipt) -> None:
        entry = transaction.entry(receipt.entry)
        own = entry is not None and entry.kind == Kind.SPEND and entry.facts.get("account") == self.name
        if not own or entry is None or (receipt.ledger, receipt.hash) != (transaction.ledger, entry.hash):
            raise ParameterError(
                f"{receipt} did not pay for anything from the account {self.name!r}; give the receipt that `spend` "
                "returned."
            )

    def partition(
        self, name: str, labels: Iterable[str], person_stays: bool | None = None, *, rule: str | None = None
    ) -> dict[str, Account]:
        """Divide the records among parts, so that what is spent on different parts does not add up.

        Each record is in one part at most, which follows from this record alone, by a rule that is fixed before any
        record is seen. Of two partitions of the same records, such as by state and by month, the costs add up.

        Parameters
        ----------
        name : str
            A public name, such as ``"state"``.
        labels : iterable of str
            The public names of the parts; never taken from the records. New ones may be added later.
        person_stays : bool, optional
            Needed in accounts of persons. True: all records of a person are in one part, as with the state they live
            in. False: a person may have records in several parts, and the account's `records` bounds all of them
            together. If the bound holds in each part by itself, as with months, parts add up: spend on the whole
            account instead.
        rule : str, optional
            Which part a record is in, in words, such as ``"the column 'state'"``. A partition that has a rule refuses
            another one.

        Returns
        -------
        dict of str to Account
            The parts by their labels.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
        >>> list(account.partition("state", ["Iowa", "Ohio"]))
        ['Iowa', 'Ohio']
        """
        place = self._place("a partition of several parts at once is not kept apart; divide one part.")
        words = None if rule is None else checked_name(rule, "rule")
        new = Partition(checked_labels(labels), checked_stays(person_stays, self._terms), words)
        name = checked_name(name, "name")
        self._keeper.change(lambda transaction: divide(transaction, place, name, new))
        return {label: self._below(place, name, (label,), new) for label in new.labels}

    def part(self, name: str, label: str) -> Account:
        """Return a part of a partition, which has `spend`, `partition` and `part` like the account.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
        >>> states = account.partition("state", ["Iowa", "Ohio"])
        >>> terms = {"neighbours": "add-remove", "unit": "record", "what": {}}
        >>> receipts = [part.spend(sdp.Cost.pure(0.5), **terms) for part in states.values()]
        >>> account.spent.epsilon, account.part("state", "Ohio").left.epsilon
        (Fraction(1, 2), Fraction(3, 2))
        """
        return self.parts(name, [label])

    def parts(self, name: str, labels: Iterable[str]) -> Account:
        """Return several parts of a partition together, for a step that reads the records of all of them.

        What is spent is charged to each of the parts, in one entry.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
        >>> _ = account.partition("state", ["Iowa", "Ohio", "Utah"])
        >>> account.parts("state", ["Iowa", "Utah"]).left.epsilon
        Fraction(2, 1)
        """
        place = self._place("parts of several parts at once are not kept apart; name the parts of one of them.")
        partition = self._keeper.read(lambda transaction: Books(transaction).partition(place, name))
        chosen = checked_labels(labels)
        known = () if partition is None else partition.labels
        unknown = set(chosen).difference(known)
        if partition is None or unknown:
            what = f"part {min(unknown)!r} of a partition {name!r}" if known else f"partition {name!r}"
            raise ParameterError(
                f"the account {self._quoted()} has no {what}; divide it first, with its method partition, by labels "
                "that are public."
            )
        return self._below(place, name, chosen, partition)

    def _below(self, place: Place, name: str, labels: tuple[str, ...], partition: Partition) -> Account:
        places = tuple((*place, name, label) for label in labels)
        stays = self._stays and partition.person_stays is not False
        return Account(self._keeper, self._terms, places, stays, self._zcdp)

    def _place(self, refusal: str) -> Place:
        if len(self._places) > 1:
            raise ParameterError(f"{self!r} stands for several parts; {refusal}")
        return self._places[0]


def _amounts(spent: Fraction, left: Fraction, limit: Fraction) -> str:
    return f"{in_short(spent)} spent, {in_short(left, down=True)} left, limit {in_short(limit, down=True)}"
