"""What do published adaptive methods get for the same ε? `UniformGrid`, `AdaptiveGrid` and `PrivTree`, to compare with.

They are for `evaluate`, not for publishing: they are not audited, and with ``records="public"`` they read the number of
records as it is, as their authors' code does, so that such releases are not private and say so. Noise is ours. All of
them count blocks of a grid's cells. The formulas are those of the papers; where a paper leaves a rounding open, the
docstring says what is done here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp._support.checks import whole_pair
from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.raster import LeafRaster
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.mechanisms.base import Mechanism, Plan, Terms
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.space.domain import Domain, Grid
from spatialdp.trees.least_squares import two_pass
from spatialdp.trees.subdivision import Subdivision, block_sums, summed_areas
from spatialdp.trees.tree import Tree
from spatialdp.wording import parameter

__all__ = ["AdaptiveGrid", "BlockCounts", "KnownRecords", "PrivTree", "UniformGrid"]

RECORDS_SHARE = Fraction(1, 100)  # of ε, for a noisy number of records
CELLS_FOR = 10  # c of the papers: a grid of m x m cells with m² = n ε / c
LEAST_SIDE = 10  # of the first level of an adaptive grid
FIRST_SHARE = Fraction(1, 2)  # of ε, for the first level of an adaptive grid, and for the shape of a PrivTree
CHILDREN = 4  # of a node of a PrivTree


@dataclass(frozen=True, eq=False)
class BlockCounts(Decomposition):
    """Counts of blocks of a grid's cells, spread evenly within blocks, as all three papers do.

    Answers come from sums over cells: blocks of a flat tree are too many to walk through.

    Attributes
    ----------
    grid : Grid
        The finest grid.
    """

    grid: Grid | None = None

    @property
    @override
    def extrapolates(self) -> bool:
        """Answers are not corrected by what the nodes above a block tell: the papers do not."""
        return False

    @override
    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes."""
        return np.asarray(self.answers(boxes, [self.values])[0])

    @override
    def answers(self, boxes: Integers, values: Sequence[Array]) -> Floats:
        """Answers to lattice boxes from several sets of node values, (sets, boxes)."""
        leaves = self.tree.leaves
        cells = [self._raster.even(counts[leaves]) * self._raster.sizes for counts in values]
        return np.stack([self._cells(counts).answer(boxes) for counts in cells])

    @cached_property
    def _raster(self) -> LeafRaster:
        assert self.grid is not None
        lines = (self.grid.x_lines, self.grid.y_lines) * 2
        boxes = self.tree.boxes[self.tree.leaves]
        blocks = np.stack([np.searchsorted(lines[side], boxes[:, side]) for side in range(4)], axis=1)
        nx, ny = self.grid.shape
        return LeafRaster(blocks, self.grid.mask.astype(np.float64), np.ones(nx), np.ones(ny))

    def _cells(self, counts: Floats) -> Histogram:
        assert self.grid is not None
        return Histogram(self.grid, counts, IndependentNoise(self.grid, 0.0, 0.0, 0.0))


class KnownRecords(Option):
    """Whether the number of records is taken as public, which is not private, or paid for with a part of ε."""

    PUBLIC = "public"
    PAID = "paid"


@dataclass(frozen=True)
class _Design:
    grid: Grid
    epsilon: Fraction


@dataclass(frozen=True)
class _Peer(Mechanism):
    """A published method on the blocks of a grid's cells, with discrete Laplace noise, for add-remove neighbours."""

    shape: tuple[int, int]
    law: ClassVar[Law] = Law.DISCRETE_LAPLACE  # type: ignore[misc]  # others have a choice

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", whole_pair(self.shape, "shape"))

    @override
    def leaf_grid(self, domain: Domain) -> Grid:
        return domain.grid(self.shape)

    @override
    def _design(self, domain: Domain, terms: Terms) -> _Design:
        if terms.person is not None:
            raise ParameterError(
                f"{parameter('person')} bounds what a person contributes, but {self.name} is here as published, for "
                f"single records; leave {parameter('person')} out, or leave {self.name} out of the comparison."
            )
        return _Design(self.leaf_grid(domain), terms.spendable(self.law))

    @override
    def _plan(self, design: _Design) -> Plan:
        cells = design.grid.n_cells
        return Plan(self.name, cells, "epsilon", {"all": design.epsilon}, math.nan, 40 * cells)

    @override
    def _blank(self, design: _Design) -> None:  # noqa: ARG002 - never known
        return None


@dataclass(frozen=True)
class _ByRecords(_Peer):
    """A method whose grid follows from the number of records."""

    records: Choice[KnownRecords] = Choice(KnownRecords.PAID)

    @property
    @override
    def private(self) -> bool:
        return self.records is KnownRecords.PAID

    def _n_and_rest(self, count: _Counter, epsilon: Fraction, noise: Noise) -> tuple[float, Fraction]:
        """The number of records, and what is left of ε."""
        return count.records(self.records, epsilon, noise)


