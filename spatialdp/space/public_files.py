"""Reading public files: polygons of regions and areas, and boxes of queries.

Errors may quote the content of such a file, because it is public. Files of records must be read with `records.files`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatialdp.errors import FileFormatError

if TYPE_CHECKING:
    import geopandas
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "EDGES",
    "boxes_of",
    "read_boxes",
    "read_categories",
    "read_frame",
    "read_geometries",
    "read_table_as_text",
    "read_totals",
]

_PARQUET = (".parquet", ".geoparquet", ".pq")
EDGES = ["xmin", "ymin", "xmax", "ymax"]


def read_geometries(path: Path, layer: str | None = None) -> geopandas.GeoDataFrame:
    """Read the features of a public file: GeoParquet, or any format that GDAL knows."""
    import geopandas

    options = {} if layer is None else {"layer": layer}
    if path.suffix.lower() in _PARQUET:
        features = _read(path, geopandas.read_parquet)
    else:
        features = _read(path, geopandas.read_file, **options)
    if not isinstance(features, geopandas.GeoDataFrame) or features.active_geometry_name is None:
        raise FileFormatError(f"{path} holds a table without geometries; give a file of polygons.")
    return features


def read_frame(path: Path, layer: str | None = None) -> Any:
    """Read a public file as a table, or as features if it has geometries."""
    import pandas as pd
    import pyarrow.parquet as pq

    if path.suffix.lower() == ".csv":
        return _read(path, pd.read_csv)
    if path.suffix.lower() in _PARQUET and b"geo" not in (_read(path, pq.read_schema).metadata or {}):
        return _read(path, pd.read_parquet)
    return read_geometries(path, layer)


def read_table_as_text(path: Path) -> Any:
    r"""Read a public file of separated values, all of whose values are text; empty cells are missing.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "codes.csv"
    >>> _ = path.write_text("country,region\nNA,01\nDE,\n")
    >>> read_table_as_text(path).to_numpy(dtype=object, na_value=None).tolist()
    [['NA', '01'], ['DE', None]]
    """
    import pandas as pd

    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    return _read(path, pd.read_csv, sep=separator, dtype=str, keep_default_na=False, na_values=[""])


def read_boxes(path: Path) -> npt.NDArray[np.float64]:
    """Read boxes from a CSV or Parquet file with the columns xmin, ymin, xmax and ymax."""
    import pandas as pd

    return boxes_of(_read(path, pd.read_parquet if path.suffix.lower() in _PARQUET else pd.read_csv), path.name)


def read_totals(path: Path) -> dict[str, dict[str, int]]:
    """Read public totals of zones from a CSV file with the columns level, zone and total; codes are text."""
    import pandas as pd

    table = _read(path, pd.read_csv, dtype=str, keep_default_na=False)
    missing = [name for name in ("level", "zone", "total") if name not in table.columns]
    if missing:
        raise FileFormatError(
            f"{path.name} has no column {missing[0]!r}; totals need the columns level, zone and total."
        )
    if not table["total"].str.fullmatch(r"-?\d+").all():
        raise FileFormatError(f"the totals in {path.name} are not all whole numbers; correct the column total.")
    return {
        str(level): dict(zip(rows["zone"], rows["total"].astype(int).tolist(), strict=True))
        for level, rows in table.groupby("level", sort=False)
    }


def read_categories(path: Path) -> tuple[Any, tuple[str, ...] | None]:
    r"""Read a public list of categories, and the names of their levels if the file has them.

    A ``.txt`` file has one category in each line, a ``.json`` file a list, or an object with the members of each group.
    A ``.csv`` file has a row for each category, with its groups before it, and the names of the levels in the header.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "kinds.csv"
    >>> _ = path.write_text("class,kind\ntheft,burglary\ntheft,shoplifting\nassault,\n")
    >>> read_categories(path)
    ({'theft': {'burglary': {}, 'shoplifting': {}}, 'assault': {}}, ('class', 'kind'))
    """
    if path.suffix.lower() == ".csv":
        table = read_table_as_text(path)
        rows = table.to_numpy(dtype=object, na_value=None).tolist()
        return _nested(rows, path), tuple(str(name).strip() for name in table.columns)
    if path.suffix.lower() == ".json":
        return _read(path, lambda file: json.loads(file.read_text(encoding="utf-8"))), None
    lines = _read(path, lambda file: file.read_text(encoding="utf-8-sig").splitlines())
    return [line.strip() for line in lines if line.strip()], None


def _nested(rows: list[list[str | None]], path: Path) -> dict[str, Any]:
    """Return rows of groups and a category as objects within each other."""
    nested: dict[str, Any] = {}
    for row in rows:
        names = [name for name in row if name is not None]
        if row[: len(names)] != names or not names:
            raise FileFormatError(
                f"a row of {path.name} has a category without the groups before it, or is empty; fill all columns from "
                "the left."
            )
        place = nested
        for name in names:
            place = place.setdefault(name.strip(), {})
    return nested


def boxes_of(frame: Any, name: str) -> npt.NDArray[np.float64]:
    """Return the columns xmin, ymin, xmax and ymax of a frame, which is called `name` in errors."""
    import numpy as np

    missing = [edge for edge in EDGES if edge not in frame.columns]
    if missing:
        raise FileFormatError(f"{name} has no column {missing[0]!r}; boxes need the columns xmin, ymin, xmax and ymax.")
    try:
        return np.asarray(frame[EDGES], dtype=np.float64)
    except (TypeError, ValueError):
        raise FileFormatError(
            f"the boxes in {name} are not all numbers; their four columns must be numeric. Correct the file."
        ) from None


def _read(path: Path, reader: Any, **options: Any) -> Any:
    if path.is_dir():
        raise FileFormatError(f"{path} is a folder; give a single file.")
    if not path.exists():
        raise FileFormatError(f"{path} cannot be opened (No such file or directory); check its name.")
    try:
        return reader(path, **options)
    except OSError as error:
        raise FileFormatError(
            f"{path} cannot be opened ({error.strerror or 'not readable'}); check its name."
        ) from None
    except Exception as error:  # GDAL, Arrow and pandas each have errors of their own
        raise FileFormatError(
            f"{path} cannot be read: {error}. Check that the file is complete and has the format that its suffix names."
        ) from None
