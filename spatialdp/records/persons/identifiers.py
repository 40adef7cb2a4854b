"""Who is a record about? How a column of identifiers, as a caller or a file has it, becomes one Arrow array.

A person is the **text** of its identifier: whole numbers in decimal, text byte by byte, UUIDs in lower case with
dashes. So 5 and "5" are one person, "05" is another one, and the empty text is a person like any other. Columns of
whole numbers stay `int64`, because that is fast; all others become `large_string`. Which of the two it is changes no
result.

A record without a person counts nowhere: a missing value, and whatever is not an identifier (a list, bytes, a truth
value, a date, text with half a surrogate pair). Each element is judged by itself, so that one record changes nothing
for the others. What may be refused is the **declared type** of an array or a column, never a value. Lists and frames
of pandas declare nothing, because pandas chooses types by the records: it makes doubles of whole numbers with a gap.
So doubles in pandas (and in lists) that are whole and below 2^53 are whole numbers, and other doubles count nowhere;
arrays of doubles that numpy or a file declares are refused.
"""

from __future__ import annotations

import warnings
from collections import UserList, deque
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans
from spatialdp.errors import PointsError
from spatialdp.wording import parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["joined", "persons_of", "texts_of"]

_LONGEST = 76  # digits of a decimal number: as many as Arrow and databases have
_WHOLE_DECIMAL = r"^(?:-?[0-9]+(?:\.0*)?|0E[+-]?[0-9]+)$"  # as Arrow writes them: 5, 5.00, 0E-10
_PLAIN_BITS = 10_000  # integers of more bits may have more digits than `str` writes
_DASHES = [4, 6, 8, 10]  # bytes of a UUID that follow a dash


def persons_of(values: Any, name: str | None = None) -> pa.Array:
    """Return the persons of the records, one for each, as `int64` or `large_string`; null for a record without one.

    Parameters
    ----------
    values : array, list, series of pandas, or Arrow array or chunked array
        Whole numbers, text or UUIDs. Bytes are UUIDs only if their type says so (Arrow's ``arrow.uuid``).
    name : str, optional
        The column as errors call it; by default the parameter `person`.

    Raises
    ------
    PointsError
        If the declared type or shape cannot be one identifier for each record, such as an array of doubles.

    Examples
    --------
    >>> persons_of([3, "3", None, "ann", [4]]).to_pylist()
    ['3', '3', None, 'ann', None]
    >>> persons_of(np.array([1.0, 2.0]))
    Traceback (most recent call last):
    spatialdp.errors.PointsError: person is of type float64; ...
    """
    name = parameter("person") if name is None else name
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # a warning would tell that such a record exists
        warnings.simplefilter("ignore")
        if _is_list(values):
            return _of_elements(values)
        if _is_pandas(values):
            return _of_pandas(_of_one_dimension(values, name))
        if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
            return _of_declared_arrow(values, name)
        return _of_declared_array(values, name)


def texts_of(persons: pa.Array) -> pa.Array:
    """Return persons as text, `large_string`, whichever of the two types they have.

    Examples
    --------
    >>> texts_of(persons_of([5, None])).to_pylist()
    ['5', None]
    """
    import pyarrow as pa

    return persons.cast(pa.large_string())


def joined(parts: Sequence[pa.Array]) -> pa.Array:
    """Return the persons of several parts, such as the batches of a file, as one array.

    Examples
    --------
    >>> joined([persons_of([1, 2]), persons_of(["ann"])]).to_pylist()
    ['1', '2', 'ann']
    """
    import pyarrow as pa

    if not parts:
        return pa.nulls(0, pa.int64())
    if len({part.type for part in parts}) > 1:
        parts = [texts_of(part) for part in parts]
    return pa.concat_arrays(parts)


def _refused(kind: object, name: str) -> PointsError:
    return PointsError(
        f"{name} is of type {kind}; persons must be whole numbers, text or UUIDs, one for each record. Convert it "
        "first, to text if nothing else is exact."
    )


