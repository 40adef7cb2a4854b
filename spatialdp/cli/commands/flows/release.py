"""How do trips in a file become released flows? `spatialdp flows` reads both ends, counts, adds noise and writes.

All public options are checked before the file of trips is opened, so that a mistake costs no budget. Progress lines
name steps only: they must not depend on the number of trips.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.account import Payer, payer_options
from spatialdp.cli.options.frame import Names, places_options
from spatialdp.cli.options.output import Target, check_output, output_options, quiet_option
from spatialdp.cli.options.terms import TermsOptions, terms_options
from spatialdp.cli.options.values import Exact
from spatialdp.cli.releasing import NoiseChoice, Steps, make_release, noise_options, write_files

if TYPE_CHECKING:
    from spatialdp.flows.release import FlowRelease
    from spatialdp.space.frames.frame import Frame

__all__ = ["command"]


@click.command("flows")
@click.argument("trips", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--origin",
    type=Names(),
    required=True,
    metavar="X,Y|COLUMN",
    help="Columns of the coordinates where each trip begins, such as lon,lat; or one column of codes of zones.",
)
@click.option(
    "--destination", type=Names(), required=True, metavar="X,Y|COLUMN", help="The same for where each trip ends."
)
@click.option("--person-column", metavar="NAME", help="Column that says who a trip is about; needs --person.")
@places_options
@terms_options
@click.option(
    "--pairs",
    type=click.Choice(["auto", "all", "listed"]),
    default="auto",
    show_default=True,
    help="Publish all pairs of places, or a list of those whose noisy count passes a threshold; auto publishes all, if "
    "there are no more than ten million.",
)
@click.option("--false", type=Exact(), default="1", show_default=True, help="Pairs without trips expected on the list.")
@click.option(
    "--remeasure",
    type=Exact(),
    default="1/4",
    show_default=True,
    help="Share of the pairs' budget that counts listed pairs afresh; with 0 the threshold is lower and counts have no "
    "intervals.",
)
@click.option(
    "--margins",
    type=Exact(),
    default="1/5",
    show_default=True,
    help="Share of the budget for counts of origins and of destinations.",
)
@payer_options
@output_options((".parquet", ".csv"), "File for the flows", several=True)
@noise_options
@quiet_option
def command(
    trips: tuple[Path, ...],
    origin: tuple[str, ...],
    destination: tuple[str, ...],
    person_column: str | None,
    frame: Frame,
    terms: TermsOptions,
    payer: Payer,
    target: Target,
    noise: NoiseChoice,
    quiet: bool,
    **parameters: Any,
) -> None:
    r"""Publish trips between places under differential privacy: how many go from each place to each other place.

    TRIPS is one or more files, Parquet or CSV (also .gz), with both ends of each trip in a row. Trips with an end that
    is in no place are not counted. No message says so, because their number is private.

    A .parquet file holds the complete release, and lines for a GIS; a .csv file has the columns origin, destination and
    flow. Each release spends its budget, so write both with one command. With --ledger, an account pays: the command is
    refused before a record is read if less is left than the release costs.

    \b
    Examples:
      spatialdp flows trips.csv --origin lon,lat --destination to_lon,to_lat --bounds -74.04,40.7,-73.9,40.8 \
          --crs EPSG:4326 --shape 16,16 --epsilon 1 -o flows.csv
      spatialdp flows moves.parquet --origin from_county --destination to_county --zones counties.parquet \
          --levels state,county --epsilon 1 --person-column id --person shares -o flows.parquet
    """
    from spatialdp.mechanisms import Flows
    from spatialdp.records.rows.trips import read_trips

    mechanism = Flows(**parameters)
    target.spare(*trips, *payer.files)
    noise.check(mechanism, paid=payer.ledger is not None)
    _check_outputs(target)
    prepared = mechanism.prepare(frame, **terms.options)
    places = _places_of(frame, origin, destination)
    steps = Steps(
        "opening the trips",
        "counting them and adding noise",
        lambda: read_trips(list(trips), places, _end(origin), _end(destination), person=person_column),
        lambda release: write_files(release, target),
        lambda release: _summary(release, prepared.design.smallest_visible),
    )
    make_release(prepared, steps, payer, noise, target, quiet=quiet)


def _end(names: tuple[str, ...]) -> Any:
    """Return a column of codes, or two columns of coordinates."""
    return names[0] if len(names) == 1 else names


def _places_of(frame: Frame, *ends: tuple[str, ...]) -> Any:
    """Return what trips are located in: the zones, or the domain of the grid; refuse ends that do not fit."""
    from spatialdp.space.frames.zone_axis import ZoneAxis

    for flag, names in zip(("--origin", "--destination"), ends, strict=True):
        if len(names) > 2:
            raise click.UsageError(
                f"{flag} names {len(names)} columns; give two, of x and y, or one column of codes of zones."
            )
        if len(names) == 1 and not isinstance(frame.space, ZoneAxis):
            raise click.UsageError(
                f"{flag} names one column, of codes of zones, but the places are cells of a grid; give two columns, "
                "X,Y, or --zones FILE."
            )
    return frame.space.zones if isinstance(frame.space, ZoneAxis) else frame.domain


def _check_outputs(target: Target) -> None:
    """Refuse a statement that would replace a file."""
    from spatialdp.outputs.files.statement import statement_beside

    for path in target.files:
        if path.suffix.lower() == ".csv":
            check_output(statement_beside(path), (".json",), force=target.force)


def _summary(release: FlowRelease, visible: int) -> list[str]:
    """Return what anyone who reads the release can see: places, pairs, and the total."""
    estimate, counted = release.estimate, release.privacy.counted
    low, high = estimate.answers(None, None).ends(0.95).ravel()
    lines = [
        f"places   {estimate.places:,}",
        f"pairs    {estimate.n_cells:,}{', all of them' if estimate.listing is None else ' listed'}",
        f"total    {release.total:,.0f} {counted}, estimated; 95 % interval {low:,.0f} to {high:,.0f}",
    ]
    if estimate.listing is None or release.listed_share is None:
        return lines
    return [
        *lines,
        f"seen     flows of {visible:,} and more are listed with a probability of 95 %; about "
        f"{estimate.listing.false:,.2g} listed pairs are expected to be without trips",
        f"share    {100 * release.listed_share:,.0f} % of the total is in listed pairs, estimated",
    ]
