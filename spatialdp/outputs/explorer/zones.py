"""Which numbers and lines does the explorer's page need to show zones? Estimates by zone, and polygons simplified.

The page draws the zones of the lowest level that has at most 20,000 of them, in as few vertices as a screen shows;
neighbours keep their common borders. Numbers are those of the true zones: the page adds nothing up. Simplified polygons
are drawn, and locate the mouse; nothing else depends on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers, Objects
from spatialdp.errors import ReleaseError
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.explorer.data import estimate_data, packed
from spatialdp.outputs.explorer.lines import packed_lines
from spatialdp.outputs.maps.cells import MapCells, measured
from spatialdp.outputs.maps.colours import SOFT
from spatialdp.outputs.maps.zones.cells import ZoneCells, zone_cells
from spatialdp.outputs.zones.areas import ZoneAreas, unions
from spatialdp.space.domain import Domain
from spatialdp.wording import either

__all__ = ["MOST_ZONES", "drawn_depth", "zone_view"]

Json = dict[str, Any]

MOST_ZONES = 20_000  # on one level: more make a page slow to move
MOST_VERTICES = 300_000
_FINEST = 4000  # lines are drawn to the domain's shorter side divided by this, or finer
_DOUBLINGS = 6  # how often they may be made coarser by a factor of two


def drawn_depth(estimate: ZoneCounts) -> int:
    """Return the depth of the lowest level that a page can draw."""
    shape = estimate.zones.shape
    shown = [np.count_nonzero(shape.leaves & (shape.depth < depth)) for depth in range(shape.height + 1)]
    sizes = np.diff(shape.offsets) + np.array(shown)
    depth = int(np.flatnonzero(sizes <= MOST_ZONES).max())
    if depth == 0 < shape.height:
        raise ReleaseError(
            f"the highest level below all zones has {int(sizes[1]):,} zones, and a page draws at most {MOST_ZONES:,}; "
            f"draw the release with {either('plot()', '-o map.png')}, or save it as .gpkg."
        )
    return depth


def zone_view(estimate: ZoneCounts, counted: str) -> Json:
    """Return the units and colour scales of all levels, and a code as an example."""
    cells = [_cells(estimate, depth, counted) for depth in range(drawn_depth(estimate) + 1)]
    highs = [each.high(each.values) for each in cells]
    return {
        "units": [f"Estimated {each.unit}" for each in cells],
        "scales": [{"soft": high * SOFT, "high": high} for high in highs],
        "example": str(estimate.zones.codes[cells[-1].zones.nodes[0]]),
    }


def _cells(estimate: ZoneCounts, depth: int, counted: str = "records") -> ZoneCells:
    cells: MapCells = measured(zone_cells(estimate, depth), counted=counted)
    assert isinstance(cells, ZoneCells)
    return cells


@estimate_data.register
def _zones(estimate: ZoneCounts) -> Json:
    depth = drawn_depth(estimate)
    shape, zones = estimate.zones.shape, estimate.zones
    count = int(shape.offsets[depth + 1])
    sums, sizes = estimate.of_nodes(np.arange(count)), np.empty(count)
    for each in range(depth + 1):
        cells = _cells(estimate, each)
        sizes[cells.zones.nodes] = cells.areas
    polygons = _simplified(cells.zones.geometry, cells.domain)
    rings, owners = _rings(polygons)
    return {
        "levels": list(zones.levels[: depth + 1]),
        "offsets": shape.offsets[: depth + 2].tolist(),
        "parents": packed(shape.parent[:count], "i4"),
        "codes": [str(code) for code in zones.codes[:count]],
        "values": packed(sums.values, "f8"),
        "variances": None if estimate.biased else packed(sums.variance, "f8"),
        "kurtosis": None if estimate.biased else packed(sums.kurtosis, "f8"),
        "step": estimate.step,
        "sizes": packed(sizes, "f8"),
        "owners": {"nodes": packed(cells.zones.nodes, "i4"), "areas": packed(owners, "i4")},
        "rings": packed_lines(rings, cells.domain),
        "borders": _borders(estimate, cells, polygons),
    }


def _simplified(polygons: Objects, domain: Domain) -> Objects:
    """Return polygons with the vertices that a screen shows; neighbours keep their common borders."""
    import shapely

    for doubling in range(_DOUBLINGS):
        tolerance = 2**doubling * min(domain.size) / _FINEST
        simpler: Objects = shapely.coverage_simplify(polygons, tolerance)
        if shapely.get_num_coordinates(simpler).sum() <= MOST_VERTICES:
            break
    return simpler


def _rings(polygons: Objects) -> tuple[list[Floats], Integers]:
    """Return the rings of polygons as arrays of coordinates, and the number of each ring's polygon."""
    import shapely

    parts, owner = shapely.get_parts(polygons, return_index=True)
    rings, part = shapely.get_rings(parts, return_index=True)
    vertices, ring = shapely.get_coordinates(rings, return_index=True)
    return np.split(vertices, np.flatnonzero(np.diff(ring)) + 1), owner[part]


def _borders(estimate: ZoneCounts, drawn: ZoneCells, polygons: Objects) -> list[Json]:
    """Return the borders between the zones of each higher level, root first, along the simplified polygons."""
    import shapely

    borders, below = [], drawn.zones
    for depth in reversed(range(drawn.zones.depth)):
        zones = ZoneAreas.of(estimate.zones, depth)
        polygons = unions(polygons, zones.of_nodes[below.nodes], zones.nodes.size)
        lines = shapely.get_parts(shapely.line_merge(shapely.union_all(shapely.boundary(polygons))))
        borders.append(packed_lines([shapely.get_coordinates(line) for line in lines], drawn.domain))
        below = zones
    return borders[::-1]
