"""How does a list of cells answer any box or polygon? By the records in listed cells; about others it says nothing.

A sparse release has no number for most cells: it lists those whose noisy count was at least a public threshold. So an
answer is the number of records **in listed cells** of the area; of a cell that a box or polygon cuts, the covered share
counts. Boxes are answered by sums over rectangles of cells (`_support.wavelet_matrix`): at most nine for each box,
because coverage has at most three stretches along an axis (`space.coverage`).

If the listed cells were counted afresh, their counts are unbiased given the list, and every answer knows its noise. If
they were not, the published count is the one by which a cell was chosen, which is too high on average: such an estimate
is biased. Everything here is released; nothing may depend on a cell that is not listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, read_only
from spatialdp._support.wavelet_matrix import WaveletMatrix
from spatialdp.estimates.base import Unsmoothed, moments_of
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.estimates.zones.sets import NodeSets
from spatialdp.estimates.zones.shares import LeafAreas
from spatialdp.space.coverage import fine_coverages
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.polygons import Polygons
from spatialdp.trees.adjust import NonNegative

__all__ = ["ListedCells"]

Weigh = Callable[[Floats], Floats]
_POWERS: tuple[Weigh, Weigh] = (lambda share: share**2, lambda share: share**4)


@dataclass(frozen=True, eq=False)
class ListedCells(Unsmoothed):
    """Estimated counts of the listed cells of a fine grid; an `Estimate`.

    Attributes
    ----------
    grid : FineGrid
        The cells that could have been listed.
    columns, rows : (n,) int arrays
        The listed cells, row by row and each once.
    values : (n,) float array
        Their estimated counts; read-only.
    threshold : float
        The noisy count from which on a cell was listed.
    false : float
        How many empty cells were expected to be listed, if all cells were empty.
    variance, kurtosis : float
        Variance and excess kurtosis of the noise in each count.
    step : float
        Width of the lattice on which the noise lies.
    biased : bool
        Whether the errors of the counts do not average out: the cells were chosen by them, or they were adjusted.
    """

    kind: ClassVar[str] = "listed"
    consistent: ClassVar[bool] = True  # a box is the sum of its listed cells
    extrapolates: ClassVar[bool] = False

    grid: FineGrid
    columns: Integers
    rows: Integers
    values: Floats
    threshold: float
    false: float
    variance: float
    kurtosis: float
    step: float
    biased: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", read_only(self.values, np.float64))
        for name in ("columns", "rows"):
            object.__setattr__(self, name, read_only(getattr(self, name), np.int64))

    @property
    def n_cells(self) -> int:
        """Number of listed cells."""
        return self.values.size

    @cached_property
    def total(self) -> float:
        """Estimated number of records in listed cells."""
        return float(self.values.sum())

    def in_words(self, counted: str = "records") -> str:
        """Return what is on the list and what is missing, for captions and files; `counted` is what is counted."""
        nx, ny = self.grid.shape
        return (
            f"Listed are those of {self.grid.n_cells:,} cells (of a grid of {nx:,} × {ny:,}) whose noisy count was at "
            f"least {self.threshold:,.6g} {counted}. Cells with fewer are missing, and {self.false:,.3g} empty cells "
            "are expected on the list."
        )

    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of the listed cells of lattice boxes; records are evenly spread within a cut cell."""
        return self._summed(boxes, self._values, lambda share: share)

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each answer."""
        return self._moments(*(self._summed(boxes, self._places, power) for power in _POWERS))

    def allowance(self, boxes: Integers) -> Allowance:
        """What uneven spread within cut cells adds to the error: the records of a cell may all lie in one place."""
        return Allowance(self._summed(boxes, self._squares, _scatter))

    def uniformity(self, boxes: Integers) -> Floats:
        """About how far each answer can be off because records are not evenly spread within the cells that a box cuts.

        The bound is the sum over cut listed cells of the (noisy) estimate times the larger of the covered and the
        uncovered share.
        """
        return self._summed(boxes, self._positive, _worst)

    @property
    def leaf_steps(self) -> bool:
        """Whether the noise of each cell's estimate is a whole multiple of `step`."""
        return True

    def in_steps(self, boxes: Integers) -> Booleans:
        """Whether the noise of each answer is a whole multiple of `step`: no listed cell is cut."""
        return np.asarray(self._summed(boxes, self._places, _worst) == 0)

    def answer_polygons(self, polygons: Polygons) -> Floats:
        """Estimated counts of the listed cells of polygons; records are evenly spread within a cut cell."""
        return self._summed_sets(self._sets(polygons), self.values, lambda share: share)

    def polygon_moments(self, polygons: Polygons) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each polygon's answer."""
        sets = self._sets(polygons)
        return self._moments(*(self._summed_sets(sets, None, power) for power in _POWERS))

    def polygon_allowance(self, polygons: Polygons) -> Allowance:
        """What uneven spread within cut cells adds to the error of each polygon's answer."""
        return Allowance(self._summed_sets(self._sets(polygons), self._cell_squares, _scatter))

    def polygons_in_steps(self, polygons: Polygons) -> Booleans:
        """Whether the noise of each polygon's answer is a whole multiple of `step`."""
        return np.asarray(self._summed_sets(self._sets(polygons), None, _worst) == 0)

    def leaf_boxes(self, numbers: Integers | slice = slice(None)) -> Integers:
        """Lattice boxes of all listed cells, or of some by their numbers."""
        return self.grid.lattice_boxes(self.columns[numbers], self.rows[numbers])

    def leaf_values(self) -> Floats:
        """Estimated counts of the listed cells, row by row."""
        return self.values

    def leaf_moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each listed cell's estimate."""
        return np.full(self.n_cells, self.variance), np.full(self.n_cells, self.kurtosis)

    def leaf_allowance(self) -> Allowance:
        """What uneven spread adds to the errors of whole cells: nothing."""
        return Allowance(np.zeros(self.n_cells))

    def non_negative(self, method: NonNegative = NonNegative.FAMILIES) -> ListedCells:  # noqa: ARG002 - both are the same
        """The same cells with negative counts set to 0; biased."""
        return replace(self, values=np.maximum(self.values, 0.0), biased=True)

    def rounded(self) -> ListedCells:
        """The same cells with whole counts, each the nearest to the estimate; biased."""
        return replace(self, values=np.rint(self.values), biased=True)

    # --- boxes -----------------------------------------------------------------------------------

    def _summed(self, boxes: Integers, cells: WaveletMatrix, weigh: Weigh) -> Floats:
        """For every box, the sum over listed cells of what they count times a function of their covered share."""
        x, y = fine_coverages(self.grid, boxes)
        result = np.zeros(len(boxes))
        for i in range(3):
            for j in range(3):
                weights = weigh(x.parts[i] * y.parts[j])
                some = np.flatnonzero(weights)
                sides = (x.knots[i], y.knots[j], x.knots[i + 1], y.knots[j + 1])
                result[some] += weights[some] * cells.count(np.stack([side[some] for side in sides], axis=1))
        return result

    def _matrix(self, weights: Floats | None) -> WaveletMatrix:
        return WaveletMatrix(self.columns, self.rows, weights)

    @cached_property
    def _places(self) -> WaveletMatrix:
        return self._matrix(None)

    @cached_property
    def _values(self) -> WaveletMatrix:
        return self._matrix(self.values)

    @cached_property
    def _positive(self) -> WaveletMatrix:
        return self._matrix(np.maximum(self.values, 0.0))

    @cached_property
    def _squares(self) -> WaveletMatrix:
        return self._matrix(self._cell_squares)

    @property
    def _cell_squares(self) -> Floats:
        """The square of each cell's count, as large as it may be."""
        return np.maximum(self.values, 0.0) ** 2 + self.variance

    # --- polygons --------------------------------------------------------------------------------

    @cached_property
    def _areas(self) -> LeafAreas:
        import shapely

        boxes = shapely.box(*self.grid.boxes(self.columns, self.rows).T)
        return LeafAreas(np.asarray(boxes, dtype=object), self.grid.domain)

    def _sets(self, polygons: Polygons) -> NodeSets:
        """The listed cells that each polygon touches, with their covered shares."""
        return self._areas.of(polygons)

    def _summed_sets(self, sets: NodeSets, cells: Floats | None, weigh: Weigh) -> Floats:
        weights = weigh(sets.share) if cells is None else weigh(sets.share) * cells[sets.node]
        return np.bincount(sets.owner, weights, minlength=sets.count).astype(np.float64)

    def _moments(self, second: Array, fourth: Array) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis from sums of squared and of fourth powers of shares."""
        return moments_of(self.variance * second, self.variance**2 * self.kurtosis * fourth)


def _scatter(share: Floats) -> Floats:
    """The variance of a count of 1 that lies in one place of a cell of which a share is covered."""
    return share * (1 - share)


def _worst(share: Floats) -> Floats:
    """The larger of the covered and the uncovered share of cells that are covered in part; 0 for others."""
    return np.where((share > 0) & (share < 1), np.maximum(share, 1 - share), 0.0)
