"""How does a tree find out where records are dense? By a descent that released counts decide, block by block.

The number of records and sixteen blocks are counted first. Then every block is either counted once more, divided into
final blocks, or divided into sixteen blocks that are counted with a part of the remaining budget and decided about in
turn. Records are dense where counts are large against their noise, so such blocks are divided further.

Two rules make this private (``docs/design/adaptive.md``). Only `Measure` reads counts. And what it is asked next, and
at which cost, must follow from the counts that it has released and from public numbers alone, while every path from
the root to a cell spends the same number of units, whatever the counts are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers, Integers32
from spatialdp.mechanisms.adaptive.choices import (
    SPLITS,
    Choice,
    choose,
    first_part,
    first_parts,
    forecast_variance,
    heterogeneity,
    parts_of,
    same_choice,
)
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate
from spatialdp.privacy.unit import Person
from spatialdp.space.boxes.subdivision import Subdivision
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.domain import Grid
from spatialdp.trees.least_squares import two_pass

__all__ = ["UNITS", "Descent", "Measure", "Transcript", "descend", "distinct", "plan_descent"]

UNITS = 10**6  # the budget is divided into so many equal parts, so that all costs are exact
CAUTION = 0.8  # own weights are so much smaller than forecast variances suggest
_MANY = 2**14  # costs, from which on it takes less time to mark those that occur than to sort all
TOTAL_FORECAST = 12  # the variance of the first blocks' sum, in units of what it would be if they got the whole budget

# Noisy counts of blocks (n, 4), each at a cost in units.
Measure = Callable[[Integers32, Integers], Floats]


@dataclass(frozen=True, eq=False)
class Descent:
    """All that is public about a descent.

    Attributes
    ----------
    grid : Grid
    whole : Fraction
        The whole budget: ε, or ρ for Gaussian noise.
    law : Law
    total, path : int
        Units for the number of records, and for every path from the first blocks to a cell.
    laws : mapping of int to NoiseLaw
        The noise of a count, for each cost in units that can occur.
    person : Person or None
        The bound on what one person contributes, if persons are the unit.
    """

    grid: Grid
    whole: Fraction
    law: Law
    total: int
    path: int
    laws: Mapping[int, NoiseLaw]
    person: Person | None = None

    def strength(self, units: Array) -> Floats:
        """√2 over the standard deviation of noise at a cost in units: for Laplace noise the cost itself, in ε."""
        cost = float(self.whole) * np.asarray(units, dtype=np.float64) / UNITS
        most = 1 if self.person is None else self.person.most
        return (2 * np.sqrt(cost) if self.law is Law.GAUSSIAN else cost) / most

    def moments(self, units: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise at costs in units."""
        costs, place = distinct(units), np.empty(UNITS + 1, dtype=np.int64)
        place[costs] = np.arange(costs.size)
        laws, which = [self.laws[int(cost)] for cost in costs], place.take(units)
        variances, kurtosis = (np.array([getattr(law, name) for law in laws]) for name in ("variance", "kurtosis"))
        return variances.take(which), kurtosis.take(which)


def distinct(units: Integers) -> Integers:
    """The different costs in units, in order; of millions of costs there are but a few.

    Examples
    --------
    >>> distinct(np.array([7, 5, 7])).tolist()
    [5, 7]
    """
    if units.size < _MANY:
        return np.unique(units)
    occurs = np.zeros(UNITS + 1, dtype=bool)
    occurs[units] = True
    return np.flatnonzero(occurs)


