"""What does a release promise, and what does it hold? `spatialdp info` prints it.

The command reads files of releases in any format, and never a record.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from spatialdp.outputs.files.formats import FORMATS

if TYPE_CHECKING:
    from spatialdp.privacy.statement import Privacy
    from spatialdp.release import Release
    from spatialdp.space.domain import Domain
    from spatialdp.zone_release import ZoneRelease

__all__ = ["command"]


@click.command("info")
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(release: Path, as_json: bool) -> None:
    r"""Print the privacy promise and the contents of a release.

    The promise is printed in plain words and in numbers. RELEASE is a file in any of the formats that
    `spatialdp release` writes.

    \b
    Examples:
      spatialdp info homes.parquet
      spatialdp info homes.parquet --json | jq .privacy.epsilon
    """
    from spatialdp._support.terminal import printable, printable_json
    from spatialdp.outputs.files.geoparquet import load
    from spatialdp.outputs.files.statement import read_statement

    if FORMATS.get(release.suffix.lower(), "GeoParquet") != "GeoParquet" and release.is_file():
        privacy = read_statement(release)
        facts, lines = {"privacy": privacy.to_json()}, _privacy_lines(privacy)
    else:
        source = load(release)
        facts, lines = _facts(source), [*_privacy_lines(source.privacy), *_map_lines(source)]
    click.echo(printable_json(facts, indent=2) if as_json else "\n".join(printable(line, keep="\n") for line in lines))


def _facts(release: Release) -> dict[str, Any]:
    return {
        "privacy": release.privacy.to_json(),
        **_place(release),
        "total": release.total,
        "counted": release.privacy.counted,
        "intervals": not release.estimate.biased,
    }


def _privacy_lines(privacy: Privacy) -> list[str]:
    from spatialdp.privacy.statement import format_exact

    parameters = ", ".join(f"{name} {value}" for name, value in privacy.parameters.items() if value is not None)
    currency = "ε" if privacy.currency == "epsilon" else "ρ"
    costs = [f"{currency} {format_exact(cost)} for {step}" for step, cost in privacy.budget.items()]
    return [
        f"{privacy.in_words()} {privacy.counted_in_words()}".rstrip().replace(". ", ".\n"),
        "",
        f"promise    {privacy}",
        f"method     {privacy.mechanism}: {parameters}",
        *(f"{'' if number else 'cost':10} {cost}" for number, cost in enumerate(costs)),
    ]


def _map_lines(release: Release) -> list[str]:
    return [
        _sizes(release),
        *_place_lines(release),
        f"total      about {release.total:,.0f} {release.privacy.counted}, estimated from the release",
        f"intervals  {'none: the estimates are biased' if release.estimate.biased else 'yes'}",
    ]


def _place(release: Release) -> dict[str, Any]:
    """Return where a release is, as plain values; zones that are codes alone are nowhere."""
    domain: Domain | None = release.domain
    zones = _zone_facts(cast("ZoneRelease", release)) if release.estimate.kind == "zones" else {}
    place = {} if domain is None else {"bounds": list(domain.bounds), "crs": domain.crs}
    region = {} if zones else {"region": release.domain.region is not None}
    return {"cells": release.estimate.n_cells, **zones, **place, **region}


def _zone_facts(release: ZoneRelease) -> dict[str, Any]:
    """Return what the frame of zones is: its name, its digest, and how many zones each level has."""
    zones = release.zones
    sizes = (int(stop - start) for start, stop in itertools.pairwise(zones.shape.offsets))
    return {"levels": dict(zip(zones.levels, sizes, strict=True)), "frame": zones.name, "frame_digest": zones.digest}


def _place_lines(release: Release) -> list[str]:
    domain: Domain | None = release.domain
    if domain is None:
        return ["place      none: the zones are codes without polygons"]
    edges = ", ".join(f"{edge:.15g}" for edge in domain.bounds)
    return [
        f"bounds     {edges}{'' if domain.region is None else ', with a region inside'}",
        f"CRS        {domain.crs or 'none'}",
    ]


def _sizes(release: Release) -> str:
    """Return the number of cells; adaptive trees have blocks of cells, and the plan speaks of the cells in them."""
    if release.estimate.kind == "zones":
        facts = _zone_facts(cast("ZoneRelease", release))
        levels = ", ".join(f"{size:,} of level {name}" for name, size in facts["levels"].items())
        named = "" if facts["frame"] is None else f"frame      {facts['frame']}\n"
        return f"zones      {levels}\n{named}digest     {facts['frame_digest']}"
    number = f"{release.estimate.n_cells:,}"
    if release.privacy.mechanism != "adaptive":
        return f"cells      {number}"
    return f"blocks     {number}, of different sizes"
