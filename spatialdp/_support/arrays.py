"""The names of array types, defined once for all packages, and the few array tools that several packages share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Booleans",
    "Floats",
    "Integers",
    "Integers8",
    "Integers16",
    "Integers32",
    "Objects",
    "even_points",
    "expand_ranges",
    "lookup",
    "read_only",
    "with_gaps",
]

Array = npt.NDArray[Any]
Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Integers8 = npt.NDArray[np.int8]
Integers16 = npt.NDArray[np.int16]
Integers32 = npt.NDArray[np.int32]
Objects = npt.NDArray[np.object_]


def lookup(values: Array, ordered: Array) -> tuple[Array, Array]:
    """Return which values occur in an ordered array, and the place of each value in it, or where it would be inserted.

    Examples
    --------
    >>> [each.tolist() for each in lookup(np.array([5, 1, 9]), np.array([1, 5, 7]))]
    [[True, True, False], [1, 0, 3]]
    """
    places = np.searchsorted(ordered, values)
    if not ordered.size:
        return np.zeros(places.size, dtype=bool), places
    return ordered.take(places, mode="clip") == values, places


def read_only(values: npt.ArrayLike, dtype: npt.DTypeLike) -> Array:
    """Return a read-only view of the values; they are copied only if their type has to change.

    Examples
    --------
    >>> read_only([1, 2], np.int64).flags.writeable
    False
    """
    view = np.asarray(values, dtype=dtype).view()
    view.setflags(write=False)
    return view


def with_gaps(array: Array, values: Any, gap: Any) -> Array:
    """Return an array made of some values, with a gap in the place of each that is masked.

    Examples
    --------
    >>> with_gaps(np.array(["a", "b"], dtype=object), np.ma.array(["a", "b"], mask=[False, True]), None).tolist()
    ['a', None]
    """
    return np.where(np.ma.getmaskarray(values), gap, array) if isinstance(values, np.ma.MaskedArray) else array


def even_points(count: int, dimensions: int, *, start: float = 0.5) -> Floats:
    """Return `count` points that fill the unit cube evenly, the same ones each time.

    Point k is `start` + k (1/r, 1/r², ...) modulo 1, r being the root of x^(dimensions + 1) = x + 1.

    Examples
    --------
    >>> even_points(3, 1)[:, 0].round(3).tolist()
    [0.118, 0.736, 0.354]
    """
    root = 1.0
    for _ in range(50):  # converges to r
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return np.asarray((start + np.arange(1, count + 1)[:, None] * steps) % 1.0)


def expand_ranges(first: Array, last: Array) -> tuple[Integers, Integers]:
    """List the whole numbers from `first` up to (not including) `last`, for many ranges, one range after the other.

    Returns
    -------
    owner : int array
        The range that each number belongs to.
    numbers : int array

    Examples
    --------
    >>> expand_ranges(np.array([5, 0]), np.array([7, 1]))
    (array([0, 0, 1]), array([5, 6, 0]))
    """
    counts = np.maximum(last - first, 0).astype(np.int64)
    owner = np.repeat(np.arange(counts.size), counts)
    numbers = np.arange(owner.size)
    numbers += np.repeat(first.astype(np.int64) - (np.cumsum(counts) - counts), counts)
    return owner, numbers
