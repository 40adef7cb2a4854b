"""How are trajectories published? As ends, lengths, and moves in one system of cells, chosen and pruned privately.

Ends, lengths and extents are counted by themselves, so that the tree of moves is there for the way alone. The system of
cells is a level of the quadtree, chosen by how much of the weight of moves would stand out of the noise. Its cells are
weighed and pruned, and moves are weighed from the cells that are left. Synthetic trajectories are drawn from that.
Everything but the trajectories is public. See ``docs/mechanisms/trajectories.md`` and ``docs/design/trajectories.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from spatialdp._support.checks import whole_number
from spatialdp._support.override import override
from spatialdp.errors import DomainError, ParameterError
from spatialdp.estimates.flows.counts import FlowCounts, margins_of
from spatialdp.estimates.flows.fit import CountNoise
from spatialdp.estimates.trajectories.model import PathModel, pruned
from spatialdp.estimates.trajectories.tables import LengthTable
from spatialdp.mechanisms.base import Mechanism, Terms
from spatialdp.mechanisms.plan import Plan
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.neighbours import Sensitivity, count_sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate
from spatialdp.privacy.noise.selection import exponential
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.stated import stated
from spatialdp.privacy.statement import Privacy
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.rows.path_weights import (
    cell_weights,
    end_counts,
    extent_counts,
    habit_weights,
    learnable,
    length_counts,
    move_weights,
)
from spatialdp.records.rows.tracks import Paths, Tracks, as_tracks, paths_of
from spatialdp.space.domain import Domain
from spatialdp.space.frames.frame import Frame
from spatialdp.space.paths.systems import (
    CLASSES,
    EXTENTS,
    LONGEST_STEP,
    MOST_CHANCES,
    MOST_END_LEVELS,
    MOST_LEVELS,
    MOST_STEPS,
    TURNS,
    WHOLE,
    System,
    length_edges,
)
from spatialdp.space.regions.cells import RegionCells
from spatialdp.trajectories.release import TrajectoryRelease
from spatialdp.wording import either, parameter, quoted

__all__ = ["Trajectories", "TrajectoryDesign"]

ENDS, LENGTHS, WIDTHS = "trajectories of each pair of ends", "lengths by distance", "extents by length"
CHOICE = "choice of the system"
CELLS, MOVES, HABITS = "cells of the system", "moves from cells that are kept", "turns and stays"
SHARES = {
    ENDS: Fraction(1, 5),
    LENGTHS: Fraction(2, 25),
    WIDTHS: Fraction(1, 20),
    CHOICE: Fraction(1, 20),
    CELLS: Fraction(6, 25),
    MOVES: Fraction(17, 50),
    HABITS: Fraction(1, 25),
}


@dataclass(frozen=True)
class TrajectoryDesign:
    """All that is public about a release of trajectories.

    Attributes
    ----------
    domain : Domain
    step : Fraction
        Seconds from one position to the next.
    longest : int
        The most steps of a trajectory.
    blocks : System
        The system in which ends are counted.
    systems : tuple of System
        Those that one is chosen from.
    frame : Frame
        The blocks in which trajectories begin and end.
    laws : dict of str to NoiseLaw
        Noise of the groups, by step; weights are whole numbers of 2^-20 trajectories.
    moved : int
        The most that one unit of privacy changes the score of a system, in these steps of weights.
    threshold : int
        The weight from which on a move stands out of the noise, in these steps.
    costs : dict of str to Fraction
        Cost of each step.
    person : Person or None
        The bound on what one person contributes.
    """

    domain: Domain
    step: Fraction
    longest: int
    blocks: System
    systems: tuple[System, ...]
    frame: Frame
    laws: dict[str, NoiseLaw]
    moved: int
    threshold: int
    costs: dict[str, Fraction]
    person: Person | None


@dataclass(frozen=True)
class Trajectories(Mechanism):
    """Trajectories: a released model of where they begin, end and go, to draw synthetic ones from. Experimental.

    Parameters
    ----------
    step : number
        Seconds from one position to the next; trajectories are read off at equal steps of time.
    longest : int
        The most steps of a trajectory; what comes later is cut off.
    ends : int
        Trajectories begin and end in one of 2^ends by 2^ends blocks of the domain.
    systems : tuple of int
        Levels of the quadtree, of which one is chosen privately: level 5 has 32 by 32 cells. If only one is given,
        nothing is spent on a choice.

    Privacy
    -------
    The unit is a trajectory, which statements call a record, or, with ``Person(records=k)``, a person with at most k
    trajectories. Neighbours differ by one more, or by one that is replaced. The shares of ε of seven steps add up to ε
    (sequential composition; later steps may depend on what earlier ones released):

    1. A trajectory is in one pair of ends: L1 norm 1. All pairs are published; how likely each is to be drawn is
       post-processing.
    2. It has one length and one distance between its ends: L1 norm 1.
    3. It has one length and one extent: L1 norm 1.
    4. The score of a system is the weight of its moves above a public threshold, times a public factor below 1. Weights
       of one trajectory add up to at most 1, and ``max(weight - threshold, 0)`` grows no faster than the weight. So
       adding one raises a score by at most 1 and replacing one changes it by at most 1: sensitivity 1, for the
       exponential mechanism.
    5. to 7. Weights of cells, of moves, and of turns and stays: a trajectory divides one unit of 2^20 whole steps over
       its tokens, rounded down, so that **whatever its length**, it adds at most one unit to a group in L1 norm. Moves
       are weighed from cells that were kept, which is decided by released numbers.

    Replacing a trajectory doubles the L1 norms; a person with at most k trajectories has k times all. Noise is discrete
    Laplace of scale (L1 sensitivity) / (share of ε). There is no δ. The numbers and lengths of trajectories show
    nowhere but in these. ``tests/audit/test_trajectories.py`` computes the sensitivities by brute force, enumerates the
    choice on tiny cases, replays neighbours, and catches planted bugs.

    Notes
    -----
    Fixes outside the domain or its region are left out, and what is left is one trajectory. A fix lies in the region if
    the cells around it, of all systems, touch the region. Of a person, the trajectories that begin first are kept.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> times = ["2024-01-01 08:00", "2024-01-01 08:05"] * 500
    >>> tracks = sdp.Tracks([[0.1, 0.1], [0.4, 0.2]] * 500, tid=[i // 2 for i in range(1000)], time=times)
    >>> release = sdp.Trajectories().release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> release.sample(10).tid.nunique()
    10
    """

    name: ClassVar[str] = "trajectories"
    law: ClassVar[Law] = Law.DISCRETE_LAPLACE  # type: ignore[misc]  # its tails are known exactly

    step: Number = Fraction(60)
    longest: int = 60
    ends: int = 3
    systems: tuple[int, ...] = (4, 5, 6)

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", exact(self.step, "step"))
        if not 10**-6 <= exact(self.step, "step") <= LONGEST_STEP or (exact(self.step, "step") * 10**6).denominator > 1:
            raise ParameterError(
                f"{parameter('step')} is {self.step}; it is the time from one position to the next, and must be a "
                "whole number of microseconds, from 1e-6 to 1e8 seconds. Give 60, for example."
            )
        object.__setattr__(self, "longest", whole_number(self.longest, "longest", 1, MOST_STEPS))
        object.__setattr__(self, "ends", whole_number(self.ends, "ends", 0, MOST_END_LEVELS))
        given = self.systems if isinstance(self.systems, tuple | list) else (self.systems,)
        levels = tuple(whole_number(level, "systems", self.ends, MOST_LEVELS) for level in given)
        if not levels or len(set(levels)) < len(levels):
            raise ParameterError(
                f"{parameter('systems')} is {quoted(self.systems)}; give different levels of the quadtree, such as "
                f"{quoted((4, 5, 6))}."
            )
        object.__setattr__(self, "systems", tuple(sorted(levels)))
        if self.longest * 4 ** max(levels) > MOST_CHANCES:
            raise ParameterError(
                f"{parameter('longest')} is {self.longest:,} and the finest system has {4 ** max(levels):,} cells; "
                f"their product may be at most {MOST_CHANCES:,}, because drawing trajectories looks at each cell in "
                "each step. Take longer steps of time, or a coarser system."
            )

    @override
    def _design(self, domain: Domain, terms: Terms) -> TrajectoryDesign:
        if domain.region_cells is RegionCells.CENTRES:
            raise DomainError(
                f"the region's cells are those whose centre lies in it ({parameter('region_cells')}), but cells of "
                "several sizes are needed, each within those of the next size; give the region with the cells that "
                "touch it."
            )
        if terms.person is not None and (terms.person.bound is not Bound.RECORDS or terms.person.choice is not None):
            raise ParameterError(
                f"{parameter('person')} is {terms.person!r}, but of a person a number of whole trajectories is kept; "
                f"give {either('spatialdp.Person(records=5)', '--person records=5')}, for at most 5."
            )
        blocks, systems = System(self.ends), tuple(map(System, self.systems))
        frame = Frame(domain.grid((blocks.side, blocks.side)))
        whole, shares = terms.spendable(self.law), dict(SHARES)
        if len(systems) == 1:
            shares[MOVES] += shares.pop(CHOICE)
        costs = {name: whole * share for name, share in shares.items()}
        pairs, lengths = frame.space.size**2, length_edges(self.longest).size - 1
        sizes = {ENDS: (pairs, 1), LENGTHS: (CLASSES * lengths, 1), WIDTHS: (len(EXTENTS) * lengths, 1)}
        sizes |= {CELLS: (systems[-1].n_cells, WHOLE), MOVES: (2, WHOLE), HABITS: (TURNS + 2, WHOLE)}
        laws = {name: calibrate(self.law, costs[name], _sensitivity(*size, terms)) for name, size in sizes.items()}
        return TrajectoryDesign(
            domain=domain,
            step=exact(self.step, "step"),
            longest=self.longest,
            blocks=blocks,
            systems=systems,
            frame=frame,
            laws=laws,
            moved=WHOLE * (1 if terms.person is None else terms.person.most),
            threshold=math.ceil(3 * laws[MOVES].parameter),
            costs=costs,
            person=terms.person,
        )

    @override
    def _plan(self, design: TrajectoryDesign) -> Plan:
        system = design.systems[-1]
        return Plan(
            mechanism=self.name,
            cells=system.n_cells,
            currency="epsilon",
            budget=design.costs,
            noise=stated(design.laws),
            standard_deviation=math.sqrt(design.laws[CELLS].variance),
            memory=8 * (10 * system.n_cells + (design.longest + 1) * system.n_cells),
            errors_of="trajectories",
        )

    @override
    def _errors(self, design: TrajectoryDesign, domain: Domain) -> tuple[float, dict[str, float]]:  # noqa: ARG002 - base
        """Standard deviations of the noise in one number of each group, in trajectories."""
        names = {
            "pair of ends": ENDS,
            "length": LENGTHS,
            "extent": WIDTHS,
            "cell": CELLS,
            "move": MOVES,
            "kind of turn": HABITS,
        }
        roots = {short: math.sqrt(design.laws[name].variance) for short, name in names.items()}
        return roots["cell"], roots

    @override
    def _missed(self, domain: Any) -> float | None:
        return None if domain.region is None else 0.0  # all cells that touch the region belong to it

    @override
    def _blank(self, design: TrajectoryDesign) -> None:  # noqa: ARG002 - noise shapes the structure
        return None

    @override
    def _records(self, points: Any, domain: Domain, person: Person | None) -> Any:
        return as_tracks(points, domain, person)

    @override
    def _published(self, domain: Domain, statement: Privacy, estimate: Any) -> Any:
        return TrajectoryRelease(domain, statement, estimate)

    @override
    def _estimate(self, points: Any, design: TrajectoryDesign, noise: Noise) -> Any:
        tracks: Tracks = points
        laws, step = design.laws, int(design.step * 10**6)
        around = (design.blocks, design.systems[-1])
        paths = paths_of(tracks, design.domain, step, design.longest, design.person, systems=around)
        ends = laws[ENDS].add_to(end_counts(paths, design.blocks, design.frame), noise)
        lengths = laws[LENGTHS].add_to(length_counts(paths, design.blocks, design.longest), noise)
        extents = laws[WIDTHS].add_to(extent_counts(paths, design.longest), noise)
        system = _chosen(paths, design, noise)
        inside = system.inside(design.domain)
        cells = pruned(laws[CELLS].add_to(cell_weights(paths, system), noise), system, inside)
        moves = laws[MOVES].add_to(move_weights(paths, system)[cells > 0], noise)
        habits = laws[HABITS].add_to(habit_weights(paths, system), noise)
        return PathModel(
            seconds=design.step,
            blocks=design.blocks,
            system=system,
            longest=design.longest,
            ends=FlowCounts(design.frame, None, ends, *margins_of(ends), _noise_of(laws[ENDS]), None),
            lengths=LengthTable(lengths.reshape(CLASSES, -1), _noise_of(laws[LENGTHS])),
            extents=LengthTable(extents.reshape(len(EXTENTS), -1), _noise_of(laws[WIDTHS])),
            cells=cells,
            moves=moves,
            habits=habits,
            scale=float(laws[MOVES].parameter) * laws[MOVES].step,
        )


def _noise_of(law: NoiseLaw) -> CountNoise:
    return CountNoise(law.variance, law.kurtosis, law.step)


def _chosen(paths: Paths, design: TrajectoryDesign, noise: Noise) -> System:
    """Choose the system in which most weight of moves stands out of the noise, finer ones before coarser ones.

    What stands out in a system is known to within one of its cells, and the rest to within a block of ends. So the
    score is that weight, times the share of a block's side by which a cell is narrower.
    """
    if len(design.systems) == 1:
        return design.systems[0]
    scores = [
        learnable(move_weights(paths, system), design.threshold) * _gain(system, design.blocks)
        for system in design.systems
    ]
    return design.systems[exponential(scores, design.costs[CHOICE], Fraction(design.moved), noise)]


def _gain(system: System, blocks: System) -> Fraction:
    """By which share the side of a cell is shorter than that of a block; less than 1."""
    return 1 - Fraction(1, 1 << system.level - blocks.level) if system.level > blocks.level else Fraction(0)


def _sensitivity(cells: int, unit: int, terms: Terms) -> Sensitivity:
    """How far one trajectory, or one person, moves a group of weights, if a trajectory has `unit` steps to give."""
    one = count_sensitivity(terms.neighbours, cells)
    moved = one if terms.person is None else terms.person.sensitivity(one)
    return Sensitivity(moved.l1 * unit, moved.l2_squared * unit**2, unit)
