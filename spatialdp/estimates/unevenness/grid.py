"""How uneven are records within the cells of a grid? As uneven as released neighbouring cells and blocks are.

A box that cuts a cell takes its share of the cell's count; the error of this share grows with how
unevenly records lie within cells. That is never measured, but differences between neighbouring cells and
blocks are, and they say how density varies from one scale to the next: the heterogeneity M of each scale,
and how far errors along an edge go together (the growth g). Expected squares of counts come from a
pyramid of blocks, so that noise is not taken for records. The formulas and their measured coverage are in
``docs/design/unevenness.md``.

Everything here is computed from released numbers and public variances, so it costs nothing. The
explorer's ``uneven.mjs`` computes the same in the browser and must change with this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.estimates.unevenness.shrinkage import (
    PRIOR,
    cell_weights,
    expected_squares,
    extrapolated,
    grown,
    heterogeneity,
    posterior,
    small_box,
)
from spatialdp.space.coverage import Coverage, knot_sums, prefix_sums
from spatialdp.space.polygons import Runs
from spatialdp.space.regions.borders import Border

__all__ = ["CellCounts", "GridUnevenness", "Scale"]

_LARGEST_BLOCK = 32  # cells along a side; larger blocks say little about cells
_LONGEST_STRIP = 64  # cells
_NONE = np.zeros(1)  # no change, for any number of boxes
_SAMPLED = 64  # pairs of blocks whose noise is averaged


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Released counts of cells, and the noise of any block of them.

    Attributes
    ----------
    values : (ny, nx) array
    mask : (ny, nx) bool array
        Cells in the region.
    variance : callable
        Variance of the noise in the sums of blocks, given as (m, 4) arrays of first column, first row,
        column and row after the last.
    """

    values: Floats
    mask: Booleans
    variance: Callable[[Integers], Floats]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of columns and rows."""
        return self.values.shape[1], self.values.shape[0]

    def blocks(self, width: int, height: int) -> Blocks:
        """Cut the grid into blocks of cells; those at the far edges may be smaller."""
        edges = tuple(
            np.minimum(np.arange(0, size + side, side), size)
            for size, side in zip(self.shape, (width, height), strict=True)
        )
        return Blocks(edges[0], edges[1], _block_sums(self._sums, *edges), _block_sums(self._cells, *edges))

    @cached_property
    def _sums(self) -> Floats:
        return prefix_sums(self.values)

    @cached_property
    def _cells(self) -> Floats:
        return prefix_sums(self.mask)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of cells: column and row edges, sums of the released counts, and numbers of cells in the region."""

    x: Integers
    y: Integers
    counts: Floats
    cells: Floats

    def boxes(self, rows: Integers, columns: Integers) -> Integers:
        """First column, first row, column and row after the last, of some blocks."""
        return np.stack([self.x[columns], self.y[rows], self.x[columns + 1], self.y[rows + 1]], axis=1)

    def whole(self, size: int) -> Booleans:
        """Which blocks have all of their `size` cells in the region."""
        return np.asarray(self.cells == size)


def _block_sums(sums: Floats, x: Integers, y: Integers) -> Floats:
    return np.diff(np.diff(sums[np.ix_(y, x)], axis=0), axis=1)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Pairs of adjacent whole blocks along one axis: differences, sums, and the mean variances of both."""

    difference: Floats
    total: Floats
    difference_variance: float
    total_variance: float


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of adjacent whole blocks, and the boxes of some of them: of the first blocks, the second ones and both."""

    difference: Floats
    total: Floats
    boxes: Integers

    def with_variances(self, variances: Floats) -> Neighbours:
        """The pairs, with the variances of the boxes' noise."""
        one, other, both = variances.reshape(3, -1)
        total = float(both.mean())
        return Neighbours(self.difference, self.total, max(0.0, 2 * float((one + other).mean()) - total), total)


# Width and height of blocks, in cells, and the axis along which they are neighbours.
_Kind = tuple[int, int, int]


