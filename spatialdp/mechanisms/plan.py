"""What is known about a release before any record is read? Its cost, its size and its noise: the plan.

A plan is computed from public values alone, by `Mechanism.plan`. It prints as a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from spatialdp._support.json_values import with_exact
from spatialdp._support.tables import html_table
from spatialdp.privacy.noise.stated import StatedNoise
from spatialdp.privacy.statement import format_exact, listed
from spatialdp.privacy.unit import Person

__all__ = ["Listing", "Plan"]


@dataclass(frozen=True)
class Listing:
    """What a release that lists few of very many places will list.

    Attributes
    ----------
    threshold : float
        The noisy count from which on a place is listed.
    false : float
        How many empty places are expected on the list, if all places are empty.
    chances : dict of int to float
        For counts around the threshold, the probability with which a place of that count is listed.
    bytes_of_a_record : int
        Bytes of memory that are taken for each record.
    of : str
        What is listed, as a noun: places, or pairs of them.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> plan = sdp.Sparse((2**30, 2**30)).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> plan.listing.memory_for(1_000_000) // 10**6
    60
    """

    threshold: float
    false: float
    chances: dict[int, float]
    bytes_of_a_record: int
    of: str = "places"

    def memory_for(self, records: int) -> int:
        """Return about how many bytes a public number of records takes at most."""
        return records * self.bytes_of_a_record

    def rows(self, counted: str) -> list[tuple[str, str]]:
        """Return the rows of a plan's table that are about the list."""
        chances = "; ".join(f"{count:,} {100 * chance:.3g} %" for count, chance in self.chances.items())
        return [
            ("threshold", f"{self.threshold:,.6g} {counted}: {self.of} with fewer are rarely listed"),
            ("listed", f"with probability, for {counted}: {chances}"),
            ("false", f"{self.false:,.3g} empty {self.of} expected on the list"),
            ("records", f"take {self.bytes_of_a_record} bytes of memory each"),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain values for JSON."""
        chances = {str(count): chance for count, chance in self.chances.items()}
        return {"threshold": self.threshold, "false": self.false, "chances": chances}


@dataclass(frozen=True)
class Plan:
    """Cost, size and noise of a release; known before any record is read.

    Attributes
    ----------
    mechanism : str
    cells : int
        Number of cells in the region; for kd-trees, the largest possible number.
    currency : str
        The unit of `budget`: ``"epsilon"``, or ``"rho"`` (zCDP).
    budget : dict of str to Fraction
        Cost of each step.
    standard_deviation : float
        Standard deviation of the noise in one cell's estimate after the fit: the root-mean-square over
        the region's cells, or over 400 of them spread evenly. Where the cells depend on the records
        (kd-trees, trees that are pruned or stopped), that of one count of the deepest level before the
        fit; for adaptive trees, that of a block which is divided once. For `Fourier` without all
        coefficients, the root-mean-square over all cells, of the noisiest block if there is a choice.
    memory : int
        Bytes that counts and estimates take.
    errors : dict of str to float
        Root-mean-square error, from noise, of boxes with 1 % and 10 % of the domain's area and of the
        whole domain. Empty where the error depends on the records, as for kd-trees.
    limits : dict of str to int
        Public limits at which private numbers are cut off; empty if there are none.
    candidates : dict of int to Plan
        If the bound on persons is chosen when records are released: the plan for each bound that may be chosen. The
        standard deviation above is then that of the largest bound, and `errors` is empty.
    missed : float, optional
        Share of the region's area, in the domain's units, that lies in no cell of the region: records
        there count nowhere. 0 where all cells that touch the region belong to it; None without a region.
    person : Person, optional
        The bound on what one person contributes, if the unit of privacy is a person.
    errors_of : {"boxes", "zones", "table", "flows", "trajectories"}
        What the names of `errors` are: shares of the domain's area that boxes cover, levels of zones, parts of a
        table, counts of flows, or groups of weights of trajectories.
    invariants : tuple of str
        Levels of zones whose totals are published exactly, outside of the promise.
    listing : Listing, optional
        What will be listed, if the release is a list of few of very many places.
    noise : dict of str to StatedNoise
        Law and exact parameter of the noise of each step that draws noise. A step that chooses has none: its law
        follows from its cost.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> print(sdp.Flat(shape=(64, 64)).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1))
    method    flat
    cells     4,096
    memory    about 0.1 MB for counts and estimates
    noise     standard deviation 1.357 in one cell
    cost      ε = 1
                1  counts
    error     expected from noise (root mean square), for boxes that cover
                1 % of the domain   8.233
                10 % of the domain  27.01
                the whole domain    86.85
    >>> print(sdp.Flat(shape=(64, 64)).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1, person=sdp.Person(cells=20)))
    method    flat
    cells     4,096
    person    each person is counted once in a cell (a presence), and in at most 20 cells
    memory    about 0.1 MB for counts and estimates
    noise     standard deviation 28.28 in one cell
    cost      ε = 1
                1  counts
    error     expected from noise (root mean square, in presences), for boxes that cover
                1 % of the domain   171.6
                10 % of the domain  562.9
                the whole domain    1,810
    """

    mechanism: str
    cells: int
    currency: str
    budget: dict[str, Fraction]
    standard_deviation: float
    memory: int
    errors: dict[str, float] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    candidates: dict[int, Plan] = field(default_factory=dict)
    missed: float | None = None
    person: Person | None = None
    errors_of: str = "boxes"
    invariants: tuple[str, ...] = ()
    listing: Listing | None = None
    noise: dict[str, StatedNoise] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(f"{name:9} {text}" for name, text in self.rows())

    def _repr_html_(self) -> str:
        """The plan as a table, for notebooks."""
        return html_table("Plan of a release", ((name, " ".join(text.split())) for name, text in self.rows()))

    def rows(self) -> list[tuple[str, str]]:
        """Return the table that `print` shows: names and texts; rows of details have no name.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> sdp.Flat(shape=(64, 64)).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1).rows()[1]
        ('cells', '4,096')
        """
        words = _WORDS[self.errors_of]
        currency = "ε" if self.currency == "epsilon" else "ρ (zCDP)"
        return [
            ("method", self.mechanism),
            (words.counted, f"{self.cells:,}"),
            *([] if not self.invariants else [("exact", f"{listed(self.invariants)}: outside of the promise")]),
            *([] if self.missed is None else [("region", _coverage(self.missed))]),
            *([] if self.person is None else [("person", self.person.in_words().replace("was counted", "is counted"))]),
            ("memory", f"{_megabytes(self.memory)} for counts and estimates"),
            ("noise", f"standard deviation {self._deviations()} {words.smallest}"),
            ("cost", f"{currency} = {format_exact(self._cost)}"),
            *_details([(format_exact(cost), step) for step, cost in self.budget.items()]),
            *self._error_rows(),
            *([] if self.listing is None else self.listing.rows(self._counted)),
            *(("limit", f"{name}: {limit:,}") for name, limit in self.limits.items()),
        ]

    @property
    def _counted(self) -> str:
        return "records" if self.person is None else self.person.counted

    def _deviations(self) -> str:
        first = next(iter(self.candidates.values()), self).standard_deviation
        return f"{first:,.4g}" if not self.candidates else f"{first:,.4g} to {self.standard_deviation:,.4g}"

    def _error_rows(self) -> list[tuple[str, str]]:
        foreseen = {most: plan.errors for most, plan in self.candidates.items() if plan.errors}
        if foreseen:
            names = [f"{size:>9}" for size in next(iter(foreseen.values()))]
            numbers = [(f"{most:,}", [f"{error:>9,.4g}" for error in of.values()]) for most, of in foreseen.items()]
            details = [(first, "  ".join(others)) for first, others in [("bound", names), *numbers]]
            title = "depends on the bound; expected from noise (root mean square), for boxes that cover"
            return [("error", title), *_details(details)]
        if not self.errors:
            return [("error", "depends on the records, so it cannot be computed beforehand")]
        words = _WORDS[self.errors_of]
        details = [(words.named(name), f"{error:,.4g}") for name, error in self.errors.items()]
        unit = "" if self.person is None else f", in {self.person.counted}"
        return [("error", f"expected from noise (root mean square{unit}), for {words.of}"), *_details(details)]

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain values for JSON: numbers for programs, and beside them the exact fractions.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> plan = sdp.Flat(shape=(64, 64)).plan(sdp.Domain((0, 0, 1, 1)), epsilon=0.1).to_json()
        >>> plan["cost"], plan["cost_exact"], plan["budget"]
        (0.1, '1/10', {'counts': 0.1})
        """
        return {
            "mechanism": self.mechanism,
            "cells": self.cells,
            "currency": self.currency,
            **with_exact({"cost": self._cost, "budget": self.budget}),
            "standard_deviation": self.standard_deviation,
            "memory": self.memory,
            "errors": self.errors,
            "limits": self.limits,
            "missed": self.missed,
            **({} if self.errors_of == "boxes" else {"errors_of": self.errors_of}),
            **({"invariants": list(self.invariants)} if self.invariants else {}),
            **({} if self.person is None else {"person": self.person.to_json()}),
            **({} if self.listing is None else {"listing": self.listing.to_json()}),
            **({"candidates": self._candidates_json()} if self.candidates else {}),
        }

    def _candidates_json(self) -> dict[str, Any]:
        plans = self.candidates.items()
        return {
            str(most): {"standard_deviation": each.standard_deviation, "errors": each.errors} for most, each in plans
        }

    @property
    def _cost(self) -> Fraction:
        return sum(self.budget.values(), Fraction())