def _of_one_dimension(values: Any, name: str) -> Any:
    if values.ndim != 1:
        raise PointsError(f"{name} is not one-dimensional; give one identifier for each record.")
    return values


# --- lists and arrays ------------------------------------------------------------------------------


def _is_list(values: Any) -> bool:
    return isinstance(values, list | tuple | range | deque | UserList)


def _of_declared_array(values: Any, name: str) -> pa.Array:
    """Return the persons in an array of numpy, or in anything that becomes one by itself."""
    if not hasattr(values, "__array__"):
        raise _refused(type(values).__name__, name)
    if isinstance(values, np.ma.MaskedArray):
        return _where(~np.ma.getmaskarray(values), _of_declared_array(values.data, name))
    array = _of_one_dimension(np.asarray(values), name)
    if array.dtype.kind not in "iuUTO":
        raise _refused(array.dtype.type.__name__, name)  # without the width, which is that of the longest value
    return _of_array(array)


def _of_array(array: Array) -> pa.Array:
    """Return the persons in a one-dimensional array; all null if its type has none."""
    import pyarrow as pa

    kind = array.dtype.kind
    if kind == "i":
        return pa.array(np.ascontiguousarray(array, dtype=np.int64))
    if kind == "u":
        return _of_arrow(pa.array(np.ascontiguousarray(array, dtype=np.uint64)))
    if kind in "UTO":
        return _of_elements(array.astype(object))
    if kind == "c":  # which pandas makes of all numbers, for one record
        return _of_doubles(np.where(array.imag == 0, array.real, np.nan))
    return _of_doubles(array) if kind == "f" else pa.nulls(array.size, pa.int64())


def _of_doubles(array: Array) -> pa.Array:
    import pyarrow as pa

    doubles = array.astype(np.float64)
    whole = (np.abs(doubles) < _exact_below(array.dtype)) & (doubles == np.floor(doubles))
    return pa.array(np.where(whole, doubles, 0).astype(np.int64), mask=~whole)


def _exact_below(kind: Any) -> float:
    """Return the number from which on a type of floating-point numbers skips whole numbers: 2^53 for doubles."""
    return float(2 / np.finfo(kind).eps)


def _where(condition: Booleans, persons: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pa.array(condition), persons, pa.scalar(None, persons.type))


# --- elements --------------------------------------------------------------------------------------


def _of_elements(values: Iterable[Any]) -> pa.Array:
    """Return the persons of Python objects, each judged by itself; columns of one kind are not looked at one by one."""
    import pyarrow as pa

    values = list(values)
    kinds = {type(value) for value in values}
    try:
        if kinds == {int}:
            return pa.array(values, pa.int64())
        if kinds <= {str, type(None)}:
            return pa.array(values, pa.large_string())
    except Exception:  # numbers beyond 64 bits, half a surrogate pair; the message may quote a record
        pass
    texts = _TEXTS(np.fromiter(values, dtype=object, count=len(values)))
    return pa.array(texts, pa.large_binary()).cast(pa.large_string())


def _text(value: Any) -> bytes | None:
    """Return the text of one identifier in UTF-8; None for what is not an identifier."""
    try:
        if isinstance(value, str):
            return str.encode(value, "utf-8")
        number = _whole_number(value)
        if number is not None:
            # `str` refuses numbers of more than some thousand digits.
            return str(number if number.bit_length() < _PLAIN_BITS else Decimal(number)).encode()
        return str(value).encode() if _is_uuid(value) else None
    except Exception:  # its message may quote a record
        return None


_TEXTS = np.frompyfunc(_text, 1, 1)


