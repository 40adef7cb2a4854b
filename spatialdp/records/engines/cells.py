"""In which cell of a grid does each record of a table lie? The lattice's arithmetic as expressions of Ibis.

The two formulas of `space.lattice` are written out for engines (`Dialect.axis_cells`): a coordinate is snapped to the
lattice in doubles, and its cell follows in integers, or in doubles that are exact. Each detail keeps one engine from
another result, or from an error that would tell of a record (``docs/design/tables.md``): both comparisons are positive,
because engines disagree about NaN; nothing outside the bounds is computed with, because PostgreSQL raises errors for
overflow and underflow; and doubles are rounded down before they become integers, because casts round in some engines.
`records.engines.self_test` compares every engine with numpy before a record is touched.

The expressions have public values only. Nothing here runs a query.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spatialdp._support.arrays import Booleans
from spatialdp.records.counting import FINE_SIDE
from spatialdp.records.engines.dialects import Dialect
from spatialdp.space.domain import RASTER_SIDE, Domain, Grid
from spatialdp.space.lattice import Axis

__all__ = ["FINE_BITS", "cells_of_table", "counts_of", "rows_of_text", "within_grid", "within_raster"]

FINE_BITS = FINE_SIDE.bit_length() - 1
_RASTER_BITS = RASTER_SIDE.bit_length() - 1


def number(value: float) -> Any:
    """Return a public number as an expression; as text, because engines take ``24.0`` for a decimal."""
    import ibis

    return ibis.literal(repr(float(value))).cast("float64")


def axis_cells(values: Any, axis: Axis, count: int, dialect: Dialect) -> tuple[Any, Any]:
    """Return whether coordinates are within an axis, and their cell of `count` cells; any cell for those outside."""
    low, high, step = number(axis.low), number(axis.high), number(axis.spacing)
    inside = dialect.within(values, low, high)
    return inside, dialect.axis_cells(values, inside, low, step, count)


def cells_of_table(table: Any, grid: Grid, dialect: Dialect) -> Any:
    """Return the table (cell, and person if there is one) of the records within the bounds; cell = row * nx + column.

    The table has the columns x and y, which are doubles, and perhaps person.
    """
    (x_axis, y_axis), (nx, ny) = grid.domain.axes, grid.shape
    in_x, column = axis_cells(table.x, x_axis, nx, dialect)
    in_y, row = axis_cells(table.y, y_axis, ny, dialect)
    person = [table.person] if "person" in table.columns else []
    return table.filter(in_x & in_y).select(*person, cell=dialect.cells(column, row, grid.shape))


def counts_of(cells: Any) -> Any:
    """Return the table (cell, n) of the numbers of rows in each cell that has any."""
    return cells.group_by("cell").agg(n=cells.count())


# --- the region ------------------------------------------------------------------------------------


def within_grid(cells: Any, grid: Grid) -> Any:
    """Leave out the rows whose cell does not belong to the grid's region."""
    return _within(cells, cells.cell, grid.mask)


def within_raster(cells: Any, domain: Domain) -> Any:
    """Leave out the rows of the fine grid that lie in a cell of `Domain.region_raster` outside the region."""
    shift = FINE_BITS - _RASTER_BITS
    row, column = cells.cell >> FINE_BITS, cells.cell & (FINE_SIDE - 1)
    raster = domain.region_raster
    return cells if raster is None else _within(cells, ((row >> shift) << _RASTER_BITS) + (column >> shift), raster)


def _within(cells: Any, area: Any, mask: Booleans) -> Any:
    """Leave out the rows whose area is false in the mask, by a join with the public list of areas in or out."""
    if mask.all():
        return cells
    inside = 2 * int(mask.sum()) <= mask.size  # the shorter of the two lists
    listed = _listed(mask if inside else ~mask)
    marked = cells.mutate(area=area)
    kept = marked.semi_join(listed, "area") if inside else marked.anti_join(listed, "area")
    return kept.drop("area")


def _listed(mask: Booleans) -> Any:
    """Return the table (area) of the numbers of the true entries; the engine makes it from the runs of them.

    It is a part of the query, so nothing is created: the right to read suffices.
    """
    import ibis

    edges = np.flatnonzero(np.diff(mask.ravel(), prepend=False, append=False)).reshape(-1, 2)
    runs = rows_of_text([[str(first), str(after)] for first, after in edges.tolist()] or [["0", "0"]])
    return runs.select(area=ibis.range(runs.f0.cast("int64"), runs.f1.cast("int64")).unnest())


def rows_of_text(rows: list[list[str]]) -> Any:
    """Return public rows of texts as a table (f0, f1, …) that is part of a query; without commas and semicolons."""
    import ibis

    text = ibis.literal(";".join(",".join(fields) for fields in rows))
    split = text.split(";").unnest().name("fields").as_table()
    fields = split.fields.split(",")
    return split.select(**{f"f{place}": fields[place] for place in range(len(rows[0]))})
