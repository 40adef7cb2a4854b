"""Is a ledger whole, and did it pay for these releases? `spatialdp ledger check` tells."""

from __future__ import annotations

from pathlib import Path

import click

from spatialdp.cli.options.account import ledger_argument, opened, witness_option

__all__ = ["command"]


@click.command("check")
@ledger_argument
@click.argument("releases", nargs=-1, metavar="[RELEASE]...", type=click.Path(path_type=Path))
@witness_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(ledger: str, releases: tuple[Path, ...], witness: Path | None, as_json: bool) -> None:
    r"""Check that a ledger is whole, and that it paid for releases.

    The chain of its entries is followed, and all totals are worked out anew. Each RELEASE is a file that
    `spatialdp release` wrote; it names the entry that paid for it, so that the command notices a ledger that was rolled
    back. The command fails, with exit code 2, if anything is wrong.

    \b
    Examples:
      spatialdp ledger check privacy.ledger
      spatialdp ledger check privacy.ledger releases/*.parquet --witness /mnt/other/privacy.witness
    """
    from spatialdp._support.terminal import printable, printable_json

    checked = opened(ledger, witness).check(releases)
    if not as_json:
        click.echo(printable(str(checked), keep="\n"))
        return
    spent = {name: each.to_json() for name, each in checked.spent.items()}
    head = None if checked.head is None else checked.head.to_json()
    facts = {"entries": checked.entries, "head": head, "spent": spent, "releases": checked.releases}
    click.echo(printable_json({"whole": True, **facts, "notes": list(checked.notes)}, indent=2))
