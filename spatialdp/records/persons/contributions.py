"""How many persons have more than L records, or cells? The numbers that a private choice of the bound L is made from.

Each person has one number of records and one of cells in the grid. So one person more or less changes the number of
persons above L by at most 1, for every L, and so does replacing a person. These numbers are exact and private: they may
be used only with noise that is paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp.errors import ParameterError
from spatialdp.privacy.unit import Bound
from spatialdp.records.persons.bounding import contributions_of
from spatialdp.space.domain import Grid

if TYPE_CHECKING:
    import pyarrow as pa

    from spatialdp.records.points import Points

__all__ = ["count_above", "persons_above"]


def persons_above(points: Points, grid: Grid, bound: Bound, candidates: Sequence[int]) -> Integers:
    """Return the exact number of persons with more than L records or cells in a grid, for each candidate L.

    Parameters
    ----------
    points : Points
        With persons.
    grid : Grid
        Records outside its cells, or outside the region, count nowhere.
    bound : Bound
        What is bounded: records or cells.
    candidates : sequence of int
        Public bounds, such as 1, 2, 5, 10, ...
    """
    if bound is Bound.SHARES:
        raise ParameterError("persons are counted in shares, which have no bound to choose; choose records or cells.")
    return points._persons_above(grid, bound, candidates)


def count_above(persons: pa.Array, cells: Integers, n_cells: int, bound: Bound, candidates: Sequence[int]) -> Integers:
    """Return the same from persons and cells of records, as `bounding.contributions_of` takes them.

    Examples
    --------
    >>> from spatialdp.records.persons.identifiers import persons_of
    >>> persons, cells = persons_of(["ann", "ann", "ann", "bob"]), np.array([0, 0, 1, 1])
    >>> count_above(persons, cells, 2, Bound.RECORDS, [0, 1, 3]).tolist()
    [2, 1, 0]
    >>> count_above(persons, cells, 2, Bound.CELLS, [0, 1, 3]).tolist()
    [2, 1, 0]
    """
    contributions = contributions_of(persons, cells, n_cells)
    amounts = np.sort(contributions.n_records if bound is Bound.RECORDS else contributions.n_cells)
    above: Integers = amounts.size - np.searchsorted(amounts, np.asarray(candidates, dtype=np.int64), side="right")
    return above
