"""What is kept of each person's records? Bounds on persons as expressions of Ibis.

A person's cells are ordered by a key: the first 16 hexadecimal digits of the md5 of ``spatialdp|person|cell``, and
among equal keys by cell. The key depends on the person and the cell alone, never on other rows or on random numbers, so
what is kept of a person is a function of that person's own records, on every engine and in every order of rows. The
same rule in numpy is `records.persons`; both must give the same integers.

Rows without a person are left out before anything is bounded, and so are cells outside the region. Nothing here runs a
query.
"""

from __future__ import annotations

from typing import Any

from spatialdp.privacy.unit import SHARE_STEPS, Bound, Person
from spatialdp.records.engines.cells import counts_of
from spatialdp.records.engines.dialects import Dialect

__all__ = ["SALT", "bounded_counts", "contributions"]

SALT = "spatialdp|"


def bounded_counts(cells: Any, person: Person, dialect: Dialect) -> Any:
    """Return the table (cell, n) of what a bound keeps of the rows (person, cell): records, persons or steps."""
    return _RULES[person.bound](_with_persons(cells), person.most, dialect)


def contributions(cells: Any, bound: Bound, most: int) -> Any:
    """Return the table (m, n): the number n of persons who have m records, or m cells; more than `most` count as that.

    Every person is in exactly one row.
    """
    import ibis

    rows = _with_persons(cells)
    rows = rows if bound is Bound.RECORDS else rows.distinct()
    persons = rows.group_by("person").agg(m=rows.count())
    sizes = persons.select(m=ibis.least(persons.m, most).cast("int64"))
    return sizes.group_by("m").agg(n=sizes.count())


def _with_persons(cells: Any) -> Any:
    return cells.filter(cells.person.notnull())


def _at_most_cells(cells: Any, most: int, dialect: Dialect) -> Any:
    """Each person once in each cell, in the first `most` cells."""
    import ibis

    each = cells.distinct()
    numbered = each.mutate(place=ibis.row_number().over(group_by=each.person, order_by=_order(each, dialect)))
    return counts_of(numbered.filter(numbered.place < most))


def _at_most_records(cells: Any, most: int, dialect: Dialect) -> Any:
    """Whole cells in their order while they fit into `most` records, and of the next cell the records that still fit.

    The records of a cell are all alike, so they need no order of their own.
    """
    import ibis

    each = _sizes(cells)
    so_far = ibis.window(group_by=each.person, order_by=_order(each, dialect), rows=(None, 0))
    running = each.mutate(before=each.m.sum().over(so_far).cast("int64") - each.m)
    fitting = running.filter(running.before < most)
    kept = fitting.select(fitting.cell, kept=ibis.least(fitting.m, most - fitting.before))
    return kept.group_by("cell").agg(n=kept.kept.sum().cast("int64"))


def _shares(cells: Any, most: int, dialect: Dialect) -> Any:  # noqa: ARG001 - shares need neither a bound nor an order
    """One unit for each person, divided over the cells in proportion to the records, in whole steps rounded down."""
    each = _sizes(cells)
    total = each.m.sum().over(group_by=each.person).cast("int64")
    whole = each.mutate(steps=each.m * SHARE_STEPS, total=total)
    # A multiple of the divisor divides exactly, also where engines divide integers as doubles or decimals.
    steps = (whole.steps - whole.steps % whole.total) / whole.total
    shares = whole.select(whole.cell, steps=steps.cast("int64"))
    summed = shares.group_by("cell").agg(n=shares.steps.sum().cast("int64"))
    return summed.filter(summed.n > 0)


def _sizes(cells: Any) -> Any:
    """Return the table (person, cell, m) of the number of records of each person in each cell."""
    return cells.group_by(["person", "cell"]).agg(m=cells.count())


def _order(each: Any, dialect: Dialect) -> list[Any]:
    return [dialect.key(SALT, each.person, each.cell), each.cell]


_RULES = {Bound.CELLS: _at_most_cells, Bound.RECORDS: _at_most_records, Bound.SHARES: _shares}
