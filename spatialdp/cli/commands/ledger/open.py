"""How much may be spent on a set of records? `spatialdp ledger open` opens an account, and makes the ledger."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

from spatialdp.cli.options.account import ledger_argument, witness_option
from spatialdp.cli.options.terms import neighbours_option
from spatialdp.cli.options.values import Exact

__all__ = ["command"]


@click.command("open")
@ledger_argument
@click.option("--account", "name", required=True, metavar="NAME", help="Public name of the account.")
@click.option("--epsilon", type=Exact(), required=True, help="The limit: the ε that all spending together may reach.")
@click.option(
    "--delta",
    type=Exact(),
    default="0",
    help="δ of the limit; above 0, the account has a pot for Gaussian noise, too.  [default: 0]",
)
@click.option(
    "--pure", type=Exact(), help="Part of --epsilon that is for Laplace noise; needed with --delta, fixed for ever."
)
@neighbours_option
@click.option(
    "--unit",
    type=click.Choice(["record", "person"]),
    default="record",
    show_default=True,
    help="Whom the limit protects.",
)
@click.option(
    "--records", type=click.IntRange(1), help="With --unit person, the largest number of records of any person."
)
@click.option("--about", default="", help="Which records these are, in words.")
@witness_option
def command(
    ledger: str,
    name: str,
    epsilon: Fraction,
    delta: Fraction,
    pure: Fraction | None,
    neighbours: str,
    unit: str,
    records: int | None,
    about: str,
    witness: Path | None,
) -> None:
    r"""Open an account for one set of records.

    LEDGER is a file on a disk of this machine, or the address of a PostgreSQL database; it is made if it is missing. An
    account that was opened before is left as it is if its terms are the same.

    \b
    Examples:
      spatialdp ledger open privacy.ledger --account crashes --epsilon 2 --about "police records, 2024"
      spatialdp ledger open privacy.ledger --account visits --epsilon 2 --delta 1e-9 --pure 1
      spatialdp ledger open privacy.ledger --account trips --epsilon 3 --unit person --records 20
    """
    from spatialdp._support.terminal import printable
    from spatialdp.privacy.ledger.ledger import Ledger
    from spatialdp.privacy.ledger.terms import agreed, checked_name

    terms = {"neighbours": neighbours, "unit": unit, "records": records, "about": about}
    checked_name(name, "name")  # a slip of the pen makes no ledger
    agreed(epsilon, delta, pure, **terms)  # type: ignore[arg-type]
    account = Ledger(ledger, witness=witness).open(name, epsilon, delta, pure, **terms)  # type: ignore[arg-type]
    click.echo(printable(f"{account.name}: {account.in_words()}"))
