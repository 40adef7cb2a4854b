"""How do released flows get into a file? Complete, with lines, as GeoParquet, or as pairs in CSV."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatialdp.errors import ParameterError
from spatialdp.outputs.files.exports import comma_separated
from spatialdp.outputs.files.flows.rows import pair_rows
from spatialdp.outputs.files.formats import FORMATS
from spatialdp.outputs.files.geoparquet import geoparquet_bytes
from spatialdp.outputs.files.save import check_target, write_release
from spatialdp.outputs.files.statement import statement_beside, statement_members, statement_with_digest
from spatialdp.wording import either

if TYPE_CHECKING:
    from spatialdp.flows.release import FlowRelease

__all__ = ["flow_contents", "save_flows"]


def save_flows(release: FlowRelease, path: str | os.PathLike[str], *, overwrite: bool, shape: Any) -> None:
    """Write flows in the format that the file name ends in, completely or not at all; see `FlowRelease.save`."""
    target = check_target(path, overwrite=overwrite)
    write_release(release, flow_contents(release, target, shape=shape), overwrite=overwrite)


def flow_contents(release: FlowRelease, target: Path, *, shape: Any = None) -> dict[Path, bytes]:
    """Return the files to write for flows: the file itself and, for CSV, the privacy statement beside it."""
    kind = FORMATS[target.suffix.lower()]
    if kind not in ("GeoParquet", "CSV") or shape is not None:
        raise ParameterError(
            f"{target.name} is {kind}, which holds a map of places, but flows are between places; save them as "
            f".parquet (complete, with lines) or .csv (pairs){either(', and leave shape out', '')}."
        )
    if kind == "GeoParquet":
        return {target: geoparquet_bytes(release)}
    table = comma_separated(dict(pair_rows(release.estimate).items()))
    members = {**statement_members(release.privacy), "in_words": release.privacy.in_words()}
    return {statement_beside(target): statement_with_digest(table, members), target: table}
