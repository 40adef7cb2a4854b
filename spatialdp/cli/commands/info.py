"""What does a release promise, and what does it hold? `spatialdp info` prints it.

The command reads files of releases in any format, and never a record.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.outputs.files.formats import FORMATS

if TYPE_CHECKING:
    from spatialdp.privacy.statement import Privacy
    from spatialdp.release import Release

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
        "cells": release.estimate.n_cells,
        "bounds": list(release.domain.bounds),
        "crs": release.domain.crs,
        "region": release.domain.region is not None,
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
    domain = release.domain
    edges = ", ".join(f"{edge:.15g}" for edge in domain.bounds)
    return [
        _sizes(release),
        f"bounds     {edges}{'' if domain.region is None else ', with a region inside'}",
        f"CRS        {domain.crs or 'none'}",
        f"total      about {release.total:,.0f} {release.privacy.counted}, estimated from the release",
        f"intervals  {'none: the estimates are biased' if release.estimate.biased else 'yes'}",
    ]


def _sizes(release: Release) -> str:
    """Return the number of cells; adaptive trees have blocks of cells, and the plan speaks of the cells in them."""
    number = f"{release.estimate.n_cells:,}"
    if release.privacy.mechanism != "adaptive":
        return f"cells      {number}"
    return f"blocks     {number}, of different sizes"
