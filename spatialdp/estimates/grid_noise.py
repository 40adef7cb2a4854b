"""How noisy is the answer to a box on a grid? The variance and fourth cumulant, for four kinds of noise.

An answer is a weighted sum of independent noises. Where every cell has its own noise, the weights are
the covered shares. Where rows and columns are transformed, the weight of a measurement is a product
of one factor along x and one along y, so sums of squares (and of fourth powers) over a group of
measurements are products as well. See ``docs/design/boxes.md``. The explorer's ``noise.mjs`` and
`outputs.files.noise_models` must know every kind of noise too. This module reads no record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.space.coverage import Coverage, coverages, prefix_sums, weighted_sums
from spatialdp.space.domain import Grid
from spatialdp.space.polygons import Runs
from spatialdp.space.regions.borders import Border, Cuts
from spatialdp.transforms.axis import AxisWeights
from spatialdp.transforms.quad_haar import QuadHaar

__all__ = [
    "IndependentNoise",
    "NoiseModel",
    "QuadHaarNoise",
    "SeparableNoise",
    "SharedNoise",
    "WeightedNoise",
]


_WEIGHTS_AT_ONCE = 2**20  # limits the memory that a polygon takes


class NoiseModel(ABC):
    """The noise of the estimates on a grid.

    Attributes
    ----------
    uses_outside : bool
        Whether estimates of cells outside the region make the answers to boxes more accurate, and so
        are kept.
    """

    uses_outside: ClassVar[bool] = True
    by_cell: ClassVar[bool] = False  # whether the noise of whole cells is a whole multiple of the step
    by_total: ClassVar[bool] = False  # whether only the total was measured, so that cells say nothing about the spread

    width: float  # of the lattice on which the noise lies; 0 if it is as good as continuous

    @abstractmethod
    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of the noise in each box's answer."""

    @property
    def fitted(self) -> bool:
        """Whether measurements were chosen for boxes with plain shares, so that single cells may be very noisy."""
        return False

    def border_cumulants(self, border: Border, boxes: Integers) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of lattice boxes, of which some cut cells on the region's border.

        The weights of these are no products over the axes, so they are answered as polygons are.
        """
        import shapely

        second, fourth = self.cumulants(*coverages(border.grid, boxes))
        cut = np.flatnonzero(border.is_cut(boxes))
        x, y = border.grid.domain.axes
        corners = (axis.coordinates(boxes[cut, side]) for side, axis in enumerate((x, y, x, y)))
        for part, runs in border.scan(shapely.box(*corners)):
            second[cut[part]], fourth[cut[part]] = self.polygon_cumulants(runs)
        return second, fourth

    @abstractmethod
    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of single cells, for every row and every column, (rows, columns)."""

    @abstractmethod
    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of the noise in each polygon's answer."""

    @property
    def step(self) -> float:
        """Width of the lattice on which the noise of the measurements lies; 0 if it is as good as continuous.

        A measurement must enter an answer with a weight of at most 1.
        """
        return self.width

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain values from which `outputs.files.noise_models.noise_from_json` makes the same model."""


@dataclass(frozen=True, eq=False)
class IndependentNoise(NoiseModel):
    """Independent noise of one law in every cell of the region.

    Attributes
    ----------
    grid : Grid
    variance, kurtosis : float
        Variance and excess kurtosis of one cell's noise.
    width : float
        Width of the lattice on which the noise lies.
    """

    uses_outside: ClassVar[bool] = False
    by_cell: ClassVar[bool] = True

    grid: Grid
    variance: float
    kurtosis: float
    width: float

    @override
    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        squares = np.maximum(weighted_sums(self._cells, x, y, power=2), 0.0)
        fourths = np.maximum(weighted_sums(self._cells, x, y, power=4), 0.0)
        return self.variance * squares, self.kurtosis * self.variance**2 * fourths

    @override
    def border_cumulants(self, border: Border, boxes: Integers) -> tuple[Floats, Floats]:
        second, fourth = self.cumulants(*coverages(border.grid, boxes))
        squares, fourths = border.summed(boxes, lambda cuts: cuts.change(2), lambda cuts: cuts.change(4))
        second += self.variance * squares
        fourth += self.kurtosis * self.variance**2 * fourths
        return np.maximum(second, 0.0), np.maximum(fourth, 0.0)

    @override
    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        shape = (y.start.size, x.start.size)
        return np.full(shape, self.variance), np.full(shape, self.kurtosis * self.variance**2)

    @override
    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        squares, fourths = (np.maximum(runs.sums(self._cells, power), 0.0) for power in (2, 4))
        return self.variance * squares, self.kurtosis * self.variance**2 * fourths

    @override
    def to_json(self) -> dict[str, Any]:
        return {"kind": "independent", "variance": self.variance, "kurtosis": self.kurtosis, "width": self.width}

    @cached_property
    def _cells(self) -> Floats:
        return prefix_sums(self.grid.mask)


@dataclass(frozen=True, eq=False)
class WeightedNoise(IndependentNoise):
    """Independent noise of one law in every cell, made of several measurements with weights, so not in whole steps."""

    by_cell: ClassVar[bool] = False

    @override
    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "kind": "weighted"}


class SharedNoise(IndependentNoise):
    """One noise, spread evenly over the cells of the region: a box that covers half the region has half of it.

    The attributes are those of `IndependentNoise`; variance and kurtosis are those of the whole region's noise.
    """

    by_cell: ClassVar[bool] = False
    by_total: ClassVar[bool] = True

    @override
    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        return self._powers(weighted_sums(self._cells, x, y, power=1))

    @override
    def border_cumulants(self, border: Border, boxes: Integers) -> tuple[Floats, Floats]:
        covered = weighted_sums(self._cells, *coverages(border.grid, boxes), power=1)
        return self._powers(covered + border.summed(boxes, Cuts.change)[0])

    @override
    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        return self._powers(np.ones((y.start.size, x.start.size)))

    @override
    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        return self._powers(runs.sums(self._cells))

    def _powers(self, covered: Floats) -> tuple[Floats, Floats]:
        share = np.maximum(covered, 0.0) / self.grid.n_cells
        return self.variance * share**2, self.kurtosis * self.variance**2 * share**4

    @override
    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "kind": "shared"}


@dataclass(frozen=True, eq=False)
class SeparableNoise(NoiseModel):
    """Noise of measurements that are products of a transform along x and one along y.

    Attributes
    ----------
    x, y : AxisWeights
        Weights of the measurements along each axis in a box, group by group.
    variances, kurtosis : (x groups, y groups) arrays
        Variance and excess kurtosis of the noise in each measurement of a pair of groups.
    width : float
        Width of the lattice on which the noise lies; 0 if it is as good as continuous.
    """

    x: AxisWeights
    y: AxisWeights
    variances: Floats
    kurtosis: Floats
    width: float

    @property
    @override
    def fitted(self) -> bool:
        return self.x.fitted or self.y.fitted

    @override
    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        x2, x4 = self.x.powers(x)
        y2, y4 = self.y.powers(y)
        second = np.einsum("im,ij,jm->m", x2, self.variances, y2)
        fourth = np.einsum("im,ij,jm->m", x4, self.kurtosis * self.variances**2, y4)
        return np.maximum(second, 0.0), np.maximum(fourth, 0.0)

    @override
    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        fourths = self.kurtosis * self.variances**2
        powers = zip(self.y.powers(y), (self.variances, fourths), self.x.powers(x), strict=True)
        second, fourth = (np.maximum(along_y.T @ (pairs.T @ along_x), 0.0) for along_y, pairs, along_x in powers)
        return second, fourth

    @override
    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        # The weights of all measurements in a polygon are the transposed inverse along both axes. Only the polygon's
        # own rows and columns enter, and only measurements that depend on one of them.
        second, fourth = np.zeros((2, runs.count))
        for block in runs.blocks():
            along_y, y_groups, y_starts = _applied(self.y, block.row, block.shares)
            powers, x_groups, x_starts = _applied(self.x, block.column, along_y.T)
            variances, kurtosis = (table[np.ix_(x_groups, y_groups)] for table in (self.variances, self.kurtosis))
            for cumulants, weights in ((second, variances), (fourth, variances**2 * kurtosis)):
                np.square(powers, out=powers)
                sums = np.add.reduceat(np.add.reduceat(powers, y_starts, axis=1), x_starts, axis=0)
                cumulants[block.polygon] = np.sum(weights * sums)
        return second, fourth

    @override
    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "separable",
            "x": self.x.to_json(),
            "y": self.y.to_json(),
            "variances": self.variances.tolist(),
            "kurtosis": self.kurtosis.tolist(),
            "width": self.width,
        }


def _applied(
    axis: AxisWeights, first: int, shares: Floats
) -> tuple[Floats, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Weights of an axis' measurements in weighted sums of cells, the groups that they are in, and where each begins.

    The cells begin with `first`; `shares` are (cells, sums), and the weights (measurements, sums). Measurements that
    depend on none of the cells are left out. A long axis has many more weights than cells, so they are made for some
    cells at a time.
    """
    totals = np.zeros((axis.n_coefficients, shares.shape[1]))
    seen = np.zeros(axis.n_coefficients, dtype=bool)
    step = max(1, _WEIGHTS_AT_ONCE // axis.n_coefficients)
    for start in range(0, len(shares), step):
        part = shares[start : start + step]
        weights = axis.cell_weights(slice(first + start, first + start + len(part)))
        some = weights.any(axis=0)
        totals[some] += weights[:, some].T @ part
        seen |= some
    group = np.repeat(np.arange(axis.n_groups), [part.stop - part.start for part in axis.groups])[seen]
    groups, starts = np.unique(group, return_index=True)
    return totals[seen], groups, starts


@dataclass(frozen=True, eq=False)
class QuadHaarNoise(NoiseModel):
    """Noise of the coefficients of the non-standard Haar wavelet.

    Attributes
    ----------
    transform : QuadHaar
    variances, kurtosis : (groups,) arrays
        Variance and excess kurtosis of the noise in each coefficient of a group.
    width : float
        Width of the lattice on which the noise lies.
    """

    transform: QuadHaar
    variances: Floats
    kurtosis: Floats
    width: float

    @override
    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        squares, fourths = self.transform.powers(x, y)
        second, fourth = self.variances @ squares, (self.kurtosis * self.variances**2) @ fourths
        return np.maximum(second, 0.0), np.maximum(fourth, 0.0)

    @override
    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        fourths = self.kurtosis * self.variances**2
        parts = ((self.transform.factors(x, y, p), weights) for p, weights in ((2, self.variances), (4, fourths)))
        second, fourth = (along_y.T @ (weights[:, None] * along_x) for (along_x, along_y), weights in parts)
        return second, fourth

    @override
    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        # The weights of all coefficients in a polygon are the transposed inverse.
        second, fourth = np.zeros((2, runs.count))
        for block in runs.blocks():
            weights = self.transform.adjoint(block.shares, block.row, block.column)
            squares = [part**2 for part in weights]
            second[block.polygon] = self.variances @ [part.sum() for part in squares]
            fourth[block.polygon] = (self.kurtosis * self.variances**2) @ [(part**2).sum() for part in squares]
        return second, fourth

    @override
    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "quadtree-haar",
            "variances": self.variances.tolist(),
            "kurtosis": self.kurtosis.tolist(),
            "width": self.width,
        }
