"""Do records lie on lines along the axes that are finer than the leaves of a tree? As `lines` asks it of grids.

The leaves of pruned quadtrees and of adaptive trees have different sizes, but each is a cell of a grid with 1, 2, 4 or
more columns and rows. For every size, the sums of all leaves within cells of that size say what lines add to long edges
through leaves of that size. Leaves of kd-trees are no such cells: their edges do not run along rows of leaves, and
nothing is added for them.

Everything here is computed from released numbers and public variances, so it costs nothing. The formulas are in
``docs/design/unevenness.md``; the explorer's ``uneven.mjs`` gets the tables and must change with this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.estimates.unevenness.blocks import CellCounts
from spatialdp.estimates.unevenness.lines import line_spreads, strip_lengths
from spatialdp.estimates.unevenness.shrinkage import grown
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.lattice import LATTICE

__all__ = ["LeafLines", "edge_length"]

_MOST_CELLS = 2**20  # of a grid; smaller leaves than its cells have no lines

Variance = Callable[[Integers], Floats]


@dataclass(frozen=True, eq=False)
class LeafLines:
    """What lines of records add to the heterogeneity within leaves along edges.

    Attributes
    ----------
    sizes : (nodes,) int array
        Which of the tables is that of a leaf; any for other nodes.
    halvings : (sizes, 2) int array
        How often the domain's width and height are halved for the sides of leaves of each size.
    tables : tuple of arrays
        For leaves of each size, by how much lines make errors of L leaves add up, for L = 1, 2, 4, ...
    """

    sizes: Integers
    halvings: Integers
    tables: tuple[Floats, ...]

    @classmethod
    def of(cls, tree: Tree, values: Floats, grew: Floats, variance: Variance) -> LeafLines | None:
        """Look for lines in the sums of leaves; None if the leaves are not cells of grids.

        Parameters
        ----------
        tree : Tree
        values : (nodes,) array
            Estimates.
        grew : (nodes,) array
            By how much heterogeneity grows from the depth above a leaf to that within it, at least 1.
        variance : callable
            Variance of the noise in the sums of lattice boxes.
        """
        leaves = np.flatnonzero(tree.leaves)
        halvings = _halvings(tree.boxes[leaves].astype(np.int64))
        if halvings is None:
            return None
        pairs, numbers = np.unique(halvings, axis=0, return_inverse=True)
        numbers = numbers.reshape(-1)
        tables = []
        for number, pair in enumerate(pairs):
            finer = (halvings >= pair).all(axis=1)
            counts = _cells(tree, values, leaves[finer], pair, variance)
            mean_grew = float(grew[leaves[numbers == number]].mean())
            tables.append(np.zeros(1) if counts is None else _table(counts, mean_grew))
        sizes = np.zeros(tree.n_nodes, dtype=np.int64)
        sizes[leaves] = numbers
        return cls(sizes, pairs, tuple(tables))

    def added(self, length: Floats, cuts: Floats, squares: Floats) -> Floats:
        """Variance that lines add to queries, given the length of their edges in leaves.

        `cuts` are the numbers of cut leaves of each size, `squares` their expected squares times share x (1 - share),
        both (queries, sizes). An edge has leaves of each size in proportion to their number.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(cuts > 0, cuts / cuts.sum(axis=1, keepdims=True), 0.0)
        parts = [grown(table, length * share[:, size]) * squares[:, size] for size, table in enumerate(self.tables)]
        return np.asarray(np.sum(parts, axis=0))


def edge_length(missed: Floats, covered: Floats) -> Floats:
    """How many leaves the edges of boxes cut in a row, from the shares of leaves touched that they miss, and cover.

    A box of w x h leaves touches (w + 1) (h + 1) leaves in the mean. So the shares that it misses of those add up to
    w + h + 1, and those that it covers to w h. Two edges cut w leaves and two h; the mean is weighted by the length, so
    that of boxes thinner than a leaf is about w.
    """
    both = np.maximum(missed - 1, 2 * np.sqrt(covered))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(both > 0, both - 2 * covered / both, 0.0)


def _halvings(boxes: Integers) -> Integers | None:
    """How often the domain's width and height are halved for each box, (m, 2); None unless all are cells of grids."""
    sides = boxes[:, 2:] - boxes[:, :2]
    halvings = np.rint(np.log2(LATTICE / sides)).astype(np.int64)
    cells = (sides << halvings == LATTICE) & (boxes[:, :2] % sides == 0)
    return halvings if cells.all() else None


def _cells(tree: Tree, values: Floats, leaves: Integers, halvings: Integers, variance: Variance) -> CellCounts | None:
    """Sums of some leaves by the cells of a grid that they fill; None if the grid is too large."""
    columns, rows = (1 << halvings).tolist()
    if columns * rows > _MOST_CELLS:
        return None
    sides = LATTICE >> halvings
    boxes = tree.boxes[leaves].astype(np.int64)
    low = boxes[:, :2] // sides
    place = low[:, 1] * columns + low[:, 0]
    area = np.prod((boxes[:, 2:] - boxes[:, :2]) / sides, axis=1)
    sums = [np.bincount(place, part, columns * rows).reshape(rows, columns) for part in (values[leaves], area)]
    whole: Booleans = sums[1] == 1  # areas are powers of two, so their sums are exact
    return CellCounts(np.where(whole, sums[0], 0.0), whole, lambda blocks: variance(blocks * np.tile(sides, 2)))


def _table(counts: CellCounts, grew: float) -> Floats:
    """By how much lines make errors of L cells add up, the larger of both directions."""
    lengths = strip_lengths(counts, 0), strip_lengths(counts, 1)
    size = max(len(some) for some in lengths)
    both = [
        np.pad(spread * some, (0, size - spread.size), mode="edge")
        for spread, some in zip(line_spreads(counts, lengths, grew, unseen=0.0), lengths, strict=True)
    ]
    return np.asarray(np.maximum.accumulate(np.max(both, axis=0)))
