"""Records held in memory: arrays and GeoDataFrames, snapped to the lattice and counted.

Records that are outside the domain or its region, or not finite, are records that are not in
the data: they count nowhere, silently, because how many there were is private. Errors here speak of
the form of the input (types, columns, CRS), never of a value or a number of rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from numbers import Number
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32
from spatialdp.errors import PointsError
from spatialdp.space import crs as crs_
from spatialdp.space.domain import (
    LATTICE,
    LATTICE_BITS,
    RASTER_SHIFT,
    Axis,
    Domain,
    Grid,
    cells_of,
)

__all__ = ["LatticePoints", "Points", "as_points", "count_cells", "lattice_points", "snap"]


_CHUNK = 2**15  # records at a time through the arithmetic: the work arrays stay in cache
_BLOCK = 2**18  # records at a time through bincount


class Points:
    """Sensitive locations.

    Parameters
    ----------
    x : (n, 2) array-like, GeoDataFrame or GeoSeries of points, or array-like of n numbers
    y : array-like of n numbers, optional
        Needed if and only if `x` is one coordinate.
    crs : optional
        Of plain arrays, if you want it checked; a GeoDataFrame brings its own.

    Raises
    ------
    PointsError
        If the input has the wrong form: text, complex numbers or other geometries than points among it, or the wrong
        number of columns. No number raises, whatever its value.

    Notes
    -----
    Arrays are not copied: do not change them while the points are in use.

    Privacy
    -------
    The object shows nothing of what it holds: no length, no extent, nothing in its `repr`.

    Examples
    --------
    >>> Points([[0.5, 0.5], [2.0, 1.0]])
    Points(<private>)
    >>> Points([0.5, 2.0], [0.5, 1.0], crs="EPSG:4326")
    Points(<private>, crs='EPSG:4326')
    """

    __slots__ = ("_geometric", "_x", "_y", "crs")

    def __init__(self, x: Any, y: Any = None, *, crs: Any = None) -> None:
        self._geometric = hasattr(x, "active_geometry_name") or hasattr(x, "geom_type")
        if self._geometric:
            if y is not None or crs is not None:
                raise PointsError(
                    "points are a GeoDataFrame or GeoSeries; it brings its own y and crs, leave them out."
                )
            self._x, self._y = _point_coordinates(x)
            self.crs = crs_.canonical(x.crs)
            return
        self.crs = crs_.canonical(crs)
        self._x, self._y = _columns(x) if y is None else (_column(x, "x"), _column(y, "y"))
        if self._x.shape != self._y.shape:
            raise PointsError("x and y have different lengths; each record needs both.")

    def __repr__(self) -> str:
        return "Points(<private>)" if self.crs is None else f"Points(<private>, crs={self.crs!r})"

    def _cells(self, grid: Grid) -> Iterator[Integers]:
        """Cell numbers of the records, row * nx + column, block by block; nx * ny for those outside the bounds.

        A block is only good until the next one is asked for.
        """
        counter, cells = _CellCounter(grid), np.empty(_BLOCK, dtype=np.int64)
        for x, y in self._blocks():
            part = cells[: x.shape[0]]
            for start in range(0, part.size, _CHUNK):
                chunk = slice(start, start + _CHUNK)
                counter.cells(x[chunk], y[chunk], out=part[chunk])
            yield part

    def _positions(self, domain: Domain) -> Iterator[tuple[Integers32, Integers32]]:
        """Lattice columns and rows of the records within the bounds, block by block."""
        return (snap(x, y, domain) for x, y in self._blocks())

    def _blocks(self) -> Iterator[tuple[Array, Array]]:
        for start in range(0, self._x.shape[0], _BLOCK):
            yield self._x[start : start + _BLOCK], self._y[start : start + _BLOCK]


class LatticePoints(Points):
    """Records on the lattice of one domain: 8 bytes each, and nothing of those outside its bounds.

    Parameters
    ----------
    parts : list of (columns, rows)
        As `snap` gives them.
    domain : Domain
        The one they were snapped to.
    """

    __slots__ = ("_bounds", "_parts")

    def __init__(self, parts: list[tuple[Integers32, Integers32]], domain: Domain) -> None:
        self._geometric = False
        self._parts, self._bounds, self.crs = parts, domain.bounds, domain.crs

    def _cells(self, grid: Grid) -> Iterator[Integers]:
        nx, ny = grid.shape
        for columns, rows in self._positions(grid.domain):
            cells = np.empty(columns.size, dtype=np.int64)
            for start in range(0, cells.size, _CHUNK):
                chunk = slice(start, start + _CHUNK)
                x, y = columns[chunk].astype(np.int64), rows[chunk].astype(np.int64)
                np.add(cells_of(y, ny) * nx, cells_of(x, nx), out=cells[chunk])
            yield cells

    def _positions(self, domain: Domain) -> Iterator[tuple[Integers32, Integers32]]:
        if domain.bounds != self._bounds:
            raise PointsError(
                f"the points were read for a domain with bounds {self._bounds}, and are now used with {domain.bounds}; "
                "read them again with read_points for the domain of the release."
            )
        return iter(self._parts)


def as_points(points: Any, domain: Domain) -> Points:
    """Whatever the caller holds, as `Points` whose CRS is not at odds with the domain's."""
    held = points if isinstance(points, Points) else Points(points)
    if held._geometric or held.crs is not None:
        crs_.require_same("points", held.crs, domain.crs)
    return held


