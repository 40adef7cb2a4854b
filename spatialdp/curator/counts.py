"""How many records lie in boxes or polygons? Exact counts, and how far one record can move all of them together.

A record may lie in several boxes that overlap. The **depth** of boxes is the most of them that share a lattice square,
so that one record moves the counts by the depth, in L1 and in the square of L2; it is computed exactly, from public
edges alone. Polygons have a depth of 1, because a record counts in the first of them that contains it. For replacing a
record, and for sums of values, see `Areas.sensitivity` and ``docs/design/curator.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers, Objects
from spatialdp._support.override import override
from spatialdp.curator.answers import Answers, LawNoise
from spatialdp.curator.asks import Ask, law_facts
from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.statement import Privacy
from spatialdp.records.rows.held import HeldRecords
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.space.polygons import read_polygons
from spatialdp.space.questions import outside_polygons, require_inside
from spatialdp.wording import either, parameter, quoted

__all__ = ["Areas", "Boxes", "Count", "Polygons", "depth_of", "memberships", "one_area", "read_areas"]

MOST_COMPARED = 2000  # boxes whose depth is computed; it takes memory for the square of twice as many
_MOST_OVERLAPS = 64  # boxes whose overlaps are compared pair by pair
_MOST_VECTORS = 1000  # different sets of boxes that a record can be in


@dataclass(frozen=True, eq=False)
class Areas(ABC):
    """Public areas of a domain, whose records are counted, or whose values are added up.

    Attributes
    ----------
    single : bool
        Whether the caller gave one area and gets one number.
    """

    single: bool

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of areas."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """The most areas in which one record counts."""

    @abstractmethod
    def sums(self, held: HeldRecords, weights: Integers | None = None) -> Integers:
        """Return the exact number of records in each area, or the sum of their weights."""

    @abstractmethod
    def first(self, held: HeldRecords) -> Integers:
        """Return the first area that each record is in, by its place; -1 for a record in none."""

    @property
    @abstractmethod
    def extent(self) -> tuple[int, int, int, int]:
        """The lattice box (x0, y0, x1, y1) around all areas."""

    @property
    @abstractmethod
    def noun(self) -> str:
        """What the areas are: ``"boxes"`` or ``"polygons"``."""

    @property
    @abstractmethod
    def content(self) -> bytes:
        """The areas themselves, in order; equal only if every record is in the same areas of both."""

    def facts(self) -> dict[str, Any]:
        """Return the areas as public parameters of a statement."""
        return {self.noun: self.size, "depth": self.depth}

    def shaped(self, values: Floats) -> Any:
        """Return values of the areas as the caller gave the areas: one number, or an array."""
        return float(values[0]) if self.single else values

    @property
    def overlaps(self) -> tuple[Array, Array, Array]:
        """Worst cases of three numbers: areas of a record, areas of the record that replaces it, and areas of both.

        Both are in at most `depth` areas, and together in at most `size`. What they move is linear in the three
        numbers, so it is largest at a corner of these bounds.
        """
        depth, size = self.depth, self.size
        corners = [
            (depth, depth, max(0, 2 * depth - size)),
            (depth, depth, depth),
            (depth, min(depth, size - depth), 0),
        ]
        one, other, both = np.array(corners, dtype=object).T  # squares of many steps do not fit into 64 bits
        return one, other, both

    def sensitivity(self, neighbours: Neighbours, most: int = 1, between: int = 0) -> Sensitivity:
        """Return how far one record can move the sums of all areas.

        Parameters
        ----------
        neighbours : Neighbours
        most : int
            How far a record moves the sum of an area in which it comes to count; 1 for counts.
        between : int
            How far it moves that of an area in which it counts before and after it is replaced; 0 for counts.

        Notes
        -----
        A record that is added or removed moves the sums of the areas it is in, at most `depth`. One that is replaced
        leaves some areas, comes to others, and stays in those that are among both; see `overlaps`.
        """
        if neighbours is Neighbours.ADD_REMOVE:
            return Sensitivity(most * self.depth, most**2 * self.depth)
        one, other, both = self.overlaps
        apart = one + other - 2 * both
        l1, l2_squared = (int((most**power * apart + between**power * both).max()) for power in (1, 2))
        return Sensitivity(max(l1, most), max(l2_squared, most**2))  # boxes without any area count nothing


@dataclass(frozen=True, eq=False)
class Boxes(Areas):
    """Half-open boxes on the lattice."""

    boxes: Integers

    @property
    @override
    def size(self) -> int:
        return len(self.boxes)

    @cached_property
    def _depth(self) -> int:
        return depth_of(self.boxes)

    @property
    @override
    def depth(self) -> int:
        return self._depth

    @property
    @override
    def extent(self) -> tuple[int, int, int, int]:
        (x0, y0), (x1, y1) = self.boxes[:, :2].min(axis=0), self.boxes[:, 2:].max(axis=0)
        return int(x0), int(y0), int(x1), int(y1)

    @property
    @override
    def overlaps(self) -> tuple[Array, Array, Array]:
        vectors = memberships(self.boxes) if self.size > 1 else None
        if vectors is None:
            return super().overlaps
        sizes = vectors.sum(axis=1)
        both = (vectors @ vectors.T).astype(np.int64)
        return sizes[:, None], sizes[None], both

    @property
    @override
    def noun(self) -> str:
        return "boxes"

    @property
    @override
    def content(self) -> bytes:
        return self.boxes.astype("<i8").tobytes()

    @override
    def sums(self, held: HeldRecords, weights: Integers | None = None) -> Integers:
        return held.in_boxes(self.boxes, weights)

    @override
    def first(self, held: HeldRecords) -> Integers:
        return held.first_box(self.boxes)


@dataclass(frozen=True, eq=False)
class Polygons(Areas):
    """Polygons, of which a record counts in the first that contains it."""

    polygons: Objects
    domain: Domain

    @property
    @override
    def size(self) -> int:
        return len(self.polygons)

    @property
    @override
    def depth(self) -> int:
        return 1

    @property
    @override
    def extent(self) -> tuple[int, int, int, int]:
        import shapely

        x0, y0, x1, y1 = self.domain.boxes(shapely.total_bounds(self.polygons))[0].tolist()
        return x0, y0, min(x1 + 1, LATTICE), min(y1 + 1, LATTICE)

    @property
    @override
    def noun(self) -> str:
        return "polygons"

    @property
    @override
    def content(self) -> bytes:
        import shapely

        return b"".join(shapely.to_wkb(self.polygons, byte_order=1).tolist())

    @override
    def sums(self, held: HeldRecords, weights: Integers | None = None) -> Integers:
        first = self.first(held)
        inside = first >= 0
        sums = np.zeros(self.size, dtype=np.int64)
        np.add.at(sums, first[inside], 1 if weights is None else weights[inside])
        return sums

    @override
    def first(self, held: HeldRecords) -> Integers:
        return held.first_polygon(self.polygons)


def read_areas(areas: Any, domain: Domain) -> Areas:
    """Return boxes or polygons that a caller gave, checked: every one must share some area with the domain.

    Examples
    --------
    >>> import shapely
    >>> domain = Domain((0, 0, 4, 4))
    >>> read_areas((0, 0, 2, 2), domain).single, read_areas([(0, 0, 2, 2), (1, 1, 3, 3)], domain).depth
    (True, 2)
    >>> read_areas([shapely.box(0, 0, 2, 2), shapely.box(1, 1, 3, 3)], domain).depth
    1
    """
    if _are_polygons(areas):
        polygons = read_polygons(areas, domain)
        outside = np.flatnonzero(outside_polygons(polygons, domain))
        if outside.size:
            raise ParameterError(
                f"polygon {outside[0]} lies outside the domain {quoted(domain.bounds)}; every polygon must share some "
                "area with the domain. Leave it out, or check the CRS and the order of the coordinates."
            )
        return _at_least_one(Polygons(not np.ndim(areas), polygons, domain))
    boxes = domain.boxes(areas)
    require_inside(areas, domain, "areas")
    return _at_least_one(Boxes(np.ndim(areas) == 1, boxes))


def one_area(area: Any, domain: Domain) -> Areas:
    """Return one box or polygon that a caller gave, or the whole domain for None."""
    if area is None:
        return Boxes(True, np.array([[0, 0, LATTICE, LATTICE]]))
    areas = read_areas(area, domain)
    if not areas.single:
        raise ParameterError(
            f"{parameter('area')} has {areas.size} {areas.noun}; give one box "
            f"{either('(xmin, ymin, xmax, ymax)', 'XMIN,YMIN,XMAX,YMAX')} or one polygon."
        )
    return areas


def _are_polygons(areas: Any) -> bool:
    """Whether areas are geometries of shapely or geopandas, and not boxes of numbers."""
    if hasattr(areas, "geom_type") or hasattr(type(areas), "geom_type"):
        return True
    listed = isinstance(areas, list | tuple) or (isinstance(areas, np.ndarray) and areas.dtype == object)
    return listed and len(areas) > 0 and any(hasattr(each, "geom_type") for each in areas)


def _at_least_one(areas: Areas) -> Areas:
    if not areas.size:
        raise ParameterError("there are no areas to ask about; give at least one box or polygon.")
    return areas


def depth_of(boxes: Integers) -> int:
    """Return the largest number of boxes that share a lattice square, exactly; for more than 2,000 boxes, all of them.

    Every box adds 1 between its edges. The edges of all boxes divide the plane into cells of which each is in a box or
    not as a whole, so sums from the lower left over the changes at the corners are the numbers of boxes of all cells.

    Examples
    --------
    >>> depth_of(np.array([[0, 0, 2, 2], [1, 1, 3, 3], [2, 2, 4, 4]]))
    2
    """
    if len(boxes) > MOST_COMPARED:
        return len(boxes)
    if len(boxes) == 1:
        return 1
    (x, left, right), (y, low, high) = (_edges(boxes[:, [side, side + 2]]) for side in (0, 1))
    changes = np.zeros((x.size, y.size), dtype=np.int32)
    for corner, sign in (((left, low), 1), ((right, high), 1), ((left, high), -1), ((right, low), -1)):
        np.add.at(changes, corner, sign)
    np.cumsum(changes, axis=0, out=changes)
    np.cumsum(changes, axis=1, out=changes)
    return max(1, int(changes.max()))


def memberships(boxes: Integers) -> Integers | None:
    """Return in which boxes a record can be, as vectors of 0 and 1, and in none; None if there are too many of them.

    Examples
    --------
    >>> memberships(np.array([[0, 0, 2, 2], [1, 1, 3, 3]])).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if len(boxes) > _MOST_OVERLAPS:
        return None
    (x, left, right), (y, low, high) = (_edges(boxes[:, [side, side + 2]]) for side in (0, 1))
    across, along = (np.arange(edges.size)[:, None] for edges in (x, y))
    columns, rows = (across >= left) & (across < right), (along >= low) & (along < high)
    inside = (columns[:, None] & rows[None]).reshape(-1, len(boxes))
    packed = np.unique(np.packbits(np.vstack([inside, np.zeros(len(boxes), dtype=bool)]), axis=1), axis=0)
    if len(packed) > _MOST_VECTORS:
        return None
    return np.unpackbits(packed, axis=1, count=len(boxes)).astype(np.int64)


