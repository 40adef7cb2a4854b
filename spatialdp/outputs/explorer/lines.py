"""Which public lines does the page draw over its cells? The region's outline, and boundaries that the user gives.

Lines are stored as small whole numbers: vertices are rounded to 2^-20 of the domain's sides, and each one is stored as
the difference from the one before. Boundaries are simplified until the page stays small. All of it is public.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError
from spatialdp.outputs.explorer.data import packed
from spatialdp.outputs.maps.lines import boundary_shapes, cut_lines
from spatialdp.space.domain import Domain

__all__ = ["MOST_VERTICES", "STEPS", "boundary_lines", "outline", "packed_lines"]

STEPS = 2**20  # vertices are rounded to this share of the domain's sides; `lines.mjs` knows it
MOST_VERTICES = 100_000  # of all boundaries together: more make a page slow to move

_FINEST = 4000  # lines are drawn to the domain's shorter side divided by this, or finer
_DOUBLINGS = 8  # how often boundaries may be made coarser by a factor of two


def outline(domain: Domain) -> dict[str, Any] | None:
    """Return the outline of the domain's region, as fine as a screen shows it; None if there is no region."""
    if domain.region is None:
        return None
    return packed_lines(cut_lines(np.array([domain.region]), domain, tolerance=min(domain.size) / _FINEST), domain)


def boundary_lines(boundaries: Any, domain: Domain) -> dict[str, Any] | None:
    """Return public polygons or lines for the page, simplified to at most `MOST_VERTICES`; None if there are none.

    Parameters
    ----------
    boundaries : GeoDataFrame, GeoSeries, shapely geometry or path of a file, or None
        As for maps; see `spatialdp.outputs.maps.lines.boundary_shapes`.
    domain : Domain
    """
    if boundaries is None:
        return None
    shapes = boundary_shapes(boundaries, domain)
    for doubling in range(_DOUBLINGS):
        tolerance = 2**doubling * min(domain.size) / _FINEST
        lines = cut_lines(shapes, domain, tolerance=tolerance)
        if doubling:  # lines that are too small to be seen
            lines = [line for line in lines if np.ptp(line, axis=0).max() >= tolerance]
        if sum(map(len, lines)) <= MOST_VERTICES:
            return packed_lines(lines, domain)
    raise ParameterError(
        f"the boundaries have more than {MOST_VERTICES:,} vertices, even with details left out; a page cannot draw so "
        "many. Give fewer or simpler ones, such as districts instead of blocks."
    )


def packed_lines(lines: list[Floats], domain: Domain) -> dict[str, Any]:
    """Pack lines: how many vertices each has, then the differences from vertex to vertex, x first and then y."""
    counts = np.array([len(line) for line in lines], dtype=np.int32)
    vertices = np.concatenate(lines) if lines else np.empty((0, 2))
    places = np.round((vertices - domain.bounds[:2]) / domain.size * STEPS).astype(np.int32)
    differences = np.diff(places, axis=0, prepend=np.zeros((1, 2), dtype=np.int32))
    return {"counts": packed(counts, "i4"), "steps": packed(differences.T, "i4")}
