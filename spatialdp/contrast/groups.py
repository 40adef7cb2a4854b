"""What does a k-anonymous map tell? Groups of records, their ranges and sensitive values, and answers from them.

A group is the set of records that are published with the same ranges of identifiers. Whoever knows a person's
identifiers finds the person's group, by a `Locator`. Answers to boxes are certain bounds, which follow from the ranges
alone, and an estimate that spreads the records of a group evenly over its ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.contrast.checks import Checks, Distance
from spatialdp.contrast.identifiers import QuasiIdentifiers, Secrets
from spatialdp.contrast.mark import NotPrivate
from spatialdp.errors import ParameterError
from spatialdp.wording import parameter, quoted

if TYPE_CHECKING:
    import pandas

__all__ = ["BoxLocator", "Groups", "Locator", "Pairs"]

Pairs = tuple[Integers, Integers]  # persons, and groups that each may be in; sorted by person

_BLOCK = 2**22  # pairs of boxes and groups that are compared at a time


class Locator(Protocol):
    """Finds the groups whose published values cover a person."""

    def candidates(self, people: QuasiIdentifiers) -> Pairs:
        """Return pairs of a person and a group that covers the person; nobody has to be covered, or only once."""


@dataclass(frozen=True, eq=False, repr=False)
class BoxLocator(NotPrivate):
    """Finds all groups whose published ranges contain a person, for releases whose groups overlap.

    Attributes
    ----------
    lower, upper : (groups, columns) float arrays
        The ranges of each group; both ends belong to it. An infinite range stands for "any value".
    """

    lower: Floats
    upper: Floats

    def candidates(self, people: QuasiIdentifiers) -> Pairs:
        """Return all pairs of a person and a group whose ranges contain the person.

        Examples
        --------
        >>> boxes = BoxLocator(np.array([[20.0], [25.0]]), np.array([[29.0], [39.0]]))
        >>> boxes.candidates(QuasiIdentifiers.of({"age": [22, 27]}))
        (array([0, 1, 1]), array([0, 0, 1]))
        """
        found = [np.empty((2, 0), dtype=np.int64)]
        rows = max(1, _BLOCK // max(len(self.lower), 1))
        for start in range(0, len(people), rows):
            values = people.values.T[start : start + rows, None]
            inside = ((values >= self.lower) & (values <= self.upper)).all(axis=2)
            person, group = np.nonzero(inside)
            found.append(np.stack([person + start, group]))
        person, group = np.concatenate(found, axis=1)
        return person, group


@dataclass(frozen=True, eq=False, repr=False)
class Groups(NotPrivate):
    """A table or map whose records are published in groups, with the sensitive values of each group.

    Attributes
    ----------
    records : QuasiIdentifiers
        The true records.
    secrets : Secrets
        Their sensitive values.
    group : int array
        The group of each record; groups are numbered from 0, and none is empty.
    k : int
        The least number of records that a group was meant to have.
    locator : Locator
    boxed : bool
        Whether ranges are published, so that boxes can be answered; false for generalised categories.

    Examples
    --------
    >>> from spatialdp import contrast
    >>> points = np.array([[0.0, 0], [1, 1], [4, 0], [5, 1]])
    >>> groups = contrast.Mondrian(k=2).group(points, ["flu", "cold", "flu", "flu"])
    >>> groups.sizes.tolist(), groups.checks().distinct
    ([2, 2], 1)
    >>> groups.bounds((0, 0, 4.5, 1)).tolist(), groups.estimate((0, 0, 4.5, 1))
    ([2, 4], 3.0)
    """

    records: QuasiIdentifiers
    secrets: Secrets
    group: Integers
    k: int
    locator: Locator
    boxed: bool = True

    @cached_property
    def sizes(self) -> Integers:
        """Number of records in each group."""
        return np.bincount(self.group)

    @cached_property
    def counts(self) -> Integers:
        """How often each sensitive value occurs in each group, (groups, values)."""
        values = len(self.secrets.values)
        keys = self.group * values + self.secrets.codes
        return np.bincount(keys, minlength=self.sizes.size * values).reshape(-1, values)

    @cached_property
    def _by_group(self) -> tuple[Integers, Integers]:
        """The records in the order of their groups, and where each group begins."""
        return np.argsort(self.group, kind="stable"), np.cumsum(self.sizes) - self.sizes

    def members(self) -> tuple[Integers, Integers]:
        """Return the records in the order of their groups, and where each group begins in that order.

        Examples
        --------
        >>> from spatialdp import contrast
        >>> contrast.Mondrian(k=1).group([[5.0, 0], [1, 1]], ["a", "b"]).members()
        (array([1, 0]), array([0, 1]))
        """
        return self._by_group

    @cached_property
    def lower(self) -> Floats:
        """The least value of each column in each group, (groups, columns)."""
        return self._ends(np.minimum)

    @cached_property
    def upper(self) -> Floats:
        """The largest value of each column in each group, (groups, columns)."""
        return self._ends(np.maximum)

    def _ends(self, end: np.ufunc) -> Floats:
        order, starts = self._by_group
        return np.stack([end.reduceat(column[order], starts) for column in self.records.values], axis=1)

    def checks(self, distance: Distance = "equal") -> Checks:
        """Measure the groups: k, kinds of l-diversity, t-closeness, and how coarse they are.

        Parameters
        ----------
        distance : "equal", "ordered" or Taxonomy
            How far apart two sensitive values are, for t-closeness.

        Examples
        --------
        >>> from spatialdp import contrast
        >>> groups = contrast.Mondrian(k=2).group([[0.0, 0], [0, 0], [1, 1], [1, 1]], ["a", "b", "b", "b"])
        >>> groups.checks().k, groups.checks().distinct, groups.checks().t
        (2, 1, 0.25)
        """
        return Checks.of(self.counts, self.k, self.secrets.values, distance)

    def bounds(self, boxes: Any) -> Integers:
        """Return the least and the largest number of records that each box can hold, given the published ranges.

        Parameters
        ----------
        boxes : (2 d,) or (n, 2 d) array-like
            The lower ends of all columns and then their upper ends: (xmin, ymin, xmax, ymax) for points. Both ends
            belong to the box.

        Returns
        -------
        (2,) or (n, 2) int array
        """
        inside, touching = (self._answer(boxes, part) for part in (self._inside, self._touching))
        return np.rint(np.stack([inside, touching], axis=-1)).astype(np.int64)

    def estimate(self, boxes: Any) -> Any:
        """Estimate the number of records in boxes: the records of a group are spread evenly over its ranges.

        A column whose range is a single value counts as inside or outside. Whole numbers and categories have a width
        of 1, so that a range of 1976 to 1986 has eleven years.

        Parameters
        ----------
        boxes : as for `bounds`

        Returns
        -------
        float or array
        """
        values = self._answer(boxes, self._shares)
        return float(values) if values.ndim == 0 else values

    def _answer(self, boxes: Any, shares: Callable[[Floats, Floats], Array]) -> Floats:
        """Add up a share of the records of every group, for each box."""
        corners = np.asarray(boxes, dtype=np.float64)
        width = 2 * len(self.records.names)
        if not self.boxed:
            raise ParameterError(
                "the groups were made by generalising categories, which are no ranges, so boxes have no answer; group "
                "numbers with Mondrian."
            )
        if corners.shape[-1:] != (width,) or corners.ndim > 2 or np.isnan(corners).any():
            raise ParameterError(
                f"{parameter('boxes')} have the shape {quoted(corners.shape)}; give {width} numbers for each box: the "
                "lower ends of all columns and then the upper ends."
            )
        sizes, many = self.sizes.astype(np.float64), corners.reshape(-1, width)
        rows = max(1, _BLOCK // sizes.size)
        blocks = (np.split(many[start : start + rows], 2, axis=1) for start in range(0, len(many), rows))
        answers = np.concatenate([shares(low, high) @ sizes for low, high in blocks])
        return np.asarray(answers[0] if corners.ndim == 1 else answers)

    def _inside(self, low: Floats, high: Floats) -> Booleans:
        """Which groups lie in each box, (boxes, groups)."""
        inside = np.ones((len(low), self.sizes.size), dtype=bool)
        for column, (least, largest) in enumerate(zip(self.lower.T, self.upper.T, strict=True)):
            inside &= (least >= low[:, column, None]) & (largest <= high[:, column, None])
        return inside

    def _touching(self, low: Floats, high: Floats) -> Booleans:
        """Which groups have a place in common with each box, (boxes, groups)."""
        touching = np.ones((len(low), self.sizes.size), dtype=bool)
        for column, (least, largest) in enumerate(zip(self.lower.T, self.upper.T, strict=True)):
            touching &= (least <= high[:, column, None]) & (largest >= low[:, column, None])
        return touching

    def _shares(self, low: Floats, high: Floats) -> Floats:
        """Which share of each group's ranges lies in each box, (boxes, groups)."""
        shares = self._touching(low, high).astype(np.float64)
        for column, step in enumerate(self.records.steps):
            least, largest = self.lower[:, column], self.upper[:, column]
            common = np.minimum(largest, high[:, column, None]) - np.maximum(least, low[:, column, None]) + step
            width = largest - least + step
            shares *= np.where(width > 0, np.clip(common / np.where(width > 0, width, 1.0), 0, 1), 1.0)
        return shares

    def to_frame(self) -> pandas.DataFrame:
        """Return what would be published, a row for each record: exactly what not to publish.

        Examples
        --------
        >>> from spatialdp import contrast
        >>> contrast.Mondrian(k=1).group([[5.0, 0], [1, 1]], ["a", "b"]).to_frame().columns.tolist()
        ['group', 'x_low', 'x_high', 'y_low', 'y_high', 'sensitive', 'note']
        """
        import pandas

        columns: dict[str, Any] = {"group": self.group}
        for number, name in enumerate(self.records.names):
            columns[f"{name}_low"] = self.lower[self.group, number]
            columns[f"{name}_high"] = self.upper[self.group, number]
        columns["sensitive"] = np.array(self.secrets.values, dtype=object)[self.secrets.codes]
        return pandas.DataFrame(columns | {"note": self.NOTE})
