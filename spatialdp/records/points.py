"""Records in memory, and where they lie on the lattice of a domain.

`Points` holds records as arrays of coordinates, in whatever form the caller has them; `LatticePoints` holds them as
lattice columns and rows of one domain; and `streaming.FilePoints` leaves them in their files. All give their cells
(`records.counting`) and their positions block by block, and beside the cells the persons that the records are about, if
there is a column of them (`records.persons`).

Records outside the domain or its region, or not finite, are treated as if they were not in the data: they count
nowhere, silently, because their number is private. Errors here may speak of the form of the input (types, columns,
CRS), never of a value or a number of rows. See ``docs/design/lattice.md``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers, Integers32
from spatialdp._support.override import override
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.counting import FINE_SIDE, cell_numbers, count_records, lattice_cell_numbers
from spatialdp.records.formats.base import forgetful
from spatialdp.records.nodes import Records
from spatialdp.records.persons.bounding import bounded_cells, bounded_counts, gathered
from spatialdp.records.persons.columns import without_persons
from spatialdp.records.persons.contributions import count_above
from spatialdp.records.reading import (
    arrow_coordinates,
    column_of,
    columns_of,
    is_geometric,
    names_of,
    point_coordinates,
)
from spatialdp.records.zones import Squares, located
from spatialdp.space import crs as crs_
from spatialdp.space.domain import RASTER_SHIFT, RASTER_SIDE, Domain, Grid
from spatialdp.space.lattice import LATTICE
from spatialdp.space.placement import check_column_names
from spatialdp.wording import either

if TYPE_CHECKING:
    import pyarrow as pa

    from spatialdp.space.zones.frame import Zones

__all__ = [
    "LatticePoints",
    "Points",
    "as_points",
    "check_bounds",
    "check_crs",
    "check_persons",
    "in_memory",
    "lattice_points",
    "snap",
    "snap_with_persons",
    "squares",
    "tree_records",
]

T = TypeVar("T")

_BLOCK = 2**18  # records that are counted at a time
_FINE_WIDTH = LATTICE // FINE_SIDE  # lattice squares along a side of a fine cell


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
    person : str or array-like, optional
        Who each record is about, if persons are to be protected rather than records: whole numbers, text or UUIDs, one
        for each record, or the name of their column in a frame or an Arrow table. Releases then need a bound, a
        `Person`. A record without a person counts nowhere. 5 and "5" are one person; so is the empty text.

    Raises
    ------
    PointsError
        If the input has the wrong form: an array of structures, a single geometry, a frame or table with the wrong
        columns, or with columns that are named like the other axis. No record causes an error, whatever its value: one
        that is not a point (missing, text that is not a number, a date, another geometry) counts nowhere. A multi-point
        of one part is that point. Persons are refused by the declared type of their column, such as doubles.

    Notes
    -----
    Arrays are not copied: do not change them as long as the points are in use.

    Privacy
    -------
    The object shows nothing about its records: it has no length and no extent, and its `repr` shows the CRS alone, and
    whether there is a column of persons.

    Examples
    --------
    >>> Points([[0.5, 0.5], [2.0, 1.0]])
    Points(<private>)
    >>> Points([0.5, 2.0], [0.5, 1.0], crs="EPSG:4326")
    Points(<private>, crs='EPSG:4326')
    >>> Points([0.5, 2.0], [0.5, 1.0], person=["ann", "bob"])
    Points(<private>, person=<private>)
    """

    __slots__ = ("_geometric", "_persons", "_x", "_y", "crs")

    _has_positions: ClassVar[bool] = True  # false where records do not leave an engine

    @forgetful
    def __init__(self, x: Any, y: Any = None, *, crs: Any = None, person: Any = None) -> None:
        self._persons: pa.Array | None = None
        if person is not None:
            rest, self._persons = without_persons(x if y is None else None, person)
            x = rest if y is None else x
        self._read(x, y, crs)
        if self._persons is not None and len(self._persons) != self._x.shape[0]:
            raise PointsError(
                "the points and their persons have different lengths; each record needs a person, or a missing value. "
                "Give as many persons as points."
            )

    def _read(self, x: Any, y: Any, crs: Any) -> None:
        """Set the coordinates and the CRS."""
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
        parts = ["<private>"] + [f"crs={self.crs!r}"] * (self.crs is not None)
        return f"Points({', '.join(parts + ['person=<private>'] * self._has_persons)})"

    @property
    def _has_persons(self) -> bool:
        """Whether there is a column of persons, which is public."""
        return self._persons is not None

    @forgetful
    def _counts(self, grid: Grid, person: Person | None) -> Integers:
        """Return the exact counts of the cells, (ny, nx), as `records.counting.count_cells` describes them."""
        if person is None:
            return count_records(self, grid)
        persons, cells = gathered(self._person_cells(grid), grid.mask)
        return bounded_counts(persons, cells, grid.mask.size, person).reshape(grid.mask.shape)

    @forgetful
    def _fine_cells(self, domain: Domain, person: Person | None) -> tuple[Integers32, Integers32, Integers]:
        """Return the cells of the public fine grid whose count is not zero, each at its lower lattice corner.

        The grid has `FINE_SIDE` columns and rows. Cells whose part of `Domain.region_raster` is outside the region are
        left out, before persons are bounded.

        Returns
        -------
        columns, rows : integer arrays
            Lattice columns and rows of the lower corners, sorted by row and then by column.
        counts : integer array
            Exact counts, as `records.counting.count_cells` describes them.
        """
        grid = Domain(domain.bounds, crs=domain.crs).grid((FINE_SIDE, FINE_SIDE))
        inside = _fine_region(domain)
        if person is None:
            counts = np.where(inside, count_records(self, grid), 0)
            rows, columns = np.nonzero(counts)
            weights = counts[rows, columns]
        else:
            cells, weights = bounded_cells(*gathered(self._person_cells(grid), inside), inside.size, person)
            rows, columns = np.divmod(cells, FINE_SIDE)
        return (columns * _FINE_WIDTH).astype(np.int32), (rows * _FINE_WIDTH).astype(np.int32), weights

    @forgetful
    def _persons_above(self, grid: Grid, bound: Bound, candidates: Sequence[int]) -> Integers:
        """Return how many persons are above each bound, as `records.persons.contributions.persons_above` does."""
        persons, cells = gathered(self._person_cells(grid), grid.mask)
        return count_above(persons, cells, grid.mask.size, bound, candidates)

    def _person_cells(self, grid: Grid) -> Iterator[tuple[pa.Array, Integers]]:
        """Yield the persons of the records and their cells, block by block, as `_cells` yields the cells alone."""
        persons = _required(self._persons)
        blocks = (persons[start : start + _BLOCK] for start in range(0, len(persons), _BLOCK))
        return zip(blocks, self._cells(grid), strict=True)

    def _cells(self, grid: Grid) -> Iterator[Integers]:
        """Yield the cell numbers of the records, row * nx + column, block by block; nx * ny for those out of bounds.

        A block may be overwritten by the next one: read it before.
        """
        return cell_numbers(self._blocks(), grid)

    def _positions(self, domain: Domain) -> Iterator[tuple[Integers32, Integers32]]:
        """Yield the lattice columns and rows of the records within the bounds, block by block."""
        return (snap(x, y, domain) for x, y in self._blocks())

    def _leaves(self, zones: Zones) -> Iterator[tuple[pa.Array | None, Integers32]]:
        """Yield the persons of the records, if they have any, and their leaf zones; the number of leaves for none."""
        assert zones.domain is not None, "checked by as_zone_records"
        return located(self._squares(zones.domain), zones)

    def _squares(self, domain: Domain) -> Iterator[Squares]:
        """Yield the lattice squares of all records, and their persons, block by block."""
        for start, (x, y) in zip(itertools.count(0, _BLOCK), self._blocks(), strict=False):
            persons = None if self._persons is None else self._persons[start : start + _BLOCK]
            yield Squares(*squares(x, y, domain), persons)

    def _check_zones(self, zones: Zones) -> None:
        """Refuse zones in which these records cannot be located."""
        if not self._has_positions:
            raise PointsError(
                "the points are in a table and do not leave its engine, which does not know the zones; export them to "
                "a file, or add a column with the codes of the zones and export that."
            )
        if zones.domain is None:
            raise PointsError(
                "the zones have no geometries, so records can be located by codes alone; give "
                f"{either('spatialdp.Codes', 'a column of codes with --code-column')}, or zones with geometries."
            )
        check_crs(self, zones.domain)
        zones.locator  # noqa: B018 - refuses too many areas, before a record is read

    def _kept(self, domain: Domain) -> Points:  # noqa: ARG002 - these are in memory already
        """Return the same points with their records in memory, for use with one domain."""
        return self

    def _snapshot(self) -> AbstractContextManager[None]:
        """Return a context within which all questions are answered from one state of the records, if possible."""
        return nullcontext()

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
    persons : list of Arrow arrays, optional
        The persons of each part, as `snap_with_persons` returns them.
    """

    __slots__ = ("_bounds", "_parts", "_parts_persons")

    def __init__(
        self,
        parts: list[tuple[Integers32, Integers32]],
        domain: Domain,
        persons: list[pa.Array] | None = None,
    ) -> None:
        self._geometric = False
        self._parts, self._bounds, self.crs = parts, domain.bounds, domain.crs
        self._parts_persons = persons

    @property
    @override
    def _has_persons(self) -> bool:
        return self._parts_persons is not None

    @override
    def _person_cells(self, grid: Grid) -> Iterator[tuple[pa.Array, Integers]]:
        return zip(_required(self._parts_persons), self._cells(grid), strict=True)

    @override
    def _cells(self, grid: Grid) -> Iterator[Integers]:
        return lattice_cell_numbers(self._positions(grid.domain), grid)

    @override
    def _positions(self, domain: Domain) -> Iterator[tuple[Integers32, Integers32]]:
        check_bounds(self._bounds, domain)
        return iter(self._parts)

    @override
    def _squares(self, domain: Domain) -> Iterator[Squares]:
        parts = self._positions(domain)
        persons = itertools.repeat(None) if self._parts_persons is None else iter(self._parts_persons)
        return (Squares(columns, rows, each) for (columns, rows), each in zip(parts, persons, strict=False))


def check_bounds(bounds: tuple[float, ...], domain: Domain) -> None:
    """Refuse to use points that were read for one domain with another one, whose bounds differ."""
    if domain.bounds != bounds:
        raise PointsError(
            f"the points were read for a domain with bounds {bounds}, and are now used with {domain.bounds}; "
            "read them again with read_points for the domain of the release."
        )


@forgetful
def in_memory(records: Any, frame: Domain | Zones) -> Any:
    """Return the same points or codes in memory, for callers that use them many times with one domain or with zones.

    Points of a file are read once, and kept as squares on the domain's lattice: 8 bytes each, and their persons.
    """
    return records._kept(frame if isinstance(frame, Domain) else frame.domain)


def as_points(points: Any, domain: Domain, person: Person | None = None) -> Points:
    """Return the caller's points, in any accepted form, as `Points`.

    A CRS other than the domain's is refused, and so are a bound on persons without a column of persons and the reverse.
    """
    records = points if isinstance(points, Points) else Points(points)
    check_crs(records, domain)
    check_persons(records._has_persons, person)
    return records


def check_crs(points: Points, domain: Domain) -> None:
    """Refuse points in another CRS than the domain's; arrays without a CRS are taken to be in it."""
    if points._geometric or points.crs is not None:
        crs_.require_same("points", points.crs, domain.crs)


