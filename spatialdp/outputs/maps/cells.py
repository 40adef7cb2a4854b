"""Which areas does a map show, with which values and noise? Cells of a grid or nodes of a tree: `MapCells`.

`map_cells` knows every kind of estimate; the modules that draw maps, and the explorer's page, know `MapCells` only. A
new kind of estimate needs a subclass here. Everything comes from a release, which is public; nothing here may read
records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32, Objects
from spatialdp._support.checks import whole_number
from spatialdp._support.options import Option
from spatialdp._support.override import override
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.field import Field
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.intervals import half_width
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.maps.ground import has_areas, square_kilometres
from spatialdp.outputs.maps.values import PIXELS, box_raster, corners, highest, on_grid, pixels
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.trees.shape import TreeShape
from spatialdp.wording import parameter, quoted

__all__ = ["LEVEL", "DrawnCells", "FieldCells", "GridCells", "MapCells", "Per", "TreeCells", "map_cells", "measured"]

LEVEL = 0.95  # confidence level of the intervals that a map shows


class Per(Option):
    """The unit of area that the numbers of a map are for."""

    CELL = "cell"
    KM2 = "km2"
    MAP = "map"  # 1/1000 of the map's area, for cells of different sizes without a CRS


_AREAS = {Per.CELL: "cell", Per.KM2: "km²", Per.MAP: "1/1000 of the map's area"}


class MapCells(ABC):
    """The areas that a map shows, in a fixed order, with one value for each area."""

    estimate: Estimate
    per: Per
    counted: str
    # What the marks on areas that may be noise alone say, and how often they are missing where nothing is.
    marks: ClassVar[str] = (
        f"may be noise alone: {100 * LEVEL:g} % interval extends below zero "
        "(of the empty cells, about 1 in 40 is not marked)"
    )

    @property
    def unit(self) -> str:
        """The unit of `values` and `half_widths`, in words."""
        return f"{self.counted} per {self.area if self.per is Per.CELL else _AREAS[self.per]}"

    @property
    def area(self) -> str:
        """The name of one of the areas."""
        return _AREAS[Per.CELL]

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The domain of the estimates."""

    @property
    def values(self) -> Floats:
        """The estimate of each area, in the map's unit."""
        return self._counts() if self.per is Per.CELL else self._counts() / self.areas

    @abstractmethod
    def _counts(self) -> Floats:
        """Return the estimated count of each area."""

    @cached_property
    def areas(self) -> Floats:
        """The size of each area in the map's unit of area: an estimated count divided by this size is the value."""
        if self.per is Per.CELL:
            return np.ones(self._counts().size)
        if self.per is Per.KM2:
            return square_kilometres(self.domain, self.boxes)
        width, height = ((self.boxes[:, i + 2] - self.boxes[:, i]) / LATTICE for i in range(2))
        return np.asarray(1000 * width * height)

    @property
    @abstractmethod
    def boxes(self) -> Integers:
        """The lattice box of each area."""

    @property
    def shape(self) -> tuple[int, int] | None:
        """Columns and rows of the grid whose lines hold all edges; None if there is no such grid."""
        return None

    @property
    @abstractmethod
    def finest(self) -> float:
        """The shortest side of any area, as a share of the domain's side: it limits how far zooming in makes sense."""

    @property
    def tree(self) -> TreeShape | None:
        """The tree whose nodes can be outlined; None for a grid."""
        return None

    def outlined(self, most: int) -> int:  # noqa: ARG002 - a grid has no nodes
        """Return the depth down to which nodes are outlined by default; 0 if these are more than `most` nodes."""
        return 0

    def outlines(self, depth: int) -> list[Floats]:
        """Return the outlines of the nodes of a depth, in domain coordinates."""
        raise NotImplementedError(f"a grid has no nodes of depth {depth}")

    @property
    def polygons(self) -> Objects | None:
        """The areas as polygons in domain coordinates; None if they are boxes."""
        return None

    @property
    def dots(self) -> tuple[Floats, Floats] | None:
        """Places and diameters (in points) of dots that stand for the areas; None if areas are drawn as they are."""
        return None

    @abstractmethod
    def raster(self, values: Array, domain: Domain) -> Any:
        """Paint values on pixels: (rows, columns), row 0 in the south, masked where the map shows nothing."""

    @abstractmethod
    def _moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in the estimate of each area."""

    @cached_property
    def half_widths(self) -> Floats:
        """The half-width of the 95 % interval of each area, in the map's unit."""
        if self.estimate.biased:
            raise ReleaseError(
                "this release was truncated, rounded, made non-negative, smoothed, listed by its own noise or stopped "
                "where counts were small. Its errors do not average out, so it has no intervals to draw; draw "
                f"{parameter('view', 'estimate')}, or make a release without that step."
            )
        estimate = self.estimate
        return half_width(*self._moments(), estimate.step, LEVEL, whole=estimate.leaf_steps) / self.areas

    @property
    def within_noise(self) -> Booleans:
        """Whether the estimate of each area is below its half-width: then it may be noise alone.

        The interval is around the estimate, so it extends below zero there; except for fields, whose intervals are
        around their unbiased estimates.
        """
        return self.values < self.half_widths

    @property
    def alike(self) -> bool:
        """Whether all areas are cells of one grid, so that their counts can be compared."""
        if self.shape is None:
            return False
        sides = self.boxes[:, 2:] - self.boxes[:, :2]
        # Cells of one grid differ by at most one lattice line.
        return bool(np.all(sides.max(axis=0) - sides.min(axis=0) <= 1))

    def high(self, values: Floats) -> float:
        """Return the upper end of a colour scale: the values of 99.5 % of the map's area are not above it."""
        return highest(values, self.areas)


