"""Records that stay in their files, and are read batch by batch whenever they are counted.

`read_points` checks the **structure** of files at once: that they can be opened, their columns, types and CRS. The
records are read when the grid of a release is known, into numbers of cells directly, and are not kept: memory holds one
batch and the counts, whatever the number of records. Each use reads the files again; callers that use records many
times keep them with `points.in_memory`.

Damage that shows only while records are read (a CSV file that ends within quotes) raises the same error as damage that
shows at once, but in the release. Mechanisms count before they draw noise, so nothing has been drawn or spent then. A
file that was changed after it had been checked is refused in the same way. Errors bring no record along, and nothing
here warns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spatialdp._support.arrays import Array, Integers, Integers32
from spatialdp._support.override import override
from spatialdp.errors import CRSMismatchError, PointsError, SpatialDPError
from spatialdp.records.counting import cell_numbers
from spatialdp.records.formats.base import Batch, Coordinates, Selection, Source, Table, quietly
from spatialdp.records.points import LatticePoints, Points, check_bounds, snap, snap_with_persons, squares
from spatialdp.records.zones import Squares
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.reprojection import point_transformation
from spatialdp.wording import either

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FilePoints",
    "Opener",
    "Reading",
    "StoredFile",
    "each_quietly",
    "kept",
    "require_unchanged",
    "stamp_of",
]

T = TypeVar("T")
_BESIDE = {".shp": (".shx", ".dbf", ".SHX", ".DBF")}  # where a format has records beside its file, by the suffix

Opener = Callable[[Source, Selection, ExitStack], Table]


class FilePoints(Points):
    """Records in files, which are read anew each time that they are counted.

    With persons, counting holds the cell and the person of each record: 16 bytes, and the text of identifiers that are
    not whole numbers.

    Parameters
    ----------
    files : tuple of StoredFile
    reading : Reading
        What is read of them, and for which domain; the points can be used with no other bounds.
    """

    __slots__ = ("_files", "_reading")

    def __init__(self, files: tuple[StoredFile, ...], reading: Reading) -> None:
        self._geometric = False
        self._files, self._reading, self.crs = files, reading, reading.domain.crs

    @property
    @override
    def _has_persons(self) -> bool:
        return self._reading.selection.person is not None

    @override
    def _cells(self, grid: Grid) -> Iterator[Integers]:
        return cell_numbers(((batch.x, batch.y) for batch in self._batches(grid.domain)), grid)

    @override
    def _person_cells(self, grid: Grid) -> Iterator[tuple[pa.Array, Integers]]:
        one, two = tee(self._batches(grid.domain))
        return zip((batch.person for batch in one), cell_numbers(((b.x, b.y) for b in two), grid), strict=True)

    @override
    def _positions(self, domain: Domain) -> Iterator[tuple[Integers32, Integers32]]:
        return (snap(batch.x, batch.y, domain) for batch in self._batches(domain))

    @override
    def _squares(self, domain: Domain) -> Iterator[Squares]:
        return (Squares(*squares(batch.x, batch.y, domain), batch.person) for batch in self._batches(domain))

    @override
    def _kept(self, domain: Domain) -> Points:
        return kept(self._batches(domain), self._reading)

    def _batches(self, domain: Domain) -> Iterator[Batch]:
        """The records of all files, batch by batch."""
        check_bounds(self._reading.domain.bounds, domain)
        return (batch for file in self._files for batch in file.batches(self._reading))


def kept(batches: Iterable[Batch], reading: Reading) -> LatticePoints:
    """Return records as squares on the lattice of their domain: 8 bytes each, and their persons."""
    domain, parts, persons = reading.domain, [], []
    for x, y, person, _ in batches:
        if person is None:
            parts.append(snap(x, y, domain))
        else:
            columns, rows, inside = snap_with_persons(x, y, person, domain)
            parts.append((columns, rows))
            persons.append(inside)
    return LatticePoints(parts, domain, None if reading.selection.person is None else persons)


# --- files -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredFile:
    """One file that has passed the checks of its structure.

    Parameters
    ----------
    source : Source
        With a path.
    open : Opener
        The opener of its format.
    crs : optional
        CRS of its coordinates; None if that is not known, and then it is taken to be the domain's.
    stamp : tuple
        What the file system says of the file; it changes when somebody writes to it.
    """

    source: Source
    open: Opener
    crs: Any
    stamp: tuple[int, ...]

    @classmethod
    def check(cls, source: Source, opener: Opener, reading: Reading) -> StoredFile:
        """Open a file and check its structure; no record is read."""
        stamp = stamp_of(source)

        def look() -> Any:
            with ExitStack() as stack:
                return reading.crs_of(source.name, opener(source, reading.selection, stack))

        return cls(source, opener, quietly(look, source), stamp)

    def batches(self, reading: Reading) -> Iterator[Batch]:
        """Yield the records of the file, in the domain's CRS."""
        require_unchanged(self.source, self.stamp)
        with ExitStack() as stack:
            table = quietly(partial(self.open, self.source, reading.selection, stack), self.source)
            yield from each_quietly(reading.moved(table.batches, self.crs), self.source)
        require_unchanged(self.source, self.stamp)


