"""A trusted curator: holds records, answers questions about them with noise, and pays for every answer.

This is the interactive sanitizer of Dwork and McSherry: questions may follow from earlier answers, and an account adds
up what all of them cost. Each method decides everything public first, in an `Ask`; then it pays; and only then are
records looked at and noise drawn (`asks`).
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

import numpy.typing as npt

from spatialdp.curator.answers import Answers
from spatialdp.curator.asks import Ask, Frame, Purse, Spending, carried_out
from spatialdp.curator.counts import Count, one_area, read_areas
from spatialdp.curator.rehearsal import practice_account
from spatialdp.curator.selections.questions import SelectionQuestions
from spatialdp.errors import ParameterError
from spatialdp.privacy.budget import Number
from spatialdp.privacy.ledger.account import Account
from spatialdp.privacy.ledger.cost import Cost
from spatialdp.privacy.ledger.terms import agreed
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.privacy.unit import Person
from spatialdp.records.rows.held import HeldRecords, hold
from spatialdp.space.domain import Domain
from spatialdp.wording import parameter

__all__ = ["Curator"]

T = TypeVar("T")


class Curator(SelectionQuestions):
    """Holds records, answers questions about them with noise, and pays for every answer from an account.

    **Before you ask ten questions, make one release**: it answers any number of boxes for the price of one, and can be
    asked again for nothing.

    Parameters
    ----------
    records : Points, Rows, or anything that `Points` takes
        The records. Columns beside the points, for sums and quantiles of values and for partitions by labels, come with
        them: ``Rows(points, price=prices)``.
    domain : Domain
        Public; records outside of it, or outside of its region, count nowhere.
    account : Account
        Of a ledger, or a part of one. Its neighbours are those of all answers.
    person : Person, optional
        Protects persons instead of records: ``Person(records=10)`` holds at most 10 records of each person, chosen by
        that person's records alone, and adds noise for 10. The points must say who they are about, and the account must
        be one of persons. In an account of persons without it, a question that protects records is charged for as many
        as the account says a person has.

    Privacy
    -------
    Everything public is decided before a record is looked at, the account pays durably before noise is drawn, and
    answers depend on the records through this noise alone. What all answers cost together is the account's
    (``docs/design/curator.md``). A curator shows nothing of its records: it has no length and cannot be pickled.

    Examples
    --------
    >>> import spatialdp as sdp, tempfile
    >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
    >>> curator = sdp.Curator([[0.1, 0.2], [0.8, 0.9]], sdp.Domain((0, 0, 1, 1)), account)
    >>> curator.count(epsilon=0.5).privacy.epsilon, account.left.epsilon
    (Fraction(1, 2), Fraction(3, 2))
    """

    def __init__(self, records: Any, domain: Domain, account: Account, *, person: Person | None = None) -> None:
        if not isinstance(domain, Domain):
            raise ParameterError(
                f"{parameter('domain')} is a {type(domain).__name__}; give a spatialdp.Domain with public bounds. It "
                "is never taken from the points."
            )
        if not isinstance(account, Account):
            raise ParameterError(
                f"{parameter('account')} is a {type(account).__name__}; give an account of a ledger, which pays for "
                "the answers: spatialdp.Ledger(path).open(name, epsilon=2). For experiments, use Curator.rehearsal."
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
    ) -> Curator:
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
        return curator._with(purse=Purse(account, SystemNoise() if noise is None else noise, rehearsal=True))

    def __repr__(self) -> str:
        return f"Curator({self._frame.domain}, {self._purse.spender!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a curator holds records and spends from an account: it cannot be copied or pickled")

    def _with(self, *, held: HeldRecords | None = None, purse: Purse | None = None) -> Curator:
        """Return a curator of other records, or with another purse."""
        other = Curator.__new__(Curator)
        other._frame = self._frame
        other._held = self._held if held is None else held
        other._purse = self._purse if purse is None else purse
        return other

    def _answer(self, ask: Ask[T]) -> T:
        """Pay for a question, then answer it. Everything public about it is decided."""
        return carried_out(ask, self._held, self._purse)

    # --- counts ----------------------------------------------------------------------------------------

    def count(self, area: Any = None, *, epsilon: Number, delta: Number = 0, law: str = "discrete-laplace") -> Answers:
        """Count the records in the whole domain, in a box or in a polygon.

        Parameters
        ----------
        area : (xmin, ymin, xmax, ymax) or polygon, optional
            Public; the whole domain by default.
        epsilon, delta : int, float, Decimal or Fraction
            What the question spends; floats are taken as typed. Gaussian noise needs a δ and spends the ρ (zCDP) of
            both, from an account that was opened with a δ.
        law : {"discrete-laplace", "laplace", "gaussian"}
            The law of the noise.

        Returns
        -------
        Answers
            With one number.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> curator = sdp.Curator.rehearsal([[0.1, 0.2], [0.8, 0.9]], sdp.Domain((0, 0, 1, 1)))
        >>> curator.count((0, 0, 0.5, 0.5), epsilon=100).values
        1.0
        """
        spending = Spending.of(epsilon, delta, law)
        return self._answer(Count(self._frame, spending, one_area(area, self._frame.domain)))

    def counts(
        self, areas: npt.ArrayLike, *, epsilon: Number, delta: Number = 0, law: str = "discrete-laplace"
    ) -> Answers:
        """Count the records in each of many boxes, or polygons.

        Boxes that do not overlap cost as little as one of them; where some overlap, noise grows with the most that
        share a place. A record counts in the first polygon that contains it.

        Parameters
        ----------
        areas : (m, 4) array-like of boxes, or a list, GeoSeries or GeoDataFrame of polygons
            Public, within the domain at least in part.
        epsilon, delta, law
            As for `count`, for all areas together.

        Returns
        -------
        Answers
            With a number for each area.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> curator = sdp.Curator.rehearsal([[0.1, 0.2], [0.8, 0.9]], sdp.Domain((0, 0, 1, 1)))
        >>> curator.counts([(0, 0, 0.5, 0.5), (0, 0, 1, 1)], epsilon=100).values
        array([1., 2.])
        """
        spending = Spending.of(epsilon, delta, law)
        return self._answer(Count(self._frame, spending, read_areas(areas, self._frame.domain)))
