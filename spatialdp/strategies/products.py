"""What does a workload of two dimensions ask of each axis of a grid? Weighted products of axis queries.

A workload is a weighted set of products of a query along x and one along y. Boxes are one product
each; unions of products of whole axis workloads describe, for example, both marginals. If a product
of strategies measures the grid, the mean variance of the workload is Σ weight x (variance along x)
x (variance along y), and strategies are optimised for that sum alone (``docs/design/tailored.md``).
Workloads are public. This module reads no record.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.space.coverage import Coverage, coverages
from spatialdp.space.domain import Grid
from spatialdp.space.lattice import box_array
from spatialdp.space.regions.extent import Extent
from spatialdp.strategies.axis_workload import AxisWorkload
from spatialdp.transforms.matrices import WindowAxis
from spatialdp.wording import either, parameter, quoted

__all__ = [
    "AxisQueries",
    "BoxQueries",
    "IntervalQueries",
    "ProductQueries",
    "box_queries",
    "parse_workload",
    "union_queries",
]

Ranges = str | tuple[tuple[int, int], ...]
Product = tuple[Ranges, Ranges, float]

# Workloads that have a name, as products of queries along x and along y.
NAMED: dict[str, tuple[tuple[str, str], ...]] = {
    "boxes": (("ranges", "ranges"),),
    "prefixes": (("prefixes", "prefixes"),),
    "cells": (("cells", "cells"),),
    "marginals": (("cells", "total"), ("total", "cells")),
}


class BoxQueries:
    """A workload of boxes in domain coordinates, all equally important; a repeated box counts twice.

    Workloads with equal boxes in the same order are equal. Privacy statements show a workload as text,
    which is short whatever the number of boxes.

    Examples
    --------
    >>> print(str(BoxQueries([(0, 0, 1, 1), (0, 0, 2, 1)]))[:24], "...")
    2 boxes, sha256 282e83eb ...
    """

    def __init__(self, boxes: npt.ArrayLike) -> None:
        corners = np.array(box_array(boxes)) + 0.0  # turns -0.0 into 0.0: they are equal, but their bytes are not
        if not len(corners):
            raise ParameterError(
                "the workload has no boxes; give at least one "
                f"{either('(xmin, ymin, xmax, ymax)', 'XMIN,YMIN,XMAX,YMAX')}."
            )
        corners.setflags(write=False)
        self.corners = corners

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the coordinates."""
        return hashlib.sha256(self.corners.astype("<f8").tobytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoxQueries) and np.array_equal(self.corners, other.corners)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"{len(self.corners)} boxes, sha256 {self.digest}"


def parse_workload(workload: Any) -> str | tuple[Product, ...] | BoxQueries:
    """Check a workload as a user gives it; returns a name, a union of weighted products, or boxes."""
    if isinstance(workload, BoxQueries):
        return workload
    if isinstance(workload, str):
        if workload.lower() in NAMED:
            return workload.lower()
    elif _is_array_of_numbers(workload):
        return BoxQueries(workload)
    elif isinstance(workload, Sequence) and len(workload):
        if len(workload) == 2 and not any(map(_is_product, workload)):
            return (_product(workload),)
        if all(map(_is_product, workload)):
            return tuple(map(_product, workload))
    names = ", ".join(map(repr, NAMED))
    raise ParameterError(
        f"{parameter('workload')} is {quoted(workload)}; it must be one of {names}, a pair of queries along x and y, a "
        f"list of such pairs (with a weight or without), or {either('an (m, 4) array of boxes', 'boxes')}."
    )


def _is_array_of_numbers(workload: Any) -> bool:
    """Whether a workload is an array of numbers in one or two dimensions."""
    try:
        return np.asarray(workload, dtype=np.float64).ndim in (1, 2)
    except (TypeError, ValueError):
        return False


def _is_product(item: Any) -> bool:
    """Whether an item is (x, y) or (x, y, weight), and not the queries of one axis."""
    listed = not isinstance(item, str) and isinstance(item, Sequence) and len(item) in (2, 3)
    return listed and all(isinstance(part, str) or _holds_pairs(part) for part in item[:2])


def _holds_pairs(part: Any) -> bool:
    return isinstance(part, Sequence | np.ndarray) and len(part) > 0 and all(np.shape(pair) == (2,) for pair in part)


def _product(item: Sequence[Any]) -> Product:
    x, y = (AxisWorkload(queries).plain for queries in item[:2])
    weight = item[2] if len(item) == 3 else 1.0
    if isinstance(weight, bool) or not isinstance(weight, float | int) or not 0 < weight < math.inf:
        raise ParameterError(f"the weight of a workload is {weight!r}; it must be a positive finite number.")
    return x, y, float(weight)


class AxisQueries(ABC):
    """The queries of a workload's products along one axis."""

    size: int

    @abstractmethod
    def gram(self, weights: Floats) -> Floats:
        """Weighted sum of the products' Gram matrices along this axis, (cells, cells)."""

    @abstractmethod
    def variances(self, axis: WindowAxis) -> Floats:
        """Variance of each product along this axis, for measurements of variance 1, (products,)."""

    @abstractmethod
    def ranges(self) -> list[tuple[int, int]]:
        """Ranges of cells that are queries of their own, and so may be worth measuring."""


