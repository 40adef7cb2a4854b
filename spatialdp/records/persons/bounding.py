"""How much of each person is counted? At most L records, at most L cells, or one unit in shares, as `Person` says.

What is kept of a person is a function of **this person's own records** and of public values. So adding, removing or
replacing a person leaves what is kept of everyone else as it is, and changes the counts by what the bound allows. The
order of rows, their division into blocks and the company of other persons play no part.

- `records`: the cells of a person are taken in the order of (key, cell) (`persons.keys`), whole cells as long as they
  fit into L records, and of the next cell as many records as are left.
- `cells`: the first L cells in the same order, once each. It is the rule for records, with one record in each cell.
- `shares`: of m records in a cell and n in all, (m * 2^20) // n steps. Rounding down keeps the sum within 2^20.

Records without a person and records outside the domain or its region are left out **before** this happens. Only persons
above the bound need keys. Everything here is exact, in whole numbers, and private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Booleans, Integers
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.persons.identifiers import joined
from spatialdp.records.persons.keys import cell_keys

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Contributions",
    "bounded_among",
    "bounded_cells",
    "bounded_counts",
    "contributions_of",
    "gathered",
    "sums_of_cells",
]

_LARGEST = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Contributions:
    """Numbers of records of each person in each cell, ordered by person and then by cell; each pair occurs once.

    Attributes
    ----------
    names : Arrow array
        The persons, one for each.
    starts : integer array
        The place of the first pair of each person.
    cells, records : integer arrays
        The cell of each pair, and the number of its records.
    """

    names: pa.Array
    starts: Integers
    cells: Integers
    records: Integers

    @property
    def n_cells(self) -> Integers:
        """The number of cells of each person."""
        return np.diff(self.starts, append=self.cells.size)

    @property
    def n_records(self) -> Integers:
        """The number of records of each person."""
        return _sums(self.records, self.starts)

    def kept(self, bound: Person) -> Integers:
        """Return what is kept of each pair: records, 1 for a cell, or steps of 1 / `Person.steps`."""
        if bound.bound is Bound.SHARES:
            # No overflow: 2^43 records, of 16 bytes each, would fill 128 terabytes of memory.
            return self.records * bound.steps // np.repeat(self.n_records, self.n_cells)
        counts = self.records if bound.bound is Bound.RECORDS else np.ones_like(self.records)
        return self._first(counts, bound.most)

    def _first(self, counts: Integers, most: int) -> Integers:
        """Return which part of the counts is among the first `most` of each person, in the order of (key, cell)."""
        above = _sums(counts, self.starts) > most
        if not above.any():
            return counts
        places = np.flatnonzero(np.repeat(above, self.n_cells))  # of pairs; all others are kept as they are
        persons = np.repeat(np.flatnonzero(above), self.n_cells[above])
        keys = cell_keys(self.names, persons, self.cells[places])
        # Sorting is stable and pairs are ordered by cell, so equal keys stay in the order of cells.
        order = np.lexsort((keys, persons))
        places, sizes = places[order], counts[places[order]]
        before = np.cumsum(sizes) - sizes  # the same persons follow each other in the same order
        first = _run_starts(persons)
        before -= np.repeat(before[first], np.diff(first, append=persons.size))
        kept = counts.copy()
        kept[places] = np.clip(most - before, 0, sizes)
        return kept


def contributions_of(persons: pa.Array, cells: Integers, n_cells: int) -> Contributions:
    """Group records by person and cell; records without a person and those outside the cells are left out.

    Parameters
    ----------
    persons : Arrow array of int64 or large_string
        As `identifiers.persons_of` returns them; null for a record without a person.
    cells : integer array
        The cell of each record; `n_cells` for a record that counts nowhere.
    n_cells : int
    """
    persons, cells = _left_in(persons, cells, cells < n_cells)
    pairs, names = _coded(persons, n_cells)
    pairs *= n_cells
    pairs += cells
    pairs.sort()
    first = _run_starts(pairs)
    records = np.diff(first, append=pairs.size)
    codes, cells = np.divmod(pairs[first], n_cells)
    starts = _run_starts(codes)
    return Contributions(names(codes[starts]), starts, cells, records)


def gathered(blocks: Iterable[tuple[pa.Array, Integers]], inside: Booleans) -> tuple[pa.Array, Integers]:
    """Return persons and cells of all blocks; records without a person and those that are not inside are left out.

    Parameters
    ----------
    blocks : iterable of (persons, cells)
        As `Points` yields them: the number of a cell may be one above the last, for records outside the bounds, and the
        array of cells may be overwritten by the next block.
    inside : boolean array
        Which cells are in the region, in any shape.
    """
    inside = np.append(inside, False)  # for records outside the bounds
    parts = [_left_in(persons, cells.copy(), inside[cells]) for persons, cells in blocks]
    cells = np.concatenate([np.empty(0, dtype=np.int64), *(cells for _, cells in parts)])
    return joined([persons for persons, _ in parts]), cells


def bounded_counts(persons: pa.Array, cells: Integers, n_cells: int, bound: Person) -> Integers:
    """Return the bounded counts of all cells; the parameters are those of `contributions_of`.

    Examples
    --------
    >>> from spatialdp.records.persons.identifiers import persons_of
    >>> persons, cells = persons_of(["ann", "ann", "ann", "bob", None]), np.array([0, 0, 1, 1, 1])
    >>> bounded_counts(persons, cells, 3, Person(cells=2)).tolist()
    [1, 2, 0]
    >>> (bounded_counts(persons, cells, 3, Person(shares=True)) / 2**20).round(3).tolist()
    [0.667, 1.333, 0.0]
    """
    contributions = contributions_of(persons, cells, n_cells)
    counts = np.zeros(n_cells, dtype=np.int64)
    np.add.at(counts, contributions.cells, contributions.kept(bound))
    return counts


def bounded_cells(persons: pa.Array, cells: Integers, n_cells: int, bound: Person) -> tuple[Integers, Integers]:
    """Return the cells whose bounded count is not zero, in order, and these counts; for grids of very many cells.

    Examples
    --------
    >>> from spatialdp.records.persons.identifiers import persons_of
    >>> bounded_cells(persons_of([1, 1, 2]), np.array([10**9, 10**9, 5]), 2**30, Person(records=3))
    (array([         5, 1000000000]), array([1, 2]))
    """
    contributions = contributions_of(persons, cells, n_cells)
    return sums_of_cells(contributions.cells, contributions.kept(bound))


def bounded_among(persons: pa.Array, cells: Integers, bound: Person) -> tuple[Integers, Integers]:
    """Return the same as `bounded_cells` where cells may have any number below 2^63.

    Records are grouped by the rank of their cell. What is kept of a person is decided by the cells themselves, as
    everywhere: ranks depend on the records of others.

    Examples
    --------
    >>> from spatialdp.records.persons.identifiers import persons_of
    >>> persons, cells = persons_of(["ann", "ann", "bob", None]), np.array([2**60, 5, 2**60, 7])
    >>> [each.tolist() for each in bounded_among(persons, cells, Person(cells=2))] == [[5, 2**60], [1, 2]]
    True
    """
    persons, cells = _left_in(persons, cells, np.ones(cells.size, dtype=bool))
    distinct, ranks = np.unique(cells, return_inverse=True)
    by_rank = contributions_of(persons, ranks, max(distinct.size, 1))
    contributions = replace(by_rank, cells=distinct[by_rank.cells])
    return sums_of_cells(contributions.cells, contributions.kept(bound))


def sums_of_cells(cells: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Return the cells with a sum of counts that is not zero, in order, and these sums."""
    cells, counts = cells[counts > 0], counts[counts > 0]
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    first = _run_starts(cells)
    return cells[first], _sums(counts, first)


