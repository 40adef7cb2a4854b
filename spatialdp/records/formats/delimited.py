"""How are points read from CSV and TSV, plain or compressed? Header first, then all cells as text.

The first line, which has the names of the columns, is the whole structure of the file. How many cells a row has and
what is in them changes nothing for other rows: cells are text, missing ones are empty, surplus ones are ignored. Lines
end at CR, LF or both. In CSV, quotes that open at the start of a cell may enclose line breaks, so a quote that is never
closed leaves no way to tell rows apart: such a file is refused as a damaged one. In TSV quotes mean nothing, because
its writers do not quote: every line is a row, and one pair of quotes around a cell is taken off.

A person is the text of a cell, byte by byte, with two exceptions. An empty cell is no person, because it may as well be
a missing one; nor is text that is not UTF-8. And ``5.0`` is the person 5: pandas writes all whole numbers so for one
that is missing.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from spatialdp._support.override import override
from spatialdp.errors import PointsError
from spatialdp.records.formats.base import (
    BATCH,
    Batch,
    Coded,
    Selection,
    Source,
    Table,
    no_geometry,
    not_whole,
    without_layers,
)
from spatialdp.records.formats.text import numbers_of, points_of_wkt, whole_numbers_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_delimited", "open_delimited_texts"]

_QUOTE = b'"'
_BREAKS = (b"\r", b"\n")
_REPLACED = "\ufffd"  # stands for bytes that are not UTF-8
_MARK = b"\xef\xbb\xbf"  # with which some programs begin a file in UTF-8


@dataclass(frozen=True)
class _Form:
    """What separates cells, and whether quotes enclose them."""

    separator: str
    separators: str
    quotes: bool


_CSV, _TSV = _Form(",", "commas", quotes=True), _Form("\t", "tabs", quotes=False)


def open_delimited(source: Source, selection: Selection, stack: ExitStack) -> Table:
    """Open a file of separated values, whose coordinates are in two columns of numerals or in one of WKT."""
    without_layers(source, selection)
    form = _form(source)
    file = _opened(source, stack)
    names = _header(source, file, form)
    wanted = selection.columns or ((selection.geometry,) if selection.geometry is not None else None)
    if wanted is None:
        raise no_geometry(source)
    cells = _named_cells(source, file, form, names, (*wanted, *_beside(selection)), selection)
    return Table(None, _batches(cells, len(wanted), selection), plain=True)


def open_delimited_texts(source: Source, selection: Selection, stack: ExitStack) -> Table:
    """Open a file of separated values for a column of codes: text, null where it is empty or not UTF-8."""
    form = _form(source)
    file = _opened(source, stack)
    names = _header(source, file, form)
    cells = _named_cells(source, file, form, names, (selection.code or "", *_beside(selection)), selection)
    batches = (Coded(_known(texts[0]), *_read_beside(texts[1:], selection)) for texts in cells)
    return Table(None, batches, plain=True)


def _form(source: Source) -> _Form:
    return _TSV if source.suffix.startswith(".tsv") else _CSV


def _opened(source: Source, stack: ExitStack) -> Any:
    file: Any = stack.enter_context(source.opened())
    return stack.enter_context(gzip.GzipFile(fileobj=file)) if source.suffix.endswith(".gz") else file


def _check_columns(source: Source, form: _Form, names: list[str], wanted: Sequence[str], selection: Selection) -> None:
    for name in wanted:
        hint = f" Name it with {selection.options}." if name in selection.others else ""
        if names.count(name) != 1:  # names are not quoted: in a file without a header, they are a record
            raise PointsError(
                f"the first line of {source.name} has {'more than one' if name in names else 'no'} column {name!r}; "
                f"that line must have the names of the columns, separated by {form.separators}, and each name that is "
                f"asked for once.{hint}"
            )


def _header(source: Source, file: IO[bytes], form: _Form) -> list[str]:
    """Read the first line that is not blank, and return the names in it; the file is left behind that line."""
    line = b"\n"
    while line and not line.strip():
        line, whole = _line(file, form)
    if not whole:
        raise not_whole(source)
    if not line:
        raise PointsError(
            f"{source.name} is an empty file, without even a header; write it again, or give another file."
        )
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    if form.quotes:
        return next(csv.reader([text], delimiter=form.separator), [])
    return [_unquoted(name) for name in text.split(form.separator)]


def _line(file: IO[bytes], form: _Form) -> tuple[bytes, bool]:
    """Read a line with its end, CR or LF, and return it, and whether its quotes are closed.

    Of the two characters of CR LF, the second one is left, as a line of its own that is blank.
    """
    line = bytearray()
    quoted, opens = False, form.quotes  # whether a quote would open a cell: at its start, or as the second of two
    separator = form.separator.encode()
    while byte := file.read(1):
        line += byte
        if quoted:
            quoted = byte != _QUOTE
            opens = not quoted
        elif byte in _BREAKS:
            break
        else:
            quoted = opens and byte == _QUOTE
            opens = form.quotes and byte == separator
        if line == _MARK:
            line.clear()
            opens = form.quotes
    return bytes(line), not quoted


def _unquoted(cell: str) -> str:
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


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


def _beside(selection: Selection) -> tuple[str, ...]:
    """Return the names of the columns that are read beside coordinates or codes: persons, and the others."""
    return selection.others if selection.person is None else (selection.person, *selection.others)


def _read_beside(texts: list[pa.Array], selection: Selection) -> tuple[pa.Array | None, tuple[pa.Array, ...]]:
    """Return the persons, if there are any, and the other columns: cells as they are, null for an empty one."""
    people, others = texts[: len(texts) - len(selection.others)], texts[len(texts) - len(selection.others) :]
    return _persons(people[0]) if people else None, tuple(_known(column) for column in others)


def _batches(cells: Iterator[list[pa.Array]], width: int, selection: Selection) -> Iterator[Batch]:
    """Yield the records of rows of cells, of which the first are one column of WKT or two of numerals."""
    for texts in cells:
        x, y = points_of_wkt(texts[0]) if width == 1 else (numbers_of(column) for column in texts[:width])
        yield Batch(x, y, *_read_beside(texts[width:], selection))


def _named_cells(
    source: Source, file: IO[bytes], form: _Form, names: list[str], wanted: Sequence[str], selection: Selection
) -> Iterator[list[pa.Array]]:
    """Yield the cells of some columns, by their names, which are checked at once."""
    _check_columns(source, form, names, wanted, selection)
    return _cells(file, form, len(names), [names.index(name) for name in wanted])


def _cells(file: IO[bytes], form: _Form, columns: int, places: list[int]) -> Iterator[list[pa.Array]]:
    """Yield the cells of some columns as text, for some rows at a time."""
    import pandas as pd

    # A header of our own, as wide as the file's: without one, pandas looks at records to find the number of columns.
    header = form.separator.join(map(str, range(columns))).encode() + b"\n"
    chunks = pd.read_csv(
        io.BufferedReader(_Joined(header, file), 2**20),
        sep=form.separator,
        quoting=csv.QUOTE_MINIMAL if form.quotes else csv.QUOTE_NONE,
        usecols=sorted(set(places)),
        dtype=str,
        na_filter=False,
        chunksize=BATCH,
        index_col=False,
        on_bad_lines="skip",
        encoding_errors="replace",
    )
    for chunk in chunks:
        yield [_column(chunk[str(place)], form) for place in places]


def _known(cells: pa.Array) -> pa.Array:
    """Return cells of text; null for an empty cell, and for one that is not UTF-8."""
    import pyarrow.compute as pc

    known = pc.and_(pc.not_equal(cells, ""), pc.invert(pc.match_substring(cells, _REPLACED)))
    return pc.if_else(known, cells, None)


def _persons(cells: pa.Array) -> pa.Array:
    """Return the persons of cells of text; null for an empty cell, and for one that is not UTF-8."""
    import pyarrow.compute as pc

    cells = _known(cells)
    return pc.coalesce(whole_numbers_of(cells), cells)


def _column(cells: Any, form: _Form) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.array(cells, pa.large_string(), from_pandas=True)
    return column if form.quotes else pc.replace_substring_regex(column, r'(?s)^"(.*)"$', r"\1")
