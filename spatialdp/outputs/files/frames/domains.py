"""How is a domain stored in the header of a release file? As plain values, with its region in bytes.

A file comes from anywhere: whatever is read is checked, and a bad value raises ValueError, KeyError or TypeError.
"""

from __future__ import annotations

import base64
from typing import Any

from spatialdp._support.foreign.wkb import is_polygonal
from spatialdp._support.json_values import text
from spatialdp._support.terminal import is_printable
from spatialdp.space.domain import Domain
from spatialdp.space.regions.cells import RegionCells

__all__ = ["checked_crs", "domain_from_json", "domain_to_json"]

_LONGEST_CRS = 20_000  # characters; the longest definitions of EPSG have a third of that


def domain_to_json(domain: Domain) -> dict[str, Any]:
    """Return a domain as values for JSON."""
    frame = {"bounds": list(domain.bounds), "crs": domain.crs, "region": None}
    if domain.region is None:
        return frame
    import shapely

    region = base64.b64encode(shapely.to_wkb(domain.region, byte_order=1)).decode()
    return {**frame, "region": region, "region_cells": str(domain.region_cells)}


def domain_from_json(data: dict[str, Any]) -> Domain:
    """Rebuild the domain that `domain_to_json` wrote."""
    crs, region = checked_crs(data["crs"]), data["region"]
    if region is not None:
        import shapely

        wkb = base64.b64decode(region, validate=True)
        if not is_polygonal(wkb):
            raise ValueError("the region is not a polygon")
        try:
            region = shapely.from_wkb(wkb)
        except shapely.errors.ShapelyError:
            raise ValueError("the region is not a geometry") from None
    # Files without a rule are from before there was a choice: their cells belong by their centres.
    rule = RegionCells.TOUCHING if region is None else data.get("region_cells", RegionCells.CENTRES)
    return Domain.published(data["bounds"], crs, region, rule)


def checked_crs(value: Any) -> str | None:
    """Return the definition of a CRS; it must be a text that people can read."""
    if value is None:
        return None
    crs = text(value)
    if len(crs) > _LONGEST_CRS or not is_printable(" ".join(crs.split())):  # WKT may have several lines
        raise ValueError("the CRS is not a text for people")
    return crs
