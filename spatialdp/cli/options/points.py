"""Which file holds the records? The argument POINTS, and options for its columns, layer and CRS.

The file must not be opened before all public options are checked: `PointsFile.read` opens it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.values import bundled

if TYPE_CHECKING:
    from spatialdp.records.points import Points
    from spatialdp.space.domain import Domain

__all__ = ["PointsFile", "points_options"]


@dataclass(frozen=True)
class PointsFile:
    """The file of records and how to read it. Only `read` opens the file."""

    path: Path
    options: dict[str, Any]

    def assumption(self, domain: Domain) -> str:
        """Return a note on the CRS that is assumed for the columns, if the user gave none; the user may know better."""
        if self.options["x"] is None or self.options["crs"] is not None or domain.crs is None:
            return ""
        columns = f"{self.options['x']} and {self.options['y']}"
        return f" (the columns {columns} are assumed to be in the domain's CRS, {domain.crs})"

    def read(self, domain: Domain) -> Points:
        """Read the records and check their CRS against the domain's."""
        from spatialdp.records.files import read_points

        return read_points(self.path, domain, **self.options)


def _points_file(points: Path, x: str | None, y: str | None, layer: str | None, points_crs: str | None) -> PointsFile:
    if (x is None) != (y is None):
        raise click.UsageError("only one of --x and --y was given; give both columns, or none to use the geometry.")
    return PointsFile(points, {"x": x, "y": y, "layer": layer, "crs": points_crs})


points_options = bundled(
    "points",
    _points_file,
    click.argument("points", type=click.Path(path_type=Path)),
    click.option(
        "--x", metavar="COLUMN", help="Column of the x coordinate or longitude; by default the geometry is used."
    ),
    click.option("--y", metavar="COLUMN", help="Column of the y coordinate or latitude."),
    click.option("--layer", metavar="NAME", help="Layer to read, if a GeoPackage has several."),
    click.option("--points-crs", metavar="CRS", help="CRS of the points, if their file does not name it."),
)
