"""Which page does the person responsible for privacy sign? `spatialdp certificate` writes one page about a release.

The command reads a file of a release and its ledger, and never a record.
"""

from __future__ import annotations

from pathlib import Path

import click

from spatialdp.cli.options.account import opened, witness_option
from spatialdp.cli.options.output import Target, output_options

__all__ = ["command"]


@click.command("certificate")
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--ledger",
    help="The ledger that paid for the release: its file, or the address of its PostgreSQL database. It is checked, "
    "and the page lists all releases of the account.",
)
@witness_option
@output_options((".html", ".md"), "File for the page, a web page to read and print or Markdown", stdout=True)
def command(release: Path, ledger: str | None, witness: Path | None, target: Target) -> None:
    r"""Write a page about a release for the person responsible for privacy, such as a data protection officer.

    The page says what was published and what is promised, how much of the account is spent, how the release was made
    and how exact it is, what people have to confirm and to sign, and how to check it. RELEASE is the complete file of
    the release (.parquet). Without an output, the page is printed as Markdown.

    \b
    Examples:
      spatialdp certificate crashes.parquet --ledger privacy.ledger -o crashes.html
      spatialdp certificate crashes.parquet
    """
    from spatialdp._support.terminal import printable
    from spatialdp.outputs.certificate.certificate import certificate_text
    from spatialdp.outputs.files.geoparquet import load

    target.spare(release, witness, *_file_of(ledger))
    source, book = load(release), None if ledger is None else opened(ledger, witness)
    if target.path is None:
        click.echo(printable(certificate_text(source, ".md", ledger=book, files=[release]), keep="\n"), nl=False)
        return
    source.certificate(target.path, ledger=book, files=[release], overwrite=target.force)


def _file_of(ledger: str | None) -> tuple[Path, ...]:
    """Return the ledger's file, which no output may replace; databases have none."""
    from spatialdp.privacy.ledger.stores.postgres import is_address

    return () if ledger is None or is_address(ledger) else (Path(ledger),)
