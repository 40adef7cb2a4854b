"""In which cell of an axis is each value of a column? Times and categories, by the type that a file declares for them.

A column of a file is refused by its declared type alone: numbers are no times, because nobody could say in which unit
they count, and truth values or dates are no categories. Cells of CSV have no type. Whatever a value is, a record that
is in no cell of the axis counts nowhere, silently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp.errors import PointsError
from spatialdp.records.formats.text import persons_of_doubles, persons_of_text, whole_numbers_of
from spatialdp.records.persons.identifiers import persons_of, texts_of
from spatialdp.records.rows.times import Times, no_times, times_of, times_of_text
from spatialdp.space.frames.categories import Categories
from spatialdp.space.frames.time import Time

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Texts", "Values", "column_reader", "value_reader"]


@dataclass(frozen=True, eq=False)
class Texts:
    """Categories of records, as texts.

    Attributes
    ----------
    texts : Arrow array of large_string
        Null for a record without a category.
    cells : bool
        Whether the texts are cells of CSV: a category 5 may have become "5.0" there, as pandas writes all whole numbers
        for one that is missing.
    """

    texts: pa.Array
    cells: bool = False

    def __len__(self) -> int:
        return len(self.texts)

    def places(self, axis: Any, rows: slice = slice(None)) -> Integers:
        """Return the category of each of some records by its place; the axis' size for those that are not listed."""
        import pyarrow as pa
        import pyarrow.compute as pc

        labels = pa.array(axis.labels(), pa.large_string())
        texts = self.texts[rows.start : rows.stop]
        found = pc.index_in(texts, value_set=labels)
        if self.cells and found.null_count:
            found = pc.coalesce(found, pc.index_in(whole_numbers_of(texts), value_set=labels))
        places: Integers = found.fill_null(axis.size).to_numpy(zero_copy_only=False).astype(np.int64)
        return places


Values = Times | Texts
Reader = Callable[["pa.Array"], Values]


def value_reader(axis: Time | Categories, kind: pa.DataType | None, called: str, *, by_pandas: bool = False) -> Reader:
    """Return the function that reads a column of values of an axis, by the type that a schema declares for it.

    Parameters
    ----------
    axis : Time or Categories
    kind : Arrow type or None
        None for cells of text without a type.
    called : str
        The column, for errors.
    by_pandas : bool
        Whether pandas has written the column, and so made doubles of whole numbers for one that is missing.

    Raises
    ------
    PointsError
        If the declared type cannot be one of times, or of categories.

    Examples
    --------
    >>> import pyarrow as pa
    >>> kinds = Categories(["theft", "fraud"])
    >>> read = value_reader(kinds, pa.string(), "column 'kind'")
    >>> read(pa.array(["fraud", "unheard of", None])).places(kinds).tolist()
    [1, 2, 2]
    """
    return column_reader(kind, called, times=isinstance(axis, Time), by_pandas=by_pandas)


def column_reader(
    kind: pa.DataType | None, called: str, *, times: bool, by_pandas: bool = False, what: str = "categories"
) -> Reader:
    """Return the function that reads a column of times or of texts; as for `value_reader`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column_reader(pa.int64(), "column 'tid'", times=False)(pa.array([5, None])).texts.to_pylist()
    ['5', None]
    """
    if kind is None:
        return times_of_text if times else lambda column: Texts(column, cells=True)
    reader = _time_reader(kind, by_pandas) if times else _text_reader(kind, by_pandas)
    if reader is not None:
        return reader
    required = (
        "times must be timestamps, dates, or text such as 2024-01-31 08:00. Convert it first: a number does not say in "
        "which unit it counts"
        if times
        else f"{what} must be text or whole numbers. Convert it first, to text if nothing else is exact"
    )
    raise PointsError(f"{called} is of type {kind}; {required}.")


def _time_reader(kind: pa.DataType, by_pandas: bool) -> Reader | None:
    import pyarrow as pa
    from pyarrow import types

    if types.is_timestamp(kind) or types.is_date(kind):
        return times_of
    if _is_text(kind):
        return lambda column: times_of_text(persons_of_text(_plain(column)))
    # A column without a single time has no type of its own, and pandas makes doubles of it.
    if kind == pa.null() or (types.is_floating(kind) and by_pandas):
        return lambda column: no_times(len(column))
    return None


def _text_reader(kind: pa.DataType, by_pandas: bool) -> Reader | None:
    import pyarrow as pa
    from pyarrow import types

    if _is_text(kind):
        return lambda column: Texts(persons_of_text(_plain(column)))
    if types.is_floating(kind) and by_pandas:  # which pandas makes of all whole numbers, for one that is missing
        return lambda column: Texts(
            texts_of(persons_of_doubles(column.cast(pa.float64()).to_numpy(zero_copy_only=False)))
        )
    try:
        persons_of(pa.array([], kind))
    except PointsError:
        return None
    return lambda column: Texts(texts_of(persons_of(column)))


def _is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of texts, or of bytes: writers make bytes of a whole column for one record of bytes."""
    from pyarrow import types

    inner: Any = kind.value_type if types.is_dictionary(kind) else kind
    return str(inner) in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def _plain(column: pa.Array) -> pa.Array:
    from pyarrow import types

    return column.dictionary_decode() if types.is_dictionary(column.type) else column
