"""Coordinate reference systems: one canonical text, one rule for "the same"."""

from __future__ import annotations

from typing import Any

from spatialdp.errors import CRSMismatchError, DomainError

__all__ = ["canonical", "geographic", "require_same", "same", "to_projjson"]


def canonical(crs: Any) -> str | None:
    """Short authority name where there is one (``"EPSG:4326"``), else WKT; None stays None."""
    if crs is None:
        return None
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return str(CRS.from_user_input(crs).to_string())
    except CRSError:
        raise DomainError(
            f"crs is {crs!r}, which pyproj does not know; give a name such as 'EPSG:4326' or a WKT string."
        ) from None


def require_same(what: str, crs: Any, domain_crs: str | None) -> None:
    """Refuse coordinates whose CRS is not the domain's."""
    given = canonical(crs)
    if given == domain_crs:
        return
    if domain_crs is None:
        raise CRSMismatchError(
            f"the {what} have CRS {given} but the domain has none; "
            f"give the domain the CRS its bounds are in: Domain(bounds, crs=...)."
        )
    if given is None:
        raise CRSMismatchError(
            f"the domain has CRS {domain_crs} but the {what} have none; "
            f"state it with set_crs, or pass plain coordinate arrays that are already in {domain_crs}."
        )
    if not same(given, domain_crs):
        raise CRSMismatchError(
            f"the domain has CRS {domain_crs} but the {what} have {given}; "
            f"reproject them with to_crs({domain_crs!r}) first."
        )


def same(one: Any, other: Any) -> bool:
    """Whether two names mean the same CRS, the order of its axes aside."""
    from pyproj import CRS

    return bool(CRS.from_user_input(one).equals(CRS.from_user_input(other), ignore_axis_order=True))


def geographic(crs: str | None) -> bool:
    """Whether coordinates are degrees."""
    if crs is None:
        return False
    from pyproj import CRS

    return bool(CRS.from_user_input(crs).is_geographic)


def to_projjson(crs: str | None) -> dict[str, Any] | None:
    """PROJJSON, as GeoParquet wants it."""
    if crs is None:
        return None
    from pyproj import CRS

    return dict(CRS.from_user_input(crs).to_json_dict())
