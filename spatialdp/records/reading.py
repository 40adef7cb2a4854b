"""How arrays, frames, series, lists and Arrow tables, as a caller has them, become two columns of coordinates.

Numbers of any type are accepted, and so is text that is a decimal numeral: numpy and pandas turn a whole column into
text for one record that is text, and into complex numbers for one that is complex. A record that is not a point
(missing, text, a date, a complex number, another geometry, a list of three numbers) becomes NaN and counts nowhere, as
in files. What may be refused is the **declared form**: the type and the shape of an array, the columns of a frame or a
table. A list declares nothing about its elements, so no list is refused; and numpy sees it only if all its elements are
plain numbers, because it would make room for the longest text in every element. Errors never speak of a value or a
number of rows.
"""

from __future__ import annotations

import re
import warnings
from collections import UserList, deque
from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Floats
from spatialdp.errors import PointsError
from spatialdp.records.formats.arrow import open_arrow
from spatialdp.records.formats.base import Selection, Source, quietly
from spatialdp.records.formats.text import NUMERAL

__all__ = [
    "arrow_coordinates",
    "column_of",
    "columns_of",
    "is_geometric",
    "names_of",
    "pair_of",
    "point_coordinates",
]

_NUMERAL = re.compile(NUMERAL)
_LONGEST = 4096  # characters of text that may be a coordinate
_TEXT = "USTO"  # types of arrays whose elements are looked at one by one
_DATES = "mM"
_FORM = attrgetter("shape", "dtype.kind")
_POINT, _MULTI_POINT = 0, 4  # shapely's numbers of these types
_PLAIN = {float, int, bool, np.float64, np.float32, np.int64, np.int32}  # types of numbers that doubles are made of


def names_of(x: Any, y: Any) -> tuple[str | None, str | None]:
    """Return the names of the two columns, if they are a frame or two series of pandas; None for arrays."""
    names = [getattr(x, "name", None), getattr(y, "name", None)] if y is not None else list(getattr(x, "columns", ()))
    first, second = names if len(names) == 2 else (None, None)
    return first if isinstance(first, str) else None, second if isinstance(second, str) else None


def columns_of(array: Any) -> tuple[Array, Array]:
    """Return the two columns of an (n, 2) array-like, or of a list of pairs or points."""
    values = _pairs(array) if _is_list(array) else _array(array)
    if values is not None and values.ndim == 1 and values.dtype.kind == "O":
        x, y = _each(_PAIRS, values)
        return x, y
    if values is None or values.ndim != 2 or values.shape[1] != 2:
        raise PointsError(
            "points are not an (n, 2) array of x and y; give two columns, two arrays Points(x, y), "
            "a GeoDataFrame of points or an Arrow table."
        )
    return _numbers(values[:, 0], "points"), _numbers(values[:, 1], "points")


def column_of(array: Any, name: str) -> Array:
    """Return a one-dimensional array-like of numbers, which is called `name` in errors."""
    values = _elements(array) if _is_list(array) else _array(array)
    if values is None or values.ndim != 1:
        raise PointsError(f"{name} is not a one-dimensional array of numbers; give one coordinate for each record.")
    return _numbers(values, name)


def _array(array: Any) -> Array | None:
    """Return an array-like as numpy sees it, or None; what numpy says of it may quote a record."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # a warning would tell that such a record exists
            warnings.simplefilter("ignore")
            if isinstance(array, np.ma.MaskedArray):
                return np.ma.filled(array.astype(np.float64 if array.dtype.kind in "biuf" else object), np.nan)
            return np.asarray(array)
    except Exception:
        return None


def _is_list(array: Any) -> bool:
    return isinstance(array, list | tuple | deque | UserList)


def _pairs(records: Sequence[Any]) -> Array:
    """Return a list of pairs of plain numbers as (n, 2) doubles, and any other list as an array of its elements."""
    kinds = set(map(type, records))
    if kinds and kinds <= {list, tuple} and set(map(len, records)) == {2}:
        plain = set(map(type, chain.from_iterable(records))) <= _PLAIN
    else:
        plain = kinds == {np.ndarray} and set(map(_FORM, records)) <= {((2,), kind) for kind in "biuf"}
    return _doubles(records) if plain else np.fromiter(records, dtype=object, count=len(records))


def _elements(values: Sequence[Any]) -> Array:
    """Return a list of plain numbers as doubles, and any other list as an array of its elements."""
    if set(map(type, values)) <= _PLAIN:
        return _doubles(values)
    return np.fromiter(values, dtype=object, count=len(values))


def _doubles(numbers: Sequence[Any]) -> Array:
    try:
        with np.errstate(all="ignore"):  # a warning would tell that such a record exists
            return np.array(numbers, dtype=np.float64)
    except OverflowError:  # an integer that no double can represent
        return np.fromiter(numbers, dtype=object, count=len(numbers))


def _numbers(values: Array, name: str) -> Array:
    """Return a numeric array, without a copy if it is one already; elements that are not numbers become NaN."""
    kind = values.dtype.kind
    if kind in "biuf":
        return values
    if kind == "c":
        return np.where(values.imag == 0, values.real, np.nan)
    if kind in _DATES:  # which numpy and pandas make of a column whose only record is one
        return np.full(values.shape, np.nan)
    if kind in _TEXT:
        (numbers,) = _each(_FLOATS, values.astype(object))
        return numbers
    raise PointsError(
        f"{name} cannot be read as numbers: their type is {values.dtype}. Convert the coordinates to floats first."
    )


def _each(function: Callable[..., Any], values: Array) -> tuple[Floats, ...]:
    """Return what a function of one element gives for each, as one or two arrays of doubles."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # a warning would tell that such a record exists
        warnings.simplefilter("ignore")
        results = function(values)
    return tuple(
        np.asarray(result, dtype=np.float64) for result in (results if isinstance(results, tuple) else (results,))
    )


