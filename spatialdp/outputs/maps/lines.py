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
from spatialdp.wording import either

__all__ = ["boundary_shapes", "cut_lines"]


def boundary_shapes(boundaries: Any, domain: Domain) -> Array:
    """Return public polygons or lines in the domain's CRS, as an array of shapely geometries.

    Parameters
    ----------
    boundaries : GeoDataFrame, GeoSeries, shapely geometry or path of a file
        Those in another CRS are reprojected to the domain's. Plain geometries are taken to be in domain coordinates.
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
    if hasattr(boundaries, "to_crs"):
        if None in (domain.crs, boundaries.crs) or crs_.same(boundaries.crs, domain.crs):
            crs_.require_same("boundaries", boundaries.crs, domain.crs)
        else:
            boundaries = boundaries.to_crs(domain.crs)
        boundaries = boundaries.geometry.to_numpy()
    shapes = np.atleast_1d(np.asarray(boundaries, dtype=object))
    geometries: Array = shapes[shapely.is_geometry(shapes)]  # a GeoDataFrame may have rows without one
    if not geometries.size or np.any(shapely.get_dimensions(geometries) < 1):
        in_python = "a GeoDataFrame or GeoSeries of them, a shapely geometry, or the path of a file"
        raise ParameterError(
            f"the boundaries are not all polygons or lines; give {either(in_python, 'a file of them')}."
        )
    return geometries


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

    parts = shapely.get_parts(shapes)  # collections have no boundary of their own, but their parts have
    areas = shapely.get_dimensions(parts) == 2
    lines = shapely.get_parts(np.where(areas, shapely.boundary(parts), parts))
    xmin, ymin, xmax, ymax = domain.bounds
    cut = shapely.clip_by_rect(
        shapely.simplify(lines, tolerance), xmin - margin, ymin - margin, xmax + margin, ymax + margin
    )
    merged = shapely.line_merge(cut)  # a ring that begins within the domain is cut at its beginning, too
    return [shapely.get_coordinates(part) for part in shapely.get_parts(merged) if not shapely.is_empty(part)]
