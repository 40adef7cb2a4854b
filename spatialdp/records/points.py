"""Records in memory, and where they lie on the lattice of a domain.

`Points` holds records as arrays of coordinates, in whatever form the caller has them; `LatticePoints` holds them as
lattice columns and rows of one domain. Both give their cells (`records.counting`) and their positions block by block.

Records outside the domain or its region, or not finite, are treated as if they were not in the data: they count
nowhere, silently, because their number is private. Errors here may speak of the form of the input (types, columns,
CRS), never of a value or a number of rows. See ``docs/design/lattice.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers, Integers32
from spatialdp._support.override import override
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Person
from spatialdp.records.counting import cell_numbers, count_records, lattice_cell_numbers
from spatialdp.records.formats.base import forgetful
from spatialdp.records.reading import (
    arrow_coordinates,
    column_of,
    columns_of,
    is_geometric,
    names_of,
    point_coordinates,
)
from spatialdp.space import crs as crs_
from spatialdp.space.domain import RASTER_SHIFT, Domain, Grid
from spatialdp.space.lattice import LATTICE
from spatialdp.space.placement import check_column_names

__all__ = ["LatticePoints", "Points", "as_points", "lattice_points", "snap"]

_BLOCK = 2**18  # records that are counted at a time


class Points:
    """Sensitive locations: the records that a release is about.

    Parameters
    ----------
    x : (n, 2) array-like, GeoDataFrame or GeoSeries of points, Arrow table or reader, or array-like of n numbers
        An Arrow table has a declared geometry (GeoParquet's or GeoArrow's), or just two columns of numbers; columns of
        other tables are named in `read_points`. A reader is read to its end.
    y : array-like of n numbers, optional
        The other coordinate; required if and only if `x` holds one coordinate.
    crs : optional
        CRS of plain arrays, if you want it checked against the domain's; a GeoDataFrame brings its own.

    Raises
    ------
    PointsError
        If the input has the wrong form: an array of structures, a single geometry, a frame or table with the wrong
        columns, or with columns that are named like the other axis. No record causes an error, whatever its value: one
        that is not a point (missing, text that is not a number, a date, another geometry) counts nowhere. A multi-point
        of one part is that point.

    Notes
    -----
    Arrays are not copied: do not change them as long as the points are in use.

    Privacy
    -------
    The object shows nothing about its records: it has no length and no extent, and its `repr` shows the CRS alone.

    Examples
    --------
    >>> Points([[0.5, 0.5], [2.0, 1.0]])
    Points(<private>)
    >>> Points([0.5, 2.0], [0.5, 1.0], crs="EPSG:4326")
    Points(<private>, crs='EPSG:4326')
    """

    __slots__ = ("_geometric", "_x", "_y", "crs")

    @forgetful
    def __init__(self, x: Any, y: Any = None, *, crs: Any = None) -> None:
        self._geometric = is_geometric(x)
        if self._geometric:
            if y is not None or crs is not None:
                raise PointsError(
                    "points are a GeoDataFrame or GeoSeries, and y or crs was given too; it brings its own. "
                    "Leave y and crs out."
                )
            self._x, self._y = point_coordinates(x)
            self.crs = crs_.canonical(x.crs)
            return
        if y is None and hasattr(x, "__arrow_c_stream__") and not hasattr(x, "iloc"):  # frames of pandas are arrays
            self._x, self._y, declared, self._geometric = arrow_coordinates(x)
            if declared is not None and crs is not None:
                raise PointsError(
                    "points are an Arrow table that states its CRS, and crs was given too; leave crs out."
                )
            self.crs = crs_.canonical(crs if declared is None else declared)
            return
        check_column_names(*names_of(x, y))
        self.crs = crs_.canonical(crs)
        self._x, self._y = columns_of(x) if y is None else (column_of(x, "x"), column_of(y, "y"))
        if self._x.shape != self._y.shape:
            raise PointsError("x and y have different lengths; each record needs both. Give arrays of one length.")

    def __repr__(self) -> str:
        return "Points(<private>)" if self.crs is None else f"Points(<private>, crs={self.crs!r})"

    def _counts(self, grid: Grid, person: Person | None) -> Integers:  # noqa: ARG002 - bounds come next
        """Return the exact counts of the cells, (ny, nx), as `records.counting.count_cells` describes them."""
        return count_records(self, grid)

    def _cells(self, grid: Grid) -> Iterator[Integers]:
        """Yield the cell numbers of the records, row * nx + column, block by block; nx * ny for those out of bounds.

        A block may be overwritten by the next one: read it before.
        """
        return cell_numbers(self._blocks(), grid)

    def _positions(self, domain: Domain) -> Iterator[tuple[Integers32, Integers32]]:
        """Yield the lattice columns and rows of the records within the bounds, block by block."""
        return (snap(x, y, domain) for x, y in self._blocks())

    def _blocks(self) -> Iterator[tuple[Array, Array]]:
        for start in range(0, self._x.shape[0], _BLOCK):
            yield self._x[start : start + _BLOCK], self._y[start : start + _BLOCK]


class LatticePoints(Points):
    """Records as squares on the lattice of one domain, 8 bytes each; records outside its bounds are left out.

    Parameters
    ----------
    parts : list of (columns, rows)
        Lattice columns and rows, as `snap` returns them.
    domain : Domain
        The domain that the records were snapped to; they can be used with no other bounds.
    """

    __slots__ = ("_bounds", "_parts")

    def __init__(self, parts: list[tuple[Integers32, Integers32]], domain: Domain) -> None:
        self._geometric = False
        self._parts, self._bounds, self.crs = parts, domain.bounds, domain.crs

    @override
    def _cells(self, grid: Grid) -> Iterator[Integers]:
        return lattice_cell_numbers(self._positions(grid.domain), grid)

    @override
    def _positions(self, domain: Domain) -> Iterator[tuple[Integers32, Integers32]]:
        if domain.bounds != self._bounds:
            raise PointsError(
                f"the points were read for a domain with bounds {self._bounds}, and are now used with {domain.bounds}; "
                "read them again with read_points for the domain of the release."
            )
        return iter(self._parts)


def as_points(points: Any, domain: Domain) -> Points:
    """Return the caller's points, in any accepted form, as `Points`; a CRS other than the domain's is refused."""
    records = points if isinstance(points, Points) else Points(points)
    if records._geometric or records.crs is not None:
        crs_.require_same("points", records.crs, domain.crs)
    return records


def lattice_points(points: Points, domain: Domain) -> tuple[Integers32, Integers32]:
    """Return the lattice columns and rows of the records in the domain and its region.

    A record is in the region if its cell of `Domain.region_raster` is.
    """
    raster = domain.region_raster
    parts = [_within(raster, *part) for part in points._positions(domain)]
    if not parts:
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
    columns, rows = (np.concatenate(part) for part in zip(*parts, strict=True))
    return columns, rows


def _within(raster: Booleans | None, columns: Integers32, rows: Integers32) -> tuple[Integers32, Integers32]:
    if raster is None:
        return columns, rows
    allowed = raster[rows >> RASTER_SHIFT, columns >> RASTER_SHIFT]
    return columns[allowed], rows[allowed]


def snap(x: Array, y: Array, domain: Domain) -> tuple[Integers32, Integers32]:
    """Return the lattice columns and rows of the coordinates within the bounds; the others are left out, silently."""
    inside = np.ones(x.shape[0], dtype=bool)
    positions = []
    # NaN and overflow must pass silently: a warning would tell that such a record exists.
    with np.errstate(all="ignore"):
        for values, axis in zip((x, y), domain.axes, strict=True):
            doubles = values.astype(np.float64)
            inside &= (doubles >= axis.low) & (doubles <= axis.high)
            positions.append(np.minimum((doubles - axis.low) / axis.spacing, LATTICE - 1).astype(np.int64))
    columns, rows = (position[inside].astype(np.int32) for position in positions)
    return columns, rows
