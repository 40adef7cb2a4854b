"""Estimates by a network: what was measured, and what follows by the model. The kind of estimate ``"network"``.

The measured tables are noisy counts that know their noise. Everything else is the model's: the total times the product
of conditional shares. The model is not right but for the noise, so its answers have no intervals. This module reads no
record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NoReturn

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.errors import ReleaseError
from spatialdp.estimates.flows.fit import CountNoise
from spatialdp.estimates.intervals import half_width
from spatialdp.estimates.networks.model import Family, joint
from spatialdp.estimates.tables.boxes import ManyMaps
from spatialdp.estimates.tables.counts import sums_of
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.selection import Selection, everything
from spatialdp.trees.adjust import NonNegative
from spatialdp.wording import either

__all__ = ["LARGEST_MODEL", "NetworkCounts"]

LARGEST_MODEL = 2**24  # cells of a frame, of which the model makes a table
_LEAST_VARIANCE = 1e-150


@dataclass(frozen=True, eq=False)
class NetworkCounts(ManyMaps):
    """Noisy tables of attributes and their parents, and the model of all attributes that they make.

    Attributes
    ----------
    frame : Frame
    families : tuple of Family
        Each attribute with its parents; parents come first.
    tables : tuple of float arrays
        The noisy counts of each family.
    counted : float
        The noisy number of records, from its own measurement.
    cell, whole : CountNoise
        The noise of one count of a table, and of `counted`.
    """

    kind: ClassVar[str] = "network"
    consistent: ClassVar[bool] = True  # sums of the model's cells are sums
    biased: ClassVar[bool] = True  # a model is wrong by more than its noise

    frame: Frame
    families: tuple[Family, ...]
    tables: tuple[Floats, ...]
    counted: float
    cell: CountNoise
    whole: CountNoise

    @property
    def n_cells(self) -> int:
        """Number of cells of the table that the model makes."""
        return self.frame.n_cells

    @property
    def step(self) -> float:
        """Width of the lattice on which the noise of the measurements lies."""
        return self.cell.step

    @property
    def total(self) -> float:
        """Estimated number of records: the mean of all tables' totals, weighted by their noise."""
        sizes = np.array([table.size for table in self.tables])
        variances = np.maximum([self.whole.variance, *(sizes * self.cell.variance)], _LEAST_VARIANCE)
        return float(np.average([self.counted, *(table.sum() for table in self.tables)], weights=1 / variances))

    @cached_property
    def values(self) -> Floats:
        """What the model expects in each cell of the frame; none is negative."""
        return joint(self.frame, self.families, self.tables) * max(self.total, 0.0)

    def sums(self, selections: Sequence[Selection]) -> Floats:
        """Return the model's sums of all products of sets, (sets of the first axis, sets of the second, ...)."""
        return sums_of(self.values, selections)

    def every(self) -> tuple[Selection, ...]:
        """Return the selections of all records: one set along each axis."""
        return tuple(everything(axis) for axis in self.frame.axes.values())

    def half_width(self, level: float) -> float:
        """Return half the width of the interval of each measured count, about noise."""
        variance, kurtosis = np.array([self.cell.variance]), np.array([self.cell.kurtosis])
        return float(half_width(variance, kurtosis, self.cell.step, level, whole=True)[0])

    def non_negative(self, method: NonNegative = NonNegative.FAMILIES) -> NetworkCounts:  # noqa: ARG002 - one way
        """The same estimates: the model has no negative ones."""
        return self

    def rounded(self) -> NoReturn:
        """Refused: rounding the model's many small cells would lose most records."""
        raise ReleaseError(
            "estimates of a network are those of a model, most of whose cells hold less than one record, so that "
            f"rounding would lose them; draw whole records{either(' with sample()', ' with `spatialdp sample`')}."
        )
