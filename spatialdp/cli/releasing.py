"""What do the commands that make releases do alike? Which noise they take, when an account is asked, what they report.

Everything public is decided before `make_release`. It asks the account before records are read, and writes files before
it says what was published. Lines on standard error name steps and public facts; no line may depend on the number of
records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.groups import FAILED, failure
from spatialdp.cli.options.account import ledger_line
from spatialdp.cli.options.values import bundled
from spatialdp.outputs.files.formats import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

    from spatialdp.cli.options.account import Payer
    from spatialdp.cli.options.output import Target
    from spatialdp.mechanisms import Mechanism
    from spatialdp.mechanisms.prepared import PreparedRelease
    from spatialdp.privacy.noise.source import Noise
    from spatialdp.release import Release

__all__ = ["NoiseChoice", "Steps", "make_release", "noise_options", "write_files"]


@dataclass(frozen=True)
class NoiseChoice:
    """The noise of a release: the system's own, or that of a seed, which is not private."""

    seed: int | None
    not_private: bool

    def check(self, mechanism: Mechanism, *, paid: bool) -> None:
        """Refuse a release that would not be private, unless --not-private was given and no account pays."""
        if (self.not_private and not paid) or (self.seed is None and mechanism.private):
            return
        seeded = "--seed makes the noise reproducible"
        reason = seeded if self.seed is not None else f"this {mechanism.name} uses true medians"
        way_out = "leave --ledger out" if paid else "add --not-private"
        raise click.UsageError(
            f"{reason}, so the release would not be private{', and no account pays for it' * paid}. Leave that option "
            f"out, or {way_out}."
        )

    def source(self) -> Noise:
        """Return the source of the noise."""
        from spatialdp.privacy.noise.source import SeededNoise, SystemNoise

        return SystemNoise() if self.seed is None else SeededNoise(self.seed)


noise_options = bundled(
    "noise",
    NoiseChoice,
    click.option(
        "--seed", type=click.IntRange(0), help="Seed for reproducible noise, for experiments; needs --not-private."
    ),
    click.option(
        "--not-private", is_flag=True, help="Allow a release that is not private; the release is marked as not private."
    ),
)


@dataclass(frozen=True)
class Steps:
    """The steps of a release that differ between kinds of records, and their names.

    Attributes
    ----------
    reading, counting : str
        Names of the first two steps.
    read : callable
        Opens the records.
    write : callable
        Writes the release to files, all of them or none.
    summary : callable
        What anyone who reads the release can see, so that a mistake shows; one text for each line.
    """

    reading: str
    counting: str
    read: Callable[[], Any]
    write: Callable[[Any], None]
    summary: Callable[[Any], Sequence[str]]


def make_release(
    prepared: PreparedRelease, steps: Steps, payer: Payer, noise: NoiseChoice, target: Target, *, quiet: bool
) -> None:
    """Ask the account, read, count, add noise and write, and report each step unless `quiet`."""
    from spatialdp.errors import LedgerError

    def report(step: str) -> None:
        if not quiet:
            click.echo(step, err=True)

    account = payer.find()
    if account is not None:
        prepared.check(account)
    report(f"1/3 {steps.reading}")
    records = steps.read()
    report(f"2/3 {steps.counting}")
    release = prepared.release(records, noise=noise.source(), account=account)
    report(f"3/3 writing {', '.join(str(path) for path in target.files)}")
    try:
        steps.write(release)
    except LedgerError as error:  # the files are there, so this is no mistake of the input
        raise failure(str(error), FAILED) from None
    for line in steps.summary(release):
        report(line)
    report(ledger_line(account))
    report(f"{release.privacy}")


def write_files(release: Release, target: Target, *, pixels: tuple[int, int] | None = None) -> None:
    """Write a release in all formats that were asked for, completely or not at all."""
    from spatialdp.outputs.files.save import contents, write_release

    files: dict[Path, bytes] = {}
    for path in target.files:
        files |= contents(release, path, shape=pixels if FORMATS[path.suffix.lower()] == "GeoTIFF" else None)
    write_release(release, files, overwrite=target.force)
