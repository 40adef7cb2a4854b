"""Synthetic points drawn from a release, for tools that only eat points.

A cell or leaf is drawn in proportion to its non-negative estimate, then a lattice square of it, all alike. Draws are
whole numbers from the shared source of random bits; a point is the centre of its lattice square, so that it snaps back
to the cell it was drawn for. Post-processing: it reads the release and costs nothing.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, expand_ranges
from spatialdp._support.checks import whole_number
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Estimate
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.space.domain import RASTER_SHIFT, Domain
from spatialdp.trees.adjust import NonNegative

__all__ = ["sample"]


LARGEST_SAMPLE = 2**30
_SHARES = 2**62  # a whole is divided into so many parts when cells are drawn


def sample(estimate: Estimate, domain: Domain, n: int | None, noise: Noise | None) -> Floats:
    """Draw an (n, 2) array of points; see `Release.sample`."""
    count = max(0, round(estimate.total)) if n is None else n
    count = whole_number(count, "n", 0, LARGEST_SAMPLE)
    source = SystemNoise() if noise is None else noise
    weights = (estimate.non_negative(NonNegative.FAMILIES) if estimate.consistent else estimate).leaf_values()
    leaves = _draw_leaves(np.maximum(weights, 0.0), count, source)
    boxes = _draw_parts(estimate.leaf_boxes(), domain, leaves, source)
    axes = domain.axes
    return np.stack(
        [axis.centres(boxes[:, i] + source.below(boxes[:, i + 2] - boxes[:, i])) for i, axis in enumerate(axes)], axis=1
    )


def _draw_leaves(weights: Floats, count: int, source: Noise) -> Integers:
    """Places of leaves, drawn in proportion to their weights (rounded to 2^-62 of the whole)."""
    if not count:
        return np.empty(0, dtype=np.int64)
    if not weights.sum() > 0:
        raise ReleaseError(
            "no estimate of this release is above zero, so there is nothing to draw points from; ask for n=0 points, "
            "or release with a larger ε or larger cells."
        )
    return _draw((weights / weights.sum() * _SHARES).astype(np.int64), np.zeros(count, dtype=np.int64), source)


def _draw(weights: Integers, group: Integers, source: Noise, groups: Integers | None = None) -> Integers:
    """For each wish for a group, the place of one of its members, drawn by weight; members of a group are neighbours.

    `groups` says where each group begins in `weights`; without it there is one.
    """
    ends = np.cumsum(weights)
    starts = ends - weights
    first = np.zeros(1, dtype=np.int64) if groups is None else groups
    low = starts[first]
    whole = np.append(low[1:], ends[-1]) - low
    return np.searchsorted(ends, low[group] + source.below(whole[group]), side="right")


def _draw_parts(boxes: Integers, domain: Domain, leaves: Integers, source: Noise) -> Integers:
    """Boxes to draw from: the chosen leaves, or with a region parts of them that are in its raster, drawn by area."""
    raster = domain.region_raster
    if raster is None or not leaves.size:
        return boxes[leaves]
    used, again = np.unique(leaves, return_inverse=True)
    owner, parts = _parts(boxes[used], raster)
    areas = (parts[:, 2] - parts[:, 0]) * (parts[:, 3] - parts[:, 1])
    firsts = np.searchsorted(owner, np.arange(used.size))
    return parts[_draw(areas, again, source, firsts)]


def _parts(boxes: Integers, raster: Booleans) -> tuple[Integers, Integers]:
    """Boxes cut at the raster's cells, without those outside the region, and whose they are.

    A box that meets no raster cell of the region (a cell finer than the raster may) is left whole.
    """
    low, high = boxes[:, :2] >> RASTER_SHIFT, ((boxes[:, 2:] - 1) >> RASTER_SHIFT) + 1
    by_row, row = expand_ranges(low[:, 1], high[:, 1])
    by_cell, column = expand_ranges(low[by_row, 0], high[by_row, 0])
    owner, row = by_row[by_cell], row[by_cell]
    held = raster[row, column]
    held |= np.bincount(owner, held, minlength=len(boxes))[owner] == 0
    owner, cell = owner[held], np.stack([column, row], axis=1)[held]
    edges = np.concatenate([cell, cell + 1], axis=1) << RASTER_SHIFT
    parts = np.concatenate(
        [np.maximum(boxes[owner, :2], edges[:, :2]), np.minimum(boxes[owner, 2:], edges[:, 2:])], axis=1
    )
    return owner, parts
