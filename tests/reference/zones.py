"""In which zone is a lattice square, slowly and obviously: a crossing test in Python's own integers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import shapely

from spatialdp.space.domain import Domain

Ring = list[tuple[int, int]]


def rings_on_lattice(area: shapely.Geometry, domain: Domain) -> list[Ring]:
    """The rings of an area, with corners on lattice lines, in doubled coordinates: centres of squares are odd."""
    rings = [ring for part in shapely.get_parts(area) for ring in (part.exterior, *part.interiors)]
    x, y = domain.axes
    return [
        [(2 * int(x.positions(at)), 2 * int(y.positions(up))) for at, up in shapely.get_coordinates(ring).tolist()]
        for ring in rings
    ]


def contains(rings: Sequence[Ring], column: int, row: int) -> bool:
    """Whether the centre of a square is inside of the rings, by the parity of crossings to its right, or on an edge."""
    x, y, inside = 2 * column + 1, 2 * row + 1, False
    for ring in rings:
        for (x1, y1), (x2, y2) in pairwise(ring):
            if (y1 > y) == (y2 > y):
                continue
            side = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)  # its sign says on which side of the edge the place is
            if side == 0:
                return True
            inside ^= (side > 0) == (y2 > y1)
    return inside


def leaf_of(areas: Sequence[list[Ring]], column: int, row: int) -> int:
    """The first area that contains a square; their number if none does."""
    return next((number for number, rings in enumerate(areas) if contains(rings, column, row)), len(areas))
