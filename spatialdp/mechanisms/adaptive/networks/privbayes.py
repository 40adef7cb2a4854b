"""PrivBayes: choose privately which attributes depend on which, count each with its parents, and publish the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from spatialdp._support.checks import whole_number
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.flows.fit import CountNoise
from spatialdp.estimates.networks.counts import LARGEST_MODEL, NetworkCounts
from spatialdp.estimates.networks.model import Family
from spatialdp.mechanisms.adaptive.networks.association import SENSITIVITY, Occupied, association
from spatialdp.mechanisms.adaptive.networks.parents import candidates, level_sizes
from spatialdp.mechanisms.base import Mechanism, Terms
from spatialdp.mechanisms.plan import Plan
from spatialdp.networks.release import NetworkRelease
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.neighbours import Sensitivity, count_sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate
from spatialdp.privacy.noise.selection import exponential
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.stated import stated
from spatialdp.privacy.statement import Privacy
from spatialdp.privacy.unit import Person
from spatialdp.records.rows.rows import Rows, as_rows, count_rows
from spatialdp.release import Release
from spatialdp.space.frames.frame import Frame
from spatialdp.wording import parameter

__all__ = ["NetworkDesign", "PrivBayes"]

_NUMBER, _TABLES = "number of records", "counts of tables"  # steps, as plans and statements name them
_LARGEST_TABLE = 2**20  # cells of an attribute and its parents


@dataclass(frozen=True)
class NetworkDesign:
    """All that is public about a release by a network.

    Attributes
    ----------
    frame : Frame
    costs : dict of str to Fraction
        Cost of each step.
    total, cell : NoiseLaw
        Noise of the number of records, and of each count of a table.
    choice : Fraction
        ε of each choice of parents.
    moves : Fraction
        The most that one record, or one person, can move a score; in steps of the counts.
    person : Person or None
        The bound on what one person contributes.
    """

    frame: Frame
    costs: dict[str, Fraction]
    total: NoiseLaw
    cell: NoiseLaw
    choice: Fraction
    moves: Fraction
    person: Person | None


@dataclass(frozen=True)
class PrivBayes(Mechanism):
    """A model of places and categories: each attribute is counted together with those that it depends on most.

    Parameters
    ----------
    beta : number
        Share of the budget for choosing parents, between 0 and 1.
    theta : number
        How useful a table must be: the mean count of its cells is at least θ times the scale of the noise, by the noisy
        number of records. Smaller values allow larger tables.
    counting : number
        Share of the budget for that number, between 0 and 1.
    parents : int
        The most parents of an attribute.

    Raises
    ------
    ParameterError
        If a value is out of range, or the frame has more than 2^24 cells.

    Notes
    -----
    The first attribute is space; the published algorithm takes one at random. Parents may be levels of an axis, such as
    blocks of cells. `Table` is the better choice for maps: see ``docs/mechanisms/privbayes.md``.

    Privacy
    -------
    The number of records is private, and is measured: one record moves it by 1. Each choice of parents is an
    exponential mechanism with the score n·R, exact fractions. One record added or removed moves n·R by less than 2,
    replaced by less than 4, and each table of counts by 1 or 2 in L1 norm. A person of at most k records or cells moves
    all of them by k times as much; shares of persons are counted in steps, each of which moves scores as a record
    would. The argument is in ``mechanisms/adaptive/networks/association.py``. Which tables there are depends on
    released numbers and paid choices alone. Costs of all steps add up to ε; there is no δ.
    ``tests/audit/test_networks.py`` computes sensitivities by brute force, enumerates choices, and replays neighbours.
    Zhang, Cormode, Procopiuc, Srivastava, Xiao (SIGMOD 2014, TODS 2017), who take the number of records as public.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
    >>> rows = sdp.Rows([[0.1, 0.1]] * 300 + [[0.9, 0.2]] * 100, kind=["theft"] * 300 + ["fraud"] * 100)
    >>> release = sdp.PrivBayes().release(rows, frame, epsilon=100)
    >>> round(release.answer(kind="theft", box=(0, 0, 0.5, 1))), sorted(release.sample(2).columns)
    (300, ['kind', 'x', 'y'])
    """

    name: ClassVar[str] = "privbayes"
    frame: ClassVar[type] = Frame
    law: ClassVar[Law] = Law.DISCRETE_LAPLACE  # type: ignore[misc]  # choices are paid in ε

    beta: Number = Fraction(3, 10)
    theta: Number = Fraction(4)
    counting: Number = Fraction(1, 50)
    parents: int = 3

    def __post_init__(self) -> None:
        for name in ("beta", "theta", "counting"):
            object.__setattr__(self, name, exact(getattr(self, name), name))
        for name in ("beta", "counting"):
            if not 0 < self._number(name) < 1:
                raise ParameterError(
                    f"{parameter(name)} is {getattr(self, name)}; it is a share of the budget, and must lie between 0 "
                    "and 1. Give 3/10 for choices and 1/50 for the number of records, for example."
                )
        if self._number("beta") + self._number("counting") >= 1:
            raise ParameterError(
                f"{parameter('beta')} and {parameter('counting')} add up to 1 or more, which leaves nothing for the "
                "counts; give smaller shares."
            )
        if self._number("theta") <= 0:
            raise ParameterError(f"{parameter('theta')} is {self.theta}; it must be above 0. Give 4, for example.")
        object.__setattr__(self, "parents", whole_number(self.parents, "parents", 0, 7))

    def _number(self, name: str) -> Fraction:
        return exact(getattr(self, name), name)

    @override
    def _design(self, domain: Frame, terms: Terms) -> NetworkDesign:
        if domain.n_cells > LARGEST_MODEL:
            raise ParameterError(
                f"the frame has {domain.n_cells:,} cells; a network models at most {LARGEST_MODEL:,} of them. Take "
                "fewer or coarser cells or categories, or publish a Table."
            )
        count, whole = len(domain.axes), terms.spendable(self.law)
        number = whole * self._number("counting")
        choices = whole * self._number("beta") if count > 1 else Fraction(0)
        tables = whole - number - choices
        costs = {_NUMBER: number, "choices of parents": choices, _TABLES: tables}
        moved = _sensitivity(terms, 2)
        return NetworkDesign(
            domain,
            {name: cost for name, cost in costs.items() if cost},
            calibrate(self.law, number, _sensitivity(terms, 1)),
            calibrate(self.law, tables / count, moved),
            choices / max(count - 1, 1),
            Fraction(SENSITIVITY * moved.l1),
            terms.person,
        )

    @override
    def _plan(self, design: NetworkDesign) -> Plan:
        return Plan(
            mechanism=self.name,
            cells=design.frame.n_cells,
            currency="epsilon",
            budget=design.costs,
            noise=stated({_NUMBER: design.total, _TABLES: design.cell}),
            standard_deviation=math.sqrt(design.cell.variance),
            memory=24 * design.frame.n_cells,
            errors_of="table",
        )

    @override
    def _errors(self, design: NetworkDesign, domain: Frame) -> None:  # noqa: ARG002 - a model's errors are unknown
        return None

    @override
    def _missed(self, domain: Any) -> float | None:  # noqa: ARG002 - a table misses what its frame leaves out
        return None

    @override
    def _blank(self, design: NetworkDesign) -> None:  # noqa: ARG002 - choices shape the structure
        return None

    @override
    def _records(self, points: Any, domain: Frame, person: Person | None) -> Rows:
        return as_rows(points, domain, person)

    @override
    def _published(self, domain: Frame, statement: Privacy, estimate: Any) -> Release:
        return NetworkRelease(domain.domain, statement, estimate)  # type: ignore[arg-type]  # None for zones of codes

    @override
    def _estimate(self, points: Any, design: NetworkDesign, noise: Noise) -> Any:
        occupied = Occupied(design.frame, count_rows(points, design.frame, design.person))
        counted = design.total.add_to(occupied.total(), noise).item()
        families = self._families(occupied, design, self._largest(counted, design), noise)
        tables = tuple(design.cell.add_to(occupied.table(family), noise) for family in families)
        return NetworkCounts(design.frame, families, tables, counted, _noise_of(design.cell), _noise_of(design.total))

    def _largest(self, counted: float, design: NetworkDesign) -> float:
        """Return the size of the largest useful table: its mean count is θ times the scale of the noise."""
        scale = float(design.cell.parameter / design.cell.steps)
        return min(max(counted, 0.0) / (float(self._number("theta")) * scale), _LARGEST_TABLE)

    def _families(self, occupied: Occupied, design: NetworkDesign, largest: float, noise: Noise) -> tuple[Family, ...]:
        """Choose the parents of one attribute after the other; each choice is paid for."""
        sizes, names = level_sizes(design.frame), list(design.frame.names)
        families = [Family(names[0])]
        left = names[1:]
        while left:
            known = [family.child for family in families]
            possible = candidates(sizes, known, left, largest, int(self.parents))
            scores = [association(occupied.table(family)) for family in possible]
            families.append(possible[exponential(scores, design.choice, design.moves, noise)])
            left.remove(families[-1].child)
        return tuple(families)


def _sensitivity(terms: Terms, cells: int) -> Sensitivity:
    """How far one record, or one person, moves so many disjoint counts; more of them are moved no further than two."""
    one_record = count_sensitivity(terms.neighbours, cells)
    return one_record if terms.person is None else terms.person.sensitivity(one_record)


def _noise_of(law: NoiseLaw) -> CountNoise:
    return CountNoise(law.variance, law.kurtosis, law.step)
