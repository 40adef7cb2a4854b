"""How are zones read from a file? Whatever its format, as a frame with codes as text and, if it has any, geometries.

The file is public, so errors may quote it. Text in CSV stays text: a code such as ``06`` or ``NA`` is not a number and
not a missing value.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from spatialdp.space.public_files import read_frame, read_table_as_text

__all__ = ["read_zone_frame"]


def read_zone_frame(path: str | os.PathLike[str], layer: str | None = None) -> Any:
    r"""Read the zones in a file as a GeoDataFrame, or as a DataFrame if they have no geometries.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "zones.csv"
    >>> _ = path.write_text("country\nNA\n")
    >>> read_zone_frame(path).country.tolist()
    ['NA']
    """
    place = Path(path)
    if place.suffix.lower() in (".csv", ".tsv"):
        return read_table_as_text(place)
    return read_frame(place, layer)
