"""Public files that come with a question: polygons of a region or of areas, and boxes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatialdp.errors import FileFormatError

if TYPE_CHECKING:
    import geopandas
    import numpy as np
    import numpy.typing as npt

__all__ = ["EDGES", "read_boxes", "read_geometries"]

_PARQUET = (".parquet", ".geoparquet", ".pq")
EDGES = ["xmin", "ymin", "xmax", "ymax"]


def read_geometries(path: Path, layer: str | None = None) -> geopandas.GeoDataFrame:
    """The features of a public file in any format that GDAL or GeoParquet knows."""
    import geopandas

    if path.suffix.lower() in _PARQUET:
        return _read(path, geopandas.read_parquet)
    return _read(path, geopandas.read_file, **({} if layer is None else {"layer": layer}))


def read_boxes(path: Path) -> npt.NDArray[np.float64]:
    """Boxes from a CSV or Parquet file with the columns xmin, ymin, xmax and ymax."""
    import numpy as np
    import pandas as pd

    frame = _read(path, pd.read_parquet if path.suffix.lower() in _PARQUET else pd.read_csv)
    missing = [name for name in EDGES if name not in frame.columns]
    if missing:
        raise FileFormatError(
            f"{path.name} has no column {missing[0]!r}; boxes need the columns xmin, ymin, xmax and ymax."
        )
    try:
        return np.asarray(frame[EDGES], dtype=np.float64)
    except (TypeError, ValueError):
        raise FileFormatError(f"the boxes in {path.name} are not all numbers; correct them.") from None


def _read(path: Path, reader: Any, **options: Any) -> Any:
    if path.is_dir():
        raise FileFormatError(f"{path} is a folder; give a single file.")
    try:
        return reader(path, **options)
    except OSError as error:
        raise FileFormatError(
            f"{path} can not be opened ({error.strerror or 'not readable'}); check its name."
        ) from None
    except Exception as error:  # GDAL, Arrow and pandas each have errors of their own
        raise FileFormatError(
            f"{path} can not be read: {error}. Is it complete, and of the format it is named for?"
        ) from None
