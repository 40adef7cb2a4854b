"""What is a certificate about? One release: its statement, its numbers and their place, its files, and its account."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spatialdp.errors import ParameterError
from spatialdp.outputs.certificate.account import AccountState
from spatialdp.outputs.certificate.numbers import numbers_of
from spatialdp.outputs.files.geoparquet import statement_of
from spatialdp.privacy.statement import Privacy
from spatialdp.space.domain import Domain
from spatialdp.wording import parameter

__all__ = ["Subject", "digests"]


@dataclass(frozen=True, eq=False)
class Subject:
    """A release, and what is known around it.

    Attributes
    ----------
    privacy : Privacy
    numbers : Estimate or RunningRelease
        The released numbers.
    domain : Domain or None
        None for zones without places.
    files : tuple of (str, str)
        Names and SHA-256 of the release's files.
    account : AccountState or None
        The account that paid, as it is now.
    """

    privacy: Privacy
    numbers: Any
    domain: Domain | None
    files: tuple[tuple[str, str], ...]
    account: AccountState | None

    @classmethod
    def of(cls, release: Any, files: Iterable[str | os.PathLike[str]], account: AccountState | None) -> Subject:
        """Gather what is known of a release."""
        frame = getattr(release, "frame", None)
        domain = release.domain if frame is None else frame.domain
        return cls(release.privacy, numbers_of(release), domain, digests(release.privacy, files), account)


def digests(privacy: Privacy, files: Iterable[str | os.PathLike[str]]) -> tuple[tuple[str, str], ...]:
    """Return names and SHA-256 of files, which must be files of the release that has this privacy statement.

    Raises
    ------
    ParameterError
        If a file has another statement.
    """
    found = []
    for path in map(Path, files):
        if _text(statement_of(path)) != _text(privacy):
            raise ParameterError(
                f"{path} has another privacy statement than this release; give files of this release in "
                f"{parameter('files')}, or make the certificate from that file."
            )
        with path.open("rb") as file:
            found.append((path.name, hashlib.file_digest(file, "sha256").hexdigest()))
    return tuple(found)


def _text(privacy: Privacy) -> str:
    return json.dumps(privacy.to_json(), sort_keys=True)
