"""The numbers that a map shows: estimates of cells or nodes, how far noise may move them, and where they lie.

Everything comes from a release, which is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32
from spatialdp._support.checks import whole_number
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.intervals import half_width
from spatialdp.outputs.files.layouts import Estimate
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE, cells_of, edge_lines

__all__ = ["LEVEL", "MapCells", "aspect", "box_raster", "densities", "highest", "map_cells"]


LEVEL = 0.95  # of the intervals that a map shows

# Boxes that follow no grid are painted on so many pixels along the longer side: finer than a page shows them.
_PIXELS = 1536


@dataclass(frozen=True, eq=False)
class MapCells:
    """The cells of a grid, or some nodes of a tree, as a map shows them.

    Attributes
    ----------
    estimate : Histogram or Decomposition
    nodes : int array, optional
        Of a tree: which nodes are shown.
    """

    estimate: Estimate
    nodes: Integers | None

    @property
    def unit(self) -> str:
        """Of `values` and `half_widths`."""
        return "records per " + ("cell" if self.nodes is None else "1/1000 of the map")

    @property
    def values(self) -> Floats:
        """Estimates: of cells as they are, of nodes per 1/1000 of the domain's area."""
        return self._densities[0]

    def high(self, values: Floats) -> float:
        """Upper end of a colour scale for values of the cells: what 99.5 % of the map's area stays below."""
        return highest(values, self._densities[1])

    @cached_property
    def half_widths(self) -> Floats:
        """Half-widths of intervals, in the unit of the estimates."""
        if self.estimate.biased:
            raise ReleaseError(
                "this release was truncated, rounded, made non-negative, smoothed or stopped where counts were small, "
                "so that its errors do not average out; it has no intervals to draw. Draw view='estimate', or make a "
                "release without that step."
            )
        if isinstance(self.estimate, Histogram):
            return half_width(*self.estimate.leaf_moments(), self.estimate.step, LEVEL)
        assert self.nodes is not None
        width = half_width(*self.estimate.node_moments(self.nodes), self.estimate.step, LEVEL)
        return width / self._densities[1]

    @property
    def drowned(self) -> Booleans:
        """Where noise drowns the signal: the interval reaches down to zero. Counts below it are noise for certain."""
        return self.values < self.half_widths

    @cached_property
    def boxes(self) -> Integers:
        """Lattice boxes of what is shown."""
        if isinstance(self.estimate, Histogram):
            return self.estimate.leaf_boxes()
        return self.estimate.tree.boxes[self.nodes].astype(np.int64)

    @cached_property
    def shape(self) -> tuple[int, int] | None:
        """Columns and rows of the grid that all edges lie on, if there is one; None for boxes that follow none."""
        if isinstance(self.estimate, Histogram):
            return self.estimate.grid.shape
        side = 2 ** min(self.estimate.tree.height, 30)
        shape = self.estimate.shape or (side, side)
        return shape if max(shape) <= 2 * _PIXELS and _on_grid(self.boxes, shape) else None

    def raster(self, values: Array, domain: Domain) -> Any:
        """Values as a masked array of (rows, columns), row 0 in the south, masked where nothing is shown."""
        if isinstance(self.estimate, Histogram):
            mask = self.estimate.grid.mask
            painted = np.zeros(mask.shape, dtype=values.dtype)
            painted[mask] = values
            return np.ma.masked_array(painted, ~mask)
        numbers = self._numbers(self.shape or _pixels(domain))
        return np.ma.masked_array(values.take(np.maximum(numbers, 0)), numbers < 0)

    @cached_property
    def _densities(self) -> tuple[Floats, Floats]:
        return densities(self.estimate, self.nodes)

    def _numbers(self, shape: tuple[int, int]) -> Integers32:
        known: dict[tuple[int, int], Integers32] = self.__dict__.setdefault("_rasters", {})
        if shape not in known:
            known[shape] = box_raster(self.boxes, shape)
        return known[shape]


def map_cells(estimate: Estimate, level: int | None = None) -> MapCells:
    """The cells of a grid, the leaves of a tree, or its nodes of one depth and the leaves above it."""
    if isinstance(estimate, Histogram):
        if level is not None:
            raise ParameterError(f"level is {level}, but this release is a grid and has no levels; leave level out.")
        return MapCells(estimate, None)
    tree = estimate.tree
    if level is None:
        return MapCells(estimate, np.flatnonzero(tree.leaves))
    depth = whole_number(level, "level", 0, tree.height)
    return MapCells(estimate, np.flatnonzero((tree.depth == depth) | (tree.leaves & (tree.depth < depth))))


