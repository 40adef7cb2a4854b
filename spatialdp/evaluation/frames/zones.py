"""How wrong are releases by zones? Each level of the zones is a workload: the true counts of its zones are the truth.

Without a bound on persons, answers without noise are the truth itself. With a bound, the truth is what would be counted
if nothing of a person were cut off, as for grids. Everything here is computed from the records and is as private as
they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.answers import About
from spatialdp.evaluation.cache import TrialResults
from spatialdp.evaluation.metrics import EARTH_MOVER, INTERVALS, METRICS, Outcome
from spatialdp.evaluation.trials import Experiment, Trial
from spatialdp.evaluation.truth import Truth
from spatialdp.outputs.zones.areas import ZoneAreas
from spatialdp.outputs.zones.tables import node_answers
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.privacy.unit import MOST, Bound, Person
from spatialdp.records.codes import as_zone_records
from spatialdp.records.zones import count_zones
from spatialdp.space.zones.frame import Zones
from spatialdp.trees.shape import sums
from spatialdp.wording import either, parameter

__all__ = ["ZoneExperiment", "ZoneWorkload", "level_workloads", "unbounded"]


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
class ZoneExperiment(Experiment):
    """Everything that the trials of an evaluation by zones have in common; its domain is the frame of zones.

    Attributes
    ----------
    kept : (nodes,) array
        What a release counts in each zone, before noise.
    """

    kept: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    @override
    def prepare(cls, *, epsilons: Sequence[Any], **parts: Any) -> ZoneExperiment:
        """Check all public parameters first; then count the zones, once."""
        blank = cls(truths={}, records=0, **parts)
        if EARTH_MOVER in blank.metrics:
            raise ParameterError(
                f"{parameter('metrics')} holds {EARTH_MOVER!r}, which compares maps of cells; leave it out for zones."
            )
        for label in blank.mechanisms:
            for epsilon in epsilons:
                blank._prepared(label, epsilon)  # raises an error that says what is wrong with the parameters
        zones, person = blank._zones, blank.person
        kept, true = (_counts(blank.points, zones, bound) for bound in (person, unbounded(person)))
        answers = tuple(true[workload.nodes] for workload in blank._levels)
        truth = Truth(answers, float(true[0]), max(blank.floor_share * true[0], 1.0))
        every = true if person is None else _counts(blank.points, zones, Person(records=MOST))
        persons = None if person is None else round(_counts(blank.points, zones, Person(shares=True))[0])
        return replace(blank, truths={None: truth}, records=int(every[0]), persons=persons, kept=kept)

    @property
    def _zones(self) -> Zones:
        zones: Any = self.domain
        assert isinstance(zones, Zones)
        return zones

    @property
    def _levels(self) -> Sequence[ZoneWorkload]:
        levels: Any = self.workloads
        return levels  # type: ignore[no-any-return]

    @override
    def truth_of(self, label: str) -> Truth:  # noqa: ARG002 - all mechanisms have the same truth
        return self.truths[None]

    @override
    def run(self, trial: Trial) -> TrialResults:
        """Make one release and measure all metrics for all levels."""
        estimate: Any = self._release(trial, SeededNoise(self.stream(trial))).estimate
        truth, measured = self.truths[None], []
        intervals = any(name in self.metrics for name in INTERVALS) and not estimate.biased
        for index, (workload, answers) in enumerate(zip(self._levels, truth.answers, strict=True)):
            values = estimate.of_nodes(workload.nodes).values
            ends = {about: node_answers(estimate, workload.nodes, about).ends(self.level) for about in About}
            outcome = Outcome(
                answers=values,
                truth=answers,
                even=values,
                noise_free=self.kept[workload.nodes],
                intervals=ends[About.TRUTH] if intervals else None,
                noise_intervals=ends[About.NOISE] if intervals else None,
                records=truth.total,
                floor=truth.floor,
            )
            values_of = ((name, METRICS[name](outcome)) for name in self.metrics)
            measured += [(index, name, value) for name, value in values_of if value is not None]
        return measured


def unbounded(person: Person | None) -> Person | None:
    """Return the bound that cuts nothing off and counts the same things."""
    if person is None or person.bound is Bound.SHARES:
        return person
    return Person(records=MOST) if person.bound is Bound.RECORDS else Person(cells=MOST)


def _counts(points: Any, zones: Zones, person: Person | None) -> Floats:
    """Return the counts of all zones, in counts rather than steps."""
    counts = count_zones(as_zone_records(points, zones, person), zones, person)
    return np.asarray(sums(zones.shape, counts) / (1 if person is None else person.steps), dtype=np.float64)
