"""Growing a tree downwards: split lines, then the records' way into the halves, then noisy counts.

The records are held twice, sorted within each node by x and by y. Splitting along x leaves the first order as it is and
parts the second stably, and the other way round, so that no level sorts again. A level is a few array operations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, Integers32
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.mechanisms.level_budgets import Measured, measure_twice
from spatialdp.mechanisms.recipe import Design, design_of, law_for, noisy
from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate
from spatialdp.privacy.noise.medians import Median, medians
from spatialdp.privacy.noise.source import Noise
from spatialdp.space.coverage import prefix_sums
from spatialdp.space.domain import RASTER_SHIFT, Domain, Grid
from spatialdp.space.lattice import LATTICE
from spatialdp.structures.base import noise_of
from spatialdp.structures.cells import CellCounts
from spatialdp.trees.tree import Tree

__all__ = [
    "Budgets",
    "CellLines",
    "Growth",
    "Halves",
    "Lines",
    "MedianLines",
    "Nodes",
    "TrueLines",
    "grow",
    "plan_growth",
]


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
    stop : float or None
        Nodes whose noisy count is under it are not divided.
    laws : tuple of NoiseLaw or None
        Of each level's counts, root first; None where nothing is measured.
    rests : tuple of NoiseLaw
        Of second counts of nodes that stop, for each level but the deepest: with all that their path has left. Empty
        if none can stop.
    cells : Design or None
        Of a grid that lines are read off.
    """

    domain: Domain
    neighbours: Neighbours
    budgets: Budgets
    data_levels: int
    stop: float | None
    laws: tuple[NoiseLaw | None, ...]
    rests: tuple[NoiseLaw, ...]
    cells: Design[CellCounts] | None


class Lines(ABC):
    """A way to choose the split lines of a level's nodes."""

    @abstractmethod
    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """A line for every node, low < line < high, or high where the node is too narrow to be split.

        Parameters
        ----------
        nodes : Nodes
        axis : int
            0 for x, 1 for y.
        """


