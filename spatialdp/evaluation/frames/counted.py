"""How wrong are releases that count places, or cells, by name? What frames of zones and of tables share.

The true counts are the truth. Without a bound on persons, answers without noise are the truth itself. With a bound, the
truth is what would be counted if nothing of a person were cut off, as for grids. Everything here is computed from the
records and is as private as they are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.answers import About
from spatialdp.evaluation.cache import TrialResults
from spatialdp.evaluation.metrics import EARTH_MOVER, INTERVALS, METRICS, Outcome
from spatialdp.evaluation.trials import Experiment, Trial
from spatialdp.evaluation.truth import Truth
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.privacy.unit import MOST, Bound, Person
from spatialdp.wording import parameter

__all__ = ["CountedExperiment", "unbounded"]


@dataclass(frozen=True, eq=False)
class CountedExperiment(Experiment):
    """Everything that the trials of an evaluation have in common; its domain is the frame.

    Attributes
    ----------
    kept : float array
        What a release counts, before noise.
    """

    frames: ClassVar[str]  # what is evaluated, in words

    kept: Floats = field(default_factory=lambda: np.zeros(0))

    @abstractmethod
    def _counted(self, person: Person | None) -> Floats:
        """The exact counts under a bound on persons, in counts rather than steps."""

    @abstractmethod
    def _total(self, counts: Floats) -> float:
        """The sum of all counts of disjoint places."""

    @abstractmethod
    def _sums(self, counts: Floats, workload: Any) -> Floats:
        """The answers to a workload that follow from counts."""

    @abstractmethod
    def _answered(self, estimate: Any, workload: Any) -> Floats:
        """The answers of a release to a workload."""

    @abstractmethod
    def _ends(self, estimate: Any, workload: Any, about: About) -> Floats:
        """The ends of the intervals of a release about its answers to a workload, (queries, 2)."""

    def _is_linear(self, estimate: Any) -> bool:  # noqa: ARG002 - subclasses know other kinds
        """Whether answers are sums of noisy counts, so that there are answers without noise, and intervals."""
        return True

    @classmethod
    @override
    def prepare(cls, *, epsilons: Sequence[Any], **parts: Any) -> Self:
        """Check all public parameters first; then count, once."""
        blank = cls(truths={}, records=0, **parts)
        if EARTH_MOVER in blank.metrics:
            raise ParameterError(
                f"{parameter('metrics')} holds {EARTH_MOVER!r}, which compares maps of cells; leave it out for "
                f"{cls.frames}."
            )
        for label in blank.mechanisms:
            for epsilon in epsilons:
                blank._prepared(label, epsilon)  # raises an error that says what is wrong with the parameters
        person = blank.person
        kept, true = blank._counted(person), blank._counted(unbounded(person))
        total = blank._total(true)
        answers = tuple(blank._sums(true, workload) for workload in blank.workloads)
        truth = Truth(answers, total, max(blank.floor_share * total, 1.0))
        records = total if person is None else blank._total(blank._counted(Person(records=MOST)))
        persons = None if person is None else round(blank._total(blank._counted(Person(shares=True))))
        return replace(blank, truths={None: truth}, records=int(records), persons=persons, kept=kept)

    @override
    def truth_of(self, label: str) -> Truth:  # noqa: ARG002 - all mechanisms have the same truth
        return self.truths[None]

    @override
    def run(self, trial: Trial) -> TrialResults:
        """Make one release and measure all metrics for all workloads."""
        estimate: Any = self._release(trial, SeededNoise(self.stream(trial))).estimate
        truth, measured = self.truths[None], []
        for index, (workload, answers) in enumerate(zip(self.workloads, truth.answers, strict=True)):
            outcome = self._outcome(estimate, workload, answers, truth)
            values_of = ((name, METRICS[name](outcome)) for name in self.metrics)
            measured += [(index, name, value) for name, value in values_of if value is not None]
        return measured

    def _outcome(self, estimate: Any, workload: Any, answers: Floats, truth: Truth) -> Outcome:
        """Return the answers of a release and the true ones."""
        values, linear = self._answered(estimate, workload), self._is_linear(estimate)
        wanted = linear and not estimate.biased and any(name in self.metrics for name in INTERVALS)
        return Outcome(
            answers=values,
            truth=answers,
            even=values,
            noise_free=self._sums(self.kept, workload) if linear else None,
            intervals=self._ends(estimate, workload, About.TRUTH) if wanted else None,
            noise_intervals=self._ends(estimate, workload, About.NOISE) if wanted else None,
            records=truth.total,
            floor=truth.floor,
        )


def unbounded(person: Person | None) -> Person | None:
    """Return the bound that cuts nothing off and counts the same things."""
    if person is None or person.bound is Bound.SHARES:
        return person
    return Person(records=MOST) if person.bound is Bound.RECORDS else Person(cells=MOST)
