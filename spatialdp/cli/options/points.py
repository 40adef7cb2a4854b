"""Which files hold the records? The argument POINTS, and options for their columns, layer, CRS and format.

The files must not be opened before all public options are checked: `PointsFile.read` opens them. It checks their
structure; records of files are read when they are counted, and those of standard input at once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.frame import axes_of, domain_in, is_table
from spatialdp.cli.options.table import Named, columns_by_axis
from spatialdp.cli.options.values import bundled

if TYPE_CHECKING:
    from spatialdp.cli.options.frame import Frame
    from spatialdp.records.codes import Codes
    from spatialdp.records.points import Points
    from spatialdp.records.rows.rows import Rows
    from spatialdp.space.domain import Domain

__all__ = ["PointsFile", "points_options"]

_STANDARD_INPUT = "-"


@dataclass(frozen=True)
class PointsFile:
    """The files of records, or standard input, and how to read them. Only `read` opens them."""

    names: tuple[str, ...]
    options: dict[str, Any]
    code_column: str | None = None
    time_column: str | None = None
    category_columns: tuple[tuple[str | None, str], ...] = ()

    @property
    def path(self) -> Path:
        """The first file, or the table of a database; messages call the records by its name."""
        if self._address is not None:
            from spatialdp.records.engines.sources import table_name

            return Path(table_name(self._address))
        return Path("standard input" if self.names[0] == _STANDARD_INPUT else self.names[0])

    @property
    def inputs(self) -> list[Path]:
        """The paths of all files, which no output may replace; those in folders and those that match patterns too."""
        from spatialdp.records.files import paths_of

        if self._address is not None:
            from spatialdp.records.engines.sources import database_files

            return database_files(self._address)
        return [path for name in self.names if name != _STANDARD_INPUT for path in paths_of(name)]

    def assumption(self, domain: Domain | None) -> str:
        """Return a note on the CRS that is assumed for columns, if the user gave none; the user may know better."""
        if domain is None or self.code_column is not None:
            return ""
        x, y, geometry = (self.options[name] for name in ("x", "y", "geometry"))
        if (x is None and geometry is None) or self.options["crs"] is not None or domain.crs is None:
            return ""
        if x is None:
            return (
                f" (the column {geometry} is assumed to be in the domain's CRS, {domain.crs}, if its file names none)"
            )
        return f" (the columns {x} and {y} are assumed to be in the domain's CRS, {domain.crs})"

    def check(self, frame: Frame) -> None:
        """Refuse options of columns that the frame has no use for, before a file is opened."""
        self._columns(frame)
        if is_table(frame) and self._address is not None:
            raise click.UsageError(
                "POINTS is a table of a database, but times and categories are read from files: CSV or Parquet. Export "
                "the table, or leave --time and --categories out."
            )

    def read(self, frame: Frame) -> Points | Codes | Rows:
        """Check the files' structure, and their CRS against the frame's; read standard input."""
        from spatialdp.records.files import read_points

        if is_table(frame):
            return self._read_rows(frame)
        if self.code_column is not None:
            return self._read_codes(self.code_column)
        domain = domain_in(frame)
        if domain is None:
            raise click.UsageError(
                "the zones are codes without polygons, so that points cannot be located in them; give the column of "
                "the records' codes with --code-column COLUMN, or zones with polygons."
            )
        if self._address is not None:
            return self._read_table(self._address, domain)
        return read_points(self._source, domain, **self.options)

    @property
    def _source(self) -> Any:
        """The files, or standard input."""
        return sys.stdin.buffer if self.names == (_STANDARD_INPUT,) else list(self.names)

    @property
    def _address(self) -> str | None:
        """The address of a table in a database, such as duckdb:///crashes.db?table=crashes; None for files."""
        return self.names[0] if _is_address(self.names[0]) else None

    def _read_codes(self, column: str) -> Codes:
        """Open files of records that are codes of zones."""
        from spatialdp.records.codes import read_codes

        return read_codes([Path(name) for name in self.names], column, person=self.options["person"])

    def _read_rows(self, frame: Any) -> Rows:
        """Open files of records with times and categories."""
        from spatialdp.records.rows.files import read_rows

        if self.options["layer"] is not None:
            raise click.UsageError(
                "--layer is for GeoPackages, and times and categories are read from CSV and Parquet."
            )
        options = {name: value for name, value in self.options.items() if name != "layer"}
        columns: dict[str, Any] = self._columns(frame)
        return read_rows(self._source, frame, code=self.code_column, **options, **columns)

    def _columns(self, frame: Frame) -> dict[str, str]:
        """Return the names of the columns of times and categories."""
        return columns_by_axis(axes_of(frame), self.time_column, self.category_columns)

    def _read_table(self, address: str, domain: Domain) -> Points:
        """Open a table, whose records stay where they are."""
        from spatialdp.records.engines.tables import read_table

        names = ("x", "y", "geometry", "person", "crs")
        return read_table(address, domain, **{name: self.options[name] for name in names})


