"""How do made-up places stay in a region? Those outside of it are moved to the nearest place in it.

Cells that touch a region reach beyond it, so a place within a cell may be outside. Everything here is public or
released.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.space.domain import Domain

__all__ = ["moved_inside"]


def moved_inside(domain: Domain, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return places with those outside of the domain's region moved to the nearest place in it, on its border.

    Examples
    --------
    >>> import shapely
    >>> domain = Domain((0, 0, 2, 1), region=shapely.box(0, 0, 1, 1))
    >>> [each.tolist() for each in moved_inside(domain, np.array([0.5, 1.5]), np.array([0.5, 0.25]))]
    [[0.5, 1.0], [0.5, 0.25]]
    """
    if domain.region is None:
        return x, y
    import shapely

    region = shapely.intersection(domain.region, shapely.box(*domain.bounds))
    shapely.prepare(region)
    outside = np.flatnonzero(~shapely.intersects_xy(region, x, y))
    distinct, of = np.unique(np.stack([x[outside], y[outside]], axis=1), axis=0, return_inverse=True)
    lines = shapely.shortest_line(shapely.points(distinct), region)
    nearest = shapely.get_coordinates(lines)[1::2][of.ravel()]
    x, y = x.copy(), y.copy()
    x[outside], y[outside] = nearest.T
    return x, y