def check_persons(has_persons: bool, person: Person | None) -> None:
    """Refuse a bound on persons without a column of persons, and the reverse."""
    if person is not None:
        _required(True if has_persons else None)
    elif has_persons:
        bound = either("person=Person(cells=20)", "--person cells=20")
        raise PointsError(
            "the points say who they are about, but what one person contributes is not bounded; give a bound, such as "
            f"{bound}, or leave the persons out to protect single records."
        )


def _required(persons: T | None) -> T:
    """Return the persons, or whatever has them; refuse points that have none."""
    if persons is not None:
        return persons
    name_them = either("Points(x, y, person=...) or read_points(..., person=...)", "--person-column NAME")
    raise PointsError(
        "what a person contributes is to be bounded, but the points do not say who they are about; name their persons: "
        f"{name_them}."
    )


@forgetful
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


def tree_records(points: Points, domain: Domain, person: Person | None) -> Records:
    """Return the records in the domain and its region for a tree: lattice columns and rows and, if needed, weights.

    With a bound on persons, or if the records do not leave an engine, they are counts of small public squares: each
    square stands at its lower corner and has the count as its weight.
    """
    if person is None and points._has_positions:
        return lattice_points(points, domain)
    return points._fine_cells(domain, person)


def _within(raster: Booleans | None, columns: Integers32, rows: Integers32) -> tuple[Integers32, Integers32]:
    if raster is None:
        return columns, rows
    allowed = raster[rows >> RASTER_SHIFT, columns >> RASTER_SHIFT]
    return columns[allowed], rows[allowed]


