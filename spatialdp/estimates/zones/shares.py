"""How much of each leaf zone lies in a box or polygon? Shares of areas, as sets of leaves.

A leaf is found by its bounding box (a tree of boxes in GEOS), and only leaves that the border of an area cuts are
clipped. Records are located by lattice squares, so an overlap thinner than a square is none: a leaf's share is rounded
to 0 or 1 if less than a square's width along the leaf's border is missing. So an area made of whole zones, drawn from
the same file, is exactly the set of these zones.

Zones and areas are public. Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, Objects
from spatialdp.estimates.zones.sets import NodeSets
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import CRUMB, Polygons, areas_only

__all__ = ["LeafAreas"]

_MOST_CRUMB = 1e-3  # of a leaf's area, which may be rounded off, even if the leaf has few lattice squares


@dataclass(frozen=True, eq=False)
class LeafAreas:
    """The areas of the leaf zones.

    Attributes
    ----------
    polygons : (leaves,) array of shapely polygons
    domain : Domain
        The frame whose lattice records lie on.
    """

    polygons: Polygons
    domain: Domain

    def boxes(self, boxes: Integers) -> Polygons:
        """Return lattice boxes as polygons; an empty one for a box without any area."""
        import shapely

        sides = [axis.coordinates(boxes[:, index]) for index, axis in enumerate(self.domain.axes * 2)]
        polygons: Objects = np.asarray(shapely.box(*sides), dtype=object)
        polygons[(boxes[:, 0] >= boxes[:, 2]) | (boxes[:, 1] >= boxes[:, 3])] = shapely.Polygon()
        return polygons

    def of(self, polygons: Polygons) -> NodeSets:
        """Return the leaves that each polygon touches, by their numbers, with their covered shares."""
        import shapely

        owner, leaf = self._index.query(polygons, predicate="intersects")
        order = np.lexsort((leaf, owner))
        owner, leaf = owner[order].astype(np.int64), leaf[order].astype(np.int64)
        share = np.ones(leaf.size)
        cut = np.flatnonzero(~self._covers(polygons, owner, leaf))
        pieces = areas_only(np.asarray(shapely.intersection(self.polygons[leaf[cut]], polygons[owner[cut]])))
        with np.errstate(divide="ignore", invalid="ignore"):
            share[cut] = shapely.area(pieces) / self._area[leaf[cut]]
        crumb = self._rounding[leaf]
        share = np.where(share > 1 - crumb, 1.0, share)
        kept = share > crumb  # also drops NaN, of leaves without area
        return NodeSets(polygons.size, owner[kept], leaf[kept], share[kept])

    def _covers(self, polygons: Polygons, owner: Integers, leaf: Integers) -> Booleans:
        """Whether the polygon of each pair covers the leaf of the pair; for boxes, bounds tell."""
        import shapely

        outer, inner = shapely.bounds(polygons)[owner], self._bounds[leaf]
        covers: Booleans = np.all((outer[:, :2] <= inner[:, :2]) & (inner[:, 2:] <= outer[:, 2:]), axis=1)
        shapely.prepare(polygons)
        doubtful = np.flatnonzero(covers & ~_are_boxes(polygons)[owner])
        covers[doubtful] = shapely.covers(polygons[owner[doubtful]], self.polygons[leaf[doubtful]])
        return covers

    @cached_property
    def lattice_boxes(self) -> Integers:
        """The smallest lattice boxes around the leaves, (leaves, 4)."""
        boxes = self.domain.boxes(self._bounds)
        boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
        return boxes

    @cached_property
    def _index(self) -> Any:
        import shapely

        return shapely.STRtree(self.polygons)

    @cached_property
    def _bounds(self) -> Floats:
        import shapely

        return np.asarray(shapely.bounds(self.polygons))

    @cached_property
    def _area(self) -> Floats:
        import shapely

        return np.asarray(shapely.area(self.polygons))

    @cached_property
    def _rounding(self) -> Floats:
        """The share of each leaf's area that is rounded off: a lattice square's width along its border."""
        import shapely

        width = max(axis.spacing for axis in self.domain.axes)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = width * shapely.length(self.polygons) / self._area
        return np.asarray(np.clip(np.nan_to_num(share, nan=_MOST_CRUMB), CRUMB, _MOST_CRUMB))


def _are_boxes(polygons: Polygons) -> Booleans:
    """Whether each polygon fills its bounding box."""
    import shapely

    xmin, ymin, xmax, ymax = shapely.bounds(polygons).T
    return np.asarray(
        (shapely.get_num_coordinates(polygons) == 5) & (shapely.area(polygons) == (xmax - xmin) * (ymax - ymin))
    )
