"""How does a release get into a file? The suffix of the file name decides the format.

`check_target` refuses a bad name before any budget is spent; `contents` makes the bytes; `save` writes them with
`_support.atomic`, so that a file is there completely or not at all, and `write_release` tells the account that paid for
the release which files these are.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from spatialdp._support.atomic import check_place, write_all
from spatialdp._support.terminal import printable
from spatialdp.errors import LedgerError, ParameterError
from spatialdp.outputs.files.formats import FORMATS, WITH_AXES
from spatialdp.outputs.files.geoparquet import geoparquet_bytes
from spatialdp.outputs.files.statement import (
    statement,
    statement_beside,
    statement_members,
    statement_with_digest,
)
from spatialdp.release import Release
from spatialdp.wording import either

if TYPE_CHECKING:
    from spatialdp.flows.release import FlowRelease
    from spatialdp.table_release import TableRelease

__all__ = ["RowFile", "check_target", "contents", "save", "write_release"]


def save(
    release: Release,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    shape: tuple[int, int] | None = None,
) -> None:
    """Write a release in the format that the file name ends in, completely or not at all; see `Release.save`."""
    target = check_target(path, overwrite=overwrite)
    write_release(release, contents(release, target, shape=shape), overwrite=overwrite)


def write_release(release: Release, files: Mapping[Path, bytes], *, overwrite: bool) -> None:
    """Write the files of a release, completely or not at all, and tell their digests to the account that paid for it.

    Raises
    ------
    LedgerError
        If the ledger cannot note the digests; the files are written then, and the release is paid for.
    """
    write_all(files, overwrite=overwrite)
    receipt = release.privacy.ledger
    if release.account is None or receipt is None:
        return
    try:
        release.account.released(receipt, _digests(files))
    except LedgerError as error:
        names = " and ".join(map(str, files))
        raise LedgerError(
            f"{names} is written, and was paid for, but the ledger has not noted its digest: {error}"
        ) from error


def _digests(files: Mapping[Path, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each file by its name, as an entry of a ledger can hold it; equal names get a number."""
    digests: dict[str, str] = {}
    for path, content in files.items():
        name = printable(path.name).strip()[:190].strip() or "file"
        equal = sum(known == name or known.startswith(f"{name} (") for known in digests)
        digests[f"{name} ({equal + 1})" if equal else name] = hashlib.sha256(content).hexdigest()
    return digests


def contents(release: Release, target: Path, *, shape: tuple[int, int] | None = None) -> dict[Path, bytes]:
    """Return the files to write for a release: the file itself and, for CSV, the privacy statement beside it."""
    from spatialdp.outputs.files import exports

    kind = FORMATS[target.suffix.lower()]
    rows = _row_file(release)
    if rows is not None:
        return _complete_or_rows(release, target, rows, shape)
    if shape is not None and kind != "GeoTIFF":
        raise ParameterError(
            f"{either('shape', '--pixels')} was given, but {target.name} is {kind}, which keeps the cells as they are; "
            "leave it out, or save as .tif."
        )
    if kind == "CSV":
        table = exports.table(release)
        members = json.loads(statement(release)) | {"columns": json.loads(exports.description(release))}
        return {statement_beside(target): statement_with_digest(table, members), target: table}
    makers: dict[str, Callable[[], bytes]] = {
        "GeoParquet": lambda: geoparquet_bytes(release),
        "GeoPackage": lambda: exports.geopackage(release),
        "GeoTIFF": lambda: exports.geotiff(release, shape),
        "GeoJSON": lambda: exports.geojson(release),
    }
    return {target: makers[kind]()}


@dataclass(frozen=True)
class RowFile:
    """What a file of rows holds of a release that is no map.

    Attributes
    ----------
    no_map : str
        Why a format of maps is refused, and what to do.
    content : callable
        Makes the file, as comma-separated values.
    in_words : str
        The promise in words, for the statement beside the file.
    """

    no_map: str
    content: Callable[[], bytes]
    in_words: str


def _row_file(release: Release) -> RowFile | None:
    """Return the file of rows of a release that is no map; None for maps."""
    if release.estimate.kind in WITH_AXES:
        from spatialdp.outputs.files.tables.save import row_file

        return row_file(cast("TableRelease", release))
    if release.estimate.kind == "flows":
        from spatialdp.outputs.files.flows.save import pair_file

        return pair_file(cast("FlowRelease", release))
    return None


def _complete_or_rows(
    release: Release, target: Path, rows: RowFile, shape: tuple[int, int] | None
) -> dict[Path, bytes]:
    """Return the files to write for a release that is no map: complete, or its rows with the statement beside them."""
    kind = FORMATS[target.suffix.lower()]
    if kind not in ("GeoParquet", "CSV") or shape is not None:
        raise ParameterError(
            f"{target.name} is {kind}, which holds {rows.no_map}{either(', and leave shape out', '')}."
        )
    if kind == "GeoParquet":
        return {target: geoparquet_bytes(release)}
    table = rows.content()
    members = {**statement_members(release.privacy), "in_words": rows.in_words}
    return {statement_beside(target): statement_with_digest(table, members), target: table}


def check_target(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Refuse names that `save` would refuse, before anything is spent.

    Raises
    ------
    ParameterError
        If the name does not end in one of `FORMATS`.
    OSError
        If the file exists, is a folder, or cannot be made there.

    Examples
    --------
    >>> check_target("map.gpkg", overwrite=True).name
    'map.gpkg'
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        known = ", ".join(f"{suffix} ({kind})" for suffix, kind in FORMATS.items())
        raise ParameterError(f"{target.name} does not end in a known format; the name must end in one of {known}.")
    files = [target, statement_beside(target)] if FORMATS[target.suffix.lower()] == "CSV" else [target]
    for file in files:
        check_place(file, overwrite=overwrite)
    return target