def densities(estimate: Estimate, nodes: Integers | None = None) -> tuple[Floats, Floats]:
    """What a map's colours show, estimates of cells or those of nodes per 1/1000 of the domain, and the areas.

    Nodes are the leaves by default.
    """
    if isinstance(estimate, Histogram):
        return estimate.leaf_values(), np.ones(estimate.n_cells)
    shown = np.flatnonzero(estimate.tree.leaves) if nodes is None else nodes
    areas = _thousandths(estimate.tree.boxes[shown])
    return estimate.values[shown] / areas, areas


def _thousandths(boxes: Array) -> Floats:
    """Areas of lattice boxes in thousandths of the domain."""
    width, height = ((boxes[:, i + 2] - boxes[:, i]) / LATTICE for i in range(2))
    return np.asarray(1000 * width * height)


def highest(values: Floats, areas: Floats) -> float:
    """Upper end of a colour scale, from released values: what 99.5 % of the map's area stays below."""
    if not values.size:
        return 1.0
    if areas.min() == areas.max():  # no need to sort
        place = min(int(np.ceil(0.995 * values.size)) - 1, values.size - 1)
        high = float(np.partition(values, place)[place])
    else:
        order = np.argsort(values)
        below = np.cumsum(areas[order])
        high = float(values[order[np.searchsorted(below, 0.995 * below[-1])]])
    return high if high > 0 else 1.0


def box_raster(boxes: Integers, shape: tuple[int, int]) -> Integers32:
    """Which of some disjoint lattice boxes holds the centre of each pixel, (rows, columns); -1 for none.

    Every box puts its number on its four corners, with alternating signs; running sums along both axes then fill it.

    Examples
    --------
    >>> half, whole = LATTICE // 2, LATTICE
    >>> box_raster(np.array([[0, 0, half, whole], [half, half, whole, whole]]), (4, 2)).tolist()
    [[0, 0, -1, -1], [0, 0, 1, 1]]
    """
    nx, ny = shape
    west, south, east, north = (_first_pixels(boxes[:, i], count) for i, count in enumerate((nx, ny, nx, ny)))
    if np.all(east - west == 1) and np.all(north - south == 1):
        single = np.full((ny, nx), -1, dtype=np.int32)
        single[south, west] = np.arange(len(boxes))
        return single
    numbers = np.arange(1.0, len(boxes) + 1)
    painted = np.zeros((ny + 1) * (nx + 1))
    for rows, columns, sign in ((south, west, 1), (north, east, 1), (south, east, -1), (north, west, -1)):
        painted += np.bincount(rows * (nx + 1) + columns, sign * numbers, minlength=painted.size)
    filled = painted.reshape(ny + 1, nx + 1).cumsum(axis=0).cumsum(axis=1)[:ny, :nx]
    return filled.astype(np.int32) - 1


def _first_pixels(lines: Integers, count: int) -> Integers:
    """The first of `count` pixels whose centre is not below lattice lines."""
    return np.asarray(-((LATTICE - 2 * count * lines) // (2 * LATTICE)))


def _on_grid(boxes: Integers, shape: tuple[int, int]) -> bool:
    """Whether all edges of boxes are edges of the domain's grid of this shape."""
    for axis, count in enumerate(shape):
        edges = boxes[:, axis::2]
        lines = edge_lines(count)
        cells = cells_of(np.minimum(edges, LATTICE - 1), count)
        if not np.all((lines[cells] == edges) | (edges == LATTICE)):
            return False
    return True


def aspect(domain: Domain) -> float:
    """Height of a unit of y over width of a unit of x: degrees of longitude shrink with latitude."""
    if not crs_.geographic(domain.crs):
        return 1.0
    middle = (domain.bounds[1] + domain.bounds[3]) / 2
    return 1 / max(0.1, math.cos(math.radians(middle)))


def _pixels(domain: Domain) -> tuple[int, int]:
    width, height = domain.size
    longest = max(width, height)
    nx, ny = (max(1, round(_PIXELS * side / longest)) for side in (width, height))
    return nx, ny
