"""How wrong are released tables? Queries name what they want along each axis, and true counts of cells are the truth.

A query is what `TableRelease.answer` takes: a zone, a time, a category, lists of these; the name of a level stands for
all its parts. The true counts of cells give the truth of sums of whole cells. The truth of a box that cuts cells
depends on places within them, so such a box is refused; to evaluate boxes, evaluate a map.

Everything here is computed from the records and is as private as they are (`counted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.answers import About
from spatialdp.estimates.tables.counts import TableCounts, sums_of
from spatialdp.evaluation.frames.counted import CountedExperiment
from spatialdp.privacy.unit import Person
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
class TableExperiment(CountedExperiment):
    """Everything that the trials of an evaluation of tables have in common; its domain is the frame."""

    frames: ClassVar[str] = "tables"

    @override
    def _counted(self, person: Person | None) -> Floats:
        points: Any = self.points
        frame: Any = self.domain
        counts = count_rows(points, frame, person)
        return np.asarray(counts / (1 if person is None else person.steps), dtype=np.float64)

    @override
    def _total(self, counts: Floats) -> float:
        return float(counts.sum())

    @override
    def _sums(self, counts: Floats, workload: TableWorkload) -> Floats:
        return sums_of(counts, workload.selections).ravel()

    @override
    def _answered(self, estimate: Any, workload: TableWorkload) -> Floats:
        return np.asarray(estimate.sums(workload.selections).ravel())

    @override
    def _ends(self, estimate: Any, workload: TableWorkload, about: About) -> Floats:
        return np.asarray(estimate.ends(workload.selections, self.level, about).reshape(-1, 2))

    @override
    def _is_linear(self, estimate: Any) -> bool:
        return bool(estimate.kind == TableCounts.kind)  # models of tables have no intervals, nor noise alone
