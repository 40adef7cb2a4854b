"""Whose privacy does a release protect? One record, or one person with several records, whose share is bounded.

A `Person` is a public bound on what one person contributes: at most L records, at most L cells (once each), or one unit
that is divided over the person's records. `records.persons` carries the bound out, on each person's records alone, so
one person more or less changes the counts by what the bound allows and no more. From that follows how far one person
can move a measurement, given how far one record can (``docs/design/persons.md``). This module knows no records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spatialdp._support.checks import true_or_false, whole_number
from spatialdp._support.options import Option
from spatialdp.errors import ParameterError
from spatialdp.privacy.chosen import MOST, Chosen
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.wording import either, parameter, quoted

__all__ = ["MOST", "SHARE_STEPS", "Bound", "Person", "unit_of"]

SHARE_STEPS = 2**20  # shares are counted in whole steps; a person's shares are at most this many steps together


class Bound(Option):
    """What is bounded: a person's records, a person's cells, or the sum of a person's shares."""

    RECORDS = "records"
    CELLS = "cells"
    SHARES = "shares"


@dataclass(frozen=True)
class Person:
    """The person as the unit of privacy: a public bound on what each one contributes to a release.

    Give exactly one of the three.

    Parameters
    ----------
    records : int or Chosen, optional
        At most this many records of each person are counted, one cell after the other. If the bound is 3 and a person
        has two records in each of two cells, two records of one cell count and one of the other. ``Chosen()`` chooses
        the number privately.
    cells : int or Chosen, optional
        Each person is counted once in each cell, in at most this many cells.
    shares : bool
        Each person counts once in all, divided over the cells in proportion to the person's records there. Nobody is
        cut off, and there is nothing to choose.
    chosen : Chosen, optional
        How the number was chosen, if it was. Releases say so in their statements; leave it out.

    Raises
    ------
    ParameterError
        If none of the three is given, or more than one.

    Notes
    -----
    Which records or cells are kept is decided by a keyed hash of the person and the cell, so it depends on this
    person's own records alone. Records without a person count nowhere. One person with two identifiers is two persons.
    The bound holds for the release as a whole.

    Privacy
    -------
    The bound is a public parameter: a bound that was computed from the records would reveal something about them.
    ``Chosen()`` computes it from the records too, but pays for it.

    Examples
    --------
    >>> Person(cells=50)
    Person(cells=50)
    >>> Person()
    Traceback (most recent call last):
    spatialdp.errors.ParameterError: a person is bounded by none of records, cells and shares, ...
    """

    records: int | Chosen | None = None
    cells: int | Chosen | None = None
    shares: bool = False
    chosen: Chosen | None = None

    def __post_init__(self) -> None:
        true_or_false(self.shares, "shares")
        given = [name for name in ("records", "cells") if getattr(self, name) is not None] + ["shares"] * self.shares
        if len(given) != 1:
            raise ParameterError(
                f"a person is bounded by {' and '.join(given) or 'none of records, cells and shares'}, but exactly one "
                "bound is needed; give "
                + either(
                    "Person(records=L), Person(cells=L) or Person(shares=True)",
                    "--person records=L, --person cells=L or --person shares",
                )
                + "."
            )
        for name in ("records", "cells"):
            if isinstance(getattr(self, name), Chosen) or getattr(self, name) is None:
                continue
            object.__setattr__(self, name, whole_number(getattr(self, name), name, 1, MOST))
        if self.chosen is not None:
            self._check_chosen()

    def _check_chosen(self) -> None:
        if not isinstance(self.chosen, Chosen) or self._limit not in self.chosen.candidates:
            raise ParameterError(
                f"{parameter('chosen')} is {quoted(self.chosen)}, but says how a number of records or cells was "
                "chosen from candidates; leave it out, because a release fills it in."
            )

    def __repr__(self) -> str:
        how = "" if self.chosen is None else f", chosen={self.chosen!r}"
        return "Person(shares=True)" if self.shares else f"Person({self.bound}={self._limit!r}{how})"

    @property
    def bound(self) -> Bound:
        """What is bounded."""
        return Bound.SHARES if self.shares else Bound.CELLS if self.records is None else Bound.RECORDS

    @property
    def _limit(self) -> int | Chosen | None:
        """The bound as it was given; None for shares."""
        return self.cells if self.records is None else self.records

    @property
    def choice(self) -> Chosen | None:
        """How the bound will be chosen when records are released; None if it is known."""
        return self._limit if isinstance(self._limit, Chosen) else None

    def at(self, most: int) -> Person:
        """Return the person with one of the candidates as the bound, which says how it was chosen.

        Examples
        --------
        >>> Person(cells=Chosen()).at(50).in_short()
        'at most 50 cells each, chosen privately'
        """
        if self.bound is Bound.RECORDS:
            return Person(records=most, chosen=self.choice)
        return Person(cells=most, chosen=self.choice)

    @property
    def most(self) -> int:
        """The largest sum of a person's counts: L records, L cells, or 1 in shares."""
        if isinstance(self._limit, Chosen):
            raise ParameterError(
                f"the bound on {self.bound} is chosen privately when records are released, but here a number is "
                f"needed; give one, such as {either(f'Person({self.bound}=50)', f'--person {self.bound}=50')}."
            )
        return self._limit or 1

    @property
    def steps(self) -> int:
        """How many steps make up one count: counts of shares come as whole numbers of these."""
        return SHARE_STEPS if self.shares else 1

    def sensitivity(self, one_record: Sensitivity) -> Sensitivity:
        """How far one person can move a measurement that one record moves by a given amount, under the same relation.

        A person's counts c are not negative and have a sum of at most m. The norm of the measurement of c is convex, so
        it is largest at a corner of these counts: m times one record. For replace, the differences of two such counts
        have corners m (e - e'), and it is m times what replacing one record moves. So a person moves any measurement by
        m times what one record does, and this is attained where all counts are in one cell. `cells` has this as a
        bound in L2; structures know better ones.

        Examples
        --------
        >>> Person(records=3).sensitivity(Sensitivity(l1=2, l2_squared=2))
        Sensitivity(l1=6, l2_squared=18, steps=1)
        """
        most = self.most * self.steps
        return Sensitivity(most * one_record.l1, most**2 * one_record.l2_squared, self.steps)

    @property
    def counted(self) -> str:
        """What the estimates count, as a noun: ``"records"``, ``"presences"`` or ``"persons"``.

        Examples
        --------
        >>> [Person(records=10).counted, Person(cells=50).counted, Person(shares=True).counted]
        ['records', 'presences', 'persons']
        """
        return {Bound.RECORDS: "records", Bound.CELLS: "presences", Bound.SHARES: "persons"}[self.bound]

    def counted_in_words(self) -> str:
        """Return what areas count and what is left out, in sentences that follow those of `in_words`.

        Examples
        --------
        >>> print(Person(cells=50).counted_in_words())
        An area counts a person once for each of its cells. Presences above the bound were left out, and no estimate or
        interval makes up for them.
        """
        if self.shares:
            return "An area counts the part of each person that lies in it."
        areas = "An area counts a person once for each of its cells. " if self.bound is Bound.CELLS else ""
        left_out = "above the bound were left out, and no estimate or interval makes up for them."
        return f"{areas}{self.counted.capitalize()} {left_out}"

    def in_short(self) -> str:
        """Return the bound in a few words, for statements and captions.

        Examples
        --------
        >>> Person(records=10).in_short(), Person(shares=True).in_short()
        ('at most 10 records each', 'one share each')
        """
        if self.choice is not None:
            return f"a number of {self.bound} each that is chosen privately"
        how = "" if self.chosen is None else ", chosen privately"
        unit = str(self.bound)[:-1] if self.most == 1 else str(self.bound)
        return "one share each" if self.shares else f"at most {self.most:,} {unit} each{how}"

    def in_words(self) -> str:
        """Return what was counted of each person, in plain words.

        Examples
        --------
        >>> Person(cells=50).in_words()
        'each person was counted once in a cell (a presence), and in at most 50 cells'
        """
        if self.shares:
            return "each person was counted as one in all, divided over the cells in proportion to their records there"
        if self.choice is not None:
            return f"each person is counted with a number of {self.bound} that is chosen privately"
        how = "" if self.chosen is None else ", a number that was chosen privately"
        if self.cells is not None:
            cells = f"{self.most:,} cell{'s' * (self.most > 1)}"
            return f"each person was counted once in a cell (a presence), and in at most {cells}{how}"
        return f"each person was counted with at most {self.most:,} record{'s' * (self.most > 1)}{how}"

    def to_json(self) -> dict[str, Any]:
        """Return the bound as plain values for JSON.

        Examples
        --------
        >>> Person(shares=True).to_json(), Person(records=3).to_json()
        ({'shares': True}, {'records': 3})
        >>> Person(cells=Chosen(candidates=(1, 5))).at(5).to_json()
        {'cells': 5, 'chosen': {'share': '1/20', 'candidates': [1, 5], 'area': '1/100'}}
        """
        limit = self.choice.to_json() if self.choice is not None else True if self.shares else self.most
        return {str(self.bound): limit} | ({} if self.chosen is None else {"chosen": self.chosen.to_json()})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Person:
        """Rebuild the bound that `to_json` wrote; a `ValueError` or `TypeError` is raised for anything else.

        Examples
        --------
        >>> Person.from_json({"cells": 50})
        Person(cells=50)
        """
        if not isinstance(data, Mapping):
            raise TypeError
        values: dict[str, Any] = {
            name: Chosen.from_json(value) if isinstance(value, Mapping) else value for name, value in data.items()
        }
        try:
            return cls(**values)
        except ParameterError:
            raise ValueError from None


def unit_of(person: Person | None) -> str:
    """The name of the unit of privacy: ``"record"``, or ``"person"`` if there is a bound on persons.

    Examples
    --------
    >>> unit_of(None), unit_of(Person(cells=3))
    ('record', 'person')
    """
    return "record" if person is None else "person"
