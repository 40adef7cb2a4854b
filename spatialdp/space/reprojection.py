"""How do coordinates get from one CRS to another? Public geometry by itself, records only if the user asks for it.

A line that is straight in one CRS is curved in another. So the edges of public geometry are divided, until the straight
pieces between the moved corners keep close to the true lines (`TOLERANCE`), and only then is the geometry moved
(`reproject`). Records are single places and need no such care. They are moved one by one by one operation, which is
chosen from public values, and no record is judged: one that cannot be moved becomes not finite, and counts nowhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers, Objects
from spatialdp.errors import CRSMismatchError
from spatialdp.space import crs as crs_

__all__ = ["TOLERANCE", "in_crs", "point_transformation", "reproject"]

TOLERANCE = 1e-6  # distance of straight pieces from the true lines, as a share of the geometries' extent

_MOST_PLACES = 2**22  # corners that divided edges may have
_ROUNDS = 8
_INNER = (0.25, 0.5, 0.75)  # where along an edge its distance from the true line is measured


def point_transformation(
    source: Any, target: Any, bounds: Sequence[float]
) -> Callable[[Array, Array], tuple[Floats, Floats]]:
    """Return the function that takes columns of x and y from one CRS to another, for records in a domain.

    Parameters
    ----------
    source, target
        CRS of the records and CRS of the domain.
    bounds : (xmin, ymin, xmax, ymax)
        Public bounds of the domain. Of several operations, that for this area is taken, and used for all records.

    Examples
    --------
    >>> to_metres = point_transformation("EPSG:4326", "EPSG:3857", (0, 0, 200_000, 200_000))
    >>> x, y = to_metres(np.array([1.0, 500.0]), np.array([0.0, 95.0]))  # no latitude is 95
    >>> x.round().tolist(), y.round(6).tolist()
    ([111319.0, inf], [0.0, inf])
    """
    from pyproj import CRS
    from pyproj.transformer import TransformerGroup

    systems = CRS.from_user_input(source), CRS.from_user_input(target)
    with warnings.catch_warnings():  # pyproj warns where a better operation needs a file that is not installed
        warnings.simplefilter("ignore")
        operations = TransformerGroup(*systems, always_xy=True, area_of_interest=_area(systems[1], bounds)).transformers
    if not operations:
        raise CRSMismatchError(
            f"the points have CRS {crs_.canonical(source)} and were to be reprojected to {crs_.canonical(target)}, but "
            "pyproj knows no way from one to the other; reproject them with another tool first."
        )
    operation = operations[0]

    def transform(x: Array, y: Array) -> tuple[Floats, Floats]:
        with np.errstate(all="ignore"):  # a warning would tell that such a record exists
            columns = [np.array(values, dtype=np.float64) for values in (x, y)]
            east, north = operation.transform(columns[0], columns[1], errcheck=False)
        return np.asarray(east), np.asarray(north)

    return transform


def _area(system: Any, bounds: Sequence[float]) -> Any:
    """Return the domain's area in degrees, as pyproj wants it; None if it has no finite extent."""
    from pyproj import Transformer
    from pyproj.aoi import AreaOfInterest

    degrees = Transformer.from_crs(system, "EPSG:4326", always_xy=True)
    xmin, ymin, xmax, ymax = bounds
    sides = degrees.transform_bounds(xmin, ymin, xmax, ymax, errcheck=False)
    return AreaOfInterest(*sides) if np.isfinite(sides).all() else None


def in_crs(name: str, shapes: Objects, own: Any, crs: str | None, middle: float | None = None) -> Objects:
    """Return public geometries in a CRS: as they are if it is their own, and reprojected otherwise.

    If only one of the two is known, the geometries, called `name` in the error, are refused.
    """
    if own is None or crs is None or crs_.same(own, crs):
        crs_.require_same(name, own, crs)
        return shapes
    return reproject(name, shapes, own, crs, middle)


def reproject(name: str, shapes: Objects, source: Any, target: Any, middle: float | None = None) -> Objects:
    """Return public polygons or lines in another CRS, with edges divided so that they keep to the true lines.

    Parameters
    ----------
    name : str
        What the geometries are called in errors, in the plural.
    shapes : array of shapely geometries
    source, target
        CRS of the geometries, and the CRS that is wanted.
    middle : float, optional
        For a target CRS in degrees: the longitude in the middle of the domain. Longitudes are then those of the half
        turns on either side of it; by default, on either side of the first corner, and from 0 to 360 for geometries
        across the antimeridian.

    Raises
    ------
    CRSMismatchError
        If a place has no coordinates in the target CRS, or an edge runs across the line at which that CRS is cut.

    Examples
    --------
    >>> import shapely
    >>> (box,) = reproject("boxes", np.array([shapely.box(0, 0, 40, 40)]), "EPSG:4326", "EPSG:3035")
    >>> bool(shapely.get_num_coordinates(box) > 1000)  # edges that were straight in degrees are curves in this CRS
    True
    """
    import shapely

    flat: Objects = shapely.force_2d(shapes)
    move = _mover(flat, source, target, middle)
    for _ in range(_ROUNDS):
        lengths, count = _divide(flat, move)
        if not count:
            return _moved(flat, move)
        if count > _MOST_PLACES:
            break
        flat = shapely.segmentize(flat, lengths)
    raise CRSMismatchError(
        f"the {name} are in CRS {crs_.canonical(source)} and cannot be drawn in {crs_.canonical(target)}: a part has "
        "no coordinates there, or runs across the line at which that CRS is cut. Cut that part off, or give the "
        f"{name} in {crs_.canonical(target)}."
    )