@dataclass(frozen=True, eq=False)
class WorkloadQueries(AxisQueries):
    """Axis queries of which each product has a whole axis workload."""

    size: int
    workloads: tuple[AxisWorkload, ...]

    @override
    def gram(self, weights: Floats) -> Floats:
        total = np.zeros((self.size, self.size))
        for weight, workload in zip(weights, self.workloads, strict=True):
            total += weight * workload.gram(self.size)
        return total

    @override
    def variances(self, axis: WindowAxis) -> Floats:
        return np.array([axis.mean_square(workload.gram(self.size)) for workload in self.workloads])

    @override
    def ranges(self) -> list[tuple[int, int]]:
        listed = (workload.plain for workload in self.workloads)
        return [pair for queries in listed if not isinstance(queries, str) for pair in queries]


@dataclass(frozen=True, eq=False)
class IntervalQueries(AxisQueries):
    """Axis queries of which each product has one interval.

    Where an interval cuts a cell, the query takes the covered share of the cell, as answers do.

    Examples
    --------
    >>> lines = np.arange(5) * 2**28
    >>> half = IntervalQueries(4, Coverage.of(np.array([2**27]), np.array([2**29]), lines))
    >>> half.gram(np.array([1.0]))
    array([[0.25, 0.5 , 0.  , 0.  ],
           [0.5 , 1.  , 0.  , 0.  ],
           [0.  , 0.  , 0.  , 0.  ],
           [0.  , 0.  , 0.  , 0.  ]])
    """

    size: int
    coverage: Coverage

    @override
    def gram(self, weights: Floats) -> Floats:
        # From second differences: the coverage of an interval is a sum of four steps, at its knots.
        width, steps = self.size + 2, self.coverage.weights(1)
        corners = np.zeros(width * width)
        for row, along in zip(self.coverage.knots, steps, strict=True):
            for column, across in zip(self.coverage.knots, steps, strict=True):
                corners += np.bincount(row * width + column, weights * along * across, minlength=corners.size)
        total = corners.reshape(width, width)[:0:-1, :0:-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
        return np.asarray(total[: self.size, : self.size])

    @override
    def variances(self, axis: WindowAxis) -> Floats:
        return np.asarray(axis.powers(self.coverage)[0][0])

    @override
    def ranges(self) -> list[tuple[int, int]]:
        # Intervals, rounded to whole cells.
        ends = np.rint(np.stack([self.coverage.start, self.coverage.stop], axis=1)).astype(np.int64)
        return [(start, stop) for start, stop in np.unique(ends, axis=0).tolist() if start < stop]


A = TypeVar("A", bound=AxisQueries, covariant=True)


@dataclass(frozen=True, eq=False)
class ProductQueries(Generic[A]):
    """A workload on a grid: weighted products of queries along x and along y.

    Attributes
    ----------
    x, y : AxisQueries
    weights : (products,) array
        They add up to 1.
    digest : str
        SHA-256 of the workload and the grid; equal digests mean equal queries.
    """

    x: A
    y: A
    weights: Floats
    digest: str

    @property
    def sides(self) -> tuple[A, A]:
        """The queries along x and along y."""
        return self.x, self.y

    def mean(self, x: Floats, y: Floats) -> float:
        """Mean variance of the workload, from the variances of the products along x and along y."""
        return float(self.weights @ (x * y))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProductQueries) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def union_queries(products: Sequence[Product], shape: tuple[int, int]) -> ProductQueries[WorkloadQueries]:
    """The queries of a union of products of axis workloads, each of which counts by its weight."""
    x = WorkloadQueries(shape[0], tuple(AxisWorkload(queries) for queries, _, _ in products))
    y = WorkloadQueries(shape[1], tuple(AxisWorkload(queries) for _, queries, _ in products))
    weights = np.array([weight for *_, weight in products])
    digest = hashlib.sha256(json.dumps([tuple(products), shape]).encode()).hexdigest()
    return ProductQueries(x, y, weights / weights.sum(), digest)


def box_queries(boxes: BoxQueries, grid: Grid) -> ProductQueries[IntervalQueries]:
    """The queries of boxes, cut to the rectangle around the region's cells as for an answer."""
    inside, meets_region = Extent(grid).within(grid.domain.boxes(boxes.corners))
    empty = np.flatnonzero(~meets_region | (inside[:, 0] >= inside[:, 2]) | (inside[:, 1] >= inside[:, 3]))
    if empty.size:
        raise ParameterError(
            f"box {empty[0]} of the workload is {quoted(tuple(boxes.corners[empty[0]].tolist()))}, which has no area "
            f"in the domain {quoted(grid.domain.bounds)} and its region ({empty.size} such boxes in all); leave these "
            "boxes out: their answers are 0."
        )
    distinct, counts = np.unique(inside, axis=0, return_counts=True)
    table = np.column_stack([distinct, counts]).astype("<i8")
    digest = hashlib.sha256(json.dumps(grid.shape).encode() + table.tobytes())
    x, y = (IntervalQueries(size, along) for size, along in zip(grid.shape, coverages(grid, distinct), strict=True))
    return ProductQueries(x, y, counts / len(inside), digest.hexdigest())
