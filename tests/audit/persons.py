"""Is what a person contributes bounded, whatever the person does? Counts with one person more, less or another.

The check goes from points to counts, as a release does: through a region, through blocks of records, and with records
that count nowhere. It knows nothing of how persons are bounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from spatialdp import Domain, Person
from spatialdp._support.arrays import Integers
from spatialdp.records.counting import count_cells
from spatialdp.records.persons.identifiers import persons_of
from spatialdp.records.points import LatticePoints, snap_with_persons

__all__ = ["persons_are_bounded"]

BOUNDS = (Person(records=6), Person(cells=3), Person(shares=True))
REGION = shapely.Polygon([(0.5, 0.5), (7.5, 0.5), (7.5, 7.5), (3.5, 3.5), (0.5, 7.5)])
DOMAIN = Domain((0, 0, 8, 8), region=REGION, region_cells="centres")
OTHERS = 60
PARTS = 3

Records = tuple[list[Any], Any]


def _records(who: list[Any], seed: int) -> Records:
    """Records of some persons, in the domain and around it; several in a place."""
    xy = np.random.default_rng(seed).uniform(-1, 9, (len(who), 2))
    return who, xy.round(1 if seed % 2 else 0)


def _counts(bound: Person, *groups: Records) -> Integers:
    """The bounded counts of groups of records together, which come in parts that all have something of each group."""
    parts, persons = [], []
    for part in range(PARTS):
        xy = np.concatenate([xy[part::PARTS] for _, xy in groups])
        who = [person for group, _ in groups for person in group[part::PARTS]]
        columns, rows, kept = snap_with_persons(xy[:, 0], xy[:, 1], persons_of(who), DOMAIN)
        parts.append((columns, rows))
        persons.append(kept)
    return count_cells(LatticePoints(parts, DOMAIN, persons), DOMAIN.grid((8, 8)), bound)


def persons_are_bounded(trials: int = 4) -> None:
    """Check that one person moves counts within the bound, and that what counts nowhere moves nothing."""
    for trial in range(trials):
        others = _records([f"person {number % OTHERS}" for number in range(20 * OTHERS)], 4 * trial)
        eve, changed = (_records(["eve"] * 50, 4 * trial + other) for other in (1, 2))
        nobody = _records([None] * 50, 4 * trial + 3)
        beyond = others[0], others[1] * [1, 0] + [0, 20]  # the same persons outside the bounds
        hole = others[0], np.clip(others[1], [3.1, 6.1], [3.9, 7.9])  # and in the notch of the region
        for bound in BOUNDS:
            without = _counts(bound, others)
            _check_moves(bound, _counts(bound, eve, others), without)
            _check_moves(bound, _counts(bound, eve, others), _counts(bound, changed, others))
            for strays in (nobody, beyond, hole):
                assert np.array_equal(_counts(bound, strays, others), without), "records that count nowhere matter"


def _check_moves(bound: Person, before: Integers, after: Integers) -> None:
    for moved in (np.maximum(before - after, 0), np.maximum(after - before, 0)):
        assert moved.sum() <= bound.most * bound.steps, f"one person moves counts beyond {bound}"
        assert bound.cells is None or moved.max() <= 1, f"one person counts twice in a cell under {bound}"
