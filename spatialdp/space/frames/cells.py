"""How are the cells of a grid the axis of space of a table? As the leaves of a tree of blocks, or in a row.

Records come as numbers of cells, row * nx + column; `leaf_of_cell` says which place on the axis that is. Blocks are
squares of cells, the coarsest first, and each holds whole blocks of the next size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers, Integers32
from spatialdp._support.checks import whole_number
from spatialdp.errors import ParameterError
from spatialdp.space.coverage import Coverage, coverages
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.frames.nesting import level_nodes, nested
from spatialdp.space.questions import require_inside
from spatialdp.trees.shape import TreeShape
from spatialdp.wording import either, parameter, quoted

__all__ = ["Cells"]


@dataclass(frozen=True)
class Cells:
    """The cells of a grid's region as an axis.

    Parameters
    ----------
    grid : Grid
    blocks : tuple of int
        Sides of blocks, in cells, that may be counted too; each is a multiple of the next one.

    Examples
    --------
    >>> from spatialdp.space.domain import Domain
    >>> cells = Cells(Domain((0, 0, 1, 1)).grid((4, 2)), blocks=(2,))
    >>> cells.size, cells.names, cells.pick((0, 0, 0.5, 0.5))[0].tolist()
    (8, ('the whole region', 'blocks of 2', 'cells'), [0, 1])
    """

    grid: Grid
    blocks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        sides = (self.blocks,) if isinstance(self.blocks, int) else tuple(self.blocks)
        sides = tuple(whole_number(side, "blocks", 2, 2**20) for side in sides)
        if any(one % other or one == other for one, other in pairwise(sides)):
            raise ParameterError(
                f"{parameter('blocks')} are {quoted(sides)}; they must fall, and each must be a multiple of the next, "
                f"such as {quoted((16, 4))}."
            )
        if not self.grid.n_cells:
            raise ParameterError("no cell of the grid lies in the region; give smaller cells.")
        object.__setattr__(self, "blocks", sides)

    @property
    def size(self) -> int:
        """Number of cells in the region."""
        return self.grid.n_cells

    @property
    def domain(self) -> Domain:
        """The domain of the grid."""
        return self.grid.domain

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels, the root first."""
        return ("the whole region", *(f"blocks of {side}" for side in self.blocks), "cells")

    @property
    def counted(self) -> tuple[bool, ...]:
        """Which levels may be measured: blocks and cells."""
        return (False, *(True for _ in self.names[1:]))

    @cached_property
    def shape(self) -> TreeShape:
        """The tree of blocks over the cells."""
        row, column = np.divmod(self.cells, self.grid.shape[0])
        return nested([self._block(side, column, row) for side in self.blocks], self.size)

    @cached_property
    def cells(self) -> Integers:
        """The number of the cell at each place of the axis, row * nx + column."""
        (cells,) = np.nonzero(self.grid.mask.ravel())
        row, column = np.divmod(cells, self.grid.shape[0])
        keys = [self._block(side, column, row) for side in self.blocks]
        return np.asarray(cells[np.lexsort((cells, *keys[::-1]))])

    @cached_property
    def leaf_of_cell(self) -> Integers32:
        """The place on the axis of each cell number, up to nx * ny, which stands for outside; `size` outside."""
        leaves = np.full(self.grid.mask.size + 1, self.size, dtype=np.int32)
        leaves[self.cells] = np.arange(self.size)
        return leaves

    def labels(self) -> list[str]:
        """Return a name for each cell: its column and its row, counted from the south-west."""
        row, column = np.divmod(self.cells, self.grid.shape[0])
        return [f"{x},{y}" for x, y in zip(column.tolist(), row.tolist(), strict=True)]

    def parts(self, level: str) -> Integers:
        """Return the nodes of `shape` that the parts of a level are, in order."""
        return level_nodes(self.shape, self.names.index(level))

    def part_labels(self, level: str) -> list[str]:
        """Return the names of the parts of a level: the first column and row of each block."""
        if level == self.names[-1]:
            return self.labels()
        if level == self.names[0]:
            return [level]
        side = self.blocks[self.names.index(level) - 1]
        row, column = np.divmod(self.cells, self.grid.shape[0])
        keys = np.stack([column // side * side, row // side * side], axis=1)
        first = np.concatenate([[True], np.any(keys[1:] != keys[:-1], axis=1)])
        return [f"{x},{y}" for x, y in keys[first].tolist()]

    def pick(self, query: Any) -> tuple[Integers, Floats]:
        """Return the cells that a box covers, and how much of each; the box is in coordinates of the domain."""
        domain, box = self.grid.domain, np.asarray(query, dtype=np.float64)
        if box.shape != (4,):
            raise ParameterError(
                f"{parameter('box')} is {quoted(query)}; give "
                f"{either('(xmin, ymin, xmax, ymax)', 'XMIN,YMIN,XMAX,YMAX')}, or a list of such boxes."
            )
        require_inside(box, domain, "box")
        both = zip(coverages(self.grid, domain.boxes(box)), self.grid.shape, strict=True)
        x, y = (_shares(coverage, count) for coverage, count in both)
        shares = (y[:, None] * x).ravel()[self.cells]
        places = np.flatnonzero(shares)
        return places, shares[places]

    def _block(self, side: int, column: Integers, row: Integers) -> Integers:
        """Return the number of the block that each cell is in."""
        return np.asarray(row // side * (self.grid.shape[0] // side + 1) + column // side)


def _shares(coverage: Coverage, count: int) -> Floats:
    """Return how much of each of so many cells of an axis one box covers."""
    shares = np.zeros(count)
    for part in range(3):
        shares[coverage.knots[part, 0] : coverage.knots[part + 1, 0]] = coverage.parts[part, 0]
    return shares
