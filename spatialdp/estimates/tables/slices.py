"""Which map is a table at one time, of one category? An estimate of cells, blocks or zones, with its noise, exactly.

A sum along all axes but that of space leaves one number for each cell of space. The fit goes along one axis after the
other, so these numbers are fitted along space as the whole table was: by the same weights, to measurements of space
whose noise is the sum of others' (`TableNoise.of_last_axis`). The variances of discrete noise are nearly, but not
exactly, those that the weights are best for; so the weights travel with the estimate, and its noise is exact.

The result is an ordinary estimate: of a grid if only cells were measured along space, of a tree of boxes if blocks
were, of zones for zones. It answers boxes and polygons and can be drawn and saved. This module reads no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.grid_noise import IndependentNoise, WeightedNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.frames.cells import Cells
from spatialdp.space.frames.selection import FrameAxis, Selection, depth_first
from spatialdp.space.frames.zone_axis import ZoneAxis
from spatialdp.trees.shape import sums
from spatialdp.trees.tree_noise import GivenWeights

__all__ = ["each_cell", "map_of", "map_of_cells"]


Map = Histogram | Decomposition | ZoneCounts


@singledispatch
def map_of(table: Estimate, selections: Sequence[Selection]) -> Map:
    """Return the estimates of a table's cells of space, summed over one set along each other axis.

    Parameters
    ----------
    table : TableCounts or NetworkCounts
        A model of the table has no intervals, and neither has its map.
    selections : sequence of Selection
        One set along each axis beside space, in the order of arrays.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 2, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
    >>> rows = sdp.Rows([[0.5, 0.5], [1.5, 0.5]], kind=["theft", "fraud"])
    >>> table = sdp.Table().release(rows, frame, epsilon=100).estimate
    >>> map_of(table, frame.select({"kind": "fraud"})[:-1]).values.tolist()
    [[0.0, 1.0]]
    """
    raise ReleaseError(
        f"a release of kind {table.kind!r} has no {len(selections)} axes beside space that a map could be taken from."
    )


@map_of.register
def _(table: NetworkCounts, selections: Sequence[Selection]) -> Map:
    space = table.frame.space
    values = table.sums((*selections, each_cell(space))).ravel()
    if isinstance(space, Cells):
        noise = IndependentNoise(space.grid, 0.0, 0.0, table.step)
        return Histogram(space.grid, _on_grid(space, values), noise, biased=True)
    nothing = np.zeros(space.shape.n_nodes)
    return ZoneCounts(space.zones, sums(space.shape, values), nothing, nothing, table.step, True, biased=True)


@map_of.register
def _(table: TableCounts, selections: Sequence[Selection]) -> Map:
    space, axis = table.frame.space, table.noise.axes[-1]
    values = table.sums((*selections, each_cell(space))).ravel()
    variance, kurtosis = table.noise.of_last_axis(selections)
    if isinstance(space, Cells) and axis.is_identity:
        noise = IndependentNoise if table.noise.by_cell else WeightedNoise
        model = noise(space.grid, float(variance[0]), float(kurtosis[0]), table.step)
        return Histogram(space.grid, _on_grid(space, values), model, table.biased)
    # All blocks of a level are in one group, so that one number stands for the level.
    group = axis.group[space.shape.offsets[:-1]] if isinstance(space, Cells) else axis.group
    variances = np.where(group >= 0, variance[group], np.inf)
    noisy = sums(space.shape, values), variances, np.where(group >= 0, kurtosis[group], 0.0), table.step, True
    if isinstance(space, Cells):
        tree, weights = _block_tree(space), (axis.own_weights, axis.family_shares)
        return Decomposition(space.grid.domain, tree, *noisy, table.biased, space.grid.shape, *weights)
    given = GivenWeights(axis.own_weights, axis.family_shares)
    return ZoneCounts(space.zones, *noisy, table.biased, given)


def map_of_cells(space: Cells | ZoneAxis, values: Floats, variance: float, kurtosis: float, step: float) -> Map:
    """Return the estimates of cells that were counted one by one, each with noise of the same law.

    Parameters
    ----------
    space : FrameAxis
    values : (cells,) array
        In the order of the axis.
    variance, kurtosis, step : float
        Variance, excess kurtosis and lattice of the noise in one cell.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> space = sdp.Frame(sdp.Domain((0, 0, 2, 1)).grid((2, 1))).space
    >>> map_of_cells(space, np.array([3.0, 4.0]), 2.0, 0.0, 1.0).values.tolist()
    [[3.0, 4.0]]
    """
    if isinstance(space, Cells):
        noise = IndependentNoise(space.grid, variance, kurtosis, step)
        return Histogram(space.grid, _on_grid(space, values), noise, biased=False)
    counted = space.shape.n_children == 0
    variances, kurtoses = np.where(counted, variance, np.inf), np.where(counted, kurtosis, 0.0)
    return ZoneCounts(space.zones, sums(space.shape, values), variances, kurtoses, step, True)


def each_cell(space: FrameAxis) -> Selection:
    """Return the cells of an axis one by one, in its own order, in which the leaves of its tree are.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> each_cell(sdp.Frame(sdp.Domain((0, 0, 2, 1)).grid((2, 1))).space).cells.tolist()
    [0, 1]
    """
    cells = np.arange(space.size)
    return Selection(space.size, cells, cells)


def _on_grid(space: Cells, values: Floats) -> Floats:
    """Return the values of cells in their places on the grid, 0 outside the region."""
    grid = np.zeros(space.grid.mask.shape)
    grid.ravel()[space.cells] = values
    return grid


def _block_tree(space: Cells) -> Tree:
    """Return the boxes of the blocks, level by level; the last ones of a row or column end with the grid."""
    nx, ny = space.grid.shape
    first, _, leaves = depth_first(space.shape)
    row, column = np.divmod(space.cells[leaves[first]], nx)
    sides = np.array([max(nx, ny), *space.blocks, 1])[space.shape.depth]
    west, south = column // sides * sides, row // sides * sides
    blocks = np.stack([west, south, np.minimum(west + sides, nx), np.minimum(south + sides, ny)], axis=1)
    return Tree(space.shape.offsets, space.shape.n_children, space.grid.lattice_boxes(blocks).astype(np.int32))