class Halves(Lines):
    """Midpoints: public."""

    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """Halve every box."""
        low, high = nodes.range(axis)
        return np.where(high - low > 1, (low + high) // 2, high)


@dataclass(frozen=True)
class MedianLines(Lines):
    """Private medians; costs `epsilon` for each call."""

    method: Median
    epsilon: Fraction
    neighbours: Neighbours
    sampling: Fraction | None
    noise: Noise

    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """Draw a private median for every node."""
        return medians(
            nodes.sorted(axis),
            nodes.starts,
            *nodes.range(axis),
            method=self.method,
            epsilon=self.epsilon,
            neighbours=self.neighbours,
            noise=self.noise,
            sampling=self.sampling,
        )


class TrueLines(Lines):
    """True medians: not private, for comparison."""

    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """The middle record of every node; the middle of an empty one."""
        low, high = nodes.range(axis)
        values = np.append(nodes.sorted(axis).astype(np.int64), 0)
        middle = values[nodes.starts[:-1] + nodes.counts // 2]
        wanted = np.where(nodes.counts > 0, middle, (low + high) // 2)
        return np.where(high - low > 1, np.clip(wanted, low + 1, high - 1), high)


class CellLines(Lines):
    """Lines read off a released noisy grid: half of the box's estimated records on each side."""

    def __init__(self, grid: Grid, values: Floats) -> None:
        self._cells = Histogram(grid, np.maximum(values, 0.0), IndependentNoise(grid, 0.0, 0.0, 0.0), biased=True)

    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """Bisect the lattice for the line that halves the estimate."""
        low, high = nodes.range(axis)
        half = self._cells.answer(nodes.boxes) / 2
        below, above = low + 1, high - 1
        while np.any(below < above):
            line = (below + above) // 2
            part = nodes.boxes.copy()
            part[:, axis + 2] = line
            enough = self._cells.answer(part) >= half
            below, above = np.where(enough, below, np.minimum(line + 1, above)), np.where(enough, line, above)
        empty = half <= 0
        below = np.where(empty, (low + high) // 2, below)
        return np.where(high - low > 1, np.clip(below, low + 1, high - 1), high)


@dataclass
class Nodes:
    """The nodes of one level, and the records in them in two orders: by x and by y within each node."""

    boxes: Integers
    starts: Integers
    orders: list[tuple[Integers32, Integers32]]

    @classmethod
    def root(cls, x: Integers32, y: Integers32) -> Nodes:
        """All records in one node, the whole domain."""
        boxes = np.array([[0, 0, LATTICE, LATTICE]], dtype=np.int64)
        by_x, by_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
        return cls(boxes, np.array([0, x.size]), [(x[by_x], y[by_x]), (x[by_y], y[by_y])])

    @property
    def counts(self) -> Integers:
        """Number of records in each node: private."""
        return np.diff(self.starts)

    def range(self, axis: int) -> tuple[Integers, Integers]:
        """Lower and upper lattice lines of the nodes along an axis."""
        return self.boxes[:, axis], self.boxes[:, axis + 2]

    def sorted(self, axis: int) -> Integers32:
        """Integers32 of the records along an axis, node after node and sorted within each."""
        return self.orders[axis][axis]

    def split(self, lines: Integers, axis: int) -> tuple[Nodes, Integers]:
        """Divide every node at its line; also the parent of each half. Halves without any width are left out."""
        parent = np.repeat(np.arange(len(self.boxes)), 2)
        boxes = np.repeat(self.boxes, 2, axis=0)
        boxes[0::2, axis + 2] = boxes[1::2, axis] = lines
        wide = boxes[:, axis] < boxes[:, axis + 2]
        of = np.repeat(np.arange(lines.size), self.counts)
        right = [order[axis] >= lines[of] for order in self.orders]
        n_right = np.add.reduceat(np.append(right[axis], False), self.starts[:-1], dtype=np.int64) * (self.counts > 0)
        sizes = np.stack([self.counts - n_right, n_right], axis=1).ravel()
        other = 1 - axis
        orders = list(self.orders)
        orders[other] = _part(self.orders[other], right[other], of, self.starts, n_right)
        starts = np.concatenate([[0], np.cumsum(sizes[wide])])
        return Nodes(boxes[wide], starts, orders), parent[wide]

    def keep(self, wanted: Booleans) -> Nodes:
        """Only some of the nodes and their records."""
        held = np.repeat(wanted, self.counts)
        starts = np.concatenate([[0], np.cumsum(self.counts[wanted])])
        return Nodes(self.boxes[wanted], starts, [(x[held], y[held]) for x, y in self.orders])


def _part(
    order: tuple[Integers32, Integers32], right: Booleans, of: Integers, starts: Integers, n_right: Integers
) -> tuple[Integers32, Integers32]:
    """Within each node the records of the left half before those of the right, both in their old order."""
    before: Integers = np.cumsum(right) - right  # right ones before each record
    before -= before[np.minimum(starts[:-1], max(right.size - 1, 0))][of] if right.size else before
    place = np.arange(right.size) - starts[of]
    n_left = np.diff(starts)[of] - n_right[of]
    target = starts[of] + np.where(right, n_left + before, place - before)
    moved = []
    for values in order:
        parted = np.empty_like(values)
        parted[target] = values
        moved.append(parted)
    return moved[0], moved[1]


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
    left = (
        sum(budgets.counts[depth + 1 :], Fraction(0)) + 2 * budgets.line * max(data_levels - depth, 0)
        for depth in range(height if stop is not None else 0)
    )
    return Growth(
        domain=domain,
        neighbours=neighbours,
        budgets=budgets,
        data_levels=data_levels,
        stop=stop,
        laws=tuple(map(partial(law_for, law), budgets.counts, sensitivities)),
        rests=tuple(map(partial(calibrate, law), left, sensitivities)),
        cells=None if grid is None else design_of(CellCounts(grid), [budgets.grid], law, neighbours),
    )


def grow(growth: Growth, records: tuple[Integers32, Integers32], lines: Lines, noise: Noise) -> tuple[Tree, Measured]:
    """Grow a tree from the root: count privately, stop or split, go on.

    Nodes outside the region are left out. A node that stops is counted once more with all that its path has left.
    """
    nodes = Nodes.root(*records)
    levels: list[_Level] = []
    for depth, law in enumerate(growth.laws):
        level = _measure(nodes, law, noise)
        levels.append(level)
        if depth == len(growth.laws) - 1:
            break
        if growth.stop is not None:
            nodes = _stop(nodes, level, growth.stop, growth.rests[depth], noise)
        alive = np.flatnonzero(level.divided)
        if not alive.size:
            break
        nodes, parent = _quarter(growth.domain, nodes, lines if depth < growth.data_levels else Halves())
        level.n_children[alive] = np.bincount(parent, minlength=alive.size)
    return _assemble(levels)


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


@dataclass
class _Level:
    """What is known of one level's nodes."""

    boxes: Integers
    values: Floats
    variances: Floats
    kurtosis: Floats
    n_children: Integers
    divided: Booleans
    law: NoiseLaw | None


def _sensitivity(neighbours: Neighbours, depth: int) -> Sensitivity:
    """Of a level's counts. Below the root a replaced record may also come from a node that was stopped, or go there."""
    return count_sensitivity(neighbours, 1 if depth == 0 else 2)


def _measure(nodes: Nodes, law: NoiseLaw | None, noise: Noise) -> _Level:
    size = len(nodes.boxes)
    variances, kurtosis = noise_of([law])
    return _Level(
        boxes=nodes.boxes,
        values=noisy(nodes.counts, law, noise),
        variances=np.repeat(variances, size),
        kurtosis=np.repeat(kurtosis, size),
        n_children=np.zeros(size, dtype=np.int64),
        divided=np.ones(size, dtype=bool),
        law=law,
    )


def _stop(nodes: Nodes, level: _Level, stop: float, rest: NoiseLaw, noise: Noise) -> Nodes:
    """End nodes whose noisy count is under the threshold; give back those that go on."""
    if level.law is None:
        return nodes
    ended = level.values < stop
    if not ended.any():
        return nodes
    level.divided[:] = ~ended
    level.values[ended], level.variances[ended], level.kurtosis[ended] = measure_twice(
        nodes.counts[ended], level.values[ended], (level.law, rest), noise
    )
    return nodes.keep(~ended)


def _assemble(levels: list[_Level]) -> tuple[Tree, Measured]:
    def joined(name: str) -> Any:
        return np.concatenate([getattr(level, name) for level in levels])

    offsets = np.concatenate([[0], np.cumsum([len(level.boxes) for level in levels])])
    tree = Tree(offsets, joined("n_children"), joined("boxes"))
    uniform = all(np.unique(level.variances).size == 1 for level in levels)
    if uniform:  # one variance for each level
        variances, kurtosis = (
            np.array([getattr(level, name)[0] for level in levels]) for name in ("variances", "kurtosis")
        )
    else:
        variances, kurtosis = joined("variances"), joined("kurtosis")
    return tree, Measured(joined("values"), variances, kurtosis)