def _edges(ends: Integers) -> tuple[Integers, Integers, Integers]:
    """Return the different edges of boxes along an axis, and the first and the last edge of each box among them."""
    edges, places = np.unique(ends, return_inverse=True)
    first, last = places.reshape(-1, 2).T
    return edges, first, last


@dataclass(frozen=True)
class Count(Ask[Answers]):
    """The number of records in each of some public areas.

    Privacy
    -------
    Neighbours, unit and cost: those of the account. One record moves the counts as `Areas.sensitivity` says, and a
    person with at most L records L times as far. Noise of `spending`'s law is added to exact whole numbers. Brute force
    over boxes and records: ``tests/curator/test_counts.py``.
    """

    areas: Areas
    name = "count"

    @cached_property
    def law(self) -> NoiseLaw:
        """The noise in each count."""
        return self.spending.noise(self.frame.sensitivity(self.areas.sensitivity(self.frame.neighbours)))

    @override
    def facts(self) -> dict[str, Any]:
        return self.areas.facts() | law_facts(self.law)

    @override
    def answer(self, held: HeldRecords, noise: Noise, statement: Privacy) -> Answers:
        law = self.law
        counts = law.add_to(self.areas.sums(held), noise)
        return Answers(self.areas.shaped(counts), statement, LawNoise(law, least=0.0))