def _mover(shapes: Objects, source: Any, target: Any, middle: float | None) -> Callable[[Floats], Floats]:
    """Return the function that moves (n, 2) coordinates to the target CRS."""
    import shapely
    from pyproj import CRS, Transformer

    systems = CRS.from_user_input(source), CRS.from_user_input(target)
    transformer = Transformer.from_crs(*systems, always_xy=True)

    def move(places: Floats) -> Floats:
        return np.stack(transformer.transform(places[:, 0], places[:, 1], errcheck=False), axis=1)

    if not systems[1].is_geographic:
        return move
    turn = 2 * np.pi / systems[1].axis_info[0].unit_conversion_factor  # 360 degrees, in the unit of the CRS
    places = shapely.get_coordinates(shapes)

    def move_near(places: Floats, centre: float) -> Floats:
        moved = move(places)
        with np.errstate(invalid="ignore"):
            moved[:, 0] = centre + np.remainder(moved[:, 0] - centre + turn / 2, turn) - turn / 2
        return moved

    if middle is None and places.size:
        middle = float(move(places[:1])[0, 0])
        if move_near(places, middle)[:, 0].min() < -turn / 2:  # across the antimeridian: from 0 to 360
            middle += turn
    return partial(move_near, centre=middle or 0.0)


def _divide(shapes: Objects, move: Callable[[Floats], Floats]) -> tuple[Floats, float]:
    """Return the greatest length of an edge, for each geometry, and the number of corners that this makes.

    The number is 0 if all edges keep to the true lines already, and infinite if a place has no coordinates.
    """
    import shapely

    lines, owner = _lines(shapes)
    points, line = shapely.get_coordinates(lines, return_index=True)
    joined = line[1:] == line[:-1]
    begin, end = points[:-1][joined], points[1:][joined]
    moved = move(points)
    if not np.isfinite(moved).all():
        return np.zeros(shapes.size), np.inf
    low, high = moved[:-1][joined], moved[1:][joined]
    distance = np.zeros(len(begin))
    for share in _INNER:
        true, straight = (one + share * (other - one) for one, other in ((begin, end), (low, high)))
        distance = np.maximum(distance, np.hypot(*(move(true) - straight).T))
    extent = np.ptp(moved, axis=0).max() if len(moved) else 0.0
    # The distance falls with the square of an edge's length. NaN and infinity ask for more pieces than are allowed.
    with np.errstate(invalid="ignore", divide="ignore"):
        pieces = np.nan_to_num(np.ceil(np.sqrt(distance / (TOLERANCE * extent))), nan=1.0, posinf=np.inf)
    if not (pieces > 1).any():
        return np.zeros(shapes.size), 0.0
    length = np.hypot(*(end - begin).T) / np.maximum(pieces, 1)
    lengths = np.full(shapes.size, np.hypot(*np.ptp(points, axis=0)))
    shape = owner[line[1:][joined]]
    np.minimum.at(lengths, shape[pieces > 1], length[pieces > 1])
    with np.errstate(divide="ignore"):
        count = np.ceil(np.hypot(*(end - begin).T) / lengths[shape]).sum()
    return lengths, float(count)


def _lines(shapes: Objects) -> tuple[Objects, Integers]:
    """Return the rings of polygons and the parts of lines, and the geometry that each belongs to."""
    import shapely

    parts, owner = shapely.get_parts(shapes, return_index=True)
    areas = shapely.get_dimensions(parts) == 2
    rings, part = shapely.get_rings(parts[areas], return_index=True)
    return np.concatenate([rings, parts[~areas]]), np.concatenate([owner[areas][part], owner[~areas]])


def _moved(shapes: Objects, move: Callable[[Floats], Floats]) -> Objects:
    """Move geometries; polygons that were valid stay valid, although rounding may let two corners meet."""
    import shapely

    moved: Objects = shapely.transform(shapes, move)
    torn = shapely.is_valid(shapes) & ~shapely.is_valid(moved)
    moved[torn] = shapely.make_valid(moved[torn], method="structure", keep_collapsed=False)
    return moved
