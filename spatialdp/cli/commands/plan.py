"""What will a release cost, and how large will its errors be? `spatialdp plan` says it before a record is read.

The command has no argument for points, and must never get one.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from spatialdp.cli.options.domain import domain_options
from spatialdp.cli.options.method import MethodCommand
from spatialdp.cli.options.terms import TermsOptions, terms_options

if TYPE_CHECKING:
    from spatialdp.mechanisms import Mechanism, Plan
    from spatialdp.space.domain import Domain

__all__ = ["command"]


@click.command("plan", cls=MethodCommand)
@domain_options
@terms_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(domain: Domain, terms: TermsOptions, mechanism: Mechanism, as_json: bool) -> None:
    r"""Print cost, size and expected error of a release. No points are read.

    \b
    Example:
      spatialdp plan --bounds 0,0,100,100 --method quadtree --height 7 --epsilon 0.5
    """
    plan = mechanism.plan(domain, **terms.options)
    click.echo(json.dumps(_json(plan), indent=2, ensure_ascii=False) if as_json else _text(plan))


def _json(plan: Plan) -> dict[str, object]:
    return {
        "mechanism": plan.mechanism,
        "cells": plan.cells,
        "currency": plan.currency,
        "budget": {step: str(cost) for step, cost in plan.budget.items()},
        "standard_deviation": plan.standard_deviation,
        "memory": plan.memory,
        "errors": plan.errors,
    }


def _text(plan: Plan) -> str:
    from spatialdp.privacy.statement import format_exact

    currency = "ε" if plan.currency == "epsilon" else "ρ (zCDP)"
    lines = [
        f"method   {plan.mechanism}",
        f"cells    {plan.cells:,}",
        f"memory   about {plan.memory / 1e6:,.1f} MB for counts and estimates",
        f"noise    standard deviation {plan.standard_deviation:,.4g} in one cell",
        f"cost     {currency} = {format_exact(sum(plan.budget.values(), Fraction()))}",
        *(f"           {format_exact(cost)}  {step}" for step, cost in plan.budget.items()),
    ]
    if plan.errors:
        lines += ["error    expected from noise (root mean square), for boxes that cover"]
        lines += [f"           {_area(size)}: {error:,.4g}" for size, error in plan.errors.items()]
    else:
        lines += ["error    depends on the records, so it cannot be computed beforehand"]
    return "\n".join(lines)


def _area(size: str) -> str:
    return "the whole domain" if size == "whole" else f"{size} of the domain"
