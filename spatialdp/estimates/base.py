"""What can every kind of estimate do? The protocol that releases, files, maps and explorer pages rely on.

A release holds an estimate and does not ask of which kind. Publishers turn an estimate into rows,
map cells and page data by `functools.singledispatch` on its class. A new kind must be added to
`KINDS` and to every publisher; ``tests/contract/test_publishers.py`` checks that every publisher
knows every kind. An estimate holds released numbers only, and must not keep a record or a true count.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, Self

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.space.polygons import Polygons
from spatialdp.trees.adjust import NonNegative

__all__ = ["KINDS", "Estimate", "Unsmoothed", "moments_of"]

# The value of `kind` for each class of estimates, as release files name it.
KINDS = ("grid", "tree", "field", "zones", "table", "listed", "listed-map", "flows", "network")


class Estimate(Protocol):
    """Released numbers that answer boxes and know their own noise.

    Boxes are lattice boxes (m, 4); `Release` snaps coordinates to the lattice first. "Leaves" are the
    smallest areas that have an estimate of their own: the cells of a grid, the leaves of a tree.
    """

    kind: ClassVar[str]

    @property
    def biased(self) -> bool:
        """Whether the errors of the estimates no longer average out; a biased estimate has no intervals."""

    @property
    def unbiased(self) -> Estimate:
        """The estimate that intervals are made of: itself, unless it is smoothed."""

    @property
    def finest(self) -> Estimate:
        """The same estimates in the smallest areas that they differ in: the cells of a field; else itself."""

    @property
    def values(self) -> Floats:
        """All estimated counts: of the cells of a grid or field, (ny, nx), or of the nodes of a tree."""

    @property
    def step(self) -> float:
        """Width of the lattice on which the noise of the measurements lies; 0 if it is as good as continuous."""

    @property
    def leaf_steps(self) -> bool:
        """Whether the noise of each leaf's estimate is a whole multiple of `step`."""

    def in_steps(self, boxes: Integers) -> Booleans:
        """Whether the noise of each answer is a whole multiple of `step`: of whole cells, each measured by itself."""

    def polygons_in_steps(self, polygons: Polygons) -> Booleans:
        """Whether the noise of each polygon's answer is a whole multiple of `step`."""

    @property
    def n_cells(self) -> int:
        """Number of leaves in the region."""

    @property
    def total(self) -> float:
        """Estimated number of records."""

    @property
    def consistent(self) -> bool:
        """Whether the estimates of parts add up to that of the whole; `non_negative` and `rounded` need this."""

    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes; records are assumed to be evenly spread within a leaf."""

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each answer."""

    def allowance(self, boxes: Integers) -> Allowance:
        """What uneven spread within cut leaves adds to the error of each answer, as released numbers tell."""

    def polygon_allowance(self, polygons: Polygons) -> Allowance:
        """What uneven spread within cut leaves adds to the error of each polygon's answer."""

    def leaf_allowance(self) -> Allowance:
        """What uneven spread adds to the errors of whole leaves; nothing where leaves were measured."""

    @property
    def extrapolates(self) -> bool:
        """Whether an allowance may shift an answer; it does on trees of unequal leaves."""

    def uniformity(self, boxes: Integers) -> Floats:
        """About how far each answer can be off because records are not evenly spread within the leaves that a box cuts.

        The bound is the sum over cut leaves of the (noisy) estimate times the larger of the covered
        and the uncovered share.
        """

    def answer_polygons(self, polygons: Polygons) -> Floats:
        """Estimated counts of polygons; records are assumed to be evenly spread within a leaf."""

    def polygon_moments(self, polygons: Polygons) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each polygon's answer."""

    def leaf_boxes(self, numbers: Integers | slice = slice(None)) -> Integers:
        """Lattice boxes of all leaves, or of some leaves by their numbers."""

    def leaf_values(self) -> Floats:
        """Estimated counts of the leaves, in the order of `leaf_boxes`."""

    def leaf_moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each leaf's estimate: `moments` for all leaves at once."""

    def non_negative(self, method: NonNegative) -> Self:
        """An estimate without negative counts; biased."""

    def rounded(self) -> Self:
        """An estimate of whole counts; biased."""


class Unsmoothed:
    """An estimate that was not smoothed: intervals are made of it, and nothing is known of smaller areas."""

    @property
    def unbiased(self) -> Self:
        """The estimate that intervals are made of."""
        return self

    @property
    def finest(self) -> Self:
        """The same estimates in the smallest areas that they differ in."""
        return self


def moments_of(second: Floats, fourth: Floats) -> tuple[Floats, Floats]:
    """Variance and excess kurtosis from the second and fourth cumulants; without noise the kurtosis is 0.

    Examples
    --------
    >>> moments_of(np.array([2.0, 0.0]), np.array([12.0, 0.0]))
    (array([2., 0.]), array([3., 0.]))
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return second, np.where(second > 0, fourth / second**2, 0.0)
