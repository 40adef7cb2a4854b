"""How do Haar wavelets measure one axis in whole numbers? By sums and differences of its cells.

The usual scaling factors are left out, so a coefficient is a plain sum or difference of counts: an
exact integer that one record changes by ±1. This module reads no record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.space.coverage import Coverage
from spatialdp.transforms.axis import AxisTransform

__all__ = ["HaarAxis"]


@dataclass(frozen=True)
class HaarAxis(AxisTransform):
    """Integer Haar wavelet: the total, and for each dyadic node (sum of its left half) - (sum of its right half).

    The axis is padded with cells known to be empty up to a power of two. A record is in one node of
    each scale and changes that node's coefficient by ±1, so every group has sensitivity 1. The sums
    of a node's halves come back as (sum of the node ± difference) / 2.
    """

    size: int

    @cached_property
    def levels(self) -> int:
        """Number of scales: the least h with 2^h >= size."""
        return (self.size - 1).bit_length()

    @cached_property
    @override
    def groups(self) -> tuple[slice, ...]:
        # The total, then the scales from the coarsest: 1, 1, 2, 4, ... coefficients.
        return (slice(0, 1), *(slice(2**j, 2 ** (j + 1)) for j in range(self.levels)))

    @property
    @override
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        return (Sensitivity(1, 1),) * (self.levels + 1)

    @property
    @override
    def constant(self) -> tuple[bool, ...]:
        return (True, *(False,) * self.levels)

    @property
    @override
    def signed(self) -> bool:
        return self.levels > 0

    @override
    def cells_together(self, group: int) -> int:
        return self.size if group == 0 else 2 ** (self.levels - group + 1)

    @override
    def forward(self, counts: Integers) -> Integers:
        out = np.empty((*counts.shape[:-1], 2**self.levels), dtype=np.int64)
        sums = np.zeros_like(out)
        sums[..., : self.size] = counts
        for j in reversed(range(self.levels)):
            left, right = sums[..., 0::2], sums[..., 1::2]
            np.subtract(left, right, out=out[..., 2**j : 2 ** (j + 1)])
            sums = left + right
        out[..., :1] = sums
        return out

    @override
    def inverse(self, coefficients: Floats) -> Floats:
        sums = coefficients[..., :1]
        for j in range(self.levels):
            difference = coefficients[..., 2**j : 2 ** (j + 1)]
            finer = np.empty((*sums.shape[:-1], 2 * sums.shape[-1]))
            np.add(sums, difference, out=finer[..., 0::2])
            np.subtract(sums, difference, out=finer[..., 1::2])
            finer *= 0.5
            sums = finer
        return sums[..., : self.size]

    @override
    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        # At each scale only the two nodes that hold an end of the box enter, by (left - right) / node size.
        start, stop = coverage.start, coverage.stop
        weights = [((stop - start) / 2**self.levels)[None, :]]
        for j in range(self.levels):
            length = 2 ** (self.levels - j)
            first, last = (np.floor(end / length) * length for end in (start, stop))
            weights.append(
                np.stack(
                    [_tilt(first, length, start, stop), np.where(first == last, 0.0, _tilt(last, length, start, stop))]
                )
            )
        squares, fourths = (np.stack([(w**power).sum(axis=0) for w in weights]) for power in (2, 4))
        return squares, fourths

    @override
    def cell_weights(self, cells: slice) -> Floats:
        # A cell is in one node of each scale, with the sign of its half.
        places = np.arange(cells.start, cells.stop)
        weights = np.zeros((places.size, 2**self.levels))
        weights[:, 0] = 0.5**self.levels
        for j in range(self.levels):
            node, below = places >> (self.levels - j), places >> (self.levels - j - 1)
            weights[np.arange(places.size), 2**j + node] = np.where(below % 2, -1, 1) * 0.5 ** (self.levels - j)
        return weights

    @override
    def to_json(self) -> dict[str, Any]:
        return {"kind": "haar"}


def _tilt(node: Floats, length: int, start: Floats, stop: Floats) -> Floats:
    """The difference of the covered parts of a node's left and right half, over the node's length."""
    before, middle, after = (np.clip(at, start, stop) for at in (node, node + length / 2, node + length))
    return (2 * middle - before - after) / length
