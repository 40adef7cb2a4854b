"""Which zones overlap, and how well do they fit together? Gross overlaps are refused, all others are reported.

Zones of most files fit together but for slivers: edges that were simplified apart, polygons that had to be repaired. In
which zone a record is does not depend on that (`location`), so nothing is refused for it. Two zones with more than one
per cent of the smaller one in common are refused, because that is a mistake: zones of two years, two levels, or one
zone twice.

Areas of zones are compared in pairs only where that may find something. Zones that overlap have an edge which is not
the same edge, run the other way, of a neighbour; most zones have none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Floats, Integers, Objects
from spatialdp._support.tables import markdown
from spatialdp.errors import ParameterError
from spatialdp.wording import either

__all__ = ["Overlaps", "ZoneCheck", "check_overlaps", "checked", "overlaps_of"]

GROSS = 0.01  # of the smaller zone
_DUST = 1e-12  # of the smaller zone: what rounding alone may leave of an overlap
_THIN = 0.02  # a shape whose area is below this share of a circle's with its perimeter is a sliver


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of zones that have an area in common, as numbers of leaves, and these areas."""

    first: Integers
    second: Integers
    shapes: Objects

    @property
    def areas(self) -> Floats:
        """The area of each overlap, in units of the CRS."""
        import shapely

        return np.asarray(shapely.area(self.shapes))


@dataclass(frozen=True, eq=False)
class ZoneCheck:
    """How well the zones of a frame fit together.

    Attributes
    ----------
    area : float
        The area of all zones, in units of the CRS.
    repaired : object array
        The codes of zones whose polygons were not valid and have been repaired.
    overlaps : list of (code, code, area)
        Zones that have an area in common. A record there is in the zone that comes first in the frame.
    gaps : object array
        Polygons within the outer border that belong to no zone, lakes and enclaves included. A record there counts
        nowhere.
    slivers : object array
        The overlaps and gaps that are thin, as polygons.

    Examples
    --------
    >>> import geopandas, shapely
    >>> from spatialdp import Zones
    >>> areas = geopandas.GeoDataFrame(
    ...     {"zone": ["A", "B"]}, geometry=[shapely.box(0, 0, 1, 1), shapely.box(0.995, 0, 2, 1)]
    ... )
    >>> print(Zones(areas, ["zone"]).check())
    | what              | number | share of the area |
    |-------------------|--------|-------------------|
    | repaired polygons | 0      |                   |
    | overlaps          | 1      | 0.0025            |
    | gaps              | 0      | 0                 |
    | slivers of both   | 1      | 0.0025            |
    """

    area: float
    repaired: Objects
    overlaps: list[tuple[str, str, float]]
    gaps: Objects
    slivers: Objects

    def __str__(self) -> str:
        import shapely

        rows = [
            ("overlaps", len(self.overlaps), sum(area for *_, area in self.overlaps)),
            ("gaps", self.gaps.size, float(shapely.area(self.gaps).sum())),
            ("slivers of both", self.slivers.size, float(shapely.area(self.slivers).sum())),
        ]
        lines = [[name, str(number), f"{area / self.area:.2g}"] for name, number, area in rows]
        head = [["what", "number", "share of the area"], ["repaired polygons", str(self.repaired.size), ""]]
        return markdown([*head, *lines])


def overlaps_of(geometry: Objects, outlines: Objects) -> Overlaps:
    """Return the pairs of zones that overlap.

    Parameters
    ----------
    geometry : object array
        The areas of the leaves, valid polygons.
    outlines : object array
        The same, snapped to the lattice.

    Examples
    --------
    >>> import shapely
    >>> boxes = np.array([shapely.box(0, 0, 2, 2), shapely.box(2, 0, 4, 2), shapely.box(3, 0, 5, 2)])
    >>> found = overlaps_of(boxes, boxes)
    >>> found.first.tolist(), found.second.tolist(), found.areas.tolist()
    ([1], [2], [2.0])
    """
    import shapely

    suspects = np.flatnonzero(_unmatched(outlines))
    owner, second = shapely.STRtree(geometry).query(geometry[suspects])
    pairs = np.sort(np.stack([suspects[owner], second], axis=1), axis=1)
    first, second = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0).T
    shapes: Objects = shapely.intersection(geometry[first], geometry[second])
    areas = shapely.area(geometry)
    real = shapely.area(shapes) > _DUST * np.minimum(areas[first], areas[second])
    return Overlaps(first[real], second[real], shapes[real])


