"""Which table is the map of a release? One row for each cell of a grid or leaf of a tree, for files and data frames.

A row has the place of the cell, its estimate and, unless the release is biased, the ends of its 95 % interval and the
standard deviation of its noise. Edges are exactly those of the grid: the leaves of a tree that are the cells of one
grid get the coordinates of that grid's lines, and not those of the nearest lattice lines.

Everything here is computed from a release, which is public. A new kind of estimate needs a case of `cell_numbers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers, Objects
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.answers import Answers
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.field import Field
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.zones.areas import ZoneAreas, require_domain
from spatialdp.outputs.zones.tables import zone_columns, zone_numbers
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.lattice import LATTICE
from spatialdp.wording import either

if TYPE_CHECKING:
    from spatialdp.privacy.statement import Privacy
    from spatialdp.release import Release

__all__ = [
    "COLUMNS",
    "LEVEL",
    "CellNumbers",
    "MapRows",
    "cell_groups",
    "cell_numbers",
    "described",
    "edges",
    "finest_shape",
    "level_rows",
    "map_rows",
    "measures",
]

_MOST_PIXELS = 10**8  # of a raster of listed cells
_HIGHEST = 12  # levels of a tree of halved boxes that still becomes a raster of its finest leaves

LEVEL = 0.95  # confidence level of the intervals in files and data frames

# The numbers that a map has for each cell, in words for the metadata of files; `described` says what is counted.
COLUMNS = {
    "estimate": "estimated number of {counted}",
    "lower": f"lower end of the {100 * LEVEL:g} % interval",
    "upper": f"upper end of the {100 * LEVEL:g} % interval",
    "sd": "standard deviation of the noise in the estimate",
}
_NO_INTERVALS = (
    "none: this release was truncated, rounded, made non-negative, smoothed, listed by its own noise or stopped where "
    "counts were small, so that its errors do not average out"
)


@dataclass(frozen=True, eq=False)
class CellNumbers:
    """The leaves of an estimate as cells of a grid.

    Attributes
    ----------
    grid : Grid
    numbers : int array
        Row-major number of each leaf's cell, in the order of `Estimate.leaf_values`.
    """

    grid: Grid
    numbers: Integers

    @property
    def rows_and_columns(self) -> tuple[Integers, Integers]:
        """Row and column of each leaf; row 0 is in the south and column 0 in the west."""
        rows, columns = np.divmod(self.numbers, self.grid.shape[0])
        return rows, columns

    @property
    def boxes(self) -> Floats:
        """The edges of each leaf, which are those of the grid's cells, (n, 4)."""
        (rows, columns), x, y = self.rows_and_columns, self.grid.x_edges, self.grid.y_edges
        return np.stack([x[columns], y[rows], x[columns + 1], y[rows + 1]], axis=1)

    def raster(self, values: Floats) -> Floats:
        """Return the values of leaves as an array (rows, columns), row 0 in the south; NaN where there is no leaf."""
        nx, ny = self.grid.shape
        cells = np.full(nx * ny, np.nan)
        cells[self.numbers] = values
        return cells.reshape(ny, nx)


@singledispatch
def cell_numbers(estimate: Estimate) -> CellNumbers | None:
    """Return the leaves of an estimate as cells of a grid; None if they are not the cells of one grid."""
    raise ReleaseError(f"a release of kind {estimate.kind!r} has no table of cells; draw it with plot().")


@cell_numbers.register
def _(estimate: Histogram) -> CellNumbers:
    return CellNumbers(estimate.grid, np.flatnonzero(estimate.grid.mask))


@cell_numbers.register
def _(estimate: Decomposition) -> CellNumbers | None:
    leaves = estimate.leaf_grid
    return None if leaves is None else CellNumbers(leaves.grid, leaves.places)


@cell_numbers.register
def _(estimate: Field) -> CellNumbers | None:
    return cell_numbers(estimate.basis)


