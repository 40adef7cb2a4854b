"""Which share of a cell's count does a box get on the border of the region? That of the cell's area in the region.

Records of a cell are assumed to be evenly spread over the part of the cell that lies in the region. So a box gets
|box ∩ region ∩ cell| / |region ∩ cell| of the cell's count. Only cells that the region's border runs through and that
the box cuts differ from the plain share |box ∩ cell| / |cell|: answers are made with plain shares, and these few cells
are corrected. Points are sampled by the same rule, so that samples and answers agree.

The region is drawn on 1024 x 1024 cells of the domain, by the rule "touching". Cells that are finer than this in both
directions have plain shares. The explorer's ``borders.mjs`` does the same and must change with this module. Nothing
here sees a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, expand_ranges
from spatialdp.space.coverage import coverages, prefix_sums, weighted_sums
from spatialdp.space.domain import RASTER_SHIFT, RASTER_SIDE, Domain, Grid
from spatialdp.space.polygons import CRUMB, Polygons, Runs, areas_only, scan
from spatialdp.space.regions.cells import RegionCells

__all__ = ["Border", "Cuts", "RegionArea", "plain_areas"]

_SPECK = 1e-8  # of a raster cell's area; smaller areas are rounding errors of sums
_CHUNK = 2**14  # boxes whose cut cells are listed together


@dataclass(frozen=True, eq=False)
class RegionArea:
    """The area of the region in any box; made by `of`.

    Attributes
    ----------
    raster : Grid
        1024 x 1024 cells of the domain; its mask is the region.
    """

    raster: Grid

    @classmethod
    def of(cls, domain: Domain) -> RegionArea | None:
        """Return the area of a domain's region; None if there is no region, or if it fills the domain."""
        return None if domain.region is None else _area_of(domain)

    def areas(self, boxes: Integers) -> Floats:
        """Areas of the region in lattice boxes, in cells of the raster."""
        return np.maximum(weighted_sums(self._sums, *coverages(self.raster, boxes), power=1), 0.0)

    def shares(self, boxes: Integers, cells: Integers) -> Floats:
        """Share of the region's part of each cell (a lattice box) that lies in the box beside it.

        Examples
        --------
        >>> import shapely
        >>> domain = Domain((0, 0, 4, 4), region=shapely.box(0, 0, 3, 4))
        >>> left_half, right_cell = domain.boxes([(0, 0, 2.5, 4)]), domain.boxes([(2, 0, 4, 4)])
        >>> RegionArea.of(domain).shares(left_half, right_cell).round(2)
        array([0.5])
        """
        inside, whole, full = _common(boxes, cells), self.areas(cells), plain_areas(cells)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(_in_part(whole, full), self.parts(inside, whole), plain_areas(inside) / full)

    def parts(self, inside: Integers, whole: Floats) -> Floats:
        """Share of each of some areas of the region, `whole`, that lies in a lattice box within its cell."""
        part = self.areas(inside)
        return np.where(part < _SPECK, 0.0, np.where(part > whole - _SPECK, 1.0, part / whole))

    def relative(self, shares: Floats, cells: Integers) -> Floats:
        """Shares of the region's part of each cell, given shares of the cell that lie in the region."""
        covered = self.areas(cells) / plain_areas(cells)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(covered > CRUMB, np.minimum(shares / covered, 1.0), shares)
        return np.where(share < CRUMB, 0.0, np.where(share > 1 - CRUMB, 1.0, share))

    def clip(self, polygons: Polygons) -> Polygons:
        """Return the parts of polygons that lie in the region, as it is drawn on the raster."""
        import shapely

        clipped = polygons.copy()
        outside = ~shapely.contains_properly(self._polygon, polygons)
        clipped[outside] = areas_only(shapely.intersection(polygons[outside], self._polygon))
        return clipped

    def corner_areas(self, grid: Grid) -> Floats:
        """Areas of the region south-west of each corner of a grid, (ny + 1, nx + 1), in cells of the raster."""
        sums = self._sums
        for axis, lines in enumerate((grid.y_lines, grid.x_lines)):
            below = np.minimum(lines >> RASTER_SHIFT, RASTER_SIDE - 1)
            share = (lines - (below << RASTER_SHIFT)) / 2**RASTER_SHIFT
            share = share[:, None] if axis == 0 else share[None, :]
            sums = sums.take(below, axis) * (1 - share) + sums.take(below + 1, axis) * share
        return sums

    @cached_property
    def _sums(self) -> Floats:
        return prefix_sums(self.raster.mask)

    @cached_property
    def _polygon(self) -> object:
        """The raster's cells in the region as one polygon."""
        import shapely

        changes = np.diff(np.pad(self.raster.mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
        rows, starts = np.nonzero(changes == 1)
        stops = np.nonzero(changes == -1)[1]
        x, y = self.raster.x_edges, self.raster.y_edges
        polygon = shapely.union_all(shapely.box(x[starts], y[rows], x[stops], y[rows + 1]))
        shapely.prepare(polygon)
        return polygon


@lru_cache(maxsize=3)
def _area_of(domain: Domain) -> RegionArea | None:
    if domain.region_cells is not RegionCells.TOUCHING:
        domain = Domain.published(domain.bounds, None, domain.region, RegionCells.TOUCHING)
    raster = domain.grid((RASTER_SIDE, RASTER_SIDE))
    return RegionArea(raster) if raster.mask.any() and not raster.mask.all() else None


def _common(boxes: Integers, cells: Integers) -> Integers:
    """The part of each box that lies in the cell beside it; without any width if there is none."""
    low = np.maximum(boxes[:, :2], cells[:, :2])
    return np.concatenate([low, np.maximum(np.minimum(boxes[:, 2:], cells[:, 2:]), low)], axis=1)


def plain_areas(boxes: Integers) -> Floats:
    """Areas of lattice boxes, in cells of the raster."""
    sides = (boxes[:, 2:] - boxes[:, :2]) / 2**RASTER_SHIFT
    return np.asarray(sides[:, 0] * sides[:, 1])


def _in_part(area: Floats, full: Floats) -> Booleans:
    """Whether an area is a part of the full one: neither all nor nothing of it."""
    return (area > _SPECK) & (area < full - _SPECK)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cells on the region's border that boxes cut.

    Attributes
    ----------
    box, cell : int arrays
        Number of the box, and row-major number of the cell.
    plain, covered : float arrays
        Share of the cell, and share of the region's part of the cell, that the box covers.
    """

    box: Integers
    cell: Integers
    plain: Floats
    covered: Floats

    def change(self, power: int = 1) -> Floats:
        """By how much the power of each share changes."""
        return np.asarray(self.covered**power - self.plain**power)

    @cached_property
    def uncovered_change(self) -> Floats:
        """By how much share x (1 - share) changes."""
        return self.change() - self.change(2)


@dataclass(frozen=True, eq=False)
class Border:
    """The cells of a grid that the region's border runs through; made by `of`.

    Attributes
    ----------
    area : RegionArea
    grid : Grid
    cells : int array
        Row-major numbers of the cells that lie in the region in part, in ascending order.
    """

    area: RegionArea
    grid: Grid
    cells: Integers

    @classmethod
    def of(cls, grid: Grid) -> Border | None:
        """Find the border cells of a grid's region; None if there are none."""
        return None if grid.domain.region is None or min(grid.shape) >= RASTER_SIDE else _border_of(grid)

    def summed(self, boxes: Integers, *weigh: Callable[[Cuts], Floats]) -> Floats:
        """For every lattice box, the sums of each `weigh` over the border cells that it cuts, (sums, boxes)."""
        total = np.zeros((len(weigh), len(boxes)))
        for part, cuts in self.listed(boxes):
            for sums, weight in zip(total[:, part], weigh, strict=True):
                sums[:] = np.bincount(cuts.box, weight(cuts), minlength=sums.size)
        return total

    def listed(self, boxes: Integers) -> Iterator[tuple[slice, Cuts]]:
        """Yield the border cells that lattice boxes cut, for some of the boxes at a time."""
        for start in range(0, len(boxes), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield part, self._cuts(boxes[part])

    def is_cut(self, boxes: Integers) -> Booleans:
        """Whether each lattice box covers a part of a border cell."""
        return np.asarray(self.summed(boxes, lambda cuts: np.ones(cuts.box.size))[0] > 0)

    def cell_boxes(self, cells: Integers) -> Integers:
        """Lattice boxes of cells, given by their row-major numbers."""
        rows, columns = np.divmod(cells, self.grid.shape[0])
        return self.grid.lattice_boxes(np.stack([columns, rows, columns + 1, rows + 1], axis=1))

    def scan(self, polygons: Polygons) -> Iterator[tuple[slice, Runs]]:
        """Yield the runs of polygons, as `polygons.scan` does, with the region's shares of border cells."""
        for part, runs in scan(polygons, self.grid):
            yield part, self._corrected(runs, polygons[part])

    def _cuts(self, boxes: Integers) -> Cuts:
        """List the border cells that boxes cut: in the rows of their lower and upper edges, and between, in columns."""
        x, y = coverages(self.grid, boxes)
        (nx, ny), (by_column, order) = self.grid.shape, self._by_column
        (left, right), (bottom, top) = (
            (np.floor(axis.start).astype(np.int64), np.ceil(axis.stop).astype(np.int64)) for axis in (x, y)
        )
        low_cut, high_cut = (_is_part(y.parts[side]) for side in (0, 2))
        ranges = [
            _between(self.cells, row * nx + left, row * nx + right, cut)
            for row, cut in ((y.knots[0], low_cut), (y.knots[2], high_cut))
        ]
        ranges += [
            _between(by_column, column * ny + bottom + low_cut, column * ny + top - high_cut, _is_part(part))
            for column, part in ((x.knots[0], x.parts[0]), (x.knots[2], x.parts[2]))
        ]
        edge, place = expand_ranges(*np.concatenate(ranges, axis=1))
        place = np.where(edge < 2 * len(boxes), place, order[place])
        box = edge % len(boxes)
        lattice_boxes, full, whole = self._areas
        inside = _common(boxes[box], lattice_boxes[place])
        covered = self.area.parts(inside, whole[place])
        return Cuts(box, self.cells[place], plain_areas(inside) / full[place], covered)

    @cached_property
    def _areas(self) -> tuple[Integers, Floats, Floats]:
        """The cells' lattice boxes, their areas, and their areas in the region."""
        boxes = self.cell_boxes(self.cells)
        return boxes, plain_areas(boxes), self.area.areas(boxes)

    @cached_property
    def _by_column(self) -> tuple[Integers, Integers]:
        """Column-major numbers of the cells, in ascending order, and the place of each in `cells`."""
        rows, columns = np.divmod(self.cells, self.grid.shape[0])
        numbers = columns * self.grid.shape[1] + rows
        order = np.argsort(numbers)
        return numbers[order], order

    def _corrected(self, runs: Runs, polygons: Polygons) -> Runs:
        """Return the runs of polygons with the region's shares of the border cells that they cut."""
        cells = runs.cut()
        number = cells.row * self.grid.shape[0] + cells.start
        cut = self.cells[np.minimum(np.searchsorted(self.cells, number), self.cells.size - 1)] == number
        if not cut.any():
            return runs
        covered = self._inside(polygons, cells.polygon[cut], cells.row[cut], cells.start[cut])
        share = cells.share.copy()
        share[cut] = self.area.relative(covered, self.cell_boxes(number[cut]))
        return runs.with_cut(replace(cells, share=share))

    def _inside(self, polygons: Polygons, polygon: Integers, row: Integers, column: Integers) -> Floats:
        """The share of a cell that lies both in the region and in a polygon, for pairs of a polygon and a cell."""
        chosen, place = np.unique(polygon, return_inverse=True)
        shares = np.zeros(polygon.size)
        for part, runs in scan(self.area.clip(polygons[chosen]), self.grid):
            here = (part.start <= place) & (place < part.stop)
            shares[here] = runs.at(place[here] - part.start, row[here], column[here])
        return shares


@lru_cache(maxsize=3)
def _border_of(grid: Grid) -> Border | None:
    area = RegionArea.of(grid.domain)
    if area is None:
        return None
    areas = np.diff(np.diff(area.corner_areas(grid), axis=0), axis=1)
    full = np.outer(np.diff(grid.y_lines), np.diff(grid.x_lines)) / 4.0**RASTER_SHIFT
    cells = np.flatnonzero(_in_part(areas, full) & grid.mask)
    return Border(area, grid, cells) if cells.size else None


def _is_part(share: Floats) -> Booleans:
    return (share > 0) & (share < 1)


def _between(values: Integers, low: Integers, high: Integers, chosen: Booleans) -> tuple[Integers, Integers]:
    """Where the sorted values from `low` up to (not including) `high` begin and end; nowhere, unless chosen."""
    first, last = np.searchsorted(values, low), np.searchsorted(values, high)
    return first, np.where(chosen, last, first)
