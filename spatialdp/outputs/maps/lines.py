"""Which public lines does a map show over its cells? Outlines of regions and boundaries, cut to the domain.

Pictures and the explorer's page both draw what `boundary_shapes` reads and `cut_lines` cuts. Everything here is public:
regions belong to the domain, and boundaries come from a file or a frame of public geometries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Floats
from spatialdp.errors import ParameterError
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.reprojection import in_crs
from spatialdp.wording import either

__all__ = ["boundary_shapes", "cut_lines"]


def boundary_shapes(boundaries: Any, domain: Domain) -> Array:
    """Return public polygons or lines in the domain's CRS, as an array of shapely geometries.

    Parameters
    ----------
    boundaries : GeoDataFrame, GeoSeries, shapely geometry or path of a file
        Those in another CRS are reprojected to the domain's, with edges that keep to the true lines. Plain geometries
        are taken to be in domain coordinates.
    domain : Domain

    Examples
    --------
    >>> import shapely
    >>> [str(shape) for shape in boundary_shapes(shapely.LineString([(0, 0), (1, 1)]), Domain((0, 0, 1, 1)))]
    ['LINESTRING (0 0, 1 1)']
    """
    import shapely

    if isinstance(boundaries, str | Path):
        from spatialdp.space.public_files import read_geometries

        boundaries = read_geometries(Path(boundaries))
    own, stated = getattr(boundaries, "crs", None), hasattr(boundaries, "to_crs")
    if stated:
        boundaries = boundaries.geometry.to_numpy()
    shapes = np.atleast_1d(np.asarray(boundaries, dtype=object))
    geometries: Array = shapes[shapely.is_geometry(shapes)]  # a GeoDataFrame may have rows without one
    if not geometries.size or np.any(shapely.get_dimensions(geometries) < 1):
        in_python = "a GeoDataFrame or GeoSeries of them, a shapely geometry, or the path of a file"
        raise ParameterError(
            f"the boundaries are not all polygons or lines; give {either(in_python, 'a file of them')}."
        )
    if not np.isfinite(shapely.get_coordinates(geometries)).all():
        raise ParameterError("the boundaries have coordinates that are not finite numbers; repair them first.")
    if not stated:
        return geometries
    middle = sum(domain.bounds[::2]) / 2
    return in_crs("boundaries", _nearby(geometries, own, domain), own, domain.crs, middle)


def _nearby(shapes: Array, own: Any, domain: Domain) -> Array:
    """Return the lines of shapes in another CRS, without parts far away, which may have no place in the map's CRS."""
    import shapely

    if own is None or domain.crs is None or crs_.same(own, domain.crs):
        return shapes
    from pyproj import Transformer

    bounds = np.array(Transformer.from_crs(domain.crs, own, always_xy=True).transform_bounds(*domain.bounds))
    low, high = bounds[:2], bounds[2:]
    if not np.isfinite(bounds).all() or np.any(low >= high):  # across the antimeridian the sides change places
        return shapes
    margin = 0.1 * (high - low)
    lines: Array = shapely.clip_by_rect(_outlines(shapes), *(low - margin), *(high + margin))
    near: Array = lines[~shapely.is_empty(lines)]
    return near


def cut_lines(shapes: Array, domain: Domain, *, tolerance: float, margin: float = 0.0) -> list[Floats]:
    """Return lines, and the outlines of polygons, as arrays of coordinates: simplified, and cut to the domain.

    Parameters
    ----------
    shapes : array of shapely geometries
    domain : Domain
    tolerance : float
        How far a simplified line may be from the line that was given, in units of the bounds.
    margin : float
        How far lines may go on beyond the bounds, in units of the bounds.

    Examples
    --------
    >>> import shapely
    >>> square = np.array([shapely.box(-1, -1, 1, 1)])
    >>> [line.tolist() for line in cut_lines(square, Domain((0, 0, 4, 4)), tolerance=0.1)]
    [[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]]
    """
    import shapely

    lines = _outlines(shapes)
    xmin, ymin, xmax, ymax = domain.bounds
    cut = shapely.clip_by_rect(
        shapely.simplify(lines, tolerance), xmin - margin, ymin - margin, xmax + margin, ymax + margin
    )
    merged = shapely.line_merge(cut)  # a ring that begins within the domain is cut at its beginning, too
    return [shapely.get_coordinates(part) for part in shapely.get_parts(merged) if not shapely.is_empty(part)]


def _outlines(shapes: Array) -> Array:
    """Return single lines: those given, and the outlines of polygons."""
    import shapely

    parts = shapely.get_parts(shapes)  # collections have no boundary of their own, but their parts have
    areas = shapely.get_dimensions(parts) == 2
    lines: Array = shapely.get_parts(np.where(areas, shapely.boundary(parts), parts))
    return lines
