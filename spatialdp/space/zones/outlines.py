"""What are the areas of zones? Polygons, repaired if they are invalid, cut at 180 degrees, snapped to the lattice.

Very common files have polygons that touch or cross themselves, so these are repaired, and `Zones.check` tells which
ones. What has no area is refused by name.

Longitudes end at 180 degrees. A zone beyond it is cut there, and the part beyond is moved to the other end, unless all
zones together have longitudes from 0 to 360. An edge that spans more than 180 degrees of longitude is refused: it may
be meant to run the other way around the world.

Snapped outlines have their corners on lattice lines, by the records' own rule (`lattice.Axis.positions`). Two zones
with an edge in common have the same snapped edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Objects
from spatialdp.errors import ParameterError
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import COLLECTION, MULTIPOLYGON, POLYGON
from spatialdp.wording import either

__all__ = ["areas_of_zones", "cut_at_half_turn", "polygons_alone", "snapped", "within_half_turn"]

_HALF_TURN = 180.0  # degrees


def areas_of_zones(geometry: Any, codes: Objects, crs: str | None) -> tuple[Objects, Booleans]:
    """Return the areas of zones as valid polygons, and which ones had to be repaired.

    Raises
    ------
    ParameterError
        If a zone has no area, or an edge that may be meant to cross the antimeridian.
    """
    import shapely

    shapes: Objects = np.asarray(geometry, dtype=object).copy()
    kinds = shapely.get_type_id(shapes)
    _refuse(~np.isin(kinds, (POLYGON, MULTIPOLYGON, COLLECTION)), codes, "is not a polygon")
    shapes = shapely.force_2d(shapes)
    coordinates, owner = shapely.get_coordinates(shapes, return_index=True)
    strange = np.zeros(shapes.size, dtype=bool)
    strange[owner[~np.isfinite(coordinates).all(axis=1)]] = True
    _refuse(strange, codes, "has a corner that is not finite")
    degrees = crs_.geographic(crs)
    if degrees:
        _check_turns(shapes, codes)
    broken = ~shapely.is_valid(shapes) | (kinds == COLLECTION)
    shapes[broken] = polygons_alone(shapely.make_valid(shapes[broken], method="structure", keep_collapsed=False))
    _refuse(~(shapely.area(shapes) > 0), codes, "is empty")
    return (within_half_turn(shapes) if degrees else shapes), broken


def polygons_alone(shapes: Objects) -> Objects:
    """Return the polygons in geometries of any kind, as polygons or multipolygons; empty ones if there are none.

    Examples
    --------
    >>> import shapely
    >>> mixed = shapely.GeometryCollection([shapely.box(0, 0, 1, 1), shapely.Point(5, 5)])
    >>> polygons_alone(np.array([mixed], dtype=object))[0].wkt
    'POLYGON ((1 0, 1 1, 0 1, 0 0, 1 0))'
    """
    import shapely

    result: Objects = shapes.copy()
    for place in np.flatnonzero(~np.isin(shapely.get_type_id(shapes), (POLYGON, MULTIPOLYGON))):
        parts = shapely.get_parts(shapely.get_parts(shapes[place]))  # twice: multipolygons within collections
        areas = parts[shapely.get_type_id(parts) == POLYGON]
        result[place] = areas[0] if areas.size == 1 else shapely.MultiPolygon(list(areas))
    return result


def within_half_turn(shapes: Objects) -> Objects:
    """Return areas in degrees with longitudes from -180 to 180, cut there; all of them from 0 to 360 stay as they are.

    Examples
    --------
    >>> import shapely
    >>> fiji, rome = within_half_turn(np.array([shapely.box(177, -19, 182, -16), shapely.box(12, 41, 13, 42)]))
    >>> fiji.bounds
    (177.0, -19.0, 182.0, -16.0)
    >>> fiji, lima = within_half_turn(np.array([shapely.box(177, -19, 182, -16), shapely.box(-78, -13, -76, -11)]))
    >>> [part.bounds for part in fiji.geoms]
    [(-180.0, -19.0, -178.0, -16.0), (177.0, -19.0, 180.0, -16.0)]
    """
    import shapely

    low, _, high, _ = shapely.bounds(shapes).T
    beyond = np.zeros(shapes.size, dtype=bool)
    if low.min() < 0:
        beyond = (low < -_HALF_TURN) | (high > _HALF_TURN)
    if not beyond.any():
        return shapes
    result: Objects = shapes.copy()
    result[beyond] = cut_at_half_turn(shapes[beyond])
    return result


def cut_at_half_turn(shapes: Objects) -> Objects:
    """Cut areas in degrees at longitudes of -180 and 180, and move what is beyond to the other end.

    Examples
    --------
    >>> import shapely
    >>> (fiji,) = cut_at_half_turn(np.array([shapely.box(177, -19, 182, -16)]))
    >>> [part.bounds for part in fiji.geoms]
    [(-180.0, -19.0, -178.0, -16.0), (177.0, -19.0, 180.0, -16.0)]
    """
    import shapely

    world = shapely.box(-_HALF_TURN, -90, _HALF_TURN, 90)
    pieces = []
    for turn in (-2 * _HALF_TURN, 0.0, 2 * _HALF_TURN):
        moved = shapely.transform(shapes, lambda places, turn=turn: places + np.array([turn, 0.0]))
        pieces.append(polygons_alone(shapely.intersection(moved, world)))
    return polygons_alone(shapely.union_all(np.stack(pieces), axis=0))


def snapped(shapes: Objects, domain: Domain) -> Objects:
    """Return areas with their corners on the lattice lines of a domain: x and y count lattice squares from its corner.

    Rings may touch themselves or vanish, and so the result need not be valid: a place is inside if a ray from it
    crosses the rings an odd number of times (`location`).

    Examples
    --------
    >>> import shapely
    >>> (area,) = snapped(np.array([shapely.box(0, 0, 0.5, 0.75)]), Domain((0, 0, 1, 1)))
    >>> [bound / 2**30 for bound in area.bounds]
    [0.0, 0.0, 0.5, 0.75]
    """
    import shapely

    x, y = domain.axes

    def lines(places: Floats) -> Floats:
        return np.stack([x.positions(places[:, 0]), y.positions(places[:, 1])], axis=1).astype(np.float64)

    areas: Objects = shapely.transform(shapes, lines)
    return areas


def _check_turns(shapes: Objects, codes: Objects) -> None:
    """Refuse edges that span more than half a turn, unless both ends are at 180 degrees, as Antarctica's may be."""
    import shapely

    rings, of_shape = _rings(shapes)
    places, of_ring = shapely.get_coordinates(rings, return_index=True)
    wide = np.abs(np.diff(places[:, 0])) > _HALF_TURN
    wide &= of_ring[1:] == of_ring[:-1]
    at_end = np.abs(places[:, 0]) == _HALF_TURN
    wide &= ~(at_end[1:] & at_end[:-1])
    refused = np.zeros(shapes.size, dtype=bool)
    refused[of_shape[of_ring[1:][wide]]] = True
    _refuse(
        refused,
        codes,
        "has an edge of more than 180 degrees of longitude, which may be meant to cross the antimeridian",
        "Cut the zone at 180 degrees into two parts, or divide the edge",
    )


def _rings(shapes: Objects) -> tuple[Objects, Any]:
    """Return the rings of all polygons, and the geometry that each belongs to."""
    import shapely

    parts, of_shape = shapely.get_parts(shapes, return_index=True)
    parts, of_part = shapely.get_parts(parts, return_index=True)
    rings, of_piece = shapely.get_rings(parts, return_index=True)
    return rings, of_shape[of_part[of_piece]]


def _refuse(bad: Booleans, codes: Objects, why: str, advice: str | None = None) -> None:
    if bad.any():
        advice = advice or f"Leave the zone out, or give its area{either(' as a shapely Polygon or MultiPolygon', '')}"
        raise ParameterError(f"zone {codes[np.flatnonzero(bad)[0]]!r} {why}. {advice}.")
