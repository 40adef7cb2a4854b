"""How are points read from CSV and TSV, plain or compressed? Header first, then all cells as text.

The first line, which has the names of the columns, is the whole structure of the file. How many cells a row has and
what is in them changes nothing for other rows: cells are text, missing ones are empty, surplus ones are ignored. A row
ends at a line break outside of quotes, so a quote that is opened at the start of a cell and never closed leaves no way
to tell rows apart: such a file is refused as a damaged one.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any

from spatialdp._support.override import override
from spatialdp.errors import PointsError
from spatialdp.records.formats.base import (
    BATCH,
    Batch,
    Selection,
    Source,
    Table,
    no_geometry,
    not_whole,
    without_layers,
)
from spatialdp.records.formats.text import numbers_of, points_of_wkt

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_delimited"]

_QUOTE = b'"'
_MARK = b"\xef\xbb\xbf"  # with which some programs begin a file in UTF-8


def open_delimited(source: Source, selection: Selection, stack: ExitStack) -> Table:
    """Open a file of separated values, whose coordinates are in two columns of numerals or in one of WKT."""
    without_layers(source, selection)
    separator, separators = ("\t", "tabs") if source.suffix.startswith(".tsv") else (",", "commas")
    file: Any = stack.enter_context(source.opened())
    if source.suffix.endswith(".gz"):
        file = stack.enter_context(gzip.GzipFile(fileobj=file))
    names = _header(source, file, separator)
    wanted = selection.columns or ((selection.geometry,) if selection.geometry is not None else None)
    if wanted is None:
        raise no_geometry(source)
    for name in wanted:
        if names.count(name) != 1:  # names are not quoted: in a file without a header, they are a record
            raise PointsError(
                f"the first line of {source.name} has {'more than one' if name in names else 'no'} column {name!r}; "
                f"that line must have the names of the columns, separated by {separators}, and each name that is asked "
                "for once."
            )
    places = [names.index(name) for name in wanted]
    return Table(None, _batches(file, separator, len(names), places), plain=True)


def _header(source: Source, file: IO[bytes], separator: str) -> list[str]:
    """Read the first line that is not blank, and return the names in it; the file is left behind that line."""
    line = file.readline().removeprefix(_MARK)
    if not line:
        raise PointsError(
            f"{source.name} is an empty file, without even a header; write it again, or give another file."
        )
    while line and not line.strip():
        line = file.readline()
    more = line
    while more and line.count(_QUOTE) % 2:  # a name may have line breaks within quotes
        more = file.readline()
        line += more
    if line.count(_QUOTE) % 2:
        raise not_whole(source)
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    return next(csv.reader([text], delimiter=separator), [])


class _Joined(io.RawIOBase):
    """Some bytes, and then the rest of a file, as one file."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        self._first, self._rest = first, rest

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        part, self._first = self._first[: len(buffer)], self._first[len(buffer) :]
        part = part or self._rest.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)


def _batches(file: IO[bytes], separator: str, columns: int, places: list[int]) -> Iterator[Batch]:
    import pandas as pd

    # A header of our own, as wide as the file's: without one, pandas looks at records to find the number of columns.
    header = separator.join(map(str, range(columns))).encode() + b"\n"
    chunks = pd.read_csv(
        io.BufferedReader(_Joined(header, file), 2**20),
        sep=separator,
        usecols=sorted(places),
        dtype=str,
        na_filter=False,
        chunksize=BATCH,
        index_col=False,
        on_bad_lines="skip",
        encoding_errors="replace",
    )
    for chunk in chunks:
        cells = [_column(chunk[str(place)]) for place in places]
        yield points_of_wkt(cells[0]) if len(cells) == 1 else (numbers_of(cells[0]), numbers_of(cells[1]))


def _column(cells: Any) -> pa.Array:
    import pyarrow as pa

    return pa.array(cells, pa.large_string(), from_pandas=True)
