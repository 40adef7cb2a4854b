"""Which columns tell people apart, and which one is sensitive? Tables as arrays, with every category in a fixed order.

`QuasiIdentifiers` are what an adversary knows about a person: a place, an age, a profession. `Secrets` are what the
adversary wants to learn. Mondrian cuts columns where values have an order, so categories get one: that of a categorical
column of pandas, else the alphabet's. The order is arbitrary and moves results by a point or two; it is kept in
`orders`, so that it can be stated. A missing category is a category of its own and never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.contrast.mark import NotPrivate
from spatialdp.errors import ParameterError
from spatialdp.records.reading import is_geometric, point_coordinates
from spatialdp.wording import either, parameter, quoted

__all__ = ["MISSING", "QuasiIdentifiers", "Secrets", "columns_in", "labels_of"]

MISSING = "missing"

Order = tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class QuasiIdentifiers(NotPrivate):
    """The columns that an adversary knows about every person, as numbers.

    Attributes
    ----------
    names : tuple of str
    values : (columns, records) float array
        Numbers as they are; categories as their place in the column's order.
    orders : mapping of names to tuples of str
        The order of the categories, for columns that are not numbers.
    steps : tuple of float
        For each column the distance between neighbouring values: 1 for whole numbers and categories, 0 for places.
    """

    names: tuple[str, ...]
    values: Floats
    orders: Mapping[str, Order] = field(default_factory=dict)
    steps: tuple[float, ...] = ()

    @classmethod
    def of(cls, data: Any, orders: Mapping[str, Order] | None = None) -> QuasiIdentifiers:
        """Read columns from an array, a frame, a mapping of names to columns, or geometries of points.

        Parameters
        ----------
        data : (n, d) array-like, DataFrame, GeoSeries of points, or mapping of names to columns
        orders : mapping, optional
            Orders of categories that another table has, so that both speak of the same numbers. Values that are not in
            the order are refused.

        Examples
        --------
        >>> people = QuasiIdentifiers.of({"age": [31, 45], "sex": ["f", "m"]})
        >>> people.values.tolist(), dict(people.orders)
        ([[31.0, 45.0], [0.0, 1.0]], {'sex': ('f', 'm')})
        """
        if isinstance(data, QuasiIdentifiers):
            return data
        read: list[Floats] = []
        found: dict[str, Order] = {}
        steps = []
        columns = columns_in(data)
        for name, column in columns.items():
            order = (orders or {}).get(name)
            if order is None and column.dtype.kind in "iufb":
                read.append(_finite(column, name))
                steps.append(0.0 if column.dtype.kind == "f" else 1.0)
                continue
            codes, found[name] = _codes(column, order, name)
            read.append(codes.astype(np.float64))
            steps.append(1.0)
        if len({column.size for column in read}) != 1:
            raise ParameterError("the columns have different lengths, or there are none; give columns of one length.")
        return cls(tuple(columns), np.stack(read), found, tuple(steps))

    def __len__(self) -> int:
        return int(self.values.shape[1])

    def some(self, chosen: Booleans | Integers) -> QuasiIdentifiers:
        """Return some of the records: those that are marked, or those of these row numbers.

        Examples
        --------
        >>> QuasiIdentifiers.of([[0.0, 1.0], [2.0, 3.0]]).some(np.array([1])).values.tolist()
        [[2.0], [3.0]]
        """
        return QuasiIdentifiers(self.names, self.values[:, chosen], self.orders, self.steps)


@dataclass(frozen=True, eq=False, repr=False)
class Secrets(NotPrivate):
    """The sensitive column: a number for each record, and the list of values.

    Attributes
    ----------
    codes : int array
        For each record the place of its value in `values`.
    values : tuple of str
        In order: that of numbers, of a categorical column, or of the alphabet.
    """

    codes: Integers
    values: Order

    @classmethod
    def of(cls, data: Any, values: Order | None = None) -> Secrets:
        """Read a column of values; missing ones become the value "missing".

        Examples
        --------
        >>> secrets = Secrets.of(["flu", None, "flu"])
        >>> secrets.codes.tolist(), secrets.values
        ([0, 1, 0], ('flu', 'missing'))
        """
        if isinstance(data, Secrets):
            return data
        codes, order = _codes(_column(data), values, "sensitive")
        return cls(codes, order)

    def __len__(self) -> int:
        return int(self.codes.size)

    def some(self, chosen: Booleans | Integers) -> Secrets:
        """Return the values of some records, with the same list of values.

        Examples
        --------
        >>> Secrets.of(["flu", "cold"]).some(np.array([0])).codes.tolist()
        [1]
        """
        return Secrets(self.codes[chosen], self.values)


def columns_in(data: Any) -> dict[str, Array]:
    """Return the columns of an array, a frame, a mapping or of geometries by their names.

    Examples
    --------
    >>> {name: column.tolist() for name, column in columns_in([[1, 2], [3, 4]]).items()}
    {'x': [1, 3], 'y': [2, 4]}
    """
    if hasattr(data, "geom_type") and is_geometric(data):
        x, y = point_coordinates(data)
        return {"x": x, "y": y}
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        return {str(name): _column(data[name]) for name in data}
    array = np.asarray(data)
    if array.ndim != 2:
        raise ParameterError(
            f"the data have {array.ndim} dimensions, where a row for each record and a column for each quantity are "
            f"required; give {either('an (n, d) array, a frame, or a mapping of names to columns', 'a table')}."
        )
    names = ("x", "y") if array.shape[1] == 2 else tuple(f"column {number + 1}" for number in range(array.shape[1]))
    return dict(zip(names, array.T, strict=True))


def labels_of(column: Any) -> tuple[list[str], Integers]:
    """Return the different values of a column as texts, and which of them each record has.

    Whole numbers are written without a point, so that taxonomies and lists of values know them.

    Examples
    --------
    >>> labels, places = labels_of([40.5, 39.0, None, 39.0])
    >>> labels, places.tolist()
    (['40.5', '39', 'missing'], [0, 1, 2, 1])
    """
    values, places = _distinct(_column(column))
    return [_label(value) for value in values], places


class _Ordered(np.ndarray[Any, Any]):
    """A column of texts that knows the order of its categories."""

    order: Order | None = None


def _column(data: Any) -> Array:
    """Return a column as an array; a categorical one of pandas keeps its order."""
    categories = getattr(getattr(data, "dtype", None), "categories", None)
    if categories is None:
        column = np.asarray(data)
        return column if column.dtype.kind in "iufb" else column.astype(object)
    codes = np.asarray(data.cat.codes if hasattr(data, "cat") else data.codes)
    names = np.array([*map(_label, list(categories)), MISSING], dtype=object)
    ordered: _Ordered = names[codes].view(_Ordered)
    ordered.order = tuple(names if (codes < 0).any() else names[:-1])
    return ordered


def _distinct(column: Array) -> tuple[list[Any], Integers]:
    """Return the different values, None for missing ones, and which of them each record has."""
    import pandas

    places, different = pandas.factorize(np.asarray(column))
    values = different.tolist()
    if (places < 0).any():
        places = np.where(places < 0, len(values), places)
        values.append(None)
    return values, places.astype(np.int64)


def _label(value: Any) -> str:
    if value is None:
        return MISSING
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _codes(column: Array, order: Order | None, name: str) -> tuple[Integers, Order]:
    """Return the place of each value in the order of the column, and that order."""
    different, places = _distinct(column)
    labels = [_label(value) for value in different]
    if order is None:
        order = getattr(column, "order", None) or _sorted(different)
    numbers = {label: number for number, label in enumerate(order)}
    if not all(label in numbers for label in labels):
        raise ParameterError(
            f"{parameter(name)} has a value that is not in the order of the categories of {quoted(name)}; give all "
            "values in the order."
        )
    return np.array([numbers[label] for label in labels], dtype=np.int64)[places], tuple(order)


def _sorted(values: Sequence[Any]) -> Order:
    """Return the labels in order: numbers by size, texts by the alphabet, and missing ones last."""
    there = [value for value in values if value is not None]
    numbers = all(isinstance(value, int | float) for value in there)
    ordered = sorted(there) if numbers else sorted(there, key=_label)
    return tuple(dict.fromkeys([_label(value) for value in ordered] + [MISSING] * (len(there) < len(values))))


def _finite(column: Array, name: str) -> Floats:
    numbers = column.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ParameterError(
            f"the column {quoted(name)} has missing or infinite numbers, which have no place in an order; fill them "
            "in, or give the column as text, where missing is a value."
        )
    return numbers
