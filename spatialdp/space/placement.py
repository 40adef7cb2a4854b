"""Do public values say that the input is in the wrong place? Then it is refused before anything is spent.

Swapped axes, degrees where metres are due and bounds in another order put records outside the domain, where they count
nowhere. A release would then spend its budget on nothing, and must not say so. But such mistakes can often be seen from
public values alone: the bounds, the CRS with its area of use, the names of columns. Everything here is about these. A
user who means what looks wrong can leave the CRS out, and then nothing is checked. Nothing here sees a record.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.errors import DomainError, PointsError
from spatialdp.wording import either, parameter, quoted

__all__ = ["check_column_names", "check_place", "ground_size"]

Bounds = tuple[float, float, float, float]

_SLACK = 15.0  # degrees around a CRS's area of use that are accepted, or as much as the area measures itself
_LIKE_DEGREES = (360.0, 90.0)  # coordinates within these could be longitudes and latitudes
_DIAGONAL = 0.02  # bounds so near to the diagonal, as a share of their width, are in another order
_WAY_OUT = f"If the bounds are meant like this, leave {either('the CRS', '--crs')} out."
_ORDER = either("(xmin, ymin, xmax, ymax)", "XMIN,YMIN,XMAX,YMAX")
_OTHER_ORDER = either("(xmin, xmax, ymin, ymax)", "XMIN,XMAX,YMIN,YMAX")

_X_NAMES = {"lon", "lng", "long", "longitude", "longitudes", "easting", "eastings"}
_Y_NAMES = {"lat", "lats", "latitude", "latitudes", "northing", "northings"}


@lru_cache(maxsize=256)
def check_place(bounds: Bounds, crs: str) -> None:
    """Refuse bounds that cannot be meant in their CRS.

    Raises
    ------
    DomainError
        If latitudes or longitudes are out of range, if degrees are given where the CRS is in metres or feet, if the
        four numbers are in another order, or if the bounds lie outside the CRS's area of use.

    Notes
    -----
    Around the area of use, 15 degrees or its own width and height are accepted as well, because a CRS is often used a
    little beyond its area. A CRS without an area of use, such as one of a building site, is checked only if it is in
    degrees.

    Examples
    --------
    >>> check_place((-79.7, 43.5, -79.1, 43.9), "EPSG:4326")
    >>> check_place((-79.7, 43.5, -79.1, 43.9), "EPSG:2154")
    Traceback (most recent call last):
    spatialdp.errors.DomainError: bounds are (-79.7, 43.5, -79.1, 43.9), which look like degrees, but EPSG:2154 ...
    """
    from pyproj import CRS

    system = CRS.from_user_input(crs)
    if system.is_geographic:
        _check_degrees(bounds, crs, math.radians(1) / system.axis_info[0].unit_conversion_factor)
    if system.area_of_use is None or not (system.is_geographic or system.is_projected):
        return
    if system.is_projected:
        _check_lengths(bounds, crs, system)
    _check_area(bounds, crs, system)


def _check_degrees(bounds: Bounds, crs: str, degree: float) -> None:
    """Check bounds in a geographic CRS, of which `degree` is a degree in the unit of the CRS."""
    xmin, ymin, xmax, ymax = (value / degree for value in bounds)
    if max(-ymin, ymax) > 90:
        swapped = max(-xmin, xmax) <= 90 and max(-ymin, ymax) <= 360
        advice = (
            "x and y seem to be swapped: give longitudes as x and latitudes as y."
            if swapped
            else "Give longitudes as x and latitudes as y, in degrees, or the CRS that the numbers are in."
        )
        raise DomainError(
            f"{parameter('bounds')} are {quoted(bounds)}, and so have latitudes (ymin and ymax) beyond 90 degrees, "
            f"but {crs} is in degrees; the order is {_ORDER}. {advice}"
        )
    if max(-xmin, xmax) > 360 or xmax - xmin > 360:
        raise DomainError(
            f"{parameter('bounds')} are {quoted(bounds)}, and so have longitudes (xmin and xmax) beyond a full turn, "
            f"but {crs} is in "
            "degrees; give longitudes from -180 to 180, or from 0 to 360 for an area across the antimeridian."
        )
    # City bounds in the order (xmin, xmax, ymin, ymax) become a large square along the diagonal x = y.
    if 0 < ymin - xmin < _DIAGONAL * (xmax - xmin) and 0 < ymax - xmax < _DIAGONAL * (xmax - xmin):
        raise DomainError(
            f"{parameter('bounds')} are {quoted(bounds)}, in which x and y have almost the same range; they seem to "
            f"be in the order {_OTHER_ORDER}, but {_ORDER} is required. {_WAY_OUT}"
        )


def _check_lengths(bounds: Bounds, crs: str, system: Any) -> None:
    """Check that bounds in a projected CRS, whose unit is a length, are not degrees."""
    xmin, ymin, xmax, ymax = bounds
    if max(-xmin, xmax) <= _LIKE_DEGREES[0] and max(-ymin, ymax) <= _LIKE_DEGREES[1]:
        unit = system.axis_info[0].unit_name
        raise DomainError(
            f"{parameter('bounds')} are {quoted(bounds)}, which look like degrees, but {crs} has the unit {unit}; "
            f"give the bounds in that unit, or the CRS that they are in, such as EPSG:4326. {_WAY_OUT}"
        )


def _check_area(bounds: Bounds, crs: str, system: Any) -> None:
    """Check that bounds lie in the CRS's area of use, or near it."""
    west, south, east, north = system.area_of_use.bounds
    width, height = (east - west) % 360 or 360.0, north - south
    longitude, latitude = _degrees(bounds, system)
    known = np.isfinite(longitude + latitude)  # a world map may have corners that are no place on earth
    longitude, latitude = longitude[known], latitude[known]
    # Distances from the area, in degrees of latitude: meridians come together towards the poles.
    from_middle = np.abs((longitude - (west + width / 2) + 180) % 360 - 180)
    beside = np.maximum(from_middle - width / 2, 0.0) * np.cos(np.radians(latitude))
    above = np.maximum(np.maximum(latitude - north, south - latitude), 0.0)
    if not known.any() or np.any(beside > max(width, _SLACK)) or np.any(above > max(height, _SLACK)):
        raise DomainError(
            f"{parameter('bounds')} are {quoted(bounds)}, which lie outside the area in which {crs} is used: "
            f"longitudes {west:g} to "
            f"{east:g} and latitudes {south:g} to {north:g}. Check that the CRS is the one that the numbers are in, "
            f"and that their order is {_ORDER}, x being east. {_WAY_OUT}"
        )


