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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.unevenness.blocks import Blocks, CellCounts, Kind, Neighbours, neighbours, some_places, strip
from spatialdp.estimates.unevenness.lines import line_spreads, strip_lengths
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

__all__ = ["GridUnevenness", "Scale"]

_LARGEST_BLOCK = 32  # cells along a side; larger blocks say little about cells
_NONE = np.zeros(1)  # no change, for any number of boxes


def _kinds(counts: CellCounts) -> list[Kind]:
    """The pairs of blocks from which unevenness is estimated."""
    kinds = [(side, side, axis) for side in _sides(counts) for axis in (0, 1)]
    return kinds + [strip(length, axis) for axis in (0, 1) for length in strip_lengths(counts, axis)]


def _scale_heterogeneity(neighbours: Mapping[Kind, Neighbours], side: int, prior: float) -> float:
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


def _heterogeneities(counts: CellCounts, neighbours: Mapping[Kind, Neighbours]) -> dict[int, float]:
    """Heterogeneity of blocks of each side; each scale is shrunk to the one above."""
    result, prior = {}, PRIOR
    for side in _sides(counts):
        result[side] = prior = _scale_heterogeneity(neighbours, side, prior)
    return result


def _growth(counts: CellCounts, neighbours: Mapping[Kind, Neighbours], axis: int) -> Floats:
    """How much more errors of L neighbouring cut cells add up than independent ones do, for L = 1, 2, 4, ...

    For the edges of boxes across `axis` (0: edges of constant x): strips one cell wide and L long.
    """
    sums: list[tuple[float, float]] = []
    for length in strip_lengths(counts, axis):
        pairs = neighbours.get(strip(length, axis))
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
        samples.append(blocks.boxes(*some_places(blocks.cells == cells)))
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
    lines : pair of arrays
        What lines of records along the axes add to the heterogeneity within the cells along an edge, over the same L.
    """

    within: float
    growth: tuple[Floats, Floats]
    squares: Floats
    firsts: Floats
    scales: tuple[Scale, ...] = ()
    lines: tuple[Floats, Floats] = (_NONE, _NONE)

    @cached_property
    def edges(self) -> tuple[Floats, Floats]:
        """How errors add up along a box's edges of constant x and of constant y, with what lines add."""
        return self._with_lines(0), self._with_lines(1)

    def _with_lines(self, axis: int) -> Floats:
        """The growth and what lines add to it, at most as much as if all records of a cell lay at one place."""
        growth, lines = self.growth[axis], self.lines[axis]
        length = 2.0 ** np.arange(max(growth.size, lines.size))
        plain = np.pad(growth, (0, length.size - growth.size), mode="edge")
        spread = np.pad(lines, (0, length.size - lines.size))
        most = np.maximum(length / self.within, plain)
        return np.asarray(np.maximum.accumulate(np.minimum(plain + length * spread / self.within, most)))

    @classmethod
    def of(cls, counts: CellCounts) -> GridUnevenness:
        """Estimate the unevenness from released cells."""
        pairs = neighbours(counts, _kinds(counts))
        uneven = _heterogeneities(counts, pairs)
        finest = uneven.get(1, PRIOR)
        within = extrapolated(finest, uneven.get(2, finest))
        growth = _growth(counts, pairs, 0), _growth(counts, pairs, 1)
        lines = line_spreads(counts, (strip_lengths(counts, 0), strip_lengths(counts, 1)), within / finest)
        scales = _scales(counts, uneven)
        squares, firsts = _expected(counts, scales)
        return cls(within, growth, prefix_sums(squares), prefix_sums(firsts), scales, (lines[0], lines[1]))

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
        edges = grown(self.edges[0], height) * across_x + grown(self.edges[1], width) * across_y
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
