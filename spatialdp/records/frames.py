"""Reading records from frames of pandas and geopandas, column by column.

A frame offers its columns as an Arrow table too, but then pyarrow judges records: one text among numbers refuses the
frame. So columns are taken as arrays, as `Points` takes them (`records.reading`), and whatever is in a cell is a
record. The types of columns are not judged, because pandas chooses them by the records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array
from spatialdp.errors import PointsError
from spatialdp.records.formats.arrow import points_of_bytes
from spatialdp.records.formats.base import BATCH, Batch, Selection, Source, Table, check_names, without_layers
from spatialdp.records.reading import column_of, columns_of, is_geometric, names_of, pair_of, point_coordinates
from spatialdp.space.placement import check_column_names
from spatialdp.wording import parameter

__all__ = ["open_frame"]

_LONGEST = 4096  # bytes or characters that may be a point; what is longer counts nowhere


def open_frame(frame: Any, selection: Selection) -> Table:
    """Open a DataFrame, a GeoDataFrame or a GeoSeries: named columns, its geometry, or its only two columns."""
    source = Source(f"the {type(frame).__name__}", ".frame")
    without_layers(source, selection)
    names = [str(name) for name in getattr(frame, "columns", ())]
    if selection.columns:
        check_names(source, names, selection.columns)
        x, y = (column_of(frame.iloc[:, names.index(name)], f"column {name!r}") for name in selection.columns)
        return Table(None, _batches(x, y), plain=True)
    if selection.geometry is not None:
        check_names(source, names, [selection.geometry])
        return _geometries(frame.iloc[:, names.index(selection.geometry)])
    if is_geometric(frame):
        return _geometries(frame)
    if len(names) != 2:
        raise PointsError(
            f"{source.name} has no geometry and not just two columns; name its columns of numbers ({parameter('x')} "
            f"and {parameter('y')}), or its column of points ({parameter('geometry')})."
        )
    check_column_names(*names_of(frame, None))
    return Table(None, _batches(*columns_of(frame)), plain=True)


def _batches(x: Array, y: Array) -> Iterator[Batch]:
    for start in range(0, x.shape[0], BATCH):
        yield x[start : start + BATCH], y[start : start + BATCH]


def _geometries(column: Any) -> Table:
    """Return the points of a column of geometries, which brings its CRS, or of one of WKB, WKT or shapely's points."""
    if is_geometric(column):
        points = point_coordinates(column)
        return Table(column.crs, _batches(*points))
    return Table(None, _object_batches(np.asarray(column, dtype=object)), plain=True)


def _object_batches(values: Array) -> Iterator[Batch]:
    import pyarrow as pa

    for start in range(0, values.shape[0], BATCH):
        with np.errstate(all="ignore"):  # an error would tell that such a record exists
            content = _BYTES(values[start : start + BATCH])
        yield points_of_bytes(pa.array(content, pa.large_binary()))


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