def _left_in(persons: pa.Array, cells: Integers, inside: Booleans) -> tuple[pa.Array, Integers]:
    """Return the persons and cells of records that are inside and have a person."""
    if persons.null_count:
        inside = inside & persons.is_valid().to_numpy(zero_copy_only=False)
    return (persons, cells) if inside.all() else (persons.filter(_arrow(inside)), cells[inside])


def _coded(persons: pa.Array, n_cells: int) -> tuple[Integers, Callable[[Integers], pa.Array]]:
    """Return a number from 0 on for the person of each record, and the function that returns the persons of numbers.

    The largest number times `n_cells` is below 2^63. The numbers are a new array.
    """
    import pyarrow as pa

    if persons.type == pa.int64() and len(persons):
        numbers = persons.to_numpy()
        least = int(numbers.min())
        if (int(numbers.max()) - least + 1) * n_cells <= _LARGEST:
            return numbers - least, lambda codes: pa.array(codes + least)
    coded = persons.dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), lambda codes: coded.dictionary.take(_arrow(codes))


def _run_starts(values: Integers) -> Integers:
    """Return the places where runs of equal values start."""
    starts = np.ones(values.size, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    return np.flatnonzero(starts)


def _sums(values: Integers, starts: Integers) -> Integers:
    """Return the sums of runs of values; `reduceat` refuses to sum no runs."""
    return np.add.reduceat(values, starts) if starts.size else np.empty(0, dtype=np.int64)


def _arrow(values: Integers | Booleans) -> pa.Array:
    import pyarrow as pa

    return pa.array(values)
