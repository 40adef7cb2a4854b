"""What is kept of each person's records? Bounds on persons as expressions of Ibis.

Persons within a bound are kept whole; an aggregate tells who is above it. The cells of the others are ordered by a key
and, among equal keys, by cell. The key is mixed from the cell and a seed of the person: the number that the first 8
hexadecimal digits of the md5 of ``spatialdp|person`` make. So each such person needs one md5, and each cell a few
operations on whole numbers, which every engine has. The key depends on the person and the cell alone, never on other
rows or on random numbers, so what is kept of a person is a function of that person's own records, on every engine and
in every order of rows. The same rule in numpy is `records.persons`; both must give the same integers.

Rows without a person are left out before anything is bounded, and so are cells outside the region. Nothing here runs a
query.
"""

from __future__ import annotations

from typing import Any

from spatialdp.privacy.unit import SHARE_STEPS, Bound, Person
from spatialdp.records.engines.cells import counts_of
from spatialdp.records.engines.dialects import Dialect
from spatialdp.records.persons.keys import FACTORS, MIXED_BITS, SALT, SHIFTS

__all__ = ["bounded_counts", "contributions"]


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
    each = cells.distinct()
    whole, others = _parted(each, each.count(), most, dialect)
    return counts_of(whole.union(dialect.first(others, most).select("person", "cell")))


def _at_most_records(cells: Any, most: int, dialect: Dialect) -> Any:
    """Whole cells in their order while they fit into `most` records, and of the next cell the records that still fit.

    The records of a cell are all alike and have one key, so these are the first `most` records in the order of keys.
    """
    import ibis

    whole, others = _parted(cells, cells.count(), most, dialect)
    one = whole.select(whole.cell, m=ibis.literal(1, "int64"))
    kept = one.union(dialect.first_records(others, most))
    return kept.group_by("cell").agg(n=kept.m.sum().cast("int64"))


def _shares(cells: Any, most: int, dialect: Dialect) -> Any:  # noqa: ARG001 - shares need neither a bound nor an order
    """One unit for each person, divided over the cells in proportion to the records, in whole steps rounded down."""
    each = cells.group_by(["person", "cell"]).agg(m=cells.count())
    totals = cells.group_by("person").agg(total=cells.count())
    whole = each.join(totals, "person")
    whole = whole.select(whole.cell, whole.total, steps=whole.m * SHARE_STEPS)
    # A multiple of the divisor divides exactly, also where engines divide integers as doubles or decimals.
    steps = (whole.steps - whole.steps % whole.total) / whole.total
    shares = whole.select(whole.cell, steps=steps.cast("int64"))
    summed = shares.group_by("cell").agg(n=shares.steps.sum().cast("int64"))
    return summed.filter(summed.n > 0)


def _parted(each: Any, amount: Any, most: int, dialect: Dialect) -> tuple[Any, Any]:
    """Return the rows of persons whose amount is at most `most`, and those of all others, who get keys."""
    amounts = each.group_by("person").agg(amount=amount)
    above = amounts.filter(amounts.amount > most)
    above = above.select(above.person, seed=dialect.seed(SALT, above.person))
    return each.anti_join(above, "person"), _with_keys(each.join(above, "person"))


def _with_keys(each: Any) -> Any:
    """Return the rows (person, cell, seed, ...) with the key of each person and cell in place of the seed."""
    keyed = each.mutate(key=each.seed ^ each.cell.cast("int64")).drop("seed")
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        keyed = keyed.mutate(key=((keyed.key ^ (keyed.key >> shift)) * factor) & (2**MIXED_BITS - 1))
    return keyed.mutate(key=keyed.key ^ (keyed.key >> SHIFTS[-1]))


_RULES = {Bound.CELLS: _at_most_cells, Bound.RECORDS: _at_most_records, Bound.SHARES: _shares}