def plan_descent(
    grid: Grid, whole: Fraction, law: Law, neighbours: Neighbours, person: Person | None = None
) -> Descent:
    """Decide everything public about a descent, and the noise of every count that it may take.

    If a record is added or removed, the number of records and the counts along one path change; if it is replaced, the
    number of records and the counts along two paths. The number of records gets one unit in a hundred. A person with at
    most L counts has k of them in a block, which costs at most k / L of what it costs in all (for Gaussian noise the
    square of that, which is less); so all blocks together cost the mean over the person's counts of their paths.
    """
    total = UNITS // 100
    path = UNITS - total if neighbours is Neighbours.ADD_REMOVE else (UNITS - total) // 2
    firsts = set(first_parts(path))
    costs, left = {total, path} | firsts, {path - first for first in firsts}
    # Each stage divides the blocks of the one before in sixteen; the last costs are those of single cells.
    for _ in range(int(Subdivision(grid).halvings(Subdivision(grid).whole)[0]) // SPLITS + 1):
        costs |= left | {spent for units in left for spent in parts_of(units)}
        left |= {units - spent for units in left for spent in parts_of(units)}
    one = Sensitivity(l1=1, l2_squared=1)
    moved = one if person is None else person.sensitivity(one)
    laws = {units: calibrate(law, whole * units / UNITS, moved) for units in costs | left}
    return Descent(grid, whole, law, total, path, laws, person)


@dataclass(frozen=True, eq=False)
class Transcript:
    """What a descent has released: blocks, costs and noisy counts of all nodes, in the tree's order.

    Attributes
    ----------
    tree : Tree
        A node that was counted twice has one child of the same box, which holds the second count.
    blocks : (nodes, 4) int32 array
        First and last columns and rows of each node.
    units : (nodes,) int array
        What each count cost.
    values : (nodes,) array
        The noisy counts.
    own_weights : (nodes,) array
        The weight of each count beside the sum of the node's children, fixed before the count was drawn; 1 for leaves.
    lowest, highest : (nodes,) arrays
        Between which numbers each count could have been without dividing its node otherwise, all else equal.
    """

    tree: Tree
    blocks: Integers32
    units: Integers
    values: Floats
    own_weights: Floats
    lowest: Floats
    highest: Floats


@dataclass(eq=False)
class _Level:
    """The nodes of one depth.

    Attributes
    ----------
    blocks, units, values, own_weights, lowest, highest
        As in `Transcript`.
    left : (nodes,) int array
        Units that each node's path has left; 0 for leaves.
    family : (nodes,) int array
        Which of the families of this depth each node belongs to.
    n_children : (nodes,) int array
    """

    blocks: Integers32
    units: Integers
    values: Floats
    own_weights: Floats
    left: Integers
    family: Integers
    n_children: Integers = field(init=False)
    lowest: Floats = field(init=False)
    highest: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.n_children = np.zeros(len(self.blocks), dtype=np.int64)
        self.lowest, self.highest = np.full(len(self.blocks), -np.inf), np.full(len(self.blocks), np.inf)


def descend(design: Descent, measure: Measure) -> Transcript:
    """Carry out a descent.

    Parameters
    ----------
    design : Descent
    measure : callable
        Draws noisy counts; nothing else reads the records.
    """
    division = Subdivision(design.grid)
    levels = [_first_level(design, division, measure)]
    levels.append(_next_level(design, division, levels[0], _first_choice(design, levels[0]), measure))
    while np.any(levels[-1].left):
        estimates = _fitted(design, levels)
        choice = _choice(design, division, levels[-1], estimates, stage=len(levels) - 2)
        levels.append(_next_level(design, division, levels[-1], choice, measure))
    others = (
        np.concatenate([getattr(level, name) for level in levels])
        for name in ("units", "values", "own_weights", "lowest", "highest")
    )
    tree = _tree(levels)
    blocks = tree.boxes  # those of cells
    boxes = design.grid.lattice_boxes(blocks, np.int32)
    return Transcript(replace(tree, boxes=boxes), blocks, *others)


def _first_level(design: Descent, division: Subdivision, measure: Measure) -> _Level:
    """Count the records of the whole grid.

    Its weight must not depend on its value, nor on any other: it follows from the noise of the first blocks' sum, if
    they had all of the budget, times a factor for the blocks below them.
    """
    units = np.array([design.total])
    below = TOTAL_FORECAST * 2**SPLITS * 2 / design.strength(np.array([design.path])) ** 2
    own = below / (below + design.moments(units)[0])
    whole = division.whole.astype(np.int32)
    return _Level(whole, units, measure(whole, units), own, np.array([design.path]), np.zeros(1, dtype=np.int64))


def _first_choice(design: Descent, root: _Level) -> Choice:
    """Divide the whole grid into sixteen blocks, whose cost follows from the released number of records."""
    expected = np.maximum(root.values, 0.0)
    strength = float((expected * design.strength(np.array([design.path])))[0])
    return Choice(
        nodes=np.zeros(1, dtype=np.int64),
        halvings=np.array([SPLITS]),
        units=np.array([first_part(design.path, strength)]),
        expected=expected,
        lowest=np.array([-np.inf]),
        highest=np.array([np.inf]),
    )


def _choice(design: Descent, division: Subdivision, level: _Level, estimates: Floats, stage: int) -> Choice:
    """Decide, from released counts alone, how blocks that have budget left go on."""
    nodes = np.flatnonzero(level.left)
    blocks, left = level.blocks[nodes], level.left[nodes]
    families, family = np.unique(level.family[nodes], return_inverse=True)
    variance = np.zeros(families.size)
    variance[family] = design.moments(level.units[nodes])[0]
    uneven = heterogeneity(level.values[nodes], family, division.cells(blocks), variance, first=stage == 0)
    expected, of_one = np.maximum(estimates[nodes], 0.0), design.strength(left)
    told = expected * of_one, uneven[family], division.halvings(blocks)
    halvings, units = choose(*told, left, stage=stage)
    # An estimate follows its block's own count nearly one for one.
    others = level.values[nodes] - estimates[nodes]
    lowest, highest = (others + end / of_one for end in same_choice(*told, stage=stage))
    return Choice(nodes, halvings, units, expected, lowest, highest)


def _next_level(design: Descent, division: Subdivision, level: _Level, choice: Choice, measure: Measure) -> _Level:
    """Divide the blocks of a choice and count the parts; the weights of the counts are fixed first."""
    parents = level.blocks[choice.nodes]
    blocks, owner = division.halve(parents, choice.halvings)
    level.n_children[choice.nodes] = np.bincount(owner, minlength=choice.nodes.size)
    level.lowest[choice.nodes], level.highest[choice.nodes] = choice.lowest, choice.highest
    units = choice.units[owner]
    left = level.left[choice.nodes][owner] - units
    expected = choice.expected[owner] * division.cells(blocks) / division.cells(parents)[owner]
    own, inner = np.ones(len(blocks)), np.flatnonzero(left)
    below = forecast_variance(expected[inner], left[inner], design.strength)
    own[inner] = CAUTION * below / (below + design.moments(units[inner])[0])
    return _Level(blocks, units, measure(blocks, units), own, left, owner)


def _fitted(design: Descent, levels: list[_Level]) -> Floats:
    """Least-squares estimates of the last level's nodes, from all counts so far."""
    tree = _tree(levels)
    values, units = (np.concatenate([getattr(level, name) for level in levels]) for name in ("values", "units"))
    fit = two_pass(tree, values, design.moments(units)[0])
    return np.asarray(fit.estimates[tree.level(tree.height)])


def _tree(levels: list[_Level]) -> Tree:
    """The tree of some levels, with blocks of cells in place of lattice boxes, which take longer to look up."""
    offsets = np.concatenate([[0], np.cumsum([len(level.blocks) for level in levels])])
    n_children, blocks = (
        np.concatenate([getattr(level, name) for level in levels]) for name in ("n_children", "blocks")
    )
    return Tree(offsets, n_children, blocks)
