"""Which command runs, and how does an error reach the user? The command group `spatialdp`.

Each command has its own module, which imports only click until the command runs: help must not load heavy libraries.
Errors become one message and an exit code. Messages of unexpected errors are not printed, because they might quote a
record.
"""

from __future__ import annotations

import difflib
import errno
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from spatialdp._support.override import override
from spatialdp._support.terminal import printable
from spatialdp._version import __version__
from spatialdp.cli.options.values import join_numbers
from spatialdp.cli.wording import in_options
from spatialdp.errors import SpatialDPError

__all__ = ["main"]

# The modules of the commands within `spatialdp.cli.commands`, in the order in which the help lists them.
_COMMANDS = {
    "release": "release",
    "flows": "flows.release",
    "plan": "planning.plan",
    "recommend": "planning.recommend",
    "epsilon-for": "planning.epsilon_for",
    "query": "query",
    "map": "map",
    "sample": "sample",
    "info": "info",
    "methods": "methods",
    "evaluate": "evaluate",
    "traffic": "traffic",
}

C = TypeVar("C", bound=click.Command)

BAD_INPUT = 2
FAILED = 1


class _Group(click.Group):
    """A click group that loads commands from `spatialdp.cli.commands` and turns errors into messages and exit codes."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click gives it)
        return list(_COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (as above)
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"spatialdp.cli.commands.{_COMMANDS[cmd_name]}").command
        return _with_breaks(command)

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx=error.ctx) from None
        return name, command, rest if command is None else join_numbers(rest, command.params)

    @override
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except SpatialDPError as error:
            raise _failure(in_options(error, self._params_of_the_command(ctx)), BAD_INPUT) from None
        except OSError as error:
            if (
                error.errno == errno.EPIPE
            ):  # the program that read our output has ended, as `head` does: click handles it
                raise
            is_usage = isinstance(error, FileNotFoundError | FileExistsError | IsADirectoryError | PermissionError)
            raise _failure(f"{_words(error).rstrip('.')}.", BAD_INPUT if is_usage else FAILED) from None
        except MemoryError:
            raise _failure(
                "there is not enough memory for this command; use larger cells or a lower tree.", FAILED
            ) from None
        except Exception as error:  # its message might quote a record, so only its type and place are printed
            raise _failure(_unexpected(error), FAILED) from None

    def _params_of_the_command(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the command that ran, with those of its method, which `ctx.meta` names."""
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        return [] if command is None else command.get_params(ctx)


def _with_breaks(command: C) -> C:
    """Keep the line breaks of examples: click's mark for them is a backspace, which a raw docstring spells out."""
    command.help = (command.help or "").replace("\\b\n", "\b\n")
    return command


def _failure(message: str, code: int) -> click.ClickException:
    failure = click.ClickException(printable(message, keep="\n"))  # a message may quote a file
    failure.exit_code = code  # type: ignore[misc]  # click's own classes set it on the class
    return failure


def _words(error: OSError) -> str:
    """Return the message of a system error and the name of the file, without the number of the error."""
    if error.strerror is None:
        return str(error)
    return f"{error.strerror}: {error.filename}" if error.filename else error.strerror


def _unexpected(error: Exception) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "spatialdp" in Path(f.filename).parts]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return (
        f"unexpected {type(error).__name__}{place}; this is a defect of spatialdp. "
        "No file is left half-written. Please report the defect, with the command that you gave."
    )


@click.group(
    cls=_Group,
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


_with_breaks(main)
