"""How is the linear system of a field solved, quickly and to many digits? On grids of larger and larger cells.

Conjugate gradients find the solution in steps. How many they need depends on how well a step undoes what is still
wrong. A step that looks at each cell and its neighbours alone is one of hundreds, because what is wrong over a whole
town is seen only from afar. So each step looks at the cells, then at cells that are twice as large, and so on up to a
few dozen cells for the whole grid: on each grid, a `Smoother` mends what is wrong from cell to cell, and leaves the
rest to the grid of larger cells. 11 to 25 such steps are enough on grids of any size. They end when there is nothing
left to mend, so answers do not depend on when they end, nor on the order in which a processor adds up.

Nothing here sees a record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.estimates.fields.halvings import Lines
from spatialdp.estimates.fields.system import Joining, Smoother, System

__all__ = ["Multigrid"]

CLOSE = 1e-6  # how far a solution may be off, in standard deviations of the sum of any cells
ROUNDING = 1e-13  # nor need it be more exact than this, relative to the solution: sums of doubles are not
MOST_STEPS = 1000  # no field comes near it
FEWEST_CELLS = 64  # systems of so few cells are solved at once


class Multigrid:
    """Solves a system.

    Parameters
    ----------
    system : System
    lines : sequence of pairs of int arrays
        For each grid of larger cells, the numbers of the columns and of the rows of `system` where its cells begin.
        Each grid has some of the lines of the one before. If cells cut no block that was counted, few steps are enough.
    """

    def __init__(self, system: System, lines: Sequence[Lines]) -> None:
        self.system = system
        rows, columns = (np.arange(length) for length in system.pull.shape)
        # What was counted in single cells is better kept with these cells than in the tree.
        level = system.joined(Joining(rows, columns, system.pull.shape))
        self._work = np.empty(system.pull.shape)
        self._grids: list[tuple[Smoother, Joining, Floats, Floats]] = []
        for x, y in lines:
            if level.pull.size <= FEWEST_CELLS:
                break
            joining = Joining(np.searchsorted(rows, y), np.searchsorted(columns, x), level.pull.shape)
            self._grids.append((Smoother(level), joining, *np.empty((2, *level.pull.shape))))
            level, rows, columns = level.joined(joining), y, x
        self._inverse = _inverse(level)

    def solution(self, right: Floats, start: Floats) -> Floats:
        """The solution for a right side, found from a first guess.

        Notes
        -----
        With M for the matrix and e for the error of a solution, no sum of cells is off by more than √(eᵀMe) of the
        standard deviation that M gives it. Steps end when an estimate of this is below `CLOSE`.
        """
        solution, left = start.copy(), right - self.system.times(start)
        enough = max(CLOSE**2, ROUNDING**2 * abs(_product(right, start)))
        step, image = (each.copy() for each in self.approximate(left))
        size, work = _product(left, step), np.empty(left.shape)
        for _ in range(MOST_STEPS):
            if size <= enough:
                break
            length = size / _product(step, image)
            solution += np.multiply(length, step, out=work)
            left -= np.multiply(length, image, out=work)
            direction, its_image = self.approximate(left)
            size, before = _product(left, direction), size
            # The matrix times the next step follows from what is known: it is never multiplied by.
            for old, new in ((step, direction), (image, its_image)):
                old *= size / before
                old += new
        return solution

    def approximate(self, right: Floats) -> tuple[Floats, Floats]:
        """Roughly the solution for a right side, and the matrix times this rough solution; overwritten by the next."""
        return self._approximate(right, 0)

    def _approximate(self, right: Floats, depth: int) -> tuple[Floats, Floats]:
        if depth == len(self._grids):
            return np.einsum("ij,j->i", self._inverse, right.ravel()).reshape(right.shape), right
        smoother, joining, solution, image = self._grids[depth]
        smoother.solved(right, out=solution)
        smoother.rest(solution, out=image)  # what the smoother has not mended
        joining.add(self._approximate(joining.sums(image), depth + 1)[0], to=solution)
        smoother.rest(solution, out=image)
        image += right
        smoother.solved(image, out=solution)
        # `image` is the smoother's matrix times the solution; the system's matrix times it is the rest less.
        if depth == 0:
            image -= smoother.rest(solution, out=self._work)
        return solution, image


def _inverse(system: System) -> Floats:
    """The inverse of the matrix of a system of a few cells, by elimination; LAPACK rounds otherwise on each machine."""
    shape, cells = system.pull.shape, system.pull.size
    matrix = np.stack([system.times(each.reshape(shape)).ravel() for each in np.eye(cells)])
    matrix[np.diag_indices(cells)] += matrix.diagonal() == 0  # cells outside the region
    for pivot in range(cells):
        scale, row, column = 1 / matrix[pivot, pivot], matrix[pivot].copy(), matrix[:, pivot].copy()
        matrix -= scale * column[:, None] * row
        matrix[pivot], matrix[:, pivot] = scale * row, -scale * column
        matrix[pivot, pivot] = scale
    return matrix


def _product(first: Floats, second: Floats) -> float:
    """The scalar product, summed in one order on every machine; BLAS has another for each number of threads."""
    return float(np.einsum("ij,ij->", first, second))