@dataclass(frozen=True)
class UniformGrid(_ByRecords):
    """UG: one grid of m x m cells with m = √(n ε / 10), rounded (Qardaji, Yang, Li, ICDE 2013).

    Parameters
    ----------
    shape : (nx, ny)
        The finest grid; edges of the method's cells are rounded to its lines.
    records : {"public", "paid"}
        Whether n is taken as public, which is not private, or costs 1 % of ε.

    Privacy
    -------
    With "paid": n and disjoint cells cost ε together, under add-remove. With "public" the release is not private.
    """

    name: ClassVar[str] = "uniform grid"

    @override
    def _estimate(self, points: Points, design: _Design, noise: Noise) -> Decomposition:
        count = _Counter.of(points, design.grid)
        n, epsilon = self._n_and_rest(count, design.epsilon, noise)
        m = max(1, round(math.sqrt(max(n, 0.0) * float(epsilon) / CELLS_FOR)))
        blocks, _ = _divided(np.array([[0, 0, *design.grid.shape]]), np.array([m]))
        law = _law(epsilon)
        return _assembled(
            design.grid, [blocks], [np.zeros(len(blocks), dtype=np.int64)], [count(blocks, law, noise)], [law]
        )


@dataclass(frozen=True)
class AdaptiveGrid(_ByRecords):
    """AG: a coarse grid, each of whose cells is divided by its own noisy count (Qardaji, Yang, Li, ICDE 2013).

    The first level has m x m cells, m = max(10, ⌈⌈√(n ε / 10)⌉ / 4⌉), and half of ε. A cell with the noisy count N is
    divided into k x k cells, k = ⌈√(N ε / 2 / 5)⌉, that get the other half. Both levels are fitted by least squares.

    Parameters
    ----------
    shape, records
        As for `UniformGrid`.

    Privacy
    -------
    With "paid": n, the first and the second level cost ε together, under add-remove; the cells of a level are disjoint,
    and the second level follows from the first. With "public" the release is not private.
    """

    name: ClassVar[str] = "adaptive grid"

    @override
    def _estimate(self, points: Points, design: _Design, noise: Noise) -> Decomposition:
        count = _Counter.of(points, design.grid)
        n, epsilon = self._n_and_rest(count, design.epsilon, noise)
        m = max(LEAST_SIDE, math.ceil(math.ceil(math.sqrt(max(n, 0.0) * float(epsilon) / CELLS_FOR)) / 4))
        first, second = _law(epsilon * FIRST_SHARE), _law(epsilon * (1 - FIRST_SHARE))
        blocks, _ = _divided(np.array([[0, 0, *design.grid.shape]]), np.array([m]))
        counts = count(blocks, first, noise)
        wanted = np.sqrt(np.maximum(counts, 0.0) * float(epsilon * (1 - FIRST_SHARE)) / (CELLS_FOR / 2))
        cells, owner = _divided(blocks, np.maximum(np.ceil(wanted), 1).astype(np.int64))
        return _assembled(
            design.grid,
            [blocks, cells],
            [np.zeros(len(blocks), dtype=np.int64), owner],
            [counts, count(cells, second, noise)],
            [first, second],
        )


@dataclass(frozen=True)
class PrivTree(_Peer):
    """PrivTree: a quadtree of any height, whose nodes are split by noisy counts that fall with the depth.

    A node is split if max(count - depth δ, -δ) + noise > 0, with noise of scale λ = 7 / (3 ε / 2) and δ = λ ln 4. Half
    of ε decides on splits, the other half is spent on the leaves (Zhang, Xiao, Xie, SIGMOD 2016). Nodes end at single
    cells of the grid, which is public.

    Parameters
    ----------
    shape
        As for `UniformGrid`.

    Privacy
    -------
    The decisions to split cost half of ε by the authors' theorem, the counts of the disjoint leaves the other half. The
    noisy values that decide are not released.
    """

    name: ClassVar[str] = "privtree"

    @override
    def _estimate(self, points: Points, design: _Design, noise: Noise) -> Decomposition:
        count, division = _Counter.of(points, design.grid), Subdivision(design.grid)
        scale = Fraction(2 * CHILDREN - 1, CHILDREN - 1) / (design.epsilon * FIRST_SHARE)
        bias, fine = float(scale) * math.log(CHILDREN), NoiseLaw(Law.LAPLACE, 1024 * scale, 1024)
        levels, owners = [division.whole], [np.zeros(1, dtype=np.int64)]
        for depth in range(64):
            blocks = levels[-1]
            biased = np.maximum(count.exact(blocks) - depth * bias, -bias)
            split = biased + fine.add_to(np.zeros(len(blocks), dtype=np.int64), noise) > 0
            parents = np.flatnonzero(split & (division.halvings(blocks) > 0))
            if not parents.size:
                break
            parts, owner = division.halve(blocks[parents], np.full(parents.size, 2))
            levels.append(parts)
            owners.append(parents[owner])
        law = _law(design.epsilon * (1 - FIRST_SHARE))
        below = [*owners[1:], np.zeros(0, dtype=np.int64)]
        inner = [np.isin(np.arange(len(level)), some) for level, some in zip(levels, below, strict=True)]
        values = [np.where(some, 0.0, count(level, law, noise)) for level, some in zip(levels, inner, strict=True)]
        return _leaves_only(design.grid, levels, owners, values, law)


