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
from spatialdp.estimates.answers import About, Answers
from spatialdp.estimates.tables.boxes import ManyMaps
from spatialdp.estimates.tables.noise import TableNoise, cut_sets
from spatialdp.estimates.unevenness.allowance import Allowance, Bracket, Sums
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

    def ends(self, selections: Sequence[Selection], level: float, about: About = About.TRUTH) -> Floats:
        """Return the ends of the interval of each of these sums, in the last dimension.

        About the truth, a sum that takes shares of cells has the sums without these cells, and with all of them, as its
        bracket: nothing is assumed about where in a cell its records are.
        """
        variance, kurtosis = (each.ravel() for each in self.moments_of_sums(selections))
        values, whole = self.sums(selections), self.noise.in_steps(selections).ravel()
        allowance = self._allowance(selections) if about is About.TRUTH else None
        ends = Answers(values.ravel(), variance, kurtosis, self.step, whole, allowance).ends(level)
        return ends.reshape(*values.shape, 2)

    def _allowance(self, selections: Sequence[Selection]) -> Allowance:
        """Return the sums of whole cells between which the truth of each of these sums lies."""
        cut = cut_sets(selections).ravel()
        nothing = np.zeros(cut.size)
        if not cut.any():
            return Allowance(nothing)
        inside, touched = (self._sums([getattr(each, part) for each in selections]) for part in ("inside", "touched"))
        return Allowance(nothing, bracket=Bracket(inside, touched, cut))

    def _sums(self, selections: Sequence[Selection]) -> Sums:
        variance, kurtosis = (each.ravel() for each in self.moments_of_sums(selections))
        return Sums(self.sums(selections).ravel(), variance, kurtosis)

    def every(self) -> tuple[Selection, ...]:
        """Return the selections of all records: one set along each axis."""
        return tuple(everything(axis) for axis in self.frame.axes.values())

    def non_negative(self, method: NonNegative = NonNegative.FAMILIES) -> TableCounts:  # noqa: ARG002 - one way
        """A table with negative counts set to 0; biased."""
        return replace(self, values=np.maximum(self.values, 0.0), biased=True)

    def rounded(self) -> TableCounts:
        """A table of whole counts, each the nearest to the estimate; biased."""
        return replace(self, values=np.rint(self.values), biased=True)
