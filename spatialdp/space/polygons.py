"""How much of each cell of a grid a polygon covers, for answers about areas other than boxes.

Every polygon is scanned once along its edges. An edge that runs through a cell adds the part of the cell that lies east
of the edge, signed by the edge's direction, so that running sums along the rows are the covered shares of all cells,
whatever the polygon's holes and parts. Between two edges the share is constant. A polygon is therefore a list of runs:
cells of one row with one share. A sum over cells takes a few prefix sums for each run, and the work is proportional to
the length of the boundary. See ``docs/design/boxes.md``.

Coordinates of polygons are not snapped to the lattice. Shares within 1e-8 of 0 or 1 are rounded to 0 or 1, so that
edges along cell edges do not leave tiny shares. Nothing here sees a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Objects, expand_ranges
from spatialdp.errors import ParameterError
from spatialdp.space.coverage import prefix_sums
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.regions.cells import RegionCells
from spatialdp.space.reprojection import in_crs
from spatialdp.wording import either

__all__ = [
    "COLLECTION",
    "CRUMB",
    "POLYGON",
    "PolygonBlock",
    "Polygons",
    "Runs",
    "areas_only",
    "missed_share",
    "read_polygons",
    "scan",
]

Polygons = Objects  # of shapely Polygons and MultiPolygons

CRUMB = 1e-8  # a share of a cell below which nothing is covered

_PIECES = 2**20  # pieces of edges scanned together

POLYGON, MULTIPOLYGON, COLLECTION = 3, 6, 7  # shapely's numbers of geometry types


def read_polygons(geometries: Any, domain: Domain) -> Polygons:
    """Return polygons as an array, given a geometry, a list, an array, a GeoSeries or a GeoDataFrame.

    Raises
    ------
    ParameterError
        If an element is not a valid Polygon or MultiPolygon; empty ones are allowed and cover nothing.
    CRSMismatchError
        If a GeoSeries or GeoDataFrame has no CRS and the domain has one, or the other way round, or if it cannot be
        drawn in the domain's CRS. In another CRS, it is reprojected.
    """
    import shapely

    if getattr(geometries, "active_geometry_name", "geometry") is None:
        raise ParameterError(
            "the polygons are a GeoDataFrame without an active geometry; choose one with set_geometry."
        )
    polygons = np.atleast_1d(np.asarray(getattr(geometries, "geometry", geometries), dtype=object))
    kinds = shapely.get_type_id(polygons) if shapely.is_valid_input(polygons).all() else np.array([])
    if polygons.ndim != 1 or kinds.shape != polygons.shape:
        raise ParameterError(
            f"the polygons are a {type(geometries).__name__} of something else; give shapely Polygons or MultiPolygons "
            "as a list, array, GeoSeries or GeoDataFrame. Boxes (xmin, ymin, xmax, ymax) are answered by `answer`."
        )
    _check(polygons, kinds)
    if not hasattr(geometries, "crs"):
        return polygons
    return in_crs("polygons", polygons, geometries.crs, domain.crs, middle=sum(domain.bounds[::2]) / 2)


def _check(polygons: Polygons, kinds: Array) -> None:
    import shapely

    wrong = np.nonzero(~np.isin(kinds, (POLYGON, MULTIPOLYGON)))[0]
    if wrong.size:
        first = polygons[wrong[0]]
        kind = "missing" if first is None else f"a {first.geom_type}"
        raise ParameterError(
            f"geometry {wrong[0]} is {kind}; it must be a Polygon or MultiPolygon. Leave it out, or give its area."
        )
    invalid = np.nonzero(~shapely.is_valid(polygons))[0]
    if invalid.size:
        reason = shapely.is_valid_reason(polygons[invalid[0]])
        raise ParameterError(
            f"geometry {invalid[0]} is not a valid polygon ({reason}); repair it "
            f"{either('with shapely.make_valid or GeoSeries.make_valid', 'in a GIS')}, and keep only the polygons of "
            "the result."
        )


@dataclass(frozen=True, eq=False)
class PolygonBlock:
    """The smallest rectangle of cells that contains one polygon, with the covered share of each cell.

    Attributes
    ----------
    polygon : int
        Number of the polygon.
    row, column : int
        Row and column of the rectangle's south-west cell.
    shares : (rows, columns) array
        Covered share of each cell.
    """

    polygon: int
    row: int
    column: int
    shares: Floats


@dataclass(frozen=True, eq=False)
class Runs:
    """Polygons as runs of cells of a grid: cells of one row with one covered share; sorted by polygon and row.

    Attributes
    ----------
    count : int
        Number of polygons.
    polygon, row, start, stop : int arrays
        For each run its polygon, its row, and its columns, from `start` up to (not including) `stop`.
    share : float array
        For each run the share of each of its cells that the polygon covers.
    """

    count: int
    polygon: Integers
    row: Integers
    start: Integers
    stop: Integers
    share: Floats

    def sums(self, prefixes: Floats, power: int = 1) -> Floats:
        """Return Σ value x share^power over cells for each polygon, from the values' prefix sums."""
        north, south = (self.row + 1) * prefixes.shape[1], self.row * prefixes.shape[1]
        run_sums = prefixes.take(north + self.stop) - prefixes.take(north + self.start)
        run_sums -= prefixes.take(south + self.stop) - prefixes.take(south + self.start)
        return _totals(self.polygon, self.share**power * run_sums, self.count)

    @property
    def areas(self) -> tuple[Floats, Floats]:
        """For each polygon, the sums over all cells of the shares and of their squares."""
        lengths = (self.stop - self.start).astype(np.float64)
        first, second = (_totals(self.polygon, self.share**power * lengths, self.count) for power in (1, 2))
        return first, second

    @property
    def cut_cells(self) -> Floats:
        """For each polygon, the number of cells that it covers in part."""
        lengths = np.where((self.share > 0) & (self.share < 1), self.stop - self.start, 0)
        return _totals(self.polygon, lengths.astype(np.float64), self.count)

    def within(self, low: tuple[int, int], high: tuple[int, int]) -> Runs:
        """Return the runs clipped to the cells from the column and row `low` up to (not including) `high`."""
        start, stop = np.maximum(self.start, low[0]), np.minimum(self.stop, high[0])
        keep = (start < stop) & (self.row >= low[1]) & (self.row < high[1])
        return replace(self, start=start, stop=stop)._only(keep)

    def whole(self, chosen: Booleans, shape: tuple[int, int]) -> Runs:
        """Return the runs with the chosen polygons replaced by all cells of the grid."""
        nx, ny = shape
        numbers = np.repeat(np.flatnonzero(chosen), ny)
        added = (numbers, np.tile(np.arange(ny), chosen.sum()), 0 * numbers, 0 * numbers + nx, np.ones(numbers.size))
        others = self._only(~chosen[self.polygon])
        kept = (others.polygon, others.row, others.start, others.stop, others.share)
        parts = [np.concatenate(pair) for pair in zip(kept, added, strict=True)]
        order = np.argsort(parts[0], kind="stable")
        return Runs(self.count, *(part[order] for part in parts))

    def cut(self) -> Runs:
        """Return the runs of covered shares between 0 and 1, one for each cell."""
        part = self._only(self.share < 1)
        owner, column = expand_ranges(part.start, part.stop)
        return Runs(self.count, part.polygon[owner], part.row[owner], column, column + 1, part.share[owner])

    def with_cut(self, cells: Runs) -> Runs:
        """Return the runs with other shares of the cells that `cut` returns."""
        whole, cells = self._only(self.share == 1), cells._only(cells.share > 0)
        names = ("polygon", "row", "start", "stop", "share")
        parts = [np.concatenate([getattr(whole, name), getattr(cells, name)]) for name in names]
        order = np.lexsort((parts[2], parts[1], parts[0]))
        return Runs(self.count, *(part[order] for part in parts))

    def at(self, polygon: Integers, row: Integers, column: Integers) -> Floats:
        """Return the covered shares of single cells, each by one polygon."""
        if not self.row.size:
            return np.zeros(row.size)
        rows, columns = max(int(self.row.max()), int(row.max())) + 1, max(int(self.stop.max()), int(column.max())) + 1
        keys = (self.polygon * rows + self.row) * columns + self.start
        place = np.searchsorted(keys, (polygon * rows + row) * columns + column, side="right") - 1
        place = np.maximum(place, 0)
        here = (self.polygon[place] == polygon) & (self.row[place] == row)
        here &= (self.start[place] <= column) & (column < self.stop[place])
        return np.where(here, self.share[place], 0.0)

    def blocks(self) -> Iterator[PolygonBlock]:
        """Yield each polygon that covers any cell as a small dense array of shares."""
        ends = np.nonzero(np.diff(self.polygon, prepend=-1, append=-1))[0]  # where another polygon begins
        for first, last in pairwise(ends.tolist()):
            part = slice(first, last)
            rows, start, stop, share = (a[part] for a in (self.row, self.start, self.stop, self.share))
            row, column = rows[0], start.min()
            changes = np.zeros((rows[-1] + 1 - row, stop.max() + 1 - column))
            np.add.at(changes, (rows - row, start - column), share)
            np.add.at(changes, (rows - row, stop - column), -share)
            shares = np.cumsum(changes, axis=1)[:, :-1]
            yield PolygonBlock(int(self.polygon[first]), int(row), int(column), shares)

    def _only(self, keep: Booleans) -> Runs:
        polygon, row, start, stop = (part[keep] for part in (self.polygon, self.row, self.start, self.stop))
        return Runs(self.count, polygon, row, start, stop, self.share[keep])


