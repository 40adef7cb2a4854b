"""The list of mechanisms of trajectories, and the settings they are audited in.

A trajectory is a list of cells of an 8 x 8 grid, one for each minute; a negative cell is out of the domain. A test
fails until every mechanism that takes trajectories is in this list (`tests/audit/test_trajectories.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

import spatialdp as sdp
from spatialdp.records.rows.tracks import Paths, paths_of
from tests.helpers.cases import RELATIONS, terms

SIDE = 8
DOMAIN = sdp.Domain((0, 0, SIDE, SIDE))
# Cells 0 and 9 and their neighbours, and 63 as an island; 1 and 10 are cut, 7 and 56 are out.
REGION = sdp.Domain(
    (0, 0, SIDE, SIDE), region=shapely.union(shapely.Polygon([(0, 0), (3.4, 0), (0, 3.4)]), shapely.box(7.2, 7.2, 8, 8))
)
TRAJECTORY_CASES = {
    "trajectories": sdp.Trajectories(longest=5, ends=1, systems=(1, 2, 3)),
    "trajectories, one system": sdp.Trajectories(longest=9, ends=2, systems=(3,)),
    "trajectories, one block": sdp.Trajectories(longest=2, ends=0, systems=(0, 2)),
    "trajectories, half minutes": sdp.Trajectories(step=30, longest=20, ends=1, systems=(2, 3)),
    "trajectories, region": sdp.Trajectories(longest=5, ends=1, systems=(2, 3)),
}
TRAJECTORY_PERSONS = (sdp.Person(records=1), sdp.Person(records=3))


@dataclass(frozen=True)
class TrajectorySetting:
    """A case under a relation between neighbours; used like `cases.Setting`."""

    case: str
    relation: str
    person: sdp.Person | None = None

    @property
    def domain(self) -> sdp.Domain:
        return REGION if "region" in self.case else DOMAIN

    @property
    def mechanism(self) -> sdp.Trajectories:
        return TRAJECTORY_CASES[self.case]

    @property
    def terms(self) -> dict[str, object]:
        return terms(self.mechanism, self.relation) | {"person": self.person}

    @property
    def design(self) -> Any:
        return self.mechanism.prepare(self.domain, **self.terms).design

    def paths(self, trajectories: Sequence[Sequence[int]], owners: Sequence[int] | None = None) -> Paths:
        design = self.design
        step = int(design.step * 10**6)
        around = (design.blocks, design.systems[-1])
        records = self.records(trajectories, owners)
        return paths_of(records, self.domain, step, design.longest, self.person, systems=around)

    def records(self, trajectories: Sequence[Sequence[int]], owners: Sequence[int] | None = None) -> sdp.Tracks:
        return tracks_of(trajectories, owners)

    def __str__(self) -> str:
        person = "" if self.person is None else f", {self.person.in_short()}"
        return f"{self.case}, {self.relation}{person}"


def tracks_of(trajectories: Sequence[Sequence[int]], owners: Sequence[int] | None = None) -> sdp.Tracks:
    """Return trajectories, each a list of cells of the 8 x 8 grid; and whose they are, if that is given."""
    sizes = [len(each) for each in trajectories]
    cells = np.array([cell for each in trajectories for cell in each], dtype=np.int64)
    row, column = np.divmod(cells, SIDE)
    xy = np.stack([np.where(cells < 0, -5.0, column + 0.5), row + 0.5], axis=1)
    tids = np.repeat(np.arange(len(sizes)), sizes)
    minutes = np.array([minute for size in sizes for minute in range(size)], dtype=np.int64)
    times = np.datetime64("2024-01-01T08:00") + minutes.astype("timedelta64[m]")
    person = None if owners is None else np.repeat(np.asarray(owners, dtype=np.int64), sizes)
    return sdp.Tracks(xy, tid=tids, time=times, person=person)


TRAJECTORY_SETTINGS = [TrajectorySetting(case, relation) for case in TRAJECTORY_CASES for relation in RELATIONS]
TRAJECTORY_PERSON_SETTINGS = [
    TrajectorySetting(case, RELATIONS[(i + j) % 2], person)
    for i, case in enumerate(TRAJECTORY_CASES)
    for j, person in enumerate(TRAJECTORY_PERSONS)
]