# --- counts and trees ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Counter:
    """Exact counts of blocks; private."""

    sums: Integers

    @classmethod
    def of(cls, points: Points, grid: Grid) -> _Counter:
        return cls(summed_areas(count_cells(points, grid)))

    def exact(self, blocks: Integers) -> Integers:
        return block_sums(self.sums, blocks)

    def __call__(self, blocks: Integers, law: NoiseLaw, noise: Noise) -> Floats:
        return law.add_to(self.exact(blocks), noise)

    def records(self, known: KnownRecords, epsilon: Fraction, noise: Noise) -> tuple[float, Fraction]:
        """The number of records, and what is left of ε."""
        n = self.sums[-1:, -1]
        if known is KnownRecords.PUBLIC:
            return float(n[0]), epsilon
        return float(_law(epsilon * RECORDS_SHARE).add_to(n, noise)[0]), epsilon * (1 - RECORDS_SHARE)


def _law(cost: Fraction) -> NoiseLaw:
    return calibrate(Law.DISCRETE_LAPLACE, cost, Sensitivity(l1=1, l2_squared=1))


def _divided(blocks: Integers, sides: Integers) -> tuple[Integers, Integers]:
    """Divide each block into sides x sides parts along cell edges, at most into single cells; and each part's block."""
    columns, rows = (np.minimum(sides, blocks[:, axis + 2] - blocks[:, axis]) for axis in (0, 1))
    owner = np.repeat(np.arange(len(blocks)), columns * rows)
    place = np.arange(owner.size) - np.repeat(np.cumsum(columns * rows) - columns * rows, columns * rows)
    row, column = np.divmod(place, columns[owner])
    edge: Callable[[Any, int, Array], Array] = lambda number, axis, count: (  # noqa: E731
        blocks[owner, axis]
        + np.rint(number * (blocks[owner, axis + 2] - blocks[owner, axis]) / count[owner]).astype(np.int64)
    )
    parts = [edge(column, 0, columns), edge(row, 1, rows), edge(column + 1, 0, columns), edge(row + 1, 1, rows)]
    return np.stack(parts, axis=1), owner


def _tree(grid: Grid, levels: list[Integers], owners: list[Integers]) -> Tree:
    offsets = np.concatenate([[0], np.cumsum([len(level) for level in levels])])
    below = [np.bincount(owner, minlength=len(level)) for level, owner in zip(levels, owners[1:], strict=False)]
    n_children = np.concatenate([*below, np.zeros(len(levels[-1]), dtype=np.int64)])
    return Tree(offsets, n_children, grid.lattice_boxes(np.concatenate(levels)).astype(np.int32))


def _assembled(
    grid: Grid, levels: list[Integers], owners: list[Integers], values: list[Floats], laws: list[NoiseLaw]
) -> BlockCounts:
    """The least-squares fit of levels below a root that was not counted."""
    tree = _tree(grid, [np.array([[0, 0, *grid.shape]]), *levels], [np.zeros(1, dtype=np.int64), *owners])
    variances = np.array([np.inf, *(law.variance for law in laws)])
    kurtosis = np.array([0.0, *(law.kurtosis for law in laws)])
    fit = two_pass(tree, np.concatenate([np.zeros(1), *values]), variances)
    return BlockCounts(grid.domain, tree, fit.estimates, variances, kurtosis, 1.0, consistent=True, grid=grid)


def _leaves_only(
    grid: Grid, levels: list[Integers], owners: list[Integers], values: list[Floats], law: NoiseLaw
) -> BlockCounts:
    """The estimates of a tree whose leaves alone were counted."""
    tree = _tree(grid, levels, owners)
    variances = np.where(tree.leaves, law.variance, np.inf)
    fit = two_pass(tree, np.concatenate(values), variances)
    kurtosis = np.full(tree.n_nodes, law.kurtosis)
    return BlockCounts(grid.domain, tree, fit.estimates, variances, kurtosis, 1.0, consistent=True, grid=grid)
