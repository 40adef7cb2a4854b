"""How is a ledger given to somebody who checks it? `spatialdp ledger export` writes all entries to a file."""

from __future__ import annotations

from pathlib import Path

import click

from spatialdp.cli.options.account import Payer, ledger_argument, opened, witness_option
from spatialdp.cli.options.output import Target, output_options

__all__ = ["command"]


@click.command("export")
@ledger_argument
@witness_option
@output_options((".csv", ".jsonl", ".html"), "File for the entries; the suffix decides the format")
def command(ledger: str, witness: Path | None, target: Target) -> None:
    r"""Write all entries of a ledger to a file, for readers.

    A table (.csv) and a page (.html) have one line for each entry, with what it cost and what was left. JSON lines
    have the entries as they are stored, with their hashes, so that anybody can check the chain.

    \b
    Examples:
      spatialdp ledger export privacy.ledger -o ledger.csv
      spatialdp ledger export privacy.ledger -o ledger.html --force
    """
    target.spare(*Payer(ledger, "", witness).files)
    opened(ledger, witness).export(target.file, overwrite=target.force)
