"""How do trajectories in a file become a release? `spatialdp trajectories` reads fixes, counts, adds noise and writes.

All public options are checked before the files are opened, so that a mistake costs no budget. Progress lines name steps
only: they must not depend on the number of trajectories.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.account import Payer, payer_options
from spatialdp.cli.options.domain import domain_options
from spatialdp.cli.options.output import Target, output_options, quiet_option
from spatialdp.cli.options.terms import TermsOptions, terms_options
from spatialdp.cli.options.values import Exact, Integers
from spatialdp.cli.releasing import NoiseChoice, Steps, make_release, noise_options

if TYPE_CHECKING:
    from spatialdp.mechanisms import PreparedRelease
    from spatialdp.space.domain import Domain
    from spatialdp.trajectories.release import TrajectoryRelease

__all__ = ["command"]


@click.command("trajectories")
@click.argument("fixes", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--trajectory", "tid", default="tid", show_default=True, metavar="COLUMN", help="Column of the trajectory of a fix."
)
@click.option(
    "--time", default="time", show_default=True, metavar="COLUMN", help="Column of the time: timestamps or ISO text."
)
@click.option("--x", metavar="COLUMN", help="Column of the x coordinate or longitude; by default the geometry is used.")
@click.option("--y", metavar="COLUMN", help="Column of the y coordinate or latitude.")
@click.option("--geometry", metavar="COLUMN", help="Column of points, instead of --x and --y.")
@click.option("--points-crs", "crs", metavar="CRS", help="CRS of the fixes, if their file does not name it.")
@click.option("--reproject", is_flag=True, help="Reproject fixes that are in another CRS than the domain.")
@click.option("--person-column", metavar="COLUMN", help="Column that says who a fix is about; needs --person.")
@domain_options
@terms_options
@click.option(
    "--step", type=Exact(), default="60", show_default=True, help="Seconds from one position to the next; public."
)
@click.option(
    "--longest", type=int, default=60, show_default=True, help="Most steps of a trajectory; later ones are cut off."
)
@click.option(
    "--ends",
    type=int,
    default=3,
    show_default=True,
    help="Count where trajectories begin and end in 2^ENDS by 2^ENDS blocks of the domain.",
)
@click.option(
    "--systems",
    type=Integers(),
    default="4,5,6",
    show_default=True,
    help="Levels of the quadtree, of which one is chosen privately for the moves: level 5 has 32 by 32 cells.",
)
@click.option(
    "--plan", is_flag=True, help="Print cost, size and expected errors, and stop: no file is read or written."
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@payer_options
@output_options((".parquet",), "File for the release", optional=True)
@noise_options
@quiet_option
def command(
    fixes: tuple[Path, ...],
    person_column: str | None,
    domain: Domain,
    terms: TermsOptions,
    step: Any,
    longest: int,
    ends: int,
    systems: tuple[int, ...],
    plan: bool,
    as_json: bool,
    payer: Payer,
    target: Target,
    noise: NoiseChoice,
    quiet: bool,
    **columns: Any,
) -> None:
    r"""Publish trajectories under differential privacy: counts of them, and a model to draw synthetic ones from.

    FIXES is one or more files, Parquet or CSV (also .gz), with a row for each fix: a trajectory, a time and a place.
    Fixes outside the domain or its region, or without a time, are not counted. No message says so, because their number
    is private. The method is experimental.

    The .parquet file holds the complete release: `spatialdp sample` draws synthetic trajectories from it, and
    `spatialdp info` and `spatialdp certificate` read it. With --ledger, an account pays: the command is refused before
    a record is read if less is left than the release costs.

    \b
    Examples:
      spatialdp trajectories rides.csv --x lon --y lat --bounds 113.5,22.4,114.7,23.2 --crs EPSG:4326 \
          --epsilon 1 -o rides.parquet
      spatialdp trajectories rides.parquet --trajectory ride --time when --person-column uid --person records=5 \
          --bounds 0,0,9000,9000 --epsilon 1 --step 30 -o rides.parquet
      spatialdp trajectories --bounds 0,0,9000,9000 --epsilon 1 --plan
      spatialdp sample rides.parquet -n 1000 -o synthetic.parquet
    """
    from spatialdp.mechanisms import Trajectories
    from spatialdp.records.rows.track_files import read_tracks

    mechanism = Trajectories(step=step, longest=longest, ends=ends, systems=systems)
    prepared = mechanism.prepare(domain, **terms.options)
    if plan or as_json:
        _print_plan(prepared, as_json=as_json)
        return
    if not fixes or not target.files:
        raise click.UsageError("FIXES and -o FILE are required for a release; with --plan neither is.")
    target.spare(*fixes, *payer.files)
    noise.check(mechanism, paid=payer.ledger is not None)
    steps = Steps(
        "reading the fixes",
        "counting trajectories and adding noise",
        lambda: read_tracks(list(fixes), domain, person=person_column, **columns),
        lambda release: release.save(target.file, overwrite=target.force),
        _summary,
    )
    make_release(prepared, steps, payer, noise, target, quiet=quiet)


def _print_plan(prepared: PreparedRelease, *, as_json: bool) -> None:
    plan = prepared.plan_with_errors()
    click.echo(json.dumps(plan.to_json(), indent=2, ensure_ascii=False) if as_json else plan)


def _summary(release: TrajectoryRelease) -> list[str]:
    """Return what anyone who reads the release can see: the system, the pairs that are drawn from, and the total."""
    low, high = release.interval()
    return [
        f"system   {release.cells_a_side} x {release.cells_a_side} cells",
        f"ends     {release.estimate.ends.n_cells:,} pairs; synthetic trajectories are drawn between "
        f"{release.estimate.reachable[3].size:,} of them",
        f"total    {release.total:,.0f} trajectories, estimated; 95 % interval {low:,.0f} to {high:,.0f}",
    ]
