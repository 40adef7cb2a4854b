"""A small frame of zones that cities cut, for tests."""

from __future__ import annotations

from functools import lru_cache

import geopandas
import shapely

from spatialdp.space.zones.frame import Zones


@lru_cache(maxsize=2)
def zones_with_cities(*, geometry: bool = True) -> Zones:
    """Two counties of two tracts each, and two cities: X takes a tract and half of another, Y half of the last one."""
    tracts = {"county": ["A", "A", "B", "B"], "tract": ["A1", "A2", "B1", "B2"]}
    if not geometry:
        import pandas as pd

        return Zones(pd.DataFrame(tracts | {"city": ["X", None, "X", "Y"]}), ["county", "tract"], also="city")
    boxes = [shapely.box(x, 0, x + 1, 1) for x in range(4)]
    cities = geopandas.GeoDataFrame(
        {"city": ["X", "Y"]}, geometry=[shapely.box(0.5, 0, 2, 1), shapely.box(3, 0.5, 4, 1)], crs="EPSG:4326"
    )
    return Zones(geopandas.GeoDataFrame(tracts, geometry=boxes, crs="EPSG:4326"), ["county", "tract"], also=cities)
