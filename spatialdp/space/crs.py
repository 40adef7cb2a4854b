"""Coordinate reference systems (CRS): one canonical name for each, and one rule for which two are the same.

Coordinates are never reprojected here (`reprojection` does it). `require_same` refuses those that are in another CRS
than the domain.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from spatialdp._support.terminal import printable
from spatialdp.errors import CRSMismatchError, DomainError
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    from pyproj import CRS

__all__ = ["canonical", "geographic", "require_same", "same", "to_projjson"]


def canonical(crs: Any) -> str | None:
    """Return a CRS as its short authority name (``"EPSG:4326"``), or as WKT if it has none; None stays None."""
    if crs is None:
        return None
    from pyproj.exceptions import CRSError

    try:
        return str(_parsed(crs).to_string())
    except CRSError:
        raise DomainError(
            f"{parameter('crs')} is {crs!r}, which pyproj does not know; give a name such as 'EPSG:4326' or a WKT "
            "string."
        ) from None


def require_same(name: str, crs: Any, domain_crs: str | None) -> None:
    """Refuse coordinates, called `name` in the error, unless their CRS is the domain's."""
    own_crs = canonical(crs)
    if own_crs == domain_crs:
        return
    theirs, ours = printable(own_crs), printable(domain_crs)
    if domain_crs is None:
        raise CRSMismatchError(
            f"the {name} have CRS {theirs} but the domain has none; "
            "give the domain the CRS its bounds are in"
            f"{either(': Domain(bounds, crs=...)', ', with --crs, when you release')}."
        )
    if own_crs is None:
        in_python = f"state it with set_crs, or pass plain coordinate arrays that are already in {ours}"
        raise CRSMismatchError(
            f"the domain has CRS {ours} but the {name} have none; {either(in_python, 'write it into their file')}."
        )
    if not same(own_crs, domain_crs):
        other_way = either(", or read their file with read_points(..., reproject=True)", ", or add --reproject")
        raise CRSMismatchError(
            f"the domain has CRS {ours} but the {name} have {theirs}; "
            f"reproject {either(f'them with to_crs({ours!r})', f'their file to {ours}')} first"
            f"{other_way if name == 'points' else ''}."
        )


def same(one: Any, other: Any) -> bool:
    """Whether two names mean the same CRS; the order of the axes does not matter."""
    return bool(_parsed(one).equals(_parsed(other), ignore_axis_order=True))


def geographic(crs: str | None) -> bool:
    """Whether coordinates in a CRS are longitude and latitude, in degrees."""
    if crs is None:
        return False
    return bool(_parsed(crs).is_geographic)


def to_projjson(crs: str | None) -> dict[str, Any] | None:
    """Return a CRS as PROJJSON, the form that GeoParquet requires; None stays None."""
    if crs is None:
        return None
    return dict(_parsed(crs).to_json_dict())


def _parsed(crs: Any) -> CRS:
    """Return a CRS given in any form; names and texts are parsed once."""
    from pyproj import CRS

    if isinstance(crs, dict):
        crs = json.dumps(crs)
    return _of_text(crs) if isinstance(crs, str) else CRS.from_user_input(crs)


@lru_cache(maxsize=64)
def _of_text(text: str) -> CRS:
    from pyproj import CRS

    return CRS.from_user_input(text)
