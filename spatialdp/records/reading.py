"""Arrays, frames and series in whatever form a caller holds them, read as two columns of numbers.

Errors speak of the form of the input (types, columns), never of a value or a number of rows.
"""

from __future__ import annotations

import contextlib
from numbers import Number
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Floats
from spatialdp.errors import PointsError

__all__ = ["column_of", "columns_of", "point_coordinates"]


def columns_of(array: Any) -> tuple[Array, Array]:
    """The two columns of an (n, 2) array-like."""
    held = _numbers(array, "points")
    if held.ndim == 1 and held.size == 0:
        held = held.reshape(0, 2)
    if held.ndim != 2 or held.shape[1] != 2:
        raise PointsError(
            "points are not an (n, 2) array of x and y; give two columns, two arrays Points(x, y), "
            "or a GeoDataFrame of points."
        )
    return held[:, 0], held[:, 1]


def column_of(array: Any, name: str) -> Array:
    """A one-dimensional array-like of numbers, which is called `name` in errors."""
    held = _numbers(array, name)
    if held.ndim != 1:
        raise PointsError(f"{name} is not a one-dimensional array of numbers; give one coordinate per record.")
    return held


def _numbers(array: Any, name: str) -> Array:
    """A numeric array, without a copy where it is one already; missing values become NaN and count nowhere."""
    held = None
    with contextlib.suppress(Exception):  # whose message may quote a record
        held = (
            np.ma.filled(array.astype(np.float64), np.nan)
            if isinstance(array, np.ma.MaskedArray)
            else np.asarray(array)
        )
        if held.dtype.kind == "O":
            held = np.asarray(_FLOATS(held), dtype=np.float64)
    if held is None or held.dtype.kind not in "iuf":
        raise PointsError(
            f"{name} can not be read as numbers; convert the coordinates to floats, or put geometries into a "
            "geopandas.GeoSeries, first."
        )
    return held


def _float(value: Any) -> float:
    """A number as a double; what is missing, or too large for one, is not a number."""
    if isinstance(value, str | bytes | complex):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        return np.nan
    except ValueError:
        if isinstance(value, Number):  # a decimal that signals that it is none
            return np.nan
        raise
    except TypeError:
        if value is None or (not hasattr(value, "__float__") and repr(value) in {"<NA>", "NaT"}):
            return np.nan
        raise


_FLOATS = np.frompyfunc(_float, 1, 1)


def point_coordinates(held: Any) -> tuple[Floats, Floats]:
    """The coordinates of a GeoDataFrame or GeoSeries of points; missing and empty points are left out."""
    import shapely

    if getattr(held, "active_geometry_name", "geometry") is None:
        raise PointsError("the GeoDataFrame has no active geometry column; choose one with set_geometry.")
    geometry = np.asarray(held.geometry.array, dtype=object)
    if not np.isin(shapely.get_type_id(geometry), (-1, 0)).all():  # missing, or Point
        raise PointsError("the geometries are not all points; use centroids or explode multi-points first.")
    xy = shapely.get_coordinates(geometry)  # missing and empty points have none
    return xy[:, 0], xy[:, 1]
