"""The non-standard Haar wavelet: three differences for each node of a quadtree, and the total.

From a node's quadrants come west - east, south - north, and (south-west + north-east) - (south-east + north-west). The
grid is padded with cells known to be empty up to powers of two; where one axis is shorter, the coarsest nodes are not
divided along it and have one difference only. A record is in one node of each scale and changes each of its differences
by ±1, so every kind of every scale has sensitivity 1. Nothing here sees a record.
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
    """The transform of an (nx, ny) grid.

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
        """Scales along x and y."""
        return HaarAxis(self.nx).levels, HaarAxis(self.ny).levels

    @cached_property
    def scales(self) -> tuple[tuple[int, bool, bool], ...]:
        """Coarsest first: binary logarithm of the node's longer side, and whether it is divided along x and y."""
        x, y = self._levels
        return tuple((scale, scale <= x, scale <= y) for scale in range(max(x, y), 0, -1))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The total, then the kinds of differences of each scale, coarsest first, with the node's side in cells."""
        names = ["total"]
        for scale, along_x, along_y in self.scales:
            kinds = ("x",) * along_x + ("y",) * along_y + ("xy",) * (along_x and along_y)
            names += [f"{kind} {2**scale}" for kind in kinds]
        return tuple(names)

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """Of one group: a record has one coefficient and ±1 in it; replacing it can move that from 1 to -1.

        Every scale has a node with cells in both of its halves. The total can only change by a record that enters or
        leaves.
        """
        if neighbours is Neighbours.ADD_REMOVE or group == 0:
            return Sensitivity(1, 1)
        return Sensitivity(2, 4)

    def forward(self, counts: Integers) -> list[Integers]:
        """Exact coefficients of exact counts (ny, nx), group by group. Nodes beyond the grid have none."""
        sums = np.asarray(counts, dtype=np.int64)
        found: list[Integers] = []
        for _, along_x, along_y in reversed(self.scales):
            sums, differences = _analyse(sums, along_x=along_x, along_y=along_y)
            found = differences + found
        return [sums, *found]

    def inverse(self, coefficients: Sequence[Floats]) -> Floats:
        """Estimates of the cells (ny, nx), from the total down."""
        sums, rest = coefficients[0], list(coefficients[1:])
        for (_, along_x, along_y), shape in zip(self.scales, self._shapes[1:], strict=True):
            taken = 3 if along_x and along_y else 1
            sums = _synthesise(sums, rest[:taken], along_x=along_x, along_y=along_y)[: shape[0], : shape[1]]
            rest = rest[taken:]
        return np.asarray(sums, dtype=np.float64)

    def adjoint(self, weights: Floats, row: int, column: int) -> list[Floats]:
        """Weights of the coefficients in a weighted sum of cells, group by group: the transposed inverse.

        The weights are given for a rectangle of cells whose south-west cell is (row, column); they are 0 elsewhere,
        and so are those of coefficients that are left out. A node's halves come back as (sum ± difference) / 2, so the
        transposed inverse takes halved sums and differences of weights where `forward` takes whole ones of counts.
        """
        sums: Floats = weights
        found: list[Floats] = []
        for _, along_x, along_y in reversed(self.scales):
            sums = np.pad(sums, ((row % 2 * along_y, 0), (column % 2 * along_x, 0)))
            row, column = row >> along_y, column >> along_x
            sums, differences = _analyse(sums * 0.5 ** (along_x + along_y), along_x=along_x, along_y=along_y)
            found = differences + found
        return [sums, *found]

    def powers(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Sums of squares and of fourth powers of the measurements' weights in boxes, (groups, boxes).

        With t the halved difference of the covered shares of a node's halves along an axis, and m the covered share of
        the node along it, the differences along x, y and both enter by t m, m t and t t, the total by m m.
        """
        squares, fourths = (np.multiply(*self.factors(x, y, power)) for power in (2, 4))
        return squares, fourths

    def factors(self, x: Coverage, y: Coverage, power: int) -> tuple[Floats, Floats]:
        """The sums of powers, as products of a factor along x and one along y, each (groups, intervals)."""
        along_x, along_y = zip(*self._pairs([*_along(x, self.nx, power)], [*_along(y, self.ny, power)]), strict=True)
        return np.stack(along_x), np.stack(along_y)

    def mean_squares(self) -> Floats:
        """Means of the sums of squares over all boxes of whole cells, or a spread of many of them."""
        x, y = ([part.mean(axis=1) for part in _along(sample_intervals(n), n, 2)] for n in (self.nx, self.ny))
        return np.array([along_x * along_y for along_x, along_y in self._pairs([*x], [*y])])

    def _pairs(self, x: list[Floats], y: list[Floats]) -> list[tuple[Floats, Floats]]:
        """What is multiplied for each group, from (tilts, means) of each axis by binary logarithm of the side."""
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
        """Rows and columns of nodes before each scale is divided, and last those of the cells."""
        x, y = self._levels
        sides = [2**scale for scale in range(max(x, y), -1, -1)]
        return [(-(-self.ny // side), -(-self.nx // side)) for side in sides]


def _along(coverage: Coverage, size: int, power: int) -> tuple[Floats, Floats]:
    """Sums of powers of tilts and of mean coverages of one axis' nodes, (scales, boxes), by logarithm of the side."""
    axis = HaarAxis(size)
    by_scale = axis.powers(coverage)[0 if power == 2 else 1]
    tilts = np.concatenate([np.zeros_like(by_scale[:1]), by_scale[:0:-1]])
    sides = (2**scale for scale in range(axis.levels + 1))
    means = np.stack([block_powers(coverage.start / side, coverage.stop / side, power) for side in sides])
    return tilts, means


def _analyse(sums: Array, *, along_x: bool, along_y: bool) -> tuple[Array, list[Array]]:
    """Sums and differences of the nodes one scale up."""
    parts = [sums]
    for divided, axis in ((along_x, 1), (along_y, 0)):
        if divided:
            halves = [_halves(part, axis) for part in parts]
            parts = [low + high for low, high in halves] + [low - high for low, high in halves]
    return parts[0], parts[1:]


def _synthesise(sums: Floats, differences: Sequence[Floats], *, along_x: bool, along_y: bool) -> Floats:
    """Halves of halves, from sums and differences."""
    parts = [sums, *differences]
    for divided, axis in ((along_y, 0), (along_x, 1)):
        if divided:
            half = len(parts) // 2
            parts = [_interleave(s, d, axis) for s, d in zip(parts[:half], parts[half:], strict=True)]
    return parts[0]


def _halves(values: Array, axis: int) -> tuple[Array, Array]:
    """Every other entry, beginning with the first and with the second; a missing last one is 0."""
    if values.shape[axis] % 2:
        values = np.pad(values, [(0, int(axis == i)) for i in range(2)])
    return (values[:, 0::2], values[:, 1::2]) if axis else (values[0::2], values[1::2])


def _interleave(sums: Floats, differences: Floats, axis: int) -> Floats:
    pairs = np.stack([(sums + differences) * 0.5, (sums - differences) * 0.5], axis=axis + 1)
    shape = list(sums.shape)
    shape[axis] *= 2
    return pairs.reshape(shape)