def _whole_number(value: Any) -> int | None:
    """Return a number of any type that is whole and exact; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return int(value) if abs(float(value)) < _exact_below(type(value)) and value == int(value) else None
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < _LONGEST:
        return int(value) if value == int(value) else None
    return None


def _is_uuid(value: Any) -> bool:
    """Whether something is a UUID of Python; `uuid` is not imported, because it can also draw random ones."""
    return any((kind.__module__, kind.__name__) == ("uuid", "UUID") for kind in type(value).__mro__)


# --- pandas ----------------------------------------------------------------------------------------


def _is_pandas(values: Any) -> bool:
    return hasattr(values, "iloc") or type(values).__module__.split(".")[0] == "pandas"


def _of_pandas(values: Any) -> pa.Array:
    """Return the persons in a series, an index or an array of pandas; no type is refused."""
    import pyarrow as pa

    array = getattr(values, "array", values)
    if hasattr(array, "categories"):
        codes = np.asarray(array.codes, dtype=np.int64)
        return _of_pandas(array.categories).take(pa.array(codes, mask=codes < 0))
    if not hasattr(array, "__arrow_array__"):
        return _of_array(np.asarray(array))
    try:
        column = pa.array(array)
    except Exception:  # such as half a surrogate pair; the message may quote a record
        return _of_elements(np.asarray(array, dtype=object))
    parts = [_of_undeclared_arrow(chunk) for chunk in _chunks(column)]
    return joined(parts)


def _of_undeclared_arrow(column: pa.Array) -> pa.Array:
    """Return the persons in an Arrow array whose type was chosen by its records; all null if its type has none."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_floating(column.type):
        return _of_doubles(column.to_numpy(zero_copy_only=False))
    persons = _of_arrow(column)
    return pa.nulls(len(column), pa.int64()) if persons is None else persons


# --- Arrow -----------------------------------------------------------------------------------------


def _of_declared_arrow(values: Any, name: str) -> pa.Array:
    import pyarrow as pa

    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
    parts = [_of_arrow(chunk) for chunk in _chunks(values)]
    if any(part is None for part in parts):
        raise _refused(values.type, name)
    return joined(parts)


def _chunks(column: Any) -> list[pa.Array]:
    """Return the chunks of an Arrow array, of which there is at least one."""
    import pyarrow as pa

    return getattr(column, "chunks", [column]) or [pa.nulls(0, column.type)]


def _of_arrow(column: pa.Array) -> pa.Array | None:
    """Return the persons in an Arrow array by its type; None if it is not one of identifiers."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _of_arrow(column.dictionary_decode())
    if types.is_run_end_encoded(kind):
        return _of_arrow(pc.run_end_decode(column))
    if getattr(kind, "extension_name", None) == "arrow.uuid":
        return _of_uuids(column.storage)
    if types.is_null(kind) or (types.is_integer(kind) and kind != pa.uint64()):
        return column.cast(pa.int64())
    if kind == pa.uint64() or _is_text(kind):
        return column.cast(pa.large_string())
    return _of_decimals(column) if types.is_decimal(kind) else None


def _of_decimals(column: pa.Array) -> pa.Array:
    """Return decimals as persons, those that are whole; for one that is not, writers give all others a fraction."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = column.cast(pa.large_string())
    whole = pc.match_substring_regex(text, _WHOLE_DECIMAL)
    return pc.replace_substring_regex(pc.if_else(whole, text, None), r"(?:\.|E).*$", "").cast(pa.large_string())


def _is_text(kind: pa.DataType) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _of_uuids(column: pa.Array) -> pa.Array:
    """Return the text of UUIDs that are stored as 16 bytes: 36 characters, lower case, with dashes."""
    import pyarrow as pa

    valid = column.is_valid().to_numpy(zero_copy_only=False)
    content = pa.concat_arrays([column.fill_null(bytes(16))]).buffers()[1]
    octets = np.frombuffer(content, dtype=np.uint8, count=16 * len(column)).reshape(-1, 16)
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    pairs = np.stack([digits[octets >> 4], digits[octets & 15]], axis=2).reshape(-1, 32)
    texts = np.insert(pairs, 2 * np.array(_DASHES), ord("-"), axis=1)
    offsets = np.arange(len(column) + 1, dtype=np.int64) * texts.shape[1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(texts))]
    return _where(valid, pa.Array.from_buffers(pa.large_string(), len(column), buffers))
