"""Which bugs could the bounding of persons have? Patches that plant them; `mutants` names the check that catches them.

Most break the promise: a person then moves counts by more than the bound. Two only count what must count nowhere.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from spatialdp.privacy.unit import Bound
from spatialdp.records.persons import bounding
from spatialdp.records.persons.bounding import Contributions, bounded_counts, gathered
from spatialdp.records.persons.identifiers import persons_of, texts_of
from spatialdp.records.points import Points

Patch = contextlib.AbstractContextManager[Any]


def _counts(count: Any) -> Patch:
    """Replace how points with persons are counted, by a function of the points, the grid and the bound."""
    return mock.patch.object(Points, "_counts", count)


def missing_persons_are_one_person() -> Patch:
    """Group records without a person, as a database does."""
    real = bounding._left_in
    return mock.patch.object(
        bounding, "_left_in", lambda persons, cells, inside: real(texts_of(persons).fill_null(""), cells, inside)
    )


def missing_persons_are_not_bounded() -> Patch:
    """Count each record without a person as a person of its own."""

    def left_in(persons: Any, cells: Any, inside: Any) -> Any:
        texts = [f"nobody {row}" if text is None else text for row, text in enumerate(texts_of(persons).to_pylist())]
        return persons_of(texts).filter(pa.array(inside)), cells[inside]

    return mock.patch.object(bounding, "_left_in", left_in)


def merged_after_bounding() -> Patch:
    """Bound persons on cells of half the size, and add up four cells each afterwards."""

    def counts(self: Points, grid: Any, person: Any) -> Any:
        nx, ny = grid.shape
        fine = grid.domain.grid((2 * nx, 2 * ny))
        inside = grid.mask.repeat(2, axis=0).repeat(2, axis=1)
        persons, cells = gathered(self._person_cells(fine), inside)
        return bounded_counts(persons, cells, inside.size, person).reshape(ny, 2, nx, 2).sum(axis=(1, 3))

    return _counts(counts)


def region_after_bounding() -> Patch:
    """Bound persons on all cells, and leave out those outside the region afterwards."""

    def counts(self: Points, grid: Any, person: Any) -> Any:
        persons, cells = gathered(self._person_cells(grid), np.ones(grid.mask.size, dtype=bool))
        return bounded_counts(persons, cells, grid.mask.size, person).reshape(grid.mask.shape) * grid.mask

    return _counts(counts)


def bounded_in_each_block() -> Patch:
    """Bound persons in each block of records."""

    def counts(self: Points, grid: Any, person: Any) -> Any:
        parts = [gathered([block], grid.mask) for block in self._person_cells(grid)]
        total = sum(bounded_counts(*part, grid.mask.size, person) for part in parts)
        return np.reshape(total, grid.mask.shape)

    return _counts(counts)


def keys_by_row() -> Patch:
    """Order cells by a hash of the row that they stand in."""
    factor = np.uint64(0x9E3779B97F4A7C15)
    return mock.patch.object(
        bounding, "cell_keys", lambda names, persons, cells: np.arange(cells.size, dtype=np.uint64) * factor
    )


def keys_drawn() -> Patch:
    """Order cells by a seeded generator, which is drawn from row by row."""

    def keys(names: Any, persons: Any, cells: Any) -> Any:
        return np.random.default_rng(1).integers(2**63, size=cells.size)

    return mock.patch.object(bounding, "cell_keys", keys)


def shares_rounded_up() -> Patch:
    """Round shares up, so that their sum is above one."""
    real = Contributions.kept

    def kept(self: Contributions, bound: Any) -> Any:
        if bound.bound is not Bound.SHARES:
            return real(self, bound)
        return -(-self.records * bound.steps // np.repeat(self.n_records, self.n_cells))

    return mock.patch.object(Contributions, "kept", kept)


def one_record_too_many() -> Patch:
    """Keep whole cells, even if they do not fit into the bound."""
    real = Contributions._first

    def first(self: Contributions, counts: Any, most: int) -> Any:
        return np.where(real(self, counts, most) > 0, counts, 0)

    return mock.patch.object(Contributions, "_first", first)