def _is_address(name: str) -> bool:
    return "://" in name


def _points_file(
    points: tuple[str, ...],
    x: str | None,
    y: str | None,
    geometry: str | None,
    layer: str | None,
    points_crs: str | None,
    reproject: bool,
    person_column: str | None,
    points_format: str | None,
    code_column: str | None,
    time_column: str | None,
    category_columns: tuple[tuple[str | None, str], ...],
) -> PointsFile:
    if code_column is not None:
        _check_codes(points, {"x": x, "y": y, "geometry": geometry, "layer": layer, "points-crs": points_crs})
    if (x is None) != (y is None):
        raise click.UsageError("only one of --x and --y was given; give both columns, or none to use the geometry.")
    if x is not None and geometry is not None:
        raise click.UsageError("--x, --y and --geometry were given; give two columns of numbers or one of points.")
    if _STANDARD_INPUT in points and (len(points) > 1 or points_format is None):
        raise click.UsageError(
            "standard input (-) must be the only file, and needs its format; add --points-format, such as csv."
        )
    if any(map(_is_address, points)) and (len(points) > 1 or layer or reproject or points_format):
        raise click.UsageError(
            "the address of a table must be the only POINTS, without --layer, --reproject and --points-format; give "
            "the name of its columns, and one table at a time."
        )
    options = {"x": x, "y": y, "geometry": geometry, "layer": layer, "crs": points_crs, "reproject": reproject}
    options |= {"person": person_column, "file_format": points_format}
    return PointsFile(points, options, code_column, time_column, category_columns)


def _check_codes(points: tuple[str, ...], places: dict[str, str | None]) -> None:
    """Refuse what does not go together with records that are codes of zones."""
    for name, value in places.items():
        if value is not None:
            raise click.UsageError(
                f"--code-column and --{name} were given; records are codes or places: leave one out."
            )
    if _STANDARD_INPUT in points or any(map(_is_address, points)):
        raise click.UsageError(
            "--code-column was given with standard input or with a table of a database; give files: CSV or Parquet."
        )


points_options = bundled(
    "points",
    _points_file,
    click.argument("points", type=click.Path(), nargs=-1, required=True),
    click.option(
        "--x", metavar="COLUMN", help="Column of the x coordinate or longitude; by default the geometry is used."
    ),
    click.option("--y", metavar="COLUMN", help="Column of the y coordinate or latitude."),
    click.option(
        "--geometry",
        metavar="COLUMN",
        help="Column of points: WKT in CSV, WKB or WKT in Parquet. Instead of --x and --y.",
    ),
    click.option("--layer", metavar="NAME", help="Layer to read, if a GeoPackage has several."),
    click.option("--points-crs", metavar="CRS", help="CRS of the points, if their file does not name it."),
    click.option(
        "--reproject",
        is_flag=True,
        help="Reproject points that are in another CRS than the domain; without it they are refused.",
    ),
    click.option(
        "--person-column",
        metavar="NAME",
        help="Column (in GeoJSON, property) that says who a record is about: whole numbers or text. Records without a "
        "person are not counted.",
    ),
    click.option(
        "--points-format",
        metavar="SUFFIX",
        help="Format of the points, such as csv, if their files have no suffix; required for standard input.",
    ),
    click.option(
        "--code-column",
        metavar="COLUMN",
        help="Column of the code of each record's zone, as text, if records are codes instead of places (CSV or "
        "Parquet); only with --zones. Unknown codes are not counted.",
    ),
    click.option(
        "--time-column",
        metavar="COLUMN",
        help="Column of the time of each record: timestamps, dates or ISO text; only with --time.  [default: time]",
    ),
    click.option(
        "--category-column",
        "category_columns",
        type=Named("COLUMN"),
        multiple=True,
        help="Column of the category of each record, as text or whole numbers; only with --categories, whose NAME says "
        "for which axis it is.  [default: the name of the axis]",
    ),
)