def check_overlaps(found: Overlaps, geometry: Objects, codes: Objects) -> None:
    """Refuse zones of which two have more than one per cent of the smaller one in common."""
    import shapely

    areas = shapely.area(geometry)
    shares = found.areas / np.minimum(areas[found.first], areas[found.second])
    if shares.size and shares.max() > GROSS:
        worst = int(shares.argmax())
        raise ParameterError(
            f"zones {codes[found.first[worst]]!r} and {codes[found.second[worst]]!r} have {shares[worst]:.0%} of the "
            f"smaller one in common; zones must not overlap by more than {GROSS:.0%}. Leave one of them out, or cut "
            f"the common area off{either(' with GeoSeries.difference', '')}."
        )


def checked(geometry: Objects, codes: Objects, repaired: Booleans, found: Overlaps) -> ZoneCheck:
    """Return how well zones fit together; this draws the union of all zones, which takes a while for many."""
    import shapely

    parts = shapely.get_parts(shapely.union_all(geometry))
    rings, owner = shapely.get_rings(parts, return_index=True)
    holes = shapely.polygons(rings[np.diff(owner, prepend=-1) == 0])
    common = shapely.get_parts(shapely.get_parts(found.shapes))
    both = np.concatenate([holes, common[shapely.area(common) > 0]])
    names = zip(codes[found.first], codes[found.second], found.areas.tolist(), strict=True)
    return ZoneCheck(float(shapely.area(geometry).sum()), codes[repaired], list(names), holes, both[_is_thin(both)])


def _is_thin(shapes: Objects) -> Booleans:
    import shapely

    return np.asarray(4 * np.pi * shapely.area(shapes) < _THIN * shapely.length(shapes) ** 2)


def _unmatched(outlines: Objects) -> Booleans:
    """Which zones have an edge that is not an edge of a zone run the other way."""
    import shapely

    parts, of_zone = shapely.get_parts(outlines, return_index=True)
    rings, of_part = shapely.get_rings(parts, return_index=True)
    places, of_ring = shapely.get_coordinates(rings, return_index=True)
    places = places.astype(np.int64)
    begin = np.flatnonzero((of_ring[1:] == of_ring[:-1]) & (places[1:] != places[:-1]).any(axis=1))
    ring = of_ring[begin]
    # Outer rings run counterclockwise and holes clockwise, so that an edge has its zone on the left.
    exterior = np.diff(of_part, prepend=-1) != 0
    origin = places[np.searchsorted(of_ring, ring)]
    (x, y), (x_next, y_next) = (places[begin] - origin).T, (places[begin + 1] - origin).T
    doubled = np.bincount(ring, x.astype(np.float64) * y_next - x_next.astype(np.float64) * y, minlength=rings.size)
    turned = ((doubled > 0) != exterior)[ring]
    marks = _marks(places)
    start = np.where(turned, marks[begin + 1], marks[begin])
    end = np.where(turned, marks[begin], marks[begin + 1])
    alone = ~_is_in(3 * end + start, 3 * start + end)
    unmatched = np.zeros(outlines.size, dtype=bool)
    unmatched[of_zone[of_part[ring[alone]]]] = True
    return unmatched


def _marks(places: Integers) -> npt.NDArray[np.uint64]:
    """Return numbers of 64 bits that differ for different places, but for coincidences of some 10^-6 in all."""
    marks = (places[:, 0].astype(np.uint64) << np.uint64(31)) | places[:, 1].astype(np.uint64)
    for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9):
        marks = marks * np.uint64(factor)
        marks ^= marks >> np.uint64(29)
    return marks


def _is_in(values: npt.NDArray[np.uint64], others: npt.NDArray[np.uint64]) -> Booleans:
    import pandas as pd

    return np.asarray(pd.Index(values).isin(others))
