"""Does a question lie in the domain at all? One that does not has no answer, and is never answered with 0.

An answer of 0 ± 0 would look like knowledge. So a single box or polygon that lies wholly outside the domain is an
error, and among many it is answered with NaN, with a warning. The part of a question that lies in the domain is
answered; the rest holds no records. A question in the domain that misses its region is answered with 0: that the area
there is empty is public knowledge. Boxes, polygons and domain are public, so the warning tells nothing about a record.
No other module may warn.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array, Booleans
from spatialdp.errors import OutsideDomainWarning, ParameterError
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import box_array
from spatialdp.space.polygons import Polygons
from spatialdp.wording import either, quoted

__all__ = ["for_boxes", "for_polygons", "outside_boxes", "outside_polygons", "require_inside"]

_ORDER = either("(xmin, ymin, xmax, ymax)", "XMIN,YMIN,XMAX,YMAX")
_ADVICE = f"Check the order of the coordinates, {_ORDER}, x being east, and their CRS."


def for_boxes(values: Array, boxes: npt.ArrayLike, domain: Domain) -> Any:
    """Return the values of boxes, one row for each, as the caller gave the boxes: those of one box, or of many.

    Raises
    ------
    ParameterError
        If one box was given, and lies outside the domain. Of many, those outside get NaN, with a warning.

    Examples
    --------
    >>> for_boxes(np.array([5.0]), (0, 0, 1, 1), Domain((0, 0, 2, 2)))
    5.0
    """
    return _as_asked(values, outside_boxes(boxes, domain), "box", domain, single=np.ndim(boxes) == 1)


def for_polygons(values: Array, polygons: Polygons, domain: Domain, *, single: bool) -> Any:
    """Return the values of polygons, one row for each, or those of a single one; see `for_boxes`."""
    return _as_asked(values, outside_polygons(polygons, domain), "polygon", domain, single=single)


def require_inside(boxes: npt.ArrayLike, domain: Domain, name: str) -> None:
    """Refuse boxes, called `name` in the error, of which any lies wholly outside the domain."""
    outside = np.flatnonzero(outside_boxes(boxes, domain))
    if outside.size:
        raise ParameterError(
            f"{name} has {outside.size} of {len(box_array(boxes))} boxes outside the domain {quoted(domain.bounds)}, "
            f"the first of them is box {outside[0]}; every box must share some area with the domain. Leave these out. "
            f"{_ADVICE}"
        )


def outside_boxes(boxes: npt.ArrayLike, domain: Domain) -> Booleans:
    """Return which boxes share no area with the domain. A box without any area is outside if it does not touch it."""
    corners = box_array(boxes)
    outside = np.zeros(len(corners), dtype=bool)
    empty = (corners[:, :2] == corners[:, 2:]).any(axis=1)
    for i, axis in enumerate(domain.axes):
        low, high = corners[:, i], corners[:, i + 2]
        apart, beside = (high < axis.low) | (low > axis.high), (high <= axis.low) | (low >= axis.high)
        outside |= np.where(empty, apart, beside)
    return outside


def outside_polygons(polygons: Polygons, domain: Domain) -> Booleans:
    """Return which polygons share no area with the domain. Empty polygons are not outside: they hold nothing."""
    import shapely

    xmin, ymin, xmax, ymax = domain.bounds
    low_x, low_y, high_x, high_y = shapely.bounds(polygons).T
    # Most polygons lie within the bounds, and need no closer look.
    doubtful = np.flatnonzero((low_x < xmin) | (low_y < ymin) | (high_x > xmax) | (high_y > ymax))
    frame = shapely.box(*domain.bounds)
    shapely.prepare(frame)
    shapes = polygons[doubtful]
    outside = np.zeros(polygons.size, dtype=bool)
    outside[doubtful] = ~shapely.intersects(frame, shapes) | shapely.touches(frame, shapes)
    return outside


def _as_asked(values: Array, outside: Booleans, noun: str, domain: Domain, *, single: bool) -> Any:
    if single and outside[0]:
        raise ParameterError(
            f"the {noun} lies outside the domain, whose bounds are {quoted(domain.bounds)}; a release knows "
            f"nothing about the world outside. {_ADVICE}"
        )
    if outside.any():
        warnings.warn(
            OutsideDomainWarning(
                f"{np.count_nonzero(outside)} of {outside.size} questions lie outside the domain, whose bounds are "
                f"{quoted(domain.bounds)}, and are answered with {either('NaN', 'nothing')}. {_ADVICE}"
            ),
            stacklevel=4,
        )
        values = np.where(outside.reshape(-1, *[1] * (values.ndim - 1)), np.nan, values)
    if not single:
        return values
    return float(values[0]) if values.ndim == 1 else values[0]
