"""How does an interrupted evaluation go on? `TrialCache` keeps the results of trials in a file.

Each trial adds one line of JSON when it ends. The first line names the records, queries and settings that the trials
belong to, by a digest with a salt of the file's own, so that two files do not show whether they are about the same
records; a file with another digest is refused. Numbers are written so that they are read back exactly. The file holds
errors, which are computed from the records: it is as private as they are, and nobody but its owner may read it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from spatialdp._support.atomic import PRIVATE_MODE
from spatialdp.errors import FileFormatError
from spatialdp.privacy.noise.source import SystemNoise

__all__ = ["TrialCache", "TrialResults"]

FORMAT = "spatialdp-trials"
_SALT_BYTES = 16

# Each result is the number of the workload (-1 for the whole map), the metric and its value.
TrialResults = list[tuple[int, str, float]]


class TrialCache:
    """A file with the results of trials: those of earlier evaluations are read, and new ones are added.

    Parameters
    ----------
    path : path
        The file is made if it does not exist.
    context : str
        Digest of everything that the trials have in common; the file holds it salted.
    note : str
        Written into the file, for people who open it.

    Raises
    ------
    FileFormatError
        If the file is not a cache of trials, is damaged, or belongs to another evaluation.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "trials.jsonl"
    >>> with TrialCache(path, "abc", "private") as cache:
    ...     cache.add("first", [(0, "rmse", 1.5)])
    >>> TrialCache(path, "abc", "private").done
    {'first': [(0, 'rmse', 1.5)]}
    """

    def __init__(self, path: str | PathLike[str], context: str, note: str) -> None:
        self._path = Path(path)
        self._context, self._note = context, note
        self._file: IO[bytes] | None = None
        self.done: dict[str, TrialResults] = {}
        self._length = 0
        if self._path.exists():
            self._read()
        elif not self._path.parent.is_dir():
            raise FileNotFoundError(
                f"the folder {self._path.parent} of the cache file does not exist; make the folder first."
            )

    def __enter__(self) -> Self:
        self._file = open(self._path, "ab", opener=lambda name, flags: os.open(name, flags, PRIVATE_MODE))
        self._lock(self._file)
        self._read()  # again: another evaluation may have added trials since
        _make_private(self._file)
        self._file.truncate(self._length)  # removes a last line that an interruption cut short
        if not self._length:
            self._write(self._header(SystemNoise().random_bytes(_SALT_BYTES).hex()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def _header(self, salt: str) -> dict[str, str]:
        """Return the first line of the file, with the context salted; the salt comes before it."""
        digest = hashlib.sha256(f"{salt} {self._context}".encode()).hexdigest()
        return {"format": FORMAT, "note": self._note, "salt": salt, "context": digest}

    def _lock(self, file: IO[bytes]) -> None:
        """Allow one evaluation at a time, if the system has file locks; a lock ends with its process."""
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise FileFormatError(
                f"{self._path} is in use by another evaluation; wait until that one ends, or give another cache file."
            ) from None

    def add(self, key: str, measured: TrialResults) -> None:
        """Add the results of a trial; they are in the file at once, so that a later interruption does not lose them."""
        self.done[key] = measured
        self._write({"trial": key, "measured": measured})

    def _write(self, line: Mapping[str, object]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(line, allow_nan=False).encode() + b"\n")
        self._file.flush()

    def _read(self) -> None:
        content = self._path.read_bytes()
        self._length = content.rfind(b"\n") + 1
        lines = content[: self._length].splitlines()
        if not lines and content:
            self._refuse_foreign(content)
            return
        if not lines:
            return
        header = self._parsed(lines[0])
        if header.get("format") != FORMAT:
            raise self._foreign("is not a cache of trials")
        if header != self._header(str(header.get("salt"))):
            raise self._foreign("belongs to other records, queries or settings, or to another version of spatialdp")
        for line in lines[1:]:
            self._add_stored(self._parsed(line))

    def _refuse_foreign(self, content: bytes) -> None:
        """Refuse a file of one unfinished line, unless the line is the beginning of a header of this cache."""
        start = json.dumps(self._header(""), allow_nan=False).split('"context"')[0].encode()[:-3]  # without `", `
        salt = content[len(start) :].split(b'"')[0].decode(errors="replace")
        if not json.dumps(self._header(salt), allow_nan=False).encode().startswith(content):
            raise self._foreign("is not a cache of trials")

    def _add_stored(self, line: dict[str, Any]) -> None:
        try:
            measured = [(int(i), str(metric), float(value)) for i, metric, value in line["measured"]]
            self.done[str(line["trial"])] = measured
        except (KeyError, TypeError, ValueError):
            raise self._foreign("is damaged") from None

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            parsed = json.loads(line)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise self._foreign("is damaged, or is not a cache of trials")
        return parsed

    def _foreign(self, problem: str) -> FileFormatError:
        return FileFormatError(f"{self._path} {problem}; give another cache file, or remove this one.")


def _make_private(file: IO[bytes]) -> None:
    """Keep all but its owner from reading a file that was there already; a new one has this mode from the start."""
    if hasattr(os, "fchmod"):  # which Windows does not have
        os.fchmod(file.fileno(), PRIVATE_MODE)
