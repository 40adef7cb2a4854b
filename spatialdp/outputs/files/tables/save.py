"""What is in a table's file of rows? One row for each cell: its place, time, category, estimate and interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spatialdp.outputs.files.exports import comma_separated
from spatialdp.outputs.files.save import RowFile

if TYPE_CHECKING:
    from spatialdp.table_release import TableRelease

__all__ = ["row_file"]


def row_file(release: TableRelease) -> RowFile:
    """Return the file of a table's rows, and why a table goes into no format of maps."""
    return RowFile(
        "one map, but a table has a map for every time and category; save it as .parquet (complete) or .csv (rows)",
        lambda: comma_separated(dict(release.to_frame().items())),
        release.in_words(),
    )
