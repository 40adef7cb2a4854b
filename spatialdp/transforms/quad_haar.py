"""How does the non-standard Haar wavelet measure a grid? By the total and differences in a quadtree.

Each node of the quadtree has three differences of its quadrants: west - east, south - north, and
(south-west + north-east) - (south-east + north-west). The grid is padded with cells known to be
empty up to powers of two. Where one axis is shorter, the coarsest nodes are not divided along that
axis and have one difference only. A record is in one node of each scale and changes each of the
node's differences by ±1, so every kind of difference of every scale has sensitivity 1. This module
reads no record; everything before the noise is exact integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.space.coverage import Coverage, block_powers
from spatialdp.transforms.axis import sample_intervals
from spatialdp.transforms.haar import HaarAxis

__all__ = ["QuadHaar"]


@dataclass(frozen=True)
class QuadHaar:
    """The non-standard Haar transform of a grid of nx columns and ny rows.

    Examples
    --------
    >>> transform = QuadHaar(2, 2)
    >>> [(name, part.tolist()) for name, part in zip(transform.groups, transform.forward(np.eye(2, dtype=int)))]
    [('total', [[2]]), ('x 2', [[0]]), ('y 2', [[0]]), ('xy 2', [[2]])]
    """

    nx: int
    ny: int

    @cached_property
    def _levels(self) -> tuple[int, int]:
        """Number of scales along x and along y."""
        return HaarAxis(self.nx).levels, HaarAxis(self.ny).levels

    @cached_property
    def scales(self) -> tuple[tuple[int, bool, bool], ...]:
        """For each scale, coarsest first: log2 of the nodes' longer side, and whether x and y are divided."""
        x, y = self._levels
        return tuple((scale, scale <= x, scale <= y) for scale in range(max(x, y), 0, -1))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups: the total, then kind of difference and nodes' side in cells, coarsest scale first."""
        names = ["total"]
        for scale, along_x, along_y in self.scales:
            kinds = ("x",) * along_x + ("y",) * along_y + ("xy",) * (along_x and along_y)
            names += [f"{kind} {2**scale}" for kind in kinds]
        return tuple(names)

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """How far one record can move the coefficients of a group.

        A record enters one coefficient of the group, by ±1. Replacing the record can turn 1 into -1,
        because every scale has a node with cells in both of its halves, or move the entry to another
        coefficient. The total changes only if a record enters or leaves.
        """
        if neighbours is Neighbours.ADD_REMOVE or group == 0:
            return Sensitivity(1, 1)
        return Sensitivity(2, 4)

    def cells_of_one_sign(self, group: int) -> int:
        """The most cells that enter one coefficient of a group with the same sign: half of a node, or all cells."""
        sides = [(self.nx, self.ny)]
        for scale, along_x, along_y in self.scales:
            node = 2**scale if along_x else self.nx, 2**scale if along_y else self.ny
            sides += [node] * (3 if along_x and along_y else 1)
        width, height = sides[group]
        return width * height if group == 0 else width * height // 2

    def forward(self, counts: Integers) -> list[Integers]:
        """Exact coefficients of exact counts (ny, nx), group by group; nodes beyond the grid have none."""
        sums = np.asarray(counts, dtype=np.int64)
        coefficients: list[Integers] = []
        for _, along_x, along_y in reversed(self.scales):
            sums, differences = _analyse(sums, along_x=along_x, along_y=along_y)
            coefficients = differences + coefficients
        return [sums, *coefficients]

    def inverse(self, coefficients: Sequence[Floats]) -> Floats:
        """Estimates of the cells (ny, nx) from noisy coefficients, group by group, the total first."""
        sums, rest = coefficients[0], list(coefficients[1:])
        for (_, along_x, along_y), shape in zip(self.scales, self._shapes[1:], strict=True):
            kinds = 3 if along_x and along_y else 1
            sums = _synthesise(sums, rest[:kinds], along_x=along_x, along_y=along_y)[: shape[0], : shape[1]]
            rest = rest[kinds:]
        return np.asarray(sums, dtype=np.float64)

    def adjoint(self, weights: Floats, row: int, column: int) -> list[Floats]:
        """Weights of the coefficients in a weighted sum of cells, group by group: the transposed inverse.

        `weights` are those of a rectangle of cells whose south-west cell is (row, column). All other
        cells have weight 0, and so have the coefficients that are left out of the result. The inverse
        computes a node's halves as (sum ± difference) / 2, so the transposed inverse takes halved
        sums and differences of weights where `forward` takes whole ones of counts.
        """
        sums: Floats = weights
        coefficients: list[Floats] = []
        for _, along_x, along_y in reversed(self.scales):
            sums = np.pad(sums, ((row % 2 * along_y, 0), (column % 2 * along_x, 0)))
            row, column = row >> along_y, column >> along_x
            sums, differences = _analyse(sums * 0.5 ** (along_x + along_y), along_x=along_x, along_y=along_y)
            coefficients = differences + coefficients
        return [sums, *coefficients]

    def powers(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Sums of squares and of fourth powers of the coefficients' weights in boxes, each (groups, boxes).

        Let m be the covered share of a node along an axis, and t (the tilt) half the difference of
        the covered shares of its two halves. The differences along x, along y and along both enter
        an answer with the weights t m, m t and t t, and the total with m m.
        """
        squares, fourths = (np.multiply(*self.factors(x, y, power)) for power in (2, 4))
        return squares, fourths

    def factors(self, x: Coverage, y: Coverage, power: int) -> tuple[Floats, Floats]:
        """Factors along x and along y, each (groups, intervals), that multiply to the sums of `powers`."""
        along_x, along_y = zip(
            *self._pairs([*_axis_powers(x, self.nx, power)], [*_axis_powers(y, self.ny, power)]), strict=True
        )
        return np.stack(along_x), np.stack(along_y)

    def mean_squares(self) -> Floats:
        """Mean of the sums of squares of `powers` over all boxes of whole cells, or over an even sample of them."""
        x, y = ([part.mean(axis=1) for part in _axis_powers(sample_intervals(n), n, 2)] for n in (self.nx, self.ny))
        return np.array([along_x * along_y for along_x, along_y in self._pairs([*x], [*y])])

    def _pairs(self, x: list[Floats], y: list[Floats]) -> list[tuple[Floats, Floats]]:
        """For each group its factors along x and y, from (tilts, means) of each axis by log2 of the nodes' side."""
        (tilt_x, mean_x), (tilt_y, mean_y) = x, y
        top_x, top_y = self._levels
        result = [(mean_x[top_x], mean_y[top_y])]
        for scale, along_x, along_y in self.scales:
            i, j = min(scale, top_x), min(scale, top_y)
            result += [(tilt_x[i], mean_y[j])] * along_x
            result += [(mean_x[i], tilt_y[j])] * along_y
            result += [(tilt_x[i], tilt_y[j])] * (along_x and along_y)
        return result

    @cached_property
    def _shapes(self) -> list[tuple[int, int]]:
        """Rows and columns of nodes at each scale, coarsest first, and last those of the cells."""
        x, y = self._levels
        sides = [2**scale for scale in range(max(x, y), -1, -1)]
        return [(-(-self.ny // side), -(-self.nx // side)) for side in sides]


def _axis_powers(coverage: Coverage, size: int, power: int) -> tuple[Floats, Floats]:
    """Sums of powers of the tilts and of the mean coverages of one axis' nodes, each (log2 of the side, boxes)."""
    axis = HaarAxis(size)
    by_scale = axis.powers(coverage)[0 if power == 2 else 1]
    tilts = np.concatenate([np.zeros_like(by_scale[:1]), by_scale[:0:-1]])
    sides = (2**scale for scale in range(axis.levels + 1))
    means = np.stack([block_powers(coverage.start / side, coverage.stop / side, power) for side in sides])
    return tilts, means


def _analyse(sums: Array, *, along_x: bool, along_y: bool) -> tuple[Array, list[Array]]:
    """Sums of the nodes one scale up, and the differences of their halves."""
    parts = [sums]
    for divided, axis in ((along_x, 1), (along_y, 0)):
        if divided:
            halves = [_halves(part, axis) for part in parts]
            parts = [low + high for low, high in halves] + [low - high for low, high in halves]
    return parts[0], parts[1:]


def _synthesise(sums: Floats, differences: Sequence[Floats], *, along_x: bool, along_y: bool) -> Floats:
    """Sums of the nodes one scale down, from sums and differences."""
    parts = [sums, *differences]
    for divided, axis in ((along_y, 0), (along_x, 1)):
        if divided:
            half = len(parts) // 2
            parts = [_interleave(s, d, axis) for s, d in zip(parts[:half], parts[half:], strict=True)]
    return parts[0]


def _halves(values: Array, axis: int) -> tuple[Array, Array]:
    """The even and the odd entries along an axis; a missing last one is 0."""
    if values.shape[axis] % 2:
        values = np.pad(values, [(0, int(axis == i)) for i in range(2)])
    return (values[:, 0::2], values[:, 1::2]) if axis else (values[0::2], values[1::2])


def _interleave(sums: Floats, differences: Floats, axis: int) -> Floats:
    pairs = np.stack([(sums + differences) * 0.5, (sums - differences) * 0.5], axis=axis + 1)
    shape = list(sums.shape)
    shape[axis] *= 2
    return pairs.reshape(shape)
