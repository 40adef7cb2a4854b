"""The list of flows, and the settings they are audited in: the part of `cases` whose records are trips.

Places are uneven zones, the cells of a region, and one place alone. A test fails until every mechanism that takes trips
is in this list (`tests/audit/test_flows.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import spatialdp as sdp
from tests.helpers.cases import RELATIONS, terms
from tests.helpers.table_cases import CORNER
from tests.helpers.zone_cases import FRAMES as ZONE_FRAMES

FLOW_FRAMES = {
    "zones": ZONE_FRAMES["lopsided"],
    "region": CORNER.grid((4, 3)),
    "one place": sdp.Domain((0, 0, 1, 1)).grid((1, 1)),
}
FLOW_CASES = {
    "flows": sdp.Flows(),
    "flows, listed": sdp.Flows("listed"),
    "flows, slides": sdp.Flows("listed", remeasure=0, false=3),
    "flows, margins": sdp.Flows("all", margins=0.9),
    "flows, many false": sdp.Flows("listed", false=20, remeasure=0.6, margins=0.05),
}
FLOW_PERSONS = (sdp.Person(records=3), sdp.Person(cells=3), sdp.Person(shares=True))
STRAYS = 4  # ways of being nowhere


@dataclass(frozen=True)
class FlowSetting:
    """A case on a frame under a relation between neighbours; used like `cases.Setting`."""

    case: str
    frame: str
    relation: str
    person: sdp.Person | None = None

    @property
    def domain(self) -> Any:
        return FLOW_FRAMES[self.frame]

    @property
    def places(self) -> sdp.Frame:
        return sdp.Frame(self.domain)

    @property
    def mechanism(self) -> sdp.Flows:
        return FLOW_CASES[self.case]

    @property
    def terms(self) -> dict[str, object]:
        return terms(self.mechanism, self.relation) | {"person": self.person}

    def records(self, pairs: Any, owners: Any = None) -> sdp.Trips:
        """Trips by the numbers of their pairs; numbers below 0 stand for nowhere, at either end or at both."""
        pairs = np.asarray(pairs, dtype=np.int64).reshape(-1)
        ends = np.divmod(np.where(pairs >= 0, pairs, 0), self.places.space.size)
        lost = [(pairs < 0) & (pairs % 3 != way) for way in (0, 1)]
        return sdp.Trips(self._places(ends[0], lost[0], owners), self._places(ends[1], lost[1], None))

    def _places(self, places: Any, lost: Any, owners: Any) -> Any:
        space = self.places.space
        if isinstance(self.domain, sdp.Zones):
            codes = np.array(space.labels(), dtype=object)[places]
            codes[lost] = "nowhere"
            return sdp.Codes(codes.tolist(), person=owners)
        row, column = np.divmod(space.cells[places], space.grid.shape[0])
        width, height = np.array(space.grid.domain.size) / space.grid.shape
        xy = np.stack([(column + 0.5) * width, (row + 0.5) * height], axis=1)
        xy[lost] = np.nan
        return sdp.Points(xy, person=owners)

    def __str__(self) -> str:
        person = "" if self.person is None else f", {self.person.in_short()}"
        return f"{self.case}, {self.frame}, {self.relation}{person}"


_PLACES = [(frame, relation) for frame in FLOW_FRAMES for relation in RELATIONS]
FLOW_SETTINGS = [FlowSetting(case, *place) for case in FLOW_CASES for place in _PLACES]
FLOW_PERSON_SETTINGS = [
    FlowSetting(case, *_PLACES[(3 * i + j) % len(_PLACES)], person)
    for i, case in enumerate(FLOW_CASES)
    for j, person in enumerate(FLOW_PERSONS)
]
