"""The same points as files in every format that is read."""

from __future__ import annotations

from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from pyproj import CRS, Transformer

import spatialdp as sdp

COLUMNS = {"x": "lon", "y": "lat"}

# File, and whether its coordinates are read from columns.
FILES = {
    "plain.parquet": True,
    "geo.parquet": False,
    "geo.geoparquet": True,
    "native.parquet": False,
    "table.csv": True,
    "layer.gpkg": False,
    "columns.gpkg": True,
    "layer.geojson": False,
    "layer.shp": False,
    "layer.fgb": False,
}


def write(path: Path, x: np.ndarray, y: np.ndarray, crs: str | None = "EPSG:4326") -> Path:
    """Points as a file of the format that its name tells."""
    plain = pd.DataFrame({"name": [f"n{i % 3}" for i in range(len(x))], "lon": x, "lat": y})
    if path.name.startswith("plain"):
        pq.write_table(pa.Table.from_pandas(plain), path)
        return path
    if path.suffix == ".csv":
        plain.to_csv(path, index=False)
        return path
    frame = geopandas.GeoDataFrame(plain, geometry=shapely.points(x, y), crs=crs)
    if path.suffix in (".parquet", ".geoparquet"):
        frame.to_parquet(path, geometry_encoding="geoarrow" if path.name.startswith("native") else "WKB")
    elif path.suffix == ".geojson":
        frame.to_file(path, COORDINATE_PRECISION=17)
    else:
        frame.to_file(path)
    return path


def place_in(crs: str | None) -> tuple[shapely.Point, sdp.Domain]:
    """A point that lies in the area of use of a CRS, and a domain around it."""
    system = None if crs is None else CRS.from_user_input(crs)
    if system is None or system.is_geographic:
        return shapely.Point(0.5, 0.5), sdp.Domain((0, 0, 1, 1), crs=crs)
    area = system.area_of_use
    middle = (7, 45) if area is None else ((area.west + area.east) / 2, (area.south + area.north) / 2)
    x, y = Transformer.from_crs("EPSG:4326", system, always_xy=True).transform(*middle)
    return shapely.Point(x, y), sdp.Domain((x - 5000, y - 5000, x + 5000, y + 5000), crs=crs)


def columns_of(name: str) -> dict[str, str]:
    """The options of `read_points` for one of `FILES`."""
    return COLUMNS if FILES[name] else {}
