"""Does an engine compute cells and bounds as numpy does? Some 2,000 public points decide, before a record is touched.

The points lie where arithmetic goes wrong: on edges of cells and lattice lines, a few units in the last place beside
them, at zero and among subnormal numbers, beyond the bounds, infinite, not a number or missing. They are written into
the query itself, so a connection that may only read suffices, and go through the very expressions that count records.
Sums would not show a wrong cell, so all counts are compared. An engine that differs in one of them is refused: it may
be an accelerator with an arithmetic of its own.
"""

from __future__ import annotations

import hashlib
import math
from itertools import cycle, islice
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Person
from spatialdp.records.engines.bounding import bounded_counts
from spatialdp.records.engines.cells import cells_of_table, counts_of, rows_of_text, within_grid
from spatialdp.records.engines.drivers import Driver
from spatialdp.records.points import Points
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.lattice import LATTICE, Axis

__all__ = ["adversarial_pairs", "adversarial_values", "self_test"]

_PAIRS = 2000
_GRIDS = ((1000, 1000), (7, 4093))
_SMALL = (23, 17)  # where persons have several records in a cell
_BOUNDS = (Person(records=3), Person(cells=3), Person(shares=True))
_APART = 2**40  # between the cell numbers of two questions; no grid has so many cells
_MISSING = "none"
_NAMES = (
    *("ann", "Ann", "ANN", "ann ", " ann", "", "o'neil", "a|1", "a", "1", "01", "-1", "straße", "strasse", "STRASSE"),
    *("i", "I", "ı", "İ", "é", "e\u0301", "日本", "😀", "%s", "$1", "{0}", "null", "NaN", "_", "ann.", "a\tb"),
)
_NUMBERS = (0, 1, -1, 7, 10, 100, 255, 2**31, 2**53 + 1, 2**53, 2**63 - 1, -(2**63), 42, 420, 4200)


def self_test(driver: Driver, domain: Domain, person: Any = None) -> None:
    """Compare an engine with numpy on public points, once for each connection, domain and type of persons.

    Parameters
    ----------
    driver : Driver
    domain : Domain
    person : ibis type, optional
        The type of the persons as they are compared: bytes for texts, whole numbers or UUIDs.

    Raises
    ------
    PointsError
        If one count differs, or the engine cannot answer.
    """
    tested = _tested(driver)
    if (domain.bounds, str(person)) in tested:
        return
    names = _names(person)
    table = _table(*adversarial_pairs(domain, _PAIRS), names, person, driver)
    with driver.silence():
        batches = list(driver.pairs(_questions(table, domain, driver, with_persons=names is not None)))
    answer = np.concatenate([np.empty((0, 2), dtype=np.int64), *(np.stack(batch, axis=1) for batch in batches)])
    if not np.array_equal(answer[np.argsort(answer[:, 0])], _expected(domain, names)):
        raise PointsError(
            f"{driver.dialect.name} does not compute the cells of points as spatialdp does: public test points came "
            "out in other cells, so counts of records would not be exact. Nothing was read. Switch off accelerators "
            "or extensions with an arithmetic of their own, or export the points to a file."
        )
    tested.add((domain.bounds, str(person)))


def _tested(driver: Driver) -> set[tuple[Any, str]]:
    """Return what was tested on this very connection; kept with the backend, whose connection may be opened anew."""
    kept: dict[str, Any] = vars(driver.backend).setdefault("_spatialdp_tests", {})
    if kept.get("connection") is not driver.connection:
        kept.update(connection=driver.connection, tested=set())
    tested: set[tuple[Any, str]] = kept["tested"]
    return tested


# --- the points ------------------------------------------------------------------------------------


def adversarial_pairs(domain: Domain, count: int) -> tuple[Floats, Floats]:
    """Return so many public pairs of coordinates that are hard to put into cells; NaN among them.

    Examples
    --------
    >>> x, y = adversarial_pairs(Domain((0, 0, 1, 1)), 2000)
    >>> x.size, bool(np.isnan(x).any()), bool((x == 0.5).any())
    (2000, True, True)
    """
    x, y = (adversarial_values(axis, count) for axis in domain.axes)
    return x, np.roll(y[::-1], 7)


def adversarial_values(axis: Axis, count: int) -> Floats:
    """Return so many coordinates along an axis: edges and lattice lines with their neighbours, and special values."""
    places = np.arange(count) * 0.6180339887498949 % 1  # spread evenly, without random bits
    edges = np.concatenate([axis.edges(n)[np.floor(places * n).astype(int)] for n in (1000, 7, 4093, 23, 17)])
    lines = axis.coordinates(np.floor(places * LATTICE).astype(np.int64))
    special = _and_neighbours(_special(axis))  # each of them once at least
    common = _and_neighbours(np.concatenate([edges, lines]))
    chosen = common[np.linspace(0, common.size - 1, max(count - special.size, 0)).astype(int)]
    return np.concatenate([special, chosen])[:count]


def _and_neighbours(values: Floats) -> Floats:
    with np.errstate(all="ignore"):  # beyond the largest numbers
        return np.concatenate([values, *(_moved(values, steps) for steps in (-3, -2, -1, 1, 2, 3))])


