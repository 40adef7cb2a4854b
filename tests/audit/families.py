"""The audit's one list: what is released, in families, each with all its cases and settings.

Every check of the long run walks `FAMILIES`: the replay takes all settings, and the black box all cases. A family's
own tests say that no mechanism is missing from it. What a check has to know of a family is registered for its kind of
setting: neighbours and what is seen (`replay`), and the numbers of one release (`trials`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

# Each module says how the replay goes for its kind of setting.
from tests.audit import curator, flows, networks, running, tables, trajectories  # noqa: F401
from tests.helpers.cases import (
    CASES,
    DELTA,
    LISTED,
    LISTED_PERSON_SETTINGS,
    LISTED_SETTINGS,
    OVER_MAP_PERSON_SETTINGS,
    OVER_MAP_SETTINGS,
    OVER_MAPS,
    PERSON_SETTINGS,
    SETTINGS,
)
from tests.helpers.curator_cases import ASKS, CURATOR_PERSON_SETTINGS, CURATOR_SETTINGS, CuratorSetting
from tests.helpers.flow_cases import FLOW_CASES, FLOW_PERSON_SETTINGS, FLOW_SETTINGS
from tests.helpers.network_cases import NETWORK_CASES, NETWORK_PERSON_SETTINGS, NETWORK_SETTINGS
from tests.helpers.running_cases import RUNNING_CASES, RUNNING_SETTINGS
from tests.helpers.table_cases import TABLE_CASES, TABLE_PERSON_SETTINGS, TABLE_SETTINGS
from tests.helpers.trajectory_cases import TRAJECTORY_CASES, TRAJECTORY_PERSON_SETTINGS, TRAJECTORY_SETTINGS
from tests.helpers.zone_cases import ZONE_CASES, ZONE_PERSON_SETTINGS, ZONE_SETTINGS

MAPS = "maps"


@dataclass(frozen=True)
class Family:
    """What is released alike.

    Attributes
    ----------
    name : str
        In words.
    cases : mapping
        All its cases by name.
    settings : sequence
        All that it is replayed in.
    files, maps : bool
        Whether the replay compares files, which must be functions of the release, and maps.
    """

    name: str
    cases: Mapping[str, Any]
    settings: Sequence[Any]
    files: bool = True
    maps: bool = False

    @property
    def few(self) -> list[Any]:
        """Settings in which every case occurs once, in turn, and every frame and bound on persons at least once."""
        chosen = [self._of_case(case)[turn % len(self._of_case(case))] for turn, case in enumerate(self.cases)]
        for trait in ("frame", "region", "person"):
            met = {getattr(each, trait, None) for each in chosen}
            first = {getattr(each, trait, None): each for each in reversed(self.settings)}
            chosen += [each for value, each in first.items() if value not in met]
        return chosen

    def _of_case(self, case: str) -> list[Any]:
        return [each for each in self.settings if each.case == case]


FAMILIES = (
    Family(MAPS, CASES, [*SETTINGS, *PERSON_SETTINGS], maps=True),
    # Maps of zones are left out: a drawn map stays with the public zones, which both neighbours have.
    Family("zones", ZONE_CASES, [*ZONE_SETTINGS, *ZONE_PERSON_SETTINGS]),
    Family("lists of cells", LISTED, [*LISTED_SETTINGS, *LISTED_PERSON_SETTINGS], maps=True),
    Family("lists over maps", OVER_MAPS, [*OVER_MAP_SETTINGS, *OVER_MAP_PERSON_SETTINGS], maps=True),
    Family("tables", TABLE_CASES, [*TABLE_SETTINGS, *TABLE_PERSON_SETTINGS]),
    Family("networks of attributes", NETWORK_CASES, [*NETWORK_SETTINGS, *NETWORK_PERSON_SETTINGS]),
    Family("months as they come", RUNNING_CASES, RUNNING_SETTINGS, files=False),
    Family("flows", FLOW_CASES, [*FLOW_SETTINGS, *FLOW_PERSON_SETTINGS], maps=True),
    # The file of trajectories is drawn from the model, which is compared as a whole.
    Family("trajectories", TRAJECTORY_CASES, [*TRAJECTORY_SETTINGS, *TRAJECTORY_PERSON_SETTINGS], files=False),
    Family("questions to a curator", ASKS, [*CURATOR_SETTINGS, *CURATOR_PERSON_SETTINGS], files=False),
)
OTHER_FAMILIES = FAMILIES[1:]


def name_of(setting: Any) -> str:
    """Return the name of the mechanism of a setting; a curator answers with its own."""
    return "curator" if isinstance(setting, CuratorSetting) else str(setting.mechanism.name)


def delta_of(setting: Any) -> float:
    """Return the δ that a setting's release promises."""
    if isinstance(setting, CuratorSetting):
        return float(DELTA) if "gaussian" in setting.case else 0.0
    return float(Fraction(setting.terms["delta"]))
