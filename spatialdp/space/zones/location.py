"""In which zone is a lattice square? In the first zone of the frame that contains the square's centre, or in none.

Zones are snapped to the lattice first (`outlines`), so that their corners are at whole numbers of squares and no corner
lies in the same row or column as a centre (k + 1/2, l + 1/2). A centre is in a zone if a ray from it crosses the zone's
rings an odd number of times, or if it lies exactly on an edge. Coordinates have 31 bits and the test is exact, so it is
a function of the square and of the zones alone: privacy rests on nothing else, whatever the zones look like.

Squares are located many at a time. All squares of a public pixel that no edge touches are in the same zone, so one of
them is tested for all. The others are sorted into bands of rows and, within a band, by column; each zone is tested
against the squares in its bounds. Preparing a zone's edges takes as long as a hundred tests, so callers gather some
millions of squares before they ask (`MANY`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, Integers32, Objects, expand_ranges
from spatialdp.space.lattice import LATTICE_BITS

__all__ = ["MANY", "Locator", "OutlineLocator"]

MANY = 2**23  # squares that are worth one preparation of the zones

_MOST_PIXEL_BITS = 13  # of the number of pixels along a side: 256 MiB of leaves
_UNKNOWN, _WANTED, _TOUCHED = -1, -2, -3  # of pixels: not asked for yet, to be tested, not all in the same zone
_BAND_BITS = 11  # of the number of bands
_PAIRS = 2**20  # tests, and pixels of edges, at a time
_CRUMB = 1e-6  # of a pixel, which rounding may move an edge by


class Locator(Protocol):
    """Whatever finds the leaf zones of lattice squares."""

    def leaves(self, columns: Integers32, rows: Integers32) -> Integers32:
        """Return the number of the leaf that each square is in, and the number of leaves for none.

        A column of -1 stands for a place outside the domain.
        """
        ...


@dataclass(frozen=True, eq=False)
class OutlineLocator:
    """Finds the zones of squares by the zones' outlines.

    Parameters
    ----------
    outlines : object array
        The areas of the leaves, snapped to the lattice.
    places : integer array
        The place of each leaf in the frame: of several zones that contain a centre, the first one counts.
    """

    outlines: Objects
    places: Integers

    def leaves(self, columns: Integers32, rows: Integers32) -> Integers32:
        """Return the number of the leaf that each square is in, and the number of leaves for none.

        Examples
        --------
        >>> import shapely
        >>> areas = np.array([shapely.box(0, 0, 2**29, 2**30), shapely.box(2**29, 0, 2**30, 2**29)])
        >>> locator = OutlineLocator(areas, np.arange(2))
        >>> locator.leaves(np.array([5, 2**29, 2**29, -1], np.int32), np.array([5, 5, 2**29, 5], np.int32)).tolist()
        [0, 1, 2, 2]
        """
        found = np.full(columns.size, self.outlines.size, dtype=np.int32)
        shift, table = LATTICE_BITS - self._bits, self._pixels
        pixels = ((rows >> shift) << self._bits) | (columns >> shift)
        inside = np.flatnonzero(columns >= 0)
        pixels = pixels[inside]
        known = table[pixels]
        # The lower left square of a pixel that no edge touches stands for all its squares.
        table[pixels[known == _UNKNOWN]] = _WANTED
        wanted = np.flatnonzero(table == _WANTED).astype(np.int32)
        corners = (wanted & ((1 << self._bits) - 1)) << shift, (wanted >> self._bits) << shift
        near = inside[known == _TOUCHED]
        tested = self._tested(np.append(columns[near], corners[0]), np.append(rows[near], corners[1]))
        table[wanted] = tested[near.size :]
        found[inside] = table[pixels]
        found[near] = tested[: near.size]
        return found

    @cached_property
    def _bits(self) -> int:
        """The bits of the number of pixels along a side: some pixels for each corner of an outline."""
        import shapely

        corners = int(shapely.get_num_coordinates(self.outlines).sum())
        return int(np.clip(np.round(np.log2(2 * np.sqrt(corners))), 6, _MOST_PIXEL_BITS))

    @cached_property
    def _pixels(self) -> Integers32:
        """For each pixel, row by row, the leaf that it is in, if no edge may run through it and it was asked for."""
        import shapely

        side = 1 << self._bits
        table = np.full(side * side, _UNKNOWN, dtype=np.int32)
        corners = np.cumsum(shapely.get_num_coordinates(self.outlines))
        starts = np.searchsorted(corners, np.arange(0, corners[-1], _PAIRS))
        for start, stop in pairwise([*starts.tolist(), self.outlines.size]):
            for begin, end in _edges(self.outlines[start:stop], side / 2**LATTICE_BITS):
                table[_pixels_of_edges(begin, end, side)] = _TOUCHED
        return table

    def _tested(self, columns: Integers32, rows: Integers32) -> Integers32:
        """Return the leaf of each square, found by tests of all zones whose bounds it is in."""
        import shapely

        bands = (rows >> (LATTICE_BITS - _BAND_BITS)).astype(np.int64)
        keys = (bands << LATTICE_BITS) | columns
        order = np.argsort(keys, kind="stable")
        x, y, keys = columns[order] + 0.5, rows[order] + 0.5, keys[order]
        # The last zones of the frame come first, so that earlier ones overwrite what later ones have found.
        zones = np.argsort(self.places)[::-1]
        bounds = shapely.bounds(self.outlines)
        first, last, zone = _runs(keys, bounds[zones])
        zone = zones[zone]
        found = np.full(columns.size, self.outlines.size, dtype=np.int32)
        ends = np.cumsum(last - first)
        for start in range(0, int(ends[-1]) if ends.size else 0, _PAIRS):
            run = slice(np.searchsorted(ends, start, side="right"), np.searchsorted(ends, start + _PAIRS) + 1)
            before = ends[run] - (last - first)[run]
            owner, square = expand_ranges(
                first[run] + np.maximum(start - before, 0), last[run] - np.maximum(ends[run] - start - _PAIRS, 0)
            )
            leaf = zone[run][owner]
            near = (y[square] > bounds[leaf, 1]) & (y[square] < bounds[leaf, 3])
            square, leaf = square[near], leaf[near]
            hit = self._contain(leaf, x[square], y[square])
            found[square[hit]] = leaf[hit]
        result = np.empty_like(found)
        result[order] = found
        return result

    def _contain(self, leaf: Integers, x: Floats, y: Floats) -> Booleans:
        """Whether each zone contains a place; the zones are prepared for as long as this takes."""
        import shapely

        prepared = self.outlines[leaf[np.diff(leaf, prepend=-1) != 0]]
        shapely.prepare(prepared)
        contained: Booleans = shapely.intersects_xy(self.outlines[leaf], x, y)
        shapely.destroy_prepared(prepared)
        return contained


def _edges(outlines: Objects, scale: float) -> Iterator[tuple[Floats, Floats]]:
    """Yield where edges begin and end, scaled, so many at a time that they run through about `_PAIRS` pixels."""
    import shapely

    places, owner = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(outlines)), return_index=True)
    places *= scale
    begin = np.flatnonzero(owner[1:] == owner[:-1])
    sizes = np.cumsum(np.abs(places[begin + 1] - places[begin]).sum(axis=1) + 2)
    starts = np.searchsorted(sizes, np.arange(0, sizes[-1] if sizes.size else 0, _PAIRS))
    for start, stop in pairwise([*starts.tolist(), begin.size]):
        yield places[begin[start:stop]], places[begin[start:stop] + 1]


def _runs(keys: Integers, bounds: Floats) -> tuple[Integers, Integers, Integers]:
    """Return runs of sorted squares, from `first` up to (not including) `last`, that lie in the bounds of a zone.

    A zone has one run in each band that its bounds touch.

    Parameters
    ----------
    keys : integer array
        Band and column of each square, sorted.
    bounds : (m, 4) array
        Bounds of the zones, on lattice lines.
    """
    xmin, ymin, xmax, ymax = bounds.astype(np.int64).T
    shift = LATTICE_BITS - _BAND_BITS
    zone, band = expand_ranges(ymin >> shift, (np.maximum(ymax - 1, ymin) >> shift) + 1)
    first = np.searchsorted(keys, (band << LATTICE_BITS) + xmin[zone])
    last = np.searchsorted(keys, (band << LATTICE_BITS) + xmax[zone])
    filled = last > first
    return first[filled], last[filled], zone[filled]


def _pixels_of_edges(begin: Floats, end: Floats, side: int) -> Integers:
    """Return the pixels that edges may run through, as row * side + column; their coordinates are in pixels."""
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    top = side - 1.0
    first = np.clip(np.floor(low[:, 1] - _CRUMB), 0, top)
    last = np.clip(np.floor(high[:, 1] + _CRUMB), 0, top)
    short = first == last
    edge, row = expand_ranges(first[~short], last[~short] + 1)
    # In the band of a pixel's row, a longer edge runs between the places at which it enters and leaves the band.
    begin, step = begin[~short][edge], (end - begin)[~short][edge]
    flat = step[:, 1] == 0
    ends = []
    for line in (row - _CRUMB, row + 1 + _CRUMB):
        share = np.clip((line - begin[:, 1]) / np.where(flat, 1.0, step[:, 1]), 0, 1)
        ends.append(begin[:, 0] + share * step[:, 0])
    across = begin[:, 0] + step[:, 0]
    left = np.where(flat, np.minimum(begin[:, 0], across), np.minimum(*ends))
    right = np.where(flat, np.maximum(begin[:, 0], across), np.maximum(*ends))
    row = np.append(first[short].astype(np.int64), row)
    left = np.append(low[short, 0], left) - _CRUMB
    right = np.append(high[short, 0], right) + _CRUMB
    piece, column = expand_ranges(np.clip(np.floor(left), 0, top), np.clip(np.floor(right), 0, top) + 1)
    return row[piece] * side + column
