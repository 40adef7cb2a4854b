"""Which queries must one axis answer, and how much do they ask of each pair of cells? Their Gram matrix.

A strategy is optimised for the Gram matrix alone (``docs/design/tailored.md``), so every kind of
query comes down to that matrix here. This module reads no record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp._support.options import Option
from spatialdp.errors import ParameterError
from spatialdp.wording import either, quoted

__all__ = ["ALL_RANGES", "AxisWorkload"]


class QueryKind(Option):
    """The queries of one axis that have a name."""

    RANGES = "ranges"
    PREFIXES = "prefixes"
    CELLS = "cells"
    TOTAL = "total"
    MARGINAL = "marginal"


@dataclass(frozen=True)
class AxisWorkload:
    """The queries of one axis, all equally important.

    Parameters
    ----------
    queries : {"ranges", "prefixes", "cells", "total", "marginal"} or sequence of (start, stop)
        All ranges of cells; ranges that begin at the first cell; single cells; the whole axis; half of
        the weight on single cells and half on the whole axis; or a list of ranges of cells, in which a
        repeated range counts as often as it is listed.

    Examples
    --------
    >>> AxisWorkload("prefixes").gram(2) * 2
    array([[2., 1.],
           [1., 1.]])
    >>> AxisWorkload([(0, 2), (1, 2)]).gram(2) * 2
    array([[1., 1.],
           [1., 2.]])
    """

    queries: str | tuple[tuple[int, int], ...] = QueryKind.RANGES

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", _parsed(self.queries))

    @property
    def plain(self) -> str | tuple[tuple[int, int], ...]:
        """The queries as a plain string or as tuples of plain numbers."""
        return str(self.queries) if isinstance(self.queries, str) else self.queries

    def gram(self, size: int) -> Floats:
        """Gram matrix for an axis of `size` cells: the mean of w w' over the queries, w the 0-1 vector of a query."""
        if not isinstance(self.queries, str):
            return _gram_of_ranges(np.array(self.queries, dtype=np.int64), size)
        place = np.arange(size, dtype=np.float64)
        after = size - np.maximum(place[:, None], place)  # ranges with a given start that cover both cells
        if self.queries == QueryKind.RANGES:
            return np.asarray((np.minimum(place[:, None], place) + 1) * after / (size * (size + 1) / 2))
        if self.queries == QueryKind.PREFIXES:
            return np.asarray(after / size)
        whole = {QueryKind.CELLS: 0.0, QueryKind.MARGINAL: 0.5, QueryKind.TOTAL: 1.0}[QueryKind.parse(self.queries)]
        return np.asarray(whole + (1 - whole) * np.eye(size) / size)


def _parsed(queries: Any) -> str | tuple[tuple[int, int], ...]:
    if isinstance(queries, str):
        return QueryKind.parse(queries)
    try:
        pairs = [(start, stop) for start, stop in queries]
    except (TypeError, ValueError):
        pairs = []
    if not pairs:
        names = ", ".join(repr(str(kind)) for kind in QueryKind)
        raise ParameterError(
            f"the queries of an axis are {quoted(queries)}; give one of {names}, or ranges of cells "
            f"{either('(start, stop)', 'START,STOP')}."
        )
    ranges = tuple(
        (whole_number(a, "start of a range", 0, 2**30), whole_number(b, "stop of a range", 1, 2**30)) for a, b in pairs
    )
    if any(start >= stop for start, stop in ranges):
        raise ParameterError("a range of cells is empty; its start must be below its stop: write the start first.")
    return ranges


def _gram_of_ranges(ranges: Integers, size: int) -> Floats:
    if ranges.max() > size:
        raise ParameterError(
            f"a range of cells ends at {ranges.max()}, but the axis has {size} cells; give ranges within the axis."
        )
    corners = np.zeros((size + 1, size + 1))
    starts, stops = ranges.T
    for rows, columns, sign in ((starts, starts, 1), (starts, stops, -1), (stops, starts, -1), (stops, stops, 1)):
        np.add.at(corners, (rows, columns), sign / len(ranges))
    return np.asarray(corners.cumsum(axis=0).cumsum(axis=1)[:size, :size])


ALL_RANGES = AxisWorkload()
