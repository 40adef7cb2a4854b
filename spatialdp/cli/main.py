"""The group of commands. Each lives in a module of its own, which imports nothing but click until it runs."""

from __future__ import annotations

from importlib import import_module

import click

from spatialdp._version import __version__

__all__ = ["main"]

_COMMANDS = ("traffic",)  # in the order of the help


class _Group(click.Group):
    """Commands are the `command` of the module that bears their name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click gives it)
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (as above)
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"spatialdp.cli.{cmd_name}").command
        return command


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="spatialdp")
def main() -> None:
    """Publish spatial data under differential privacy."""
