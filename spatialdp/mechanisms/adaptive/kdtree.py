"""How is a private kd-tree released? Boxes follow the data: they are split at private medians and counted with noise.

Every level splits each node along x and then both halves along y, into four. The upper levels' lines
may be chosen privately from the records, which costs part of ε; the lower levels' lines are midpoints.
Growing is in `growth`, lines are in `lines`; this module divides the budget and must make every path
from the root to a leaf cost ε. See ``docs/mechanisms/kd-tree.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from spatialdp._support.checks import whole_number
from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp.errors import DomainError, ParameterError
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.mechanisms.adaptive.growth import Budgets, Growth, grow, plan_growth
from spatialdp.mechanisms.adaptive.lines import CellLines, Halves, Lines, MedianLines, TrueLines
from spatialdp.mechanisms.base import Plan, Terms
from spatialdp.mechanisms.level_budgets import BudgetRule, LevelBudget, level_costs
from spatialdp.mechanisms.tree_mechanism import TreeMechanism
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.medians import Median, check_epsilon
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.stated import stated
from spatialdp.privacy.unit import Person
from spatialdp.records.nodes import one_by_one
from spatialdp.records.points import Points, tree_records
from spatialdp.space.domain import Domain
from spatialdp.structures.base import step_of
from spatialdp.wording import either, parameter

__all__ = ["KdTree", "SplitRule"]

_GRID = "grid for the split lines"


class SplitRule(Option):
    """Rules by which a kd-tree chooses split lines from the records."""

    EXPONENTIAL = "exponential"
    SMOOTH = "smooth"
    NOISY_MEAN = "noisy-mean"
    CELL = "cell"
    TRUE = "true"


@dataclass(frozen=True)
class KdTree(TreeMechanism):
    """Noisy counts on a kd-tree with private split lines.

    Parameters
    ----------
    height : int
        Number of levels below the root, at most 14; each node has four children.
    median : {"exponential", "smooth", "noisy-mean", "cell", "true"}
        How split lines are chosen: by the exponential mechanism (the best), by smooth sensitivity, as a noisy mean,
        from a noisy grid, or as true medians. The last is for comparison only: such a release is not private and
        says so.
    median_share : number
        Share of ε for the split lines, between 0 and 1.
    data_levels : int, optional
        Number of upper levels whose lines are chosen from the records; lower levels are halved. All levels by
        default (kd-standard). About half the height (kd-hybrid) is often better. 0 spends nothing on lines.
    budget
        As for `Quadtree`. The budget that the lines leave is divided.
    consistent, prune, stop
        As for `Quadtree`.
    cells : int, optional
        For ``median="cell"``: side of the noisy grid; 64 by default.
    sampling : number, optional
        Choose lines from a secret random sample with this share of the records. For speed; add-remove only.
    law : {"discrete-laplace", "laplace"}
        Integer noise with geometric tails (the default), or Laplace noise on a lattice of 1/1024 counts.
        Gaussian noise is refused.

    Privacy
    -------
    Neighbours differ by one record, added or removed, or replaced. On every path from the root to a leaf
    there are a line along x and one along y for each data level, and a count for each level; their costs
    add up to ε exactly. Lines are lattice lines of the node's public box, drawn by `privacy.noise.medians`
    (which has the arguments); nodes of a level are disjoint, so a level costs its budget once (parallel
    composition). Once a line is released, both halves are public boxes. Under add-remove a level's counts
    have L1 sensitivity 1. Under replace one record leaves one node and enters another: lines are drawn at
    half their budget, so that both nodes together cost it, and counts have L1 sensitivity 2 (1 at the root).
    A person with at most L records, k of them in a node, costs k times what one record does there: lines are
    drawn at 1/L of their budget, so that the person's nodes together cost it, and counts have L times the
    sensitivity.
    "cell" spends the lines' share on one noisy grid and reads the lines off it. "true" is not private. The
    region is public. Cormode et al., "Differentially private spatial decompositions" (ICDE 2012). Path costs
    are checked in ``tests/mechanisms/adaptive/test_kdtree.py``, log-ratios of the lines in
    ``tests/privacy/noise/test_medians.py`` and ``tests/privacy/noise/test_smooth.py``, and those of whole
    releases by brute force in ``tests/audit/test_enumeration.py``.

    Notes
    -----
    Cormode et al. (ICDE 2012): kd-standard is the default, kd-hybrid ``data_levels=height // 2``, kd-cell
    ``median="cell"`` (Xiao et al. 2010), kd-noisymean ``median="noisy-mean"`` (Inan et al. 2010), kd-true
    ``median="true"``.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.KdTree(height=2).release([[0.1, 0.2]] * 50, domain, epsilon=10)
    >>> release.estimate.n_cells
    16
    """

    name: ClassVar[str] = "kd-tree"

    height: int
    median: Choice[SplitRule] = Choice(SplitRule.EXPONENTIAL)
    median_share: Number = Fraction(3, 10)
    data_levels: int | None = None
    budget: BudgetRule = LevelBudget.GEOMETRIC
    consistent: bool = True
    prune: float | None = None
    stop: float | None = None
    cells: int | None = None
    sampling: Number | None = None
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        self._check_tree()
        object.__setattr__(self, "median_share", exact(self.median_share, "median_share"))
        if self.data_levels is not None:
            object.__setattr__(self, "data_levels", whole_number(self.data_levels, "data_levels", 0, self.height))
        if self.cells is not None:
            object.__setattr__(self, "cells", whole_number(self.cells, "cells", 2, 4096))
        if self.sampling is not None:
            object.__setattr__(self, "sampling", exact(self.sampling, "sampling"))
        self._check_lines()

    def _check_lines(self) -> None:
        if self.law is Law.GAUSSIAN:
            raise ParameterError(
                f"{parameter('law')} is 'gaussian', but kd-trees need a Laplace law, because lines and counts share "
                "one ε; use 'discrete-laplace' or 'laplace'."
            )
        if not 0 < exact(self.median_share, "median_share") < 1:
            raise ParameterError(
                f"{parameter('median_share')} is {self.median_share}; it must lie strictly between 0 and 1."
            )
        if self.cells is not None and self.median is not SplitRule.CELL:
            raise ParameterError(
                f"{parameter('cells')} is {self.cells}, but only {parameter('median', 'cell')} reads lines off a grid; "
                f"leave {parameter('cells')} out, or use {parameter('median', 'cell')}."
            )
        if self.sampling is None:
            return
        if self.median in (SplitRule.CELL, SplitRule.TRUE):
            raise ParameterError(
                f"{parameter('sampling')} is {self.sampling}, but {parameter('median', self.median)} takes no sample; "
                f"leave {parameter('sampling')} out, or use another {parameter('median')}."
            )
        if not Fraction(1, 10**6) <= exact(self.sampling, "sampling") <= 1:
            raise ParameterError(
                f"{parameter('sampling')} is {self.sampling}; it must lie between 1e-6 and 1, or be "
                f"{either('None', 'left out')}."
            )

    @property
    @override
    def private(self) -> bool:
        """Whether the mechanism is private; false if split lines are true medians."""
        return self.median is not SplitRule.TRUE or not self._n_data_levels

    @property
    def _n_data_levels(self) -> int:
        return self.height if self.data_levels is None else self.data_levels

    @override
    def _design(self, domain: Domain, terms: Terms) -> Growth:
        if self.sampling is not None and terms.neighbours is Neighbours.REPLACE:
            raise ParameterError(
                f"{parameter('sampling')} is {self.sampling} and {parameter('neighbours')} is 'replace', but sampling "
                f"is only private for 'add-remove'; leave {parameter('sampling')} out."
            )
        if domain.region_raster is not None and not domain.region_raster.any():
            raise DomainError(
                "the region is thinner than a thousandth of the domain, so that no cell of its 1024 x 1024 raster has "
                f"its centre in it; choose smaller bounds, or the domain with {parameter('region_cells', 'touching')}."
            )
        self._check_shares(terms)
        budgets = self._budgets(terms)
        if budgets.line:
            check_epsilon(Median(str(self.median)), budgets.line / _weight(terms.person))
        side = self.cells or 64
        return plan_growth(
            domain,
            budgets,
            data_levels=self._n_data_levels,
            law=self.law,
            neighbours=terms.neighbours,
            stop=self.stop,
            grid=domain.grid((side, side)) if budgets.grid else None,
            person=terms.person,
        )

    def _check_shares(self, terms: Terms) -> None:
        if terms.person is not None and terms.person.shares and not self._takes_weights:
            raise ParameterError(
                f"{parameter('person')} is counted in shares, but lines by {parameter('median', self.median)}, or from "
                f"a sample, need whole records; use {parameter('median', 'exponential')} without "
                f"{parameter('sampling')}, or bound records or cells."
            )

    @property
    def _takes_weights(self) -> bool:
        """Whether places with weights are enough to choose lines, so that no record is needed by itself."""
        plain = self.median in (SplitRule.EXPONENTIAL, SplitRule.CELL) and self.sampling is None
        return plain or not self._n_data_levels

    @override
    def _plan(self, design: Growth) -> Plan:
        leaves = design.laws[-1]
        assert leaves is not None
        return Plan(
            mechanism=self.name,
            cells=4**self.height,
            currency="epsilon",
            budget=self._steps(design.budgets),
            noise=stated(_laws(design)),
            standard_deviation=math.sqrt(leaves.variance),
            memory=60 * (4 ** (self.height + 1) // 3),
        )

    @override
    def _blank(self, design: Growth) -> None:  # noqa: ARG002 - never known: records decide where the boxes are
        return None

    def _steps(self, budgets: Budgets) -> dict[str, Fraction]:
        steps: dict[str, Fraction] = {}
        if budgets.grid:
            steps[_GRID] = budgets.grid
        if budgets.line:
            for depth in range(self._n_data_levels):
                steps[f"lines along x at depth {depth}"] = steps[f"lines along y at depth {depth}"] = budgets.line
        return steps | {f"counts at depth {depth}": cost for depth, cost in enumerate(budgets.counts)}

    def _budgets(self, terms: Terms) -> Budgets:
        """Divide ε: the lines' share to two lines for each data level, or to a grid; the rest to the counts."""
        epsilon = terms.spendable(self.law)
        lines_cost = self._n_data_levels > 0 and self.median is not SplitRule.TRUE
        lines = epsilon * exact(self.median_share, "median_share") if lines_cost else Fraction(0)
        counts = level_costs(self.budget, self.height, epsilon - lines, self.law)
        if self.median is SplitRule.CELL:
            return Budgets(Fraction(0), lines, counts)
        return Budgets(lines / (2 * max(self._n_data_levels, 1)), Fraction(0), counts)

    @override
    def _estimate(self, points: Points, design: Growth, noise: Noise) -> Decomposition:
        # Records come first: reading them may fail, and then no noise has been drawn.
        records = tree_records(points, design.domain, design.person)
        lines = self._lines(points, design, noise)
        tree, counts = grow(design, records if self._takes_weights else one_by_one(records), lines, noise)
        return self._finished(self._decompose(design.domain, tree, counts, step_of(design.laws)))

    def _lines(self, points: Points, design: Growth, noise: Noise) -> Lines:
        if not design.data_levels:
            return Halves()
        if self.median is SplitRule.TRUE:
            return TrueLines()
        if design.cells is not None:
            cells = design.cells.structure
            counts = cells.measure(design.cells.counts(points))
            return CellLines(cells.grid, design.cells.carry_out(counts, noise).values)
        sampling = None if self.sampling is None else exact(self.sampling, "sampling")
        epsilon = design.budgets.line / _weight(design.person)
        return MedianLines(Median(str(self.median)), epsilon, design.neighbours, sampling, noise)


def _laws(design: Growth) -> dict[str, NoiseLaw | None]:
    """The noise of each step that draws some; lines are chosen, by laws of their own."""
    laws = {} if design.cells is None else {_GRID: design.cells.laws[0]}
    laws |= {f"counts at depth {depth}": law for depth, law in enumerate(design.laws)}
    return laws | ({} if design.stopping is None else design.stopping.named_laws())


def _weight(person: Person | None) -> int:
    """The largest sum of weights, or number of records, that one unit of privacy has in the tree."""
    return 1 if person is None else person.most * person.steps
