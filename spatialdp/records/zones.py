"""How many records lie in each leaf zone, counted exactly, some millions of records at a time.

Records are snapped to the lattice of the frame's domain, and `space.zones.location` says in which leaf each square is;
records that come as codes are in the leaf with that code (`records.codes`). What is in no leaf counts nowhere. With a
bound on persons, leaves take the place of cells, and what is kept of each person is decided by the same code as for
cells (`persons.bounding`). Records of files are read, located and counted part by part, and are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spatialdp._support.arrays import Integers, Integers32
from spatialdp.records.counting import Tally
from spatialdp.records.formats.base import forgetful
from spatialdp.records.persons.bounding import bounded_counts, gathered
from spatialdp.records.persons.contributions import count_above
from spatialdp.records.persons.identifiers import joined
from spatialdp.space.zones.location import MANY

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from spatialdp.privacy.unit import Bound, Person
    from spatialdp.records.codes import Codes
    from spatialdp.records.points import Points
    from spatialdp.space.zones.frame import Zones

__all__ = ["Squares", "count_zones", "located", "zone_persons_above"]


class Squares(NamedTuple):
    """Some records: lattice columns and rows, with a column of -1 for a record out of bounds, and persons, if any."""

    columns: Integers32
    rows: Integers32
    persons: pa.Array | None = None


@forgetful
def count_zones(points: Points | Codes, zones: Zones, person: Person | None = None) -> Integers:
    """Return the exact counts of the leaves, in their order.

    Without a bound on persons, these are numbers of records. With a bound they are what is kept of each person's
    records: numbers of records, numbers of persons, or shares in steps of 1 / `Person.steps`.
    """
    if person is None:
        tally = Tally(zones.n_leaves + 1)  # the last entry collects the records that are nowhere
        for _, leaves in points._leaves(zones):
            tally.add(leaves.astype(np.int64))
        return tally.counts()[:-1]
    persons, cells = _gathered(points, zones)
    return bounded_counts(persons, cells, zones.n_leaves, person)


@forgetful
def zone_persons_above(points: Points | Codes, zones: Zones, bound: Bound, candidates: Sequence[int]) -> Integers:
    """Return how many persons are above each bound, as `persons.contributions.persons_above` does for cells."""
    persons, leaves = _gathered(points, zones)
    return count_above(persons, leaves, zones.n_leaves, bound, candidates)


def located(blocks: Iterable[Squares], zones: Zones) -> Iterator[tuple[pa.Array | None, Integers32]]:
    """Yield the persons of records and the numbers of their leaves; the number of leaves stands for nowhere.

    Blocks are joined until they hold many records, because zones are prepared anew each time.
    """
    for part in _joined(blocks):
        yield part.persons, zones.locator.leaves(part.columns, part.rows)


def _gathered(points: Points | Codes, zones: Zones) -> tuple[pa.Array, Integers]:
    """Return the persons and the leaves of the records that have both."""
    blocks = ((persons, leaves.astype(np.int64)) for persons, leaves in points._leaves(zones))
    return gathered(blocks, np.ones(zones.n_leaves, dtype=bool))


def _joined(blocks: Iterable[Squares]) -> Iterator[Squares]:
    waiting: list[Squares] = []
    for block in blocks:
        waiting.append(block)
        if sum(each.columns.size for each in waiting) >= MANY:
            yield _one(waiting)
            waiting = []
    if waiting:
        yield _one(waiting)


def _one(blocks: list[Squares]) -> Squares:
    columns, rows, persons = zip(*blocks, strict=True)
    people = None if persons[0] is None else joined(persons)
    return Squares(np.concatenate(columns), np.concatenate(rows), people)
