"""Where does a command write? Files and folders, checked before anything is read or spent.

An output must have a known suffix, must not replace an existing file without `--force`, and must never replace an input
of the command, not even with `--force`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from spatialdp.cli.options.values import Decorator, bundled

__all__ = ["Target", "check_output", "folder_options", "output_options", "quiet_option"]


@dataclass(frozen=True)
class Target:
    """The files that a command writes, checked; no files stand for standard output."""

    files: tuple[Path, ...]
    force: bool

    @property
    def path(self) -> Path | None:
        """The file to write, or None for standard output."""
        return self.files[0] if self.files else None

    @property
    def file(self) -> Path:
        """The file to write, for commands that never write to standard output."""
        return self.files[0]

    def spare(self, *inputs: Path | None) -> None:
        """Refuse to replace an input of the command, even with --force; options may name further inputs."""
        from spatialdp.cli.parameters import INPUTS
        from spatialdp.outputs.files.statement import statement_beside

        context = click.get_current_context(silent=True)
        named = [] if context is None else context.meta.get(INPUTS, [])
        for path in self.files:
            for source in (*inputs, *named):
                if source is not None and any(_same(source, output) for output in (path, statement_beside(path))):
                    raise click.UsageError(f"output {path} would replace the input {source}; choose another name.")


def output_options(
    suffixes: Sequence[str], what: str, *, stdout: bool = False, several: bool = False, optional: bool = False
) -> Decorator:
    """Return the options `-o FILE`, for files with one of these suffixes, and `--force`.

    With `stdout`, the default is standard output, which is also `-o -`. With `several`, `-o` may be repeated. With
    `optional`, the command may write nothing.
    """

    def check(output: tuple[str, ...] | str | None, force: bool) -> Target:
        if (stdout and output in (None, "-")) or (optional and output is None):
            return Target((), force)
        names = output if isinstance(output, tuple) else (output or "",)
        target = Target(tuple(check_output(Path(name), suffixes, force=force) for name in names), force)
        if len({path.resolve() for path in target.files}) < len(target.files):
            raise click.UsageError(f"an output was given twice: {', '.join(names)}; give each file once.")
        return target

    default = " The default, or `-`, is standard output." if stdout else " May be repeated." if several else ""
    return bundled(
        "target",
        check,
        click.option(
            "-o",
            "--output",
            required=not stdout and not optional,
            multiple=several,
            metavar="FILE",
            help=f"{what}: {', '.join(suffixes)}.{default}",
        ),
        click.option("--force", is_flag=True, help="Replace the output if it exists."),
    )


def check_output(path: Path, suffixes: Sequence[str], *, force: bool) -> Path:
    """Check that a file can be written and has one of these suffixes; without `force`, it must not exist."""
    import os

    if path.suffix.lower() not in suffixes:
        raise click.UsageError(f"output {str(path)!r} was given; its name must end in one of {', '.join(suffixes)}.")
    if path.is_dir():
        raise click.UsageError(f"output {path} is a folder; give the name of a file.")
    if os.path.lexists(path) and not force:  # true for a link to a missing file, too
        raise click.UsageError(f"output {path} exists; choose another name, or replace the file with --force.")
    if not path.parent.is_dir():
        raise click.UsageError(f"there is no folder {path.parent} for the output; make the folder first.")
    if not os.access(path.parent, os.W_OK):
        raise click.UsageError(f"the folder {path.parent} cannot be written to; choose another folder for the output.")
    return path


def folder_options(*names: str) -> Decorator:
    """Return the options `-o FOLDER`, for files with these names, and `--force`, without which none is replaced."""

    def check(output: Path, force: bool) -> Path:
        for name in names:
            if (output / name).exists() and not force:
                raise click.UsageError(
                    f"output {output / name} exists; choose another folder, or replace the file with --force."
                )
        return output

    return bundled(
        "folder",
        check,
        click.option(
            "-o",
            "--output",
            type=click.Path(file_okay=False, path_type=Path),
            default=Path("out"),
            show_default=True,
            help=f"Folder for {', '.join(names)}; made if it does not exist.",
        ),
        click.option("--force", is_flag=True, help="Replace these files if they exist."),
    )


def _same(one: Path, other: Path) -> bool:
    """Whether two names belong to one existing file."""
    return one.exists() and other.exists() and one.samefile(other)


quiet_option = click.option("--quiet", "-q", is_flag=True, help="Write nothing but errors to standard error.")
