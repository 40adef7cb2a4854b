"""The data sets that come with the project: real and public, but treated as if they were sensitive.

Each function reads records or a public region; `DATASETS` lists the records with a public domain for each. Sources and
licences are in ``datasets/README.md``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spatialdp.records.points import Points
from spatialdp.space.domain import Domain

if TYPE_CHECKING:
    import geopandas
    import shapely

__all__ = [
    "DATASETS",
    "Dataset",
    "auckland_intersections",
    "chattanooga_intersections",
    "contiguous_us",
    "hamilton_county",
    "liege_intersections",
    "new_zealand",
    "salt_lake_city_intersections",
    "us_counties",
    "us_highway_junctions",
]


def us_highway_junctions() -> Points:
    """Junctions of major highways in North America: nodes where three or more road segments meet.

    About 80,000 points in longitude and latitude (EPSG:4326), rounded to 0.001 degree.
    © OpenStreetMap contributors, Open Database License 1.0; taken from the package scgraph-data.

    Examples
    --------
    >>> us_highway_junctions()
    Points(<private>, crs='EPSG:4326')
    """
    return _points("highways_north_america.parquet", least_degree=3)


def chattanooga_intersections() -> Points:
    """Road intersections of Chattanooga, Tennessee: some 6,000 points (EPSG:4326), for small examples.

    CC0 1.0; taken from the package geochatt.

    Examples
    --------
    >>> chattanooga_intersections()
    Points(<private>, crs='EPSG:4326')
    """
    return _points("roads_chattanooga.parquet")


def salt_lake_city_intersections() -> Points:
    """Street intersections of Salt Lake City: some 8,000 points (EPSG:4326), a city on a grid.

    © OpenStreetMap contributors, Open Database License 1.0; taken from the package neatnet.

    Examples
    --------
    >>> salt_lake_city_intersections()
    Points(<private>, crs='EPSG:4326')
    """
    return _points("roads_osm_slc.parquet", least_degree=3)


def auckland_intersections() -> Points:
    """Street intersections of Auckland: some 7,000 points (EPSG:4326), coast and harbours.

    © OpenStreetMap contributors, Open Database License 1.0; taken from the package neatnet.

    Examples
    --------
    >>> auckland_intersections()
    Points(<private>, crs='EPSG:4326')
    """
    return _points("roads_osm_auckland.parquet", least_degree=3)


def liege_intersections() -> Points:
    """Street intersections of Liège and its surroundings: some 10,000 points (EPSG:4326), a dense core and villages.

    © OpenStreetMap contributors, Open Database License 1.0; taken from the package neatnet.

    Examples
    --------
    >>> liege_intersections()
    Points(<private>, crs='EPSG:4326')
    """
    return _points("roads_osm_liege.parquet", least_degree=3)


def contiguous_us() -> shapely.MultiPolygon:
    """Public region: the contiguous United States (EPSG:4326).

    US Census 1:10m cartographic boundaries (public domain), from the package us-atlas (ISC).

    Examples
    --------
    >>> contiguous_us().geom_type
    'MultiPolygon'
    """
    return _region("us_contiguous.geojson")


def hamilton_county() -> shapely.Polygon:
    """Public region: Hamilton County, Tennessee, around Chattanooga (EPSG:4326).

    US Census 1:10m cartographic boundaries (public domain), from the package us-atlas (ISC).

    Examples
    --------
    >>> hamilton_county().is_valid
    True
    """
    return _region("hamilton_county_tn_chattanooga.geojson")


def new_zealand() -> shapely.MultiPolygon:
    """Public region: New Zealand (EPSG:4326), a long coast with many islands.

    Natural Earth 1:10m (public domain), simplified by 0.002 degrees, from the package world-atlas (ISC).

    Examples
    --------
    >>> new_zealand().geom_type
    'MultiPolygon'
    """
    return _region("new_zealand.geojson")


def us_counties() -> geopandas.GeoDataFrame:
    """Public zones: 3,107 counties of the contiguous United States (EPSG:4326), with the codes of their states.

    The columns `state` and `county` are codes: a county's first two digits are its state's. US Census 1:10m
    cartographic boundaries (public domain), from the package us-atlas (ISC). The boundaries are coarse: points near
    coasts and borders may lie outside, and one county, Falls Church in Virginia, has no area and is left out.

    Examples
    --------
    >>> counties = us_counties()
    >>> len(counties), counties["state"].nunique()
    (3107, 49)
    """
    import geopandas

    return geopandas.read_parquet(_folder() / "us_counties.parquet")


@dataclass(frozen=True)
class Dataset:
    """Records that come with the project, and public bounds for them: round numbers, not the records' own extent.

    Attributes
    ----------
    title : str
        Name for people.
    bounds : (xmin, ymin, xmax, ymax)
        Public bounds, in degrees of longitude and latitude.
    points : callable
        Function that reads the records.

    Examples
    --------
    >>> auckland = DATASETS["auckland"]
    >>> auckland.points(), auckland.domain.bounds
    (Points(<private>, crs='EPSG:4326'), (174.5, -37.1, 175.0, -36.6))
    """

    title: str
    bounds: tuple[float, float, float, float]
    points: Callable[[], Points]

    @property
    def domain(self) -> Domain:
        """The domain of the public bounds (EPSG:4326)."""
        return Domain(self.bounds, crs="EPSG:4326")


DATASETS = {
    "highways-us": Dataset("US highway junctions", (-125, 24, -66, 50), us_highway_junctions),
    "chattanooga": Dataset("Chattanooga intersections", (-85.5, 34.9, -85.0, 35.3), chattanooga_intersections),
    "salt-lake-city": Dataset(
        "Salt Lake City intersections", (-112.1, 40.5, -111.7, 40.9), salt_lake_city_intersections
    ),
    "auckland": Dataset("Auckland intersections", (174.5, -37.1, 175.0, -36.6), auckland_intersections),
    "liege": Dataset("Liège intersections", (5.0, 50.4, 6.0, 51.0), liege_intersections),
}


def _folder() -> Path:
    """Return the folder of the data files: inside an installed package, beside the package in a checkout."""
    package = Path(__file__).parent
    inside = package / "_datasets"
    return inside if inside.is_dir() else package.parent / "datasets"


def _points(name: str, least_degree: int = 0) -> Points:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(_folder() / name)
    if least_degree:
        table = table.filter(pc.field("degree") >= least_degree)
    return Points(table["lon"].to_numpy(), table["lat"].to_numpy(), crs="EPSG:4326")


def _region(name: str) -> shapely.Polygon | shapely.MultiPolygon:
    import shapely

    (feature,) = json.loads((_folder() / "boundaries" / name).read_text())["features"]
    return shapely.from_geojson(json.dumps(feature["geometry"]))
