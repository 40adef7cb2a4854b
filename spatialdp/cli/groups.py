"""How are commands found, and how does an error reach the user? Groups of commands that are loaded when they run.

Errors become one message and an exit code. Messages of unexpected errors are not printed, because they might quote a
record.
"""

from __future__ import annotations

import difflib
import errno
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from spatialdp._support.override import override
from spatialdp._support.terminal import printable
from spatialdp.cli.options.values import join_numbers
from spatialdp.cli.wording import in_options
from spatialdp.errors import SpatialDPError

__all__ = ["FAILED", "LazyGroup", "failure", "with_breaks"]

C = TypeVar("C", bound=click.Command)

BAD_INPUT = 2
FAILED = 1


class LazyGroup(click.Group):
    """A click group that loads its commands when they run, and turns errors into messages and exit codes.

    Parameters
    ----------
    homes : mapping of str to str
        For each command, in the order in which the help lists them, its module within `spatialdp.cli.commands`.
    """

    def __init__(self, *args: Any, homes: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._homes = homes

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click gives it)
        return list(self._homes)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (as above)
        if cmd_name not in self._homes:
            return None
        command: click.Command = import_module(f"spatialdp.cli.commands.{self._homes[cmd_name]}").command
        return with_breaks(command)

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], self._homes, n=1)
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
            raise failure(in_options(error, self._params_of_the_command(ctx)), BAD_INPUT) from None
        except OSError as error:
            if (
                error.errno == errno.EPIPE
            ):  # the program that read our output has ended, as `head` does: click handles it
                raise
            is_usage = isinstance(error, FileNotFoundError | FileExistsError | IsADirectoryError | PermissionError)
            raise failure(f"{_words(error).rstrip('.')}.", BAD_INPUT if is_usage else FAILED) from None
        except MemoryError:
            raise failure(
                "there is not enough memory for this command; use larger cells or a lower tree.", FAILED
            ) from None
        except Exception as error:  # its message might quote a record, so only its type and place are printed
            raise failure(_unexpected(error), FAILED) from None

    def _params_of_the_command(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the command that ran, with those of its method, which `ctx.meta` names."""
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        return [] if command is None else command.get_params(ctx)


def with_breaks(command: C) -> C:
    """Keep the line breaks of examples: click's mark for them is a backspace, which a raw docstring spells out."""
    command.help = (command.help or "").replace("\\b\n", "\b\n")
    return command


def failure(message: str, code: int) -> click.ClickException:
    """Return the error that ends a command with a message and an exit code."""
    error = click.ClickException(printable(message, keep="\n"))  # a message may quote a file
    error.exit_code = code  # type: ignore[misc]  # click's own classes set it on the class
    return error


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
