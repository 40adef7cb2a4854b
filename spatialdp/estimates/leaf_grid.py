"""Are the leaves of a tree the cells of one grid? Then boxes are answered by prefix sums instead of a walk.

Where the nodes of every level are also equal blocks of cells, the noise of an answer has a closed
form (``docs/design/tree-noise.md``). This module finds the grid and its blocks; it must not assume
them, because a tree may come from a file. It reads no record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.estimates.unevenness.grid import GridUnevenness
from spatialdp.space.boxes.leaf_families import Families
from spatialdp.space.boxes.tree import LatticeBoxes, Tree
from spatialdp.space.coverage import coverages, prefix_sums, weighted_sums
from spatialdp.space.domain import Domain, Grid, most_cells
from spatialdp.space.lattice import cells_of
from spatialdp.space.polygons import Polygons, scan
from spatialdp.space.regions.borders import Border

__all__ = ["LeafGrid"]

_HIGHEST_QUADTREE = 14


@dataclass(frozen=True, eq=False)
class LeafGrid:
    """A tree whose leaves all have the greatest depth and are cells of one grid.

    Attributes
    ----------
    tree : Tree
    grid : Grid
        It has the domain's region if the leaves are just the cells of the region, and else none: the tree says which
        cells are leaves.
    places : int array
        Row-major number of each leaf's cell.
    """

    tree: Tree
    grid: Grid
    places: Integers

    @classmethod
    def of(cls, tree: Tree, domain: Domain, shape: tuple[int, int] | None) -> LeafGrid | None:
        """Find the leaves on the grid of a shape, or without one on a quadtree's grid; None if they are not there."""
        height = tree.height
        if tree.n_leaves != tree.offsets[-1] - tree.offsets[-2] or (shape is None and height > _HIGHEST_QUADTREE):
            return None
        nx, ny = shape or (2**height, 2**height)
        if nx * ny > most_cells(tree.n_leaves):  # too sparse for prefix sums over all cells
            return None
        grid = domain.grid((nx, ny))
        places = _places(grid, tree.boxes[tree.levels[height]], (1, 1))
        if places is None:
            return None
        if domain.region is not None and not np.array_equal(np.sort(places), np.flatnonzero(grid.mask)):
            grid = Domain(domain.bounds).grid((nx, ny))
        return cls(tree, grid, places)

    def histogram(self, values: Floats) -> Histogram:
        """The leaves' estimates, out of those of all nodes, as a histogram; it answers boxes but knows no noise."""
        cells = np.zeros(self.grid.shape[::-1])
        cells.ravel()[self.places] = values[self.tree.levels[-1]]
        return Histogram(self.grid, cells, IndependentNoise(self.grid, 0.0, 0.0, 0.0))

    @cached_property
    def leaves(self) -> Booleans:
        """Which cells of the grid are leaves, (ny, nx)."""
        leaves = np.zeros(self.grid.shape[::-1], dtype=bool)
        leaves.ravel()[self.places] = True
        return leaves

    @cached_property
    def border(self) -> Border | None:
        """The leaves that lie in the region in part."""
        return Border.of(self.grid)

    @cached_property
    def _leaf_sums(self) -> Floats:
        return prefix_sums(self.leaves)

    @cached_property
    def families(self) -> Families:
        """The tree above its leaves, with the leaves as grid cells."""
        return Families.of(self.tree, self.grid, self.leaves)

    def allowance(self, unevenness: GridUnevenness, queries: Array) -> Allowance:
        """What uneven spread within cut leaves adds to the errors of boxes (m, 4) or polygons (m,)."""
        if queries.ndim == 2:
            leaves, (x, y) = self._leaf_sums, coverages(self.grid, queries)
            # Boxes without a leaf have no allowance; prefix sums may give them one that is as small as rounding.
            meets_leaves = weighted_sums(leaves, x, y, power=1) > 1e-9
            at_border = unevenness.border_changes(self.border, queries)
            return Allowance(np.where(meets_leaves, unevenness.boxes(x, y, at_border), 0.0))
        variance = np.zeros(queries.size)
        for part, runs in scan(queries, self.grid) if self.border is None else self.border.scan(queries):
            variance[part] = unevenness.polygons(runs)
        return Allowance(variance)

    @cached_property
    def block_sides(self) -> tuple[tuple[int, int], ...] | None:
        """Width and height in cells of each depth's nodes, if they are equal blocks that fill the grid."""
        tree = self.tree
        sides = [_block_side(self.grid, tree.boxes[level]) for level in tree.levels]
        return None if None in sides else tuple(side for side in sides if side)

    def box_squares(self, boxes: Integers) -> tuple[Floats, list[Floats]]:
        """Areas of boxes in cells, and for each level the sum of the nodes' squared covered shares."""
        x, y = coverages(self.grid, boxes)
        squares = [x.squares(width) * y.squares(height) for width, height in self.block_sides or ()]
        return (x.stop - x.start) * (y.stop - y.start), squares

    def polygon_squares(self, polygons: Polygons) -> tuple[Floats, list[Floats]]:
        """Areas of polygons in cells, and for each level the sum of the nodes' squared covered shares.

        The nodes of a level are the cells of a coarser grid, which is scanned.
        """
        area, squares = np.zeros(polygons.size), []
        for width, height in self.block_sides or ():
            nodes = self.grid.domain.grid((self.grid.shape[0] // width, self.grid.shape[1] // height))
            level = np.zeros(polygons.size)
            for part, runs in scan(polygons, nodes):
                shares, level[part] = runs.areas
                area[part] = shares * (width * height)
            squares.append(level)
        return area, squares


def _places(grid: Grid, boxes: LatticeBoxes, side: tuple[int, int]) -> Integers | None:
    """Row-major numbers of the cells in the boxes' lower left corners; None unless boxes are blocks of `side` cells."""
    low = []
    for axis, (lines, cells) in enumerate(zip((grid.x_lines, grid.y_lines), side, strict=True)):
        first = cells_of(boxes[:, axis].astype(np.int64), lines.size - 1)
        last = np.minimum(first + cells, lines.size - 1)
        if not (np.array_equal(lines[first], boxes[:, axis]) and np.array_equal(lines[last], boxes[:, axis + 2])):
            return None
        low.append(first)
    return np.asarray(low[1] * grid.shape[0] + low[0])


def _block_side(grid: Grid, boxes: LatticeBoxes) -> tuple[int, int] | None:
    """Width and height in cells of equal boxes that fill the grid; None if the boxes do not."""
    nx, ny = grid.shape
    width, height = (int(np.searchsorted(lines, boxes[0, i])) for i, lines in ((2, grid.x_lines), (3, grid.y_lines)))
    fills = width * height * len(boxes) == nx * ny and nx % width == 0 == ny % height
    return (width, height) if fills and _places(grid, boxes, (width, height)) is not None else None
