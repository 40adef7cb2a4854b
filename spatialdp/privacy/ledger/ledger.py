"""What was ever published of these records? A ledger: one file with accounts, and everything that was spent from them.

Every entry is durable before noise is drawn, nothing is ever given back, and an account that is used up refuses. The
ledger detects copies of its file and, with the help of a witness or of releases, rollbacks. It does not stop an owner
who deletes it: it prevents mistakes, and is evidence. See ``docs/design/ledger.md``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from spatialdp._support.tables import html_table
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.budget import Number
from spatialdp.privacy.ledger.account import Account
from spatialdp.privacy.ledger.books import Books, record
from spatialdp.privacy.ledger.check import Checked, check_entries, check_releases
from spatialdp.privacy.ledger.cost import in_short
from spatialdp.privacy.ledger.entries import Entry, Kind, stamp
from spatialdp.privacy.ledger.export import export
from spatialdp.privacy.ledger.stores.base import Store, Transaction
from spatialdp.privacy.ledger.stores.postgres import PostgresStore, is_address
from spatialdp.privacy.ledger.stores.sqlite import SQLiteStore
from spatialdp.privacy.ledger.stores.witness import Witness
from spatialdp.privacy.ledger.terms import Terms, agreed, checked_name
from spatialdp.privacy.statement import Privacy
from spatialdp.wording import parameter

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
            Who guarantees that no entry is missing, and how they know it.
        witness : path, optional
            The witness; a ledger that lacks the witness's entry is refused.

        Examples
        --------
        >>> import shutil, spatialdp as sdp, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> _ = sdp.Ledger(folder + "/privacy.ledger").open("crashes", epsilon=2)
        >>> _ = shutil.copy(folder + "/privacy.ledger", folder + "/moved.ledger")
        >>> ledger = sdp.Ledger.adopt(folder + "/moved.ledger", who="A. Ng", why="new disk; nothing was spent since")
        >>> ledger.entries[-1].kind
        'adopted'
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
        """Carry out a function on one state of the ledger, which it does not change.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
        >>> ledger.read(lambda transaction: transaction.head()) is None
        True
        """

        def checked(transaction: Transaction) -> T:
            if self._witness is not None:
                self._witness.check(transaction)
            return function(transaction)

        return self._store.read(checked)

    def change(self, function: Callable[[Transaction], T]) -> T:
        """Carry out a function that may change the ledger; on return it is durable, and the witness knows.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
        >>> ledger.change(lambda transaction: transaction.ledger) == ledger.id
        True
        """
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
        records: int | None = None,
        about: str = "",
    ) -> Account:
        """Open an account for one set of records, or return the account of this name if its terms are the same.

        Parameters
        ----------
        name : str
            A public name.
        epsilon : int, float, Decimal or Fraction
            The limit: the ε that all spending together may reach.
        delta : int, float, Decimal or Fraction
            0, or the δ of the limit. The account then has a second pot, of zCDP, for Gaussian noise.
        pure : int, float, Decimal or Fraction, optional
            The part of `epsilon` that is for pure steps, such as Laplace noise; needed with a `delta` above 0. The rest
            is for Gaussian noise. The division is fixed: it must not follow from answers.
        neighbours : str
            ``"add-remove"`` or ``"replace"``; every release must have the same.
        unit : str
            ``"record"``, or ``"person"`` for a promise to whole persons.
        records : int, optional
            In an account of persons, the largest number of records that a person has in all data that the account is
            for. Releases that protect single records then cost that many times as much; without it they are refused.
            The number is declared by you; the ledger cannot enforce it.
        about : str
            Which records these are, in words, for readers.

        Raises
        ------
        ParameterError
            If there is an account of this name with other terms.
        BudgetError
            If a limit is out of range.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
        >>> account = ledger.open("visits", epsilon=3, delta=1e-9, pure=1, unit="person", records=20)
        >>> account.limit.epsilon, account.unit
        (Fraction(1, 1), 'person')
        """
        account = checked_name(name, "name")
        terms = agreed(epsilon, delta, pure, neighbours, unit, records, about)
        known = self.read(lambda transaction: Books(transaction).terms(account))
        if known is None:
            known = self.change(lambda transaction: _opened(transaction, account, terms))
        known.check_same(terms, account)
        return Account(self, known, ((account,),))

    def account(self, name: str) -> Account:
        """Return an account that was opened before.

        Raises
        ------
        ParameterError
            If there is none of this name.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
        >>> _ = ledger.open("crashes", epsilon=2)
        >>> ledger.account("crashes").left.epsilon
        Fraction(2, 1)
        """
        account = checked_name(name, "name")
        terms = self.read(lambda transaction: Books(transaction).terms(account))
        if terms is None:
            raise ParameterError(f"the ledger has no account {account!r}; open it first, with a limit.")
        return Account(self, terms, ((account,),))

    def limit(
        self,
        name: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        pure: Number | None = None,
        who: str,
        why: str,
    ) -> Account:
        """Give an account another limit, and say so in an entry.

        Parameters
        ----------
        name : str
            Of the account.
        epsilon, delta, pure : int, float, Decimal or Fraction, optional
            The new limit, as for `open`; what is left out stays as it is. Without a `delta`, all of `epsilon` is for
            pure steps.
        who, why : str
            Who decided it, and why.

        Raises
        ------
        BudgetError
            If more was spent already than the new limit allows.

        Privacy
        -------
        The promise is then that of the new limit. It holds as it stands if the limit was raised for reasons outside of
        the answers; a limit that is raised again and again because of the answers promises no more than what was spent
        in the end (``docs/design/ledger.md``).

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
        >>> _ = ledger.open("crashes", epsilon=2)
        >>> ledger.limit("crashes", epsilon=3, who="A. Ng", why="the board allowed a second year").left.epsilon
        Fraction(3, 1)
        """
        account = self.account(name)
        reasons = {"who": checked_name(who, "who"), "why": checked_name(why, "why")}

        def change(transaction: Transaction) -> None:
            books = Books(transaction)
            terms = books.terms_of(account.name).with_limit(epsilon, delta, pure)
            spent = books.spent([(account.name,)], terms.neighbours)
            if not spent.fits(terms.limit):
                raise BudgetError(
                    f"ε = {in_short(spent.epsilon)} and ρ = {in_short(spent.rho)} were spent from {account.name!r}, "
                    f"but the new limit allows only ε = {in_short(terms.pure, down=True)} and "
                    f"ρ = {in_short(terms.rho, down=True)}; what is spent cannot be taken back. Give a higher limit."
                )
            record(transaction, Kind.LIMIT, {"account": account.name, "terms": terms.to_json(), **reasons})

        self.change(change)
        return account

    def check(self, releases: Iterable[Any] = ()) -> Checked:
        """Check that the ledger is whole, and that it paid for releases; return what it says in short.

        Parameters
        ----------
        releases : iterable of release, Privacy or path, optional
            Releases, their statements or their files, as many as there are. Each has a receipt of its entry, so that a
            ledger that was rolled back, even together with its witness, is detected.

        Returns
        -------
        Checked
            Number of entries, the last one, totals of all accounts, and notes such as a clock that went back.

        Raises
        ------
        LedgerError
            If the chain of entries is broken, the totals are not those of the entries, a release was not paid for as it
            says, or other processes do not see the ledger's lock.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> ledger = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger")
        >>> account = ledger.open("crashes", epsilon=2)
        >>> print(ledger.check())
        The ledger is whole: 1 entry; the last one is 1, ...
        Spent from 'crashes': ε = 0.
        """
        statements = [_statement(release) for release in releases]

        def check(transaction: Transaction) -> Checked:
            found = check_entries(transaction)
            behind = 0 if self._witness is None else self._witness.behind(transaction)
            late = f"{behind:,} {'entry' if behind == 1 else 'entries'} behind"
            notes = (f"The witness is {late}; the next spend brings it up to date.",) * (behind > 0)
            count = check_releases(transaction, statements)
            return replace(found, releases=count, notes=(*found.notes, *notes))

        result = self.read(check)
        self._store.check_locks()
        return result

    def export(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write all entries to a file for readers: ``.csv``, ``.jsonl`` or ``.html``.

        A table has one line for each entry, with its cost exactly and rounded up, and what was left after it. JSON
        lines have the entries as they are, with their hashes, so that anybody can check the chain.

        Examples
        --------
        >>> import spatialdp as sdp, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> ledger = sdp.Ledger(folder + "/privacy.ledger")
        >>> account = ledger.open("crashes", epsilon=2)
        >>> ledger.export(folder + "/ledger.csv")
        """
        checked, entries = self.read(lambda each: (check_entries(each), list(each.entries())))
        export(checked, entries, Path(path), overwrite)

    def _repr_html_(self) -> str:
        """The accounts as a table, for notebooks."""
        rows = [(name, self.account(name).in_words()) for name in self.accounts]
        return html_table("Ledger", rows or [("accounts", "none yet")])


def _statement(release: Any) -> tuple[str, Privacy]:
    """Return the privacy statement of a release or of its file, with a name for messages."""
    if isinstance(release, Privacy):
        return str(release), release
    if isinstance(release, str | os.PathLike):
        from spatialdp.outputs.files.geoparquet import statement_of

        return os.fspath(release), statement_of(Path(release))
    statement = getattr(release, "privacy", None)
    if not isinstance(statement, Privacy):
        raise ParameterError(
            f"{parameter('releases')} has a {type(release).__name__}; give releases, privacy statements, or paths."
        )
    return str(statement), statement


def _opened(transaction: Transaction, account: str, terms: Terms) -> Terms:
    """Open an account, unless another process has done so meanwhile; return its terms."""
    known = Books(transaction).terms(account)
    if known is None:
        record(transaction, Kind.OPEN, {"account": account, "terms": terms.to_json()})
    return known or terms


def _store_at(place: str | os.PathLike[str]) -> SQLiteStore | PostgresStore:
    """Return the store of a file, or of a database."""
    return PostgresStore(str(place)) if is_address(place) else SQLiteStore(Path(place))
