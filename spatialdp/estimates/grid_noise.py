"""What is known of the noise in a grid of estimates: variance and fourth cumulant of any box.

An answer is a weighted sum of independent noises. For cells with a noise each, the weights are the covered shares. For
a transform of rows and columns, the weight of a measurement is a product of one factor along x and one along y, so
that sums of squares (and of fourth powers) over a group of measurements are products as well. Nothing here sees a
record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp.space.coverage import Coverage, prefix_sums, weighted_sums
from spatialdp.space.domain import Grid
from spatialdp.space.polygons import Runs
from spatialdp.transforms.axis import AxisWeights
from spatialdp.transforms.quad_haar import QuadHaar

__all__ = ["IndependentNoise", "NoiseModel", "QuadHaarNoise", "SeparableNoise", "SharedNoise"]


class NoiseModel(ABC):
    """Noise of a grid's estimates.

    Attributes
    ----------
    uses_outside : bool
        Whether estimates of cells outside the region make the answers to boxes more accurate, so that they are kept.
    """

    uses_outside: ClassVar[bool] = True

    @abstractmethod
    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of the noise in each box's answer."""

    @abstractmethod
    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """The same of every column crossed with every row, (rows, columns), for single cells."""

    @abstractmethod
    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        """Second and fourth cumulants of the noise in each polygon's answer."""

    @property
    def step(self) -> float:
        """Width of the lattice the noise of whole cells lives on; 0 where answers are mixtures of many measurements."""
        return 0.0

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain values from which `noise_from_json` makes the same model."""


@dataclass(frozen=True, eq=False)
class IndependentNoise(NoiseModel):
    """Independent noise of one law in every cell of the region.

    Attributes
    ----------
    grid : Grid
    variance, kurtosis : float
        Of one cell's noise (excess kurtosis).
    width : float
        Of the lattice the noise lives on.
    """

    uses_outside: ClassVar[bool] = False

    grid: Grid
    variance: float
    kurtosis: float
    width: float

    @property
    def step(self) -> float:
        """Width of the lattice the noise lives on."""
        return self.width

    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Sums over the region's cells of squared and fourth powers of the covered share."""
        squares = np.maximum(weighted_sums(self._cells, x, y, power=2), 0.0)
        fourths = np.maximum(weighted_sums(self._cells, x, y, power=4), 0.0)
        return self.variance * squares, self.kurtosis * self.variance**2 * fourths

    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Those of one cell's noise, everywhere."""
        shape = (y.start.size, x.start.size)
        return np.full(shape, self.variance), np.full(shape, self.kurtosis * self.variance**2)

    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        """The same sums over a polygon's cells."""
        squares, fourths = (np.maximum(runs.sums(self._cells, power), 0.0) for power in (2, 4))
        return self.variance * squares, self.kurtosis * self.variance**2 * fourths

    def to_json(self) -> dict[str, Any]:
        """Variance, kurtosis and lattice."""
        return {"kind": "independent", "variance": self.variance, "kurtosis": self.kurtosis, "width": self.width}

    @cached_property
    def _cells(self) -> Floats:
        return prefix_sums(self.grid.mask)


@dataclass(frozen=True, eq=False)
class SharedNoise(IndependentNoise):
    """One noise, spread evenly over the cells of the region.

    Attributes are those of `IndependentNoise`; variance and kurtosis are those of the whole region's noise.
    """

    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Powers of the share of the region that a box covers."""
        return self._powers(weighted_sums(self._cells, x, y, power=1))

    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """One cell's share of the noise, everywhere."""
        return self._powers(np.ones((y.start.size, x.start.size)))

    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        """The same of a polygon."""
        return self._powers(runs.sums(self._cells))

    def _powers(self, covered: Floats) -> tuple[Floats, Floats]:
        share = np.maximum(covered, 0.0) / self.grid.n_cells
        return self.variance * share**2, self.kurtosis * self.variance**2 * share**4

    def to_json(self) -> dict[str, Any]:
        """Variance, kurtosis and lattice."""
        return {**super().to_json(), "kind": "shared"}