class _EqualCells(MapCells):
    """The cells of a grid that lie in the region, row by row."""

    @property
    @abstractmethod
    def _cells(self) -> Histogram:
        """The estimates as those of a grid."""

    @property
    @override
    def domain(self) -> Domain:
        return self._cells.grid.domain

    @override
    def _counts(self) -> Floats:
        return self._cells.leaf_values()

    @cached_property
    @override
    def boxes(self) -> Integers:
        return self._cells.leaf_boxes()

    @property
    @override
    def shape(self) -> tuple[int, int]:
        return self._cells.grid.shape

    @property
    @override
    def finest(self) -> float:
        return 1 / max(self._cells.grid.shape)

    @override
    def raster(self, values: Array, domain: Domain) -> Any:  # noqa: ARG002 - a grid has its own pixels
        mask = self._cells.grid.mask
        painted = np.zeros(mask.shape, dtype=values.dtype)
        painted[mask] = values
        return np.ma.masked_array(painted, ~mask)


@dataclass(frozen=True, eq=False)
class GridCells(_EqualCells):
    """The cells of a grid."""

    estimate: Histogram
    per: Per = Per.CELL
    counted: str = "records"

    @property
    @override
    def _cells(self) -> Histogram:
        return self.estimate

    @property
    @override
    def alike(self) -> bool:
        return True

    @override
    def _moments(self) -> tuple[Floats, Floats]:
        return self.estimate.leaf_moments()


@dataclass(frozen=True, eq=False)
class FieldCells(_EqualCells):
    """The cells of a field; the noise is that of their unbiased estimates.

    Cells are smaller than the blocks that were counted. So a cell without records in a block with records is estimated
    to have its share of them, and may be unmarked.
    """

    marks: ClassVar[str] = (
        f"may be noise alone: estimate below the half-width of its {100 * LEVEL:g} % interval (in blocks without "
        "records, at most about 1 cell in 40 is not marked; in other blocks, empty cells may be unmarked)"
    )

    estimate: Field
    per: Per = Per.MAP
    counted: str = "records"

    @property
    @override
    def _cells(self) -> Histogram:
        return self.estimate.finest

    @property
    @override
    def alike(self) -> bool:
        return False  # cells are equal, but so small that counts of single ones say nothing

    @override
    def _moments(self) -> tuple[Floats, Floats]:
        return self.estimate.cell_moments()


class DrawnCells(MapCells):
    """Areas that are painted by looking up which of them is at each pixel."""

    @abstractmethod
    def _drawn(self, shape: tuple[int, int]) -> Integers32:
        """Return which area is at each pixel, (rows, columns); negative where there is none."""

    @override
    def raster(self, values: Array, domain: Domain) -> Any:
        numbers = self._numbers(self.shape or pixels(domain))
        return np.ma.masked_array(values.take(np.maximum(numbers, 0)), numbers < 0)

    def _numbers(self, shape: tuple[int, int]) -> Integers32:
        """Return which area is at each pixel; cached, because colours and marks both need the raster."""
        rasters: dict[tuple[int, int], Integers32] = self.__dict__.setdefault("_rasters", {})
        if shape not in rasters:
            rasters[shape] = self._drawn(shape)
        return rasters[shape]


