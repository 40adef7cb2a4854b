"""May more be spent on these records? `spatialdp ledger limit` changes a limit, and notes who did so and why."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

from spatialdp.cli.options.account import ledger_argument, opened, witness_option
from spatialdp.cli.options.values import Exact

__all__ = ["command"]


@click.command("limit")
@ledger_argument
@click.option("--account", "name", required=True, metavar="NAME", help="Name of the account.")
@click.option("--epsilon", type=Exact(), help="The new ε; without it, ε stays as it is.")
@click.option("--delta", type=Exact(), help="The new δ; without it, δ stays as it is.")
@click.option("--pure", type=Exact(), help="The new part of ε that is for Laplace noise, in an account with a δ.")
@click.option("--who", required=True, help="Who decided it.")
@click.option("--why", required=True, help="Why.")
@witness_option
def command(
    ledger: str,
    name: str,
    epsilon: Fraction | None,
    delta: Fraction | None,
    pure: Fraction | None,
    who: str,
    why: str,
    witness: Path | None,
) -> None:
    r"""Give an account another limit.

    An entry of the ledger says who decided it, and why. The limit never goes below what is spent. The promise is then
    that of the new limit, if it was raised for reasons other than the answers.

    \b
    Example:
      spatialdp ledger limit privacy.ledger --account crashes --epsilon 3 --who "A. Officer" --why "yearly review"
    """
    from spatialdp._support.terminal import printable

    if epsilon is None and delta is None and pure is None:
        raise click.UsageError("no limit was given; give --epsilon, --delta or --pure.")
    account = opened(ledger, witness).limit(name, epsilon=epsilon, delta=delta, pure=pure, who=who, why=why)
    click.echo(printable(f"{account.name}: {account.in_words()}"))