def require_unchanged(source: Source, stamp: tuple[int, ...]) -> None:
    """Refuse a file of which the file system says something else than when its structure was checked."""
    if stamp_of(source) != stamp:
        raise PointsError(
            f"{source.name} was changed, replaced or removed after its structure had been checked; points are read "
            f"from a file that stays as it is. {either('Call read_points', 'Run the command')} again."
        )


def stamp_of(source: Source) -> tuple[int, ...]:
    """Return what the file system says of a file and of those that hold records for it; it changes when one changes."""
    path = source.path or Path()
    beside = [path.with_suffix(suffix) for suffix in _BESIDE.get(source.suffix, ())]
    beside += [path.with_name(f"{path.name}-wal")] * (source.suffix == ".gpkg")
    return tuple(number for each in (path, *beside) for number in _status_of(each))


def _status_of(path: Path) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return (-1,)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def each_quietly(batches: Iterator[T], source: Source) -> Iterator[T]:
    """Yield the batches of a source without warnings; whatever a library raises becomes one error of ours."""
    while (batch := quietly(partial(next, batches, None), source)) is not None:
        yield batch


# --- coordinate systems ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """What is read of each file, frame or table, and for which domain.

    Parameters
    ----------
    selection : Selection
    domain : Domain
    crs : optional
        The CRS that the user gives for the coordinates.
    reproject : bool
        Whether coordinates in another CRS are reprojected to the domain's.
    """

    selection: Selection
    domain: Domain
    crs: Any = None
    reproject: bool = False

    def crs_of(self, name: str, table: Table) -> Any:
        """Return the CRS of a table: the one that it declares, or else the user's; None if it has neither.

        Refuse a CRS from which there is no way to the domain's.
        """
        declared = table.declared_crs()
        if declared is not None and self.crs is not None and not crs_.same(declared, crs_.canonical(self.crs)):
            raise CRSMismatchError(
                f"{name} states the CRS {crs_.canonical(declared)} but {crs_.canonical(self.crs)} was given for it; "
                f"leave {either('crs', '--points-crs')} out, or correct the file."
            )
        crs = self.crs if declared is None else declared
        if crs is None and not table.plain and self.domain.crs is not None:
            wanted = self.domain.crs
            raise CRSMismatchError(
                f"{name} states no CRS but the domain has {wanted}; if its coordinates are in that CRS, say so: "
                f"{either(f'crs={wanted!r}', f'--points-crs {wanted}')}."
            )
        self._transformation(crs)
        return crs

    def moved(self, batches: Iterable[Batch], crs: Any) -> Iterator[Batch]:
        """Yield batches in the domain's CRS."""
        move = self._transformation(crs)
        if move is None:
            return iter(batches)
        return (batch._replace(x=x, y=y) for batch, (x, y) in ((each, move(each.x, each.y)) for each in batches))

    def _transformation(self, crs: Any) -> Callable[[Array, Array], Coordinates] | None:
        """Return the function that takes coordinates from a CRS to the domain's; None if it is the domain's already."""
        if crs is None:
            if self.reproject:
                raise CRSMismatchError(
                    "the points are to be reprojected, but their CRS is not known; give it with "
                    f"{either('crs', '--points-crs')}."
                )
            return None
        wanted = self.domain.crs
        if not self.reproject or wanted is None or crs_.same(crs, wanted):
            crs_.require_same("points", crs, wanted)
            return None
        try:
            return point_transformation(crs, wanted, self.domain.bounds)
        except Exception as error:  # pyproj has several; they are about the two CRS, and no record has been read
            ours = error if isinstance(error, SpatialDPError) else None
        raise ours or CRSMismatchError(
            f"the points have CRS {crs_.canonical(crs)} and pyproj cannot reproject them to the domain's, {wanted}; "
            "reproject them with another tool, or choose another CRS for the domain."
        )
