"""How wrong are released tables? Queries name what they want along each axis, and true counts of cells are the truth.

A query is what `TableRelease.answer` takes: a zone, a time, a category, lists of these; the name of a level stands for
all its parts. Sums of whole cells have a truth that the cells tell. That of a box that cuts cells depends on places
within them, so such a box is refused; the map of a table has evaluations of boxes as any map has.

With a bound on persons, the truth is what would be counted if nothing of a person were cut off. Everything here is
computed from the records and is as private as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.answers import About
from spatialdp.estimates.tables.counts import TableCounts, sums_of
from spatialdp.evaluation.cache import TrialResults
from spatialdp.evaluation.frames.zones import unbounded
from spatialdp.evaluation.metrics import EARTH_MOVER, INTERVALS, METRICS, Outcome
from spatialdp.evaluation.trials import Experiment, Trial
from spatialdp.evaluation.truth import Truth
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.privacy.unit import MOST, Person
from spatialdp.records.rows.rows import count_rows
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.selection import Selection, parts_of, select
from spatialdp.wording import either, parameter, quoted

__all__ = ["TableExperiment", "TableWorkload", "table_workloads"]

_MOST_QUERIES = 2**22


@dataclass(frozen=True, eq=False)
class TableWorkload:
    """All combinations of what is asked along the axes, as queries.

    Attributes
    ----------
    name : str
    selections : tuple of Selection
        One for each axis, in the order of arrays; of whole cells.
    """

    name: str
    selections: tuple[Selection, ...]
    size: None = None

    def __len__(self) -> int:
        return prod(each.count for each in self.selections)


def table_workloads(frame: Frame, workload: Any) -> tuple[TableWorkload, ...]:
    """Return the queries that are to be evaluated.

    Parameters
    ----------
    frame : Frame
    workload : mapping of names to mappings of axes to queries, optional
        By default the total, all cells, and the finest parts of each axis by itself.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> kinds = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
    >>> frame = Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=kinds)
    >>> [(each.name, len(each)) for each in table_workloads(frame, None)]
    [('total', 1), ('box', 2), ('kind', 3), ('cells', 6)]
    >>> [len(each) for each in table_workloads(frame, {"thefts": {"box": "cells", "kind": "theft"}})]
    [2]
    """
    asked = _usual(frame) if workload is None else workload
    if not isinstance(asked, Mapping) or not asked or not all(isinstance(each, Mapping) for each in asked.values()):
        raise ParameterError(
            "the workload of an evaluation of tables is no mapping of names to queries; give one"
            f"{either(', such as {name: dict(zone=..., kind=...)}', '')}, where a query is a part, a list of parts, or "
            "the name of a level."
        )
    made = tuple(TableWorkload(str(name), _selections(frame, queries)) for name, queries in asked.items())
    for each in made:
        _check(each)
    return made


def _usual(frame: Frame) -> dict[str, dict[str, str]]:
    finest = {name: frame.axes[name].names[-1] for name in frame.names}
    alone: dict[str, dict[str, str]] = {name: {name: level} for name, level in finest.items()}
    return {"total": {}, **alone, "cells": finest} if len(alone) > 1 else {"total": {}, **alone}


def _selections(frame: Frame, queries: Mapping[str, Any]) -> tuple[Selection, ...]:
    unknown = [name for name in queries if name not in frame.axes]
    if unknown:
        raise ParameterError(
            f"{parameter(unknown[0])} is no axis of this table; its axes are {', '.join(frame.names)}. Ask for these."
        )
    return tuple(
        parts_of(axis, queries[name])
        if isinstance(queries.get(name), str) and queries[name] in axis.names
        else select(axis, queries.get(name))
        for name, axis in frame.axes.items()
    )


def _check(workload: TableWorkload) -> None:
    if not 0 < len(workload) <= _MOST_QUERIES:
        raise ParameterError(
            f"workload {quoted(workload.name)} has {len(workload):,} queries; at most {_MOST_QUERIES:,} are compared "
            "with the truth, and at least one. Ask for fewer parts."
        )
    if any(each.cut.any() for each in workload.selections):
        raise ParameterError(
            f"workload {quoted(workload.name)} has a box that cuts cells, whose true count the cells of a table do not "
            "tell; give boxes of whole cells, or evaluate boxes on a map without further axes."
        )


@dataclass(frozen=True, eq=False)
class TableExperiment(Experiment):
    """Everything that the trials of an evaluation of tables have in common; its domain is the frame.

    Attributes
    ----------
    kept : float array
        What a release counts in each cell, before noise.
    """

    kept: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    @override
    def prepare(cls, *, epsilons: Sequence[Any], **parts: Any) -> TableExperiment:
        """Check all public parameters first; then count the cells, once."""
        blank = cls(truths={}, records=0, **parts)
        if EARTH_MOVER in blank.metrics:
            raise ParameterError(
                f"{parameter('metrics')} holds {EARTH_MOVER!r}, which compares maps of cells; leave it out for tables."
            )
        for label in blank.mechanisms:
            for epsilon in epsilons:
                blank._prepared(label, epsilon)  # raises an error that says what is wrong with the parameters
        frame: Any = blank.domain
        person = blank.person
        kept, true = (_counts(blank.points, frame, bound) for bound in (person, unbounded(person)))
        total = float(true.sum())
        answers = tuple(sums_of(true, workload.selections).ravel() for workload in blank._workloads)
        truth = Truth(answers, total, max(blank.floor_share * total, 1.0))
        every = total if person is None else _counts(blank.points, frame, Person(records=MOST)).sum()
        persons = None if person is None else round(_counts(blank.points, frame, Person(shares=True)).sum())
        return replace(blank, truths={None: truth}, records=int(every), persons=persons, kept=kept)

    @property
    def _workloads(self) -> Sequence[TableWorkload]:
        workloads: Any = self.workloads
        return workloads  # type: ignore[no-any-return]

    @override
    def truth_of(self, label: str) -> Truth:  # noqa: ARG002 - all mechanisms have the same truth
        return self.truths[None]

    @override
    def run(self, trial: Trial) -> TrialResults:
        """Make one release and measure all metrics for all workloads."""
        estimate: Any = self._release(trial, SeededNoise(self.stream(trial))).estimate
        truth, measured = self.truths[None], []
        for index, (workload, answers) in enumerate(zip(self._workloads, truth.answers, strict=True)):
            outcome = self._outcome(estimate, workload, answers, truth)
            values_of = ((name, METRICS[name](outcome)) for name in self.metrics)
            measured += [(index, name, value) for name, value in values_of if value is not None]
        return measured

    def _outcome(self, estimate: Any, workload: TableWorkload, answers: Floats, truth: Truth) -> Outcome:
        """Return the answers of a release and the true ones; models of tables have no intervals, nor noise alone."""
        values, linear = estimate.sums(workload.selections).ravel(), estimate.kind == TableCounts.kind
        wanted = linear and not estimate.biased and any(name in self.metrics for name in INTERVALS)
        ends = {
            about: estimate.ends(workload.selections, self.level, about).reshape(-1, 2) if wanted else None
            for about in About
        }
        return Outcome(
            answers=values,
            truth=answers,
            even=values,
            noise_free=sums_of(self.kept, workload.selections).ravel() if linear else None,
            intervals=ends[About.TRUTH],
            noise_intervals=ends[About.NOISE],
            records=truth.total,
            floor=truth.floor,
        )


def _counts(points: Any, frame: Frame, person: Person | None) -> Floats:
    """Return the counts of all cells, in counts rather than steps."""
    return np.asarray(count_rows(points, frame, person) / (1 if person is None else person.steps), dtype=np.float64)
