"""Which polygons stand for the zones of a level? Leaves as they are, and zones above them as unions of their leaves.

A level has the zones of its depth, and beside them the leaves above it, so that no part of the map stays empty. Zones
are public: nothing here is computed from records or from estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Floats, Integers, Integers32, Objects
from spatialdp._support.checks import whole_number
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.space.zones.frame import Zones
from spatialdp.wording import either, parameter, quoted

__all__ = ["ZoneAreas", "depth_of", "require_domain", "unions"]

_EQUAL_AREAS = "EPSG:6933"  # a projection of the whole world that keeps areas
_SQUARE_KILOMETRE = 1e6


def depth_of(zones: Zones, level: str | int | None) -> int:
    """Return the depth of a level, given its name or its number; by default that of the lowest level."""
    lowest = len(zones.levels) - 1
    if level is None:
        return lowest
    if isinstance(level, str):
        if level not in zones.levels:
            known = ", ".join(repr(name) for name in zones.levels)
            raise ParameterError(f"{parameter('level')} is {quoted(level)}; the levels of these zones are {known}.")
        return zones.levels.index(level)
    return whole_number(level, "level", 0, lowest)


def require_domain(zones: Zones) -> Domain:
    """Return the domain of zones that have polygons; the error for others says what to do."""
    if zones.domain is None or zones.geometry is None:
        raise ReleaseError(
            "the zones of this release are codes without polygons, but a place on a map needs polygons; release with "
            f"{either('Zones(areas, levels)', '--zones FILE')} and polygons, or save as .csv or .parquet and join your "
            "own."
        )
    return zones.domain


def unions(polygons: Objects, groups: Integers, count: int) -> Objects:
    """Return the union of the polygons of each group, given the number of each polygon's group.

    Boundaries of upper levels from another file need not agree with those of the leaves, and the parent of a hexagon is
    not the hexagon of its size. A union shows exactly the area whose records are counted.

    Examples
    --------
    >>> import shapely
    >>> squares = shapely.box(np.arange(3), 0, np.arange(1, 4), 1)
    >>> [area.bounds for area in unions(squares, np.array([1, 0, 0]), 2)]
    [(1.0, 0.0, 3.0, 1.0), (0.0, 0.0, 1.0, 1.0)]
    """
    import shapely

    order = np.argsort(groups, kind="stable")
    parts = np.split(polygons[order], np.searchsorted(groups[order], np.arange(count)))[1:]
    together = np.empty(count, dtype=object)
    # GEOS does the work of each union; a polygon by itself stays as it is, vertex by vertex.
    together[:] = [part[0] if part.size == 1 else shapely.union_all(part) for part in parts]
    return together


@dataclass(frozen=True, eq=False)
class ZoneAreas:
    """The zones of one level, as polygons that do not overlap.

    Attributes
    ----------
    zones : Zones
    depth : int
        The depth of the level; 0 is the root.

    Examples
    --------
    >>> import geopandas, shapely, spatialdp as sdp
    >>> squares = [shapely.box(x, 0, x + 1, 1) for x in range(3)]
    >>> columns = {"state": ["A", "A", "B"], "county": ["A1", "A2", "B1"]}
    >>> frame = geopandas.GeoDataFrame(columns, geometry=squares, crs="EPSG:4326")
    >>> areas = ZoneAreas(sdp.Zones(frame, levels=["state", "county"]), depth=1)
    >>> areas.zones.codes[areas.nodes].tolist(), areas.of_leaves.tolist()
    (['A', 'B'], [0, 0, 1])
    >>> [area.bounds for area in areas.geometry]
    [(0.0, 0.0, 2.0, 1.0), (2.0, 0.0, 3.0, 1.0)]
    """

    zones: Zones
    depth: int

    @classmethod
    def of(cls, zones: Zones, level: str | int | None = None) -> ZoneAreas:
        """Return the zones of a level, given its name or its number; kept, because unions take long."""
        kept: dict[int, ZoneAreas] = zones.__dict__.setdefault("_areas", {})
        depth = depth_of(zones, level)
        return kept.setdefault(depth, cls(zones, depth))

    @property
    def level(self) -> str:
        """The name of the level."""
        return self.zones.levels[self.depth]

    @cached_property
    def domain(self) -> Domain:
        """The bounds of all zones."""
        return require_domain(self.zones)

    @cached_property
    def nodes(self) -> Integers:
        """Numbers of the declared nodes: the zones of this depth, and the leaves above it."""
        shape = self.zones.shape
        return np.flatnonzero((shape.depth == self.depth) | (shape.leaves & (shape.depth < self.depth)))

    @cached_property
    def of_nodes(self) -> Integers:
        """Place in `nodes` of the zone that each declared node lies in; -1 for nodes above this level."""
        shape = self.zones.shape
        places = np.full(shape.n_nodes, -1, dtype=np.int64)
        places[self.nodes] = np.arange(self.nodes.size)
        for depth in range(self.depth + 1, shape.height + 1):
            level = shape.level(depth)
            places[level] = places[shape.parent[level]]
        return places

    @cached_property
    def of_leaves(self) -> Integers:
        """Place in `nodes` of the zone that each leaf lies in."""
        return self.of_nodes[np.flatnonzero(self.zones.shape.leaves)]

    @cached_property
    def geometry(self) -> Objects:
        """The polygon of each zone, in the domain's coordinates: a leaf's own, or the union of its leaves."""
        require_domain(self.zones)
        if self.depth == self.zones.shape.height:
            return np.asarray(self.zones.geometry, dtype=object)
        below = ZoneAreas.of(self.zones, self.depth + 1)
        return unions(below.geometry, self.of_nodes[below.nodes], self.nodes.size)

    def rings(self) -> list[Floats]:
        """Return the rings of all zones, outer and inner ones, as arrays of coordinates."""
        import shapely

        rings = shapely.get_rings(shapely.get_parts(self.geometry))
        vertices, of_ring = shapely.get_coordinates(rings, return_index=True)
        return np.split(vertices, np.flatnonzero(np.diff(of_ring)) + 1)

    @cached_property
    def boxes(self) -> Integers:
        """Lattice boxes around the zones."""
        import shapely

        boxes: Integers = self.domain.boxes(shapely.bounds(self.geometry))
        return boxes

    @cached_property
    def sizes(self) -> Floats:
        """Areas of the zones as shares of the domain's rectangle."""
        squares = np.bincount(self.of_leaves, weights=self.zones.leaf_areas, minlength=self.nodes.size)
        return np.asarray(squares / float(LATTICE) ** 2)

    @cached_property
    def square_kilometres(self) -> Floats:
        """Areas of the zones on the ground; only for a domain whose CRS says how large they are."""
        if self.depth < self.zones.shape.height:
            below = ZoneAreas.of(self.zones, self.depth + 1)
            places = self.of_nodes[below.nodes]
            return np.asarray(np.bincount(places, below.square_kilometres, self.nodes.size), dtype=np.float64)
        import geopandas

        leaves = geopandas.GeoSeries(self.geometry, crs=self.domain.crs)
        return np.asarray(leaves.to_crs(_EQUAL_AREAS).area.to_numpy() / _SQUARE_KILOMETRE)

    def numbers(self, shape: tuple[int, int]) -> Integers32:
        """Return the place in `nodes` of the zone at the centre of each pixel, (rows, columns); -1 where there is none.

        Row 0 is in the south. A pixel's centre is located as a record is.
        """
        columns, rows = (((2 * np.arange(count) + 1) * LATTICE) // (2 * count) for count in shape)
        x, y = (part.ravel().astype(np.int32) for part in np.meshgrid(columns, rows))
        leaves = self.zones.locator.leaves(x, y)
        found: Integers32 = np.append(self.of_leaves, -1)[leaves].astype(np.int32)
        return found.reshape(shape[1], shape[0])