def scan(polygons: Polygons, grid: Grid) -> Iterator[tuple[slice, Runs]]:
    """Yield the runs of polygons on a grid, for a slice of the polygons at a time."""
    edges, polygon = _edges(polygons, grid)
    if not polygons.size:
        return
    # An edge has a piece in each row and column it runs through.
    pieces = np.abs(np.clip(edges[1], -1, max(grid.shape) + 1) - np.clip(edges[0], -1, max(grid.shape) + 1)).sum(axis=0)
    size = np.cumsum(np.bincount(polygon, pieces + 2, minlength=polygons.size))
    group = (size // _PIECES).astype(np.int64)
    starts = np.concatenate([[0], np.nonzero(np.diff(group))[0] + 1, [polygons.size]])
    bounds = np.searchsorted(polygon, starts)
    for i in range(starts.size - 1):
        part = slice(bounds[i], bounds[i + 1])
        runs = _runs(edges[..., part], polygon[part] - starts[i], int(starts[i + 1] - starts[i]), grid.shape)
        yield slice(starts[i], starts[i + 1]), runs


def missed_share(grid: Grid) -> float:
    """Return the share of the region's area, within the bounds, that lies in no cell of the region.

    The share is 0 if all cells that touch the region belong to it.

    Examples
    --------
    >>> import shapely
    >>> triangle = shapely.Polygon([(0, 0), (2, 0), (0, 2)])
    >>> [missed_share(Domain((0, 0, 2, 2), region=triangle, region_cells=rule).grid((2, 2)))
    ...  for rule in ("touching", "centres")]
    [0.0, 0.5]
    """
    domain = grid.domain
    if domain.region is None or domain.region_cells is RegionCells.TOUCHING:
        return 0.0
    ((_, runs),) = scan(np.array([domain.region]), grid)
    (area,), (covered,) = runs.areas[0], runs.sums(prefix_sums(grid.mask))
    return float(np.clip(1 - covered / area, 0.0, 1.0)) if area > 0 else 0.0


def _edges(polygons: Polygons, grid: Grid) -> tuple[Floats, Integers]:
    """Return the edges of polygons, and the polygon that each edge belongs to.

    Edges are an array (begin and end, x and y, edges) in units of cells, turned so that the polygon lies to their left.
    Edges of constant y are left out: they have no height and change no share.
    """
    import shapely

    parts, polygon = shapely.get_parts(polygons, return_index=True)
    rings, part = shapely.get_rings(parts, return_index=True)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    shells = np.diff(part, prepend=-1) != 0  # a polygon's first ring; the others are holes
    turned = (shapely.is_ccw(rings) != shells)[ring[1:]]
    cells = np.stack(
        [
            (points[:, i] - axis.low) / (axis.high - axis.low) * n
            for i, (axis, n) in enumerate(zip(grid.domain.axes, grid.shape, strict=True))
        ]
    )
    begin, end = cells[:, :-1], cells[:, 1:]
    edges = np.stack([np.where(turned, end, begin), np.where(turned, begin, end)])
    kept = (ring[1:] == ring[:-1]) & (begin[1] != end[1])
    return edges[..., kept], polygon[part[ring[1:][kept]]]


def _runs(edges: Floats, polygon: Integers, count: int, shape: tuple[int, int]) -> Runs:
    """Add up the part of each cell that lies east of each edge, and read the shares off along the rows."""
    nx, ny = shape
    owner, row, column, change = _changes(*_row_pieces(edges, ny), nx)
    # Add up the changes at one place of one polygon, in the order of polygons, rows and columns.
    key = (polygon[owner] * ny + row) * (nx + 1) + column
    order = np.argsort(key, kind="stable")
    key, change = key[order], change[order]
    first = np.nonzero(np.diff(key, prepend=-1))[0]
    key = key[first]
    # The changes of a row add up to zero, so one running sum serves all rows.
    share = np.cumsum(np.add.reduceat(change, first)) if first.size else change
    line, start = np.divmod(key, nx + 1)
    stop = np.append(start[1:], 0)
    share[np.abs(share) < CRUMB] = 0.0
    share[np.abs(share - 1) < CRUMB] = 1.0
    keep = (share != 0) & (np.append(line[1:], -1) == line)
    return Runs(count, line // ny, line % ny, start, stop, np.clip(share, 0.0, 1.0))._only(keep)


def _row_pieces(edges: Floats, ny: int) -> tuple[Integers, Integers, Floats, Floats, Floats]:
    """Cut edges at the rows; return edge, row, least x, greatest x and height (positive: runs down) of each piece."""
    down = edges[1, 1] < edges[0, 1]
    (low_x, low), (high_x, high) = np.where(down, edges[::-1], edges)
    owner, row = expand_ranges(np.clip(np.floor(low), 0, ny), np.clip(np.ceil(high), 0, ny))
    low, high, low_x, high_x = (values[owner] for values in (low, high, low_x, high_x))
    ends = np.maximum(low, row), np.minimum(high, row + 1)
    x = [low_x + (high_x - low_x) * np.clip((end - low) / (high - low), 0.0, 1.0) for end in ends]
    height = np.where(down[owner], 1.0, -1.0) * (ends[1] - ends[0])
    return owner, row, np.minimum(*x), np.maximum(*x), height


def _changes(
    owner: Integers, row: Integers, west: Floats, east: Floats, height: Floats, nx: int
) -> tuple[Integers, Integers, Integers, Floats]:
    """Cut pieces at the columns; return edge, row, column and change of the covered share, going east along a row.

    A piece changes the share of its own cell by its height times the part of the cell that lies east of the piece, and
    the share of all cells further east by its height. Everything west of the grid is one column, and so is everything
    east of it.
    """
    # Columns that each piece runs through; -1 stands for everything west of the grid, nx for everything east of it.
    first = np.clip(np.floor(west), -1, nx)
    last = np.maximum(np.clip(np.ceil(east), 0, nx + 1), first + 1)
    piece, column = expand_ranges(first, last)
    left, right = np.maximum(west[piece], column), np.minimum(east[piece], column + 1)
    left, right = np.where(column < 0, west[piece], left), np.where(column == nx, east[piece], right)
    # Height of the part of a piece that lies in one column; an upright piece lies in one column with all of its height.
    width = (east - west)[piece]
    with np.errstate(invalid="ignore", divide="ignore"):
        change = height[piece] * np.where(width > 0, (right - left) / width, 1.0)
    # Part of the cell that lies west of the part's middle: the share of its own cell changes by the rest.
    beyond = np.clip((left + right) / 2 - column, 0.0, 1.0)
    beyond = np.where(column < 0, 1.0, np.where(column == nx, 0.0, beyond))
    # Two changes for each part: in its own column, and in the next one, from where on all cells change by its height.
    here, further = column >= 0, column < nx
    places = np.concatenate([column[here], column[further] + 1])
    changes = np.concatenate([(change * (1 - beyond))[here], (change * beyond)[further]])
    pieces = np.concatenate([piece[here], piece[further]])
    return owner[pieces], row[pieces], places, changes


def areas_only(geometries: Polygons) -> Polygons:
    """Remove the points and lines that intersections have where areas only touch; changes the array."""
    import shapely

    mixed = np.nonzero(shapely.get_type_id(geometries) == COLLECTION)[0]
    parts, owner = shapely.get_parts(geometries[mixed], return_index=True)
    areas, nothing = shapely.get_type_id(parts) == POLYGON, np.full(mixed.size, shapely.Polygon())
    geometries[mixed] = shapely.multipolygons(parts[areas], indices=owner[areas], out=nothing)
    return geometries


def _totals(polygon: Integers, weights: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(polygon, weights, minlength=count), dtype=np.float64)