def _details(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return indented rows with two aligned columns."""
    width = max((len(first) for first, _ in pairs), default=0)
    return [("", f"  {first:{width}}  {second}") for first, second in pairs]


def _coverage(missed: float) -> str:
    if not missed:
        return "covered by its cells: 0 % of its area is missed"
    return f"{missed:.2%} of its area lies in no cell, and records there count nowhere".replace("%", " %")


def _megabytes(size: int) -> str:
    return f"about {size / 1e6:,.1f} MB" if size >= 1e5 else "less than 0.1 MB"


def _area(size: str) -> str:
    return "the whole domain" if size == "whole" else f"{size} of the domain"


@dataclass(frozen=True)
class _Words:
    """How a plan speaks of one kind of errors: what is counted, the smallest part, and what the errors are of."""

    counted: str
    smallest: str
    of: str
    named: Callable[[str], str] = str


_WORDS = {
    "boxes": _Words("cells", "in one cell", "boxes that cover", _area),
    "zones": _Words("zones", "in one zone of the lowest level", "one zone of the level"),
    "table": _Words("cells", "in one cell", "answers about"),
    "trajectories": _Words("cells", "in the weight of one cell, in trajectories", "one weight or count of a"),
    "flows": _Words("pairs", "in one pair", "one count of"),
}
