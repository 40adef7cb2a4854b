"""Reading records of a table that stays where it is: in DuckDB, PostgreSQL with PostGIS, Spark or another engine.

`read_table` checks a table's schema and tests the engine on public points; no row is read. The `TablePoints` that it
returns ask the engine for counts when a release needs them: the engine snaps, bounds and counts, and only numbers of
cells and counts come back. Records do not leave the engine, so a mechanism that needs positions gets the counts of a
fine public grid instead. Noise is drawn in this process, after all queries and their checks
(``docs/design/tables.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import numpy as np

from spatialdp._support.arrays import Booleans, Integers, Integers32
from spatialdp._support.override import override
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.counting import FINE_SIDE
from spatialdp.records.engines.bounding import bounded_counts, contributions
from spatialdp.records.engines.cells import FINE_BITS, cells_of_table, counts_of, within_grid, within_raster
from spatialdp.records.engines.dialects import DIALECTS
from spatialdp.records.engines.drivers import Driver, driver_of
from spatialdp.records.engines.queries import discreetly, sparse_counts
from spatialdp.records.engines.schema import Columns, check_persons_of_files, check_rows, checked_crs, located
from spatialdp.records.engines.self_test import self_test
from spatialdp.records.engines.sources import is_address, open_table
from spatialdp.records.formats.base import forgetful
from spatialdp.records.points import Points
from spatialdp.space.domain import RASTER_SHIFT, Domain, Grid
from spatialdp.space.lattice import LATTICE_BITS
from spatialdp.wording import parameter

__all__ = ["TablePoints", "read_table"]


class TablePoints(Points):
    """Sensitive locations in a table of an engine; `read_table` makes them.

    Parameters
    ----------
    table : ibis table
        Columns x and y, doubles, and perhaps person, as `schema.located` returns them.
    driver : Driver
    crs : str, optional
    ready : callable
        Tests the driver's connection for a domain, once, before a record is touched.

    Privacy
    -------
    The object shows nothing of its records. Each method that needs them runs one query, which returns counts.
    """

    __slots__ = ("_driver", "_ready", "_table")

    _has_positions = False

    def __init__(self, table: Any, driver: Driver, crs: str | None, ready: Callable[[Driver, Domain], None]) -> None:
        self._geometric = False
        self._table, self._driver, self.crs, self._ready = table, driver, crs, ready

    @property
    @override
    def _has_persons(self) -> bool:
        return "person" in self._table.columns

    @override
    def _counts(self, grid: Grid, person: Person | None) -> Integers:
        nx, ny = grid.shape
        cells = cells_of_table(self._table, grid, self._dialect)
        answer = counts_of(cells) if person is None else bounded_counts(within_grid(cells, grid), person, self._dialect)
        keys, counts = self._ask(answer, grid.domain, nx * ny, "counting cells")
        dense = np.zeros(nx * ny, dtype=np.int64)
        dense[keys] = counts
        dense[~grid.mask.ravel()] = 0
        return dense.reshape(ny, nx)

    @override
    def _fine_cells(self, domain: Domain, person: Person | None) -> tuple[Integers32, Integers32, Integers]:
        cells = cells_of_table(self._table, Grid(domain, (FINE_SIDE, FINE_SIDE)), self._dialect)
        if person is None:
            answer = counts_of(cells)
        else:
            answer = bounded_counts(within_raster(cells, domain), person, self._dialect)
        keys, counts = self._ask(answer, domain, FINE_SIDE**2, "counting fine cells")
        rows, columns = (part << (LATTICE_BITS - FINE_BITS) for part in np.divmod(keys, FINE_SIDE))
        inside = _in_region(domain, columns, rows)
        return columns[inside].astype(np.int32), rows[inside].astype(np.int32), counts[inside]

    @override
    def _persons_above(self, grid: Grid, bound: Bound, candidates: Sequence[int]) -> Integers:
        bounds = np.asarray(candidates, dtype=np.int64)
        most = int(bounds.max(initial=0)) + 1
        answer = contributions(within_grid(cells_of_table(self._table, grid, self._dialect), grid), bound, most)
        amounts, persons = self._ask(answer, grid.domain, most + 1, "counting what persons contribute")
        below = np.append(0, np.cumsum(persons))[np.searchsorted(amounts, bounds, side="right")]
        return np.asarray(persons.sum() - below)

    @override
    def _cells(self, grid: Grid) -> Iterator[Integers]:  # noqa: ARG002 - records stay where they are
        self._refuse()

    @override
    def _positions(self, domain: Domain) -> Iterator[tuple[Integers32, Integers32]]:  # noqa: ARG002
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise PointsError(
            "the positions of single records are needed here, but the records are in a table and do not leave its "
            "engine; export them to a file and give that instead."
        )

    @override
    def _snapshot(self) -> AbstractContextManager[None]:
        return self._driver.snapshot()

    @property
    def _dialect(self) -> Any:
        return self._driver.dialect

    @forgetful
    def _ask(self, answer: Any, domain: Domain, size: int, step: str) -> tuple[Integers, Integers]:
        return sparse_counts(self._driver, answer, size, step, lambda driver: self._ready(driver, domain))


@forgetful
def read_table(
    table: Any,
    domain: Domain,
    *,
    x: str | None = None,
    y: str | None = None,
    geometry: str | None = None,
    person: str | None = None,
    crs: Any = None,
) -> TablePoints:
    """Use sensitive locations in a table of a database or an engine, which counts them where they are.

    Parameters
    ----------
    table : ibis table or str
        A table of Ibis, on DuckDB, PostgreSQL or Spark (BigQuery and Snowflake are untested). Or the address of one:
        ``"duckdb:///crashes.db?table=crashes"``, ``"postgresql://ann@host/city?table=visits"``, with ``schema=`` if it
        is not in the default one. Or the path of a Parquet file, a folder of them or a pattern, for the embedded
        DuckDB. Views are fine.
    domain : Domain
        The public domain that the points are for.
    x, y : str, optional
        Names of the columns with the coordinates: numbers of any type.
    geometry : str, optional
        Name of a column of points of PostGIS, instead of `x` and `y`.
    person : str, optional
        Name of the column that says who each record is about: whole numbers, text or UUIDs. Releases then need a bound
        on persons. A record without a person counts nowhere.
    crs : optional
        CRS of the coordinates, if the column does not state it. Columns of numbers are taken to be in the domain's.

    Returns
    -------
    Points
        They hold the question, not the records: every release asks the engine again.

    Raises
    ------
    PointsError
        If the table cannot be opened, its schema has no points, or the engine does not compute cells as numpy does.
    CRSMismatchError
        If the CRS of a geometry is not the domain's.

    Privacy
    -------
    The schema alone is looked at; no row is read. A self-test sends about 2,000 public points through the expressions
    that will count the records, and refuses an engine that puts one of them into another cell than numpy. Releases send
    one query, which has public values only; if it fails, nothing is released or spent, and the error says neither what
    the engine said nor anything of a record. What an engine keeps in logs and caches of its own is in
    ``docs/tables.md``.

    Examples
    --------
    >>> import ibis
    >>> import spatialdp as sdp
    >>> database = ibis.duckdb.connect()
    >>> _ = database.raw_sql("CREATE TABLE homes AS SELECT 0.5::DOUBLE AS lon, 0.7::DOUBLE AS lat")
    >>> domain = sdp.Domain((0, 0, 1, 1))
    >>> points = sdp.read_table(database.table("homes"), domain, x="lon", y="lat")
    >>> points
    Points(<private>)
    >>> sdp.Flat(shape=(4, 4)).release(points, domain, epsilon=1)
    <Release of 16 cells: ε = 1 (add-remove one record), flat, spatialdp ...>
    """
    if not isinstance(domain, Domain):
        raise PointsError(
            f"domain is a {type(domain).__name__}; give the spatialdp.Domain, with public bounds, that the points are "
            "for. It is never taken from the points."
        )
    columns = Columns(x, y, geometry, person)
    owned = isinstance(table, str)
    expression = open_table(table) if owned else _checked_table(table)
    check_rows(expression)
    driver = _checked_driver(expression, owned=owned)
    place = located(expression, columns, driver.dialect)
    if owned and not is_address(table):
        check_persons_of_files(expression, columns)
    if columns.person is not None:
        driver.check_persons(expression[columns.person].type())
    points = TablePoints(place, driver, checked_crs(expression, columns, crs, domain), _tester(place))
    discreetly(lambda: points._ready(driver, domain), driver, "testing the engine")
    return points


def _in_region(domain: Domain, columns: Integers, rows: Integers) -> Booleans:
    """Which lattice squares lie in the region, by its raster."""
    raster = domain.region_raster
    return np.ones(rows.size, dtype=bool) if raster is None else raster[rows >> RASTER_SHIFT, columns >> RASTER_SHIFT]


def _tester(table: Any) -> Callable[[Driver, Domain], None]:
    """Return the self-test for tables with this type of persons."""
    kind = table.schema().get("person")
    return lambda driver, domain: self_test(driver, domain, kind)


def _checked_table(table: Any) -> Any:
    if type(table).__module__.split(".")[0] != "ibis" or not hasattr(table, "columns"):
        raise PointsError(
            f"the table is a {type(table).__name__}; give a table of Ibis, the address of one, or files of Parquet. "
            "Arrays and frames are given to spatialdp.Points, other files to read_points."
        )
    return table


def _checked_driver(table: Any, *, owned: bool) -> Driver:
    backends, _ = table._find_backends()
    if len(backends) != 1 or backends[0].name not in DIALECTS:
        names = ", ".join(dialect.name for dialect in DIALECTS.values())
        raise PointsError(
            f"the table is in {' and '.join(each.name for each in backends) or 'no engine'}; it must be in one of "
            f"{names}. Give {parameter('table')} from a connection to one of them."
        )
    return driver_of(backends[0], owned=owned)
