"""Reading records from frames of pandas and geopandas, column by column.

A frame offers its columns as an Arrow table too, but then pyarrow judges records: one text among numbers refuses the
frame. So columns are taken as arrays, as `Points` takes them (`records.reading`), and whatever is in a cell is a
record. The types of columns are not judged, because pandas chooses them by the records; nor is that of a column of
persons.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Array
from spatialdp.errors import PointsError
from spatialdp.records.formats.arrow import points_of_bytes
from spatialdp.records.formats.base import (
    BATCH,
    Batch,
    Coordinates,
    Selection,
    Source,
    Table,
    check_names,
    check_person_name,
    without_layers,
)
from spatialdp.records.persons.identifiers import persons_of
from spatialdp.records.reading import column_of, columns_of, is_geometric, names_of, pair_of, point_coordinates
from spatialdp.space.placement import check_column_names
from spatialdp.wording import parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_frame"]

_LONGEST = 4096  # bytes or characters that may be a point; what is longer counts nowhere


def open_frame(frame: Any, selection: Selection) -> Table:
    """Open a DataFrame, a GeoDataFrame or a GeoSeries: named columns, its geometry, or its only two columns."""
    source = Source(f"the {type(frame).__name__}", ".frame")
    without_layers(source, selection)
    names = [str(name) for name in getattr(frame, "columns", ())]
    persons = None
    if selection.person is not None:
        check_person_name(source, names, selection.person)
        persons = persons_of(frame.iloc[:, names.index(selection.person)])
    coordinates, crs, plain = _place(source, frame, names, selection)
    return Table(crs, _batches(*coordinates, persons), plain=plain)


def _place(source: Source, frame: Any, names: list[str], selection: Selection) -> tuple[Coordinates, Any, bool]:
    """Return the coordinates of all rows, their CRS, and whether they cannot have one."""
    if selection.columns:
        check_names(source, names, selection.columns)
        x, y = (column_of(frame.iloc[:, names.index(name)], f"column {name!r}") for name in selection.columns)
        return (x, y), None, True
    if selection.geometry is not None:
        check_names(source, names, [selection.geometry])
        return _geometries(frame.iloc[:, names.index(selection.geometry)])
    if is_geometric(frame):
        return _geometries(frame)
    others = [number for number, name in enumerate(names) if name != selection.person]
    if len(others) != 2:
        raise PointsError(
            f"{source.name} has no geometry and not just two columns; name its columns of numbers ({parameter('x')} "
            f"and {parameter('y')}), or its column of points ({parameter('geometry')})."
        )
    pair = frame.iloc[:, others]
    check_column_names(*names_of(pair, None))
    return columns_of(pair), None, True


def _batches(x: Array, y: Array, persons: pa.Array | None) -> Iterator[Batch]:
    for start in range(0, x.shape[0], BATCH):
        rows = slice(start, start + BATCH)
        yield Batch(x[rows], y[rows], None if persons is None else persons[rows])


def _geometries(column: Any) -> tuple[Coordinates, Any, bool]:
    """Return the points of a column of geometries, which brings its CRS, or of one of WKB, WKT or shapely's points."""
    if is_geometric(column):
        return point_coordinates(column), column.crs, False
    return _points_of_objects(np.asarray(column, dtype=object)), None, True


def _points_of_objects(values: Array) -> Coordinates:
    import pyarrow as pa

    xy = np.full((2, values.shape[0]), np.nan)
    for start in range(0, values.shape[0], BATCH):
        rows = slice(start, start + BATCH)
        with np.errstate(all="ignore"):  # an error would tell that such a record exists
            content = _BYTES(values[rows])
        xy[:, rows] = points_of_bytes(pa.array(content, pa.large_binary()))
    return xy[0], xy[1]


def _bytes(value: Any) -> bytes | None:
    """Return WKB or WKT as bytes, and a point of shapely as WKB; None for anything else."""
    try:
        if isinstance(value, str | bytes | bytearray) and len(value) > _LONGEST:
            return None
        if isinstance(value, str):
            return str.encode(value, "utf-8", "replace")
        if isinstance(value, bytes | bytearray):
            return bytes(value)
        return struct.pack("<BIdd", 1, 1, *pair_of(value)) if hasattr(type(value), "geom_type") else None
    except Exception:  # its message may quote a record
        return None


_BYTES = np.frompyfunc(_bytes, 1, 1)
