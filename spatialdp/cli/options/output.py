"""Where to write: files and folders, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from spatialdp.cli.options.values import Decorator, bundled

__all__ = ["Target", "check_output", "folder_options", "output_options", "quiet_option"]


@dataclass(frozen=True)
class Target:
    """Where to write: files that may be written, or none for standard output."""

    files: tuple[Path, ...]
    force: bool

    @property
    def path(self) -> Path | None:
        """The file, or None for standard output."""
        return self.files[0] if self.files else None

    @property
    def file(self) -> Path:
        """The file of a command that does not write to standard output."""
        return self.files[0]

    def spare(self, *inputs: Path | None) -> None:
        """Refuse to write over what is read: not even --force means that."""
        from spatialdp.outputs.files.statement import statement_beside

        for path in self.files:
            for each in inputs:
                if each is not None and any(_same(each, written) for written in (path, statement_beside(path))):
                    raise click.UsageError(f"output {path} would replace the input {each}; choose another name.")


def output_options(suffixes: Sequence[str], what: str, *, stdout: bool = False, several: bool = False) -> Decorator:
    """`-o FILE` with one of these endings and `--force`; `-o -`, the default, is standard output where allowed."""

    def check(output: tuple[str, ...] | str | None, force: bool) -> Target:
        if stdout and output in (None, "-"):
            return Target((), force)
        names = output if isinstance(output, tuple) else (output or "",)
        target = Target(tuple(check_output(Path(name), suffixes, force=force) for name in names), force)
        if len({path.resolve() for path in target.files}) < len(target.files):
            raise click.UsageError(f"an output was given twice: {', '.join(names)}; name each file once.")
        return target

    default = " Standard output by default, or by `-`." if stdout else " May be repeated." if several else ""
    return bundled(
        "target",
        check,
        click.option(
            "-o",
            "--output",
            required=not stdout,
            multiple=several,
            metavar="FILE",
            help=f"{what}: {', '.join(suffixes)}.{default}",
        ),
        click.option("--force", is_flag=True, help="Replace the file if it exists."),
    )


def check_output(path: Path, suffixes: Sequence[str], *, force: bool) -> Path:
    """Refuse a file that could not be written, or that exists, in the words of the command line."""
    import os

    if path.suffix.lower() not in suffixes:
        raise click.UsageError(f"output {str(path)!r} was given; its name must end in one of {', '.join(suffixes)}.")
    if path.is_dir():
        raise click.UsageError(f"output {path} is a folder; give the name of a file.")
    if os.path.lexists(path) and not force:  # also a link to nowhere
        raise click.UsageError(f"output {path} exists; choose another name, or replace it with --force.")
    if not path.parent.is_dir():
        raise click.UsageError(f"there is no folder {path.parent} for the output; make it first.")
    if not os.access(path.parent, os.W_OK):
        raise click.UsageError(f"the folder {path.parent} can not be written to; choose another for the output.")
    return path


def folder_options(*names: str) -> Decorator:
    """`-o FOLDER` for files of these names, none of which is replaced without `--force`."""

    def check(output: Path, force: bool) -> Path:
        for name in names:
            if (output / name).exists() and not force:
                raise click.UsageError(
                    f"output {output / name} exists; choose another folder, or replace it with --force."
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
    """One file, maybe by two names."""
    return one.exists() and other.exists() and one.samefile(other)


quiet_option = click.option("--quiet", "-q", is_flag=True, help="Only errors on standard error.")
