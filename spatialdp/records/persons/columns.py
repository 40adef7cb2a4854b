"""Where are the persons of what a caller gives as points? In an array of their own, or in a named column beside them.

A frame or an Arrow table is divided into its column of persons and what is left, from which `records.reading` takes the
coordinates. Errors speak of columns and their declared types, never of a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spatialdp.errors import PointsError
from spatialdp.records.formats.base import Source, check_names, quietly
from spatialdp.records.persons.identifiers import persons_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["without_persons"]


def without_persons(points: Any, person: Any) -> tuple[Any, pa.Array]:
    """Return points without the column of their persons, and the persons, one for each record.

    Parameters
    ----------
    points : any form of points
    person : str or array-like
        The name of a column of a frame or an Arrow table; or the persons themselves, and then the points stay as they
        are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"lon": [0.5], "who": ["ann"], "lat": [0.5]})
    >>> rest, persons = without_persons(table, "who")
    >>> rest.column_names, persons.to_pylist()
    (['lon', 'lat'], ['ann'])
    """
    if not isinstance(person, str):
        return points, persons_of(person)
    if hasattr(points, "iloc"):
        return _of_frame(points, person)
    if hasattr(points, "__arrow_c_stream__"):
        return quietly(lambda: _of_table(points, person), Source("the Arrow table", ".arrow"))
    raise PointsError(
        f"points are neither a frame nor an Arrow table, so they have no column {person!r}; give person as an array "
        "with one identifier for each record."
    )


def _of_frame(frame: Any, name: str) -> tuple[Any, pa.Array]:
    source = Source(f"the {type(frame).__name__}", ".frame")
    names = [str(each) for each in getattr(frame, "columns", ())]
    check_names(source, names, [name])
    place = names.index(name)
    persons = persons_of(frame.iloc[:, place], f"column {name!r} of {source.name}")
    return frame.iloc[:, [other for other in range(len(names)) if other != place]], persons


def _of_table(points: Any, name: str) -> tuple[pa.Table, pa.Array]:
    import pyarrow as pa

    source = Source("the Arrow table", ".arrow")
    table = pa.RecordBatchReader.from_stream(points).read_all()
    check_names(source, table.column_names, [name])
    persons = persons_of(table.column(name), f"column {name!r} of {source.name}")
    return table.drop_columns([name]), persons
