"""Who holds the records, and who pays for what is asked about them? What curators of all records and of parts share.

A curator has records, a public frame and a purse. Its parts have some of the records and a part of the account; within
``prepaid`` it has a purse that is paid for already. What can be asked is in `session`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn, Self, TypeVar

from spatialdp._support.arrays import Integers
from spatialdp.curator.asks import Ask, Frame, Purse, Spending, carried_out
from spatialdp.curator.counts import read_areas
from spatialdp.curator.rehearsal import practice_account
from spatialdp.errors import ParameterError
from spatialdp.mechanisms.base import Mechanism
from spatialdp.mechanisms.prepared import checked_noise
from spatialdp.privacy.budget import Number
from spatialdp.privacy.ledger.account import Account
from spatialdp.privacy.ledger.books import checked_labels
from spatialdp.privacy.ledger.cost import Cost
from spatialdp.privacy.ledger.entries import canonical
from spatialdp.privacy.ledger.terms import agreed
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.privacy.unit import Person
from spatialdp.records.formats.base import forgetful
from spatialdp.records.rows.held import HeldRecords, hold
from spatialdp.release import Release
from spatialdp.space.domain import Domain
from spatialdp.wording import either, parameter, quoted

__all__ = ["Holder"]

T = TypeVar("T")
Finder = Callable[[], Integers]  # looks at the records, and returns the part that each is in


class Holder:
    """Holds records and a purse; `session.Curator` adds the questions."""

    def __init__(self, records: Any, domain: Domain, account: Account, *, person: Person | None = None) -> None:
        if not isinstance(domain, Domain):
            raise ParameterError(
                f"domain is a {type(domain).__name__}; give a spatialdp.Domain with public bounds. It is never taken "
                "from the points."
            )
        if not isinstance(account, Account):
            raise ParameterError(
                f"{parameter('account')} is a {type(account).__name__}; give an account of a ledger, which pays for "
                f"the answers{either(': spatialdp.Ledger(path).open(name, epsilon=2)', '')}. For experiments, use "
                f"{either('Curator.rehearsal', 'a rehearsal')}."
            )
        neighbours = Neighbours.parse(account.neighbours, "neighbours")
        if person is not None:
            account.charge(Cost.pure(1), neighbours=str(neighbours), unit="person")
        held = hold(records, domain, person)
        self._held = held
        self._frame = Frame(domain, neighbours, person, held.names)
        self._purse = Purse(account, SystemNoise())

    @classmethod
    def rehearsal(
        cls,
        records: Any,
        domain: Domain,
        *,
        epsilon: Number = 1000,
        delta: Number = 0,
        pure: Number | None = None,
        neighbours: str = Neighbours.ADD_REMOVE,
        person: Person | None = None,
        noise: Noise | None = None,
    ) -> Self:
        """Return a curator for experiments with records that need no protection: no ledger, and noise with a seed.

        Nothing is recorded, and every answer is marked as not private.

        Parameters
        ----------
        records, domain, person
            As for a curator.
        epsilon, delta, pure, neighbours
            The terms of an account in memory; as for `Ledger.open`.
        noise : Noise, optional
            Such as `SeededNoise`, to get the same answers again; the system's own by default.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> domain, noise = sdp.Domain((0, 0, 1, 1)), sdp.SeededNoise(7)
        >>> curator = sdp.Curator.rehearsal([[0.1, 0.2], [0.8, 0.9]], domain, noise=noise)
        >>> curator.count(epsilon=1).privacy.private
        False
        """
        unit, most = ("record", None) if person is None else ("person", None)
        account = practice_account(agreed(epsilon, delta, pure, neighbours, unit, most, ""))
        curator = cls(records, domain, account, person=person)
        return curator._with(purse=Purse(account, checked_noise(noise), rehearsal=True))

    def __repr__(self) -> str:
        return f"Curator({self._frame.domain}, {self._purse.spender!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a curator holds records and spends from an account: it cannot be copied or pickled")

    def _with(self, *, held: HeldRecords | None = None, purse: Purse | None = None) -> Self:
        """Return a curator of other records, or with another purse."""
        other = object.__new__(type(self))
        other._frame = self._frame
        other._held = self._held if held is None else held
        other._purse = self._purse if purse is None else purse
        return other

    def _answer(self, ask: Ask[T]) -> T:
        """Pay for a question, then answer it. Everything public about it is decided."""
        return carried_out(ask, self._held, self._purse)

    # --- parts, amounts and releases -------------------------------------------------------------------

    def partition(
        self,
        name: str,
        labels: str | None = None,
        *,
        of: Sequence[str] | None = None,
        boxes: Mapping[str, Any] | None = None,
        polygons: Mapping[str, Any] | None = None,
        person_stays: bool | None = None,
    ) -> dict[str, Self]:
        """Divide the records among curators, so that what is asked of different parts does not add up.

        A record is in one part at most, which follows from this record alone. Of two partitions of the same records,
        such as by state and by month, the costs add up.

        Parameters
        ----------
        name : str
            A public name of the partition.
        labels : str, optional
            The column beside the points that says which part a record is in; by default the one called `name`.
        of : list of str
            The public labels. Records with any other label are in no part.
        boxes, polygons : mapping of str to box or polygon
            In place of `of`: the areas of the parts. A record is in the first that contains it.

            The ledger remembers the column, or all areas in their order: a partition of this name refuses others,
            because a record could then be in two parts. Labels may be added later, areas may not.
        person_stays : bool, optional
            Needed in accounts of persons; see `Account.partition`.

        Returns
        -------
        dict of str to Curator

        Examples
        --------
        >>> import spatialdp as sdp
        >>> rows = sdp.Rows([[0.1, 0.2], [0.8, 0.9]], state=["Ohio", "Iowa"])
        >>> states = sdp.Curator.rehearsal(rows, sdp.Domain((0, 0, 1, 1))).partition("state", of=["Iowa", "Ohio"])
        >>> {state: curator.count(epsilon=100).values for state, curator in states.items()}
        {'Iowa': 1.0, 'Ohio': 1.0}
        """
        account = self._account("divide the records first, and prepay in each part")
        if (of is not None) + (boxes is not None) + (polygons is not None) != 1:
            raise ParameterError(
                f"give one of {parameter('of')} (the public labels), {parameter('boxes')} and {parameter('polygons')} "
                "(areas by their labels), which say what the parts are."
            )
        areas = boxes if boxes is not None else polygons
        if areas is not None:
            public, rule, part_of = self._by_area(areas)
        else:
            public, rule, part_of = self._by_label(name if labels is None else labels, of or ())
        accounts = account.partition(name, public, person_stays, rule=rule)
        held = forgetful(lambda: self._held.divided(part_of(), len(public)))()
        purses = (replace(self._purse, spender=accounts[label]) for label in accounts)
        return {
            label: self._with(held=part, purse=purse) for label, part, purse in zip(accounts, held, purses, strict=True)
        }

    def _by_label(self, column: str, labels: Sequence[str]) -> tuple[list[str], str, Finder]:
        """Return public labels, the rule in words, and the function that finds the part of each record by a column."""
        self._held.check_labels(self._frame.column(column))
        if isinstance(labels, str):
            raise ParameterError(f"{parameter('of')} is {quoted(labels)}, one text; give a list of the public labels.")
        public = list(labels)
        return public, f"the column {column!r}", lambda: self._held.labels(column, public)

    def _by_area(self, areas: Mapping[str, Any]) -> tuple[list[str], str, Finder]:
        """Return public labels, the rule in words, and the function that finds the part of each record by its place."""
        if not isinstance(areas, Mapping):
            raise ParameterError(
                f"the areas of the parts are a {type(areas).__name__}; they must be a dictionary. Give an area by the "
                f"label of each part, such as {quoted({'north': (0, 5, 10, 10), 'south': (0, 0, 10, 5)})}."
            )
        known = read_areas(list(areas.values()), self._frame.domain)
        frame = canonical([checked_labels(areas), self._frame.domain.bounds, str(self._frame.domain.crs)])
        digest = hashlib.sha256(frame.encode() + known.content).hexdigest()
        rule = f"the first of {known.size} {known.noun} that contains it (SHA-256 of all: {digest})"
        return list(areas), rule, lambda: known.first(self._held)

    @contextmanager
    def prepaid(self, *, epsilon: Number, delta: Number = 0, law: str = "discrete-laplace") -> Iterator[Self]:
        """Pay once for many small questions, which are then answered in microseconds instead of a disk's time.

        Use it in a ``with`` statement: the account pays when it begins, and the ledger gets a note of what was asked
        when it ends. What is left then is lost.

        Parameters
        ----------
        epsilon, delta, law
            What all questions may spend together; Gaussian noise spends ρ.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> curator = sdp.Curator.rehearsal([[0.1, 0.2], [0.8, 0.9]], sdp.Domain((0, 0, 1, 1)))
        >>> with curator.prepaid(epsilon=1) as prepaid:
        ...     answers = [prepaid.count((0, 0, x, 1), epsilon=0.25) for x in (0.25, 0.5, 0.75, 1)]
        """
        account = self._account("ask for the rest of the amount")
        spending = Spending.of(epsilon, delta, law)
        self._purse.private  # noqa: B018 - refuses noise that an account cannot pay for
        terms = {"neighbours": str(self._frame.neighbours), "unit": self._frame.unit}
        with account.prepay(spending.cost, **terms, what={"ask": "prepaid questions"}) as amount:
            yield self._with(purse=replace(self._purse, spender=amount, checked=True))

    def release(self, mechanism: Mechanism, *, epsilon: Number, delta: Number = 0) -> Release:
        """Release the records by any mechanism whose public frame is the domain, and pay for it from the same account.

        Parameters
        ----------
        mechanism : Mechanism
            Such as `Quadtree`.
        epsilon, delta : int, float, Decimal or Fraction
            As for `Mechanism.release`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> curator = sdp.Curator.rehearsal([[0.1, 0.2], [0.8, 0.9]], sdp.Domain((0, 0, 1, 1)))
        >>> round(curator.release(sdp.Quadtree(height=2), epsilon=100).total)
        2
        """
        if not isinstance(mechanism, Mechanism) or mechanism.frame is not Domain:
            raise ParameterError(
                f"{parameter('mechanism')} is a {type(mechanism).__name__}, but a curator has points of a domain; give "
                f"a mechanism for points, such as {either('spatialdp.Quadtree(height=8)', 'a quadtree')}. For tables "
                "and zones, give the account to the mechanism's own release."
            )
        frame, purse = self._frame, self._purse
        prepared = mechanism.prepare(
            frame.domain, epsilon=epsilon, delta=delta, neighbours=frame.neighbours, person=frame.person
        )
        if not purse.rehearsal:
            prepared.check(purse.spender)
            return prepared.release(self._held.points(), noise=purse.noise, account=purse.spender)
        terms = {"neighbours": str(frame.neighbours), "unit": frame.unit}
        purse.spender.spend(Cost.of(prepared.statement), **terms, what={"mechanism": mechanism.name})
        release = prepared.release(self._held.points(), noise=purse.noise)
        return replace(release, privacy=replace(release.privacy, private=False))

    def _account(self, advice: str) -> Account:
        """Return the account that pays; refuse within a prepaid amount."""
        spender = self._purse.spender
        if not isinstance(spender, Account):
            raise ParameterError(f"the questions are prepaid here, and the amount is not divided again; {advice}.")
        return spender
