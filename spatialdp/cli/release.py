"""`spatialdp release`: from a file of points to a private map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from spatialdp.cli.options import (
    MethodCommand,
    PointsFile,
    Target,
    Terms,
    domain_options,
    output_options,
    points_options,
    quiet_option,
    terms_options,
)

if TYPE_CHECKING:
    from spatialdp.domain import Domain
    from spatialdp.mechanisms import Mechanism

__all__ = ["command"]

SUFFIXES = (".parquet",)


@click.command("release", cls=MethodCommand)
@points_options
@domain_options
@terms_options
@output_options(SUFFIXES, "The release, its format by its ending")
@click.option("--seed", type=click.IntRange(0), help="Reproducible noise, for experiments; needs --not-private.")
@click.option("--not-private", is_flag=True, help="Allow a release that is not private, and is marked so.")
@quiet_option
def command(
    points: PointsFile,
    domain: Domain,
    terms: Terms,
    mechanism: Mechanism,
    target: Target,
    seed: int | None,
    not_private: bool,
    quiet: bool,
) -> None:
    r"""Publish the points in a file under differential privacy.

    POINTS is a Parquet, GeoParquet, CSV, GeoPackage, GeoJSON or Shapefile. Records outside the domain, without
    coordinates, or with another geometry than a point count nowhere, silently: how many there are is private.

    \b
    Examples:
      spatialdp release homes.csv --x lon --y lat --bounds -85.6,34.9,-84.9,35.5 --crs EPSG:4326 \
          --method quadtree --height 7 --epsilon 1 -o homes.parquet
      spatialdp release trips.gpkg --region county.geojson --method flat --shape 100,80 \
          --epsilon 0.5 -o trips.parquet
      spatialdp release --method kd-tree --help
    """
    from spatialdp.privacy.noise import SeededNoise, SystemNoise

    def tell(what: str) -> None:  # steps, never how far a step is: that would tell how many records there are
        if not quiet:
            click.echo(what, err=True)

    _check_promise(mechanism, seed, allowed=not_private)
    mechanism.check(domain, **terms.options)
    tell("1/3 reading the points")
    records = points.read(domain)
    tell("2/3 counting and adding noise")
    noise = SystemNoise() if seed is None else SeededNoise(seed)
    release = mechanism.release(records, domain, noise=noise, **terms.options)
    tell(f"3/3 writing {target.file}")
    release.save(target.file, overwrite=target.force)
    tell(f"{release.privacy}")


def _check_promise(mechanism: Mechanism, seed: int | None, *, allowed: bool) -> None:
    """Refuse what would not be private, unless that is wanted in so many words."""
    if allowed or (seed is None and mechanism.private):
        return
    reason = "--seed makes the noise reproducible" if seed is not None else f"this {mechanism.name} uses true medians"
    raise click.UsageError(f"{reason}, so the release would not be private. Leave it out, or say --not-private.")
