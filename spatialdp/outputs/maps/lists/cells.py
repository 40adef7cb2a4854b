"""How does a list of cells look on a map? As dots at the centres of the cells, larger where more was counted.

Listed cells may be far smaller than a printed dot, so they are not drawn as areas. Places without a dot are places
about which the release says nothing; the caption says from which count on a cell is listed, and how many empty cells
are expected on the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.outputs.maps.cells import LEVEL, MapCells, Per
from spatialdp.outputs.maps.ground import has_areas, square_kilometres
from spatialdp.outputs.maps.values import pixels
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE, cells_of

__all__ = ["ListMap", "searched_in_words"]

_SMALLEST, _LARGEST = 2.5, 9.0  # diameters of dots, in points
_FEW, _MANY = (
    300,
    30_000,
)  # up to the first number, dots may have full size; from the second on, none is larger than a third of it


@dataclass(frozen=True, eq=False)
class ListMap(MapCells):
    """Listed cells as dots."""

    marks: ClassVar[str] = f"may be noise alone: the {100 * LEVEL:g} % interval of the count extends below zero"

    estimate: ListedCells
    per: Per = Per.CELL
    counted: str = "records"

    @property
    @override
    def domain(self) -> Domain:
        return self.estimate.grid.domain

    @override
    def _counts(self) -> Floats:
        return self.estimate.values

    @property
    @override
    def boxes(self) -> Integers:
        return self.estimate.leaf_boxes()

    @property
    @override
    def finest(self) -> float:
        return 1 / max(self.estimate.grid.shape)

    @property
    @override
    def alike(self) -> bool:
        return True

    @property
    @override
    def dots(self) -> tuple[Floats, Floats]:
        boxes = self.estimate.grid.boxes(self.estimate.columns, self.estimate.rows)
        values = np.maximum(self.values, 0.0)
        share = np.sqrt(values / max(values.max(initial=0.0), 1e-150))
        crowd = np.interp(np.log(max(values.size, 1)), np.log([_FEW, _MANY]), [1.0, 1 / 3])
        return (boxes[:, :2] + boxes[:, 2:]) / 2, _SMALLEST + (_LARGEST * crowd - _SMALLEST) * share

    @override
    def raster(self, values: Array, domain: Domain) -> Any:
        nx, ny = pixels(domain)
        middle = (self.boxes[:, :2] + self.boxes[:, 2:]) // 2
        columns, rows = (cells_of(np.minimum(middle[:, i], LATTICE - 1), count) for i, count in enumerate((nx, ny)))
        painted, listed = np.zeros((ny, nx), dtype=values.dtype), np.zeros((ny, nx), dtype=bool)
        painted[rows, columns], listed[rows, columns] = values, True
        return np.ma.masked_array(painted, ~listed)

    @override
    def _moments(self) -> tuple[Floats, Floats]:
        return self.estimate.leaf_moments()


def searched_in_words(estimate: ListedCells, counted: str) -> str:
    """Return what was searched, and what is listed of it, for the caption of a map."""
    domain, words = estimate.grid.domain, estimate.in_words(counted)
    if not has_areas(domain):
        return words
    share = estimate.grid.n_cells / estimate.grid.n_numbers
    area = share * float(square_kilometres(domain, np.array([[0, 0, LATTICE, LATTICE]]))[0])
    return f"Searched were {float(f'{area:.3g}'):,.12g} km². {words}"
