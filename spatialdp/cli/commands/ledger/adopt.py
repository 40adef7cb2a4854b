"""Was a ledger moved or restored? `spatialdp ledger adopt` accepts it where it lies now, and says so in an entry."""

from __future__ import annotations

from pathlib import Path

import click

from spatialdp.cli.options.account import ledger_argument, witness_option

__all__ = ["command"]


@click.command("adopt")
@ledger_argument
@click.option("--who", required=True, help="Who guarantees that no entry is missing.")
@click.option("--why", required=True, help="How they know it.")
@witness_option
def command(ledger: str, who: str, why: str, witness: Path | None) -> None:
    r"""Accept a ledger that was moved or restored.

    A ledger remembers the file that it was made in, so that a copy, or an old version in its place, is refused. This
    command accepts it with all of its entries, and says so in an entry. Check it afterwards with the releases that were
    made since.

    \b
    Example:
      spatialdp ledger adopt privacy.ledger --who "A. Officer" --why "moved to a new server; 12 releases checked"
    """
    from spatialdp._support.terminal import printable
    from spatialdp.privacy.ledger.ledger import Ledger

    click.echo(printable(str(Ledger.adopt(ledger, who=who, why=why, witness=witness).check()), keep="\n"))
