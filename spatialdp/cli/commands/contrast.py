"""Why not just k-anonymise the map? `spatialdp contrast` shows it on the user's own records.

The results are computed from the true records, with seeded noise; they are as private as the records, so nobody but
their owner may read the files.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.domain import domain_options
from spatialdp.cli.options.output import folder_options, quiet_option
from spatialdp.cli.options.values import Exact

if TYPE_CHECKING:
    from spatialdp.space.domain import Domain

__all__ = ["command"]

_TABLE, _ATTACK, _MAPS = "contrast.md", "attack.png", "maps.png"
_SEPARATORS = {".csv": ",", ".tsv": "\t"}


@click.command("contrast")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--sensitive",
    required=True,
    metavar="COLUMN",
    help="Column with the value that nobody should learn about a person, such as the kind of an incident; at most "
    "200 different values.",
)
@click.option("--x", metavar="COLUMN", help="Column of the x coordinate or longitude, if the file has no geometry.")
@click.option("--y", metavar="COLUMN", help="Column of the y coordinate or latitude.")
@domain_options
@click.option(
    "--k",
    "ks",
    type=click.IntRange(1),
    multiple=True,
    default=(5,),
    show_default=True,
    help="Least number of records in a group of the k-anonymous maps; may be repeated.",
)
@click.option(
    "--releases", type=click.IntRange(2, 1000), default=12, show_default=True, help="Number of releases of each kind."
)
@click.option("--epsilon", type=Exact(), default="1", show_default=True, help="Privacy budget ε of a private release.")
@click.option(
    "--overlap",
    type=click.IntRange(1),
    help="Number of people who are in every release.  [default: 5,000, but at most a tenth of the records]",
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the splits and of the noise."
)
@folder_options(_TABLE, _ATTACK, _MAPS)
@quiet_option
def command(
    file: Path,
    sensitive: str,
    x: str | None,
    y: str | None,
    domain: Domain,
    ks: tuple[int, ...],
    releases: int,
    epsilon: Fraction,
    overlap: int | None,
    seed: int,
    folder: Path,
    quiet: bool,
) -> None:
    r"""Show what k-anonymous maps of your records give away, beside private ones.

    The command makes k-anonymous maps and private ones of the records in FILE, attacks both alike, and compares their
    errors. Some people are in all releases; as many are in none, and are guessed in the same way.

    The output is computed from the true records, with seeded noise: it is not private, and only people who may see the
    records may see it. No part of it may be published.

    \b
    Example:
      spatialdp contrast crashes.parquet --x lon --y lat --sensitive crash_type --k 5 --releases 12 \
          --bounds 138.4,-35.3,138.85,-34.6 --crs EPSG:4326
    """
    import matplotlib

    matplotlib.use("Agg")
    from spatialdp import contrast
    from spatialdp._support.atomic import write_all
    from spatialdp.outputs.maps.save import save_figure

    if (x is None) != (y is None):
        raise click.UsageError("only one of --x and --y was given; give both columns, or none to use the geometry.")
    points, values = _read(file, x, y, sensitive, domain)
    if not quiet:
        click.echo("releasing and attacking; this takes from seconds to a minute", err=True)
    compared = contrast.compare(
        points, values, domain, k=list(ks), epsilon=epsilon, releases=releases, overlap=overlap, seed=seed
    )
    text = compared.table()
    folder.mkdir(parents=True, exist_ok=True)
    write_all({folder / _TABLE: f"{text}\n".encode()}, overwrite=True, private=True)
    save_figure(contrast.plot_attack(compared), folder / _ATTACK, private=True)
    save_figure(contrast.plot_maps(compared), folder / _MAPS, private=True)
    click.echo(text)
    click.echo(f"\nwrote {_TABLE}, {_ATTACK} and {_MAPS} in {folder}")


def _read(file: Path, x: str | None, y: str | None, sensitive: str, domain: Domain) -> tuple[Any, Any]:
    """Return the places and the sensitive values in a file: two columns of numbers, or a geometry."""
    from spatialdp.records.points import Points, check_crs

    wanted = [name for name in (x, y, sensitive) if name is not None]
    try:
        frame = _frame(file, wanted, geometric=x is None)
    except Exception:  # its message might quote a record
        frame = None
    missing = wanted if frame is None else [name for name in wanted if name not in frame.columns]
    if frame is None or missing:
        raise click.UsageError(
            f"{file} cannot be read with the columns {', '.join(wanted)}"
            f"{' and a geometry' if x is None else ''}; give a CSV, a Parquet or a geographic file, and names of its "
            "columns (--sensitive, and --x and --y)."
        )
    places = frame.geometry if x is None else frame[[x, y]]
    check_crs(Points(places), domain)
    return places, frame[sensitive]


def _frame(file: Path, columns: list[str], *, geometric: bool) -> Any:
    """Read a table or a layer; columns that are not there may or may not raise."""
    import geopandas
    import pandas

    separator = _SEPARATORS.get(Path(file.name.lower().removesuffix(".gz")).suffix)
    if separator is not None:
        return pandas.read_csv(file, sep=separator, usecols=columns)
    if file.suffix.lower() != ".parquet":
        return geopandas.read_file(file)
    return geopandas.read_parquet(file) if geometric else pandas.read_parquet(file, columns=columns)
