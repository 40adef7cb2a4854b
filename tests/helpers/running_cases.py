"""The list of months as they come, and the settings they are audited in; frames are those of tables.

Records are lists of cells, one list for each month. A test fails until every mechanism that releases months as they
come is in this list (`tests/audit/test_running.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import spatialdp as sdp
from tests.helpers.cases import DELTA, RELATIONS
from tests.helpers.table_cases import TABLE_FRAMES, TableSetting

RUNNING_CASES = {"running, one month": sdp.Running(1), "running": sdp.Running(4), "running, a year": sdp.Running(12)}
RUNNING_FRAMES = ("zones and kinds", "one cell")


@dataclass(frozen=True)
class RunningSetting:
    """A case on a frame under a relation between neighbours; used like `cases.Setting`."""

    case: str
    frame: str
    relation: str
    person: None = None  # bounds on persons are not offered

    @property
    def domain(self) -> sdp.Frame:
        return TABLE_FRAMES[self.frame]

    @property
    def mechanism(self) -> sdp.Running:
        return RUNNING_CASES[self.case]

    @property
    def terms(self) -> dict[str, object]:
        return {"epsilon": 1, "delta": DELTA, "neighbours": self.relation}

    def records(self, months: Sequence[Sequence[int]]) -> list[sdp.Rows]:
        """Rows of each month in some cells, by number; numbers below 0 stand for nowhere, as for tables."""
        rows = TableSetting("table", self.frame, self.relation)
        return [rows.records(cells) for cells in months]

    def __str__(self) -> str:
        return f"{self.case}, {self.frame}, {self.relation}"


RUNNING_SETTINGS = [RunningSetting(c, f, r) for c in RUNNING_CASES for f in RUNNING_FRAMES for r in RELATIONS]
