"""What was spent on these records? The group of commands `spatialdp ledger`."""

from __future__ import annotations

import click

from spatialdp.cli.groups import LazyGroup

__all__ = ["command"]

_COMMANDS = {
    "open": "ledger.open",
    "show": "ledger.show",
    "check": "ledger.check",
    "export": "ledger.export",
    "limit": "ledger.limit",
    "adopt": "ledger.adopt",
}


@click.group("ledger", cls=LazyGroup, homes=_COMMANDS)
def command() -> None:
    r"""Keep a durable account of everything that is spent on sets of records.

    A ledger is one file, or a database of PostgreSQL for teams. It has accounts, one for each set of records, with a
    limit. A release that is given an account is paid for before noise is drawn, and refused before a record is read if
    less is left. Nothing is ever given back. A ledger holds public values alone.

    \b
    Examples:
      spatialdp ledger open privacy.ledger --account crashes --epsilon 2 --about "police records, 2024"
      spatialdp release crashes.csv --x lon --y lat --bounds -85.6,34.9,-84.9,35.5 --crs EPSG:4326 \
          --epsilon 0.5 --ledger privacy.ledger --account crashes -o crashes.parquet
      spatialdp ledger show privacy.ledger
      spatialdp ledger check privacy.ledger crashes.parquet
    """