def _neighbours(counts: CellCounts) -> dict[_Kind, Neighbours]:
    """All pairs of blocks that tell something; kinds without any pair are left out."""
    kinds = [(side, side, axis) for side in _sides(counts) for axis in (0, 1)]
    kinds += [_strip(length, axis) for axis in (0, 1) for length in _lengths(counts, axis)]
    found = {kind: pairs for kind in dict.fromkeys(kinds) if (pairs := _pairs(counts, *kind)) is not None}
    if not found:
        return {}
    # The noise of all boxes is asked for at once: on a tree that is one walk instead of dozens.
    boxes = [pairs.boxes for pairs in found.values()]
    ends = np.cumsum([len(some) for some in boxes])[:-1]
    variances = np.split(counts.variance(np.concatenate(boxes)), ends)
    return {kind: pairs.with_variances(some) for (kind, pairs), some in zip(found.items(), variances, strict=True)}


def _pairs(counts: CellCounts, width: int, height: int, axis: int) -> _Pairs | None:
    """Pairs of blocks that are next to each other along x (axis 0) or y (axis 1); None if there are none."""
    blocks = counts.blocks(width, height)
    whole = blocks.whole(width * height)
    first, second = _shifted(axis)
    rows, columns = np.nonzero(whole[first] & whole[second])
    if not rows.size:
        return None
    one, other = blocks.counts[first][rows, columns], blocks.counts[second][rows, columns]
    sample = np.unique(np.linspace(0, rows.size - 1, min(_SAMPLED, rows.size)).astype(np.int64))
    here = blocks.boxes(rows[sample], columns[sample])
    there = blocks.boxes(rows[sample] + axis, columns[sample] + 1 - axis)
    both = np.concatenate([here[:, :2], there[:, 2:]], axis=1)
    return _Pairs(one - other, one + other, np.concatenate([here, there, both]))


