"""Which command runs? The command group `spatialdp`.

Each command has its own module, which imports only click until the command runs: help must not load heavy libraries.
"""

from __future__ import annotations

import click

from spatialdp._version import __version__
from spatialdp.cli.groups import LazyGroup, with_breaks

__all__ = ["main"]

# The modules of the commands within `spatialdp.cli.commands`, in the order in which the help lists them.
_COMMANDS = {
    "release": "release",
    "flows": "flows.release",
    "trajectories": "trajectories.release",
    "plan": "planning.plan",
    "recommend": "planning.recommend",
    "epsilon-for": "planning.epsilon_for",
    "query": "query",
    "map": "map",
    "sample": "sample",
    "certificate": "certificate",
    "info": "info",
    "methods": "methods",
    "evaluate": "evaluate",
    "contrast": "contrast",
    "traffic": "traffic",
    "ledger": "ledger.group",
}


@click.group(
    cls=LazyGroup,
    homes=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="""\b
Exit codes:
  0  The command succeeded.
  2  The input or an option is wrong. The message quotes no record, and no file is written.
  1  The command failed for another reason, such as a full disk.
\b
Completion of commands and options: put this line into the start-up file of your shell.
  eval "$(_SPATIALDP_COMPLETE=bash_source spatialdp)"    (zsh_source or fish_source for zsh or fish)""",
)
@click.version_option(__version__, prog_name="spatialdp")
def main() -> None:
    r"""Publish spatial data under differential privacy.

    \b
    Example: make a private release of the points in a file, then ask it about a box
      spatialdp release homes.csv --x lon --y lat --bounds -85.6,34.9,-84.9,35.5 --crs EPSG:4326 \
          --method quadtree --height 7 --epsilon 1 -o homes.parquet
      spatialdp query homes.parquet --bbox -85.33,35.03,-85.28,35.07
    """


with_breaks(main)