def count_cells(points: Points, grid: Grid) -> Integers:
    """Exact counts, (ny, nx), of the records in each cell; zero outside the region.

    One pass, in blocks: memory beyond the input is a few megabytes and the counts.
    """
    nx, ny = grid.shape
    counts = np.zeros(nx * ny + 1, dtype=np.int64)  # the last one collects what counts nowhere
    for cells in points._cells(grid):
        counts += np.bincount(cells, minlength=counts.size)
    inside: Integers = counts[:-1].reshape(ny, nx)
    inside[~grid.mask] = 0
    return inside


def lattice_points(points: Points, domain: Domain) -> tuple[Integers32, Integers32]:
    """Lattice columns and rows of the records in the domain and its region.

    The region is taken at the resolution of `region_raster`: a record is in it if its raster cell is.
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
    """Lattice columns and rows of the coordinates that are within the bounds; the others leave no trace."""
    inside = np.ones(x.shape[0], dtype=bool)
    positions = []
    # Not-a-number and overflow are values like any other here: a warning would tell on a record.
    with np.errstate(all="ignore"):
        for values, axis in zip((x, y), domain.axes, strict=True):
            held = values.astype(np.float64)
            inside &= (held >= axis.low) & (held <= axis.high)
            positions.append(np.minimum((held - axis.low) / axis.spacing, LATTICE - 1).astype(np.int64))
    columns, rows = (position[inside].astype(np.int32) for position in positions)
    return columns, rows


class _CellCounter:
    """Cell numbers of chunks of records, with the work arrays allocated once."""

    def __init__(self, grid: Grid) -> None:
        self._axes = grid.domain.axes
        self._shape = grid.shape
        self._work = np.empty(_CHUNK)
        self._column = np.empty(_CHUNK, dtype=np.int64)
        self._inside, self._flag = np.empty(_CHUNK, dtype=bool), np.empty(_CHUNK, dtype=bool)

    def cells(self, x: Array, y: Array, out: Integers) -> None:
        """Write row * nx + column of each record, or nx * ny if it is outside."""
        nx, ny = self._shape
        size = out.size
        column, inside = self._column[:size], self._inside[:size]
        inside[:] = True
        self._axis_cells(x, self._axes[0], nx, column, inside)
        self._axis_cells(y, self._axes[1], ny, out, inside)
        out *= nx
        out += column
        np.putmask(out, np.logical_not(inside, out=inside), nx * ny)

    def _axis_cells(self, values: Array, axis: Axis, count: int, out: Integers, inside: Booleans) -> None:
        work, flag = self._work[: out.size], self._flag[: out.size]
        # Not-a-number and overflow are values like any other here: a warning would tell on a record.
        with np.errstate(all="ignore"):
            work[:] = values
            inside &= np.greater_equal(work, axis.low, out=flag)
            inside &= np.less_equal(work, axis.high, out=flag)
            work -= axis.low
            work /= axis.spacing
            np.minimum(work, LATTICE - 1, out=work)
            np.copyto(out, work, casting="unsafe")
            out *= count
            out += count - 1
            out >>= LATTICE_BITS


def _columns(array: Any) -> tuple[Array, Array]:
    """The two columns of an (n, 2) array-like."""
    held = _numbers(array, "points")
    if held.ndim == 1 and held.size == 0:
        held = held.reshape(0, 2)
    if held.ndim != 2 or held.shape[1] != 2:
        raise PointsError(
            "points are not an (n, 2) array of x and y; give two columns, two arrays Points(x, y), "
            "or a GeoDataFrame of points."
        )
    return held[:, 0], held[:, 1]


def _column(array: Any, name: str) -> Array:
    held = _numbers(array, name)
    if held.ndim != 1:
        raise PointsError(f"{name} is not a one-dimensional array of numbers; give one coordinate per record.")
    return held


def _numbers(array: Any, name: str) -> Array:
    """A numeric array, without a copy where it is one already; missing values become NaN and count nowhere."""
    held = None
    with contextlib.suppress(Exception):  # whose message may quote a record
        held = (
            np.ma.filled(array.astype(np.float64), np.nan)
            if isinstance(array, np.ma.MaskedArray)
            else np.asarray(array)
        )
        if held.dtype.kind == "O":
            held = np.asarray(_FLOATS(held), dtype=np.float64)
    if held is None or held.dtype.kind not in "iuf":
        raise PointsError(
            f"{name} can not be read as numbers; convert the coordinates to floats, or put geometries into a "
            "geopandas.GeoSeries, first."
        )
    return held


def _float(value: Any) -> float:
    """A number as a double; what is missing, or too large for one, is not a number."""
    if isinstance(value, str | bytes | complex):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        return np.nan
    except ValueError:
        if isinstance(value, Number):  # a decimal that signals that it is none
            return np.nan
        raise
    except TypeError:
        if value is None or (not hasattr(value, "__float__") and repr(value) in {"<NA>", "NaT"}):
            return np.nan
        raise


_FLOATS = np.frompyfunc(_float, 1, 1)


def _point_coordinates(held: Any) -> tuple[Floats, Floats]:
    import shapely

    if getattr(held, "active_geometry_name", "geometry") is None:
        raise PointsError("the GeoDataFrame has no active geometry column; choose one with set_geometry.")
    geometry = np.asarray(held.geometry.array, dtype=object)
    if not np.isin(shapely.get_type_id(geometry), (-1, 0)).all():  # missing, or Point
        raise PointsError("the geometries are not all points; use centroids or explode multi-points first.")
    xy = shapely.get_coordinates(geometry)  # missing and empty points have none
    return xy[:, 0], xy[:, 1]
