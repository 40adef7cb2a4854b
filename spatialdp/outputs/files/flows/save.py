"""What is in a file of flows? One row for each pair of places: its ends, the estimated flow, and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spatialdp.outputs.files.exports import comma_separated
from spatialdp.outputs.files.flows.rows import pair_rows
from spatialdp.outputs.files.save import RowFile

if TYPE_CHECKING:
    from spatialdp.flows.release import FlowRelease

__all__ = ["pair_file"]


def pair_file(release: FlowRelease) -> RowFile:
    """Return the file of pairs, and why flows go into no format of maps."""
    return RowFile(
        "a map of places, but flows are between places; save them as .parquet (complete, with lines) or .csv (pairs)",
        lambda: comma_separated(dict(pair_rows(release.estimate).items())),
        release.privacy.in_words(),
    )
