"""Records that say in which zone they are: a column of codes in memory, or in files that stay unread until counted.

A record with the code of a leaf zone is in that leaf. Any other record counts nowhere, silently: one whose code is
unknown, missing, above the leaves, or no text at all. Whether a code occurs in the frame is public; whether a record
has such a code is not, so no error speaks of it. What may be refused is the declared type of an array or a column:
numbers, because a leading zero is part of a code. Lists and pandas declare nothing, and numbers in them count nowhere.
"""

from __future__ import annotations

import warnings
from collections import UserList, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Integers32, with_gaps
from spatialdp._support.override import override
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Person
from spatialdp.records.files import sources_of
from spatialdp.records.formats.arrow import open_parquet_texts
from spatialdp.records.formats.base import Coded, Selection, Source, forgetful, quietly
from spatialdp.records.formats.delimited import open_delimited_texts
from spatialdp.records.formats.text import persons_of_text
from spatialdp.records.persons.identifiers import joined, persons_of
from spatialdp.records.points import Points, check_persons
from spatialdp.records.streaming import Opener, each_quietly, require_unchanged, stamp_of
from spatialdp.space.zones.location import MANY
from spatialdp.wording import either

if TYPE_CHECKING:
    import pyarrow as pa

    from spatialdp.space.domain import Domain
    from spatialdp.space.zones.frame import Zones

__all__ = ["CodeFile", "Codes", "FileCodes", "as_zone_records", "codes_of", "opener_of_codes", "read_codes"]

# Bytes are text in UTF-8 or no code: writers make bytes of a whole column for one record that is bytes.
_TEXT_TYPES = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
_BLOCK = MANY  # records that are looked up at a time
_OPENERS: dict[str, Opener] = {
    **dict.fromkeys((".parquet", ".geoparquet", ".pq"), open_parquet_texts),
    **dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), open_delimited_texts),
}


class Codes:
    """Sensitive records that are given by the codes of their zones.

    Parameters
    ----------
    codes : array-like of text
        The code of each record's leaf zone. A record whose code is not one of a leaf counts nowhere.
    person : array-like, optional
        Who each record is about, as for `Points`.

    Raises
    ------
    PointsError
        If the declared type of the codes is not text, such as an array of integers: leading zeros would be lost. If
        codes and persons differ in number.

    Privacy
    -------
    The object shows nothing about its records. No record causes an error, whatever its value.

    Examples
    --------
    >>> Codes(["37063", "37063", None, "nowhere"])
    Codes(<private>)
    """

    __slots__ = ("_codes", "_persons")

    @forgetful
    def __init__(self, codes: Any, person: Any = None) -> None:
        self._codes = codes_of(codes)
        self._persons: pa.Array | None = None if person is None else persons_of(person)
        if self._persons is not None and len(self._persons) != len(self._codes):
            raise PointsError(
                "the codes and their persons have different lengths; each record needs a person, or a missing value. "
                "Give as many persons as codes."
            )

    def __repr__(self) -> str:
        return f"Codes({', '.join(['<private>'] + ['person=<private>'] * self._has_persons)})"

    @property
    def _has_persons(self) -> bool:
        """Whether there is a column of persons, which is public."""
        return self._persons is not None

    def _leaves(self, zones: Zones) -> Iterator[tuple[pa.Array | None, Integers32]]:
        """Yield the persons of the records, if they have any, and their leaf zones; the number of leaves for none."""
        for codes, persons in _in_blocks(self._blocks()):
            yield persons, zones.leaves_of_codes(codes)

    def _blocks(self) -> Iterator[tuple[pa.Array, pa.Array | None]]:
        """Yield the codes of the records and, if they have any, their persons, block by block."""
        for start in range(0, len(self._codes), _BLOCK):
            persons = None if self._persons is None else self._persons[start : start + _BLOCK]
            yield self._codes[start : start + _BLOCK], persons

    def _kept(self, domain: Domain | None) -> Codes:  # noqa: ARG002 - codes lie on no lattice
        """Return the same records in memory."""
        return self

    def _snapshot(self) -> AbstractContextManager[None]:
        """Return a context within which all questions are answered from one state of the records."""
        return nullcontext()

    def _check_zones(self, zones: Zones) -> None:
        """Refuse zones in which these records cannot be located: those with two leaves of one code."""
        zones.check_leaf_codes()


