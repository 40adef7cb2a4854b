"""The list of mechanisms on zones, and the settings they are audited in: the part of `cases` whose frame is no domain.

Frames have everything that trees of zones can have: only children, leaves above the lowest level, families of
different sizes, zones that others cut (``also=``) and cells of H3. A test fails until a mechanism whose `frame` is
`Zones` is in this list (`tests/audit/test_zones.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import geopandas
import numpy as np
import shapely

import spatialdp as sdp
from tests.helpers.cases import RELATIONS, terms

LEVELS = ["state", "county", "tract"]


def _boxes(rows: list[tuple[str | None, ...]]) -> geopandas.GeoDataFrame:
    """A frame of zones side by side, each of them one unit wide."""
    columns = {name: [row[i] for row in rows] for i, name in enumerate(LEVELS)}
    return geopandas.GeoDataFrame(columns, geometry=[shapely.box(i, 0, i + 1, 1) for i in range(len(rows))])


_REGULAR = _boxes([(s, s + c, s + c + t) for s in "AB" for c in "12" for t in "xy"])
_CITIES = geopandas.GeoDataFrame(
    {"city": ["X", "Y"]}, geometry=[shapely.box(0.5, 0, 2.25, 1), shapely.box(5, 0.5, 7, 1)]
)

FRAMES: dict[str, sdp.Zones] = {
    "regular": sdp.Zones(_REGULAR, LEVELS),
    "lopsided": sdp.Zones(
        _boxes(
            [
                ("A", "A1", "A1x"),
                ("A", "A1", "A1y"),
                ("A", "A2", "A2x"),  # an only child
                ("B", None, None),  # a state without counties
                ("C", "C1", "C1x"),  # a state with one county
                ("C", "C1", "C1y"),
                ("C", "C1", "C1z"),
                ("D", "D1", "D1x"),  # one zone on three levels
                ("E", "E1", None),  # a state with one county, and counties without tracts
                ("F", "F1", None),
                ("F", "F2", "F2x"),
                ("F", "F2", "F2y"),
            ]
        ),
        LEVELS,
    ),
    "one zone": sdp.Zones(_boxes([("A", "A1", "A1x")]), LEVELS),
    "cities": sdp.Zones(_REGULAR, LEVELS, also=_CITIES),  # two cities, which cut tracts and counties
    "hexagons": sdp.H3(shapely.box(10, 50, 10.2, 50.2), (4, 5, 6)),
}
# As many groups as levels, and yet some of them share levels: a state alone beside a state of one county.
_OVERLAPPING = {"chains": sdp.Zones(_boxes([("A", "A1", "A1x"), ("A", "A1", "A1y"), ("B", None, None)]), LEVELS)}

ZONE_CASES: dict[str, sdp.ZoneTree] = {
    "zones": sdp.ZoneTree(),
    "zones, uniform": sdp.ZoneTree(budget=(1, 1, 1, 1)),
    "zones, weights": sdp.ZoneTree(budget=(1, 0, 3, 2)),
    "zones, upper levels": sdp.ZoneTree(budget=(0, 5, 0, 1)),
    "zones, leaves": sdp.ZoneTree(budget="leaves"),
    "zones, all zones": sdp.ZoneTree(budget="zones"),
    "zones, fine": sdp.ZoneTree(budget=(1, 1, 1, 1), law="laplace"),
    "zones, gaussian": sdp.ZoneTree(law="gaussian"),
    "zones, gaussian, weights": sdp.ZoneTree(budget=(1, 2, 0, 1), law="gaussian"),
    "zones, raw": sdp.ZoneTree(budget=(1, 0, 1, 1), consistent=False),
    "zones, targets": sdp.ZoneTree(targets=("A", "A1")),
    "zones, known": sdp.ZoneTree(known={"state": {"A": 12}, "county": {"A1": 7}}),
    "zones, invariants": sdp.ZoneTree(invariants=("state",)),
    "zones, invariants, gaussian": sdp.ZoneTree(invariants=("state",), budget=(1, 1, 1, 1), law="gaussian"),
}

ZONE_PERSONS = (sdp.Person(records=3), sdp.Person(cells=3), sdp.Person(shares=True))


@dataclass(frozen=True)
class ZoneSetting:
    """A case on a frame under a relation between neighbours; used like `cases.Setting`.

    Attributes
    ----------
    by_code : bool
        Whether records come as codes rather than points.
    """

    case: str
    frame: str
    relation: str
    person: sdp.Person | None = None
    by_code: bool = False

    @property
    def mechanism(self) -> sdp.ZoneTree:
        return ZONE_CASES[self.case]

    @property
    def domain(self) -> sdp.Zones:
        return (FRAMES | _OVERLAPPING)[self.frame]

    @property
    def terms(self) -> dict[str, object]:
        return terms(self.mechanism, self.relation) | {"person": self.person}

    def records(self, leaves: Any, owners: Any = None) -> sdp.Points | sdp.Codes:
        """Records in some leaves, by number; numbers below 0 stand for nowhere, in one of many ways."""
        make = self._codes if self.by_code else self._points
        return make([int(leaf) for leaf in leaves], None if owners is None else list(owners))

    def _codes(self, leaves: list[int], owners: list[Any] | None) -> sdp.Codes:
        codes = self.domain.codes[self.domain.leaf_nodes]
        # An upper zone's code, no code at all, and codes that nobody knows.
        nowhere = [self.domain.codes[0], None, "Z9", "", " A1x", "a1x"]
        return sdp.Codes([codes[leaf] if leaf >= 0 else nowhere[leaf % len(nowhere)] for leaf in leaves], owners)

    def _points(self, leaves: list[int], owners: list[Any] | None) -> sdp.Points:
        places = shapely.get_coordinates(shapely.point_on_surface(self.domain.geometry))
        nowhere = [[-5.0, 0.5], [np.nan, 0.5], [0.5, np.inf], [1e308, 0.5], [0.5, 7.0]]
        xy = [places[leaf] if leaf >= 0 else nowhere[leaf % len(nowhere)] for leaf in leaves]
        return sdp.Points(np.array(xy, dtype=float).reshape(-1, 2), person=owners)

    def __str__(self) -> str:
        person = "" if self.person is None else f", {self.person.in_short()}"
        return f"{self.case}, {self.frame}, {self.relation}{person}{', codes' if self.by_code else ''}"


def possible(case: str, frame: str, person: sdp.Person | None = None) -> bool:
    """Whether the mechanism takes the setting; what it refuses is tested with the mechanism."""
    mechanism = ZONE_CASES[case]
    if mechanism.invariants is not None and person is not None:
        return False  # their statement is about records
    if isinstance(mechanism.budget, tuple) and len(mechanism.budget) != len(FRAMES[frame].levels):
        return False
    if frame == "hexagons":
        return mechanism.known is None and mechanism.invariants is None and mechanism.targets is None
    if frame != "one zone":
        return True
    # It has three levels, and its state is its county and its only leaf.
    return isinstance(mechanism.budget, str) and mechanism.known is None and mechanism.invariants is None


_PLACES = [(frame, relation) for frame in FRAMES for relation in RELATIONS]
ZONE_SETTINGS = [
    ZoneSetting(case, frame, relation, None, by_code=bool((i + j) % 2))
    for i, case in enumerate(ZONE_CASES)
    for j, (frame, relation) in enumerate(_PLACES)
    if possible(case, frame)
]
ZONE_PERSON_SETTINGS = [
    ZoneSetting(case, *_PLACES[(i + j) % len(_PLACES)], person, by_code=bool((i + j) % 2))
    for i, case in enumerate(ZONE_CASES)
    for j, person in enumerate(ZONE_PERSONS)
    if possible(case, _PLACES[(i + j) % len(_PLACES)][0], person)
]
ZONE_PERSON_SETTINGS += [
    ZoneSetting(case, "chains", relation, person)
    for case in ("zones", "zones, gaussian")
    for relation in RELATIONS
    for person in ZONE_PERSONS
]