def _shifted(axis: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    front, back, every = slice(None, -1), slice(1, None), slice(None)
    return ((every, front), (every, back)) if axis == 0 else ((front, every), (back, every))


def _scale_heterogeneity(neighbours: Mapping[_Kind, Neighbours], side: int, prior: float) -> float:
    """Heterogeneity of square blocks of one side."""
    numerator = denominator = squared_error = 0.0
    for axis in (0, 1):
        pairs = neighbours.get((side, side, axis))
        if pairs is None:
            continue
        weights, positive = cell_weights(pairs.total, pairs.total_variance), np.maximum(pairs.total, 0.0)
        numerator += float(weights @ (pairs.difference**2 - pairs.difference_variance - pairs.total))
        denominator += float(weights @ (pairs.total**2 - pairs.total_variance - pairs.total))
        noise = 5 * max(pairs.difference_variance, pairs.total_variance) ** 2
        squared_error += float(weights**2 @ (noise + 2 * positive**2))
    return heterogeneity(numerator, denominator, squared_error**0.5, prior)


def _sides(counts: CellCounts) -> list[int]:
    """Sides of the blocks whose heterogeneity is estimated, powers of two, the largest first."""
    sides = [2**i for i in range(_LARGEST_BLOCK.bit_length() - 1, -1, -1)]
    return [side for side in sides if max(counts.shape) >= 4 * side and min(counts.shape) >= side]


def _heterogeneities(counts: CellCounts, neighbours: Mapping[_Kind, Neighbours]) -> dict[int, float]:
    """Heterogeneity of blocks of each side; each scale is shrunk to the one above."""
    result, prior = {}, PRIOR
    for side in _sides(counts):
        result[side] = prior = _scale_heterogeneity(neighbours, side, prior)
    return result


def _lengths(counts: CellCounts, axis: int) -> list[int]:
    """Lengths of strips along the edges across `axis`: 1, 2, 4, ..."""
    longest = max(1, min(_LONGEST_STRIP, counts.shape[1 - axis] // 4))
    return [2**i for i in range(longest.bit_length())]


def _strip(length: int, axis: int) -> _Kind:
    """Strips one cell wide, along edges across `axis`."""
    return (1, length, axis) if axis == 0 else (length, 1, axis)


def _growth(counts: CellCounts, neighbours: Mapping[_Kind, Neighbours], axis: int) -> Floats:
    """How much more errors of L neighbouring cut cells add up than independent ones do, for L = 1, 2, 4, ...

    For the edges of boxes across `axis` (0: edges of constant x): strips one cell wide and L long.
    """
    sums: list[tuple[float, float]] = []
    for length in _lengths(counts, axis):
        pairs = neighbours.get(_strip(length, axis))
        if pairs is None:
            break
        noise = pairs.difference_variance + float(np.maximum(pairs.total, 0.0).mean())
        excess = pairs.difference**2 - pairs.difference_variance - pairs.total
        sums.append((max(float(excess.sum()), 0.0), 1.4 * (2.5 * excess.size) ** 0.5 * noise))
    growth = [1.0]
    for (one, error), (two, next_error) in pairwise(sums):
        slack = 2 * max(error, next_error)
        ratio = (two + 1.2 * slack) / (one + slack) if one + slack > 0 else 1.0
        growth.append(growth[-1] * min(max(ratio, 1.0), 2.0))
    return np.array(growth)


@dataclass(frozen=True)
class Scale:
    """One level of the pyramid of blocks.

    Attributes
    ----------
    side : int
        Cells along a side of a block.
    uneven : float
        Heterogeneity of the blocks within the four times larger ones above, as `posterior` wants it.
    variance : float
        Variance of the noise in a block's count, per cell.
    """

    side: int
    uneven: float
    variance: float


def _scales(counts: CellCounts, uneven: dict[int, float]) -> tuple[Scale, ...]:
    """The levels of the pyramid, from the largest blocks down to single cells."""
    side = 1
    while -(-max(counts.shape) // side) >= 4:
        side *= 2
    sides = [side >> i for i in range(side.bit_length())]
    variances = _cell_variances(counts, [counts.blocks(side, side) for side in sides])
    return tuple(
        Scale(side, ((1 + uneven.get(side, PRIOR)) ** 2 - 1) / 3, variance)
        for side, variance in zip(sides, variances, strict=True)
    )


def _cell_variances(counts: CellCounts, scales: list[Blocks]) -> list[float]:
    """Mean variance of some whole blocks' noise, divided by the number of their cells in the region, for each scale."""
    largest = [float(blocks.cells.max()) for blocks in scales]
    if max(largest) <= 0:
        return [0.0] * len(scales)
    samples = []
    for blocks, cells in zip(scales, largest, strict=True):
        rows, columns = np.nonzero(blocks.cells == cells)
        sample = np.unique(np.linspace(0, rows.size - 1, min(_SAMPLED, rows.size)).astype(np.int64))
        samples.append(blocks.boxes(rows[sample], columns[sample]))
    ends = np.cumsum([len(boxes) for boxes in samples])[:-1]
    variances = np.split(counts.variance(np.concatenate(samples)), ends)
    return [float(some.mean()) / cells for some, cells in zip(variances, largest, strict=True)]


def _expected(counts: CellCounts, scales: tuple[Scale, ...]) -> tuple[Floats, Floats]:
    """Expected squares and cautious expected counts of all cells, from a pyramid of blocks that halve their sides."""
    blocks = counts.blocks(scales[0].side, scales[0].side)
    mean, spread = blocks.counts, scales[0].variance * blocks.cells
    for scale in scales[1:]:
        parent, blocks = blocks, counts.blocks(scale.side, scale.side)
        above = np.arange(blocks.counts.shape[0])[:, None] // 2, np.arange(blocks.counts.shape[1])[None, :] // 2
        with np.errstate(invalid="ignore"):
            share = np.where(blocks.cells > 0, blocks.cells / parent.cells[above], 0.0)
        variance = scale.variance * blocks.cells
        mean, spread = posterior((mean[above], spread[above]), share, scale.uneven, blocks.counts, variance)
    squares, firsts = expected_squares(mean, spread)
    return np.where(counts.mask, squares, 0.0), np.where(counts.mask, firsts, 0.0)


@dataclass(frozen=True, eq=False)
class GridUnevenness:
    """What the released cells of a grid say about the spread of records within cells.

    Attributes
    ----------
    within : float
        Heterogeneity within a cell.
    growth : pair of arrays
        How errors add up along edges of constant x and of constant y, over L = 1, 2, 4, ... cells.
    squares, firsts : (ny + 1, nx + 1) arrays
        Prefix sums of the cells' expected squared counts and expected counts.
    scales : tuple of Scale
        The levels of the pyramid from which the expected squares come.
    """

    within: float
    growth: tuple[Floats, Floats]
    squares: Floats
    firsts: Floats
    scales: tuple[Scale, ...] = ()

    @classmethod
    def of(cls, counts: CellCounts) -> GridUnevenness:
        """Estimate the unevenness from released cells."""
        neighbours = _neighbours(counts)
        uneven = _heterogeneities(counts, neighbours)
        finest = uneven.get(1, PRIOR)
        within = extrapolated(finest, uneven.get(2, finest))
        growth = _growth(counts, neighbours, 0), _growth(counts, neighbours, 1)
        scales = _scales(counts, uneven)
        squares, firsts = _expected(counts, scales)
        return cls(within, growth, prefix_sums(squares), prefix_sums(firsts), scales)

    def boxes(self, x: Coverage, y: Coverage, at_border: tuple[Floats, Floats] = (_NONE, _NONE)) -> Floats:
        """Variance that uneven spread adds to the answers of boxes; 0 for boxes of whole cells.

        `at_border` are the changes of both sums over cut cells by those on the region's border (`border_changes`). The
        errors of these cells are taken to grow along edges as all others do.
        """
        x1, x2, y1, y2 = x.weights(1), x.weights(2), y.weights(1), y.weights(2)
        across_x = knot_sums(self.squares, (x.knots, x1 - x2), (y.knots, y1))
        across_y = knot_sums(self.squares, (x.knots, x2), (y.knots, y1 - y2))
        few = knot_sums(self.firsts, (x.knots, x1), (y.knots, y1 - y2)) + knot_sums(
            self.firsts, (x.knots, x1 - x2), (y.knots, y2)
        )
        width, height = x.stop - x.start, y.stop - y.start
        across_x, across_y = np.maximum(across_x, 0.0), np.maximum(across_y, 0.0)
        edges = grown(self.growth[0], height) * across_x + grown(self.growth[1], width) * across_y
        with np.errstate(invalid="ignore", divide="ignore"):
            edges *= np.where(at_border[0] != 0, np.maximum(1 + at_border[0] / (across_x + across_y), 0.0), 1.0)
        few += at_border[1]
        return self._variance(edges, few, small_box(width * height))

    def border_changes(self, border: Border | None, boxes: Integers) -> tuple[Floats, Floats]:
        """By how much the region's shares of border cells change sums of expected squares and counts x a (1 - a)."""
        if border is None:
            return _NONE, _NONE
        squares, firsts = np.zeros((2, len(boxes)))
        for part, cuts in border.listed(boxes):
            for total, sums in ((squares[part], self.squares), (firsts[part], self.firsts)):
                total += np.bincount(cuts.box, cuts.uncovered_change * _at(sums, cuts.cell), minlength=total.size)
        return squares, firsts

    def polygons(self, runs: Runs) -> Floats:
        """Variance that uneven spread adds to the answers of polygons."""
        squares, few = (runs.sums(sums, 1) - runs.sums(sums, 2) for sums in (self.squares, self.firsts))
        area, cut = runs.areas[0], runs.cut_cells
        length = np.maximum(cut / 4, 1.0)
        growth = np.sqrt((grown(self.growth[0], length) + grown(self.growth[1], length)) / 2)
        return self._variance(growth * np.maximum(squares, 0.0), few, small_box(area))

    def _variance(self, edges: Floats, few: Floats, small: Floats) -> Floats:
        return self.within * edges * (1 + self.within * small) + np.maximum(few, 0.0) * (1 + small)


def _at(sums: Floats, cells: Integers) -> Floats:
    """Values of single cells, given by their row-major numbers, from prefix sums."""
    columns = sums.shape[1]
    south_west = cells // (columns - 1) * columns + cells % (columns - 1)
    north = south_west + columns
    values: Floats = sums.take(north + 1) - sums.take(north) - sums.take(south_west + 1) + sums.take(south_west)
    return values
