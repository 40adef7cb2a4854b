"""`spatialdp info`: what a release promises and holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from spatialdp.release import Release

__all__ = ["command"]


@click.command("info")
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def command(release: Path, as_json: bool) -> None:
    r"""Tell what a release promises, in plain words and in numbers, and what it holds.

    \b
    Examples:
      spatialdp info homes.parquet
      spatialdp info homes.parquet --json | jq .privacy.epsilon
    """
    from spatialdp.files import load

    source = load(release)
    click.echo(json.dumps(_plain(source), indent=2, ensure_ascii=False) if as_json else _told(source))


def _plain(release: Release) -> dict[str, Any]:
    return {
        "privacy": release.privacy.to_json(),
        "cells": release.estimate.n_cells,
        "bounds": list(release.domain.bounds),
        "crs": release.domain.crs,
        "region": release.domain.region is not None,
        "total": release.total,
        "intervals": not release.estimate.biased,
    }


def _told(release: Release) -> str:
    from spatialdp.privacy.statement import shown

    privacy, domain = release.privacy, release.domain
    given = ", ".join(f"{name} {value}" for name, value in privacy.parameters.items() if value is not None)
    currency = "ε" if privacy.currency == "epsilon" else "ρ"
    return "\n".join(
        [
            privacy.in_words().replace(". ", ".\n"),
            "",
            f"promise    {privacy}",
            f"method     {privacy.mechanism}: {given}",
            *(
                f"{'' if number else 'cost':10} {currency} {shown(cost)} for {step}"
                for number, (step, cost) in enumerate(privacy.budget.items())
            ),
            f"cells      {release.estimate.n_cells:,}",
            f"bounds     {', '.join(f'{edge:.15g}' for edge in domain.bounds)}"
            + (" and a region within" if domain.region is not None else ""),
            f"CRS        {domain.crs or 'none'}",
            f"total      about {release.total:,.0f} records, by the release's own estimate",
            f"intervals  {'none: the estimates are biased' if release.estimate.biased else 'yes'}",
        ]
    )