def _special(axis: Axis) -> Floats:
    low, high, step = axis.low, axis.high, axis.spacing
    tiny, huge = np.finfo(float).tiny, np.finfo(float).max
    bounds = [low, high, (low + high) / 2, low + step, low + step / 2, high - step, low - step, high + step]
    zeros = [0.0, -0.0, 5e-324, -5e-324, tiny, -tiny, tiny / 2, 1e-300, low + tiny]
    return np.array([*bounds, *zeros, huge, -huge, np.inf, -np.inf, np.nan, 1e16 + 2, -1e16, 0.7, 3.5, -0.5])


def _moved(values: Floats, steps: int) -> Floats:
    """Return values moved by so many units in the last place."""
    moved = values
    for _ in range(abs(steps)):
        moved = np.nextafter(moved, np.inf if steps > 0 else -np.inf)
    return moved


def _names(person: Any) -> list[str | None] | None:
    """Return a person for each pair as text, of the type that is tested; None if there are no persons."""
    if person is None:
        return None
    names: tuple[str, ...] = _NAMES
    if person.is_uuid():
        digests = (hashlib.md5(name.encode(), usedforsecurity=False).hexdigest() for name in _NAMES)
        names = tuple("-".join((d[:8], d[8:12], d[12:16], d[16:20], d[20:])) for d in digests)
    elif not person.is_binary() and not person.is_string():
        low, high = person.bounds if person.is_integer() else _bounds_of_decimals(person.precision)
        names = tuple(str(number) for number in _NUMBERS if low <= number <= high)
    return list(islice(cycle([*names, None, *names[:3]]), _PAIRS))


def _bounds_of_decimals(digits: int | None) -> tuple[float, float]:
    """Return the least and the largest whole number of so many digits; databases may have decimals without a limit."""
    largest = math.inf if digits is None else 10**digits - 1
    return -largest, largest


# --- the questions and their answers ---------------------------------------------------------------


def _table(x: Floats, y: Floats, names: list[str | None] | None, person: Any, driver: Driver) -> Any:
    """Return the points as a table that is part of the query, with the columns that `schema.located` makes."""
    ids = [_MISSING] * x.size if names is None else [_MISSING if name is None else name for name in names]
    rows = rows_of_text([list(row) for row in zip(_texts(x), _texts(y), ids, strict=True)])
    columns = {name: text.nullif(_MISSING).cast("float64") for name, text in (("x", rows.f0), ("y", rows.f1))}
    if names is None:
        return rows.select(**columns)
    known = rows.f2.nullif(_MISSING)
    text = person.is_binary() or person.is_string()
    return rows.select(**columns, person=driver.dialect.identity(known if text else known.cast(person)))


def _texts(values: Floats) -> list[str]:
    """Return numbers as text; every other one that is not a number is missing instead."""
    missing = np.isnan(values) & (np.cumsum(np.isnan(values)) % 2 == 0)
    return [_MISSING if gone else repr(value) for value, gone in zip(values.tolist(), missing.tolist(), strict=True)]


def _questions(table: Any, domain: Domain, driver: Driver, *, with_persons: bool) -> Any:
    """Return one query for all questions: each one's cell numbers begin at a multiple of `_APART`."""
    import ibis

    answers = [counts_of(cells_of_table(table, domain_grid, driver.dialect)) for domain_grid in _plain_grids(domain)]
    if with_persons:
        grid = _grid_with_region(domain)
        cells = within_grid(cells_of_table(table, grid, driver.dialect), grid)
        answers += [bounded_counts(cells, bound, driver.dialect) for bound in _BOUNDS]
    return ibis.union(
        *(each.select(cell=each.cell.cast("int64") + k * _APART, n=each.n) for k, each in enumerate(answers))
    )


def _expected(domain: Domain, names: list[str | None] | None) -> Integers:
    """Return the answer to the questions by numpy: (cell, n), ordered by cell."""
    x, y = adversarial_pairs(domain, _PAIRS)
    points = Points(x, y)
    counts = [points._counts(grid, None) for grid in _plain_grids(domain)]
    if names is not None:
        points = Points(x, y, person=names)
        counts += [points._counts(_grid_with_region(domain), bound) for bound in _BOUNDS]
    parts = []
    for k, each in enumerate(counts):
        (cells,) = np.nonzero(each.ravel())
        parts.append(np.stack([cells + k * _APART, each.ravel()[cells]], axis=1))
    return np.concatenate(parts)


def _plain_grids(domain: Domain) -> list[Grid]:
    return [Domain(domain.bounds).grid(shape) for shape in _GRIDS]


def _grid_with_region(domain: Domain) -> Grid:
    """Return a grid of the same bounds with cells outside a region: a triangle."""
    import shapely

    xmin, ymin, xmax, ymax = domain.bounds
    triangle = shapely.Polygon([(xmin, ymin), (xmax, ymin), (xmin, ymax)])
    return Domain(domain.bounds, region=triangle).grid(_SMALL)
