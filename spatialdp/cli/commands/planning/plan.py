"""What will a release cost, and how large will its errors be? `spatialdp plan` says it before a record is read.

The command has no argument for points, and must never get one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from spatialdp.cli.options.frame import check_frame, frame_options
from spatialdp.cli.options.method import PlanCommand
from spatialdp.cli.options.terms import TermsOptions, terms_options

if TYPE_CHECKING:
    from spatialdp.cli.options.frame import Frame
    from spatialdp.mechanisms import Mechanism

__all__ = ["command"]


@click.command("plan", cls=PlanCommand)
@frame_options
@terms_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(frame: Frame, terms: TermsOptions, mechanism: Mechanism, as_json: bool) -> None:
    r"""Print cost, size and expected error of a release. No points are read.

    \b
    Examples:
      spatialdp plan --bounds 0,0,100,100 --method quadtree --height 7 --epsilon 0.5
      spatialdp plan --zones counties.parquet --levels state,county --epsilon 1
      spatialdp plan --zones counties.parquet --levels state,county --method flows --pairs listed --epsilon 1
    """
    check_frame(frame, mechanism)
    plan = mechanism.plan(frame, **terms.options)
    click.echo(json.dumps(plan.to_json(), indent=2, ensure_ascii=False) if as_json else plan)