class FileCodes(Codes):
    """Records in files that are given by codes, which are read anew each time that they are counted.

    Parameters
    ----------
    files : sequence of CodeFile
    selection : Selection
        The columns of codes and of persons.
    """

    __slots__ = ("_files", "_selection")

    def __init__(self, files: Sequence[CodeFile], selection: Selection) -> None:
        self._files, self._selection = tuple(files), selection

    @property
    @override
    def _has_persons(self) -> bool:
        return self._selection.person is not None

    @override
    def _blocks(self) -> Iterator[tuple[pa.Array, pa.Array | None]]:
        return ((batch.codes, batch.person) for batch in self._batches())

    @override
    def _kept(self, domain: Domain | None) -> Codes:  # noqa: ARG002
        parts = list(self._blocks())
        return Codes(*_one(parts)) if parts else Codes([], [] if self._has_persons else None)

    def _batches(self) -> Iterator[Coded]:
        """The records of all files, batch by batch."""
        return (batch for file in self._files for batch in file.batches(self._selection))


@dataclass(frozen=True)
class CodeFile:
    """A file of codes that has passed the checks of its structure.

    Parameters
    ----------
    source : Source
        With a path.
    open : Opener
        The opener of its format.
    stamp : tuple
        What the file system said of the file when its structure was checked.
    """

    source: Source
    open: Opener
    stamp: tuple[int, ...]

    @classmethod
    def check(cls, source: Source, opener: Opener, selection: Selection) -> CodeFile:
        """Open a file and check its structure; no record is read."""
        file = cls(source, opener, stamp_of(source))
        with ExitStack() as stack:
            quietly(partial(opener, source, selection, stack), source)
        return file

    def batches(self, selection: Selection) -> Iterator[Coded]:
        """Yield the records of the file."""
        require_unchanged(self.source, self.stamp)
        with ExitStack() as stack:
            table = quietly(partial(self.open, self.source, selection, stack), self.source)
            yield from each_quietly(iter(table.batches), self.source)
        require_unchanged(self.source, self.stamp)


@forgetful
def read_codes(path: Any, column: str, *, person: str | None = None) -> Codes:
    r"""Read sensitive records that are given by the codes of their zones.

    Parameters
    ----------
    path : str, path or list of paths
        One or more files: Parquet, ``.csv``, ``.tsv``, both also with ``.gz``. A folder stands for all files in it, and
        a pattern for the files that it matches.
    column : str
        Name of the column of codes.
    person : str, optional
        Name of the column that says who a record is about, as in `read_points`.

    Returns
    -------
    Codes
        Records stay unread until they are counted; what was checked is the structure of the files. Each release reads
        them again, so they must stay as they are.

    Raises
    ------
    PointsError
        If a file cannot be read, has no such column, or the schema of a Parquet file declares that codes are not text.

    Privacy
    -------
    Errors depend on structure, never on records. Unknown, missing and odd codes count nowhere.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cases.csv"
    >>> _ = path.write_text("county,who\n37063,ann\n06037,bob\n,\n")
    >>> read_codes(path, "county", person="who")
    Codes(<private>, person=<private>)
    """
    for name, value in (("column", column), ("person", person)):
        if not isinstance(value, str) and (value is not None or name == "column"):
            raise PointsError(f"{name} is a {type(value).__name__}; give the name of a column.")
    selection = Selection(code=column, person=person)
    files = [CodeFile.check(source, opener_of_codes(source), selection) for source in sources_of(path)]
    return FileCodes(files, selection)


def opener_of_codes(source: Source) -> Opener:
    """Return the opener that reads columns of codes from files of a source's format."""
    if source.suffix not in _OPENERS:
        raise PointsError(
            f"{source.name} is a file of points; codes are read from {', '.join(_OPENERS)}. For points, "
            f"{either('use read_points', 'leave --code-column out')}; or write the codes to one of these formats."
        )
    return _OPENERS[source.suffix]


def as_zone_records(records: Any, zones: Zones, person: Person | None = None) -> Points | Codes:
    """Return the caller's records, in any accepted form, for use with zones.

    Points in another CRS than the zones' are refused, and so are a bound on persons without a column of persons and the
    reverse, and tables that stay in their engine.
    """
    ready = records if isinstance(records, Points | Codes) else Points(records)
    ready._check_zones(zones)
    check_persons(ready._has_persons, person)
    return ready


