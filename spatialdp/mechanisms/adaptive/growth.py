"""How does a tree grow from the root down? Each level: noisy counts, then split lines, then four quarters.

`plan_growth` decides everything public in a `Growth`, before a record is looked at; `grow` carries it
out. Whether a node is divided must depend on released counts only, and every path from the root to a
leaf must cost the same. See ``docs/design/recipe.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from spatialdp._support.arrays import Booleans, Integers, Integers32
from spatialdp.mechanisms.adaptive.lines import Halves, Lines
from spatialdp.mechanisms.recipe import Design, design_of
from spatialdp.mechanisms.stopping import NoisyCounts, NoisyLevel, Stopping, count_level, joined, stopping_rule
from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, laws_for
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.unit import Person
from spatialdp.records.nodes import Nodes, Records
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.coverage import prefix_sums
from spatialdp.space.domain import RASTER_SHIFT, Domain, Grid
from spatialdp.structures.cells import CellCounts

__all__ = ["Budgets", "Growth", "grow", "plan_growth"]


@dataclass(frozen=True)
class Budgets:
    """The costs of a growing tree.

    Attributes
    ----------
    line : Fraction
        Cost of a level's lines along one axis.
    grid : Fraction
        Cost of the noisy grid that lines are read off.
    counts : tuple of Fraction
        Cost of each level's counts, root first.
    """

    line: Fraction
    grid: Fraction
    counts: tuple[Fraction, ...]


@dataclass(frozen=True)
class Growth:
    """All that is public about a tree before it grows.

    Attributes
    ----------
    domain : Domain
    neighbours : Neighbours
    budgets : Budgets
    data_levels : int
        Number of levels, from the root down, whose lines are not midpoints.
    laws : tuple of NoiseLaw or None
        Noise of each level's counts, root first; None where nothing is measured.
    stopping : Stopping or None
        The rule by which nodes end; their second counts get all that their path has left.
    cells : Design or None
        The noisy grid that lines are read off.
    person : Person or None
        The bound on what one person contributes, if persons are the unit.
    """

    domain: Domain
    neighbours: Neighbours
    budgets: Budgets
    data_levels: int
    laws: tuple[NoiseLaw | None, ...]
    stopping: Stopping | None
    cells: Design[CellCounts] | None
    person: Person | None = None


def plan_growth(
    domain: Domain,
    budgets: Budgets,
    *,
    data_levels: int,
    law: Law,
    neighbours: Neighbours,
    stop: float | None,
    grid: Grid | None,
    person: Person | None = None,
) -> Growth:
    """Decide everything public about a tree: the noise of every count that it may take."""
    height = len(budgets.counts) - 1
    sensitivities = [_sensitivity(neighbours, depth, person) for depth in range(height + 1)]
    left = [
        sum(budgets.counts[depth + 1 :], Fraction(0)) + 2 * budgets.line * max(data_levels - depth, 0)
        for depth in range(height)
    ]
    stopping = None if stop is None else stopping_rule(stop, left, law, sensitivities[:-1])
    return Growth(
        domain=domain,
        neighbours=neighbours,
        budgets=budgets,
        data_levels=data_levels,
        laws=laws_for(law, budgets.counts, sensitivities),
        stopping=stopping,
        cells=None if grid is None else design_of(CellCounts(grid), [budgets.grid], law, neighbours, person),
        person=person,
    )


def grow(growth: Growth, records: Records, lines: Lines, noise: Noise) -> tuple[Tree, NoisyCounts]:
    """Grow a tree from the root: count a level with noise, end or split its nodes, go on with the quarters.

    Nodes outside the region are left out. A node that ends is counted a second time with the budget that
    its path has left.

    Parameters
    ----------
    growth : Growth
    records : tuple of int arrays
        x and y of the records on the lattice, and what each of them counts, unless that is 1.
    lines : Lines
        How the lines of the data levels are chosen.
    noise : Noise
    """
    nodes = Nodes.root(*records)
    levels: list[_Level] = []
    for depth in range(len(growth.laws)):
        counted = count_level(nodes.counts, depth, growth.laws, growth.stopping, noise)
        level = _Level(nodes.boxes, np.zeros(len(nodes.boxes), dtype=np.int64), counted)
        levels.append(level)
        divided = np.flatnonzero(~counted.ended)
        if depth == len(growth.laws) - 1 or not divided.size:
            break
        parents = nodes.keep(~counted.ended) if counted.ended.any() else nodes
        nodes, parent = _quarter(growth.domain, parents, lines if depth < growth.data_levels else Halves())
        level.n_children[divided] = np.bincount(parent, minlength=divided.size)
    return _assembled(levels)


def _quarter(domain: Domain, nodes: Nodes, lines: Lines) -> tuple[Nodes, Integers]:
    """Split nodes along x and then along y; returns the quarters that touch the region, and each quarter's parent."""
    halves, of_half = nodes.split(lines.choose(nodes, 0), 0)
    quarters, of_quarter = halves.split(lines.choose(halves, 1), 1)
    parent = of_half[of_quarter]
    if domain.region is None:
        return quarters, parent
    inside = _touches(_region_sums(domain), quarters.boxes)
    return quarters.keep(inside), parent[inside]


@lru_cache(maxsize=2)
def _region_sums(domain: Domain) -> Integers32:
    """Prefix sums of the region's raster; cached, because every level and every release needs them."""
    assert domain.region_raster is not None
    return prefix_sums(domain.region_raster).astype(np.int32)


def _touches(sums: Integers32, boxes: Integers) -> Booleans:
    """Whether any raster cell of the region, given by its prefix sums, overlaps each box."""
    west, south = boxes[:, 0] >> RASTER_SHIFT, boxes[:, 1] >> RASTER_SHIFT
    east, north = ((boxes[:, 2] - 1) >> RASTER_SHIFT) + 1, ((boxes[:, 3] - 1) >> RASTER_SHIFT) + 1
    return np.asarray(sums[north, east] - sums[south, east] - sums[north, west] + sums[south, west] > 0)


@dataclass(frozen=True, eq=False)
class _Level:
    """The nodes of one level of a growing tree."""

    boxes: Integers
    n_children: Integers
    counted: NoisyLevel


def _sensitivity(neighbours: Neighbours, depth: int, person: Person | None) -> Sensitivity:
    """Sensitivity of the counts of one depth.

    Under replace, two counts below the root may change; only one does if the record leaves or enters a
    node that ended, or the domain. A person with at most L counts, k of them in a node, costs k / L of what
    the node costs, so all nodes together cost the mean over these counts of their paths.
    """
    one_record = count_sensitivity(neighbours, 1 if depth == 0 else 2)
    return one_record if person is None else person.sensitivity(one_record)


def _assembled(levels: list[_Level]) -> tuple[Tree, NoisyCounts]:
    """The levels as one tree and its noisy counts.

    Where all nodes of each level have the same noise, the counts have one variance for each level.
    """
    offsets = np.concatenate([[0], np.cumsum([len(level.boxes) for level in levels])])
    n_children, boxes = (np.concatenate([getattr(level, name) for level in levels]) for name in ("n_children", "boxes"))
    noisy = joined([level.counted for level in levels])
    if all(np.unique(level.counted.variances).size == 1 for level in levels):
        first = offsets[:-1]
        noisy = NoisyCounts(noisy.values, noisy.variances[first], noisy.kurtosis[first])
    return Tree(offsets, n_children, boxes), noisy
