"""The list of tables, and the settings they are audited in: the part of `cases` whose public frame is a `Frame`.

Frames have what tables can have: zones with only children and leaves above the lowest level, grids with blocks and a
region, folded and calendar time, and grouped categories. A test fails until a mechanism whose `frame` is `Frame` is in
this list (`tests/audit/test_tables.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

import spatialdp as sdp
from tests.helpers.cases import RELATIONS, terms
from tests.helpers.zone_cases import FRAMES as ZONE_FRAMES

WEEKEND = sdp.Time("2024-01-06", "2024-01-10", step="1 d", zone="Europe/Vienna", levels=("week",))
QUARTERS = sdp.Time("2024-03-01", "2024-04-15", step="6 h", zone="Europe/Vienna", fold="hour of day")
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
CORNER = sdp.Domain((0, 0, 4, 3), region=shapely.box(0, 0, 2.5, 3), region_cells="centres")

TABLE_FRAMES = {
    "zones and days": sdp.Frame(ZONE_FRAMES["lopsided"], time=WEEKEND),
    "blocks, hours and kinds": sdp.Frame(CORNER.grid((4, 3)), blocks=2, time=QUARTERS, kind=KINDS),
    "zones and kinds": sdp.Frame(ZONE_FRAMES["regular"], kind=KINDS),
    "zones alone": sdp.Frame(ZONE_FRAMES["lopsided"]),
    "one cell": sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1))),
}
TABLE_CASES = {
    "table": sdp.Table(),
    "table, cells": sdp.Table(budget="cells"),
    "table, weights": sdp.Table(budget={"kind": (1, 2, 1), "zone": (1, 0, 2, 1), "time": (2, 1, 1), "box": (1, 1, 3)}),
    "table, even": sdp.Table(budget={"kind": (1, 1, 1), "zone": (0, 1, 1, 1), "time": (1, 1, 1), "box": (1, 1, 1)}),
    "table, fine": sdp.Table(law="laplace"),
    "table, gaussian": sdp.Table(law="gaussian"),
}
TABLE_PERSONS = (sdp.Person(records=3), sdp.Person(cells=3), sdp.Person(shares=True))


def weights_for(mechanism: sdp.Table, frame: sdp.Frame) -> sdp.Table:
    """The same mechanism with weights for the axes that a frame has, as many as it has levels."""
    if not isinstance(mechanism.budget, tuple):
        return mechanism
    given = {name: weights[-len(frame.axes[name].names) :] for name, weights in mechanism.budget if name in frame.axes}
    return sdp.Table(budget=given, law=mechanism.law)


@dataclass(frozen=True)
class TableSetting:
    """A case on a frame under a relation between neighbours; used like `cases.Setting`."""

    case: str
    frame: str
    relation: str
    person: sdp.Person | None = None

    @property
    def domain(self) -> sdp.Frame:
        return TABLE_FRAMES[self.frame]

    @property
    def mechanism(self) -> sdp.Table:
        return weights_for(TABLE_CASES[self.case], self.domain)

    @property
    def terms(self) -> dict[str, object]:
        return terms(self.mechanism, self.relation) | {"person": self.person}

    def records(self, cells: Any, owners: Any = None) -> sdp.Rows:
        """Rows in some cells of the table, by number; numbers below 0 stand for nowhere, in one of many ways."""
        cells = np.asarray(cells, dtype=np.int64).reshape(-1)
        frame = self.domain
        inside = np.where(cells >= 0, cells, 0)
        places = dict(zip(frame.axes, np.unravel_index(inside, frame.shape), strict=True))
        columns = {name: _values(frame.axes[name], places[name]) for name in frame.axes if name != frame.space_name}
        odd = [(int(place), -int(cell)) for place, cell in enumerate(cells) if cell < 0]
        for place, way in odd:
            for name in columns:
                columns[name][place] = [None, "unheard of", 7.5, "", [1]][way % 5]
        space = places[frame.space_name]
        lost = [place for place, way in odd if way % 2 or not columns]  # the others are odd in their columns alone
        if frame.space_name == "zone":
            codes = np.array(frame.space.labels(), dtype=object)[space]
            codes[lost] = None
            return sdp.Rows(sdp.Codes(codes.tolist(), person=owners), **columns)
        row, column = np.divmod(frame.space.cells[space], frame.space.grid.shape[0])
        xy = np.stack([column + 0.5, row + 0.5], axis=1).astype(float)
        xy[lost] = np.nan
        return sdp.Rows(sdp.Points(xy, person=owners), **columns)

    def __str__(self) -> str:
        person = "" if self.person is None else f", {self.person.in_short()}"
        return f"{self.case}, {self.frame}, {self.relation}{person}"


def _values(axis: Any, places: Any) -> list[Any]:
    """Values of records in some cells of an axis: categories, or times within a tick."""
    if isinstance(axis, sdp.Categories):
        return np.array(axis.labels(), dtype=object)[places].tolist()
    if axis.fold is not None:
        return [f"2024-03-07 {axis.labels()[place]}:30" for place in places]
    return [np.datetime64(int(axis.edges[place]), "us").astype(object).isoformat() + "+00:00" for place in places]


_PLACES = [(frame, relation) for frame in TABLE_FRAMES for relation in RELATIONS]
TABLE_SETTINGS = [TableSetting(case, *place) for case in TABLE_CASES for place in _PLACES]
TABLE_PERSON_SETTINGS = [
    TableSetting(case, *_PLACES[(3 * i + j) % len(_PLACES)], person)
    for i, case in enumerate(TABLE_CASES)
    for j, person in enumerate(TABLE_PERSONS)
]
