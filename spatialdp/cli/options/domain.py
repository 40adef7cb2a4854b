"""Which public area does a command use? The options `--bounds`, `--region`, `--region-cells` and `--crs`.

The area must come from the user; it is never taken from the points, because that would leak.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.values import Numbers, bundled

if TYPE_CHECKING:
    from spatialdp.space.domain import Domain

__all__ = ["DOMAIN_OPTIONS", "domain_of", "domain_options", "optional_domain_options", "read_region"]


def domain_of(
    bounds: tuple[float, ...] | None, region: Path | None, region_cells: str | None, crs: str | None
) -> Domain:
    """Return the domain that the options describe."""
    from spatialdp.space.domain import Domain

    if bounds is None and region is None:
        raise click.UsageError(
            "no domain was given; a public area is required and is never taken from the points. "
            "Give --bounds XMIN,YMIN,XMAX,YMAX or --region FILE."
        )
    if region is None:
        if region_cells is not None:
            raise click.UsageError(
                "--region-cells was given without --region, and so would have no effect; give --region FILE, or leave "
                "it out."
            )
        return Domain(bounds or (), crs=crs)
    area, rule = read_region(region), region_cells or "touching"
    if bounds is None:
        return Domain.around(area, crs=crs, region_cells=rule)
    return Domain(bounds, crs=crs or area.crs, region=area, region_cells=rule)


def read_region(path: Path) -> Any:
    """Read the polygons of a public file."""
    from spatialdp.space.public_files import read_geometries

    area = read_geometries(path).geometry
    if area.empty or not area.geom_type.isin(["Polygon", "MultiPolygon"]).all():
        raise click.UsageError(
            f"{path} does not hold polygons alone; a region must be one or more polygons. Remove other geometries."
        )
    return area


def _domain_if_given(**options: Any) -> Domain | None:
    return None if all(value is None for value in options.values()) else domain_of(**options)


DOMAIN_OPTIONS = (
    click.option(
        "--bounds",
        type=Numbers("XMIN", "YMIN", "XMAX", "YMAX"),
        help="Public bounds of the area, as one word with commas or as four numbers; records outside are not counted. "
        "For an area across the antimeridian, use longitudes from 0 to 360.",
    ),
    click.option(
        "--region",
        type=click.Path(path_type=Path),
        help="File of public polygons (GeoPackage, GeoJSON, Shapefile, GeoParquet). Without --bounds, their bounding "
        "box is the domain.",
    ),
    click.option(
        "--region-cells",
        type=click.Choice(["touching", "centres"]),
        help="Which cells belong to the region: all that touch it, so that no record in it is lost (the default), or "
        "those whose centre lies in it.",
    ),
    click.option(
        "--crs", metavar="CRS", help="CRS of the bounds, such as EPSG:4326; by default the CRS of the region."
    ),
)
domain_options = bundled("domain", domain_of, *DOMAIN_OPTIONS)
optional_domain_options = bundled("domain", _domain_if_given, *DOMAIN_OPTIONS)
