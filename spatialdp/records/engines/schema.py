"""Does a table have points, and persons, as far as its schema tells? Columns, their types, and the CRS of a geometry.

Only the schema is looked at, never a row. Text is refused as a coordinate, because a cast quotes the record that it
fails on; doubles are refused as persons, because 1e16 + 1 and 1e16 are one of them. `located` returns the table as
doubles x and y, and persons as the engine compares them byte by byte; no value of a record can make a cast fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.engines.dialects import Dialect, PostgreSQL
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.placement import check_column_names
from spatialdp.wording import either, parameter

__all__ = ["Columns", "check_rows", "checked_crs", "located"]

_MOST_DIGITS = 300  # of a decimal that any double can hold, before and after the point


@dataclass(frozen=True)
class Columns:
    """Where a table has the coordinates and the persons: two columns of numbers or one of points, and perhaps persons.

    Raises
    ------
    PointsError
        If neither two columns nor a geometry are named, or both are, or x is named like the other axis.
    """

    x: str | None = None
    y: str | None = None
    geometry: str | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        pair = self.x is not None and self.y is not None
        if pair == (self.geometry is not None) or (self.x is None) != (self.y is None):
            raise PointsError(
                f"the columns of the table's coordinates are not clear; name two columns of numbers "
                f"({parameter('x')} and {parameter('y')}), or one column of points ({parameter('geometry')})."
            )
        check_column_names(self.x, self.y)

    @property
    def names(self) -> list[str]:
        """The names of the columns that are used."""
        return [name for name in (self.x, self.y, self.geometry, self.person) if name is not None]


def check_rows(table: Any) -> None:
    """Refuse an expression whose rows depend on each other, so that one record could move many of them.

    Columns may be selected and computed, rows filtered, tables joined and stacked.
    """
    from ibis.expr import operations as ops

    kinds = (ops.Limit, ops.Sample, ops.Distinct, ops.Aggregate, ops.WindowFunction, ops.Intersection, ops.Difference)
    dependent = sorted({type(node).__name__ for node in table.op().find((*kinds, ops.RandomScalar))})
    if dependent:
        raise PointsError(
            f"the table is computed with {' and '.join(dependent)}, so one record may change several of its rows, and "
            "the promise of privacy would not hold; give a table whose rows are records, with rows filtered and "
            "columns computed at most."
        )


def located(table: Any, columns: Columns, dialect: Dialect) -> Any:
    """Return the table (x, y, and person if there is one), after checks of the names and types of its columns."""
    for name in columns.names:
        if name not in table.columns:
            raise PointsError(f"the table has no column {name!r}; its columns are {', '.join(table.columns)}.")
    person = {} if columns.person is None else {"person": _persons(table[columns.person], dialect)}
    if columns.geometry is None:
        return table.select(x=_numbers(table[columns.x]), y=_numbers(table[columns.y]), **person)
    point = _point(table[columns.geometry], dialect)
    return table.select(x=point.x(), y=point.y(), **person)


def _numbers(column: Any) -> Any:
    """Return a column of numbers as doubles."""
    kind = column.type()
    if not (kind.is_floating() or kind.is_integer() or kind.is_decimal()):
        raise PointsError(
            f"column {column.get_name()!r} is of type {kind}; coordinates must be numbers. Convert the column in the "
            "engine first, where you can see what becomes of values that are not numbers."
        )
    return _small_enough(column).cast("float64") if kind.is_decimal() else column.cast("float64")


def _small_enough(column: Any) -> Any:
    """Leave decimals out that are too large for doubles, and take those that are too small for zero.

    PostgreSQL has decimals of any size, and a cast raises an error for these.
    """
    import ibis

    kind = column.type()
    if kind.precision is not None and max(kind.precision, kind.scale or 0) <= _MOST_DIGITS:
        return column
    large, small = (ibis.literal(f"1e{sign}{_MOST_DIGITS}").cast("decimal") for sign in ("", "-"))
    nonzero = ibis.ifelse((column >= small) | (column <= -small), column, ibis.literal("0").cast("decimal"))
    return ibis.ifelse((column >= -large) & (column <= large), nonzero, ibis.null("decimal"))


def _persons(column: Any, dialect: Dialect) -> Any:
    """Return a column of persons as the engine compares them byte by byte."""
    kind = column.type()
    if not (kind.is_integer() or kind.is_string() or kind.is_uuid() or (kind.is_decimal() and kind.scale == 0)):
        raise PointsError(
            f"column {column.get_name()!r} is of type {kind}; persons must be whole numbers, text or UUIDs. Convert "
            "the column in the engine first, to text if nothing else is exact."
        )
    return dialect.identity(column)


def _point(column: Any, dialect: Dialect) -> Any:
    """Return a column of geometries with null for whatever is not one point."""
    import ibis

    kind = column.type()
    if not isinstance(dialect, PostgreSQL):
        raise PointsError(
            f"column {column.get_name()!r} is to be read as points by {dialect.name}; geometries are read from PostGIS "
            f"alone. Name two columns of numbers ({parameter('x')} and {parameter('y')}), such as those of a view with "
            "ST_X and ST_Y."
        )
    if not kind.is_geospatial() or kind.geotype != "geometry":
        raise PointsError(
            f"column {column.get_name()!r} is of type {kind}; it must be a geometry of PostGIS. Convert a geography in "
            "a view, with ::geometry."
        )
    if kind.is_point():
        return column
    single = (column.geometry_type() == "ST_MultiPoint") & (_parts(column) == 1)
    points = ibis.ifelse(single, column.geometry_n(1), column)
    return ibis.ifelse(points.geometry_type() == "ST_Point", points, ibis.null())


def _parts(column: Any) -> Any:
    return column.n_points()


def checked_crs(table: Any, columns: Columns, crs: Any, domain: Domain) -> str | None:
    """Return the CRS of the points: the column's own or the one that is given; None for numbers without one.

    A column of numbers without a CRS is taken to be in the domain's. A geometry must be in the domain's CRS, by its
    SRID or by what the caller says of it.
    """
    stated = crs_.canonical(crs)
    if columns.geometry is not None:
        srid = table[columns.geometry].type().srid
        own = crs_.canonical(f"EPSG:{srid}") if srid else None
        if own is not None and stated is not None and not crs_.same(own, stated):
            raise CRSMismatchError(
                f"column {columns.geometry!r} states the CRS {own} but {stated} was given for it; leave "
                f"{either('crs', '--points-crs')} out, or correct the column."
            )
        stated = own or stated
        if stated is None and domain.crs is not None:
            raise CRSMismatchError(
                f"column {columns.geometry!r} states no CRS but the domain has {domain.crs}; if its coordinates are in "
                f"that CRS, say so: {either(f'crs={domain.crs!r}', f'--points-crs {domain.crs}')}."
            )
    if stated is not None:
        crs_.require_same("points", stated, domain.crs)
    return stated
