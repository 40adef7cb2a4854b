"""The same records with persons as files of every format, without a reader of the package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

import spatialdp as sdp
from spatialdp.records.persons.identifiers import texts_of

COLUMNS = {"x": "lon", "y": "lat"}

# File, and whether its coordinates are read from columns.
PERSON_FILES = {
    "plain.parquet": True,
    "geo.parquet": False,
    "table.csv": True,
    "table.csv.gz": True,
    "table.tsv": True,
    "layer.gpkg": False,
    "columns.gpkg": True,
    "layer.geojson": False,
    "layer.shp": False,
    "columns.shp": True,
    "layer.fgb": False,
    "unsorted.fgb": False,
}


def write_persons(path: Path, x: Sequence[float], y: Sequence[float], persons: Sequence[Any]) -> Path:
    """Write records and their persons, as pandas stores these, in the format that the name of the file tells."""
    plain = pd.DataFrame({"lon": x, "lat": y, "who": pd.Series(list(persons))})
    if path.name.startswith("plain"):
        pq.write_table(pa.Table.from_pandas(plain), path)
        return path
    if path.name.startswith("table"):
        plain.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
        return path
    frame = geopandas.GeoDataFrame(plain, geometry=shapely.points(x, y), crs="EPSG:4326")
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".geojson":
        frame.to_file(path, COORDINATE_PRECISION=17)
    elif path.name.startswith("unsorted"):
        frame.to_file(path, SPATIAL_INDEX="NO")
    else:
        frame.to_file(path)
    return path


def person_options(name: str) -> dict[str, str]:
    """The options of `read_points` for one of `PERSON_FILES`."""
    return {"person": "who", **(COLUMNS if PERSON_FILES[name] else {})}


def persons_in(source: Any, **options: Any) -> list[str | None]:
    """The persons of the records of a source, in their order; None for a record without one.

    Of streams, frames and tables, only records that are points within 90 degrees are kept.
    """
    domain = sdp.Domain((-90, -90, 90, 90), crs="EPSG:4326")
    points = sdp.read_points(source, domain, **{"person": "who", **options})
    parts = [persons for persons, _ in points._person_cells(domain.grid((1, 1)))]
    return [person for part in parts for person in texts_of(part).to_pylist()]
