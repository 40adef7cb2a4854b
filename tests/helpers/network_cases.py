"""The list of networks of attributes, and the settings they are audited in; frames are those of tables, and wider ones.

A test fails until every mechanism that publishes networks is in this list (`tests/audit/test_networks.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import spatialdp as sdp
from tests.helpers.cases import RELATIONS
from tests.helpers.table_cases import TABLE_FRAMES, TABLE_PERSONS, TableSetting

DAYS = sdp.Categories(["workday", "weekend"])
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
PLACES = sdp.Domain((0, 0, 4, 2)).grid((4, 2))

NETWORK_FRAMES = TABLE_FRAMES | {
    "three attributes": sdp.Frame(PLACES, blocks=2, kind=KINDS, day=DAYS),
    "four attributes": sdp.Frame(PLACES, kind=KINDS, day=DAYS, hour=sdp.Categories(["early", "late"])),
}
NETWORK_CASES = {
    "privbayes": sdp.PrivBayes(),
    "privbayes, many parents": sdp.PrivBayes(theta=0.01, beta=0.5),
    "privbayes, small tables": sdp.PrivBayes(theta=0.5),
    "privbayes, no parents": sdp.PrivBayes(parents=0),
    "privbayes, one parent": sdp.PrivBayes(parents=1, theta=0.1, counting=0.2),
}


@dataclass(frozen=True)
class NetworkSetting(TableSetting):
    """A case on a frame under a relation between neighbours; used like `cases.Setting`."""

    @property
    def domain(self) -> sdp.Frame:
        return NETWORK_FRAMES[self.frame]

    @property
    def mechanism(self) -> sdp.PrivBayes:  # type: ignore[override]
        return NETWORK_CASES[self.case]

    __str__ = TableSetting.__str__


_PLACES = [(frame, relation) for frame in NETWORK_FRAMES for relation in RELATIONS]
NETWORK_SETTINGS = [NetworkSetting(case, *place) for case in NETWORK_CASES for place in _PLACES]
NETWORK_PERSON_SETTINGS = [
    NetworkSetting(case, *_PLACES[(3 * i + j) % len(_PLACES)], person)
    for i, case in enumerate(NETWORK_CASES)
    for j, person in enumerate(TABLE_PERSONS)
]