@dataclass(frozen=True, eq=False)
class TreeCells(DrawnCells):
    """Nodes of a tree that do not overlap.

    Attributes
    ----------
    estimate : Decomposition
    nodes : int array
        Numbers of the nodes that the map shows.
    per : Per
        The unit of area.
    counted : str
        What the estimates count, as `Privacy.counted` says it.
    """

    estimate: Decomposition
    nodes: Integers
    per: Per = Per.MAP
    counted: str = "records"

    @property
    @override
    def domain(self) -> Domain:
        return self.estimate.domain

    @override
    def _counts(self) -> Floats:
        return self.estimate.values[self.nodes]

    @cached_property
    @override
    def boxes(self) -> Integers:
        return self.estimate.tree.boxes[self.nodes].astype(np.int64)

    @cached_property
    @override
    def shape(self) -> tuple[int, int] | None:
        side = 2 ** min(self.estimate.tree.height, 30)
        shape = self.estimate.shape or (side, side)
        return shape if max(shape) <= 2 * PIXELS and on_grid(self.boxes, shape) else None

    @property
    @override
    def finest(self) -> float:
        return float((self.boxes[:, 2:] - self.boxes[:, :2]).min() / LATTICE)

    @property
    @override
    def tree(self) -> TreeShape:
        return self.estimate.tree

    @override
    def outlined(self, most: int) -> int:
        depth = int(self.tree.depth[self.nodes].max())
        return depth if self.tree.offsets[depth + 1] <= most else 0

    @override
    def outlines(self, depth: int) -> list[Floats]:
        tree = self.estimate.tree
        return list(corners(tree.boxes[tree.level(depth)], self.domain))

    @override
    def _drawn(self, shape: tuple[int, int]) -> Integers32:
        return box_raster(self.boxes, shape)

    @override
    def _moments(self) -> tuple[Floats, Floats]:
        return self.estimate.node_moments(self.nodes)


@singledispatch
def map_cells(estimate: Estimate, level: int | str | None = None) -> MapCells:
    """Return the areas that a map shows: cells of a grid, leaves of a tree, or nodes at depth `level`.

    Leaves above that depth are shown too, so that no part of the map stays empty. The level of zones may be a name.
    """
    raise ReleaseError(f"a release of kind {estimate.kind!r} at level {level} has no map; save it as a file instead.")


@map_cells.register
def _(estimate: Histogram, level: int | str | None = None) -> GridCells:
    if level is not None:
        raise ParameterError(
            f"{parameter('level')} is {quoted(level)}, but this release is a grid and has no levels; leave it out."
        )
    return GridCells(estimate)


@map_cells.register
def _(estimate: Decomposition, level: int | str | None = None) -> TreeCells:
    tree = estimate.tree
    if level is None:
        return TreeCells(estimate, np.flatnonzero(tree.leaves))
    depth = whole_number(level, "level", 0, tree.height)
    return TreeCells(estimate, np.flatnonzero((tree.depth == depth) | (tree.leaves & (tree.depth < depth))))


@map_cells.register
def _(estimate: Field, level: int | str | None = None) -> MapCells:
    return FieldCells(estimate) if level is None else map_cells(estimate.basis, level)


@map_cells.register
def _(estimate: ListOverMap, level: int | str | None = None) -> MapCells:
    return map_cells(estimate.map, level)


@map_cells.register
def _(estimate: ListedCells, level: int | str | None = None) -> MapCells:
    from spatialdp.outputs.maps.lists.cells import ListMap  # which is made of `MapCells`

    if level is not None:
        raise ParameterError(
            f"{parameter('level')} is {quoted(level)}, but this release is a list of cells and has no levels; leave it "
            "out."
        )
    return ListMap(estimate)


@map_cells.register
def _(estimate: ZoneCounts, level: int | str | None = None) -> MapCells:
    from spatialdp.outputs.maps.zones.cells import zone_cells  # which is made of `MapCells`

    return zone_cells(estimate, level)


def measured(cells: MapCells, per: str | None = None, counted: str = "records") -> MapCells:
    """Return the cells with their numbers in the unit that was asked for, or in one that lets cells be compared.

    Parameters
    ----------
    cells : MapCells
    per : {"cell", "km2", "map"}, optional
        The unit of area.
    counted : str
        What the estimates count, as `Privacy.counted` says it.
    """
    if per is not None:
        unit = Per.parse(per)
    elif cells.alike:
        unit = Per.CELL
    else:
        unit = Per.KM2 if has_areas(cells.domain) else Per.MAP
    return replace(cells, per=unit, counted=counted)  # type: ignore[type-var]  # every kind of cells is a dataclass
