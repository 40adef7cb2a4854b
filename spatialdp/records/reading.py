"""How arrays, frames and series, in whatever form a caller has them, become two columns of coordinates.

Numbers of any type are accepted, and missing values become NaN, which counts nowhere. Errors may speak of the form of
the input (types, columns), never of a value or a number of rows.
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
    """Return the two columns of an (n, 2) array-like."""
    numbers = _numbers(array, "points")
    if numbers.ndim == 1 and numbers.size == 0:
        numbers = numbers.reshape(0, 2)
    if numbers.ndim != 2 or numbers.shape[1] != 2:
        raise PointsError(
            "points are not an (n, 2) array of x and y; give two columns, two arrays Points(x, y), "
            "or a GeoDataFrame of points."
        )
    return numbers[:, 0], numbers[:, 1]


def column_of(array: Any, name: str) -> Array:
    """Return a one-dimensional array-like of numbers, which is called `name` in errors."""
    numbers = _numbers(array, name)
    if numbers.ndim != 1:
        raise PointsError(f"{name} is not a one-dimensional array of numbers; give one coordinate for each record.")
    return numbers


def _numbers(array: Any, name: str) -> Array:
    """Return a numeric array, without a copy if it is one already; missing values become NaN and count nowhere."""
    numbers = None
    with contextlib.suppress(Exception):  # its message may quote a record
        numbers = (
            np.ma.filled(array.astype(np.float64), np.nan)
            if isinstance(array, np.ma.MaskedArray)
            else np.asarray(array)
        )
        if numbers.dtype.kind == "O":
            numbers = np.asarray(_FLOATS(numbers), dtype=np.float64)
    if numbers is None or numbers.dtype.kind not in "iuf":
        raise PointsError(
            f"{name} cannot be read as numbers; convert the coordinates to floats, or put geometries into a "
            "geopandas.GeoSeries, first."
        )
    return numbers


def _float(value: Any) -> float:
    """Return a number as a double; missing values, and numbers too large for a double, become NaN."""
    if isinstance(value, str | bytes | complex):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        return np.nan
    except ValueError:
        if isinstance(value, Number):  # a signalling NaN of the decimal module
            return np.nan
        raise
    except TypeError:
        if value is None or (not hasattr(value, "__float__") and repr(value) in {"<NA>", "NaT"}):
            return np.nan
        raise


_FLOATS = np.frompyfunc(_float, 1, 1)


def point_coordinates(frame: Any) -> tuple[Floats, Floats]:
    """Return the coordinates of a GeoDataFrame or GeoSeries of points; missing and empty points are left out."""
    import shapely

    if getattr(frame, "active_geometry_name", "geometry") is None:
        raise PointsError("the GeoDataFrame has no active geometry column; choose one with set_geometry.")
    geometry = np.asarray(frame.geometry.array, dtype=object)
    if not np.isin(shapely.get_type_id(geometry), (-1, 0)).all():  # missing, or Point
        raise PointsError(
            "the geometries are not all points; points are required. Use centroids, or explode multi-points, first."
        )
    xy = shapely.get_coordinates(geometry)  # missing and empty points have none
    return xy[:, 0], xy[:, 1]