def _float(value: Any) -> float:
    """Return a number, or text that is a decimal numeral, as a double; NaN for anything else."""
    try:
        if isinstance(value, bytes):
            value = value.decode("ascii")
        if isinstance(value, str):
            value = value.strip()
            return float(value) if len(value) <= _LONGEST and _NUMERAL.fullmatch(value) else np.nan
        if isinstance(value, complex | np.complexfloating):  # which pandas makes of all numbers, for one record
            return float(value.real) if value.imag == 0 else np.nan
        return np.nan if isinstance(value, np.ndarray) else float(value)
    except Exception:  # such as an integer that no double can represent; its message may quote a record
        return np.nan


def pair_of(record: Any) -> tuple[float, float]:
    """Return the coordinates of a pair of numbers or a shapely point; NaN for anything else."""
    try:
        kind = getattr(record, "geom_type", None)
        if kind == "MultiPoint" and len(record.geoms) == 1:
            record, kind = record.geoms[0], "Point"
        if kind == "Point":
            return float(record.x), float(record.y)
        if isinstance(record, str | bytes | dict | set | frozenset):
            return np.nan, np.nan
        x, y = record
        return _float(x), _float(y)
    except Exception:  # its message may quote a record
        return np.nan, np.nan


_FLOATS = np.frompyfunc(_float, 1, 1)
_PAIRS = np.frompyfunc(pair_of, 1, 2)


def is_geometric(data: Any) -> bool:
    """Whether something is a GeoDataFrame, a GeoSeries or the array in one; columns may have any names.

    A geometry of shapely, which is one record and no set of them, is refused.
    """
    kind = type(data)
    if hasattr(kind, "geom_type") and not hasattr(kind, "crs"):
        raise PointsError("points are a single geometry of shapely; give a list of points, or a GeoSeries.")
    return hasattr(kind, "geom_type")


def point_coordinates(frame: Any) -> tuple[Floats, Floats]:
    """Return the coordinates of the geometries in a GeoDataFrame or GeoSeries; NaN for what is not one point."""
    import shapely

    if getattr(frame, "active_geometry_name", "geometry") is None:
        raise PointsError("the GeoDataFrame has no active geometry column; choose one with set_geometry.")
    geometry = np.asarray(getattr(frame, "geometry", frame), dtype=object)
    kind, parts = shapely.get_type_id(geometry), shapely.get_num_geometries(geometry)
    (places,) = np.nonzero((kind == _POINT) | ((kind == _MULTI_POINT) & (parts == 1)))
    coordinates, points = shapely.get_coordinates(geometry[places], return_index=True)  # empty points have none
    xy = np.full((2, geometry.size), np.nan)
    xy[:, places[points]] = coordinates.T
    return xy[0], xy[1]


def arrow_coordinates(data: Any) -> tuple[Floats, Floats, Any, bool]:
    """Return the coordinates in an Arrow table or reader, its CRS, and whether it declares a geometry.

    The points are in the geometry that the table declares, or else in its two columns of numbers.
    """

    def read() -> tuple[Floats, Floats, Any, bool]:
        table = open_arrow(data, Selection())
        batches = [np.stack([batch.x, batch.y]) for batch in table.batches]
        x, y = np.concatenate([np.empty((2, 0)), *batches], axis=1)
        return x, y, table.crs, not table.plain

    return quietly(read, Source("the Arrow table", ".arrow"))
