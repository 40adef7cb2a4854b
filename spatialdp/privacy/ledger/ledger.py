"""What was ever published of these records? A ledger: one file with accounts, and everything that was spent from them.

Every entry is durable before noise is drawn, nothing is ever given back, and an account that is used up refuses. The
ledger finds out copies of its file, and rollbacks with the help of a witness or of releases. It does not stop an owner
who removes it: it is a belt, and evidence. See ``docs/design/ledger.md``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from spatialdp._support.checks import whole_number
from spatialdp.errors import ParameterError
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget, Number, exact
from spatialdp.privacy.ledger.account import Account, checked_name
from spatialdp.privacy.ledger.books import UNITS, Books, Terms
from spatialdp.privacy.ledger.cost import in_short
from spatialdp.privacy.ledger.entries import Entry, Kind, stamp
from spatialdp.privacy.ledger.stores.base import Store, Transaction
from spatialdp.privacy.ledger.stores.postgres import PostgresStore, is_address
from spatialdp.privacy.ledger.stores.sqlite import SQLiteStore
from spatialdp.privacy.ledger.witness import Witness
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.unit import MOST
from spatialdp.wording import parameter, quoted

__all__ = ["Ledger"]

T = TypeVar("T")


class Ledger:
    """A durable account of everything that was spent on sets of records.

    Parameters
    ----------
    path : path
        The ledger's file; made if it is missing. It must lie on a disk of this machine: the locks of network file
        systems cannot be relied on. For teams, the address of a database of PostgreSQL instead, such as
        ``"postgresql://ann@host/privacy"`` (``pip install 'spatialdp[ledger]'``).
    witness : path, optional
        A small file, best on another disk, that remembers the last entry, so that a ledger that was rolled back is
        refused. Made if it is missing.

    Raises
    ------
    LedgerError
        If the file is a copy of a ledger, was rolled back or damaged, or cannot be used.

    Privacy
    -------
    A ledger holds public values alone: never a record, their number, or a digest of them. What its accounts promise is
    at `Account`.

    Examples
    --------
    >>> import spatialdp as sdp, tempfile
    >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
    >>> account = ledger.open("crashes", epsilon=2, about="police records, 2024")
    >>> account.left.epsilon
    Fraction(2, 1)
    """

    def __init__(self, path: str | os.PathLike[str], witness: str | os.PathLike[str] | None = None) -> None:
        store = _store_at(path)
        store.make()
        self._set_up(store, witness)

    def _set_up(self, store: Store, witness: str | os.PathLike[str] | None) -> None:
        self._store = store
        self._witness = None if witness is None else Witness(Path(witness))
        self.read(lambda _: None)

    @classmethod
    def adopt(
        cls, path: str | os.PathLike[str], *, who: str, why: str, witness: str | os.PathLike[str] | None = None
    ) -> Ledger:
        """Accept a ledger that was moved or restored, with all of its entries, and say so in an entry.

        Parameters
        ----------
        path : path
            Where the ledger lies now.
        who, why : str
            Who answers for it that no entry is missing, and how that is known.
        witness : path, optional
            The witness; a ledger that lacks the witness's entry is refused.
        """
        store = _store_at(path)
        check = (lambda _: None) if witness is None else Witness(Path(witness)).check
        store.adopt({**stamp(), "who": checked_name(who, "who"), "why": checked_name(why, "why")}, check)
        ledger = cls.__new__(cls)
        ledger._set_up(store, witness)
        return ledger

    def __repr__(self) -> str:
        return f"Ledger({self._store})"

    @property
    def id(self) -> str:
        """The ledger's own random number, which is in the receipt of every release that it paid for."""
        return self.read(lambda transaction: transaction.ledger)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries in order."""
        return tuple(self.read(lambda transaction: list(transaction.entries())))

    @property
    def accounts(self) -> tuple[str, ...]:
        """The names of all accounts, in the order in which they were opened."""
        return tuple(entry.facts["account"] for entry in self.entries if entry.kind == Kind.OPEN)

    def read(self, function: Callable[[Transaction], T]) -> T:
        """Carry out a function on one state of the ledger, which it does not change."""

        def checked(transaction: Transaction) -> T:
            if self._witness is not None:
                self._witness.check(transaction)
            return function(transaction)

        return self._store.read(checked)

    def change(self, function: Callable[[Transaction], T]) -> T:
        """Carry out a function that may change the ledger; on return it is durable, and the witness knows."""
        witness = self._witness
        if witness is None:
            return self._store.transact(function)

        def checked(transaction: Transaction) -> T:
            witness.check(transaction)
            return function(transaction)

        result = self._store.transact(checked)
        self._store.transact(witness.remember)
        return result

    def open(
        self,
        name: str,
        epsilon: Number,
        delta: Number = 0,
        pure: Number | None = None,
        neighbours: str = "add-remove",
        unit: str = "record",
        records: int = 1,
        about: str = "",
    ) -> Account:
        """Open an account for one set of records, or return the account of this name if its terms are the same.

        Parameters
        ----------
        name : str
            A public name.
        epsilon : int, float, Decimal or Fraction
            The limit: what everything that is ever spent may promise together.
        delta : int, float, Decimal or Fraction
            0, or the δ of the limit. The account then has a second pot, of zCDP, for Gaussian noise.
        pure : int, float, Decimal or Fraction, optional
            The part of `epsilon` that is for pure steps, such as Laplace noise; needed with a `delta` above 0. The rest
            is for Gaussian noise. The division is fixed: it must not follow from answers.
        neighbours : str
            ``"add-remove"`` or ``"replace"``; every release must have the same.
        unit : str
            ``"record"``, or ``"person"`` for a promise to whole persons.
        records : int
            In an account of persons, the most records that a person has. Releases that protect single records cost so
            many times as much. The number is declared by you; the ledger cannot enforce it.
        about : str
            Which records these are, in words, for readers.

        Raises
        ------
        ParameterError
            If there is an account of this name with other terms.
        BudgetError
            If a limit is out of range.
        """
        account = checked_name(name, "name")
        terms = _terms(epsilon, delta, pure, neighbours, unit, records, about)
        known = self.read(lambda transaction: Books(transaction).terms(account))
        if known is None:
            known = self.change(lambda transaction: _opened(transaction, account, terms))
        _check_same(account, known, terms)
        return Account(self, known, ((account,),))

    def account(self, name: str) -> Account:
        """Return an account that was opened before.

        Raises
        ------
        ParameterError
            If there is none of this name.
        """
        account = checked_name(name, "name")
        terms = self.read(lambda transaction: Books(transaction).terms(account))
        if terms is None:
            raise ParameterError(f"the ledger has no account {account!r}; open it first, with a limit.")
        return Account(self, terms, ((account,),))


def _terms(
    epsilon: Number, delta: Number, pure: Number | None, neighbours: str, unit: str, records: int, about: str
) -> Terms:
    """Return the terms of an account, checked."""
    limit = Budget(epsilon, delta)
    share = _pure(limit, pure)
    rest = Budget(limit.epsilon - share, limit.delta) if limit.delta else None
    number = whole_number(records, "records", 1, MOST)
    if unit not in UNITS:
        raise ParameterError(f"{parameter('unit')} is {quoted(unit)}; it must be 'record' or 'person'.")
    if unit == "record" and number != 1:
        raise ParameterError(
            f"{parameter('records')} is {number}, but the account protects single records; give "
            f"{parameter('unit', 'person')}, or leave {parameter('records')} out."
        )
    relation = str(Neighbours.parse(neighbours, "neighbours"))
    words = checked_name(about, "about") if about else ""
    rho = rho_for(rest) if rest else limit.delta
    return Terms(limit.epsilon, limit.delta, share, rho, relation, unit, number, words)


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


def _opened(transaction: Transaction, account: str, terms: Terms) -> Terms:
    """Open an account, unless another process has done so meanwhile; return its terms."""
    books = Books(transaction)
    known = books.terms(account)
    if known is None:
        books.set_terms(account, terms)
        transaction.append(Kind.OPEN, {**stamp(), "account": account, "terms": terms.to_json()})
    return known or terms


def _check_same(account: str, known: Terms, terms: Terms) -> None:
    old, new = known.to_json(), terms.to_json()
    different = [name for name in new if name != "rho" and old[name] != new[name] and (name != "about" or new[name])]
    if different:
        listed = " and ".join(f"{name} {old[name]!r}, not {new[name]!r}" for name in different)
        raise ParameterError(
            f"the account {account!r} exists and has {listed}; give the terms that it has, or get it by its name alone."
        )


def _store_at(place: str | os.PathLike[str]) -> SQLiteStore | PostgresStore:
    """Return the store of a file, or of a database."""
    return PostgresStore(str(place)) if is_address(place) else SQLiteStore(Path(place))
