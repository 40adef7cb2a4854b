"""What do all formats of points share? Where the bytes come from, what was asked for, and the checks of a schema.

A format's opener is given a `Source` and a `Selection` and returns a `Table`: the CRS that the file declares, and
batches of records. It may refuse the **structure** of a file: whether it is a whole file of its format, the columns
and the types that its schema declares, its CRS. It must not refuse, warn of or count anything because of a **record**:
a record that is not one point becomes NaN and counts nowhere. Nor may it judge the type of geometry of a layer, which
writers gather from the records. ``docs/design/files.md`` draws the line between the two.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array
from spatialdp.errors import PointsError, SpatialDPError
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BATCH",
    "OF_AXES",
    "Batch",
    "Bytes",
    "Coded",
    "Coordinates",
    "Selection",
    "Source",
    "Table",
    "check_names",
    "check_other_names",
    "check_person_name",
    "forgetful",
    "no_geometry",
    "not_whole",
    "quietly",
    "without_columns",
    "without_layers",
]

P = ParamSpec("P")
T = TypeVar("T")

Coordinates = tuple[Array, Array]
Bytes = npt.NDArray[np.uint8]

# How the columns of times and categories are named.
COORDINATES = f"{parameter('x')} and {parameter('y')}"
OF_AXES = either("time=... or kind=..., by the name of the axis", "--time-column or --category-column")
BATCH = 2**16  # records at a time: what is made of them stays in the processor's cache


class Batch(NamedTuple):
    """Some records: their coordinates, NaN for what is not a point, and their persons, null for a record without one.

    The persons are an array as `records.persons.identifiers` makes it; None if no column of persons was asked for. The
    other columns that were asked for are as the format stores them; cells of CSV are text, null for an empty one.
    """

    x: Array
    y: Array
    person: pa.Array | None = None
    others: tuple[Any, ...] = ()


class Coded(NamedTuple):
    """Some records that are given by codes: texts, null for a record without one; and as for `Batch`."""

    codes: pa.Array
    person: pa.Array | None = None
    others: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where the bytes of one file come from: a path, or a stream that can be read once.

    Parameters
    ----------
    name : str
        The file as messages call it.
    suffix : str
        The suffix of its format, such as ``".csv.gz"``.
    path : Path, optional
    stream : binary file, optional
        Given instead of a path.
    """

    name: str
    suffix: str
    path: Path | None = None
    stream: BinaryIO | None = None

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file for reading; a stream stays open afterwards, because it is the caller's."""
        if self.path is None:
            yield self.stream or io.BytesIO()
            return
        with self.path.open("rb") as file:
            yield file

    def bytes(self) -> Bytes:
        """Return all bytes of the file; those of a path are read when they are used."""
        if self.path is not None:
            return np.memmap(self.path, dtype=np.uint8, mode="r")
        with self.opened() as file:
            content = np.frombuffer(file.read(), dtype=np.uint8)
        if content.size == 0:
            raise PointsError(f"{self.name} is empty; give a file with a header, even if it has no records.")
        return content


@dataclass(frozen=True)
class Selection:
    """Where a file has the coordinates: in two columns, in a column of geometries, or in the geometry of a layer.

    `person` is the column that says who a record is about, if there is one. `code` is the column of the codes of zones,
    if records have these instead of coordinates. `others` are further columns that are read as they are, and
    `options` is how messages say where these are named.
    """

    x: str | None = None
    y: str | None = None
    geometry: str | None = None
    layer: str | None = None
    person: str | None = None
    code: str | None = None
    others: tuple[str, ...] = ()
    options: str = OF_AXES

    @property
    def columns(self) -> tuple[str, str] | None:
        """The names of the columns of x and y, if both were given."""
        return None if self.x is None or self.y is None else (self.x, self.y)


@dataclass(frozen=True)
class Table:
    """An open file that has passed the checks of its structure.

    Parameters
    ----------
    crs : optional
        The CRS that the file declares, if it declares one.
    batches : iterable of Batch, or of Coded
        The records, about `BATCH` of them at a time. They are read when they are asked for.
    plain : bool
        Whether the coordinates are in columns that cannot declare a CRS: they are taken to be in the domain's.
    scan : function, optional
        Finds the CRS and checks the rest of the structure, in a format where that takes a walk through the whole file.
    others : Arrow schema, optional
        The declared types of the other columns; None if their cells are text without a type.
    """

    crs: Any
    batches: Iterable[Any]
    plain: bool = False
    scan: Callable[[], Any] | None = None
    others: pa.Schema | None = None

    def declared_crs(self) -> Any:
        """Return the CRS that the file declares, if it declares one, and finish the checks of its structure."""
        return self.crs if self.scan is None else self.scan()


