"""How wrong are releases by zones? Each level of the zones is a workload: the true counts of its zones are the truth.

Everything here is computed from the records and is as private as they are (`counted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.answers import About
from spatialdp.evaluation.frames.counted import CountedExperiment
from spatialdp.outputs.zones.areas import ZoneAreas
from spatialdp.outputs.zones.tables import node_answers
from spatialdp.privacy.unit import Person
from spatialdp.records.codes import as_zone_records
from spatialdp.records.zones import count_zones
from spatialdp.space.zones.frame import Zones
from spatialdp.trees.shape import sums
from spatialdp.wording import either

__all__ = ["ZoneExperiment", "ZoneWorkload", "level_workloads"]


@dataclass(frozen=True, eq=False)
class ZoneWorkload:
    """The zones of one level, as queries.

    Attributes
    ----------
    name : str
        Name of the level.
    nodes : int array
    """

    name: str
    nodes: Integers
    size: None = None

    def __len__(self) -> int:
        return int(self.nodes.size)


def level_workloads(zones: Zones, levels: str | Sequence[str] | None) -> tuple[ZoneWorkload, ...]:
    """Return the levels that are to be evaluated, by their names; all of them if none is named.

    Examples
    --------
    >>> zones = Zones.from_codes(["37063", "37001", "11"], None, {"state": 2, "county": 5})
    >>> [(each.name, len(each)) for each in level_workloads(zones, None)]
    [('all zones', 1), ('state', 2), ('county', 3)]
    """
    names = zones.levels if levels is None else (levels,) if isinstance(levels, str) else tuple(levels)
    if not names or any(not isinstance(name, str) for name in names):
        raise ParameterError(
            "the workload of an evaluation by zones is not a list of names of levels; give names such as 'county'"
            f"{either(', or None for all levels', '')}."
        )
    return tuple(ZoneWorkload(name, ZoneAreas.of(zones, name).nodes) for name in dict.fromkeys(names))


@dataclass(frozen=True, eq=False)
class ZoneExperiment(CountedExperiment):
    """Everything that the trials of an evaluation by zones have in common; its domain is the frame of zones."""

    frames: ClassVar[str] = "zones"

    @override
    def _counted(self, person: Person | None) -> Floats:
        zones: Any = self.domain
        counts = count_zones(as_zone_records(self.points, zones, person), zones, person)
        return np.asarray(sums(zones.shape, counts) / (1 if person is None else person.steps), dtype=np.float64)

    @override
    def _total(self, counts: Floats) -> float:
        return float(counts[0])

    @override
    def _sums(self, counts: Floats, workload: ZoneWorkload) -> Floats:
        return counts[workload.nodes]

    @override
    def _answered(self, estimate: Any, workload: ZoneWorkload) -> Floats:
        return np.asarray(estimate.of_nodes(workload.nodes).values)

    @override
    def _ends(self, estimate: Any, workload: ZoneWorkload, about: About) -> Floats:
        return node_answers(estimate, workload.nodes, about).ends(self.level)
