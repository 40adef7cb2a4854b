"""`spatialdp release`: from a file of points to a private map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.domain import domain_options
from spatialdp.cli.options.method import MethodCommand
from spatialdp.cli.options.output import Target, check_output, output_options, quiet_option
from spatialdp.cli.options.points import PointsFile, points_options
from spatialdp.cli.options.terms import TermsOptions, terms_options
from spatialdp.cli.options.values import Numbers
from spatialdp.outputs.files.formats import FORMATS

if TYPE_CHECKING:
    from spatialdp.mechanisms import Mechanism
    from spatialdp.space.domain import Domain

__all__ = ["command"]


@click.command("release", cls=MethodCommand)
@points_options
@domain_options
@terms_options
@output_options(tuple(FORMATS), "The release, its format by its ending", several=True)
@click.option(
    "--pixels", type=Numbers("NX", "NY"), help="Pixels of a GeoTIFF; the cells by default, if there is a grid."
)
@click.option("--seed", type=click.IntRange(0), help="Reproducible noise, for experiments; needs --not-private.")
@click.option("--not-private", is_flag=True, help="Allow a release that is not private, and is marked so.")
@quiet_option
def command(
    points: PointsFile,
    domain: Domain,
    terms: TermsOptions,
    mechanism: Mechanism,
    target: Target,
    pixels: tuple[float, float] | None,
    seed: int | None,
    not_private: bool,
    quiet: bool,
) -> None:
    r"""Publish the points in a file under differential privacy.

    POINTS is a Parquet, GeoParquet, CSV, GeoPackage, GeoJSON or Shapefile. Records outside the domain, without
    coordinates, or with another geometry than a point count nowhere, silently: how many there are is private.

    GeoParquet holds all of a release, and is what the other commands read; the other formats hold the map, for a GIS.
    Each release spends its budget, so write all the files you need at once.

    \b
    Examples:
      spatialdp release homes.csv --x lon --y lat --bounds -85.6,34.9,-84.9,35.5 --crs EPSG:4326 \
          --method quadtree --height 7 --epsilon 1 -o homes.parquet
      spatialdp release trips.gpkg --region county.geojson --method flat --shape 100,80 \
          --epsilon 0.5 -o map.parquet -o map.gpkg -o map.tif
      spatialdp release --method kd-tree --help
    """
    from spatialdp._support.atomic import write_all
    from spatialdp.outputs.files.save import contents
    from spatialdp.privacy.noise.source import SeededNoise, SystemNoise

    def tell(what: str) -> None:  # steps, never how far a step is: that would tell how many records there are
        if not quiet:
            click.echo(what, err=True)

    target.spare(points.path)
    _check_promise(mechanism, seed, allowed=not_private)
    prepared = mechanism.prepare(domain, **terms.options)
    shape = _check_formats(target, domain, mechanism, pixels)
    tell(f"1/3 reading the points{points.assumption(domain)}")
    records = points.read(domain)
    tell("2/3 counting and adding noise")
    noise = SystemNoise() if seed is None else SeededNoise(seed)
    release = prepared.release(records, noise=noise)
    tell(f"3/3 writing {', '.join(str(path) for path in target.files)}")
    files: dict[Path, bytes] = {}
    if pixels is None and release.estimate.kind == "grid":
        shape = None  # its cells are the pixels
    for path in target.files:
        files |= contents(release, path, shape=shape if FORMATS[path.suffix.lower()] == "GeoTIFF" else None)
    write_all(files, overwrite=target.force)
    tell(f"{release.privacy}")


def _check_promise(mechanism: Mechanism, seed: int | None, *, allowed: bool) -> None:
    """Refuse what would not be private, unless that is wanted in so many words."""
    if allowed or (seed is None and mechanism.private):
        return
    reason = "--seed makes the noise reproducible" if seed is not None else f"this {mechanism.name} uses true medians"
    raise click.UsageError(f"{reason}, so the release would not be private. Leave it out, or say --not-private.")


def _check_formats(
    target: Target, domain: Domain, mechanism: Mechanism, pixels: tuple[float, float] | None
) -> tuple[int, int] | None:
    """Refuse what a format cannot hold before anything is read; return the pixels of a GeoTIFF."""
    from importlib.util import find_spec

    from spatialdp.outputs.files.statement import statement_beside

    kinds = {FORMATS[path.suffix.lower()]: path for path in target.files}
    for path in target.files:
        if FORMATS[path.suffix.lower()] == "CSV":
            check_output(statement_beside(path), (".json",), force=target.force)
    if "GeoJSON" in kinds and domain.crs is None:
        raise click.UsageError(f"{kinds['GeoJSON']} needs a CRS, because GeoJSON is always in WGS 84; give --crs.")
    if "GeoTIFF" not in kinds:
        if pixels is not None:
            raise click.UsageError("--pixels is for GeoTIFF files; leave it out, or write a .tif as well.")
        return None
    if find_spec("rasterio") is None:
        raise click.UsageError("GeoTIFF files need rasterio, which is not installed; pip install 'spatialdp[raster]'.")
    return _pixels(domain, mechanism, pixels)


def _pixels(domain: Domain, mechanism: Mechanism, given: tuple[float, float] | None) -> tuple[int, int] | None:
    """The given ones, or those of the grid that the smallest areas of the release are the cells of."""
    if given is not None:
        sides: Any = [int(side) if side.is_integer() else side for side in given]  # `grid` refuses fractions
        return domain.grid(sides).shape
    grid = mechanism.leaf_grid(domain)
    if grid is None:
        raise click.UsageError(
            f"a {mechanism.name} has leaves of all sizes, and a GeoTIFF equal pixels; give --pixels NX,NY."
        )
    return grid.shape
