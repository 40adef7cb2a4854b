"""How long and how large are the things on a map, on the ground? Metres of a unit of x, square kilometres of cells.

Lengths and areas are measured on the ellipsoid of the domain's CRS, so they are right for degrees, for feet and for
Mercator's stretched metres. They follow from public bounds and the CRS alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.errors import ParameterError
from spatialdp.space.coverage import coverages, prefix_sums, weighted_sums
from spatialdp.space.domain import Domain, Grid
from spatialdp.wording import parameter

__all__ = ["has_areas", "metres_per_unit", "square_kilometres"]

# Areas are measured on this many columns and rows of the domain; within one of them, the scale is taken as constant.
_PARTS = 128


def metres_per_unit(domain: Domain, height: float = 0.5) -> float | None:
    """Return how many metres on the ground one unit of x is, in the middle of the map; None if the CRS does not say.

    Parameters
    ----------
    domain : Domain
    height : float
        Where to measure: 0 at the lower edge of the map, 1 at the upper one.

    Examples
    --------
    >>> round(metres_per_unit(Domain((0, 59, 2, 61), crs="EPSG:4326")))
    55800
    """
    if domain.crs is None:
        return None
    from pyproj import CRS, Transformer

    crs = CRS.from_user_input(domain.crs)
    if crs.geodetic_crs is None:
        return None
    (width, tall), (xmin, ymin, _, _) = domain.size, domain.bounds
    step = width / 1000
    x, y = xmin + width / 2, ymin + height * tall
    degrees = Transformer.from_crs(crs, crs.geodetic_crs, always_xy=True)
    (west, east), (south, north) = degrees.transform([x - step / 2, x + step / 2], [y, y])
    ellipsoid = crs.geodetic_crs.get_geod()
    metres = math.nan if ellipsoid is None else ellipsoid.inv(west, south, east, north)[2] / step
    return float(metres) if 0 < metres < math.inf else None


def has_areas(domain: Domain) -> bool:
    """Whether the domain's CRS says how large its cells are on the ground."""
    return _area_sums(domain.bounds, domain.crs) is not None


def square_kilometres(domain: Domain, boxes: Integers) -> Floats:
    """Return the areas of lattice boxes on the ground, in square kilometres.

    Examples
    --------
    >>> from spatialdp.space.lattice import LATTICE
    >>> whole = np.array([[0, 0, LATTICE, LATTICE]])
    >>> square_kilometres(Domain((0, 59, 2, 61), crs="EPSG:4326"), whole).round().tolist()
    [24866.0]
    """
    sums = _area_sums(domain.bounds, domain.crs)
    if sums is None:
        raise ParameterError(
            f"{parameter('per', 'km2')} was given, but the domain has no CRS that says how large its cells are on the "
            f"ground; make the release with a CRS, or draw {parameter('per', 'cell')}."
        )
    return weighted_sums(sums, *coverages(_parts(domain), boxes), power=1)


def _parts(domain: Domain) -> Grid:
    return Domain(domain.bounds).grid((_PARTS, _PARTS))


@lru_cache(maxsize=8)
def _area_sums(bounds: tuple[float, float, float, float], crs_name: str | None) -> Floats | None:
    """Return prefix sums of the areas of the domain's parts, in km²; None if the CRS does not say."""
    if crs_name is None:
        return None
    from pyproj import CRS, Transformer

    crs = CRS.from_user_input(crs_name)
    if crs.geodetic_crs is None or crs.geodetic_crs.get_geod() is None:
        return None
    parts = _parts(Domain(bounds))
    x, y = ((edges[:-1] + edges[1:]) / 2 for edges in (parts.x_edges, parts.y_edges))
    to_degrees = Transformer.from_crs(crs, crs.geodetic_crs, always_xy=True)
    radians = crs.geodetic_crs.axis_info[0].unit_conversion_factor
    areas = _areas(to_degrees, radians, crs.geodetic_crs.get_geod(), np.meshgrid(x, y), parts.domain.size)
    return prefix_sums(areas) if np.all(np.isfinite(areas)) and np.all(areas > 0) else None


def _areas(
    to_degrees: Any, radians: float, ellipsoid: Any, centres: Sequence[Floats], size: tuple[float, float]
) -> Floats:
    """Return the areas of equal parts with these centres, in km²: the projection's Jacobian times a part's size."""
    x, y = centres
    width, height = (side / _PARTS for side in size)
    latitude = radians * to_degrees.transform(x, y)[1]
    # Changes of longitude and latitude across half a part, along x and along y.
    along_x, along_y = (
        np.subtract(to_degrees.transform(x + dx, y + dy), to_degrees.transform(x - dx, y - dy))
        for dx, dy in ((width / 4, 0.0), (0.0, height / 4))
    )
    turn = 2 * math.pi / radians
    for change in (along_x, along_y):
        change[0] -= turn * np.round(change[0] / turn)  # across the antimeridian
    jacobian = np.abs(along_x[0] * along_y[1] - along_x[1] * along_y[0]) * 4 * radians**2
    curvature = 1 - ellipsoid.es * np.sin(latitude) ** 2
    # Radius of curvature along the meridian, times that across it.
    radii = ellipsoid.a**2 * (1 - ellipsoid.es) / curvature**2
    return np.asarray(jacobian * radii * np.abs(np.cos(latitude)) / 1e6)