def _fine_region(domain: Domain) -> Booleans:
    """Which cells of the fine grid are in the region, by the raster that trees without a grid go by."""
    raster, times = domain.region_raster, FINE_SIDE // RASTER_SIDE
    if raster is None:
        return np.ones((FINE_SIDE, FINE_SIDE), dtype=bool)
    return raster.repeat(times, axis=0).repeat(times, axis=1)


def snap(x: Array, y: Array, domain: Domain) -> tuple[Integers32, Integers32]:
    """Return the lattice columns and rows of the coordinates within the bounds; the others are left out, silently."""
    columns, rows, _ = _snapped(x, y, domain)
    return columns, rows


def squares(x: Array, y: Array, domain: Domain) -> tuple[Integers32, Integers32]:
    """Return the lattice columns and rows of all coordinates, with a column of -1 for those out of bounds."""
    columns, rows, inside = _snapped(x, y, domain)
    every = np.full((2, inside.size), -1, dtype=np.int32)
    every[:, inside] = columns, rows
    return every[0], every[1]


def snap_with_persons(x: Array, y: Array, persons: pa.Array, domain: Domain) -> tuple[Integers32, Integers32, pa.Array]:
    """Return the lattice columns and rows of the records within the bounds, and their persons."""
    import pyarrow as pa

    columns, rows, inside = _snapped(x, y, domain)
    return columns, rows, persons.filter(pa.array(inside))


def _snapped(x: Array, y: Array, domain: Domain) -> tuple[Integers32, Integers32, Booleans]:
    """Return the lattice columns and rows of the coordinates within the bounds, and which ones these are."""
    inside = np.ones(x.shape[0], dtype=bool)
    positions = []
    # NaN and overflow must pass silently: a warning would tell that such a record exists.
    with np.errstate(all="ignore"):
        for values, axis in zip((x, y), domain.axes, strict=True):
            doubles = values.astype(np.float64)
            inside &= (doubles >= axis.low) & (doubles <= axis.high)
            positions.append(np.minimum((doubles - axis.low) / axis.spacing, LATTICE - 1).astype(np.int64))
    columns, rows = (position[inside].astype(np.int32) for position in positions)
    return columns, rows, inside