def _degrees(bounds: Bounds, system: Any) -> tuple[Floats, Floats]:
    """Return longitudes and latitudes of corners, sides and centre of the bounds; not finite where there are none."""
    from pyproj import Transformer
    from pyproj.exceptions import ProjError

    xmin, ymin, xmax, ymax = bounds
    x, y = np.meshgrid(np.linspace(xmin, xmax, 3), np.linspace(ymin, ymax, 3))
    try:
        transformer = Transformer.from_crs(system, "EPSG:4326", always_xy=True)
    except ProjError:
        raise DomainError(
            f"{parameter('crs')} is {system.name!r}, which pyproj cannot convert to longitude and latitude, so that "
            f"the place of the bounds cannot be checked; give another CRS. {_WAY_OUT}"
        ) from None
    longitude, latitude = transformer.transform(x.ravel(), y.ravel(), errcheck=False)
    return longitude, latitude


def check_column_names(x: str | None, y: str | None) -> None:
    """Refuse columns of coordinates that are named like the other axis.

    The names are the user's own, so that nothing is learnt about a file. Plain ``x`` and ``y`` are never refused: in
    some countries x is north.

    Raises
    ------
    PointsError

    Examples
    --------
    >>> check_column_names("start_lon", "start_lat")
    >>> check_column_names("Latitude", "Longitude")
    Traceback (most recent call last):
    spatialdp.errors.PointsError: x is the column 'Latitude' and y is 'Longitude', which are named like the other ...
    """
    x_words, y_words = _words(x), _words(y)
    x_wrong = bool(x_words & _Y_NAMES) and not x_words & _X_NAMES
    y_wrong = bool(y_words & _X_NAMES) and not y_words & _Y_NAMES
    if x_wrong or y_wrong:
        raise PointsError(
            f"{either('x', '--x')} is the column {x!r} and {either('y', '--y')} is {y!r}, which are named like "
            "the other axis; x must be longitude or easting, and y latitude or northing. Swap them, or rename "
            "the columns if the names are wrong."
        )


def _words(name: str | None) -> set[str]:
    """Return the words of a column's name, in lower case: "startLat_deg" is start, lat and deg."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name or "")
    return set(re.split(r"[\W\d_]+", spaced.lower()))


def ground_size(bounds: Bounds, crs: str | None) -> tuple[float, float] | None:
    """Return width and height of the bounds on the ground, in metres, along their middle lines.

    None if there is no CRS, or if the CRS does not say how long its units are.

    Examples
    --------
    >>> width, height = ground_size((0.0, 59.0, 2.0, 61.0), "EPSG:4326")
    >>> round(width), round(height)
    (111600, 222824)
    """
    if crs is None:
        return None
    from pyproj import CRS, Transformer

    system = CRS.from_user_input(crs)
    if system.geodetic_crs is None or (geod := system.geodetic_crs.get_geod()) is None:
        return None
    xmin, ymin, xmax, ymax = bounds
    shares, middle = np.linspace(0, 1, 65), np.full(65, 0.5)
    degrees = Transformer.from_crs(system, system.geodetic_crs, always_xy=True)
    lengths = [
        geod.line_length(*degrees.transform(xmin + along * (xmax - xmin), ymin + up * (ymax - ymin), errcheck=False))
        for along, up in ((shares, middle), (middle, shares))
    ]
    if not all(0 < length < math.inf for length in lengths):
        return None
    return float(lengths[0]), float(lengths[1])