@cell_numbers.register
def _(estimate: ListedCells) -> CellNumbers | None:
    grid = estimate.grid
    if grid.n_numbers > _MOST_PIXELS:  # a grid that nobody lays out
        return None
    return CellNumbers(grid.domain.grid(grid.shape), grid.numbers(estimate.columns, estimate.rows))


@cell_numbers.register
def _(estimate: ListOverMap) -> CellNumbers | None:
    return cell_numbers(estimate.map)


@cell_numbers.register
def _(estimate: ZoneCounts) -> CellNumbers | None:
    require_domain(estimate.zones)  # zones that are codes alone have no place in a raster either
    return None


@singledispatch
def finest_shape(estimate: Estimate) -> tuple[int, int] | None:
    """Return the columns and rows of a grid whose lines hold all edges of leaves; None if there is no such grid."""
    cells = cell_numbers(estimate)
    return None if cells is None else cells.grid.shape


@finest_shape.register
def _(estimate: Decomposition) -> tuple[int, int] | None:
    if estimate.shape is not None:
        return estimate.shape
    side = 2 ** min(estimate.tree.height, _HIGHEST)
    halved = np.all(estimate.leaf_boxes() % (LATTICE // side) == 0)
    return (side, side) if halved else None


@finest_shape.register
def _(estimate: Field) -> tuple[int, int]:
    return estimate.grid.shape


@finest_shape.register
def _(estimate: ListedCells) -> tuple[int, int]:
    nx, ny = estimate.grid.shape
    if nx * ny > _MOST_PIXELS:
        raise ParameterError(
            f"this release lists cells of a grid of {nx:,} x {ny:,}, and a raster of all of them would have "
            f"{nx * ny:,} pixels, but at most {_MOST_PIXELS:,} are written; give a number of pixels with "
            f"{either('shape=(nx, ny)', '--pixels NX,NY')}, which then hold sums of listed cells, or save as .gpkg."
        )
    return nx, ny


@singledispatch
def cell_groups(estimate: Estimate, grid: Grid) -> tuple[Integers, Integers]:  # noqa: ARG001 - only fields have groups
    """Return one cell out of each group of a grid's cells that have the same interval, and the group of each cell."""
    every = np.arange(grid.n_cells)
    return every, every


@cell_groups.register
def _(estimate: Field, grid: Grid) -> tuple[Integers, Integers]:
    if grid.shape == estimate.grid.shape:
        return estimate.cell_groups()
    every = np.arange(grid.n_cells)
    return every, every


@dataclass(frozen=True, eq=False)
class MapRows:
    """The table of a map.

    Attributes
    ----------
    columns : dict of str to array
        Each array has one entry for each row: the place of the cell, then the numbers of `COLUMNS`.
    boxes : (n, 4) float array
        Coordinates of the edges of each row's cell: xmin, ymin, xmax, ymax.
    polygons : (n,) array of shapely polygons, optional
        The areas of the rows, if they are not boxes.
    """

    columns: dict[str, Array]
    boxes: Floats
    polygons: Objects | None = None


def map_rows(release: Release) -> MapRows:
    """Return the table of a release's map: the cells of a grid in the region, or the leaves of a tree or of zones.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> release = sdp.Hierarchy((3, 2)).release([], sdp.Domain((0, 0, 3, 2)), epsilon=1)
    >>> rows = map_rows(release)
    >>> list(rows.columns), rows.boxes[-1].tolist()
    (['column', 'row', 'estimate', 'lower', 'upper', 'sd'], [2.0, 1.0, 3.0, 2.0])
    """
    return _rows(release.estimate, release.domain)


@singledispatch
def _rows(estimate: Estimate, domain: Domain) -> MapRows:
    cells, numbers = cell_numbers(estimate), measures(estimate)
    if cells is None:
        return MapRows(_depths(estimate) | numbers, edges(estimate.leaf_boxes(), domain, None))
    rows, columns = cells.rows_and_columns
    return MapRows({"column": columns.astype(np.int32), "row": rows.astype(np.int32)} | numbers, cells.boxes)


@_rows.register
def _(estimate: ListedCells, domain: Domain) -> MapRows:  # noqa: ARG001 - the grid knows its domain
    places = {"column": estimate.columns.astype(np.int32), "row": estimate.rows.astype(np.int32)}
    return MapRows(places | measures(estimate), estimate.grid.boxes(estimate.columns, estimate.rows))


@_rows.register
def _(estimate: ZoneCounts, domain: Domain) -> MapRows:  # noqa: ARG001 - zones know their domain
    return level_rows(estimate)


def level_rows(estimate: ZoneCounts, level: int | str | None = None) -> MapRows:
    """Return the table of the zones of one level; by default of the lowest one."""
    import shapely

    areas = ZoneAreas.of(estimate.zones, level)
    columns = zone_columns(estimate, areas.nodes) | zone_numbers(estimate, areas.nodes, LEVEL)
    return MapRows(columns, shapely.bounds(areas.geometry), areas.geometry)


def edges(boxes: Array, domain: Domain, cells: CellNumbers | None) -> Floats:
    """Return the coordinates of lattice boxes, (n, 4); sides on lines of the grid have exactly its coordinates."""
    sides = []
    for index, axis in enumerate(domain.axes * 2):
        side = axis.coordinates(boxes[:, index])
        if cells is not None:
            lines, line_edges = (
                (cells.grid.y_lines, cells.grid.y_edges) if index % 2 else (cells.grid.x_lines, cells.grid.x_edges)
            )
            nearest = np.minimum(np.searchsorted(lines, boxes[:, index]), lines.size - 1)
            side = np.where(lines[nearest] == boxes[:, index], line_edges[nearest], side)
        sides.append(side)
    return np.stack(sides, axis=1)


@singledispatch
def _depths(estimate: Estimate) -> dict[str, Array]:  # noqa: ARG001 - only trees have depths
    return {}


@_depths.register
def _(estimate: Field) -> dict[str, Array]:
    return _depths(estimate.basis)


@_depths.register
def _(estimate: Decomposition) -> dict[str, Array]:
    return {"depth": estimate.tree.depth[estimate.tree.leaves].astype(np.int16)}


def measures(estimate: Estimate) -> dict[str, Floats]:
    """Return the estimate of each leaf and, if the estimate is not biased, its interval and standard deviation."""
    if estimate.biased:
        return {"estimate": estimate.leaf_values()}
    answers = Answers.of_leaves(estimate)
    return dict(zip(COLUMNS, (estimate.leaf_values(), *answers.ends(LEVEL).T, np.sqrt(answers.variance)), strict=True))


def described(estimate: Estimate, privacy: Privacy | None = None) -> dict[str, str]:
    """Return what the columns of a map hold, in words; for a biased release also why it has no intervals.

    With the statement of a release of persons, the member ``counted`` says what was counted of each person.
    """
    counted, words = ("records", {}) if privacy is None else (privacy.counted, _counted(privacy))
    columns = COLUMNS | {"estimate": COLUMNS["estimate"].format(counted=counted)}
    words = _listing(estimate, counted) | words
    if estimate.biased:
        return {"estimate": columns["estimate"], "intervals": _NO_INTERVALS, **words}
    return columns | words


@singledispatch
def _listing(estimate: Estimate, counted: str) -> dict[str, str]:  # noqa: ARG001 - only lists leave cells out
    return {}


@_listing.register
def _(estimate: ListedCells | ListOverMap, counted: str) -> dict[str, str]:
    return {"listed": estimate.in_words(counted)}


def _counted(privacy: Privacy) -> dict[str, str]:
    if privacy.person is None:
        return {}
    return {"counted": f"{privacy.person.in_words()}. {privacy.counted_in_words()}"}
