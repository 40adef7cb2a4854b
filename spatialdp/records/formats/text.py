"""How is text read as coordinates and persons? Numerals, points in WKT and identifiers, a column at a time.

Text is handled as bytes, so that a record which is not UTF-8 is a record like any other. Text that is not a numeral, or
not a point, becomes NaN, and text that is not UTF-8 is no person; nothing here raises or warns because of a record, and
the time for one is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.records.formats.base import Bytes, Coordinates
from spatialdp.records.persons.identifiers import persons_of, texts_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "LONGEST_TEXT",
    "NUMERAL",
    "numbers_of",
    "pairs_of",
    "persons_of_doubles",
    "persons_of_numerals",
    "persons_of_text",
    "points_of_wkt",
    "slices",
    "whole_numbers_of",
]

NUMERAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
LONGEST_TEXT = 4096  # bytes of text that may be a coordinate or a point; what is longer counts nowhere
_NUMBER = rf"^\s*{NUMERAL}\s*$"
_PLACE = rf"\(\s*(?P<x>{NUMERAL})\s+(?P<y>{NUMERAL})(?:\s+[^\s()]+){{0,2}}\s*\)"
_HEAD = r"(?i)^\s*(?:SRID\s*=\s*[0-9]+\s*;)?\s*{}\s*(?:ZM|Z|M)?\s*"
_POINTS = (  # a point, and a multi-point of one part, which is written in two ways
    rf"{_HEAD.format('(?:MULTI)?POINT')}{_PLACE}\s*$",
    rf"{_HEAD.format('MULTIPOINT')}\(\s*{_PLACE}\s*\)\s*$",
)
_WHOLE = r"^-?(?:0|[1-9][0-9]*)\.0+$"
_INTEGER = r"^\s*[+-]?[0-9]+\s*$"
_UTF_8 = (  # what Unicode allows, as bytes
    r"(?s)^(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    r"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*$"
)


def numbers_of(text: pa.Array) -> Floats:
    """Return a column of text as doubles; NaN for what is not a decimal numeral.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers_of(pa.array(["0.5", " +1e2 ", "unknown", None]))
    array([  0.5, 100. ,   nan,   nan])
    """
    import pyarrow.compute as pc

    raw = _short(text)
    return _doubles(pc.if_else(pc.match_substring_regex(raw, _NUMBER), raw, None))


def points_of_wkt(text: pa.Array) -> Coordinates:
    """Return the coordinates of points in WKT or EWKT; NaN for what is not one point. A multi-point may have one part.

    Examples
    --------
    >>> import pyarrow as pa
    >>> points_of_wkt(pa.array(["POINT (1 2)", "SRID=4326;point z(3 4 5)", "POINT EMPTY", "MULTIPOINT ((5 6))"]))
    (array([ 1.,  3., nan,  5.]), array([ 2.,  4., nan,  6.]))
    """
    import pyarrow as pa

    xy = np.stack(pairs_of(text, _POINTS[0]))
    others = np.flatnonzero(np.isnan(xy[0]))
    xy[:, others] = pairs_of(text.take(pa.array(others)), _POINTS[1])
    return xy[0], xy[1]


def pairs_of(text: pa.Array, pattern: str) -> Coordinates:
    """Return the numerals in the groups ``x`` and ``y`` of a regular expression; NaN where it does not match."""
    import pyarrow.compute as pc

    groups = pc.extract_regex(_short(text), pattern)
    return _doubles(pc.struct_field(groups, "x")), _doubles(pc.struct_field(groups, "y"))


def persons_of_text(text: pa.Array) -> pa.Array:
    r"""Return a column of text, or of bytes, as persons; null for what is not UTF-8.

    Examples
    --------
    >>> import pyarrow as pa
    >>> persons_of_text(pa.array([b"ann", b"\xff", b"", None])).to_pylist()
    ['ann', None, '', None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    raw = text.cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string())  # which refuses the column for one record, and then takes a closer look
    except pa.ArrowInvalid:
        return pc.if_else(pc.match_substring_regex(raw, _UTF_8), raw, None).cast(pa.large_string())


def persons_of_numerals(text: pa.Array) -> pa.Array:
    """Return a column of numerals as persons, whole numbers in decimal; null for all else, such as 0.5.

    Whole numbers may have a fraction of zeros, as `persons_of_doubles` says.

    Examples
    --------
    >>> import pyarrow as pa
    >>> persons_of_numerals(pa.array([" 5", "-007", "5.000", "0.5", "9007199254740993", "1e3", "ann"])).to_pylist()
    ['5', '-7', '5', None, '9007199254740993', '1000', None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    raw = _short(text)
    integer = pc.match_substring_regex(raw, _INTEGER)
    digits = pc.replace_substring_regex(pc.if_else(integer, raw, None), r"^\s*(?:\+|(-))?0*([0-9]+)\s*$", r"\1\2")
    digits = pc.replace_substring_regex(digits, "^-0$", "0").cast(pa.large_string())
    return pc.coalesce(digits, texts_of(persons_of_doubles(numbers_of(pc.if_else(integer, None, raw)))))


def whole_numbers_of(text: pa.Array) -> pa.Array:
    """Return whole numbers that are written with a fraction of zeros, as pandas does, without it; null for all else.

    Examples
    --------
    >>> import pyarrow as pa
    >>> whole_numbers_of(pa.array(["5.0", "5", "05.0", "0.5", None])).to_pylist()
    ['5', None, None, None, None]
    """
    import pyarrow.compute as pc

    return texts_of(persons_of_numerals(pc.if_else(pc.match_substring_regex(text, _WHOLE), text, None)))


def persons_of_doubles(numbers: Floats) -> pa.Array:
    """Return numbers as persons: those that are whole and below 2^53, and null for all else.

    One record without a person makes pandas store the whole numbers of all others as doubles. So wherever a column of
    doubles may come from pandas, the whole ones are taken for what they were.
    """
    import pandas as pd

    return persons_of(pd.Series(numbers))


def _short(text: pa.Array) -> pa.Array:
    """Return a column of text as bytes, without what is too long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    raw = text.cast(pa.large_binary())
    return pc.if_else(pc.less_equal(pc.binary_length(raw), LONGEST_TEXT), raw, None)


def _doubles(numerals: pa.Array) -> Floats:
    """Return numerals, which may have blanks around them, as doubles."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ascii_text = pc.ascii_ltrim(pc.ascii_trim_whitespace(numerals.cast(pa.large_string())), "+")
    return np.asarray(ascii_text.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def slices(data: Bytes, starts: Integers, stops: Integers) -> pa.Array:
    """Return parts of some bytes as a column of bytes; the parts must be in order and must not overlap.

    Examples
    --------
    >>> slices(np.frombuffer(b"abcdef", dtype=np.uint8), np.array([1, 4]), np.array([3, 5])).to_pylist()
    [b'bc', b'e']
    """
    import pyarrow as pa

    # The parts and the gaps between them make a column that needs no copy; every other row of it is a part.
    edges = np.zeros(2 * starts.size + 1, dtype=np.int64)
    edges[:-1:2], edges[1::2] = starts, stops
    edges[-1] = stops[-1] if stops.size else 0
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(np.ascontiguousarray(data))]
    both = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 2 * starts.size, buffers)
    return both.take(pa.array(np.arange(0, 2 * starts.size, 2)))
