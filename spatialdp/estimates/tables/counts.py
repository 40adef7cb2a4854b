"""Estimated counts of a table's cells, and what follows for any product of sets: the kind of estimate ``"table"``.

After the fit all sums agree, so the cells are all that a table holds: a county is the sum of its tracts, a day that of
its hours. The noise of each sum follows from what was measured (`noise`). This module reads no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.estimates.intervals import half_width
from spatialdp.estimates.tables.boxes import ManyMaps
from spatialdp.estimates.tables.noise import TableNoise
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.selection import Selection, everything
from spatialdp.trees.adjust import NonNegative, project_rows

__all__ = ["TableCounts", "drawable", "sums_of"]

_LARGEST_PROJECTION = 2**24  # cells


def sums_of(values: Floats, selections: Sequence[Selection]) -> Floats:
    """Return the sums of a table over all products of sets, (sets of the first axis, sets of the second, ...).

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
    >>> sums_of(np.array([[1.0, 2], [3, 4]]), frame.select({"kind": ["fraud"]})).tolist()
    [[7.0]]
    """
    # The axis on which most is left out comes first, so that the others have less to add up.
    for place in np.argsort([each.cells.size / each.size for each in selections]).tolist():
        values = np.moveaxis(selections[place].sums(np.moveaxis(values, place, -1)), -1, place)
    return values


def drawable(frame: Frame, values: Floats) -> Floats:
    """Return a table without negative values, to draw records from, that keeps totals of categories, ticks and blocks.

    Setting negative cells to 0 would add records to empty places. Nothing else is done to tables of more than 2^24
    cells, which are too large, and to those whose total is not above 0, which leaves nothing to keep.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
    >>> drawable(frame, np.array([[9.0, -2], [3, 4]])).tolist()
    [[7.0, 0.0], [3.0, 4.0]]
    """
    if values.size > _LARGEST_PROJECTION or values.min() >= 0 or values.sum() <= 0:
        return np.maximum(values, 0.0)
    rows = values.reshape(-1, frame.space.size)
    return project_rows(frame.space.shape, rows).reshape(values.shape)


@dataclass(frozen=True, eq=False)
class TableCounts(ManyMaps):
    """Estimated counts of the cells of a frame.

    Attributes
    ----------
    frame : Frame
    values : float array of ``frame.shape``
        Estimated counts; read-only.
    noise : TableNoise
    biased : bool
        Whether the errors of the estimates no longer average out.
    """

    kind: ClassVar[str] = "table"
    consistent: ClassVar[bool] = True  # sums of cells are sums

    frame: Frame
    values: Floats
    noise: TableNoise
    biased: bool = False

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64).view()
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @property
    def n_cells(self) -> int:
        """Number of cells of the table."""
        return self.frame.n_cells

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return float(self.values.sum())

    @property
    def step(self) -> float:
        """Width of the lattice on which the noise of the measurements lies."""
        return self.noise.step

    def sums(self, selections: Sequence[Selection]) -> Floats:
        """Return the sums of all products of sets, (sets of the first axis, sets of the second, ...)."""
        return sums_of(self.values, selections)

    def moments_of_sums(self, selections: Sequence[Selection]) -> tuple[Floats, Floats]:
        """Return variance and excess kurtosis of the noise in each of these sums."""
        return self.noise.moments(selections)

    def half_widths(self, selections: Sequence[Selection], level: float) -> Floats:
        """Return half the width of the interval of each of these sums, about noise."""
        variance, kurtosis = self.moments_of_sums(selections)
        return half_width(variance, kurtosis, self.step, level, whole=self.noise.in_steps(selections))

    def every(self) -> tuple[Selection, ...]:
        """Return the selections of all records: one set along each axis."""
        return tuple(everything(axis) for axis in self.frame.axes.values())

    def non_negative(self, method: NonNegative = NonNegative.FAMILIES) -> TableCounts:  # noqa: ARG002 - one way
        """A table with negative counts set to 0; biased."""
        return replace(self, values=np.maximum(self.values, 0.0), biased=True)

    def rounded(self) -> TableCounts:
        """A table of whole counts, each the nearest to the estimate; biased."""
        return replace(self, values=np.rint(self.values), biased=True)