def check_names(source: Source, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a file that does not have each of the wanted columns of coordinates exactly once."""
    for name in wanted:
        _check_name(source, names, name, COORDINATES)


def check_person_name(source: Source, names: Sequence[str], name: str) -> None:
    """Refuse a file that does not have the wanted column of persons exactly once."""
    _check_name(source, names, name, either("person", "--person-column"))


def check_other_names(source: Source, names: Sequence[str], selection: Selection) -> None:
    """Refuse a file that does not have each of the other columns of a selection exactly once."""
    for name in selection.others:
        if names.count(name) != 1:
            raise PointsError(
                f"{source.name} has {'more than one' if name in names else 'no'} column {name!r}; its columns are "
                f"{', '.join(names)}. Name it with {selection.options}."
            )


def _check_name(source: Source, names: Sequence[str], name: str, options: str) -> None:
    if names.count(name) != 1:
        raise PointsError(
            f"{source.name} has {'more than one' if name in names else 'no'} column {name!r}; "
            f"its columns are {', '.join(names) or f'none but the geometry; leave {options} out'}."
        )


def without_columns(source: Source, selection: Selection, what: str) -> None:
    """Refuse names of columns for a format that has points as geometries only."""
    if selection.columns or selection.geometry is not None:
        raise PointsError(
            f"{source.name} is {what}, which has points as geometries, not as columns; leave {parameter('x')}, "
            f"{parameter('y')} and {parameter('geometry')} out."
        )


def without_layers(source: Source, selection: Selection) -> None:
    """Refuse the name of a layer for a format that has only one."""
    if selection.layer is not None:
        raise PointsError(
            f"{source.name} cannot have several layers, but layer {selection.layer!r} was asked for; leave "
            f"{parameter('layer')} out."
        )


def no_geometry(source: Source) -> PointsError:
    """Return the error for a file that declares no geometry, if no columns were named."""
    return PointsError(
        f"{source.name} declares no geometry column; name the columns of its coordinates ({parameter('x')} and "
        f"{parameter('y')}), or the column of its points in WKB or WKT ({parameter('geometry')})."
    )


def not_whole(source: Source) -> PointsError:
    """Return the error for a file that is not a whole file of its format."""
    return PointsError(
        f"{source.name} cannot be read as {source.suffix[1:]}: it is truncated, damaged or of another format. "
        "Open it in a GIS, or ask for the original."
    )


def quietly(read: Callable[[], T], source: Source) -> T:
    """Run a reader without warnings; whatever a library raises becomes one error of ours.

    That error is raised outside of the handler and without the inner frames, so that it carries neither the original
    error nor variables that hold records.
    """
    failure: Exception
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except SpatialDPError as error:
        failure = error
    except MemoryError:  # numpy's tells the number of records
        failure = MemoryError("there is not enough memory to read the points")
    except Exception:  # each library that reads files has errors of its own
        failure = not_whole(source)
    failure.__cause__ = failure.__context__ = None
    raise failure.with_traceback(None)


def forgetful(function: Callable[P, T]) -> Callable[P, T]:
    """Return the same function, whose errors bring no frame along: neither its arguments nor what it has read so far.

    Examples
    --------
    >>> @forgetful
    ... def read(records):
    ...     raise PointsError("points are wrong.")
    >>> try:
    ...     read([0.73519284])
    ... except PointsError as error:
    ...     error.__traceback__.tb_next.tb_frame.f_locals.get("args"), error.__traceback__.tb_next.tb_next
    (None, None)
    """

    @wraps(function)
    def forget(*args: P.args, **kwargs: P.kwargs) -> T:
        failure: BaseException
        try:
            return function(*args, **kwargs)
        except MemoryError:  # numpy's tells the number of records
            failure = MemoryError("there is not enough memory to read the points")
        except BaseException as error:  # also if somebody interrupts: the frames hold records, and exact counts
            failure = error
        del args, kwargs
        failure.__cause__ = failure.__context__ = None
        raise failure.with_traceback(None)

    return forget
