"""One lattice for records, boxes and cells: 2^30 x 2^30 half-open squares over a domain's rectangle.

Records, box edges and cell edges are snapped to lattice lines by one monotone rule, and from then on everything is
integer arithmetic: a record is in exactly one cell of every grid, and no two code paths can disagree about an edge.
Cell i of n begins at the lattice line floor(i 2^30 / n), which is the line that the coordinate of its edge snaps to; so
lattice column k lies in cell (k n + n - 1) >> 30. The derivation is in ``docs/design/lattice.md``.

No other module may snap coordinates or find the cell of a lattice column by a rule of its own. `records.points` and
`records.counting` repeat the two formulas on blocks of records, for speed, and must change with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp.errors import ParameterError
from spatialdp.wording import either, quoted

__all__ = ["LATTICE", "LATTICE_BITS", "Axis", "box_array", "cell_lines", "cells_of", "edge_lines"]

LATTICE_BITS = 30
LATTICE = 2**LATTICE_BITS


@dataclass(frozen=True)
class Axis:
    """One axis of a domain, from `low` to `high`, divided into 2^30 lattice intervals."""

    low: float
    high: float

    @property
    def spacing(self) -> float:
        """Width of a lattice interval. A coordinate is divided by it, which rounds once, so exact shares stay exact."""
        return float((self.high - self.low) / LATTICE)

    def positions(self, values: npt.ArrayLike) -> Integers:
        """Snap coordinates to lattice lines, clipped to the domain: `low` is line 0 and `high` is line 2^30."""
        inside = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        lines: Integers = ((inside - self.low) / self.spacing).astype(np.int64)
        return lines

    def places(self, values: npt.ArrayLike) -> Floats:
        """Return coordinates in lattice intervals from `low`, neither rounded nor clipped; `positions` rounds down."""
        return np.asarray((np.asarray(values, dtype=np.float64) - self.low) / self.spacing)

    def coordinates(self, lines: Array) -> Floats:
        """Return the coordinates of lattice lines, as doubles that snap back to the same lines."""
        return self._nudged(lines / LATTICE, np.asarray(lines, dtype=np.int64))

    def centres(self, lines: Integers) -> Floats:
        """Return the coordinates of the centres of the lattice intervals that begin at these lines."""
        return self._nudged((lines + 0.5) / LATTICE, lines)

    def edges(self, count: int) -> Floats:
        """Return the coordinates of the edges of `count` equal cells."""
        return self.edges_of(np.arange(count + 1), count)

    def edges_of(self, cells: Integers, count: int) -> Floats:
        """Return the coordinates at which some of `count` equal cells begin."""
        return self._nudged(cells / count, cell_lines(cells, count))

    def _nudged(self, share: Array, lines: Integers) -> Floats:
        """Turn shares of the axis into coordinates that snap to the given lines.

        Rounding may put a coordinate on another line; it is then moved by a few units in its last place. That helps
        wherever doubles are finer than the lattice, as in any sensible domain.
        """
        values = np.asarray(self.low * (1 - share) + self.high * share)
        ulp = np.spacing(max(abs(self.low), abs(self.high)))
        for _ in range(4):
            values += ulp * np.sign(lines - self.positions(values))
        return np.clip(values, self.low, self.high)


def edge_lines(count: int) -> Integers:
    """Return the lattice lines at which the `count` cells of an axis begin, and the line at its end."""
    return cell_lines(np.arange(count + 1, dtype=np.int64), count)


def cell_lines(cells: Integers, count: int) -> Integers:
    """Return the lattice lines at which some of the `count` cells of an axis begin."""
    lines: Integers = cells * LATTICE // count
    return lines


def cells_of(positions: Integers, count: int) -> Integers:
    """Return the cell, of `count` cells along an axis, that each lattice column lies in."""
    return (positions * count + (count - 1)) >> LATTICE_BITS


def box_array(boxes: npt.ArrayLike) -> Floats:
    """Return one box or many as an (m, 4) array of xmin, ymin, xmax, ymax; anything else is refused."""
    try:
        box = np.atleast_2d(np.asarray(boxes, dtype=np.float64))
    except (TypeError, ValueError):
        raise ParameterError(
            f"boxes are a {type(boxes).__name__}; give one box (xmin, ymin, xmax, ymax) or an (m, 4) array, such "
            "as geometry.bounds."
        ) from None
    if box.ndim != 2 or box.shape[1] != 4:
        raise ParameterError(
            f"boxes have shape {np.shape(boxes)}; give one box (xmin, ymin, xmax, ymax) or an (m, 4) array."
        )
    bad = np.nonzero(~((box[:, 0] <= box[:, 2]) & (box[:, 1] <= box[:, 3])))[0]
    if bad.size:
        raise ParameterError(
            f"box {bad[0]} is {quoted(tuple(box[bad[0]].tolist()))}; xmin must not exceed xmax nor ymin ymax, "
            f"and no edge may be {either('NaN', 'missing')}. Split a box that crosses the antimeridian in two."
        )
    return box
