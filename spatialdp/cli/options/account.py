"""Which account of which ledger pays? Options `--ledger`, `--account` and `--witness`.

A ledger that should be there is never made anew: a slip of the pen must not start an empty account.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spatialdp.cli.options.values import bundled

if TYPE_CHECKING:
    from spatialdp.privacy.ledger.account import Account
    from spatialdp.privacy.ledger.ledger import Ledger

__all__ = ["Payer", "ledger_argument", "ledger_line", "opened", "payer_options", "witness_option"]


@dataclass(frozen=True)
class Payer:
    """Who pays for a release: an account of a ledger, or nobody."""

    ledger: str | None
    account: str | None
    witness: Path | None

    def __post_init__(self) -> None:
        if (self.ledger is None) != (self.account is None):
            given, missing = ("--ledger", "--account") if self.account is None else ("--account", "--ledger")
            raise click.UsageError(f"{given} was given without {missing}; give both, or neither.")
        if self.witness is not None and self.ledger is None:
            raise click.UsageError("--witness was given without --ledger; give the ledger that it watches, too.")

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that no output may replace."""
        from spatialdp.privacy.ledger.stores.postgres import is_address

        ledger = () if self.ledger is None or is_address(self.ledger) else (Path(self.ledger),)
        return (*ledger, *(() if self.witness is None else (self.witness,)))

    def find(self) -> Account | None:
        """Return the account; None if nobody pays."""
        if self.ledger is None or self.account is None:
            return None
        return opened(self.ledger, self.witness).account(self.account)


def ledger_line(account: Account | None) -> str:
    """Return the line of a summary that says what is left in the account that paid, or that nobody keeps account."""
    if account is None:
        return "ledger   none: nothing records what was spent on these records; see --ledger"
    return f"ledger   {account.name}, {account.in_words()}"


def opened(place: str, witness: Path | None) -> Ledger:
    """Return a ledger that is there; one that is not is an error."""
    from spatialdp.privacy.ledger.ledger import Ledger
    from spatialdp.privacy.ledger.stores.postgres import is_address

    if not is_address(place) and not Path(place).is_file():
        raise click.UsageError(
            f"there is no ledger {place}; give the file of one, or make it with `spatialdp ledger open`."
        )
    return Ledger(place, witness=witness)


witness_option = click.option(
    "--witness",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Small file, best on another disk, that remembers the ledger's last entry; a ledger that was rolled back is "
    "refused.",
)
ledger_argument = click.argument("ledger", metavar="LEDGER")
payer_options = bundled(
    "payer",
    Payer,
    click.option(
        "--ledger",
        help="Ledger that records what is spent: a file, or the address of a PostgreSQL database. See spatialdp "
        "ledger --help.",
    ),
    click.option("--account", metavar="NAME", help="Account of the ledger that pays; needs --ledger."),
    witness_option,
)
