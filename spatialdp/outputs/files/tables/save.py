"""How does a released table get into a file? Complete as Parquet, or its rows as CSV; the suffix decides."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatialdp.errors import ParameterError
from spatialdp.outputs.files.exports import comma_separated
from spatialdp.outputs.files.formats import FORMATS
from spatialdp.outputs.files.geoparquet import geoparquet_bytes
from spatialdp.outputs.files.save import check_target, write_release
from spatialdp.outputs.files.statement import statement_beside, statement_members, statement_with_digest
from spatialdp.wording import either

if TYPE_CHECKING:
    from spatialdp.table_release import TableRelease

__all__ = ["csv_bytes", "save_table", "table_contents"]


def save_table(release: TableRelease, path: str | os.PathLike[str], *, overwrite: bool, shape: Any) -> None:
    """Write a table in the format that the file name ends in, completely or not at all; see `TableRelease.save`."""
    target = check_target(path, overwrite=overwrite)
    write_release(release, table_contents(release, target, shape=shape), overwrite=overwrite)


def table_contents(release: TableRelease, target: Path, *, shape: Any = None) -> dict[Path, bytes]:
    """Return the files to write for a table: the file itself and, for CSV, the privacy statement beside it."""
    kind = FORMATS[target.suffix.lower()]
    if kind not in ("GeoParquet", "CSV") or shape is not None:
        raise ParameterError(
            f"{target.name} is {kind}, which holds one map, but a table has a map for every time and category; save it "
            f"as .parquet (complete) or .csv (rows){either(', and leave shape out', '')}."
        )
    if kind == "GeoParquet":
        return {target: geoparquet_bytes(release)}
    table = csv_bytes(release)
    members = {**statement_members(release.privacy), "in_words": release.in_words()}
    statement = statement_with_digest(table, json.loads(json.dumps(members)))
    return {statement_beside(target): statement, target: table}


def csv_bytes(release: TableRelease) -> bytes:
    """Return comma-separated values: one row for each cell, with its place, time, category, estimate and interval."""
    return comma_separated(dict(release.to_frame().items()))
