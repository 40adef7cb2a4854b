"""Growing a tree downwards: noisy counts, then split lines, then the records' way into the quarters.

Everything public is decided in `Growth`, before a record is looked at; `grow` carries it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, Integers32
from spatialdp.mechanisms.adaptive.lines import Halves, Lines
from spatialdp.mechanisms.recipe import Design, design_of
from spatialdp.mechanisms.stopping import NoisyCounts, NoisyLevel, Stopping, count_level, joined, stopping_rule
from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, laws_for
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.nodes import Nodes
from spatialdp.space.coverage import prefix_sums
from spatialdp.space.domain import RASTER_SHIFT, Domain, Grid
from spatialdp.structures.cells import CellCounts
from spatialdp.trees.tree import Tree

__all__ = ["Budgets", "Growth", "grow", "plan_growth"]


@dataclass(frozen=True)
class Budgets:
    """Costs: of one line of one level, of a grid to read lines off, and of each level's counts, root first."""

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
        Levels whose lines are not midpoints, from the root down.
    laws : tuple of NoiseLaw or None
        Of each level's counts, root first; None where nothing is measured.
    stopping : Stopping or None
        When nodes end; their second counts get all that their path has left.
    cells : Design or None
        Of a grid that lines are read off.
    """

    domain: Domain
    neighbours: Neighbours
    budgets: Budgets
    data_levels: int
    laws: tuple[NoiseLaw | None, ...]
    stopping: Stopping | None
    cells: Design[CellCounts] | None


def plan_growth(
    domain: Domain,
    budgets: Budgets,
    *,
    data_levels: int,
    law: Law,
    neighbours: Neighbours,
    stop: float | None,
    grid: Grid | None,
) -> Growth:
    """Everything about a tree that its parameters decide: the noise of every count it may take."""
    height = len(budgets.counts) - 1
    sensitivities = [_sensitivity(neighbours, depth) for depth in range(height + 1)]
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
        cells=None if grid is None else design_of(CellCounts(grid), [budgets.grid], law, neighbours),
    )


def grow(
    growth: Growth, records: tuple[Integers32, Integers32], lines: Lines, noise: Noise
) -> tuple[Tree, NoisyCounts]:
    """Grow a tree from the root: count privately, stop or split, go on.

    Nodes outside the region are left out. A node that stops is counted once more with all that its path has left.
    """
    nodes = Nodes.root(*records)
    levels: list[_Level] = []
    for depth in range(len(growth.laws)):
        counted = count_level(nodes.counts, depth, growth.laws, growth.stopping, noise)
        level = _Level(nodes.boxes, np.zeros(len(nodes.boxes), dtype=np.int64), counted)
        levels.append(level)
        alive = np.flatnonzero(~counted.ended)
        if depth == len(growth.laws) - 1 or not alive.size:
            break
        going_on = nodes.keep(~counted.ended) if counted.ended.any() else nodes
        nodes, parent = _quarter(growth.domain, going_on, lines if depth < growth.data_levels else Halves())
        level.n_children[alive] = np.bincount(parent, minlength=alive.size)
    return _assembled(levels)


def _quarter(domain: Domain, nodes: Nodes, lines: Lines) -> tuple[Nodes, Integers]:
    """Split along x, then along y; leave out what lies outside the region. Also each quarter's parent."""
    halves, of_half = nodes.split(lines.choose(nodes, 0), 0)
    quarters, of_quarter = halves.split(lines.choose(halves, 1), 1)
    parent = of_half[of_quarter]
    if domain.region is None:
        return quarters, parent
    inside = _touches(_region_sums(domain), quarters.boxes)
    return quarters.keep(inside), parent[inside]


@lru_cache(maxsize=2)
def _region_sums(domain: Domain) -> Floats:
    """Prefix sums of the region's raster; kept between levels and releases."""
    assert domain.region_raster is not None
    return prefix_sums(domain.region_raster)


def _touches(sums: Floats, boxes: Integers) -> Booleans:
    """Whether any raster cell of the region, given by its prefix sums, overlaps each box."""
    west, south = boxes[:, 0] >> RASTER_SHIFT, boxes[:, 1] >> RASTER_SHIFT
    east, north = ((boxes[:, 2] - 1) >> RASTER_SHIFT) + 1, ((boxes[:, 3] - 1) >> RASTER_SHIFT) + 1
    return np.asarray(sums[north, east] - sums[south, east] - sums[north, west] + sums[south, west] > 0)


@dataclass(frozen=True, eq=False)
class _Level:
    """The nodes of one level."""

    boxes: Integers
    n_children: Integers
    counted: NoisyLevel


def _sensitivity(neighbours: Neighbours, depth: int) -> Sensitivity:
    """Of a level's counts. Below the root a replaced record may also come from a node that was stopped, or go there."""
    return count_sensitivity(neighbours, 1 if depth == 0 else 2)


def _assembled(levels: list[_Level]) -> tuple[Tree, NoisyCounts]:
    """The levels as one tree; where all nodes of each level were measured alike, with one variance for each level."""
    offsets = np.concatenate([[0], np.cumsum([len(level.boxes) for level in levels])])
    n_children, boxes = (np.concatenate([getattr(level, name) for level in levels]) for name in ("n_children", "boxes"))
    noisy = joined([level.counted for level in levels])
    if all(np.unique(level.counted.variances).size == 1 for level in levels):
        first = offsets[:-1]
        noisy = NoisyCounts(noisy.values, noisy.variances[first], noisy.kurtosis[first])
    return Tree(offsets, n_children, boxes), noisy