def codes_of(values: Any) -> pa.Array:
    """Return the codes of the records, one for each, as `large_string`; null for a record without one.

    Examples
    --------
    >>> codes_of(["37063", 37063, None, ["37063"]]).to_pylist()
    ['37063', None, None, None]
    >>> codes_of(np.array([37063]))
    Traceback (most recent call last):
    spatialdp.errors.PointsError: the codes are of type int64; ...
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # a warning would tell that such a record exists
        warnings.simplefilter("ignore")
        if isinstance(values, list | tuple | deque | UserList):
            return _of_elements(values)
        if hasattr(values, "iloc") or type(values).__module__.split(".")[0] == "pandas":
            return _of_pandas(values)
        if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
            return _of_arrow(values)
        return _of_array(values)


def _refused(kind: object) -> PointsError:
    return PointsError(
        f"the codes are of type {kind}; they must be text, one for each record, because a leading zero is part of a "
        "code. Read the column as text."
    )


def _of_array(values: Any) -> pa.Array:
    array = np.asarray(values) if hasattr(values, "__array__") else None
    if array is None or array.ndim != 1 or array.dtype.kind not in "UTO":
        raise _refused(type(values).__name__ if array is None or array.ndim != 1 else array.dtype.type.__name__)
    return _of_elements(with_gaps(array.astype(object), values, None))


def _of_elements(values: Iterable[Any]) -> pa.Array:
    """Return the codes of Python objects, each judged by itself."""
    import pyarrow as pa

    objects = values if isinstance(values, np.ndarray) else list(values)
    if set(map(type, objects)) <= {str, type(None)}:
        try:
            return pa.array(objects, pa.large_string())
        except Exception:  # such as half a surrogate pair; the message may quote a record
            pass
    texts = _TEXTS(np.fromiter(objects, dtype=object, count=len(objects)))
    return pa.array(texts, pa.large_binary()).cast(pa.large_string())


def _text(value: Any) -> bytes | None:
    """Return text in UTF-8; None for anything else."""
    try:
        return str.encode(value, "utf-8") if isinstance(value, str) else None
    except Exception:  # its message may quote a record
        return None


_TEXTS = np.frompyfunc(_text, 1, 1)


def _of_pandas(values: Any) -> pa.Array:
    """Return the codes in a series, an index or an array of pandas; no type is refused, because records choose it."""
    import pyarrow as pa

    if values.ndim != 1:
        raise PointsError("the codes are not one-dimensional; give one code for each record.")
    array = getattr(values, "array", values)
    if hasattr(array, "categories"):
        places = np.asarray(array.codes, dtype=np.int64)
        return _of_pandas(array.categories).take(pa.array(places, mask=places < 0))
    # An array of objects has no type of its own: pyarrow would choose bytes for all of them, for one that is bytes.
    if not hasattr(array, "__arrow_array__"):
        return _of_elements(np.asarray(array, dtype=object))
    try:
        column = pa.array(array)
    except Exception:  # such as half a surrogate pair; the message may quote a record
        return _of_elements(np.asarray(array, dtype=object))
    chunks = getattr(column, "chunks", [column]) or [pa.nulls(0, column.type)]
    texts = [(_text_of(chunk), chunk) for chunk in chunks]
    return joined([pa.nulls(len(chunk), pa.large_string()) if text is None else text for text, chunk in texts])


def _of_arrow(values: Any) -> pa.Array:
    """Return the codes in an Arrow array, whose declared type must be text."""
    import pyarrow as pa

    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
    parts = [_text_of(chunk) for chunk in getattr(values, "chunks", [values]) or [pa.nulls(0, values.type)]]
    if any(part is None for part in parts):
        raise _refused(values.type)
    return joined(parts)


def _text_of(column: pa.Array) -> pa.Array | None:
    """Return an Arrow array of text as `large_string`; None if its type is not text."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _text_of(column.dictionary_decode())
    if types.is_null(kind):
        return column.cast(pa.large_string())
    if str(kind) in _TEXT_TYPES:
        return persons_of_text(column)
    return None


def _in_blocks(parts: Iterable[tuple[pa.Array, pa.Array | None]]) -> Iterator[tuple[pa.Array, pa.Array | None]]:
    """Join parts until they hold many records, because looking codes up begins with a table of all codes."""
    waiting: list[tuple[pa.Array, pa.Array | None]] = []
    for part in parts:
        waiting.append(part)
        if sum(len(codes) for codes, _ in waiting) >= _BLOCK:
            yield _one(waiting)
            waiting = []
    if waiting:
        yield _one(waiting)


def _one(parts: list[tuple[pa.Array, pa.Array | None]]) -> tuple[pa.Array, pa.Array | None]:
    codes, persons = zip(*parts, strict=True)
    return joined(codes), None if persons[0] is None else joined(persons)
