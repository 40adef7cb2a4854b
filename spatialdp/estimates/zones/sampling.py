"""How are synthetic points drawn from counts of zones? A leaf by its estimate, then one of its lattice squares, evenly.

Squares are drawn from equal boxes that cover the leaf's polygon, and the first one is kept where the zones' locator
finds the leaf. So each square of the leaf is equally likely, and locating a point gives the leaf that it was drawn for.
Boxes that miss the polygon are left out beforehand, which only saves draws. Draws come from the shared source of random
bits, and read the release and public polygons alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.errors import ReleaseError
from spatialdp.estimates.sampling import draw_leaves, sample_size
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.space.lattice import LATTICE
from spatialdp.space.zones.frame import Zones
from spatialdp.trees.adjust import NonNegative
from spatialdp.wording import either

__all__ = ["sample_zones"]

_SIDE = 8  # boxes along each side of a leaf's bounding box
_TOGETHER = 2**20  # squares that are drawn at once
_MOST_TRIES = 2**10  # squares for one point in one round
_MOST_ROUNDS = 64


def sample_zones(counts: ZoneCounts, n: int | None, noise: Noise | None) -> tuple[Integers, Floats]:
    """Draw points; return the number of each point's leaf, and (n, 2) coordinates, the centres of lattice squares.

    A leaf that owns no lattice square, because it is thinner than one, gets the square of a point within its polygon.
    """
    zones, source = counts.zones, SystemNoise() if noise is None else noise
    if zones.geometry is None or zones.domain is None:
        raise ReleaseError(
            "the zones of this release are codes without polygons, so points have no place; release with polygons, or "
            f"take the table of zones: {either('level()', 'save the release as .csv')}."
        )
    drawn_from = counts.non_negative(NonNegative.FAMILIES) if counts.consistent else counts
    leaves = draw_leaves(np.maximum(drawn_from.leaf_values(), 0.0), sample_size(counts.total, n), source)
    distinct, place = np.unique(leaves, return_inverse=True)
    squares = _squares(_Cover.of(zones, distinct), zones, distinct, place, source)
    return leaves, np.stack([axis.centres(squares[:, i]) for i, axis in enumerate(zones.domain.axes)], axis=1)


@dataclass(frozen=True, eq=False)
class _Cover:
    """Equal boxes that cover each of some leaves.

    Attributes
    ----------
    corners : (boxes, 2) int array
        Lower corners on the lattice; the boxes of a leaf lie next to each other.
    first, count : (leaves,) int arrays
        The first box of each leaf, and the number of its boxes.
    sides : (leaves, 2) int array
        Lattice squares along the sides of each leaf's boxes.
    """

    corners: Integers
    first: Integers
    count: Integers
    sides: Integers

    @classmethod
    def of(cls, zones: Zones, leaves: Integers) -> _Cover:
        import shapely

        assert zones.domain is not None
        assert zones.geometry is not None
        polygons = np.asarray(zones.geometry, dtype=object)[leaves]
        # The locator moves vertices by up to a square, so a square's width is added all around.
        around = zones.domain.boxes(shapely.bounds(polygons)) + np.array([-1, -1, 1, 1])
        sides = -((around[:, :2] - around[:, 2:]) // _SIDE)
        steps = np.stack(np.divmod(np.arange(_SIDE**2), _SIDE), axis=1)
        corners = (around[:, None, :2] + steps * sides[:, None]).reshape(-1, 2)
        owner = np.repeat(np.arange(leaves.size), _SIDE**2)
        x, y = zones.domain.axes
        low, high = corners - 1, corners + sides[owner] + 1
        boxes = shapely.box(
            x.coordinates(low[:, 0]), y.coordinates(low[:, 1]), x.coordinates(high[:, 0]), y.coordinates(high[:, 1])
        )
        shapely.prepare(polygons)
        kept = shapely.intersects(polygons[owner], boxes)
        count = np.bincount(owner[kept], minlength=leaves.size)
        return cls(corners[kept], np.cumsum(count) - count, count, sides)

    def draw(self, leaves: Integers, source: Noise) -> Integers:
        """Draw a square of the boxes of each leaf, evenly, (n, 2)."""
        box = self.first[leaves] + source.below(self.count[leaves])
        offsets = [source.below(self.sides[leaves, axis]) for axis in (0, 1)]
        return np.asarray(self.corners[box] + np.stack(offsets, axis=1))


def _squares(cover: _Cover, zones: Zones, leaves: Integers, place: Integers, source: Noise) -> Integers:
    """Draw a lattice square of the leaf `leaves[place]` of each point, (n, 2)."""
    squares = np.empty((place.size, 2), dtype=np.int64)
    waiting = np.arange(place.size)
    for turn in range(_MOST_ROUNDS):
        if not waiting.size:
            return squares
        tries = int(np.clip(_TOGETHER // waiting.size, 1, _MOST_TRIES)) if turn else 1
        drawn = cover.draw(np.repeat(place[waiting], tries), source)
        found = _located(zones, drawn).reshape(-1, tries) == leaves[place[waiting], None]
        met = found.any(axis=1)
        squares[waiting[met]] = drawn.reshape(-1, tries, 2)[met, found.argmax(axis=1)[met]]
        waiting = waiting[~met]
    squares[waiting] = _within(zones, leaves[place[waiting]])
    return squares


def _located(zones: Zones, squares: Integers) -> Integers:
    """Return the leaf at each lattice square; no leaf's number for squares beyond the domain."""
    inside = np.all((squares >= 0) & (squares < LATTICE), axis=1)
    columns, rows = np.where(inside[:, None], squares, 0).T.astype(np.int32)
    return np.where(inside, zones.locator.leaves(columns, rows), -1)


def _within(zones: Zones, leaves: Integers) -> Integers:
    """Return the lattice square of a point within each leaf's polygon."""
    import shapely

    assert zones.domain is not None
    points = shapely.point_on_surface(np.asarray(zones.geometry, dtype=object)[leaves])
    boxes = zones.domain.boxes(np.concatenate([shapely.get_coordinates(points)] * 2, axis=1))
    squares: Integers = np.clip(boxes[:, :2], 0, LATTICE - 1)
    return squares