@dataclass(frozen=True, eq=False)
class SeparableNoise(NoiseModel):
    """Noise of measurements that are products of an x and a y transform.

    Attributes
    ----------
    x, y : AxisWeights
        How a box enters the measurements along each axis, group by group.
    variances, kurtosis : (x groups, y groups) arrays
        Of the noise in each measurement of a pair of groups.
    """

    x: AxisWeights
    y: AxisWeights
    variances: Floats
    kurtosis: Floats

    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Sums over pairs of groups of products over the axes."""
        x2, x4 = self.x.powers(x)
        y2, y4 = self.y.powers(y)
        second = np.einsum("im,ij,jm->m", x2, self.variances, y2)
        fourth = np.einsum("im,ij,jm->m", x4, self.kurtosis * self.variances**2, y4)
        return np.maximum(second, 0.0), np.maximum(fourth, 0.0)

    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Products over the axes, of all columns with all rows."""
        fourths = self.kurtosis * self.variances**2
        powers = zip(self.y.powers(y), (self.variances, fourths), self.x.powers(x), strict=True)
        second, fourth = (np.maximum(along_y.T @ (pairs.T @ along_x), 0.0) for along_y, pairs, along_x in powers)
        return second, fourth

    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        """Weights of all measurements, polygon by polygon: the transposed way back along both axes.

        Only the polygon's own rows and columns enter, and only measurements that see one of them.
        """
        second, fourth = np.zeros((2, runs.count))
        for block in runs.blocks():
            rows, columns = block.shares.shape
            x, x_groups, x_starts = _seen(self.x, slice(block.column, block.column + columns))
            y, y_groups, y_starts = _seen(self.y, slice(block.row, block.row + rows))
            variances, kurtosis = (table[np.ix_(x_groups, y_groups)] for table in (self.variances, self.kurtosis))
            powers = x.T @ (block.shares.T @ y)
            for found, weights in ((second, variances), (fourth, variances**2 * kurtosis)):
                np.square(powers, out=powers)
                sums = np.add.reduceat(np.add.reduceat(powers, y_starts, axis=1), x_starts, axis=0)
                found[block.polygon] = np.sum(weights * sums)
        return second, fourth

    def to_json(self) -> dict[str, Any]:
        """Both axes and the noise of their pairs of groups."""
        return {
            "kind": "separable",
            "x": self.x.to_json(),
            "y": self.y.to_json(),
            "variances": self.variances.tolist(),
            "kurtosis": self.kurtosis.tolist(),
        }


def _seen(axis: AxisWeights, cells: slice) -> tuple[Floats, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Weights of the measurements that see any of an axis' cells; their groups, and where each of these begins."""
    weights = axis.cell_weights(cells)
    seen = weights.any(axis=0)
    group = np.repeat(np.arange(axis.n_groups), [part.stop - part.start for part in axis.groups])[seen]
    groups, starts = np.unique(group, return_index=True)
    return weights[:, seen], groups, starts


@dataclass(frozen=True, eq=False)
class QuadHaarNoise(NoiseModel):
    """Noise in the coefficients of the non-standard Haar wavelet.

    Attributes
    ----------
    transform : QuadHaar
    variances, kurtosis : (groups,) arrays
        Of the noise in each coefficient of a group.
    """

    transform: QuadHaar
    variances: Floats
    kurtosis: Floats

    def cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Sums over groups of powers of the coefficients' weights."""
        squares, fourths = self.transform.powers(x, y)
        second, fourth = self.variances @ squares, (self.kurtosis * self.variances**2) @ fourths
        return np.maximum(second, 0.0), np.maximum(fourth, 0.0)

    def cell_cumulants(self, x: Coverage, y: Coverage) -> tuple[Floats, Floats]:
        """Products over the axes, of all columns with all rows."""
        fourths = self.kurtosis * self.variances**2
        parts = ((self.transform.factors(x, y, p), weights) for p, weights in ((2, self.variances), (4, fourths)))
        second, fourth = (along_y.T @ (weights[:, None] * along_x) for (along_x, along_y), weights in parts)
        return second, fourth

    def polygon_cumulants(self, runs: Runs) -> tuple[Floats, Floats]:
        """Weights of all coefficients, polygon by polygon: the transposed way back."""
        second, fourth = np.zeros((2, runs.count))
        for block in runs.blocks():
            weights = self.transform.adjoint(block.shares, block.row, block.column)
            squares = [part**2 for part in weights]
            second[block.polygon] = self.variances @ [part.sum() for part in squares]
            fourth[block.polygon] = (self.kurtosis * self.variances**2) @ [(part**2).sum() for part in squares]
        return second, fourth

    def to_json(self) -> dict[str, Any]:
        """The noise of each group; the transform follows from the grid."""
        return {"kind": "quadtree-haar", "variances": self.variances.tolist(), "kurtosis": self.kurtosis.tolist()}
