"""How do points in a file become a private release? `spatialdp release` reads, counts, adds noise and writes.

All public options are checked before the file of points is opened, so that a mistake costs no budget. `cli.releasing`
has the steps from there on.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from spatialdp.cli.options.account import Payer, payer_options
from spatialdp.cli.options.frame import check_frame, domain_in, frame_options, is_table
from spatialdp.cli.options.method import ReleaseCommand
from spatialdp.cli.options.output import Target, check_output, output_options, quiet_option
from spatialdp.cli.options.points import PointsFile, points_options
from spatialdp.cli.options.terms import TermsOptions, terms_options
from spatialdp.cli.options.values import Numbers
from spatialdp.cli.releasing import NoiseChoice, Steps, make_release, noise_options, write_files
from spatialdp.outputs.files.formats import FORMATS, WITH_AXES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spatialdp.cli.options.frame import Frame
    from spatialdp.estimates.sparse.listed import ListedCells
    from spatialdp.estimates.sparse.over_map import ListOverMap
    from spatialdp.mechanisms import Mechanism
    from spatialdp.release import Release
    from spatialdp.space.domain import Domain
    from spatialdp.table_release import TableRelease
    from spatialdp.zone_release import ZoneRelease

__all__ = ["command"]


@click.command("release", cls=ReleaseCommand)
@points_options
@frame_options
@terms_options
@payer_options
@output_options(tuple(FORMATS), "File for the release; the suffix decides the format", several=True)
@click.option(
    "--pixels",
    type=Numbers("NX", "NY"),
    help="Number of pixels of a GeoTIFF; by default the cells of the grid, if the release has one.",
)
@noise_options
@quiet_option
def command(
    points: PointsFile,
    frame: Frame,
    terms: TermsOptions,
    payer: Payer,
    mechanism: Mechanism,
    target: Target,
    pixels: tuple[float, float] | None,
    noise: NoiseChoice,
    quiet: bool,
) -> None:
    r"""Publish the points in a file under differential privacy.

    POINTS is one or more files: Parquet, GeoParquet, CSV or TSV (also .gz), GeoPackage, GeoJSON, Shapefile or
    FlatGeobuf. A folder means all files in it, and - means standard input. Or it is the address of a table in a
    database, which counts its records itself, such as duckdb:///FILE?table=NAME. Records that lie outside the domain,
    have no coordinates or are not points are not counted. No message says so, because their number is private.

    A GeoParquet file holds the complete release; the other commands read it. Files in the other formats hold the map,
    for a GIS. Each release spends its budget, so write all files that you need with one command. With --ledger, an
    account pays: the command is refused before a record is read if less is left than the release costs.

    \b
    Examples:
      spatialdp release homes.csv --x lon --y lat --bounds -85.6,34.9,-84.9,35.5 --crs EPSG:4326 \
          --epsilon 1 -o homes.parquet
      spatialdp release points.parquet --zones counties.parquet --levels state,county --epsilon 1 -o counties.gpkg
      spatialdp release events.csv --x lon --y lat --bounds -85.6,34.9,-84.9,35.5 --crs EPSG:4326 --shape 20,20 \
          --time 2024-01-01 2025-01-01 --fold "hour of day" --time-column when --time-zone America/New_York \
          --categories theft,assault --category-column offence --epsilon 1 -o table.parquet
      spatialdp release trips.gpkg --region county.geojson --method flat --shape 100,80 \
          --epsilon 0.5 -o map.parquet -o map.gpkg -o map.tif
      spatialdp release 'postgresql://USER@HOST/DATABASE?table=VISITS' --geometry geom --bounds -85.6,34.9,-84.9,35.5 \
          --crs EPSG:4326 --epsilon 1 -o visits.parquet
      spatialdp release --method kd-tree --help
    """
    from spatialdp.records.points import check_persons

    target.spare(*points.inputs, *payer.files)
    noise.check(mechanism, paid=payer.ledger is not None)
    check_frame(frame, mechanism, codes=points.code_column is not None)
    points.check(frame)
    check_persons(points.options.get("person") is not None, terms.person)
    prepared = mechanism.prepare(frame, **terms.options)
    shape = _check_formats(target, frame, mechanism, pixels)
    steps = Steps(
        f"opening the points{points.assumption(domain_in(frame))}",
        "counting them and adding noise",
        lambda: points.read(frame),
        lambda release: _write(release, target, shape, pixels),
        lambda release: _summary(release, mechanism),
    )
    make_release(prepared, steps, payer, noise, target, quiet=quiet)


def _write(release: Release, target: Target, shape: tuple[int, int] | None, pixels: tuple[float, float] | None) -> None:
    cells_are_pixels = pixels is None and release.estimate.kind == "grid"
    write_files(release, target, pixels=None if cells_are_pixels else shape)


def _summary(release: Release, mechanism: Mechanism) -> list[str]:
    """Return what anyone who reads the release can see, so that a mistake of place shows: size, cells, total."""
    from spatialdp.space.placement import ground_size

    if release.estimate.kind == "zones":
        return _zone_summary(cast("ZoneRelease", release))
    if release.estimate.kind in WITH_AXES:
        return _table_summary(cast("TableRelease", release))
    if release.estimate.kind == "listed":
        return _list_summary(release)
    domain = release.domain
    ground = ground_size(domain.bounds, domain.crs)
    crs = "without a CRS" if domain.crs is None else f"in {domain.crs if len(domain.crs) < 40 else 'its CRS'}"
    extent = f"{_pair(domain.size, 1)} units" if ground is None else _lengths(ground)
    grid = mechanism.leaf_grid(domain)
    if grid is None:
        cells = f"{release.estimate.n_cells:,}, of different sizes"
    else:
        sides = [size / count for size, count in zip(ground or domain.size, grid.shape, strict=True)]
        size = f"{_pair(sides, 1)} units" if ground is None else _lengths(sides)
        number = f"{release.estimate.n_cells:,}{' blocks' if mechanism.name == 'adaptive' else ''}"
        cells = f"{number}, on a grid of {grid.shape[0]} x {grid.shape[1]} cells of about {size} each"
    total = f"{release.total:,.0f} {release.privacy.counted}, estimated"
    if not release.estimate.biased:
        low, high = release.interval(domain.bounds)
        total += f"; 95 % interval {low:,.0f} to {high:,.0f}"
    return [f"domain   {extent}, {crs}", f"cells    {cells}", *_listed_within(release), f"total    {total}"]


def _listed_within(release: Release) -> list[str]:
    """Return what is listed within the blocks of a map; nothing for other releases."""
    if release.estimate.kind != "listed-map":
        return []
    return [f"listed   {cast('ListOverMap', release.estimate).in_words(release.privacy.counted)}"]


def _list_summary(release: Release) -> list[str]:
    """Return what was searched and what is listed, and the records in listed cells."""
    estimate = cast("ListedCells", release.estimate)
    counted = release.privacy.counted
    return [
        f"listed   {estimate.n_cells:,} cells. {estimate.in_words(counted)}",
        f"total    {release.total:,.0f} {counted} in listed cells, estimated",
    ]


def _zone_summary(release: ZoneRelease) -> list[str]:
    """Return how many zones each level has, and the total."""
    zones = release.zones
    sizes = [int(stop - start) for start, stop in itertools.pairwise(zones.shape.offsets)]
    levels = [f"{size:,} of level {name}" for size, name in zip(sizes, zones.levels, strict=True)]
    total = f"{release.total:,.0f} {release.privacy.counted}, estimated"
    if not release.estimate.biased:
        low, high = release.interval(zones.codes[0], at=zones.levels[0])
        total += f"; 95 % interval {low:,.0f} to {high:,.0f}"
    return [f"zones    {', '.join(levels)}", f"total    {total}"]


def _table_summary(release: TableRelease) -> list[str]:
    """Return how many cells each axis has, and the total."""
    sizes = " x ".join(f"{release.frame.axes[name].size:,} {name}" for name in release.frame.names)
    total = f"{release.total:,.0f} {release.privacy.counted}, estimated"
    if not release.estimate.biased:
        low, high = release.interval()
        total += f"; 95 % interval {low:,.0f} to {high:,.0f}"
    return [f"cells    {sizes} = {release.frame.n_cells:,}", f"total    {total}"]


def _lengths(metres: Sequence[float]) -> str:
    """Return width and height in words, in metres or kilometres."""
    return f"{_pair(metres, 1)} m" if max(metres) < 2000 else f"{_pair(metres, 1000)} km"


def _pair(sides: Sequence[float], unit: int) -> str:
    return " x ".join(f"{float(f'{side / unit:.3g}'):,.12g}" for side in sides)


def _check_formats(
    target: Target, frame: Frame, mechanism: Mechanism, pixels: tuple[float, float] | None
) -> tuple[int, int] | None:
    """Check, before anything is read, that each format can hold the release; return the pixels of a GeoTIFF."""
    from importlib.util import find_spec

    from spatialdp.outputs.files.statement import statement_beside

    kinds = {FORMATS[path.suffix.lower()]: path for path in target.files}
    for path in target.files:
        if FORMATS[path.suffix.lower()] == "CSV":
            check_output(statement_beside(path), (".json",), force=target.force)
    if is_table(frame):
        _check_table_formats(kinds, pixels)
        return None
    domain = domain_in(frame)
    if domain is None:
        _check_places(kinds)
        return None
    if "GeoJSON" in kinds and domain.crs is None:
        raise click.UsageError(
            f"{kinds['GeoJSON']} needs a CRS, because GeoJSON is always in WGS 84; give the CRS with --crs."
        )
    if "GeoTIFF" not in kinds:
        if pixels is not None:
            raise click.UsageError("--pixels is for GeoTIFF files; leave it out, or write a .tif as well.")
        return None
    if find_spec("rasterio") is None:
        raise click.UsageError(
            "a GeoTIFF needs rasterio, which is not installed; run pip install 'spatialdp[raster]', or write a .gpkg."
        )
    return _pixels(domain, mechanism, pixels)


def _check_table_formats(kinds: Mapping[str, Path], pixels: tuple[float, float] | None) -> None:
    """Refuse formats of one map for a table, which has one for every time and category."""
    for kind, path in kinds.items():
        if kind not in ("GeoParquet", "CSV"):
            raise click.UsageError(
                f"{path} is {kind}, which holds one map, but a table has a map for every time and category; write a "
                ".parquet (complete) or a .csv (rows)."
            )
    if pixels is not None:
        raise click.UsageError("--pixels is for GeoTIFF files, which tables are not written to; leave it out.")


def _check_places(kinds: Mapping[str, Path]) -> None:
    """Refuse formats of places for zones that are codes alone."""
    for kind, path in kinds.items():
        if kind not in ("GeoParquet", "CSV"):
            raise click.UsageError(
                f"{path} is {kind}, which needs polygons, but the zones are codes alone; write a .parquet or a .csv."
            )


def _pixels(domain: Domain, mechanism: Mechanism, pixels: tuple[float, float] | None) -> tuple[int, int] | None:
    """Return the number of pixels: the user's choice, or the shape of the grid of the release's smallest areas."""
    from spatialdp._support.checks import whole_pair

    if pixels is not None:
        sides = [int(side) if side.is_integer() else side for side in pixels]  # `whole_pair` refuses fractions
        return domain.grid(whole_pair(sides, "pixels")).shape
    grid = mechanism.leaf_grid(domain)
    if grid is None and mechanism.name == "sparse":
        raise click.UsageError(
            "a list of cells of so fine a grid fills no GeoTIFF; give --pixels NX,NY for sums of listed cells, or "
            "write a .gpkg."
        )
    if grid is None:
        raise click.UsageError(
            f"a {mechanism.name} has leaves of different sizes, but a GeoTIFF needs equal pixels; give --pixels NX,NY."
        )
    return grid.shape
