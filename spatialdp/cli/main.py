"""The group of commands. Each lives in a module of its own, which imports nothing but click until it runs."""

from __future__ import annotations

import errno
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from spatialdp._version import __version__
from spatialdp.errors import SpatialDPError

__all__ = ["main"]

# In the order of the help.
_COMMANDS = ("release", "plan", "query", "map", "sample", "info", "methods", "evaluate", "traffic")

C = TypeVar("C", bound=click.Command)

BAD_INPUT = 2
FAILED = 1


class _Group(click.Group):
    """Commands are the `command` of the module that bears their name; errors become one message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click gives it)
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (as above)
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"spatialdp.cli.commands.{cmd_name}").command
        return _with_breaks(command)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except SpatialDPError as error:
            raise _failure(str(error), BAD_INPUT) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of our output has gone
                raise
            named = isinstance(error, FileNotFoundError | FileExistsError | IsADirectoryError | PermissionError)
            raise _failure(f"{_words(error).rstrip('.')}.", BAD_INPUT if named else FAILED) from None
        except MemoryError:
            raise _failure("memory does not suffice; use larger cells or a lower tree.", FAILED) from None
        except Exception as error:  # its message might quote a record, so only its place is told
            raise _failure(_unexpected(error), FAILED) from None


def _with_breaks(command: C) -> C:
    """Examples keep their lines: click's mark for that is a backspace, which raw docstrings only spell out."""
    command.help = (command.help or "").replace("\\b\n", "\b\n")
    return command


def _failure(message: str, code: int) -> click.ClickException:
    failure = click.ClickException(message)
    failure.exit_code = code  # type: ignore[misc]  # click's own classes set it on the class
    return failure


def _words(error: OSError) -> str:
    """What went wrong with which file, without the system's number for it."""
    if error.strerror is None:
        return str(error)
    return f"{error.strerror}: {error.filename}" if error.filename else error.strerror


def _unexpected(error: Exception) -> str:
    ours = [f for f in traceback.extract_tb(error.__traceback__) if "spatialdp" in Path(f.filename).parts]
    place = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return (
        f"unexpected {type(error).__name__}{place}; this is a defect of spatialdp. "
        "Nothing was written. Please report it with the command you gave."
    )


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="""\b
Exit codes: 0 done; 2 bad input or usage, nothing read is told and nothing written; 1 anything else (disk full, ...).
Completion: eval "$(_SPATIALDP_COMPLETE=bash_source spatialdp)", or zsh_source or fish_source, in your shell's
start-up file.""",
)
@click.version_option(__version__, prog_name="spatialdp")
def main() -> None:
    r"""Publish spatial data under differential privacy.

    \b
    Example: a private map of points, from a file to a file, and a question to it
      spatialdp release homes.csv --x lon --y lat --bounds -85.6,34.9,-84.9,35.5 --crs EPSG:4326 \
          --method quadtree --height 7 --epsilon 1 -o homes.parquet
      spatialdp query homes.parquet --bbox -85.33,35.03,-85.28,35.07
    """


_with_breaks(main)
